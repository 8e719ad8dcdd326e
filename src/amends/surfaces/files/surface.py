"""The surface of files: the port `amends.ports.Surface`, put together from the other modules of this package.

`plan` and `read` create nothing. `prepare` does all that can be done before the intent, `send` is one step, `fence`
and `tidy` work from the recorded notes alone, in any process, at any time.

Only a move to another filesystem below the root is two steps, each the landing of a write of its own kind with its own
proof and fence: a create from the kept bytes, and an archive of the source. The source is put away only when the copy
is durable and was read back, and it is kept, so that no half of this loses the only good copy.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from amends.contract.operation import Observation, Operation, OperationKind
from amends.contract.outcome import Evidence, WriteOutcome, outcome_of
from amends.contract.proposal import WriteProposal
from amends.errors import TargetError
from amends.ports import Answer, Attempt, Blobs, Clock, Plan, Prepared, WriteRequest
from amends.surfaces.files import move, planning, undo
from amends.surfaces.files.content import Progress
from amends.surfaces.files.place import Place
from amends.surfaces.files.room import Past, check_owner
from amends.surfaces.files.root import Root, Way
from amends.surfaces.files.syscall import Syscalls


@dataclass(frozen=True, slots=True)
class _Half:
    """One of the two writes, where it is made."""

    place: Place
    attempt: Attempt


def _copying(attempt: Attempt) -> Attempt:
    """Give the half that creates."""
    operation = attempt.operation
    facts = tuple(fact for fact in operation.postcondition if fact.target == operation.target)
    return replace(
        attempt,
        operation=Operation(OperationKind.CREATE, operation.target, facts),
        payload=attempt.payload["copy"],
        prepared=attempt.prepared.get("copy", {}),
        before_source=None,
    )


def _putting_away(attempt: Attempt) -> Attempt:
    """Give the half that archives."""
    operation = attempt.operation
    assert operation.source is not None, "a move has a source"
    assert attempt.before_source is not None, "and it was looked at"
    facts = tuple(fact for fact in operation.postcondition if fact.target == operation.source)
    return replace(
        attempt,
        operation=Operation(OperationKind.ARCHIVE, operation.source, facts),
        payload={"way": str(Way.ARCHIVE)},
        prepared=attempt.prepared.get("away", {}),
        before=attempt.before_source,
        before_source=None,
    )


def _prepare(copy: _Half, away: _Half, blobs: Blobs) -> Prepared:
    """Prepare both, or neither."""
    first = copy.place.prepare(copy.attempt, blobs)
    try:
        second = away.place.prepare(away.attempt, blobs)
    except BaseException:
        prepared = replace(copy.attempt, prepared=first.notes)
        copy.place.fence(prepared, is_sender_gone=True)
        copy.place.tidy(prepared)
        raise
    claims = tuple(dict.fromkeys((*first.claims, *second.claims)))
    return Prepared({"copy": first.notes, "away": second.notes}, claims)


def _send(copy: _Half, away: _Half) -> Answer:
    """Copy, read it back, and only then put the source away."""
    first = copy.place.send(copy.attempt)
    if first.evidence is not Evidence.ACKNOWLEDGED:
        return first
    target, source = copy.attempt.operation.target, away.attempt.operation.target
    if not all(fact.holds(copy.place.read(target)) for fact in copy.attempt.operation.postcondition):
        return _partial(copy, away, f"what is at {target} is not what was copied there, so {source} was left as it is")
    return _joined(copy, away, first, away.place.send(away.attempt), Evidence.ACKNOWLEDGED)


def _fence(copy: _Half, away: _Half, *, is_sender_gone: bool) -> Answer:
    """Rule both out, in the order in which they would be sent, and judge."""
    first = copy.place.fence(copy.attempt, is_sender_gone=is_sender_gone)
    second = away.place.fence(away.attempt, is_sender_gone=is_sender_gone)
    return _joined(copy, away, first, second, Evidence.RECEIPT)


def _joined(copy: _Half, away: _Half, first: Answer, second: Answer, proof: Evidence) -> Answer:
    outcomes = [outcome_of(answer.evidence) for answer in (first, second)]
    is_quiescent = first.is_quiescent and second.is_quiescent
    reason = "; ".join(filter(None, (first.reason, second.reason)))
    if outcomes == [WriteOutcome.APPLIED, WriteOutcome.APPLIED]:
        note = " ".join(filter(None, (first.note, second.note))) or None
        return Answer(proof, is_quiescent=is_quiescent, note=note, is_undoable=note is None)
    if outcomes == [WriteOutcome.FAILED, WriteOutcome.FAILED]:
        return Answer(Evidence.NEVER_SENT, reason=first.reason)
    if outcomes == [WriteOutcome.APPLIED, WriteOutcome.FAILED]:
        target, source = copy.attempt.operation.target, away.attempt.operation.target
        return _partial(copy, away, f"it was copied to {target}, but {source} was not put away: {second.reason}")
    if outcomes[1] is WriteOutcome.APPLIED:
        reason = f"{away.attempt.operation.target} was put away; of the copy: {reason}"
    return Answer(Evidence.UNPROVEN, is_quiescent=is_quiescent, reason=reason, hint=_hint(copy, away))


def _partial(copy: _Half, away: _Half, reason: str) -> Answer:
    return Answer(Evidence.PARTIAL, reason=reason, hint=_hint(copy, away))


def _hint(copy: _Half, away: _Half) -> str:
    return f"look at {copy.attempt.operation.target} and at {away.attempt.operation.target}, and archive one of them"


class Files:
    """The files below one folder."""

    def __init__(
        self,
        name: str,
        root: Path,
        *,
        journal_id: str,
        clock: Clock,
        syscalls: Syscalls | None = None,
        progress: Progress | None = None,
        past: Past | None = None,
    ) -> None:
        """Stand for the folder `root` under `name`. Looks at nothing yet.

        `past` says what became of an operation; without it, what dead processes left in the private folder stays.

        `progress` is called with "reading" or "staging", the bytes done and all bytes, for every piece of a file.
        """
        self._root = Root(name, root, journal_id, clock, syscalls or Syscalls(), progress)
        self._past = past
        self._places: dict[tuple[str, ...], Place] = {}

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self._root.surface

    def check_owner(self) -> None:
        """Raise OwnershipError if the folder belongs to another journal. A folder that is not there is nobody's."""
        with suppress(TargetError):
            check_owner(self._root.path, (), journal_id=self._root.journal_id)

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        """Identify the target, read it, and keep the payload's bytes in `blobs`. Changes nothing."""
        if request.kind in move.KINDS:
            return move.plan(self._root, request, blobs)
        return planning.plan(self._root, request, blobs)

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan what `plan` wants once more, against what is there now. Its bytes are kept already."""
        if move.is_carried(plan.payload) or Way(plan.payload["way"]) in (Way.MOVE, Way.RESPELL):
            return move.replan(self._root, plan, blobs)
        return planning.replan(self._root, plan)

    def plan_undo(self, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
        """Plan the write that restores `proposal.restores`, from what the reversed attempt displaced."""
        return undo.plan_undo(self._root, proposal, reversed_attempt, blobs)

    def preview(self, plan: Plan, blobs: Blobs) -> str:
        """Show what would change: a diff where both sides are text, else a sentence."""
        return planning.preview(self._root, plan, blobs)

    def read(self, target: str) -> Observation:
        """Read `target` afresh, without following a link."""
        return self._root.take(self._root.parts(target)).seen

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Stage the bytes and name the claims, after sweeping up what dead processes left."""
        if move.is_carried(attempt.payload):
            return _prepare(*self._halves(attempt), blobs)
        return self._place(()).prepare(attempt, blobs)

    def send(self, attempt: Attempt) -> Answer:
        """Land it in one step; on another filesystem in two."""
        if move.is_carried(attempt.payload):
            return _send(*self._halves(attempt))
        return self._place(()).send(attempt)

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Set it aside, or prove that it landed."""
        if move.is_carried(attempt.payload):
            return _fence(*self._halves(attempt), is_sender_gone=is_sender_gone)
        return self._place(()).fence(attempt, is_sender_gone=is_sender_gone)

    def tidy(self, attempt: Attempt) -> None:
        """Remove what a failed attempt prepared, or the marks of a delete."""
        if move.is_carried(attempt.payload):
            for half in self._halves(attempt):
                half.place.tidy(half.attempt)
        else:
            self._place(()).tidy(attempt)

    def _halves(self, attempt: Attempt) -> tuple[_Half, _Half]:
        """Give the two writes of a move to another filesystem, each on its own: that which it was prepared on."""
        both = []
        for half in (_copying(attempt), _putting_away(attempt)):
            base = self._root.beneath(self._root.parts(half.operation.target))[0].base
            both.append(_Half(self._place(tuple(half.prepared.get("base", base))), half))
        return both[0], both[1]

    def _place(self, base: tuple[str, ...]) -> Place:
        if base not in self._places:
            surface = weakref.proxy(self)  # else only the collector of cycles would end both
            self._places[base] = Place(self._root.at(base), past=self._past, tidy=partial(Files.tidy, surface))
        return self._places[base]
