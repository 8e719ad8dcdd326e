"""The way to the terminal. Colours only there; a name is never taken for markup or for a control code.

Everything leaves through `say`, which escapes whatever could move a cursor or forge a line. A reader that went away,
or a full disk behind the pipe, is an OSError for the caller, never an exit of its own. Loads none of the layers below,
so that their faults can be said.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - called while the BrokenPipeError is handled


out = _Console(highlight=False, soft_wrap=True)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


def say(*parts: str | Text, console: Console | None = None) -> None:
    """Print one line. Control characters are shown as escapes, but for tabs."""
    safe = [_safe(part) if isinstance(part, str) else Text(_safe(part.plain), style=part.style) for part in parts]
    (console or out).print(*safe, markup=False, emoji=False)


def _safe(text: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode() for char in text
    )


def bold(text: str) -> Text:
    """Give `text` as a heading."""
    return Text(text, style="bold")


def fail(message: str, hint: str | None) -> None:
    """Print an error and its next step."""
    say(Text("Error:", style="bold red"), message, console=err)
    if hint:
        say(bold("Next:"), hint, console=err)


def is_terminal(*, shows_on_stderr: bool = False) -> bool:
    """Say whether a person can be shown something here and asked."""
    shown_on = sys.stderr if shows_on_stderr else sys.stdout
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, shown_on))
