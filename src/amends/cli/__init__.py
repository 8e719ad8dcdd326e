"""The command line: one verb a function, each thin. Errors leave as a sentence, a next step and an exit code.

Exit codes of verbs that may send: 0 applied or complete, 1 failed, 2 misuse, 3 ambiguous, 4 BLOCKED / NOT COMPLETE,
5 journal or settings unusable and nothing sent, 6 proposed and awaiting a person. Of the others, 0 is done as asked.
"""

from .app import main

__all__ = ["main"]
