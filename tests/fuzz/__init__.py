"""Input, damage and histories made up by hypothesis, and what must hold whatever they are.

`command` carries out commands in this process and says what none of them may ever do. A failing example is printed as
the smallest one that hypothesis finds, and is kept in `.hypothesis/` to be tried first the next time.
"""
