"""Making sure that a person acts: a code shown on a terminal and typed back.

A pipe, a script or an agent's shell without a terminal can't do it; a name alone proves nobody. What an agent that
runs under the same user and opens a terminal of its own could forge is said in docs/concepts/persons.md.
"""

from __future__ import annotations

import hmac
import os
import pwd
import secrets
import sys

from amends.errors import PersonNeededError

from .terminal import err, is_terminal, out, say

_ALPHABET = "ACDEFHJKLMNPRTUVWXY3479"
_CODE_CHARS = 4
"""About 280,000 codes: too many to guess in the few tries that a person would watch."""


def require_person(act: str, *, instead: str, shows_on_stderr: bool = False) -> str:
    """Have a person at this terminal type a code, and give their name.

    Raises PersonNeededError where there is no terminal, or something else was typed. `instead` is the next step.
    """
    if not is_terminal(shows_on_stderr=shows_on_stderr):
        raise PersonNeededError(f"to {act} takes a person at a terminal; nothing was done", hint=instead)
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARS))
    console = err if shows_on_stderr else out
    try:
        say(f"Type {code} to {act}; anything else leaves it as it is.", console=console)
        console.print("> ", end="")
        console.file.flush()
        typed = sys.stdin.readline().strip().upper()
    except (KeyboardInterrupt, UnicodeDecodeError):
        typed = ""
    if not hmac.compare_digest(typed.encode(errors="replace"), code.encode()):
        raise PersonNeededError("that was not the code; nothing was done", hint=instead)
    return f"{_user()} at a terminal"


def _user() -> str:
    """Give the name of the user that this process runs as, from the system and not from its environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
