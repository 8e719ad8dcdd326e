"""The bytes and the mode that a request asks for, brought into the journal's store before anything else happens.

Only what was read completely, from a source that did not change meanwhile, gets a digest; what will be sent is named
by that digest from then on.
"""

from __future__ import annotations

import base64
import binascii
import io
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from amends.contract.operation import Json
from amends.errors import DocumentError, PayloadError
from amends.ports import Blobs, WriteRequest
from amends.surfaces.files.snapshot import CHUNK_BYTES, is_unchanged, kind_of
from amends.surfaces.files.syscall import why

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
