"""A SQLite file system whose n-th write or sync fails, before or after it was done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import apsw

When = Literal["before", "after"]


@dataclass
class Fault:
    """Fails call number `at`, counted from when it was armed. Never, while `at` is None."""

    when: When = "before"
    at: int | None = None
    only_syncs: bool = False
    calls: int = 0
    hits: int = 0

    def arm(self, at: int, when: When) -> None:
        self.at, self.when, self.calls = at, when, 0

    def disarm(self) -> None:
        self.at = None

    def around(self, call: Any, *args: Any, is_sync: bool) -> None:
        if is_sync or not self.only_syncs:
            self.calls += 1
            if self.calls == self.at:
                self.hits += 1
                if self.when == "after":
                    call(*args)
                raise apsw.IOError("made to fail")
        call(*args)


class FaultyFile(apsw.VFSFile):
    def __init__(self, fault: Fault, vfs: str, name: Any, flags: list[int]) -> None:
        super().__init__(vfs, name, flags)
        self._fault = fault

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        self._fault.around(super().xWrite, data, offset, is_sync=False)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        self._fault.around(super().xSync, flags, is_sync=True)


class FaultyVfs(apsw.VFS):
    def __init__(self, fault: Fault, usual: str) -> None:
        self._fault = fault
        self._usual = usual
        super().__init__("faulty", base=usual, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:  # noqa: N802 - apsw's name
        return FaultyFile(self._fault, self._usual, name, flags)


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
