"""A SQLite file system whose n-th change fails: before, after or half way through it, or from then on for good.

It knows what is certain of each file: what was there at its last sync. `lost` gives what the disk may hold after the
power is lost: of what was written since, nothing, all, or any part.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import apsw

When = Literal["before", "after", "half", "dead"]
WHEN: tuple[When, ...] = ("before", "after", "half", "dead")
LOSSES = 2
"""How many random parts are tried beside nothing and all."""

SECTOR_BYTES = 512


@dataclass
class Image:
    """A file: what it was when it was synced last, and what was done to it since, each as (offset, bytes or None)."""

    synced: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def with_part(self, part: list[bool]) -> bytes:
        """Give the file with those of the later changes that `part` says."""
        content = bytearray(self.synced)
        for (offset, data), is_there in zip(self.since, part, strict=True):
            if not is_there:
                continue
            if data is None:
                del content[offset:]
                continue
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
        return bytes(content)


@dataclass
class Fault:
    """Fails call number `at`, counted from when it was armed. Never, while `at` is None."""

    when: When = "before"
    at: int | None = None
    only_syncs: bool = False
    calls: int = 0
    hits: int = 0
    images: dict[str, Image] = field(default_factory=dict)
    at_hit: dict[str, Image] | None = None

    def arm(self, at: int, when: When) -> None:
        self.at, self.when, self.calls = at, when, 0

    def disarm(self) -> None:
        self.at = None

    def around(self, call: Any, *args: Any, is_sync: bool) -> None:
        if is_sync or not self.only_syncs:
            self.calls += 1
            if self.at is not None and (self.calls == self.at or (self.when == "dead" and self.calls > self.at)):
                self.hits += 1
                if self.when == "after":
                    call(*args)
                if self.when == "half" and args and isinstance(args[0], bytes):
                    call(args[0][: len(args[0]) // 2], *args[1:])
                if self.at_hit is None:
                    self.at_hit = {name: Image(image.synced, list(image.since)) for name, image in self.images.items()}
                raise apsw.IOError("made to fail")
        call(*args)

    def lost(self, rng: random.Random) -> Iterator[dict[str, bytes]]:
        """Give what the disk may hold if the power was lost at the first failure, or now if there was none."""
        images = self.images if self.at_hit is None else self.at_hit
        for share in (0.0, 1.0, *(rng.random() for _ in range(LOSSES))):
            yield {
                Path(name).name: image.with_part([rng.random() < share for _ in image.since])
                for name, image in images.items()
            }


class FaultyFile(apsw.VFSFile):
    def __init__(self, fault: Fault, vfs: str, name: Any, flags: list[int]) -> None:
        super().__init__(vfs, name, flags)
        self._fault = fault
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        kept = Path(self._name)
        self._image = fault.images.setdefault(self._name, Image(kept.read_bytes() if kept.exists() else b""))

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        self._fault.around(self._write, data, offset, is_sync=False)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - apsw's name
        self._fault.around(self._truncate, newsize, is_sync=False)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        self._fault.around(self._sync, flags, is_sync=True)

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._image.since += [
            (offset + at, bytes(data[at : at + SECTOR_BYTES])) for at in range(0, len(data), SECTOR_BYTES)
        ]

    def _truncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._image.since.append((newsize, None))

    def _sync(self, flags: int) -> None:
        super().xSync(flags)
        self._image.synced = self._image.with_part([True] * len(self._image.since))
        self._image.since.clear()


class FaultyVfs(apsw.VFS):
    def __init__(self, fault: Fault, usual: str) -> None:
        self._fault = fault
        self._usual = usual
        super().__init__("faulty", base=usual, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:  # noqa: N802 - apsw's name
        return FaultyFile(self._fault, self._usual, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - apsw's name
        self._fault.around(self._delete, filename, syncdir, is_sync=False)

    def _delete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._fault.images.pop(filename, None)


@contextmanager
def faulty_disk() -> Iterator[Fault]:
    """Make the faulty file system the default one while the block runs."""
    usual, *_ = apsw.vfs_names()
    fault = Fault()
    vfs = FaultyVfs(fault, usual)
    try:
        yield fault
    finally:
        fault.disarm()
        vfs.unregister()
        assert apsw.vfs_names()[0] == usual
