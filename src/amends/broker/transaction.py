"""Transactions: what a user asked for as one, from its proposal to COMPLETE or BLOCKED.

Every write belongs to one. The machines here order the writes, ask for confirmation, stop at the first that is not
applied or already so, and never fold several outcomes into one word (invariant 18). A confirmation is bound to the
digest of exactly what will be sent and to the version that was shown, is used once, and expiry is no decline.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from amends.contract.lifecycle import UNSETTLED, Happened, State, fold
from amends.contract.outcome import Evidence, WriteOutcome
from amends.contract.undo import build_undo
from amends.errors import (
    DocumentError,
    JournalError,
    LostRaceError,
    ProposalError,
    RecoveryError,
    UnknownSubjectError,
    UnusableError,
)
from amends.ports import Event, Plan, WriteRequest
from amends.recovery.fingerprint import confirmation_digest, digest, fingerprint

from .life import Life, plan_data
from .machine import Closing, conclude, execute, judge, may_settle, quiesce, recall, record, settle
from .step import Commit, ListOpen, MakePlan, Match, Moment, Name, Now, PlanUndo, Read, Recall, Steps, do

MAYBE_SENT = frozenset({State.EXECUTING, State.AMBIGUOUS, State.CLOSED})
"""States of a write that may have applied, also where waiting can't settle it any more."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks for a transaction and how.

    `confirmed_by` names whose confirmation comes with the request (the operator's `--yes`); None means that somebody
    must confirm it. `again` asks for a second write where the same payload is still under way.
    """

    proposer: str
    title: str = ""
    expires_in_ms: int | None = None
    confirmed_by: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A transaction as it stands. `is_joined` says that this call sent nothing and tells of an earlier one."""

    transaction: str
    title: str
    state: State
    epoch: int
    lives: tuple[Life, ...]
    is_joined: bool = False

    @property
    def digest(self) -> str:
        """What a confirmation of all its writes is bound to."""
        return digest([life.digest for life in self.lives])

    def waiting(self, *states: State) -> tuple[Life, ...]:
        """Give the writes that are in one of `states`."""
        return tuple(life for life in self.lives if life.state in states)


def plan(requests: Sequence[WriteRequest]) -> Steps[list[Plan]]:
    """Plan `requests` as one transaction; nothing is recorded. Raises MisuseError for what can't be asked."""
    plans: list[Plan] = []
    for request in requests:
        plans.append((yield from do(MakePlan(request))))
    _reject_overlaps(plans)
    return plans


def propose(requests: Sequence[WriteRequest], ask: Ask) -> Steps[Report]:
    """Plan `requests` as one transaction and record it; carry it out at once where the confirmation came with it.

    What is still under way with the same payload is joined: nothing new is recorded and nothing is sent. A
    transaction whose facts all hold is complete without a confirmation, since nothing would be sent.
    """
    plans = yield from plan(requests)
    if not ask.again:
        joined = yield from _join(plans)
        if joined is not None:
            return joined
    return (yield from _open(plans, ask))


def undo(operation_id: str, ask: Ask) -> Steps[Report]:
    """Propose the write that reverses `operation_id`; carry it out where the confirmation came with it.

    It is shown the state that the reversed write left, and revalidates against that: a target that somebody changed
    since is refused as stale. Raises RecoveryError for what can't be undone.
    """
    life = yield from _one(operation_id)
    result = life.result
    if result is None:
        raise RecoveryError(
            f"operation {life.operation_id} is {life.state}: nothing was sent, so nothing can be undone"
        )
    if life.undone_by is not None:
        raise RecoveryError(f"operation {life.operation_id} was undone already, by operation {life.undone_by}")
    proposal = build_undo(result)
    for row in (yield from do(ListOpen())):
        if row.reverses == life.operation_id and row.state in UNSETTLED:
            return replace((yield from find(row.subject)), is_joined=True)
    if proposal.expects is None:
        raise RecoveryError(
            f"operation {life.operation_id} can't be undone: {life.operation.target} was no longer as it left it when"
            " that was looked at, so that undoing it could lose somebody else's work"
        )
    plan = yield from do(PlanUndo(proposal, life.attempt))
    if life.evidence is Evidence.OBSERVED:
        seen_only = "The write that this reverses was never proved to be ours: its target was only seen to hold it."
        plan = replace(plan, warnings=(*plan.warnings, seen_only))
    title = ask.title or f"Undo of {life.operation.kind} {life.operation.target}"
    return (yield from _open([plan], replace(ask, title=title), reverses=life.operation_id))


def confirm(subject: str, *, by: str, shown_digest: str | None = None) -> Steps[Report]:
    """Confirm a transaction (by its id, or that of its only write) and carry it out.

    Confirming again what was confirmed gives its first outcome, and goes on with writes that a crash kept from being
    sent. Raises ProposalError for what expired, was declined, superseded or altered, or is not `shown_digest`.
    """
    report = yield from find(subject)
    if subject.startswith("op_") and len(report.lives) > 1:
        raise ProposalError(
            f"{subject} is one of {len(report.lives)} writes that belong together",
            hint=f"confirm them together: amends confirm {report.transaction}",
        )
    if not report.waiting(State.PROPOSED):
        over = {life.state for life in report.lives} & {State.DECLINED, State.SUPERSEDED, State.EXPIRED}
        if over:
            raise ProposalError(
                f"{report.transaction} can't be confirmed: it is {', '.join(sorted(over))}",
                hint="propose it again",
            )
        if report.waiting(State.CONFIRMED):
            return (yield from _run(report, []))
        return replace(report, is_joined=True)

    moment = yield from do(Now())
    if _is_expired(report, moment):
        try:
            yield from _withdraw(report, Happened.EXPIRED, {}, moment)
        except LostRaceError:
            return (yield from confirm(subject, by=by, shown_digest=shown_digest))
        raise ProposalError(f"{report.transaction} expired before it was confirmed", hint="propose it again")
    for life in report.lives:
        if confirmation_digest(life.operation, life.plan.payload, life.plan.shown) != life.digest:
            raise ProposalError(f"{life.operation_id} was altered after it was proposed", hint="propose it again")
    if shown_digest is not None and shown_digest != report.digest:
        raise ProposalError(f"{report.transaction} is not what was shown", hint=f"amends show {report.transaction}")
    return (yield from _run(*_confirmed(report, by, moment)))


def decline(subject: str, *, by: str, reason: str) -> Steps[Report]:
    """Decline what of a transaction was not sent yet. Raises ProposalError if nothing is left to decline."""
    report = yield from find(subject)
    if not report.waiting(State.PROPOSED, State.CONFIRMED):
        raise ProposalError(f"{report.transaction} has nothing left to decline: it is {report.state}")
    moment = yield from do(Now())
    try:
        return (yield from _withdraw(report, Happened.DECLINED, {"by": by, "reason": reason}, moment))
    except LostRaceError:
        return (yield from decline(subject, by=by, reason=reason))


def check(subject: str) -> Steps[Report]:
    """Settle whatever of a transaction is ambiguous, by reading and fencing. Never sends a change."""
    report = yield from find(subject)
    for place, life in enumerate(report.lives):
        if (yield from may_settle(life)):
            yield from settle(life, closing=_closing(report, place))
            report = yield from find(report.transaction)
        elif life.state in (State.APPLIED, State.FAILED) and life.holds_claims:
            yield from quiesce(life)
            report = yield from find(report.transaction)
    moment = yield from do(Now())
    closing = _closing_events(report, report.lives, moment.now_ms)
    if closing:
        with contextlib.suppress(LostRaceError):
            yield from do(Commit(tuple(closing)))
        report = yield from find(report.transaction)
    return report


def attest(operation_id: str, *, outcome: WriteOutcome, by: str, reason: str) -> Steps[Report]:
    """Record what a person found of a write that nothing can prove any more. Proof, where there is some, goes first.

    Raises RecoveryError if the outcome is known already, or `outcome` is ambiguous.
    """
    if outcome is WriteOutcome.AMBIGUOUS:
        raise RecoveryError("attest that it applied or that it failed; ambiguous is what it is already")
    life = yield from _one(operation_id)
    report = yield from check(life.transaction)
    place = [each.operation_id for each in report.lives].index(life.operation_id)
    life = report.lives[place]
    if life.state not in (State.CLOSED, State.AMBIGUOUS):
        if life.state in (State.APPLIED, State.FAILED):
            raise RecoveryError(
                f"operation {life.operation_id} needs no word of a person: it is {life.state} ({life.evidence})"
            )
        raise RecoveryError(f"operation {life.operation_id} is {life.state}; there is nothing to attest")
    happened = Happened.APPLIED if outcome is WriteOutcome.APPLIED else Happened.FAILED
    seen = yield from do(Read(life.operation.target, is_interruptible=False))
    data = {
        "evidence": Evidence.ATTESTED,
        "reason": reason,
        "by": by,
        "after": None if happened is Happened.FAILED or not life.operation.holds(seen) else asdict(seen),
    }
    is_quiescent = life.state is State.CLOSED
    yield from record(life, happened, data, is_quiescent, closing=_closing(report, place))
    return (yield from find(report.transaction))


def find(subject: str) -> Steps[Report]:
    """Give the transaction of `subject`: its id or that of one of its writes, or a beginning that only one id has."""
    identity = yield from _resolve(subject)
    events = yield from do(Recall(identity))
    if identity.startswith("op_"):
        identity = events[0].data["transaction"]
        events = yield from do(Recall(identity))
    lives = yield from _recall_all(events[0].data["operations"])
    if 0 < sum(life.state is State.PROPOSED for life in lives) < len(lives):
        lives = yield from _recall_all(events[0].data["operations"])  # they are decided together: it was just then
    state = fold(event.happened for event in events) or State.OPEN
    return Report(identity, events[0].data["title"], state, events[-1].epoch, tuple(lives))


def outcome_told(report: Report) -> Steps[None]:
    """Record that whoever asked was told the outcomes in `report`, so that a repeat is a new write."""
    moment = yield from do(Now())
    told = [
        Event(life.operation_id, Happened.DELIVERED, moment.now_ms, epoch=life.epoch)
        for life in report.waiting(State.APPLIED, State.FAILED)
        if not life.is_delivered
    ]
    if told:
        yield from do(Commit(tuple(told), durable=False))


# --- the parts --------------------------------------------------------------------------------------------------


def _open(plans: Sequence[Plan], ask: Ask, *, reverses: str | None = None) -> Steps[Report]:
    """Record a new transaction, or carry it out with the same commit where it is confirmed or needs no sending."""
    moment = yield from do(Now())
    transaction = yield from do(Name("tx"))
    proposed: list[Event] = []
    for plan in plans:
        operation_id = yield from do(Name("op"))
        data = {
            **plan_data(plan),
            "transaction": transaction,
            "fingerprint": fingerprint(plan.operation),
            "digest": confirmation_digest(plan.operation, plan.payload, plan.shown),
            "proposer": ask.proposer,
            "expires_at_ms": None if ask.expires_in_ms is None else moment.now_ms + ask.expires_in_ms,
            "reverses": reverses,
        }
        proposed.append(Event(operation_id, Happened.PROPOSED, moment.now_ms, data))
    names = [event.subject for event in proposed]
    opened = Event(transaction, Happened.OPENED, moment.now_ms, {"title": ask.title, "operations": names})
    report = Report(transaction, ask.title, State.OPEN, 0, tuple(Life.of([event]) for event in proposed))
    pending = [opened, *proposed]
    if ask.confirmed_by is not None:
        report, confirmed = _confirmed(report, ask.confirmed_by, moment)
        return (yield from _run(report, [*pending, *confirmed]))
    if reverses is not None:
        answer = judge(report.lives[0], (yield from do(Read(plans[0].operation.target))))
        if answer is not None:
            yield from conclude(report.lives[0], answer, pending=pending, closing=_closing(report, 0))
            return (yield from find(transaction))
    if all(plan.operation.holds(plan.shown) for plan in plans):
        data = {"evidence": Evidence.ALREADY_SO}
        already = [Event(name, Happened.FAILED, moment.now_ms, data, releases=True) for name in names]
        pending += [*already, Event(transaction, Happened.COMPLETED, moment.now_ms)]
    yield from do(Commit(tuple(pending)))
    return (yield from find(transaction))


def _confirmed(report: Report, by: str, moment: Moment) -> tuple[Report, list[Event]]:
    """Give `report` with every write confirmed, and the events that make it so."""
    events = [
        Event(life.operation_id, Happened.CONFIRMED, moment.now_ms, {"by": by, "digest": life.digest})
        for life in report.lives
    ]
    lives = tuple(life.followed_by([event]) for life, event in zip(report.lives, events, strict=True))
    return replace(report, lives=lives), events


def _run(report: Report, pending: Sequence[Event]) -> Steps[Report]:
    """Carry out the confirmed writes in order, up to the first that is neither applied nor already so.

    A journal or a surface that can't be used after the first of them was sent ends the run, but is not raised: that
    would say that nothing was sent.
    """
    lives = list(report.lives)
    was_sent = False
    for place, life in enumerate(lives):
        if life.state is State.CONFIRMED:
            closing = _closing(replace(report, lives=tuple(lives)), place)
            try:
                lives[place] = yield from execute(life, pending=pending, closing=closing)
            except UnusableError:
                if not was_sent:
                    raise
                break
            was_sent = was_sent or lives[place].key is not None
            pending = []
        if not lives[place].is_done:
            break
    try:
        return (yield from find(report.transaction))
    except JournalError:
        return replace(report, lives=tuple(lives))


def _withdraw(report: Report, happened: Happened, data: dict[str, str], moment: Moment) -> Steps[Report]:
    """End what was not sent of a transaction: declined, superseded or expired.

    Raises LostRaceError if somebody else decided it since `report`.
    """
    events = [
        Event(life.operation_id, happened, moment.now_ms, dict(data), epoch=life.epoch)
        for life in report.waiting(State.PROPOSED, State.CONFIRMED)
    ]
    ended = {event.subject: event for event in events}
    lives = [
        life.followed_by([ended[life.operation_id]]) if life.operation_id in ended else life for life in report.lives
    ]
    yield from do(Commit((*events, *_closing_events(report, lives, moment.now_ms))))
    return (yield from find(report.transaction))


def _closing(report: Report, place: int) -> Closing:
    """Give what the end of the write at `place` means for its transaction."""

    def closing(ended: Life, at_ms: int) -> Sequence[Event]:
        lives = [*report.lives[:place], ended, *report.lives[place + 1 :]]
        return _closing_events(report, lives, at_ms)

    return closing


def _closing_events(report: Report, lives: Sequence[Life], at_ms: int) -> list[Event]:
    """Give the events that end a transaction: none while it goes on, or while a write of it may still land."""
    if report.state is not State.OPEN or any(life.is_holding for life in lives):
        return []

    def ends(happened: Happened) -> Event:
        return Event(report.transaction, happened, at_ms, epoch=report.epoch)

    unsent = [life for life in lives if life.state in (State.PROPOSED, State.CONFIRMED)]
    if all(life.is_done for life in lives):
        return [ends(Happened.COMPLETED)]
    if all(life.is_done or life in unsent for life in lives):
        return []
    data = {"evidence": Evidence.NEVER_SENT, "reason": "an earlier write of its transaction did not apply"}
    left = [
        Event(life.operation_id, Happened.FAILED, at_ms, dict(data), epoch=life.epoch, releases=True) for life in unsent
    ]
    nothing_sent = all(life.state in (State.DECLINED, State.SUPERSEDED, State.EXPIRED) for life in lives)
    return [*left, ends(Happened.WITHDRAWN if nothing_sent else Happened.BLOCKED)]


def _join(plans: Sequence[Plan]) -> Steps[Report | None]:
    """Give the transaction that is under way with exactly the payloads of `plans`, or None.

    One that shares only some of them is no answer to this request: it says nothing of the others. While a shared write
    of it may have applied, ProposalError is raised, so that merging and splitting documents sends nothing twice. A
    proposal that nobody confirmed and that expired, or was shown another state, is ended here instead.
    """
    wanted = {fingerprint(plan.operation): plan for plan in plans}
    moment = yield from do(Now())
    for row in (yield from do(ListOpen())):
        plan = wanted.get(row.fingerprint or "")
        if plan is None:
            continue
        report = yield from find(row.subject)
        if {life.fingerprint for life in report.lives} != wanted.keys():
            if row.state in MAYBE_SENT:
                raise ProposalError(
                    f"the write to {plan.operation.target} is under way already, as operation {row.subject} and with"
                    " other writes than here",
                    hint=f"settle that first: amends check {row.subject}",
                )
            continue
        life = next(life for life in report.lives if life.operation_id == row.subject)
        if life.state is State.PROPOSED:
            if _is_expired(report, moment):
                ending, data = Happened.EXPIRED, {}
            elif life.digest != confirmation_digest(plan.operation, plan.payload, plan.shown):
                ending, data = Happened.SUPERSEDED, {"reason": "the target changed since"}
            else:
                return replace(report, is_joined=True)
            try:
                yield from _withdraw(report, ending, data, moment)
            except LostRaceError:
                return (yield from _join(plans))
            continue
        return replace(report, is_joined=True)
    return None


def _is_expired(report: Report, moment: Moment) -> bool:
    return any(
        life.expires_at_ms is not None and moment.now_ms >= life.expires_at_ms
        for life in report.waiting(State.PROPOSED)
    )


def _reject_overlaps(plans: Sequence[Plan]) -> None:
    """Refuse writes of one transaction that are about the same target. Raises DocumentError."""
    places: dict[str, int] = {}
    for place, plan in enumerate(plans, start=1):
        for target in filter(None, (plan.operation.target, plan.operation.source)):
            if target in places:
                raise DocumentError(
                    f"writes {places[target]} and {place} are both about {target}",
                    hint="write to each target once, or make two documents",
                )
            places[target] = place


def _recall_all(operation_ids: Sequence[str]) -> Steps[list[Life]]:
    lives: list[Life] = []
    for operation_id in operation_ids:
        lives.append((yield from recall(operation_id)))
    return lives


def _one(subject: str) -> Steps[Life]:
    """Give one write: by its id, or by that of a transaction that has only one."""
    identity = yield from _resolve(subject)
    report = yield from find(identity)
    named = [life for life in report.lives if life.operation_id == identity] or list(report.lives)
    if len(named) > 1:
        raise UnknownSubjectError(
            f"{identity} has {len(named)} writes", hint="name one: " + ", ".join(life.operation_id for life in named)
        )
    return named[0]


def _resolve(subject: str) -> Steps[str]:
    """Complete a shortened id. Raises UnknownSubjectError if none or several begin with it."""
    found = yield from do(Match(subject))
    if subject in found or len(found) == 1:
        return subject if subject in found else found[0]
    if found:
        raise UnknownSubjectError(f"several ids begin with {subject}", hint="give more of the id: amends log")
    raise UnknownSubjectError(
        f"no operation or transaction is called {subject!r}", hint="see which there are: amends log"
    )
