"""The journal in memory: what its processes and its power supply can be made to do, for simulations."""

import pytest

from amends.contract.lifecycle import Happened, State
from amends.errors import JournalError
from amends.journal import MemoryJournal
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import operation


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal(clock=FakeClock(), ids=FakeIds())


@pytest.mark.requirement("journal:commit:lazy")
def test_a_power_cut_takes_only_what_was_lazy_and_last(journal: MemoryJournal) -> None:
    """A durable commit carries all before it, as the log of SQLite does."""
    journal.commit(operation("op_1", upto=Happened.INTENDED), durable=False)
    journal.commit([Event("tx_1", Happened.OPENED, 0)])
    journal.commit([Event("op_1", Happened.APPLIED, 0, epoch=1, releases=True)], durable=False)
    journal.lose_power()
    with pytest.raises(JournalError):
        journal.open()
    later = journal.reopened()
    assert [(row.subject, row.state) for row in later.open()] == [("op_1", State.EXECUTING), ("tx_1", State.OPEN)]
    assert [len(row.claims) for row in later.open()] == [1, 0]
    assert later.verify().faults == ()
    later.lose_power()
    assert len(later.reopened().open()) == 2


@pytest.mark.requirement("journal:doubt:sync")
def test_a_lingering_commit_shows_after_the_power_cut(journal: MemoryJournal) -> None:
    """What a failed sync can do, so that simulations meet it: unseen until then, there afterwards."""
    journal.fail_next_commit = "lingering"
    with pytest.raises(JournalError):
        journal.commit(operation("op_1", upto=Happened.INTENDED))
    assert journal.open() == []
    journal.lose_power()
    assert [row.state for row in journal.reopened().open()] == [State.EXECUTING]


@pytest.mark.requirement("journal:doubt:sync")
def test_the_next_commit_keeps_a_lingering_one_away(journal: MemoryJournal) -> None:
    """It is written again and abandoned, so that it doesn't matter any more whether it was on the disk."""
    journal.fail_next_commit = "lingering"
    with pytest.raises(JournalError):
        journal.commit(operation("op_1", upto=Happened.INTENDED))
    journal.commit([Event("tx_1", Happened.OPENED, 0)])
    journal.lose_power()
    assert journal.reopened().events("op_1")[-1].happened is Happened.ABANDONED


@pytest.mark.requirement("journal:process:alive")
def test_a_killed_opening_abandons_nothing_at_its_end(journal: MemoryJournal) -> None:
    """A SIGKILL leaves no time to tidy; what is left is for the next process to settle."""
    sender = journal.reopened()
    sender.fail_next_commit = "after"
    with pytest.raises(JournalError):
        sender.commit(operation("op_1", upto=Happened.INTENDED))
    sender.kill()
    sender.close()
    assert not journal.is_alive(sender.process_id)
    assert [row.state for row in journal.open()] == [State.EXECUTING]
