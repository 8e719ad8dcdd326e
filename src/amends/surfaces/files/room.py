"""The private folder `.amends` at the top of a filesystem: who owns it, what is in it, who is at work, what is left.

`owner` holds the id of the one journal that may write below; it appears complete or not at all and is never
rewritten. Looking creates nothing; the folders come with the first `prepare`. All descents go folder by folder from
an open root, without following links, so that nothing outside the root can be reached.

    writers/KEY.OPERATION    locked by the process that prepares or sends the attempt, for as long as it lives

A lock that is free says that no process will send the attempt any more; only then the journal is asked what became of
it, so that an intent can't come in between. Swept is what an attempt without an intent prepared, and what a failed
one, or a delete, left after its outcome was recorded; never what may still have to prove something (invariant 9).
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from amends.errors import AmendsError, OwnershipError
from amends.ports import Attempt
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.syscall import Syscalls, is_mount, why

PRIVATE = 0o700
_FOLDERS = ("stage", "archive", "writers")

KEPT = "kept"
"""The folder in `archive/KEY` that something is renamed into to put it away."""

LISTED = "listed"
"""The file in `archive/KEY` that says what of a folder may be removed."""

OWNER_BYTES_MAX = 4096  # an id has some 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Room:
    """Open descriptors of the root and of the three folders in its `.amends`."""

    root: int
    stage: int
    archive: int
    writers: int

    @property
    def fds(self) -> tuple[int, ...]:
        """All of them, to be closed."""
        return self.root, self.stage, self.archive, self.writers

    @property
    def inodes(self) -> tuple[int, int]:
        """What tells this room from one that was copied here, in which recorded inodes would mean nothing."""
        return os.fstat(self.stage).st_ino, os.fstat(self.archive).st_ino


@contextmanager
def opened(*fds: int) -> Iterator[None]:
    """Close `fds` at the end."""
    try:
        yield
    finally:
        for fd in fds:
            os.close(fd)


def open_root(root: str) -> int:
    """Open the root folder. Raises OSError."""
    return os.open(root, _FOLDER)


def descend(top: int, parts: Sequence[str]) -> int:
    """Open the folder at `parts` below `top`: no links, one filesystem. Raises OSError."""
    fd, depth = descend_far(top, parts)
    if depth < len(parts):
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/".join(parts[: depth + 1]))
    return fd


def descend_far(top: int, parts: Sequence[str]) -> tuple[int, int]:
    """Open the deepest folder of `parts` that exists, and say how many of them do."""
    fd = os.dup(top)
    device = os.fstat(top).st_dev
    for depth, part in enumerate(parts):
        try:
            deeper = os.open(part, _FOLDER, dir_fd=fd)
        except FileNotFoundError:
            return fd, depth
        except OSError:
            os.close(fd)
            raise
        os.close(fd)
        fd = deeper
        if os.fstat(fd).st_dev != device or is_mount(fd):
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), "/".join(parts[: depth + 1]))
    return fd, len(parts)


def owner_of(folder: str) -> str | None:
    """Give the id of the journal that owns `folder`, or None. Raises OwnershipError if that can't be told."""
    place = f"{folder.rstrip('/')}/{ROOM}"
    try:
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            raise OwnershipError(
                f"{place} is not a folder, so it can't be told which journal owns {folder}",
                hint=f"move {place} away if no other Amends uses {folder}",
            )
        fd = os.open(f"{place}/owner", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OwnershipError(
            f"{place}/owner can't be read: {why(error)}", hint="let this user read it, or choose another folder"
        ) from error
    with opened(fd):
        text = os.read(fd, OWNER_BYTES_MAX).decode(errors="replace").strip()
    if not text:
        raise OwnershipError(
            f"{place}/owner is empty, so it can't be told which journal owns {folder}",
            hint=f"remove {place}/owner if no other Amends uses {folder}",
        )
    return text


def check_owner(root: str, parts: Sequence[str], *, journal_id: str) -> None:
    """Refuse if another journal owns the root, a folder above it, or one between it and the target."""
    above = [str(path) for path in (Path(root), *Path(root).parents)]
    between = ["/".join((root.rstrip("/"), *parts[:depth])) for depth in range(1, len(parts))]
    for folder in above + between:
        owner = owner_of(folder)
        if owner is not None and owner != journal_id:
            raise OwnershipError(
                f"{folder} belongs to journal {owner}; this is journal {journal_id}",
                hint=f"use the settings that name journal {owner}, or a folder outside {folder}",
            )


def open_room(root_fd: int) -> Room:
    """Open the room as it is; `root_fd` becomes its own. Raises OSError where there is none."""
    fds = [root_fd]
    try:
        for name in _FOLDERS:
            fds.append(descend(root_fd, (ROOM, name)))
        return Room(*fds)
    except OSError:
        for fd in fds:
            os.close(fd)
        raise


def make_room(syscalls: Syscalls, root: str, *, journal_id: str) -> Room:
    """Open the room, after making what is not there yet, and the root this journal's."""
    root_fd = open_root(root)
    try:
        with suppress(FileExistsError):
            syscalls.mkdir(root_fd, ROOM, PRIVATE)
        with_owner = descend(root_fd, (ROOM,))
        with opened(with_owner):
            _claim(syscalls, with_owner, journal_id)
            _hide(with_owner)
            for name in _FOLDERS:
                with suppress(FileExistsError):
                    syscalls.mkdir(with_owner, name, PRIVATE)
            syscalls.fsync(with_owner)
            syscalls.fsync(root_fd)
        check_owner(root, (), journal_id=journal_id)
    except BaseException:
        os.close(root_fd)
        raise
    return open_room(root_fd)


def _hide(room_fd: int) -> None:
    """Tell git to leave the private folder out: bytes that somebody deleted elsewhere have no place in a history."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError), opened(fd := os.open(".gitignore", flags, 0o600, dir_fd=room_fd)):
        os.write(fd, b"*\n")


def _claim(syscalls: Syscalls, room_fd: int, journal_id: str) -> None:
    """Write `owner` beside its place and bring it there in one step, unless one is there."""
    try:
        syscalls.stat(room_fd, "owner")
        return
    except FileNotFoundError:
        pass
    draft = f"owner.{secrets.token_hex(8)}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=room_fd)
    with opened(fd):
        os.write(fd, f"{journal_id}\n".encode())
        syscalls.fsync(fd)
    with suppress(FileExistsError):
        try:
            syscalls.rename_noreplace(room_fd, draft, room_fd, "owner")
            return
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL):
                syscalls.unlink(room_fd, draft)
                raise
        try:
            syscalls.link(room_fd, draft, room_fd, "owner")
        finally:
            syscalls.unlink(room_fd, draft)


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


def drop_ready(syscalls: Syscalls, archive: int, key: str) -> None:
    """Remove an empty place that an attempt without an intent made. Raises OSError where it is not empty."""
    try:
        outer = descend(archive, (key,))
    except FileNotFoundError:
        return
    with opened(outer):
        with suppress(FileNotFoundError):
            syscalls.rmdir(outer, KEPT)
        with suppress(FileNotFoundError):
            syscalls.unlink(outer, LISTED)
    syscalls.rmdir(archive, key)
