"""Which records a power cut may take: only `applied` whose receipt the target keeps, and it comes back."""

import pytest

from amends.broker import check, confirm, find
from amends.broker.step import Commit
from amends.contract import Evidence, Happened, State, WriteOutcome
from amends.journal import MemoryJournal
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import JournalBench
from tests.broker.bench import AUTO, EDIT, Bench, outcomes, request
from tests.broker.conftest import MakeBench
from tests.journal.conftest import break_memory
from tests.simulation.surface import Fate

ENDS = {Happened.APPLIED, Happened.COMPLETED}


@pytest.mark.parametrize(
    ("kind", "fates", "lazy"),
    [
        ("ledger", [], ENDS),
        ("ledger", [Fate.ANSWER_LOST], ENDS),
        ("ledger", [Fate.REFUSED, Fate.REFUSED], set()),
        ("mailbox", [], set()),
        ("shelf", [Fate.ANSWER_LOST], set()),
    ],
)
@pytest.mark.requirement("broker:outcome:lazy")
def test_only_what_the_target_proves_again_may_be_lost(
    make_bench: MakeBench, kind: str, fates: list[Fate], lazy: set[Happened]
) -> None:
    """An intent, a failure, a lost answer and an end that nothing proves are on the disk before anything follows."""
    bench = make_bench(kind)
    bench.fates(*fates)
    proposed = bench.propose(request(EDIT, "a"))
    halfway = bench.until(confirm(proposed.transaction, by="person"), Commit)
    found: dict[Happened, bool] = {}
    try:
        while True:
            if isinstance(halfway.step, Commit):
                found |= {event.happened: halfway.step.durable for event in halfway.step.events}
            halfway.advance()
    except StopIteration:
        assert {happened for happened, is_durable in found.items() if not is_durable} == lazy
    assert {Happened.CONFIRMED, Happened.INTENDED} <= found.keys()


@pytest.mark.requirement("broker:outcome:lazy")
def test_an_outcome_that_the_power_took_settles_to_the_same() -> None:
    """It was told as applied; what a power cut left of it must never become a second write, or a `failed`."""
    clock = FakeClock()
    journal = MemoryJournal(clock=clock, ids=FakeIds())
    journals = JournalBench(journal.reopened, break_memory, lambda one: None, clock)
    bench = Bench(journals, is_async=False)
    told = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert outcomes(told) == [(WriteOutcome.APPLIED, Evidence.ACKNOWLEDGED)]
    bench.surface.put("sim:a", {"text": "theirs"})
    journal.lose_power()
    clock.reboot()
    bench.journal = journals.open()
    found = bench.run(find(told.transaction))
    assert (found.state, found.lives[0].state) == (State.OPEN, State.EXECUTING)
    assert outcomes(found) == [(WriteOutcome.AMBIGUOUS, Evidence.UNPROVEN)]
    assert outcomes(bench.run(check(told.transaction))) == [(WriteOutcome.APPLIED, Evidence.RECEIPT)]
    assert (bench.text, bench.requests) == ("theirs", 1)
