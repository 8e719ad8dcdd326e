"""Who is at work in the private folder, and the removal of what processes that died left there.

    .amends/writers/KEY.OPERATION    locked by the process that prepares or sends the attempt, for as long as it lives

A lock that is free says that no process will send the attempt any more; only then the journal is asked what became of
it, so that an intent can't come in between. Removed is what an attempt without an intent prepared, and what a failed
one, or a delete, left after its outcome was recorded; never what may still have to prove something (invariant 9).
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum

from amends.errors import AmendsError
from amends.ports import Attempt
from amends.surfaces.files.removal import drop_ready
from amends.surfaces.files.room import Room, descend, opened
from amends.surfaces.files.syscall import Syscalls

SWEPT_MAX = 20
"""So many attempts are looked at before each write, oldest first. A process that dies leaves one at most."""


class Remains(Enum):
    """What the journal says of an attempt whose writer is gone, where nothing of it is to be tidied."""

    NEEDED = "needed"
    """It is not over: what is there may be its only proof."""
    UNSENT = "unsent"
    """It has no intent, so nothing was sent."""
    OVER = "over"
    """It is over, and left nothing of its own."""


Past = Callable[[str, str], Remains | Attempt]
"""Given an operation's id and a key, what became of that attempt: itself, where what it left may be tidied."""


def announce(syscalls: Syscalls, room: Room, attempt: Attempt) -> int:
    """Say that this process is at work on `attempt`: until the descriptor is closed, which its death does too.

    The name appears with the lock on it, so that nobody finds it free. Raises OSError.
    """
    draft = f"{secrets.token_hex(8)}.draft"
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=room.writers)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        syscalls.rename(room.writers, draft, room.writers, _name(attempt))
    except BaseException:
        os.close(fd)
        with suppress(OSError):
            os.unlink(draft, dir_fd=room.writers)
        raise
    return fd


def withdraw(syscalls: Syscalls, room: Room, attempt: Attempt) -> None:
    """Forget that anybody was at work on `attempt`: nothing of it is left."""
    with suppress(OSError):
        syscalls.unlink(room.writers, _name(attempt))


def sweep(syscalls: Syscalls, room: Room, past: Past, tidy: Callable[[Attempt], None]) -> None:
    """Remove what attempts left whose process is gone. What can't be removed now stays for the next one."""
    with suppress(OSError):
        for name in sorted(syscalls.names(room.writers))[:SWEPT_MAX]:
            key, _, operation_id = name.partition(".")
            with suppress(OSError, AmendsError), _alone(room, name) as is_alone:
                if not is_alone or operation_id == "draft":
                    continue
                remains = past(operation_id, key)
                if remains is Remains.NEEDED:
                    continue
                if remains is Remains.UNSENT:
                    drop_prepared(syscalls, room, key)
                elif isinstance(remains, Attempt):
                    tidy(remains)
                syscalls.unlink(room.writers, name)


def _name(attempt: Attempt) -> str:
    return f"{attempt.key}.{attempt.operation_id}"


@contextmanager
def _alone(room: Room, name: str) -> Iterator[bool]:
    """Take the lock of a writer, if it is free."""
    with opened(fd := os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=room.writers)):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def drop_prepared(syscalls: Syscalls, room: Room, key: str) -> None:
    """Remove what an attempt without an intent prepared; nothing of it was ever anybody else's. Raises OSError."""
    for name in syscalls.names(room.stage):
        if name == key or name.startswith(f"probe.{key}."):
            _drop_staged(syscalls, room.stage, name)
    drop_ready(syscalls, room.archive, key)


def _drop_staged(syscalls: Syscalls, folder_fd: int, name: str) -> None:
    """Remove a staged file, or the folders that it was staged in. They are few and deep, and hold nothing else."""
    if not stat.S_ISDIR(syscalls.stat(folder_fd, name).st_mode):
        syscalls.unlink(folder_fd, name)
        return
    with opened(fd := descend(folder_fd, (name,))):
        for below in syscalls.names(fd):
            _drop_staged(syscalls, fd, below)
    syscalls.rmdir(folder_fd, name)
