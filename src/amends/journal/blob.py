"""Bytes that the journal keeps for events to name: the payloads to send, and the pre-images for undo.

`blobs/ab/<hex>`, named by their SHA-256 and readable by their owner alone. A blob is complete and synced before it
has its name, so an event that names it never points at a half (invariants 11 and 13). Memory stays flat whatever the
size.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO

from amends.errors import JournalError, PayloadError

from .trouble import unusable

CHUNK_BYTES = 1024 * 1024
"""Large enough that hashing dominates, small enough to be nothing in memory."""

DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def chunks(content: BinaryIO, *, bytes_max: int) -> Iterator[bytes]:
    """Read `content` piece by piece. Raises PayloadError past `bytes_max`, or where it can't be read."""
    size = 0
    while True:
        try:
            chunk = content.read(CHUNK_BYTES)
        except OSError as error:
            raise PayloadError(f"the bytes to keep can't be read: {error.strerror or error}") from error
        if not chunk:
            return
        size += len(chunk)
        if size > bytes_max:
            raise PayloadError(f"more than {bytes_max} bytes", hint="send less, or raise the limit in the settings")
        yield chunk


class BlobFolder:
    """The blobs of one journal. `owner` marks this process's unfinished files, so that a crash's can be told."""

    def __init__(self, folder: Path, *, owner: str) -> None:
        """Use `folder`, making it if needed."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder = folder
        self._owner = owner
        self._numbers = count(1)

    def put(
        self, content: BinaryIO, *, bytes_max: int, progress: Callable[[int], None] | None = None
    ) -> tuple[str, int]:
        """Keep `content` and give (digest, size); `progress` is told the bytes so far."""
        unfinished = self._folder / f".{self._owner}.{next(self._numbers)}"
        try:
            digest, size = self._copy(content, unfinished, bytes_max=bytes_max, progress=progress)
            place = self._folder / digest[:2] / digest
            if not self._is_good(place) or not _is_kept_anew(place):
                place.parent.mkdir(mode=0o700, exist_ok=True)
                unfinished.rename(place)
            sync_folder(place.parent)
            sync_folder(self._folder)
        except OSError as error:
            raise unusable(self._folder, error) from error
        finally:
            unfinished.unlink(missing_ok=True)
        return f"sha256:{digest}", size

    def open(self, digest: str) -> BinaryIO:
        """Open the blob. Whoever copies it checks its content as it goes."""
        match = DIGEST.fullmatch(digest)
        if match is None:
            raise JournalError(f"{digest} is not the name of kept bytes", hint="amends verify")
        place = self._folder / match[1][:2] / match[1]
        try:
            return place.open("rb")
        except FileNotFoundError as error:
            raise JournalError(
                f"the kept bytes {place} are gone", hint="decline what needs them, and propose it again: amends"
            ) from error
        except OSError as error:
            raise unusable(place, error) from error

    def sweep(self, is_alive: Callable[[str], bool]) -> None:
        """Remove what dead processes left unfinished."""
        for path in self._folder.glob(".*.*"):
            if not is_alive(path.name[1:].rpartition(".")[0]):
                path.unlink(missing_ok=True)

    def forget(self, is_unnamed: Callable[[str], bool], *, before_ms: int) -> int:
        """Remove blobs that nothing names and that were last kept before `before_ms`; give how many.

        Each is moved aside before it is looked at for the last time, so that one that is kept again just then stays.
        """
        gone = 0
        for path in self._folder.glob("*/*"):
            if not is_unnamed(path.name) or path.stat().st_mtime_ns >= before_ms * 1_000_000:
                continue
            aside = self._folder / f".{self._owner}.{next(self._numbers)}"
            path.rename(aside)
            if aside.stat().st_mtime_ns >= before_ms * 1_000_000:
                aside.rename(path)
                continue
            aside.unlink()
            gone += 1
        return gone

    def check(self) -> tuple[int, list[str]]:
        """Read every blob: give how many there are, and each that is not what its name says."""
        blobs, faults = 0, []
        for path in sorted(self._folder.glob("*/*")):
            blobs += 1
            try:
                is_good = path.parent.name == path.name[:2] and self._is_good(path)
            except OSError as error:
                faults.append(f"the kept bytes {path} can't be read: {error.strerror}")
                continue
            if not is_good:
                faults.append(f"the kept bytes {path} are not what their name says")
        return blobs, faults

    def _copy(
        self, content: BinaryIO, unfinished: Path, *, bytes_max: int, progress: Callable[[int], None] | None
    ) -> tuple[str, int]:
        sha256, size = hashlib.sha256(), 0
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for chunk in chunks(content, bytes_max=bytes_max):
                sha256.update(chunk)
                rest = memoryview(chunk)
                while rest:
                    rest = rest[file.write(rest) :]
                size += len(chunk)
                if progress is not None:
                    progress(size)
            os.fsync(file.fileno())
        return sha256.hexdigest(), size

    def _is_good(self, place: Path) -> bool:
        """Say whether `place` holds the bytes of its name; a damaged one is replaced, not trusted."""
        try:
            with place.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == place.name
        except FileNotFoundError:
            return False


def _is_kept_anew(place: Path) -> bool:
    """Have it count as kept just now, so that it is not swept with what is old; False if it is gone."""
    try:
        os.utime(place)
    except FileNotFoundError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
