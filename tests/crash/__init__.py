"""Crashes for real: processes killed and stopped in the middle of real writes, real files and a real journal.

`process` forks, kills and stops; `points` names every moment at which a process can be killed on purpose; `place` is
the folder that it all happens in, with the record that is kept apart from the journal; `story` is what is written;
`judge` compares the folder with that record and with what the journal says. `campaign` kills at random moments;
`breaks` are faults on purpose, to see that the judge bites. One round again: `python -m tests.crash.run --help`.
"""
