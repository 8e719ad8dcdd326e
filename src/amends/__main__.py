"""`python -m amends` is the command line.

For where the script `amends` is not on the path: it is the same program, with the same exit codes.
"""

from amends.cli import main

main()
