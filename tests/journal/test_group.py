"""Threads that write at the same moment share one commit and its one sync; each gets an answer of its own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, sleep

import pytest

from amends.broker import World, drive, propose
from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import ClaimHeldError, JournalError
from amends.journal import SqliteJournal
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import AT_MS, operation
from tests.broker.bench import AUTO, EDIT, OLD, request
from tests.journal.conftest import OpenJournal, break_sqlite
from tests.journal.fault import Fault, faulty_disk
from tests.simulation.history import History
from tests.simulation.surface import FakeSurface

CALLERS = 8
WAIT_S = 20

Commit = tuple[Sequence[Event], bool]


@pytest.fixture
def disk() -> Iterator[Fault]:
    """A disk that counts syncs."""
    with faulty_disk() as fault:
        fault.only_syncs = True
        yield fault


@pytest.fixture
def journal(disk: Fault, open_journal: OpenJournal) -> SqliteJournal:
    """A journal that has written already, on that disk."""
    journal = open_journal()
    journal.commit([Event("tx_0", Happened.OPENED, AT_MS)])
    disk.calls = 0
    return journal


def at_once(journal: SqliteJournal, commits: Sequence[Commit]) -> list[BaseException | None]:
    """Have each committed by a thread of its own, all of them while somebody else is at it; give what each was told."""
    with ThreadPoolExecutor(len(commits)) as threads:
        with journal._lock:
            told: list[Future[None]] = [
                threads.submit(journal.commit, events, durable=durable) for events, durable in commits
            ]
            until = monotonic() + WAIT_S
            while len(journal._waiting) < len(commits):
                assert monotonic() < until, "the threads did not come"
                sleep(0.001)
        return [each.exception(WAIT_S) for each in told]


def intents(number: int, claim: Callable[[int], str] = lambda place: f"notes:{place}") -> list[Commit]:
    """Give so many writes, each up to its intent."""
    return [
        (operation(f"op_{place}", upto=Happened.INTENDED, claims=(Claim(claim(place)),)), True)
        for place in range(number)
    ]


@pytest.mark.requirement("journal:group:sync")
def test_all_who_wait_share_one_sync(journal: SqliteJournal, disk: Fault) -> None:
    """A disk does the same few hundred syncs a second for one writer and for a hundred."""
    assert at_once(journal, intents(CALLERS)) == [None] * CALLERS
    assert disk.calls == 1
    assert {row.subject for row in journal.open() if row.state is State.EXECUTING} == {
        f"op_{place}" for place in range(CALLERS)
    }
    journal.commit(operation("op_alone", upto=Happened.INTENDED, claims=()))
    assert (disk.calls, journal.verify().faults) == (2, ())


@pytest.mark.requirement("journal:group:sync")
def test_only_one_who_needs_it_makes_all_sync(journal: SqliteJournal, disk: Fault) -> None:
    """What may be lost is not synced for its own sake, and rides along where somebody syncs."""
    lazy = [(operation(f"op_{place}", upto=Happened.PROPOSED), False) for place in range(3)]
    assert (at_once(journal, lazy), disk.calls) == ([None] * 3, 0)
    mixed = [(operation(f"op_1{place}", upto=Happened.PROPOSED), place == 1) for place in range(3)]
    assert (at_once(journal, mixed), disk.calls) == ([None] * 3, 1)


@pytest.mark.requirement("journal:group:refused")
def test_one_that_is_refused_takes_nobody_with_it(journal: SqliteJournal) -> None:
    """Two of them want one target: the first to come has it, the other is told so, and the rest is recorded."""
    told = at_once(journal, intents(4, lambda place: f"notes:{place % 3}"))
    assert [type(error) for error in told].count(ClaimHeldError) == 1
    assert [error for error in told if not isinstance(error, ClaimHeldError)] == [None] * 3
    refused = [f"op_{place}" for place, error in enumerate(told) if error is not None]
    assert [journal.events(subject) for subject in refused] == [[]]
    assert len([row for row in journal.open() if row.claims]) == 3
    assert journal.verify().faults == ()


@pytest.mark.requirement("journal:group:failed")
@pytest.mark.parametrize("when", ["before", "after"])
def test_when_the_shared_commit_fails_nobody_is_told_that_it_worked(journal: SqliteJournal, when: str) -> None:
    """Each intent is in doubt, and each is abandoned before anything else is recorded, also where it had landed."""
    break_sqlite(journal, when)  # type: ignore[arg-type]
    told = at_once(journal, intents(CALLERS))
    assert [type(error) for error in told] == [JournalError] * CALLERS
    journal.commit(operation("op_later", upto=Happened.PROPOSED))
    for place in range(CALLERS):
        assert journal.events(f"op_{place}")[-1].happened is Happened.ABANDONED
    assert [row for row in journal.open() if row.claims] == []
    assert journal.verify().faults == ()


@pytest.mark.requirement("journal:group:write")
@pytest.mark.parametrize(("kind", "syncs"), [("ledger", 1), ("mailbox", 2)])
def test_a_write_syncs_once_or_twice(
    disk: Fault, clock: FakeClock, open_journal: OpenJournal, kind: str, syncs: int
) -> None:
    """Once before the first byte; once more for an outcome that nothing but the journal could prove again."""
    journal, surface = open_journal(), FakeSurface(kind, History())
    world = World(journal, {"sim": surface}, clock, FakeIds(1000))
    surface.put("sim:a", OLD)
    journal.commit([Event("tx_0", Happened.OPENED, AT_MS)])
    disk.calls = 0
    assert drive(world, propose([request(EDIT, "a")], AUTO)).state is State.COMPLETE
    assert disk.calls == syncs
