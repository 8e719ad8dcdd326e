"""What one fresh read shows: of a file its digest and its mode, of a folder one digest over all that is in it.

Bytes come from one descriptor that was opened without following a link, and count only if the file was the same
before and after they were read; so do the names in a folder. The version is made of content and mode, so it can
repeat: a file that was changed and changed back looks unchanged. A link in a folder is a name and its aim, never what
it leads to.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass

from amends.contract.operation import Observation, Presence
from amends.surfaces.files.identity import ROOM, fold
from amends.surfaces.files.room import descend
from amends.surfaces.files.syscall import Syscalls, is_mount, why

CHUNK_BYTES = 1024 * 1024  # memory stays flat, and fewer calls would not be faster
READS_MAX = 3  # a file that changes during three reads in a row is being written now

TREE_ENTRIES_MAX = 10_000
"""A folder is read whole at each look, which must not take more than seconds; a larger one is another tool's job."""

TREE_DEPTH_MAX = 100
"""Each level keeps a folder open while it is read; a process may have some 1024 files open."""

_END = b"\0\0"
"""What ends a row of a listing; no name, mode, digest or aim of a link is empty or holds a NUL."""

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


def take(
    syscalls: Syscalls, folder_fd: int, name: str, *, at_ms: int | None = None, takes_folders: bool = True
) -> Snapshot:
    """Read the entry `name` of an open folder. Never raises: what can't be read is unreadable, with the reason.

    `takes_folders`: a folder is read as a tree; else it is no file, and so unreadable.
    """
    try:
        entry = syscalls.stat(folder_fd, name)
    except FileNotFoundError:
        return Snapshot(absent(at_ms))
    except OSError as error:
        return Snapshot(unreadable(why(error), at_ms))
    is_tree = stat.S_ISDIR(entry.st_mode) and takes_folders
    if not stat.S_ISREG(entry.st_mode) and not is_tree:
        return Snapshot(unreadable(f"it is {kind_of(entry.st_mode)}", at_ms), entry)
    try:
        fd = descend(folder_fd, (name,)) if is_tree else syscalls.open(folder_fd, name)
    except FileNotFoundError:
        return Snapshot(absent(at_ms))
    except OSError as error:
        return Snapshot(unreadable(why(error), at_ms), entry)
    try:
        return _read_tree(syscalls, fd, at_ms) if is_tree else _read(fd, at_ms)
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
        while size <= before.st_size and (chunk := os.read(fd, CHUNK_BYTES)):  # one that grows is not read for ever
            digest.update(chunk)
            size += len(chunk)
        if is_unchanged(before, os.fstat(fd)) and size == before.st_size:
            content, mode = f"sha256:{digest.hexdigest()}", octal(before.st_mode)
            fields = {"content": content, "mode": mode, "size": size}
            seen = Observation(Presence.PRESENT, version=f"{content}/{mode}", fields=fields, at_ms=at_ms)
            return Snapshot(seen, before)
    return Snapshot(unreadable(f"it changed during each of {READS_MAX} reads", at_ms), os.fstat(fd))


class UnreadableError(Exception):
    """A tree, or an entry in it, can't be taken, and why."""


class _TornError(Exception):
    """A folder changed while it was read."""


def listing(syscalls: Syscalls, fd: int) -> bytes:
    """Write down all that is in an open folder, in the one form whose digest is `tree`. Raises UnreadableError."""
    for _ in range(READS_MAX):
        rows: dict[bytes, bytes] = {}
        try:
            _walk(syscalls, fd, b"", rows, depth=0)
        except (_TornError, FileNotFoundError):
            continue
        return b"".join(path + b"\0" + rows[path] for path in sorted(rows))
    raise UnreadableError(f"it changed during each of {READS_MAX} reads")


def tree_digest(whole: bytes) -> str:
    """Give the field `tree` of a listing."""
    return f"sha256:{hashlib.sha256(whole).hexdigest()}"


def rows_in(whole: bytes) -> dict[bytes, bytes]:
    """Take a listing apart again: what is at each path, the folder itself at the empty one."""
    records = (record.partition(b"\0") for record in whole.split(_END)[:-1])
    return {path: row + _END for path, _, row in records}


def row_of(syscalls: Syscalls, fd: int, name: str) -> bytes:
    """Give what a listing says of an entry that is no folder. Raises UnreadableError, FileNotFoundError, OSError."""
    entry = syscalls.stat(fd, name)
    if stat.S_ISREG(entry.st_mode):
        seen = take(syscalls, fd, name, takes_folders=False).seen
        if seen.presence is Presence.ABSENT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if seen.presence is Presence.UNREADABLE:
            raise UnreadableError(f"can't be read: {seen.detail}")
        return file_row(seen.fields["mode"], seen.fields["content"])
    if stat.S_ISLNK(entry.st_mode):
        return _row("link", os.readlink(name, dir_fd=fd))
    return _row(kind_of(entry.st_mode), octal(entry.st_mode), str(entry.st_rdev))


def _read_tree(syscalls: Syscalls, fd: int, at_ms: int | None) -> Snapshot:
    before = os.fstat(fd)
    try:
        whole = listing(syscalls, fd)
    except UnreadableError as error:
        return Snapshot(unreadable(str(error), at_ms), before)
    tree = tree_digest(whole)
    fields = {"tree": tree, "entries": len(rows_in(whole)) - 1}
    return Snapshot(Observation(Presence.PRESENT, version=tree, fields=fields, at_ms=at_ms), before)


def _walk(syscalls: Syscalls, fd: int, path: bytes, rows: dict[bytes, bytes], *, depth: int) -> None:
    """Note an open folder, and all below it, in `rows`: by its path, what it is, in words that end in NUL."""
    told = os.fsdecode(path) or "it"
    if depth > TREE_DEPTH_MAX:
        raise UnreadableError(f"it is more than {TREE_DEPTH_MAX} folders deep")
    before = os.fstat(fd)
    rows[path] = _row("folder", octal(before.st_mode))
    for name in syscalls.names(fd):
        below = path + b"/" + os.fsencode(name) if path else os.fsencode(name)
        if len(rows) > TREE_ENTRIES_MAX:
            raise UnreadableError(f"it holds more than {TREE_ENTRIES_MAX} entries")
        if fold(name) == ROOM:
            raise UnreadableError(f"{told} holds {name}, where Amends keeps what it needs for undo")
        entry = syscalls.stat(fd, name)
        if entry.st_dev != before.st_dev or is_mount(fd, name):
            raise UnreadableError(f"{os.fsdecode(below)} is on another filesystem")
        if stat.S_ISDIR(entry.st_mode):
            deeper = descend(fd, (name,))
            try:
                _walk(syscalls, deeper, below, rows, depth=depth + 1)
            finally:
                os.close(deeper)
        else:
            try:
                rows[below] = row_of(syscalls, fd, name)
            except UnreadableError as error:
                raise UnreadableError(f"{os.fsdecode(below)} {error}") from error
    if not is_unchanged(before, os.fstat(fd)):
        raise _TornError


def file_row(mode: str, content: str) -> bytes:
    """Give what a listing says of a file."""
    return _row("file", mode, content)


def is_folder_row(row: bytes) -> bool:
    """Say whether a row is that of a folder."""
    return row.startswith(b"folder\0")


def _row(*what: str) -> bytes:
    return b"\0".join(map(os.fsencode, what)) + _END
