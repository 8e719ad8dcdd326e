"""Any history of batches, failures and restarts gives the same answers in memory and on disk."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from amends.contract.lifecycle import TABLE, Happened, fold
from amends.contract.operation import Claim
from amends.errors import AmendsError
from amends.journal import MemoryJournal, SqliteJournal
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from tests.journal.conftest import break_memory, break_sqlite

SUBJECTS = ("op_1", "op_2", "tx_1")
NAMES = ("a", "a/b", "a/b/c", "ab")

CLAIMS = st.lists(st.builds(Claim, st.sampled_from(NAMES), subtree=st.booleans()), max_size=2).map(tuple)

DATA: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"fingerprint": "f", "transaction": "tx_1"}, {"x": [1, None, "ä"]}]
)


@st.composite
def likely_events(draw: st.DrawFn, journal: MemoryJournal) -> list[Event]:
    """A batch that mostly continues what is recorded, so that histories get somewhere, and sometimes doesn't."""
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 4))):
        subject = draw(st.sampled_from(SUBJECTS))
        past = journal.events(subject) + [event for event in events if event.subject == subject]
        epoch = past[-1].epoch if past else 0
        happened = draw(st.sampled_from(_next(past)) if draw(st.integers(0, 9)) else st.sampled_from(Happened))
        grows = happened in (Happened.INTENDED, Happened.TAKEN_OVER)
        claims = draw(CLAIMS) if happened is Happened.INTENDED or not draw(st.integers(0, 9)) else ()
        wrong, releases = (not draw(st.integers(0, 9)) for _ in range(2))
        ends = happened in (Happened.APPLIED, Happened.FAILED, Happened.CLOSED, Happened.QUIESCED)
        events.append(Event(subject, happened, 1, draw(DATA), epoch + grows + wrong, claims, releases=ends or releases))
    return events


def _next(past: list[Event]) -> list[Happened]:
    try:
        return list(TABLE[fold(event.happened for event in past)]) or [Happened.DELIVERED]
    except AmendsError:
        return list(Happened)


class Journals(RuleBasedStateMachine):
    """Two openings of each journal; whatever is done, the answers are compared."""

    @initialize()
    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="amends-"))
        clock, self.ids = FakeClock(), FakeIds()
        self.clock = clock
        first = MemoryJournal(clock=clock, ids=FakeIds())
        self.memory = [first, first.reopened()]
        self.sqlite = [self.open_sqlite(), self.open_sqlite()]

    def open_sqlite(self) -> SqliteJournal:
        return SqliteJournal(self.folder, clock=self.clock, ids=self.ids)

    @rule(data=st.data(), who=st.integers(0, 1), durable=st.booleans())
    def commit(self, data: st.DataObject, who: int, durable: bool) -> None:
        events = data.draw(likely_events(self.memory[0]))
        said = [self.attempt(journal, events, durable) for journal in (self.memory[who], self.sqlite[who])]
        assert said[0] == said[1]

    @rule(data=st.data(), who=st.integers(0, 1), when=st.sampled_from(["before", "after"]))
    def commit_with_a_fault(self, data: st.DataObject, who: int, when: Any) -> None:
        events = data.draw(likely_events(self.memory[0]))
        break_memory(self.memory[who], when)
        break_sqlite(self.sqlite[who], when)
        said = [type(self.attempt(journal, events, True)) for journal in (self.memory[who], self.sqlite[who])]
        self.memory[who].fail_next_commit = None
        self.sqlite[who].__dict__.pop("_end_transaction", None)
        assert said[0] == said[1]

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        self.memory[who].close()
        self.sqlite[who].close()
        self.memory[who] = self.memory[1 - who].reopened()
        self.sqlite[who] = self.open_sqlite()

    def attempt(self, journal: Any, events: list[Event], durable: bool) -> Any:
        try:
            journal.commit(events, durable=durable)
        except (AmendsError, ValueError) as error:
            return (type(error), str(error) if "made to fail" not in str(error) else "")
        return None

    @invariant()
    def answers_are_the_same(self) -> None:
        if not hasattr(self, "sqlite"):
            return
        for subject in SUBJECTS:
            assert self.memory[0].events(subject) == self.sqlite[0].events(subject)
        assert self.memory[1].open() == self.sqlite[1].open()
        assert self.memory[0].matching("op_", limit=9) == self.sqlite[0].matching("op_", limit=9)
        assert self.memory[0].verify() == self.sqlite[1].verify()
        assert self.sqlite[0].verify().faults == ()

    def teardown(self) -> None:
        for journal in getattr(self, "sqlite", []):
            journal.close()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


@pytest.mark.requirement("journal:same:both")
def test_memory_and_disk_answer_every_history_alike() -> None:
    """Simulations run on the one in memory; what they prove has to hold for the one that users have."""
    run_state_machine_as_test(
        Journals,
        settings=settings(
            max_examples=40,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
