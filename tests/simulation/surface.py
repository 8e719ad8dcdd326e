"""The fake target: what is there, what a request may do to it and when, and what can be proved of that afterwards.

Five kinds with names, from a ledger that keeps receipts in the same step to a mailbox that proves nothing, and beside
them every vector that a surface could declare. Requests fly: one may land at once, later, or never, and its answer may
be lost, whichever of these it is. A fence stops what still flies and answers by what truly happened, as far as its
vector can know that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

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
from amends.ports import Answer, Attempt, Blobs, Clock, Plan, Prepared, WriteRequest
from amends.testing import FakeClock
from tests.simulation.history import Fenced, History, Planned, ReadAt, Request

KINDS: dict[str, Guarantee] = {
    "ledger": Guarantee(Receipt.SAME_STEP, Compare.ATOMIC, Version.NEVER_REPEATS, Fence.VOID),
    "crate": Guarantee(Receipt.SAME_STEP, Compare.RACY, Version.CAN_REPEAT, Fence.VOID),
    "shelf": Guarantee(Receipt.NONE, Compare.RACY, Version.CAN_REPEAT, Fence.KILL),
    "mailbox": Guarantee(Receipt.NONE, Compare.NONE, Version.NONE, Fence.NONE),
    "register": Guarantee(Receipt.NONE, Compare.ATOMIC, Version.NEVER_REPEATS, Fence.WAIT),
}
"""The kinds that have a name, and stories."""


def _can_be(guarantee: Guarantee) -> bool:
    """Say whether a surface can keep that: a void needs a receipt, or a comparison that the old state never passes."""
    is_aba_free = guarantee.compare is Compare.ATOMIC and guarantee.version is Version.NEVER_REPEATS
    return guarantee.fence is not Fence.VOID or guarantee.receipt is Receipt.SAME_STEP or is_aba_free


_EVERY = (Guarantee(*parts) for parts in product(Receipt, Compare, Version, Fence))
VECTORS: dict[str, Guarantee] = {
    f"{each.receipt}/{each.compare}/{each.version}/{each.fence}": each for each in _EVERY if _can_be(each)
}
GUARANTEES = {**KINDS, **VECTORS}

LANDS_WITHIN_MS = 30_000
"""How late a request may land where waiting is a fence."""
WIDE = frozenset({OperationKind.ARCHIVE, OperationKind.MOVE, OperationKind.RENAME, OperationKind.DELETE})
"""The kinds that take what is below a target along, and claim it."""
MOVES = frozenset({OperationKind.MOVE, OperationKind.RENAME})


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
    TWICE = "twice"
    """It lands and is answered, and a copy of it, made on the way, still flies."""
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

    def __init__(self, kind: str, history: History, clock: Clock | None = None) -> None:
        """Make an empty one of `kind`; only where waiting is a fence does it look at the clock."""
        self.kind = kind
        self.guarantee = GUARANTEES[kind]
        self.history = history
        self.clock = clock or FakeClock()
        self.things: dict[str, Thing] = {}
        self.archive: list[dict[str, Json]] = []
        self.stopped: set[str] = set()
        self.staged: set[str] = set()
        self.tick = 0
        self.task = 0
        self.fate: Callable[[Attempt], Fate] = lambda attempt: Fate.ANSWERED
        self.fence_fate: Callable[[Attempt], FenceFate] = lambda attempt: FenceFate.ANSWERED
        self.is_unreadable: Callable[[str], bool] = lambda target: False
        self.is_stale: Callable[[str], bool] = lambda target: False
        """Whether a read of that target comes from a replica that lags behind."""
        self._versions = 0
        self._older: dict[str, Observation] = {}
        self._waiting_since: dict[tuple[str, str], int] = {}

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return "sim"

    # --- what others do ----------------------------------------------------------------------------------------------

    def put(self, target: str, fields: dict[str, Json] | None) -> None:
        """Change what is at `target`, as somebody does who does not know us."""
        self._older[target] = self._observe(target)
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
        if self.guarantee.fence is Fence.WAIT:
            for request in (*self.history.requests, *self.history.copies):
                if request.is_flying and self._is_past(request.sent_boot, request.sent_ms):
                    request.is_flying = False
        return [request for request in (*self.history.requests, *self.history.copies) if request.is_flying]

    def land(self, request: Request) -> bool:
        """Let a flying request arrive, and say whether it had its effect."""
        request.is_flying = False
        attempt = request.attempt
        operation = attempt.operation
        is_atomic = self.guarantee.compare is Compare.ATOMIC
        if self._is_kept_out(attempt) or (is_atomic and not self._is_as_before(attempt)):
            return False
        if attempt.before_source is not None and not self._has_source(attempt):
            return False
        if self.guarantee.receipt is Receipt.SAME_STEP and self._has_landed(attempt):
            return False
        before = self.content(operation.target)
        after: dict[str, Json] | None = attempt.payload["fields"]
        if not request.is_whole and after is not None and operation.source is None:
            after = {**(before or {}), **dict([next(iter(sorted(after.items())))])}
        if before is not None and operation.kind is not OperationKind.DELETE:
            self.archive.append(before)
        request.overwrote_foreign = before != (attempt.before.fields or None)
        if operation.source is not None and request.is_whole:
            self.put(operation.source, None)
        self.put(operation.target, after)
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
        if request.kind in MOVES:
            plan = self._plan_move(request.kind, f"sim:{(request.source_key or '').lower()}", target)
        else:
            fields: dict[str, Json] | None = {**shown.fields, **request.fields}
            facts = tuple(Fact(target, name, value) for name, value in sorted(request.fields.items()))
            if request.kind in (OperationKind.ARCHIVE, OperationKind.DELETE):
                fields, facts = None, (Fact(target, "text", ABSENT),)
            plan = self._plan(Operation(request.kind, target, facts), fields, shown)
        self.history.planned.append(Planned(self.tick, self.task, plan))
        return plan

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan the same facts against what is there now."""
        del blobs
        kind, shown = plan.operation.kind, self._observe(plan.operation.target)
        if plan.operation.source is not None:
            return self._plan_move(kind, plan.operation.source, plan.operation.target)
        if kind in (OperationKind.CREATE, OperationKind.EDIT):
            kind = OperationKind.EDIT if shown.presence is Presence.PRESENT else OperationKind.CREATE
        facts = {fact.field: fact.value for fact in plan.operation.postcondition}
        fields = None if plan.payload["fields"] is None else {**shown.fields, **facts}
        return self._plan(replace(plan.operation, kind=kind), fields, shown)

    def plan_undo(self, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
        """Plan the write that brings back what was there."""
        del reversed_attempt, blobs
        assert proposal.expects is not None
        if proposal.source is not None:
            plan = self._plan_move(proposal.kind, proposal.source, proposal.target, shown_source=proposal.expects)
            self.history.planned.append(Planned(self.tick, self.task, plan))
            return plan
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
        elif target in self._older and self.is_stale(target):
            seen = replace(self._older[target], at_ms=self.tick)
        self.history.reads.append(ReadAt(self.tick, self.task, target, seen))
        return seen

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Stage the content; what takes all that is below a target along claims that too."""
        del blobs
        self.staged.add(attempt.key)
        return Prepared({"staged": attempt.key}, needs(attempt.operation))

    def send(self, attempt: Attempt) -> Answer:
        """Put a request on the wire and let its fate decide."""
        fate = self.fate(attempt)
        if fate is Fate.UNSENT:
            return Answer(Evidence.NEVER_SENT, reason="nobody answered the call")
        now = (self.clock.boot_id(), self.clock.monotonic_ms())
        request = Request(self.tick, self.task, attempt, *now, is_whole=fate is not Fate.HALF)
        self.history.requests.append(request)
        if self._is_kept_out(attempt):
            request.answered_at = self.tick
            if self.guarantee.fence is Fence.KILL:
                raise BrokenPipeError("it was set aside")
            return Answer(Evidence.REFUSED, reason="it was voided before it came")
        is_compared = self.guarantee.compare is not Compare.NONE
        if fate is Fate.REFUSED or (is_compared and not self._is_as_before(attempt)):
            if fate in (Fate.NEVER_LANDS, Fate.ANSWER_LOST):
                raise TimeoutError
            request.answered_at = self.tick
            return Answer(Evidence.REFUSED, reason="the target said no")
        return self._travel(request, fate)

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Stop the attempt, and say what is known of it."""
        fate = self.fence_fate(attempt)
        fence, hint = self.guarantee.fence, f"read {attempt.operation.target}"
        if fence is Fence.NONE:
            return Answer(Evidence.UNPROVEN, is_quiescent=False, hint=hint)
        if fate is FenceFate.NEVER_SET:
            raise TimeoutError
        if fence is Fence.WAIT and not (is_sender_gone and self._has_waited(attempt.key)):
            return Answer(Evidence.UNPROVEN, is_quiescent=False, hint=hint)
        for request in (*self.history.requests, *self.history.copies):
            if request.key == attempt.key:
                request.is_flying = False
        self.stopped.add(attempt.key)
        self.history.fences.append(Fenced(self.tick, self.task, attempt.key, attempt.operation_id))
        answer = Answer(self._proof(attempt))
        if fate is FenceFate.ANSWER_LOST:
            raise TimeoutError
        return answer

    def tidy(self, attempt: Attempt) -> None:
        """Drop what was staged."""
        self.staged.discard(attempt.key)

    # --- the parts ---------------------------------------------------------------------------------------------------

    def _plan(self, operation: Operation, fields: dict[str, Json] | None, shown: Observation) -> Plan:
        is_undoable = self.guarantee.fence is not Fence.NONE and operation.kind is not OperationKind.DELETE
        keeps = self.guarantee.receipt is Receipt.SAME_STEP and self.guarantee.fence is not Fence.NONE
        return Plan(operation, {"fields": fields}, shown, self.guarantee, undoable=is_undoable, keeps_receipt=keeps)

    def _plan_move(
        self, kind: OperationKind, source: str, target: str, *, shown_source: Observation | None = None
    ) -> Plan:
        there = shown_source or self._observe(source)
        if there.presence is not Presence.PRESENT:
            raise TargetError(f"nothing is at {source}")
        if target == source or target.startswith(f"{source}/"):
            raise TargetError(f"{source} can't be brought into itself")
        facts = tuple(Fact(target, name, value) for name, value in sorted(there.fields.items()))
        operation = Operation(kind, target, (*facts, Fact(source, "text", ABSENT)), source)
        return replace(self._plan(operation, dict(there.fields), self._observe(target)), shown_source=there)

    def _proof(self, attempt: Attempt) -> Evidence:
        """Give what this vector can know of an attempt that can't land any more."""
        receipt, fence = self.guarantee.receipt, self.guarantee.fence
        if receipt is not Receipt.NONE and self._has_landed(attempt, with_receipt=True):
            return Evidence.RECEIPT
        if receipt is Receipt.SAME_STEP:
            return Evidence.WAITED if fence is Fence.WAIT else Evidence.VOIDED
        if fence is Fence.KILL:
            was_sent = any(request.key == attempt.key for request in self.history.requests)
            return Evidence.UNPROVEN if was_sent else Evidence.NEVER_SENT
        is_aba_free = self.guarantee.version is Version.NEVER_REPEATS and attempt.before.version is not None
        if not is_aba_free or attempt.operation.source is not None or not self._is_as_before(attempt):
            return Evidence.UNPROVEN
        if fence is Fence.WAIT:
            return Evidence.WAITED
        self.put(attempt.operation.target, self.content(attempt.operation.target))  # the comparison that wins
        return Evidence.VOIDED

    def _has_landed(self, attempt: Attempt, *, with_receipt: bool = False) -> bool:
        """Say whether it landed; `with_receipt`: and left one, which a separate step may have failed to do."""
        landed = any(request.key == attempt.key for request in self.history.effects)
        is_sure = not with_receipt or self.guarantee.receipt is Receipt.SAME_STEP
        return landed and (is_sure or not attempt.key.endswith(("0", "5")))

    def _has_waited(self, key: str) -> bool:
        """Say whether the bound on a late landing is over; it begins when it is asked for, and anew with each boot."""
        boot_id = self.clock.boot_id()
        since = self._waiting_since.setdefault((key, boot_id), self.clock.monotonic_ms())
        return self._is_past(boot_id, since)

    def _is_past(self, boot_id: str, since_ms: int) -> bool:
        since_ms = since_ms if boot_id == self.clock.boot_id() else 0
        return self.clock.monotonic_ms() - since_ms > LANDS_WITHIN_MS

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

    def _is_kept_out(self, attempt: Attempt) -> bool:
        """Say whether its fence alone keeps it out; one that waits, or won a comparison, has no hold on a request.

        No comparison tells an absence from an earlier one, so there the void leaves a mark at the name.
        """
        has_hold = (
            self.guarantee.fence is Fence.KILL
            or self.guarantee.receipt is Receipt.SAME_STEP
            or attempt.before.version is None
        )
        return attempt.key in self.stopped and self.guarantee.fence is not Fence.WAIT and has_hold

    def _is_as_before(self, attempt: Attempt) -> bool:
        is_same = self._observe(attempt.operation.target).same_as(attempt.before)
        return is_same and (attempt.before_source is None or self._has_source(attempt))

    def _has_source(self, attempt: Attempt) -> bool:
        source = attempt.operation.source
        return source is not None and self._observe(source).same_as(attempt.before_source)

    def _travel(self, request: Request, fate: Fate) -> Answer:
        if fate is Fate.NEVER_LANDS:
            raise TimeoutError
        if fate is Fate.FLIES:
            request.is_flying = True
            raise TimeoutError
        if fate is Fate.RACED:
            self.put(request.attempt.operation.target, {"text": f"theirs at {self.tick}", "note": "raced"})
        if fate is Fate.TWICE:
            self.history.copies.append(replace(request, is_flying=True))
        has_landed = self.land(request)
        if fate is Fate.ANSWER_LOST:
            raise TimeoutError
        if fate is Fate.HALF:
            return Answer(Evidence.PARTIAL, is_quiescent=False, reason="a part of it is there")
        request.answered_at = self.tick
        if not has_landed:
            return Answer(Evidence.REFUSED, reason="the target said no")
        return Answer(Evidence.ACKNOWLEDGED)


def needs(operation: Operation) -> tuple[Claim, ...]:
    """Give what an attempt at `operation` must keep others out of."""
    places = [operation.target, *([operation.source] if operation.source is not None else [])]
    return tuple(Claim(place, subtree=operation.kind in WIDE) for place in places)
