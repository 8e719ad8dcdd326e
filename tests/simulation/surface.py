"""The fake target: what is there, what a request may do to it and when, and what can be proved of that afterwards.

Four kinds, from a ledger that keeps receipts in the same step to a mailbox that proves nothing. Requests fly: one may
land at once, later, or never, and its answer may be lost, whichever of these it is. A fence stops what still flies and
answers by what truly happened, as far as its kind can know that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from amends.contract import (
    ABSENT,
    Claim,
    Compare,
    Evidence,
    Fact,
    Fence,
    Guarantee,
    Observation,
    Operation,
    OperationKind,
    Presence,
    Receipt,
    Version,
    WriteProposal,
)
from amends.contract.operation import Json, canonical_json
from amends.errors import RecoveryError, TargetError
from amends.ports import Answer, Attempt, Blobs, Plan, Prepared, WriteRequest
from tests.simulation.history import Fenced, History, Planned, ReadAt, Request

KINDS: dict[str, Guarantee] = {
    "ledger": Guarantee(Receipt.SAME_STEP, Compare.ATOMIC, Version.NEVER_REPEATS, Fence.VOID),
    "crate": Guarantee(Receipt.SAME_STEP, Compare.RACY, Version.CAN_REPEAT, Fence.VOID),
    "shelf": Guarantee(Receipt.NONE, Compare.RACY, Version.CAN_REPEAT, Fence.KILL),
    "mailbox": Guarantee(Receipt.NONE, Compare.NONE, Version.NONE, Fence.NONE),
}


class Fate(StrEnum):
    """What becomes of one request."""

    ANSWERED = "answered"
    UNSENT = "unsent"
    REFUSED = "refused"
    NEVER_LANDS = "never_lands"
    ANSWER_LOST = "answer_lost"
    FLIES = "flies"
    """It lands later, if nothing stops it, and its answer is lost."""
    HALF = "half"
    RACED = "raced"
    """Somebody else writes between its comparison and its landing, where the two are not one step."""


class FenceFate(StrEnum):
    """What becomes of one fence."""

    ANSWERED = "answered"
    NEVER_SET = "never_set"
    ANSWER_LOST = "answer_lost"


@dataclass(slots=True)
class Thing:
    """What is at a target."""

    fields: dict[str, Json]
    version: int


class FakeSurface:
    """A Surface whose whole truth is in sight."""

    def __init__(self, kind: str, history: History) -> None:
        """Make an empty one of `kind`."""
        self.kind = kind
        self.guarantee = KINDS[kind]
        self.history = history
        self.things: dict[str, Thing] = {}
        self.archive: list[dict[str, Json]] = []
        self.stopped: set[str] = set()
        self.staged: set[str] = set()
        self.tick = 0
        self.task = 0
        self.fate: Callable[[Attempt], Fate] = lambda attempt: Fate.ANSWERED
        self.fence_fate: Callable[[Attempt], FenceFate] = lambda attempt: FenceFate.ANSWERED
        self.is_unreadable: Callable[[str], bool] = lambda target: False
        self._versions = 0

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return "sim"

    # --- what others do ----------------------------------------------------------------------------------------------

    def put(self, target: str, fields: dict[str, Json] | None) -> None:
        """Change what is at `target`, as somebody does who does not know us."""
        self._versions += 1
        if fields is None:
            self.things.pop(target, None)
        else:
            self.things[target] = Thing(dict(fields), self._versions)

    def content(self, target: str) -> dict[str, Json] | None:
        """Give what is at `target`."""
        thing = self.things.get(target)
        return dict(thing.fields) if thing else None

    def flying(self) -> list[Request]:
        """Give the requests that can still land."""
        return [request for request in self.history.requests if request.is_flying]

    def land(self, request: Request) -> bool:
        """Let a flying request arrive, and say whether it had its effect."""
        request.is_flying = False
        attempt = request.attempt
        target = attempt.operation.target
        if attempt.key in self.stopped or (
            self.guarantee.compare is Compare.ATOMIC and not self._is_as_before(attempt)
        ):
            return False
        before = self.content(target)
        after: dict[str, Json] | None = attempt.payload["fields"]
        if not request.is_whole and after is not None:
            after = {**(before or {}), **dict([next(iter(sorted(after.items())))])}
        if before is not None:
            self.archive.append(before)
        request.overwrote_foreign = before != (attempt.before.fields or None)
        self.put(target, after)
        request.landed_at, request.before, request.after, request.version = self.tick, before, after, self._versions
        return True

    # --- the port ----------------------------------------------------------------------------------------------------

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        """Plan one write; spellings that differ in case are one target."""
        del blobs
        if not request.key:
            raise TargetError("a target needs a name")
        target = f"sim:{request.key.lower()}"
        shown = self._observe(target)
        fields: dict[str, Json] | None = {**shown.fields, **request.fields}
        facts = tuple(Fact(target, name, value) for name, value in sorted(request.fields.items()))
        if request.kind is OperationKind.ARCHIVE:
            fields, facts = None, (Fact(target, "text", ABSENT),)
        plan = self._plan(Operation(request.kind, target, facts), fields, shown)
        self.history.planned.append(Planned(self.tick, self.task, plan))
        return plan

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan the same facts against what is there now."""
        del blobs
        kind, shown = plan.operation.kind, self._observe(plan.operation.target)
        if kind in (OperationKind.CREATE, OperationKind.EDIT):
            kind = OperationKind.EDIT if shown.presence is Presence.PRESENT else OperationKind.CREATE
        facts = {fact.field: fact.value for fact in plan.operation.postcondition}
        fields = None if plan.payload["fields"] is None else {**shown.fields, **facts}
        return self._plan(replace(plan.operation, kind=kind), fields, shown)

    def plan_undo(self, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
        """Plan the write that brings back what was there."""
        del reversed_attempt, blobs
        assert proposal.expects is not None
        fields = None
        facts: tuple[Fact, ...] = (Fact(proposal.target, "text", ABSENT),)
        if proposal.restores is not None and proposal.restores.presence is Presence.PRESENT:
            fields = dict(proposal.restores.fields)
            if fields not in self.archive:
                raise RecoveryError("what was there is not kept any more")
            facts = tuple(Fact(proposal.target, name, value) for name, value in sorted(fields.items()))
        plan = self._plan(Operation(proposal.kind, proposal.target, facts), fields, proposal.expects)
        self.history.planned.append(Planned(self.tick, self.task, plan))
        return plan

    def preview(self, plan: Plan, blobs: Blobs) -> str:
        """Show the new content."""
        del blobs
        return canonical_json(plan.payload)

    def read(self, target: str) -> Observation:
        """Read what is there, if it can be read."""
        seen = self._observe(target)
        if self.is_unreadable(target):
            seen = Observation(Presence.UNREADABLE, detail="the door is locked")
        self.history.reads.append(ReadAt(self.tick, self.task, target, seen))
        return seen

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Stage the content; archiving claims all that is below the target too."""
        del blobs
        self.staged.add(attempt.key)
        is_wide = attempt.operation.kind is OperationKind.ARCHIVE
        return Prepared({"staged": attempt.key}, (Claim(attempt.operation.target, subtree=is_wide),))

    def send(self, attempt: Attempt) -> Answer:
        """Put a request on the wire and let its fate decide."""
        fate = self.fate(attempt)
        if fate is Fate.UNSENT:
            return Answer(Evidence.NEVER_SENT, reason="nobody answered the call")
        request = Request(self.tick, self.task, attempt, is_whole=fate is not Fate.HALF)
        self.history.requests.append(request)
        if attempt.key in self.stopped:
            request.answered_at = self.tick
            if self.guarantee.fence is Fence.KILL:
                raise BrokenPipeError("it was set aside")
            return Answer(Evidence.REFUSED, reason="it was voided before it came")
        is_compared = self.guarantee.compare is not Compare.NONE
        if fate is Fate.REFUSED or (is_compared and not self._is_as_before(attempt)):
            if fate is Fate.NEVER_LANDS:
                raise TimeoutError
            request.answered_at = self.tick
            return Answer(Evidence.REFUSED, reason="the target said no")
        return self._travel(request, fate)

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Stop the attempt, and say what is known of it."""
        fate = self.fence_fate(attempt)
        if self.guarantee.fence is Fence.NONE:
            return Answer(Evidence.UNPROVEN, is_quiescent=False, hint=f"read {attempt.operation.target}")
        if fate is FenceFate.NEVER_SET:
            raise TimeoutError
        mine = [request for request in self.history.requests if request.key == attempt.key]
        for request in mine:
            request.is_flying = False
        self.stopped.add(attempt.key)
        self.history.fences.append(Fenced(self.tick, self.task, attempt.key, attempt.operation_id))
        if fate is FenceFate.ANSWER_LOST:
            raise TimeoutError
        if self.guarantee.receipt is Receipt.SAME_STEP:
            landed = any(request.landed_at is not None for request in mine)
            return Answer(Evidence.RECEIPT) if landed else Answer(Evidence.VOIDED)
        return Answer(Evidence.UNPROVEN) if mine else Answer(Evidence.NEVER_SENT)

    def tidy(self, attempt: Attempt) -> None:
        """Drop what was staged."""
        self.staged.discard(attempt.key)

    # --- the parts ---------------------------------------------------------------------------------------------------

    def _plan(self, operation: Operation, fields: dict[str, Json] | None, shown: Observation) -> Plan:
        is_undoable = self.guarantee.fence is not Fence.NONE
        keeps = self.guarantee.receipt is Receipt.SAME_STEP
        return Plan(operation, {"fields": fields}, shown, self.guarantee, undoable=is_undoable, keeps_receipt=keeps)

    def _observe(self, target: str) -> Observation:
        thing = self.things.get(target)
        if thing is None:
            return Observation(Presence.ABSENT, at_ms=self.tick)
        version = {
            Version.NONE: None,
            Version.CAN_REPEAT: hashlib.sha256(canonical_json(thing.fields).encode()).hexdigest()[:8],
            Version.NEVER_REPEATS: f"v{thing.version}",
        }[self.guarantee.version]
        return Observation(Presence.PRESENT, version, dict(thing.fields), at_ms=self.tick)

    def _is_as_before(self, attempt: Attempt) -> bool:
        return self._observe(attempt.operation.target).same_as(attempt.before)

    def _travel(self, request: Request, fate: Fate) -> Answer:
        if fate is Fate.NEVER_LANDS:
            raise TimeoutError
        if fate is Fate.FLIES:
            request.is_flying = True
            raise TimeoutError
        if fate is Fate.RACED:
            self.put(request.attempt.operation.target, {"text": f"theirs at {self.tick}", "note": "raced"})
        has_landed = self.land(request)
        if fate is Fate.ANSWER_LOST:
            raise TimeoutError
        if fate is Fate.HALF:
            return Answer(Evidence.PARTIAL, is_quiescent=False, reason="a part of it is there")
        request.answered_at = self.tick
        if not has_landed:
            return Answer(Evidence.REFUSED, reason="the target said no")
        return Answer(Evidence.ACKNOWLEDGED)
