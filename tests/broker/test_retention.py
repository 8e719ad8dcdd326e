"""What may be forgotten of transactions, and what is kept, each for its reason."""

import pytest

from amends.broker import Pruned, check, confirm, decline, find, outcome_told, prune, undo
from amends.broker.step import Forget
from amends.contract import Evidence, State, WriteOutcome
from amends.errors import UnknownSubjectError
from tests.broker.bench import ASK, AUTO, CREATE, EDIT, OLD, Bench, outcomes, request
from tests.broker.conftest import MakeBench
from tests.simulation.surface import Fate

LONG_MS = 10_000_000


def told(bench: Bench, key: str, text: str = "new") -> str:
    """Write, have whoever asked told, and give the transaction."""
    report = bench.propose(request(EDIT, key, text), ask=AUTO)
    bench.run(outcome_told(report))
    return report.transaction


def pruned(bench: Bench, *, gives_up_undo: bool = True, is_dry: bool = False) -> Pruned:
    """Wait long, write once more so that the end of the journal is new, and prune what was before."""
    bench.journals.clock.advance(LONG_MS)
    before_ms = bench.journals.clock.now_ms()
    bench.propose(request(CREATE, "end-of-journal"), ask=ASK)
    return bench.run(prune(before_ms=before_ms, gives_up_undo=gives_up_undo, is_dry=is_dry))


@pytest.mark.requirement("broker:prune:gone")
def test_what_is_over_is_forgotten_and_the_target_stays(bench: Bench) -> None:
    """The record goes, what it did stays; whoever asks for it is told that there is no such thing."""
    done, declined = told(bench, "a"), bench.propose(request(CREATE, "b")).transaction
    bench.run(decline(declined, by="person", reason="no"))
    events = sum(len(bench.journal.events(name)) for name in bench.journal.listing("", after="", limit=99))
    dry = pruned(bench, is_dry=True)
    assert (dry.transactions, dry.events, bench.run(find(done)).state) == (2, 0, State.COMPLETE)
    found = pruned(bench)
    assert (found.transactions, found.events, dict(found.kept)) == (2, events, {"it is not settled": 1})
    for transaction in (done, declined):
        with pytest.raises(UnknownSubjectError):
            bench.run(find(transaction))
    assert (bench.text, bench.journal.verify().faults) == ("new", ())
    assert bench.run(prune(before_ms=bench.journals.clock.now_ms())).transactions == 0


@pytest.mark.requirement("broker:prune:kept")
def test_what_is_needed_is_kept_for_its_reason(bench: Bench) -> None:
    """Unsettled, untold, BLOCKED, with recoveries, undoable: each says why, and none loses anything."""
    bench.surface.put("sim:c", OLD)
    bench.surface.put("sim:d", OLD)
    undoable = told(bench, "a")
    untold = bench.propose(request(EDIT, "c"), ask=AUTO).transaction
    bench.fates(Fate.REFUSED)
    recovered = told(bench, "d")
    bench.fates(Fate.REFUSED, Fate.REFUSED)
    blocked = bench.propose(request(CREATE, "e"), ask=AUTO)
    bench.run(outcome_told(blocked))
    assert blocked.state is State.BLOCKED
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    flying = bench.propose(request(CREATE, "f"), ask=AUTO).transaction
    found = pruned(bench, gives_up_undo=False)
    assert (found.transactions, dict(found.kept)) == (
        0,
        {
            "it can be undone": 1,
            "whoever asked was not told yet": 1,
            "it has used up recoveries": 1,
            "it is BLOCKED / NOT COMPLETE": 1,
            "it is not settled": 2,
        },
    )
    for transaction in (undoable, untold, recovered, blocked.transaction, flying):
        assert bench.run(find(transaction)).transaction == transaction
    bench.fences_work()
    assert bench.run(check(flying)).lives[0].state is not State.EXECUTING


@pytest.mark.requirement("broker:prune:kept")
def test_an_undo_goes_no_sooner_than_what_it_undid(bench: Bench) -> None:
    """Otherwise the write would name an undo of which nothing is known."""
    bench.surface.put("sim:c", OLD)
    pair = bench.propose(request(EDIT, "a"), request(EDIT, "c"), ask=AUTO)
    bench.run(outcome_told(pair))
    undone = bench.run(confirm(bench.run(undo(pair.lives[0].operation_id, ASK)).transaction, by="person"))
    bench.run(outcome_told(undone))
    bench.run(undo(pair.lives[1].operation_id, ASK))  # waits for a person, so the pair is needed
    found = pruned(bench)
    assert (found.transactions, dict(found.kept)) == (
        0,
        {"an undo of it is under way": 1, "the write that it undid is kept": 1, "it is not settled": 2},
    )
    assert bench.run(find(pair.transaction)).lives[0].undone_by == undone.lives[0].operation_id
    assert bench.run(find(undone.transaction)).state is State.COMPLETE


@pytest.mark.requirement("broker:prune:race")
def test_an_undo_that_was_planned_before_its_write_was_forgotten_is_refused(make_bench: MakeBench) -> None:
    """Pruning and undoing at once: whichever comes second sees that the other was there."""
    bench = make_bench("ledger")
    done = told(bench, "a")
    name = bench.run(find(done)).lives[0].operation_id
    bench.journals.clock.advance(LONG_MS)
    before_ms = bench.journals.clock.now_ms()
    bench.propose(request(CREATE, "end-of-journal"), ask=ASK)
    slow = bench.until(prune(before_ms=before_ms, gives_up_undo=True), Forget)
    waiting = bench.run(undo(name, ASK))
    found: Pruned = slow.finish()
    assert (found.transactions, dict(found.kept)) == (0, {"an undo of it is under way": 1, "it is not settled": 2})
    assert outcomes(bench.run(confirm(waiting.transaction, by="person"))) == [
        (WriteOutcome.APPLIED, Evidence.ACKNOWLEDGED)
    ]
