"""Benches for the conformance suite, and a journal in a folder that is closed after the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import MethodType
from typing import Literal, cast

import apsw
import pytest

from amends.journal import MemoryJournal, SqliteJournal
from amends.ports import Journal
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import JournalBench

OpenJournal = Callable[[], SqliteJournal]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def open_journal(folder: Path, clock: FakeClock) -> Iterator[OpenJournal]:
    """Opens the journal in `folder`, each time as another process."""
    ids = FakeIds()
    with ExitStack() as opened:

        def open_one() -> SqliteJournal:
            journal = SqliteJournal(folder, clock=clock, ids=ids)
            opened.callback(journal.close)
            return journal

        yield open_one


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, open_journal: OpenJournal, clock: FakeClock) -> JournalBench:
    if request.param == "sqlite":
        return JournalBench(open_journal, break_sqlite, kill_sqlite, clock)
    first = MemoryJournal(clock=clock, ids=FakeIds())
    return JournalBench(first.reopened, break_memory, lambda journal: cast(MemoryJournal, journal).kill(), clock)


def break_memory(journal: Journal, when: Literal["before", "after"]) -> None:
    cast(MemoryJournal, journal).fail_next_commit = when


def break_sqlite(journal: Journal, when: Literal["before", "after"]) -> None:
    """Replaces the end of the next transaction by one that fails."""
    sqlite = cast(SqliteJournal, journal)

    def failing(self: SqliteJournal) -> None:
        del self.__dict__["_end_transaction"]
        if when == "after":
            self._end_transaction()
        raise apsw.IOError("made to fail")

    sqlite._end_transaction = MethodType(failing, sqlite)  # type: ignore[method-assign]


def kill_sqlite(journal: Journal) -> None:
    """Ends what the kernel ends with a process: the lock. The file stays."""
    sqlite = cast(SqliteJournal, journal)
    assert sqlite._database is not None
    sqlite._owner.leave_to_parent()
    sqlite._database.close()
    sqlite._database = None
