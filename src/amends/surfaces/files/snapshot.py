"""What one fresh read of a file shows: its digest and its mode, or why it can't be read.

The bytes come from one descriptor that was opened without following a link, and count only if the file was the same
before and after they were read. The version is made of content and mode, so it can repeat: a file that was changed and
changed back looks unchanged.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass

from amends.contract.operation import Observation, Presence
from amends.surfaces.files.reason import why
from amends.surfaces.files.syscall import Syscalls

CHUNK_BYTES = 1024 * 1024  # memory stays flat, and fewer calls would not be faster
READS_MAX = 3  # a file that changes during three reads in a row is being written now

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An observation, and the entry it was made of (None where there is none)."""

    seen: Observation
    stat: os.stat_result | None = None


def octal(mode: int) -> str:
    """Write permission bits as facts and fields have them."""
    return f"{stat.S_IMODE(mode):04o}"


def kind_of(mode: int) -> str:
    """Name the kind of an entry that is no regular file."""
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")


def is_unchanged(one: os.stat_result, two: os.stat_result) -> bool:
    """Say whether two looks at an open file show the same bytes, as far as its size and times tell."""
    return (one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) == (
        two.st_ino,
        two.st_size,
        two.st_mtime_ns,
        two.st_ctime_ns,
    )


def absent(at_ms: int | None = None) -> Observation:
    """Make the observation of nothing."""
    return Observation(Presence.ABSENT, at_ms=at_ms)


def unreadable(detail: str, at_ms: int | None = None) -> Observation:
    """Make the observation of what can't be read, and why."""
    return Observation(Presence.UNREADABLE, detail=detail, at_ms=at_ms)


def take(syscalls: Syscalls, folder_fd: int, name: str, *, at_ms: int | None = None) -> Snapshot:
    """Read the entry `name` of an open folder. Never raises: what can't be read is unreadable, with the reason."""
    try:
        entry = syscalls.stat(folder_fd, name)
    except FileNotFoundError:
        return Snapshot(absent(at_ms))
    except OSError as error:
        return Snapshot(unreadable(why(error), at_ms))
    if not stat.S_ISREG(entry.st_mode):
        return Snapshot(unreadable(f"it is {kind_of(entry.st_mode)}", at_ms), entry)
    try:
        fd = syscalls.open(folder_fd, name)
    except FileNotFoundError:
        return Snapshot(absent(at_ms))
    except OSError as error:
        return Snapshot(unreadable(why(error), at_ms), entry)
    try:
        return _read(fd, at_ms)
    except OSError as error:
        return Snapshot(unreadable(why(error), at_ms), entry)
    finally:
        os.close(fd)


def _read(fd: int, at_ms: int | None) -> Snapshot:
    for _ in range(READS_MAX):
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            return Snapshot(unreadable(f"it is {kind_of(before.st_mode)}", at_ms), before)
        digest, size = hashlib.sha256(), 0
        os.lseek(fd, 0, os.SEEK_SET)
        while chunk := os.read(fd, CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
        if is_unchanged(before, os.fstat(fd)) and size == before.st_size:
            content, mode = f"sha256:{digest.hexdigest()}", octal(before.st_mode)
            fields = {"content": content, "mode": mode, "size": size}
            seen = Observation(Presence.PRESENT, version=f"{content}/{mode}", fields=fields, at_ms=at_ms)
            return Snapshot(seen, before)
    return Snapshot(unreadable(f"it changed during each of {READS_MAX} reads", at_ms), os.fstat(fd))
