"""What every surface promises, as functions that a test calls with a bench.

    @pytest.mark.parametrize("promise", [p for group in PROMISES.values() for p in group])
    def test_my_surface_keeps_its_promises(promise): promise(SurfaceBench(open=..., ...))

Each function is one promise and gets a fresh bench. What a surface declares is tested in both directions: what it
claims must work, and what it doesn't claim must not be answered. Plain asserts, no test library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.operation import OperationKind, Presence
from amends.contract.outcome import Evidence, OperationResult, WriteOutcome, outcome_of
from amends.contract.undo import build_undo
from amends.errors import MisuseError
from amends.ports import Answer, Attempt, Blobs, Plan, Surface, WriteRequest

from .fake_clock import FakeIds


@dataclass(frozen=True, slots=True)
class SurfaceBench:
    """One surface to test. `open` opens it, each time as another process, on one and the same store.

    `requests` has one write for each kind that the surface knows, each with a target of its own: that of a create, move
    or rename is absent, the others' are there, and so are sources. `refused` are requests that the surface must not
    plan. `truth` tells what is at a target without asking the surface, None for nothing; `world` tells everything,
    traces included. `intrude` lets somebody else write to a target, with other bytes each time.
    """

    open: Callable[[], Surface]
    blobs: Blobs
    requests: Mapping[OperationKind, WriteRequest]
    truth: Callable[[str], object]
    world: Callable[[], object]
    intrude: Callable[[str], None]
    refused: tuple[WriteRequest, ...] = ()
    ids: FakeIds = field(default_factory=FakeIds)


Promise = Callable[[SurfaceBench], None]

FAILURES = frozenset({Evidence.NEVER_SENT, Evidence.REFUSED, Evidence.STALE, Evidence.VOIDED, Evidence.WAITED})
PROOFS = frozenset({Evidence.ACKNOWLEDGED, Evidence.RECEIPT})


@dataclass(frozen=True, slots=True)
class Carried:
    """A write on its way: planned, read afresh and prepared, as the broker does it."""

    surface: Surface
    plan: Plan
    attempt: Attempt

    @property
    def target(self) -> str:
        """What it writes to."""
        return self.plan.operation.target

    @property
    def places(self) -> tuple[str, ...]:
        """The target, and the source if there is one."""
        source = self.plan.operation.source
        return (self.target,) if source is None else (self.target, source)

    @property
    def guarantee(self) -> Guarantee:
        """What was declared for it."""
        return self.plan.guarantee


def planned(bench: SurfaceBench, kind: OperationKind) -> Carried:
    """Plan the bench's write of `kind`; nothing is prepared yet."""
    surface = bench.open()
    plan = surface.plan(bench.requests[kind], bench.blobs)
    assert plan.operation.kind is kind
    assert plan.operation.surface == surface.name
    return Carried(surface, plan, attempt_of(bench, surface, plan))


def attempt_of(bench: SurfaceBench, surface: Surface, plan: Plan) -> Attempt:
    """Make the attempt of `plan` on what a fresh read shows."""
    operation = plan.operation
    before = surface.read(operation.target)
    source = None if operation.source is None else surface.read(operation.source)
    return Attempt(bench.ids.new("op"), bench.ids.new("key"), operation, plan.payload, before, before_source=source)


def prepared(bench: SurfaceBench, kind: OperationKind) -> Carried:
    """Plan and prepare the bench's write of `kind`."""
    carried = planned(bench, kind)
    made = carried.surface.prepare(carried.attempt, bench.blobs)
    assert made.claims, "an attempt without claims excludes nobody"
    return replace(carried, attempt=replace(carried.attempt, prepared=made.notes))


def sent(bench: SurfaceBench, kind: OperationKind) -> tuple[Carried, Answer]:
    """Carry the bench's write of `kind` through to its answer."""
    carried = prepared(bench, kind)
    return carried, well_formed(carried.surface.send(carried.attempt))


def well_formed(answer: Answer) -> Answer:
    """See that the answer can be told: proof where it says so, a way to check where it does not know."""
    outcome = outcome_of(answer.evidence)
    if outcome is WriteOutcome.AMBIGUOUS:
        assert (answer.hint or "").strip(), "an answer that proves nothing needs a hint"
    if outcome is WriteOutcome.FAILED:
        assert answer.is_quiescent, "what may still land has not failed"
    return answer


# --- looking -------------------------------------------------------------------------------------------------------


def looking_changes_nothing(bench: SurfaceBench) -> None:
    """A dry run is shown before anybody agreed to anything."""
    for kind in bench.requests:
        before = bench.world()
        carried = planned(bench, kind)
        carried.surface.preview(carried.plan, bench.blobs)
        carried.surface.read(carried.target)
        assert bench.world() == before, kind


def a_plan_shows_what_is_there(bench: SurfaceBench) -> None:
    """What is shown is what is confirmed, and what a later read is compared with."""
    for kind in bench.requests:
        carried = planned(bench, kind)
        plan = carried.plan
        for place, shown in zip(carried.places, (plan.shown, plan.shown_source), strict=False):
            is_there = bench.truth(place) is not None
            assert shown is not None, (kind, place)
            assert shown.presence is (Presence.PRESENT if is_there else Presence.ABSENT)
            assert shown.same_as(carried.surface.read(place))
        assert not plan.operation.holds(plan.shown, plan.shown_source), "the bench's write is to change something"


def a_changed_target_reads_as_changed(bench: SurfaceBench) -> None:
    """A write that is confirmed on an old view must be refused as stale."""
    for kind in bench.requests:
        carried = planned(bench, kind)
        for place, shown in zip(carried.places, (carried.plan.shown, carried.plan.shown_source), strict=False):
            bench.intrude(place)
            assert not carried.surface.read(place).same_as(shown), (kind, place)


def what_is_refused_is_refused_by_name(bench: SurfaceBench) -> None:
    """What can't be asked is said at once, with the next step, and leaves no trace."""
    for request in bench.refused:
        before = bench.world()
        assert _refusal(bench, request).hint, request
        assert bench.world() == before, request


def _refusal(bench: SurfaceBench, request: WriteRequest) -> MisuseError:
    try:
        bench.open().plan(request, bench.blobs)
    except MisuseError as refusal:
        return refusal
    raise AssertionError(f"not refused: {request}")


# --- sending -------------------------------------------------------------------------------------------------------


def preparing_has_no_effect_on_the_target(bench: SurfaceBench) -> None:
    """Before the intent is durable nothing may happen that would have to be explained."""
    for kind in bench.requests:
        carried = planned(bench, kind)
        before = [bench.truth(place) for place in carried.places]
        carried.surface.prepare(carried.attempt, bench.blobs)
        assert [bench.truth(place) for place in carried.places] == before, kind


def an_acknowledged_write_is_there(bench: SurfaceBench) -> None:
    """Applied means that the target holds exactly what was confirmed, for every process."""
    for kind in bench.requests:
        carried, answer = sent(bench, kind)
        assert answer.evidence is Evidence.ACKNOWLEDGED, (kind, answer)
        assert carried.plan.operation.holds(*map(bench.open().read, carried.places)), kind


# --- fencing -------------------------------------------------------------------------------------------------------


def a_fence_after_the_landing_finds_the_receipt(bench: SurfaceBench) -> None:
    """A writer that died after landing left a write that must not be repeated.

    Where no receipt is declared, none is said.
    """
    for kind in bench.requests:
        carried, _ = sent(bench, kind)
        after = bench.truth(carried.target)
        answer = well_formed(bench.open().fence(carried.attempt, is_sender_gone=True))
        if carried.guarantee.receipt is Receipt.NONE:
            assert answer.evidence is not Evidence.RECEIPT, kind
        else:
            assert answer.evidence is Evidence.RECEIPT, (kind, answer)
        assert answer.evidence not in FAILURES, (kind, answer)
        assert bench.truth(carried.target) == after, "a fence changes nothing at the target"


def a_fence_before_the_send_keeps_it_out_for_good(bench: SurfaceBench) -> None:
    """A writer that was paused before its send and wakes up must find the door closed.

    Where only the end of the writer closes it, nothing is said before that.
    """
    for kind in bench.requests:
        carried = prepared(bench, kind)
        before = bench.truth(carried.target)
        fence = carried.guarantee.fence
        if fence is not Fence.VOID:
            early = well_formed(bench.open().fence(carried.attempt, is_sender_gone=False))
            assert (early.evidence, early.is_quiescent) == (Evidence.UNPROVEN, False), (kind, early)
            assert bench.truth(carried.target) == before, kind
        answer = well_formed(bench.open().fence(carried.attempt, is_sender_gone=True))
        if fence not in (Fence.VOID, Fence.KILL):
            assert not answer.is_quiescent, "no way to keep it out was declared"
            continue
        assert answer.is_quiescent, kind
        assert answer.evidence in (Evidence.NEVER_SENT, Evidence.VOIDED), (kind, answer)
        if fence is Fence.KILL:
            continue
        late = well_formed(carried.surface.send(carried.attempt))
        assert late.evidence not in PROOFS, (kind, late)
        assert bench.truth(carried.target) == before, kind


def a_repeated_fence_gives_the_same_answer(bench: SurfaceBench) -> None:
    """Whoever fences may die before the answer is recorded, and the next one must not learn something else."""
    for kind in bench.requests:
        carried = prepared(bench, kind)
        first = bench.open().fence(carried.attempt, is_sender_gone=True)
        assert bench.open().fence(carried.attempt, is_sender_gone=True) == first, kind


def a_repeated_fence_finds_the_same_receipt(bench: SurfaceBench) -> None:
    """The first fence must not use up the proof that it found."""
    for kind in bench.requests:
        carried, _ = sent(bench, kind)
        first = bench.open().fence(carried.attempt, is_sender_gone=True)
        assert bench.open().fence(carried.attempt, is_sender_gone=True) == first, kind


def a_fence_is_never_fooled_by_a_foreign_writer(bench: SurfaceBench) -> None:
    """What somebody else did to the target since is no sign that our write did not land, or that it did."""
    for kind in bench.requests:
        carried, _ = sent(bench, kind)
        bench.intrude(carried.target)
        theirs = bench.truth(carried.target)
        answer = well_formed(bench.open().fence(carried.attempt, is_sender_gone=True))
        assert answer.evidence not in FAILURES, (kind, answer)
        assert bench.truth(carried.target) == theirs, kind


def a_fence_after_a_foreign_write_alone_proves_no_landing(bench: SurfaceBench) -> None:
    """The same bytes at the target, written by somebody else, are not our write."""
    for kind in bench.requests:
        carried = prepared(bench, kind)
        bench.intrude(carried.target)
        answer = well_formed(bench.open().fence(carried.attempt, is_sender_gone=True))
        assert answer.evidence not in PROOFS, (kind, answer)


def tidying_is_harmless(bench: SurfaceBench) -> None:
    """Housekeeping after a failure removes what was staged, and nothing that anybody could miss."""
    for kind in bench.requests:
        carried = prepared(bench, kind)
        before = bench.truth(carried.target)
        bench.open().fence(carried.attempt, is_sender_gone=True)
        bench.open().tidy(carried.attempt)
        bench.open().tidy(carried.attempt)
        assert bench.truth(carried.target) == before, kind
        if carried.guarantee.fence is Fence.KILL:
            continue
        assert well_formed(carried.surface.send(carried.attempt)).evidence not in PROOFS, kind
        assert bench.truth(carried.target) == before, kind


# --- the declaration -----------------------------------------------------------------------------------------------


def the_declared_compare_is_honoured(bench: SurfaceBench) -> None:
    """Atomic never overwrites a foreign write; racy keeps what it displaced and says so; blind says that it may not."""
    for kind in bench.requests:
        carried = prepared(bench, kind)
        bench.intrude(carried.target)
        theirs = bench.truth(carried.target)
        answer = well_formed(carried.surface.send(carried.attempt))
        if carried.guarantee.compare is Compare.ATOMIC:
            assert answer.evidence in FAILURES, (kind, answer)
        if answer.evidence in FAILURES:
            assert bench.truth(carried.target) == theirs, kind
        elif carried.guarantee.compare is Compare.RACY and answer.evidence in PROOFS:
            assert answer.note, "what was displaced is told"


def a_source_that_changed_in_the_same_moment_is_told(bench: SurfaceBench) -> None:
    """What is moved is what is there, not what somebody agreed to; so it is kept, and said."""
    for kind in bench.requests:
        carried = prepared(bench, kind)
        if carried.plan.operation.source is None:
            continue
        bench.intrude(carried.plan.operation.source)
        theirs = bench.truth(carried.plan.operation.source)
        answer = well_formed(carried.surface.send(carried.attempt))
        if answer.evidence in PROOFS:
            assert answer.note, "what else was moved is told"
            assert bench.truth(carried.target) == theirs, kind


def the_declared_version_is_honoured(bench: SurfaceBench) -> None:
    """A version that never repeats may be taken as proof that nothing happened in between; others may not."""
    for kind in bench.requests:
        carried = planned(bench, kind)
        seen = {carried.plan.shown.version}
        for _ in range(3):
            bench.intrude(carried.target)
            version = bench.open().read(carried.target).version
            if carried.guarantee.version is Version.NONE:
                assert version is None, kind
            else:
                assert version is not None, kind
                assert version not in seen, kind
            seen.add(version)


# --- undo ----------------------------------------------------------------------------------------------------------


def an_undo_brings_back_what_was_there(bench: SurfaceBench) -> None:
    """Undo restores every fact that was seen before, and an undo of the undo restores what the write had made."""
    for kind in bench.requests:
        carried, answer = sent(bench, kind)
        assert answer.evidence is Evidence.ACKNOWLEDGED
        if not carried.plan.undoable:
            continue
        before = [carried.attempt.before, carried.attempt.before_source]
        after = [bench.open().read(place) for place in carried.places]
        undone = _undo(bench, carried)
        assert all(bench.open().read(place).same_as(was) for place, was in zip(carried.places, before, strict=False))
        _undo(bench, undone)
        assert all(bench.open().read(place).same_as(was) for place, was in zip(carried.places, after, strict=True))


def _undo(bench: SurfaceBench, carried: Carried) -> Carried:
    surface = bench.open()
    operation = carried.attempt.operation
    result = OperationResult(
        operation_id=carried.attempt.operation_id,
        kind=operation.kind,
        target=operation.target,
        source=operation.source,
        outcome=WriteOutcome.APPLIED,
        before=carried.attempt.before,
        after=surface.read(operation.target),
    )
    proposal = build_undo(result)
    plan = surface.plan_undo(proposal, carried.attempt, bench.blobs)
    assert proposal.expects == (plan.shown if plan.shown_source is None else plan.shown_source)
    attempt = attempt_of(bench, surface, plan)
    attempt = replace(attempt, prepared=surface.prepare(attempt, bench.blobs).notes)
    answer = well_formed(surface.send(attempt))
    assert answer.evidence is Evidence.ACKNOWLEDGED, answer
    return Carried(surface, plan, attempt)


PROMISES: dict[str, tuple[Promise, ...]] = {
    "look": (
        looking_changes_nothing,
        a_plan_shows_what_is_there,
        a_changed_target_reads_as_changed,
        what_is_refused_is_refused_by_name,
    ),
    "send": (preparing_has_no_effect_on_the_target, an_acknowledged_write_is_there),
    "fence": (
        a_fence_after_the_landing_finds_the_receipt,
        a_fence_before_the_send_keeps_it_out_for_good,
        a_repeated_fence_gives_the_same_answer,
        a_repeated_fence_finds_the_same_receipt,
        a_fence_is_never_fooled_by_a_foreign_writer,
        a_fence_after_a_foreign_write_alone_proves_no_landing,
        tidying_is_harmless,
    ),
    "declared": (
        the_declared_compare_is_honoured,
        a_source_that_changed_in_the_same_moment_is_told,
        the_declared_version_is_honoured,
    ),
    "undo": (an_undo_brings_back_what_was_there,),
}
"""All promises, by what they are about."""
