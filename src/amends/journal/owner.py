"""Who has the journal open: one locked file for each process, in `owners/`.

The lock is the kernel's, so it ends with the process however that ends, and a process id that is used again or a
host that was renamed can't be mistaken for the owner. A missing file means dead: ids are never given twice.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amends.errors import JournalError

_POLL_S = 0.01
_POLLS_MAX = 500
"""Opening takes milliseconds; five seconds is the same bound as the database's own."""


class Owner:
    """One process's place among the owners, held until `close`."""

    def __init__(self, folder: Path, process_id: str) -> None:
        """Take the place `process_id` in `folder`; call it inside `opening(folder)`."""
        self._folder = folder
        self._process_id = process_id
        self._path = folder / process_id
        self.descriptor: int | None = None
        try:
            self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise JournalError(
                f"the process id {process_id} is in use", hint="an id must never be given twice"
            ) from error
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)  # who asks whether we live may hold it for a moment

    def is_alive(self, process_id: str) -> bool:
        """Say whether that process still holds its place."""
        return process_id == self._process_id or _is_held(self._folder, process_id)

    def leave_to_parent(self) -> None:
        """Drop the copy that a forked child got, so that the lock ends with the parent."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def close(self) -> None:
        """Give the place up."""
        if self.descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self.descriptor)
            self.descriptor = None


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """Let one process at a time make, migrate and sweep; a crash inside lets the next one in."""
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for poll in range(_POLLS_MAX + 1):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if poll == _POLLS_MAX:
                    raise JournalError(
                        f"another process has been opening the journal {folder.parent} for a long time",
                        hint="look for an amends command that hangs, and end it",
                    ) from error
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove the files of dead owners; call it inside `opening(folder)`, where no owner is half made."""
    for path in folder.iterdir():
        if not _is_held(folder, path.name):
            path.unlink(missing_ok=True)


def _is_held(folder: Path, process_id: str) -> bool:
    if not re.fullmatch(r"[\w-]+", process_id):
        return False
    try:
        descriptor = os.open(folder / process_id, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who ask don't look alive to each other
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
