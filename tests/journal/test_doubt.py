"""Real failures of writes and syncs: what the disk may bring back, and what is made of it."""

import itertools
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import JournalError
from amends.journal import SqliteJournal
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import operation
from tests.journal.conftest import OpenJournal
from tests.journal.fault import When, faulty_disk


def after_power_loss(folder: Path, place: Path) -> SqliteJournal:
    """Opens what is on the disk now, as it would be found after the power was lost: without the shared memory."""
    place.mkdir()
    for name in ("journal.sqlite", "journal.sqlite-wal"):
        shutil.copy(folder / name, place / name)
    return SqliteJournal(place, clock=FakeClock(), ids=FakeIds(first=1_000_000))


@pytest.mark.requirement("journal:doubt:sync")
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_comes_back_after_a_failed_sync_is_abandoned(
    when: When, folder: Path, tmp_path: Path, open_journal: OpenJournal
) -> None:
    """The record is invisible until the power is lost and there afterwards, so no read could have settled it."""
    with faulty_disk() as fault:
        journal = open_journal()
        journal.commit(operation("op_1", upto=Happened.APPLIED))
        fault.only_syncs = True
        fault.arm(1, when)
        with pytest.raises(JournalError):
            journal.commit(operation("op_2", upto=Happened.INTENDED))
        fault.disarm()
        assert fault.hits == 1
        assert journal.events("op_2") == []
        back = after_power_loss(folder, tmp_path / "lost at once")
        assert [row.state for row in back.open() if row.subject == "op_2"] == [State.EXECUTING]
        back.close()

        journal.commit([Event("tx_9", Happened.OPENED, 0)])
        back = after_power_loss(folder, tmp_path / "lost later")
        assert back.events("op_2")[-1].happened is Happened.ABANDONED
        assert back.verify().faults == ()
        back.close()
        journal.close()


@pytest.mark.requirement("journal:doubt:sync", "journal:commit:whole")
@pytest.mark.parametrize("when", ["before", "after"])
def test_any_failing_write_or_sync_leaves_a_sound_journal(when: When, tmp_path: Path) -> None:
    """Each single failure in turn, until none is left to hit: what was told as recorded is there, nothing is half."""
    for at in itertools.count(1):
        folder = tmp_path / str(at)
        told: dict[str, list[Happened]] = {}
        with faulty_disk() as fault:
            journal = SqliteJournal(folder, clock=FakeClock(), ids=FakeIds())
            fault.arm(at, when)
            for number in range(2):
                name = f"op_{number}"
                story = operation(name, upto=Happened.APPLIED, claims=[Claim(f"notes:{number}")])
                with suppress(JournalError):
                    journal.commit(story[:3])
                    told[name] = [event.happened for event in story[:3]]
                    journal.commit(story[3:])
                    told[name].append(Happened.APPLIED)
            fault.disarm()
            journal.close()
        reopened = SqliteJournal(folder, clock=FakeClock(), ids=FakeIds(first=1_000))
        assert reopened.verify().faults == (), at
        for number in range(2):
            found = [event.happened for event in reopened.events(f"op_{number}")]
            expected = told.get(f"op_{number}", [])
            assert found[: len(expected)] == expected, at
            assert expected or found[-1:] in ([], [Happened.ABANDONED]), at
        reopened.close()
        if fault.hits == 0:
            assert at > 10, "too few faults to be all"
            return
    raise AssertionError("unreachable")
