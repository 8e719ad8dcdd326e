"""Every call that changes the journal's files fails in turn, in a whole life of a journal, and the power is lost then.

A life opens a new journal, commits what is durable and what may be lost, checkpoints while it commits and when it is
asked to, closes, opens again, and commits once more. What was told as recorded must be there however it went on.
"""

import itertools
import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from amends.contract.lifecycle import Happened
from amends.contract.operation import Claim
from amends.errors import JournalError
from amends.journal import SqliteJournal
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import operation
from tests.journal.fault import WHEN, When, faulty_disk
from tests.proof import FULL, record, share

CHECKPOINT_PAGES = 6
"""So that a commit checkpoints now and then; SQLite's own 1000 would be a long story."""

CALLS_MIN = 60
EVERY = {"quick": 24}
"""In the quick share so many calls lie between two that fail, and other ones fail in each way."""


@dataclass
class Life:
    """What a journal's life came to: what was told of each operation, what may be lost of it, and what is in doubt."""

    folder: Path
    told: dict[str, list[Happened]] = field(default_factory=dict)
    lazy: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    told_at_hit: dict[str, list[Happened]] | None = None

    def live(self, has_hit: Callable[[], bool]) -> None:
        """Open, commit, checkpoint, close, open again, commit, close; go on whatever fails."""
        for opening in range(2):
            with suppress(JournalError):
                journal = SqliteJournal(self.folder, clock=FakeClock(), ids=FakeIds(first=1 + 100 * opening))
                assert journal._database is not None
                with suppress(apsw.Error):
                    journal._database.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
                for number in range(3):
                    self._record(journal, f"op_{opening}_{number}", has_hit)
                    if number == 1:
                        with suppress(apsw.Error):
                            list(journal._database.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
                self.doubtful.clear()  # closing abandons them if it can; if not, they were never sent
                journal.close()
        self._look(has_hit)

    def _record(self, journal: SqliteJournal, name: str, has_hit: Callable[[], bool]) -> None:
        story = operation(name, upto=Happened.APPLIED, claims=[Claim(f"notes:{name}")])
        self._commit(journal, name, story[:3], has_hit)
        if name in self.told:
            self._commit(journal, name, story[3:], has_hit, durable=name.endswith("0"))

    def _commit(
        self,
        journal: SqliteJournal,
        name: str,
        events: list[Event],
        has_hit: Callable[[], bool],
        *,
        durable: bool = True,
    ) -> None:
        self._look(has_hit)
        try:
            journal.commit(events, durable=durable)
        except JournalError:
            if events[0].happened is Happened.PROPOSED:
                self.doubtful.add(name)
            return
        finally:
            self._look(has_hit)
        for doubtful in self.doubtful:
            assert journal.events(doubtful)[-1].happened is Happened.ABANDONED, doubtful
        self.told.setdefault(name, []).extend(event.happened for event in events)
        if durable:
            self.lazy.clear()  # a sync of the log takes along what was written before
        else:
            self.lazy.add(name)

    def _look(self, has_hit: Callable[[], bool]) -> None:
        if self.told_at_hit is None and has_hit():
            self.told_at_hit = {name: told[:3] if name in self.lazy else list(told) for name, told in self.told.items()}

    def check(self, journal: SqliteJournal, told: dict[str, list[Happened]], at: str) -> None:
        """Nothing told is missing, nothing is half there, and what was never told is no outcome."""
        assert journal.verify().faults == (), at
        for name in (f"op_{opening}_{number}" for opening in range(2) for number in range(3)):
            found = [event.happened for event in journal.events(name)]
            expected = told.get(name, [])
            assert found[: len(expected)] == expected, (at, name, found)
            more = found[len(expected) :]
            allowed: tuple[list[Happened], ...] = ([], [Happened.APPLIED if expected else Happened.ABANDONED])
            if not expected and found[:3] == [Happened.PROPOSED, Happened.CONFIRMED, Happened.INTENDED]:
                more = more[3:]
            assert more in allowed, (at, name, found)
        journal.commit([Event("tx_9", Happened.OPENED, 0)])
        assert journal.verify().faults == (), at


def turn(folder: Path, at: int, when: When) -> int:
    """Let call `at` of a life fail; give how many calls it had until then, 0 if it ended before."""
    rng = random.Random(f"{at}{when}")
    life = Life(folder / "journal")
    with faulty_disk() as fault:
        fault.arm(at, when)
        life.live(lambda: fault.hits > 0)
        fault.disarm()
        if fault.hits == 0:
            return 0
        disks = list(fault.lost(rng))
    reopened = SqliteJournal(life.folder, clock=FakeClock(), ids=FakeIds(first=1_000))
    life.check(reopened, life.told, f"{when} call {at}")
    reopened.close()
    assert life.told_at_hit is not None
    for number, disk in enumerate(disks):
        place = folder / f"lost-{number}"
        place.mkdir()
        for name, content in disk.items():
            (place / name).write_bytes(content)
        found = SqliteJournal(place, clock=FakeClock(), ids=FakeIds(first=2_000))
        life.check(found, life.told_at_hit, f"power lost at call {at} ({when}), part {number}")
        found.close()
    return len(disks)


@pytest.mark.proof
@pytest.mark.requirement("journal:fault:any", "journal:fault:power")
@pytest.mark.parametrize("when", WHEN)
def test_any_failing_call_in_the_life_of_a_journal_loses_nothing(when: When, tmp_path: Path) -> None:
    """Openings, checkpoints and closings write too; a disk may fail in any of them, and lose power at that moment."""
    started, calls, disks = time.monotonic(), 0, 0
    every = 1 if share() == FULL else EVERY["quick"]
    for at in itertools.count(1 + (5 * WHEN.index(when) if every > 1 else 0), every):
        folder = tmp_path / str(at)
        more = turn(folder, at, when)
        shutil.rmtree(folder)
        if not more:
            break
        calls, disks = calls + 1, disks + more
    assert calls * every >= CALLS_MIN
    record(
        f"journal calls failed: {when}",
        tried=calls,
        what="calls that change the journal's files, each failed",
        seconds=time.monotonic() - started,
        power_losses=disks,
    )
