"""The two journals of a simulation behind one face: what was recorded, how a commit fails, and what power loss takes.

Most seeds keep their events in memory. A share of them runs on the real journal: a SQLite file in shared memory, with
its locks, its log and its chains. A crash is the end of a process's lock and connection, power loss is the folder as
the last durable commit left it, and faults strike in SQLite's own file system.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from types import MethodType
from typing import Literal, Protocol

import apsw

from amends.contract import State
from amends.errors import ConflictError
from amends.journal import MemoryJournal, SqliteJournal
from amends.journal.chain import Row
from amends.journal.rule import Standing, step
from amends.ports import Event, Journal
from amends.testing import FakeClock, FakeIds
from tests.journal.fault import Fault, faulty_disk

How = Literal["before", "after", "lingering"]
"""How a commit fails: before it took effect, after it, or so that it may show after a crash."""

SHARED_MEMORY = Path("/dev/shm")
"""Syncing there costs nothing; where there is none, the usual place for temporary files does."""


class Keeping(Protocol):
    """One journal, and all processes that have it open."""

    def opened(self) -> Journal:
        """Open it, as another process."""

    def kill(self, journal: Journal) -> None:
        """End the process of `journal` without a word."""

    def lose_power(self) -> int:
        """End all processes, and give how many of the events that were recorded are still there."""

    def fail_next(self, journal: Journal, how: How) -> None:
        """Make the next commit of `journal` fail."""

    def will_commit(self, *, durable: bool) -> None:
        """Hear that a commit is about to be made."""

    def since(self, place: int, *, durable: bool) -> list[tuple[Event, bool]]:
        """Give what is recorded after the first `place` events, each with whether it is durable."""

    def state(self, subject: str) -> State | None:
        """Give the recorded state of `subject`."""

    def close(self) -> None:
        """Leave nothing behind."""


class InMemory:
    """The journal in memory."""

    def __init__(self, clock: FakeClock, ids: FakeIds) -> None:
        """Make an empty one."""
        self._first = MemoryJournal(clock=clock, ids=ids)
        self._was_opened = False

    def opened(self) -> Journal:
        """Open it, as another process."""
        if self._was_opened:
            return self._first.reopened()
        self._was_opened = True
        return self._first

    def kill(self, journal: Journal) -> None:
        """End the process of `journal` without a word."""
        assert isinstance(journal, MemoryJournal)
        journal.kill()

    def lose_power(self) -> int:
        """End all processes, and give how many events are still there."""
        self._first.lose_power()
        return len(self._first._store.kept)

    def fail_next(self, journal: Journal, how: How) -> None:
        """Make the next commit of `journal` fail."""
        assert isinstance(journal, MemoryJournal)
        journal.fail_next_commit = how

    def will_commit(self, *, durable: bool) -> None:
        """Hear that a commit is about to be made."""

    def since(self, place: int, *, durable: bool) -> list[tuple[Event, bool]]:
        """Give what is recorded after the first `place` events, each with whether it is durable."""
        del durable
        return [(kept.event(), kept.is_durable) for kept in self._first._store.kept[place:]]

    def state(self, subject: str) -> State | None:
        """Give the recorded state of `subject`."""
        standing = self._first._store.standing(subject)
        return standing.state if standing else None

    def close(self) -> None:
        """Leave nothing behind."""


class InSqlite:
    """The real journal, on a disk that can be made to fail."""

    def __init__(self, clock: FakeClock, ids: FakeIds) -> None:
        """Make an empty one."""
        self._clock, self._ids = clock, ids
        self._cleanup = ExitStack()
        place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self._root = Path(tempfile.mkdtemp(prefix="amends-simulation-", dir=place))
        self._cleanup.callback(shutil.rmtree, self._root)
        self._disk: Fault = self._cleanup.enter_context(faulty_disk())
        self._disk.only_syncs = True
        self._folder, self._durable = self._root / "journal", self._root / "durable"
        self._open: dict[str, SqliteJournal] = {}
        self._standings: dict[str, Standing] = {}
        self._known: list[bytes] = []
        """The hashes of the events that were given to whoever asked."""

    def opened(self) -> Journal:
        """Open it, as another process."""
        journal = SqliteJournal(self._folder, clock=self._clock, ids=self._ids)
        assert journal._database is not None
        journal._database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a process that is killed tidies nothing
        self._open[journal.process_id] = journal
        return journal

    def kill(self, journal: Journal) -> None:
        """End what the kernel ends with a process: its lock and its connection."""
        dead = self._open.pop(journal.process_id)
        self._disk.disarm()
        dead._owner.leave_to_parent()
        assert dead._database is not None
        dead._database.close()
        dead._database = None

    def lose_power(self) -> int:
        """End all processes, and give how many events are still there."""
        for journal in list(self._open.values()):
            self.kill(journal)
        if self._durable.is_dir():
            shutil.rmtree(self._folder)
            self._durable.rename(self._folder)
        left = self._rows(0)
        both = zip(left, self._known, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0].hash == pair[1], both))
        del self._known[same:]  # what comes after is another story: a commit that lingered may be a part of it
        self._standings.clear()
        self._fold(left[:same])
        return same

    def fail_next(self, journal: Journal, how: How) -> None:
        """Make the next commit of `journal` fail."""
        if how == "lingering":
            self._disk.arm(1, "before")  # the log has it, and its sync fails
            return
        assert isinstance(journal, SqliteJournal)

        def failing(self: SqliteJournal) -> None:
            del self.__dict__["_end_transaction"]
            if how == "after":
                self._end_transaction()
            raise apsw.IOError("made to fail")

        journal._end_transaction = MethodType(failing, journal)  # type: ignore[method-assign]

    def will_commit(self, *, durable: bool) -> None:
        """Keep the folder as it is, if what follows could be lost."""
        if not durable and not self._durable.is_dir():
            shutil.copytree(self._folder, self._durable)

    def since(self, place: int, *, durable: bool) -> list[tuple[Event, bool]]:
        """Give what is recorded after the first `place` events, each with whether it is durable."""
        self._disk.disarm()
        found = self._rows(place)
        self._known += [row.hash for row in found]
        self._fold(found)
        if durable and found and self._durable.is_dir():
            shutil.rmtree(self._durable)
        return [(row.event(), durable) for row in found]

    def state(self, subject: str) -> State | None:
        """Give the recorded state of `subject`."""
        standing = self._standings.get(subject)
        return standing.state if standing else None

    def close(self) -> None:
        """Leave nothing behind."""
        for journal in list(self._open.values()):
            with suppress(ConflictError):
                self.kill(journal)
        self._cleanup.close()

    def _rows(self, place: int) -> list[Row]:
        database = next((journal._database for journal in self._open.values()), None)
        reader = database or apsw.Connection(str(self._folder / "journal.sqlite"))
        try:
            rows = list(reader.execute(_ROWS, (place,)))
        finally:
            if database is None:
                reader.close()
        return [Row.of(row) for row in rows]

    def _fold(self, rows: list[Row]) -> None:
        for row in rows:
            standing = step(self._standings.get(row.subject), row.event())
            self._standings[row.subject] = replace(standing, since=0)


_ROWS = """
SELECT seq, process_id, n, subject, happened, epoch, at_ms, data, claims, releases, prev, hash
FROM events JOIN processes USING (process) ORDER BY seq LIMIT -1 OFFSET ?
"""
