"""An undo is a write of its own: confirmed, compared with what the first one left, and done once."""

import pytest

from amends.broker import confirm, decline, undo
from amends.broker.step import Commit
from amends.contract import Evidence, State, WriteOutcome
from amends.errors import RecoveryError
from tests.broker.bench import ARCHIVE, ASK, CREATE, EDIT, OLD, THEIRS, Bench, outcomes, request, said
from tests.broker.conftest import MakeBench
from tests.simulation.surface import Fate

APPLIED, FAILED = WriteOutcome.APPLIED, WriteOutcome.FAILED


@pytest.mark.requirement("broker:undo:restores")
def test_an_undo_restores_exactly_what_was_there(bench: Bench) -> None:
    """Every field, also those that the write did not name; and nothing before a person confirms it."""
    report = bench.write(request(EDIT, "a"))
    proposed = bench.run(undo(report.lives[0].operation_id, ASK))
    assert bench.text == "new"
    undone = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(undone) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert bench.surface.content("sim:a") == OLD
    assert undone.title == "Undo of edit sim:a"


@pytest.mark.requirement("broker:undo:restores")
def test_an_undo_of_a_creation_keeps_what_was_created(bench: Bench) -> None:
    """It is archived, never deleted."""
    report = bench.write(request(CREATE, "b"))
    bench.undo(report)
    assert bench.surface.content("sim:b") is None
    assert {"text": "new"} in bench.surface.archive


@pytest.mark.requirement("broker:undo:restores")
def test_an_undo_of_what_was_only_seen_says_so_before(make_bench: MakeBench) -> None:
    """It may undo somebody else's write that looks like ours; the person who confirms has to know."""
    bench = make_bench("shelf")
    bench.fates(Fate.ANSWER_LOST)
    report = bench.write(request(EDIT, "a"))
    proposed = bench.run(undo(report.lives[0].operation_id, ASK))
    assert proposed.lives[0].plan.warnings == (
        "The write that this reverses was never proved to be ours: its target was only seen to hold it.",
    )


@pytest.mark.requirement("broker:undo:undo")
def test_an_undo_of_the_undo_brings_the_write_back(bench: Bench) -> None:
    """Both directions keep what they displace, so that changing one's mind twice costs nothing."""
    report = bench.write(request(ARCHIVE, "a"))
    undone = bench.undo(report)
    assert bench.surface.content("sim:a") == OLD
    bench.undo(undone)
    assert bench.surface.content("sim:a") is None


@pytest.mark.requirement("broker:undo:stale")
def test_an_undo_of_what_somebody_changed_since_is_refused(bench: Bench) -> None:
    """Undoing my write must not undo theirs, which came after it."""
    report = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    refused = bench.run(undo(report.lives[0].operation_id, ASK))
    assert outcomes(refused) == [(FAILED, Evidence.STALE)]
    assert "text was new, now it is theirs" in said(refused)[0]
    assert (bench.text, bench.effects) == ("theirs", 1)


@pytest.mark.requirement("broker:undo:stale")
def test_an_undo_is_compared_again_when_it_is_confirmed(bench: Bench) -> None:
    """Between its proposal and its confirmation somebody may write, as with any other write."""
    report = bench.write(request(EDIT, "a"))
    proposed = bench.run(undo(report.lives[0].operation_id, ASK))
    bench.surface.put("sim:a", THEIRS)
    refused = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(refused) == [(FAILED, Evidence.STALE)]
    assert (bench.text, bench.effects) == ("theirs", 1)


@pytest.mark.requirement("broker:undo:once")
def test_a_write_is_undone_once(bench: Bench) -> None:
    """A second undo would throw away whatever was written after the first."""
    report = bench.write(request(EDIT, "a"))
    name = report.lives[0].operation_id
    first = bench.run(undo(name, ASK))
    again = bench.run(undo(name, ASK))
    assert again.is_joined
    assert again.transaction == first.transaction
    bench.run(confirm(first.transaction, by="person"))
    with pytest.raises(RecoveryError, match=f"undone already, by operation {first.lives[0].operation_id}"):
        bench.run(undo(name, ASK))


@pytest.mark.requirement("broker:undo:again")
def test_what_is_in_force_again_can_be_undone_again(bench: Bench) -> None:
    """A write, its undo, and the undo of that: its effect is there, and undoing the write takes it away once more."""
    report = bench.write(request(EDIT, "a"))
    first = bench.undo(report)
    back = bench.undo(first)
    assert (outcomes(back), bench.text) == ([(APPLIED, Evidence.ACKNOWLEDGED)], "new")
    again = bench.undo(report)
    assert again.lives[0].reverses == back.lives[0].operation_id
    assert (outcomes(again), bench.text, bench.effects) == ([(APPLIED, Evidence.ACKNOWLEDGED)], "old", 4)
    with pytest.raises(RecoveryError, match=f"undone already, by operation {again.lives[0].operation_id}"):
        bench.run(undo(report.lives[0].operation_id, ASK))


@pytest.mark.requirement("broker:undo:again")
def test_an_undo_of_all_takes_what_is_in_force_and_is_joined(bench: Bench) -> None:
    """What was undone is left out with a word; what was undone and brought back is reversed; asking twice is once."""
    bench.surface.put("sim:c", OLD)
    report = bench.write(request(EDIT, "a"), request(EDIT, "c"))
    undone = bench.run(confirm(bench.run(undo(report.lives[0].operation_id, ASK)).transaction, by="person"))
    every = bench.run(undo(report.transaction, ASK))
    assert [life.operation.target for life in every.lives] == ["sim:c"]
    assert f"undone already, by operation {undone.lives[0].operation_id}" in every.left_out[0]
    assert bench.run(undo(report.transaction, ASK)).transaction == every.transaction
    bench.undo(undone)
    with pytest.raises(RecoveryError, match="is being undone already"):
        bench.run(undo(report.transaction, ASK))
    bench.run(decline(every.transaction, by="person", reason=""))
    both = bench.run(confirm(bench.run(undo(report.transaction, ASK)).transaction, by="person"))
    assert [life.operation.target for life in both.lives] == ["sim:c", "sim:a"]
    assert (bench.text, bench.surface.content("sim:c"), both.left_out) == ("old", OLD, ())


@pytest.mark.requirement("broker:undo:once")
def test_two_undos_proposed_at_once_happen_once(make_bench: MakeBench) -> None:
    """Neither saw the other. Where a version can repeat, the comparison can't tell, so the journal has to."""
    bench = make_bench("crate")
    report = bench.write(request(EDIT, "a"))
    name = report.lives[0].operation_id
    slow = bench.until(undo(name, ASK), Commit)
    other = bench.run(undo(name, ASK), bench.journals.open())
    one = slow.finish()
    assert one.transaction != other.transaction
    bench.run(confirm(one.transaction, by="person"))
    bench.surface.put("sim:a", {**OLD, "text": "new"})
    second = bench.run(confirm(other.transaction, by="person"))
    assert said(second) == [
        f"I couldn't edit sim:a: it was undone already, by operation {one.lives[0].operation_id}; nothing was changed."
    ]
    assert (bench.text, bench.effects) == ("new", 2)


@pytest.mark.requirement("broker:undo:refused")
def test_what_did_not_apply_is_not_undone(bench: Bench) -> None:
    """Each refusal says what to do instead."""
    proposed = bench.propose(request(EDIT, "a"))
    with pytest.raises(RecoveryError, match="is proposed: nothing was sent"):
        bench.run(undo(proposed.lives[0].operation_id, ASK))
    bench.fates(Fate.REFUSED)
    failed = bench.run(confirm(proposed.transaction, by="person"))
    with pytest.raises(RecoveryError, match="failed: nothing was changed"):
        bench.run(undo(failed.lives[0].operation_id, ASK))


@pytest.mark.requirement("broker:undo:refused")
def test_what_may_have_applied_is_settled_before_an_undo(bench: Bench) -> None:
    """An undo of what never landed would be a write that nobody wanted."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    name = report.lives[0].operation_id
    with pytest.raises(RecoveryError, match="may or may not have applied") as refusal:
        bench.run(undo(name, ASK))
    assert refusal.value.hint == f"settle it by a read first: amends check {name}"


@pytest.mark.requirement("broker:undo:refused")
def test_what_was_overwritten_before_it_was_seen_is_not_undone(bench: Bench) -> None:
    """The receipt says that it landed; what is there by now is somebody else's."""
    bench.fates(Fate.ANSWER_LOST)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    bench.fences_work()
    checked = bench.check(report)
    assert said(checked)[0].endswith("It is no longer as this write left it.")
    with pytest.raises(RecoveryError, match="was no longer as it left it when that was looked at"):
        bench.run(undo(report.lives[0].operation_id, ASK))


@pytest.mark.requirement("broker:undo:refused")
def test_a_surface_that_keeps_nothing_offers_no_undo(make_bench: MakeBench) -> None:
    """There is no archive, so there is nothing to bring back."""
    bench = make_bench("mailbox")
    report = bench.write(request(EDIT, "a"))
    with pytest.raises(RecoveryError, match="sim keeps no archive"):
        bench.run(undo(report.lives[0].operation_id, ASK))


@pytest.mark.requirement("broker:undo:once")
def test_an_undo_that_landed_unseen_is_done_all_the_same(bench: Bench) -> None:
    """Its answer was lost; when it is settled, the write that it reversed counts as undone."""
    report = bench.write(request(EDIT, "a"))
    bench.fates(Fate.ANSWER_LOST)
    bench.undo(report)
    assert bench.surface.content("sim:a") == OLD
    assert bench.check(report).lives[0].undone_by is not None
    assert bench.check(report).state is State.COMPLETE
