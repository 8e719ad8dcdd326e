"""The bench, over both journals and both drivers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from amends.journal import MemoryJournal, SqliteJournal
from amends.ports import Journal
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import JournalBench
from tests.broker.bench import Bench
from tests.journal.conftest import break_memory, break_sqlite, kill_sqlite

MakeBench = Callable[[str], Bench]


@pytest.fixture(params=["memory", "sqlite"])
def journals(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JournalBench]:
    """A store, and ways to open it, to break it and to kill whoever has it open."""
    clock, ids = FakeClock(), FakeIds()
    with ExitStack() as opened:

        def open_sqlite() -> Journal:
            journal = SqliteJournal(tmp_path / "journal", clock=clock, ids=ids)
            opened.callback(journal.close)
            return journal

        if request.param == "sqlite":
            yield JournalBench(open_sqlite, break_sqlite, kill_sqlite, clock)
        else:
            first = MemoryJournal(clock=clock, ids=ids)
            yield JournalBench(first.reopened, break_memory, lambda one: cast(MemoryJournal, one).kill(), clock)


@pytest.fixture(params=["blocking", "async"])
def make_bench(request: pytest.FixtureRequest, journals: JournalBench) -> MakeBench:
    """Makes a bench whose target is of the kind that is asked for."""
    return lambda kind: Bench(journals, is_async=request.param == "async", kind=kind)


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """A bench whose target keeps receipts in the same step as the change."""
    return make_bench("ledger")
