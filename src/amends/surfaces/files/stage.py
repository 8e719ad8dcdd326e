"""The bytes of a write before it lands: complete, durable and with their permissions, where nobody looks for them.

A staged file is copied from the journal's store while its digest is checked, so what lands is what was confirmed. If
parent folders are missing, the whole small tree is staged and lands as one entry; no partial state is ever at a target.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from amends.errors import PayloadError
from amends.surfaces.files.content import Progress
from amends.surfaces.files.room import descend, opened
from amends.surfaces.files.snapshot import CHUNK_BYTES
from amends.surfaces.files.syscall import Syscalls

_UMASK_WHERE_IT_CAN_T_BE_READ = 0o022


def umask() -> int:
    """Read the process's umask without setting it, which would be a race with every other thread."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return _UMASK_WHERE_IT_CAN_T_BE_READ


class Like:
    """What a staged file takes over from another one: owner, ACL, user attributes and, unless asked otherwise, mode.

    Owner and attributes as far as this process may set them and the filesystem has them.
    """

    def __init__(self, fd: int) -> None:
        """Read them from an open file."""
        self.stat = os.fstat(fd)
        self.attributes: dict[str, bytes] = {}
        with suppress(OSError):
            for name in os.listxattr(fd):
                if name.startswith("user.") or name == "system.posix_acl_access":
                    with suppress(OSError):
                        self.attributes[name] = os.getxattr(fd, name)

    def give(self, fd: int) -> None:
        """Set them on another open file; the mode comes last, by the caller."""
        own = os.fstat(fd)
        if (own.st_uid, own.st_gid) != (self.stat.st_uid, self.stat.st_gid):
            try:
                os.fchown(fd, self.stat.st_uid, self.stat.st_gid)
            except OSError:
                with suppress(OSError):
                    os.fchown(fd, -1, self.stat.st_gid)
        for name, value in self.attributes.items():
            with suppress(OSError):
                os.setxattr(fd, name, value)


def stage_file(
    syscalls: Syscalls,
    folder_fd: int,
    name: str,
    *,
    blob: Callable[[], BinaryIO],
    digest: str,
    size: int,
    mode: int | None,
    like: Like | None,
    group_of: int | None,
    progress: Progress | None,
) -> int:
    """Write a new, durable file `name` into an open folder and give its inode. Raises PayloadError, OSError.

    `mode`: what was asked for; else that of `like`, else what the umask leaves of 0666. `group_of`: an open folder
    that may hand its group on.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder_fd)
    try:
        with opened(fd):
            _copy(blob, fd, digest=digest, size=size, progress=progress)
            if like is not None:
                like.give(fd)
                wanted = stat.S_IMODE(like.stat.st_mode)
            else:
                wanted = 0o666 & ~umask()
                _take_group(fd, group_of)
            os.fchmod(fd, wanted if mode is None else mode)
            syscalls.fsync(fd)
            return os.fstat(fd).st_ino
    except BaseException:
        with suppress(OSError):
            syscalls.unlink(folder_fd, name)
        raise


def _copy(blob: Callable[[], BinaryIO], fd: int, *, digest: str, size: int, progress: Progress | None) -> None:
    seen, done = hashlib.sha256(), 0
    with blob() as source:
        while chunk := source.read(CHUNK_BYTES):
            seen.update(chunk)
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(fd, rest) :]
            done += len(chunk)
            if progress:
                progress("staging", done, size)
    if f"sha256:{seen.hexdigest()}" != digest:
        raise PayloadError(
            f"the kept bytes of {digest} were altered: they have the digest sha256:{seen.hexdigest()}",
            hint="run amends verify; then propose the write again",
        )


def _take_group(fd: int, folder: int | None) -> None:
    """Hand on the group of a folder whose setgid bit asks for it, as the kernel does for files made in it."""
    if folder is not None and (above := os.fstat(folder)).st_mode & stat.S_ISGID:
        with suppress(OSError):
            os.fchown(fd, -1, above.st_gid)


def stage_entry(
    syscalls: Syscalls,
    stage_fd: int,
    names: Sequence[str],
    *,
    blob: Callable[[], BinaryIO],
    digest: str,
    size: int,
    mode: int | None,
    like: Like | None,
    group_of: int,
    progress: Progress | None,
) -> tuple[int, int]:
    """Stage a file, inside folders where `names` has several, and make it durable. Gives the inodes of top and file."""
    chain = [os.dup(stage_fd)]
    file: int | None = None
    try:
        for name in names[:-1]:
            syscalls.mkdir(chain[-1], name, 0o777)
            chain.append(descend(chain[-1], (name,)))
        file = stage_file(
            syscalls,
            chain[-1],
            names[-1],
            blob=blob,
            digest=digest,
            size=size,
            mode=mode,
            like=like,
            group_of=group_of,
            progress=progress,
        )
        for fd in reversed(chain):
            syscalls.fsync(fd)
        return syscalls.stat(stage_fd, names[0]).st_ino, file
    except BaseException:
        if file is not None:
            with suppress(OSError):
                syscalls.unlink(chain[-1], names[-1])
        for fd, name in zip(reversed(chain[:-1]), reversed(names[: len(chain) - 1]), strict=True):
            with suppress(OSError):
                syscalls.rmdir(fd, name)
        raise
    finally:
        for fd in chain:
            os.close(fd)


def drop(syscalls: Syscalls, folder_fd: int, name: str, inside: Sequence[str], *, staged: int, file: int) -> None:
    """Remove a staged entry that did not land, if it is exactly that: any other inode is left alone."""
    with suppress(OSError):
        if syscalls.stat(folder_fd, name).st_ino != staged:
            return
        *folders, last = (name, *inside)
        chain = [os.dup(folder_fd)]
        try:
            for part in folders:
                chain.append(descend(chain[-1], (part,)))
            with suppress(FileNotFoundError):
                if syscalls.stat(chain[-1], last).st_ino == file:
                    syscalls.unlink(chain[-1], last)
            for above, part in zip(reversed(chain[:-1]), reversed(folders), strict=True):
                syscalls.rmdir(above, part)
        finally:
            for fd in chain:
                os.close(fd)
