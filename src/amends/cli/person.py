"""Making sure that a person acts: a code shown on a terminal and typed back.

A pipe, a script or an agent's shell without a terminal can't do it; a name alone proves nobody. What an agent that
runs under the same user and opens a terminal of its own could forge is said in docs/concepts/persons.md.
"""

from __future__ import annotations

import getpass
import hmac
import secrets

from amends.errors import PersonNeededError

from .text import is_terminal, say

_ALPHABET = "ACDEFHJKLMNPRTUVWXY3479"
_CODE_CHARS = 4
"""About 280,000 codes: too many to guess in the few tries that a person would watch."""


def require_person(act: str, *, instead: str) -> str:
    """Have a person at this terminal type a code and give their name.

    Raises PersonNeededError where there is no terminal, or something else was typed. `instead` is the next step.
    """
    if not is_terminal():
        raise PersonNeededError(f"to {act} takes a person at a terminal; nothing was done", hint=instead)
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_CHARS))
    say(f"Type {code} to {act}; anything else leaves it as it is.")
    try:
        typed = input("> ").strip().upper()
    except EOFError:
        typed = ""
    if not hmac.compare_digest(typed.encode(), code.encode()):
        raise PersonNeededError("that was not the code; nothing was done", hint=instead)
    return f"{getpass.getuser()} at a terminal"
