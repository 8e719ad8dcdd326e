"""The life of one write, folded from its events; and what may be said of it.

The journal stores events, this module reads them back: whatever is shown of a write anywhere comes through
`Life.of`, so that a restart, another process and the one that sent it all say the same (invariant 25).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.lifecycle import HOLDING, Happened, State, after
from amends.contract.operation import Fact, Json, Observation, Operation, OperationKind, Presence
from amends.contract.outcome import Evidence, OperationResult, WriteOutcome
from amends.ports import Attempt, Event, Plan
from amends.recovery import confirmation_digest, fingerprint

_OUTCOMES = {
    State.APPLIED: WriteOutcome.APPLIED,
    State.FAILED: WriteOutcome.FAILED,
    State.AMBIGUOUS: WriteOutcome.AMBIGUOUS,
    State.CLOSED: WriteOutcome.AMBIGUOUS,
    State.EXECUTING: WriteOutcome.AMBIGUOUS,
}


@dataclass(frozen=True, slots=True)
class Life:
    """Everything that is recorded of one write, as plain values. `events` is where all of it comes from."""

    operation_id: str
    state: State
    epoch: int
    events: tuple[Event, ...]
    transaction: str
    plan: Plan
    fingerprint: str
    digest: str
    proposer: str
    expires_at_ms: int | None = None
    reverses: str | None = None
    is_recovery: bool = False
    confirmed_by: str | None = None
    key: str | None = None
    before: Observation | None = None
    before_source: Observation | None = None
    prepared: dict[str, Json] = field(default_factory=dict)
    owner: str | None = None
    owned_since: dict[str, Json] = field(default_factory=dict)
    sender: str | None = None
    sender_boot: str | None = None
    evidence: Evidence | None = None
    reason: str | None = None
    note: str | None = None
    hint: str | None = None
    after: Observation | None = None
    was_interrupted: bool = False
    undone_by: str | None = None
    is_undoable: bool = True

    @classmethod
    def of(cls, events: Sequence[Event]) -> Life:
        """Fold `events`, the whole recorded history of one operation in order."""
        first, *rest = events
        return cls.proposed(first, plan_from(first.data)).followed_by(rest)

    @classmethod
    def proposed(cls, event: Event, plan: Plan) -> Life:
        """Begin with the event that records `plan` as proposed."""
        data = event.data
        return cls(
            operation_id=event.subject,
            state=after(None, event.happened),
            epoch=event.epoch,
            events=(event,),
            transaction=data["transaction"],
            plan=plan,
            fingerprint=data["fingerprint"],
            digest=data["digest"],
            proposer=data["proposer"],
            expires_at_ms=data["expires_at_ms"],
            reverses=data["reverses"],
            is_recovery=data["is_recovery"],
        )

    def followed_by(self, events: Iterable[Event]) -> Life:
        """Give this life with `events` after it."""
        learned: dict[str, Json] = {}
        state, epoch, so_far = self.state, self.epoch, list(self.events)
        for event in events:
            state, epoch = after(state, event.happened), event.epoch
            so_far.append(event)
            learned |= _learned(event)
        return replace(self, state=state, epoch=epoch, events=tuple(so_far), **learned)

    @property
    def operation(self) -> Operation:
        """What the write does."""
        return self.plan.operation

    @property
    def is_done(self) -> bool:
        """Say whether the target is as asked, by this write or already before it."""
        return self.state is State.APPLIED or self.evidence is Evidence.ALREADY_SO

    def is_expired(self, now_ms: int) -> bool:
        """Say whether it is too late to confirm it."""
        is_over = self.expires_at_ms is not None and now_ms >= self.expires_at_ms
        return self.state is State.PROPOSED and is_over

    @property
    def is_holding(self) -> bool:
        """Say whether the attempt may still land."""
        return self.state in HOLDING

    @property
    def was_fenced(self) -> bool:
        """Say whether a fence was set to settle it."""
        return any(event.happened is Happened.FENCE_STARTED for event in self.events)

    @property
    def was_kept_back(self) -> bool:
        """Say whether it ended before anything was sent, by what another sending would meet again."""
        is_unsent = self.state is State.FAILED and self.evidence is Evidence.NEVER_SENT
        return is_unsent and not self.was_fenced and not self.was_interrupted

    @property
    def was_attempted(self) -> bool:
        """Say whether it got as far as its intent, and something may have been sent for it."""
        return self.key is not None and not self.was_kept_back and self.evidence is not Evidence.ALREADY_SO

    @property
    def holds_claims(self) -> bool:
        """Say whether what it claimed is still held: until an event says that the attempt can't land any more."""
        return self.key is not None and not any(event.releases for event in self.events)

    @property
    def is_delivered(self) -> bool:
        """Say whether somebody was told the outcome."""
        return any(event.happened is Happened.DELIVERED for event in self.events)

    @property
    def attempt(self) -> Attempt:
        """The one sending of this write, as the surface knows it."""
        assert self.key is not None, "an attempt begins with its intent"
        assert self.before is not None, "an intent holds what was read before it"
        return Attempt(
            self.operation_id,
            self.key,
            self.operation,
            self.plan.payload,
            self.before,
            self.prepared,
            self.before_source,
        )

    @property
    def result(self) -> OperationResult | None:
        """The result to tell; None while nothing was sent and nothing concluded."""
        outcome = _OUTCOMES.get(self.state)
        if outcome is None:
            return None
        return OperationResult(
            operation_id=self.operation_id,
            kind=self.operation.kind,
            target=self.operation.target,
            source=self.operation.source,
            outcome=outcome,
            evidence=self.evidence or Evidence.UNPROVEN,
            before=self.before or self.plan.shown,
            after=self.after,
            level=self.plan.guarantee.level,
            reason=self.reason,
            note=self.note,
            check_hint=self._hint if outcome is WriteOutcome.AMBIGUOUS else None,
            closed=self.state is State.CLOSED,
            undoable=self.plan.undoable and self.is_undoable,
            reverses=self.reverses,
        )

    @property
    def _hint(self) -> str:
        if self.state is State.CLOSED:
            looked = self.hint or f"look at {self.operation.target} yourself"
            attest = f'amends attest {self.operation_id} --applied (or --failed) --reason "…"'
            return f"{looked}, then say what you found: {attest}"
        return f"amends check {self.operation_id}"


def _learned(event: Event) -> dict[str, Json]:
    """Give the fields of a life that `event` sets."""
    data = event.data
    match event.happened:
        case Happened.CONFIRMED:
            return {"confirmed_by": data["by"]}
        case Happened.INTENDED:
            return {
                "key": data["key"],
                "before": observation_from(data["before"]),
                "before_source": _maybe_observation(data["before_source"]),
                "prepared": data["prepared"],
                "owner": data["owner"],
                "owned_since": data["since"],
                "sender": data["owner"],
                "sender_boot": data["since"]["boot_id"],
            }
        case Happened.TAKEN_OVER:
            return {"owner": data["owner"], "owned_since": data["since"]}
        case Happened.APPLIED | Happened.FAILED | Happened.ANSWER_LOST | Happened.CLOSED:
            return {
                "evidence": Evidence(data["evidence"]),
                "reason": data.get("reason"),
                "note": data.get("note"),
                "hint": data.get("hint"),
                "after": _maybe_observation(data.get("after")),
                "is_undoable": data.get("is_undoable", True)
                and (event.happened is not Happened.APPLIED or data.get("after") is not None),
                "was_interrupted": bool(data.get("was_interrupted")),
            }
        case Happened.UNDONE:
            return {"undone_by": data["by"]}
        case _:
            return {}


def plan_data(plan: Plan) -> dict[str, Json]:
    """Write `plan` as JSON; `plan_from` reads it back."""
    operation, guarantee = plan.operation, plan.guarantee
    return {
        "operation": {
            "kind": operation.kind,
            "target": operation.target,
            "source": operation.source,
            "postcondition": [fact_data(fact) for fact in operation.postcondition],
        },
        "payload": plan.payload,
        "shown": observation_data(plan.shown),
        "guarantee": {
            "receipt": guarantee.receipt,
            "compare": guarantee.compare,
            "version": guarantee.version,
            "fence": guarantee.fence,
        },
        "undoable": plan.undoable,
        "keeps_receipt": plan.keeps_receipt,
        "warnings": list(plan.warnings),
        "shown_source": None if plan.shown_source is None else observation_data(plan.shown_source),
    }


def fact_data(fact: Fact) -> dict[str, Json]:
    """Write a fact as JSON."""
    return {"target": fact.target, "field": fact.field, "value": fact.value}


def observation_data(seen: Observation) -> dict[str, Json]:
    """Write an observation as JSON; `observation_from` reads it back."""
    return {
        "presence": seen.presence,
        "version": seen.version,
        "fields": seen.fields,
        "at_ms": seen.at_ms,
        "detail": seen.detail,
    }


def plan_from(data: dict[str, Json]) -> Plan:
    """Read what `plan_data` wrote, checking every enum on the way."""
    operation, guarantee = data["operation"], data["guarantee"]
    return Plan(
        operation=Operation(
            kind=OperationKind(operation["kind"]),
            target=operation["target"],
            source=operation["source"],
            postcondition=tuple(Fact(**fact) for fact in operation["postcondition"]),
        ),
        payload=data["payload"],
        shown=observation_from(data["shown"]),
        guarantee=Guarantee(
            receipt=Receipt(guarantee["receipt"]),
            compare=Compare(guarantee["compare"]),
            version=Version(guarantee["version"]),
            fence=Fence(guarantee["fence"]),
        ),
        undoable=data["undoable"],
        keeps_receipt=data["keeps_receipt"],
        warnings=tuple(data["warnings"]),
        shown_source=_maybe_observation(data["shown_source"]),
    )


def observation_from(data: dict[str, Json]) -> Observation:
    """Read an observation from its JSON form."""
    return Observation(**{**data, "presence": Presence(data["presence"])})


def _maybe_observation(data: dict[str, Json] | None) -> Observation | None:
    return None if data is None else observation_from(data)


def digest_of(plan: Plan, print_of_it: str | None = None) -> str:
    """Give what a confirmation of `plan` is bound to; `print_of_it` is its fingerprint, where that is known."""
    return confirmation_digest(print_of_it or fingerprint(plan.operation), plan.payload, plan.shown, plan.shown_source)
