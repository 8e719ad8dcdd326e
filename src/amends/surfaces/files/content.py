"""The bytes of a write: from a request into the journal's store, and from there, complete and durable, into the stage.

Only what was read completely, from a source that did not change meanwhile, gets a digest. A staged file is copied
from the store while that digest is checked, so what lands is what was confirmed. If parent folders are missing, the
whole small tree is staged and lands as one entry; no partial state is ever at a target.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from amends.contract.operation import Json
from amends.errors import DocumentError, PayloadError
from amends.ports import Blobs, WriteRequest
from amends.surfaces.files.room import descend, opened
from amends.surfaces.files.snapshot import CHUNK_BYTES, is_unchanged, kind_of
from amends.surfaces.files.syscall import Syscalls, why

PAYLOAD_BYTES_MAX = 1024 * 1024 * 1024
"""1 GiB: each write keeps its bytes twice, in the journal and at the target; more is a job for a backup tool."""

Progress = Callable[[str, int, int], None]
"""Called with a phase ("reading", "staging"), the bytes done and all bytes."""


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes in the journal's store, by digest."""

    digest: str
    size: int


class Metered(io.RawIOBase):
    """A stream that counts what is read from it, in pieces of at most `CHUNK_BYTES`, and tells the progress."""

    def __init__(self, fd: int, *, phase: str, total: int, progress: Progress | None) -> None:
        """Read from `fd`, which stays the caller's to close."""
        super().__init__()
        self._fd, self._phase, self._total, self._progress = fd, phase, total, progress
        self.done = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill `buffer`, or as much of it as one piece; what comes after `total` bytes is not asked for."""
        chunk = os.read(self._fd, min(len(buffer), CHUNK_BYTES, self._total - self.done))
        buffer[: len(chunk)] = chunk
        self.done += len(chunk)
        if self._progress and chunk:
            self._progress(self._phase, self.done, self._total)
        return len(chunk)


def put(fd: int, blobs: Blobs, *, size: int, bytes_max: int, progress: Progress | None) -> Content:
    """Stream an open file into the store."""
    metered = Metered(fd, phase="reading", total=size, progress=progress)
    digest, kept = blobs.put_blob(cast(BinaryIO, io.BufferedReader(metered, CHUNK_BYTES)), bytes_max=bytes_max)
    return Content(digest, kept)


def from_fields(request: WriteRequest, blobs: Blobs, *, allowed: frozenset[str]) -> Content | None:
    """Take `text` or `base64` of a document; None if it has neither."""
    unknown = sorted(set(request.fields) - allowed)
    if unknown:
        names = ", ".join(sorted(allowed)) or "none"
        raise DocumentError(f"{unknown[0]!r} is no field of {request.kind} on files", hint=f"allowed fields: {names}")
    given = [name for name in ("text", "base64") if name in request.fields]
    if not given:
        return None
    if len(given) > 1:
        raise DocumentError("'text' and 'base64' are both given", hint="give the content as one of them")
    value = request.fields[given[0]]
    if not isinstance(value, str):
        raise DocumentError(f"{given[0]!r} is not a string", hint="give the content as a JSON string")
    try:
        content = value.encode() if given[0] == "text" else base64.b64decode(value, validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError) as error:
        raise DocumentError(f"{given[0]!r} can't be taken: {error}", hint="give bytes as 'base64'") from error
    return Content(*blobs.put_blob(io.BytesIO(content), bytes_max=PAYLOAD_BYTES_MAX))


def from_local_file(path: str | None, blobs: Blobs, *, progress: Progress | None) -> Content:
    """Take the file on this machine that an upload names. It is read once."""
    if path is None:
        raise DocumentError(
            "an upload without 'local_file'", hint="name the file on this machine, by its absolute path"
        )
    if not os.path.isabs(path) or "\0" in path:
        raise DocumentError(f"'local_file' {path!r} is not an absolute path", hint=f"write {Path(path).name!r} in full")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except UnicodeEncodeError as error:
        raise DocumentError(f"{path!r} is not a path: it is not valid UTF-8", hint="say it in UTF-8") from error
    except OSError as error:
        raise PayloadError(f"{path} can't be read: {why(error)}", hint="check the path and its permissions") from error
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise PayloadError(f"{path} is {kind_of(before.st_mode)}", hint="name a regular file")
        if before.st_size > PAYLOAD_BYTES_MAX:
            raise PayloadError(
                f"{path} has {before.st_size} bytes; at most {PAYLOAD_BYTES_MAX} are taken",
                hint="copy a file of that size with another tool",
            )
        content = put(fd, blobs, size=before.st_size, bytes_max=PAYLOAD_BYTES_MAX, progress=progress)
        if not is_unchanged(before, os.fstat(fd)) or content.size != before.st_size:
            raise PayloadError(f"{path} changed while it was read", hint="wait until whatever writes it is done")
    except OSError as error:
        raise PayloadError(f"{path} can't be read: {why(error)}", hint="check the disk it is on") from error
    finally:
        os.close(fd)
    return content


def mode_from(value: Json) -> str | None:
    """Take the optional `mode` of a document, as four octal digits."""
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(r"0?[0-7]{3}", value):
        raise DocumentError(f"'mode' is {value!r}", hint='write it as octal digits in quotes, such as "0644"')
    return value.rjust(4, "0")


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
