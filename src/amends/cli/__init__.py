"""The command line: one verb a function, each thin. Errors leave as a sentence, a next step and an exit code.

Exit codes of verbs that may send: 0 applied or complete, 1 failed, 2 misuse, 3 ambiguous, 4 BLOCKED / NOT COMPLETE,
5 journal or settings unusable and nothing sent, 6 proposed and awaiting a person. Of the others, 0 is done as asked.
"""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave with its exit code; Ctrl-C while it still loads is no stack trace either."""
    try:
        from .fault import run, steady_streams

        steady_streams()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: nothing was sent.\n")
        code = 1
    sys.exit(code)


__all__ = ["main"]
