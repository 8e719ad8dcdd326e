"""A progress bar for long copies, on a terminal only; small ones pass unseen.

It stands on standard error, and is taken away before anything else is printed, so that it can't wipe an outcome off.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_BYTES_MIN = 8 << 20
"""What takes no noticeable time needs no bar."""


class Bar:
    """Called with (what, bytes done, bytes in all); draws on standard error once there is something to wait for."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the bar off the terminal, so that something can be printed there."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._tasks.clear()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` bytes of `what` are done."""
        if total < SHOWN_BYTES_MIN:
            return
        if self._progress is None:
            self._progress = _drawn()
            self._progress.start()
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done)


def _drawn() -> Progress:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from .terminal import err

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
