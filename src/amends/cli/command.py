"""Commands for a person to paste: they work from any folder, whatever that folder is called.

Each names the folder whose settings it was made with. Layers below say `amends check op_1` in a hint; here it becomes
the command that works from elsewhere.
"""

from __future__ import annotations

import re
import shlex

from amends.broker import Life, Report
from amends.contract.lifecycle import State
from amends.contract.message import RecoveryMessage, render_outcome

_COMMAND = re.compile(
    r"(^|: )amends(?= (?:apply|attest|check|confirm|decline|followup|log|propose|show|undo|verify)\b|$)", re.MULTILINE
)


class Located:
    """Gives commands for the settings in one folder."""

    def __init__(self, folder: str) -> None:
        """Take that folder."""
        self.command = f"amends -C {shell_word(folder)}"

    def __call__(self, verb: str, subject: str) -> str:
        """Give the command that does `verb` to `subject`, an id."""
        return f"{self.command} {verb} {subject}"

    def within(self, text: str) -> str:
        """Give `text` with the commands in it located."""
        return _COMMAND.sub(lambda found: found[1] + self.command, text)

    def message(self, life: Life) -> RecoveryMessage | None:
        """Give what is told of `life`; None while nothing was sent or concluded."""
        if life.result is None:
            return None
        told = render_outcome(life.result)
        hint = None if told.check_hint is None else self.within(told.check_hint)
        return told.model_copy(update={"text": self.within(told.text), "check_hint": hint})

    def next(self, report: Report) -> str | None:
        """Give the one command that goes on from where `report` stands; None if there is nothing to do."""
        for life in report.lives:
            if life.is_holding:
                return self("check", life.operation_id)
            if life.state is State.CLOSED:
                return self("show", life.operation_id)
        if report.waiting(State.PROPOSED, State.CONFIRMED):
            return self("confirm", report.transaction)
        if report.state is State.BLOCKED and not report.is_followed_up:
            return self("followup", report.transaction)
        return self("confirm", report.transaction) if report.state is State.OPEN else None


def shell_word(text: str) -> str:
    """Quote `text` for a shell so that it can be printed: control characters as escapes, within $'…'."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        char if char.isprintable() and char not in "\\'" else "".join(f"\\x{byte:02x}" for byte in _bytes(char))
        for char in text
    )
    return f"$'{escaped}'"


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape")
