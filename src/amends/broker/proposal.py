"""Proposals: how a transaction is asked for, joined, confirmed once, declined, superseded or left to expire.

A confirmation is bound to the digest of exactly what will be sent and to the version that was shown, is used once, and
expiry is no decline. A write that is about what an unfinished transaction is about is that one's recovery, whatever it
is called; one about a BLOCKED transaction is refused until a follow-up completes (invariant 17).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Fact, Json
from amends.contract.outcome import Evidence
from amends.errors import BlockedError, ClaimHeldError, DocumentError, LostRaceError, MisuseError, ProposalError
from amends.ports import Event, Plan, WriteRequest
from amends.recovery import aims, fingerprint, overlap

from .life import Life, digest_of, fact_data
from .machine import conclude, judge, look
from .report import Report, find
from .step import Commit, ListTouching, MakePlan, Moment, Name, Now, Steps, do
from .transaction import about, closing, concluded, give_up, proposed, run, spent, taken_up, void_followers, withdraw

MAYBE_SENT = frozenset({State.EXECUTING, State.AMBIGUOUS, State.CLOSED})
"""States of a write that may have applied, also where waiting can't settle it any more."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks for a transaction and how.

    `confirmed_by` names whose confirmation comes with the request (the operator's `--yes`); None means that somebody
    must confirm it. `again` asks for a second write where the same payload is still under way. `follows` is the BLOCKED
    transaction that a person takes up with this one.
    """

    proposer: str
    title: str = ""
    expires_in_ms: int | None = None
    confirmed_by: str | None = None
    again: bool = False
    follows: str | None = None


def plan(requests: Sequence[WriteRequest]) -> Steps[list[Plan]]:
    """Plan `requests` as one transaction; nothing is recorded. Raises MisuseError for what can't be asked."""
    plans: list[Plan] = []
    for place, request in enumerate(requests, start=1):
        try:
            plans.append((yield from do(MakePlan(request))))
        except MisuseError as error:
            if len(requests) > 1:
                error.args = (f"write {place}: {error}",)
            raise
    _reject_overlaps(plans)
    return plans


def propose(requests: Sequence[WriteRequest], ask: Ask) -> Steps[Report]:
    """Plan `requests` as one transaction and record it; carry it out at once where the confirmation came with it.

    What is still under way with the same payload is joined: nothing new is recorded and nothing is sent. A
    transaction whose facts all hold is complete without a confirmation, since nothing would be sent. Raises
    BlockedError for what a BLOCKED transaction, or one whose budget is spent, is about.
    """
    plans = yield from plan(requests)
    if not ask.again:
        joined = yield from _join(plans)
        if joined is not None:
            return joined
    try:
        return (yield from _carried(plans, ask))
    except ClaimHeldError:  # the very same began a moment ago
        return (yield from propose(requests, ask))


def open_transaction(
    plans: Sequence[Plan],
    ask: Ask,
    *,
    gate: tuple[Fact, ...] | None = None,
    reverses: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> Steps[Report]:
    """Record a new transaction, or carry it out with the same commit where it is confirmed or needs no sending.

    Its completion gate is frozen here: `gate`, or the facts of all `plans`.
    """
    moment = yield from do(Now())
    transaction = yield from do(Name("tx"))
    more: dict[str, Json] = {"expires_at_ms": None if ask.expires_in_ms is None else moment.now_ms + ask.expires_in_ms}
    asked: list[Event] = []
    for place, each in enumerate(plans):
        more["reverses"] = reverses[place] if reverses else None
        asked.append((yield from proposed(each, transaction, proposer=ask.proposer, moment=moment, more=more)))
    facts = tuple(fact for each in plans for fact in each.operation.postcondition) if gate is None else gate
    data = {
        "title": ask.title,
        "operations": [event.subject for event in asked],
        "gate": [fact_data(fact) for fact in facts],
        "follows": ask.follows,
        "left_out": list(left_out),
        "places": _places(plans),
    }
    pending = [Event(transaction, Happened.OPENED, moment.now_ms, data), *asked]
    lives = tuple(map(Life.proposed, asked, plans))
    report = Report(transaction, ask.title, State.OPEN, facts, lives, follows=ask.follows)
    if ask.confirmed_by is not None and plans:
        confirmed_report, confirmed = _confirmed(report, ask.confirmed_by, moment)
        joins = not ask.again and not reverses and ask.follows is None
        return (yield from run(confirmed_report, [*pending, *confirmed], joins=joins))
    if len(plans) == 1 and reverses:
        answer = judge(lives[0], *(yield from look(plans[0].operation)))
        if answer is not None:
            yield from conclude(lives[0], answer, pending=pending, closing=closing(report))
            return (yield from run((yield from find(transaction))))
    if all(each.operation.holds(each.shown, each.shown_source) for each in plans):
        already: dict[str, Json] = {"evidence": Evidence.ALREADY_SO}
        pending += [
            Event(event.subject, Happened.FAILED, moment.now_ms, dict(already), releases=True) for event in asked
        ]
        yield from do(Commit(tuple(pending)))
        return (yield from run((yield from find(transaction))))
    yield from do(Commit(tuple(pending)))
    return (yield from find(transaction))


def confirm(subject: str, *, by: str, shown_digest: str | None = None) -> Steps[Report]:
    """Confirm a transaction (by its id, or that of its only write) and carry it out.

    Confirming again what was confirmed gives its first outcome, and goes on with what is left of the transaction:
    writes that a crash kept from being sent, and recoveries within its budget. Raises ProposalError for what expired,
    was declined, superseded or altered, or is not `shown_digest`; BlockedError for what a BLOCKED one is about.
    """
    report = yield from find(subject)
    if subject.startswith("op_") and len(report.lives) > 1:
        raise ProposalError(
            f"{subject} is one of {len(report.lives)} writes that belong together",
            hint=f"confirm them together: amends confirm {report.transaction}",
        )
    if not report.waiting(State.PROPOSED):
        over = {life.state for life in report.lives} & {State.DECLINED, State.SUPERSEDED, State.EXPIRED}
        if over and report.state is not State.OPEN:
            raise ProposalError(
                f"{report.transaction} can't be confirmed: it is {', '.join(sorted(over))}",
                hint="propose it again",
            )
        if report.state is State.OPEN:
            return (yield from run(report))
        return replace(report, is_joined=True)

    moment = yield from do(Now())
    if _is_expired(report, moment):
        try:
            yield from withdraw(report, Happened.EXPIRED, {}, moment)
        except LostRaceError:
            return (yield from confirm(subject, by=by, shown_digest=shown_digest))
        raise ProposalError(f"{report.transaction} expired before it was confirmed", hint="propose it again")
    for life in report.waiting(State.PROPOSED):
        if digest_of(life.plan) != life.digest:
            raise ProposalError(f"{life.operation_id} was altered after it was proposed", hint="propose it again")
    if shown_digest is not None and shown_digest != report.digest:
        raise ProposalError(f"{report.transaction} is not what was shown", hint=f"amends show {report.transaction}")
    if report.follows is not None:
        earlier = yield from find(report.follows)
        if earlier.aftermath is not None:
            raise ProposalError(
                f"{earlier.transaction} was taken up already, by {earlier.aftermath['by']}; nothing was sent",
                hint=f"see what is so: amends show {earlier.transaction}",
            )
    elif not any(life.reverses for life in report.lives):
        other = yield from _unfinished(
            [life.plan for life in report.waiting(State.PROPOSED)], besides=report.transaction
        )
        if other is not None:
            raise ProposalError(
                f"{other.transaction} failed on its way meanwhile, and is about the same; nothing was sent",
                hint="propose it again: it is a recovery of that one now",
            )
    try:
        return (yield from run(*_confirmed(report, by, moment)))
    except LostRaceError:
        return (yield from confirm(subject, by=by, shown_digest=shown_digest))


def decline(subject: str, *, by: str, reason: str) -> Steps[Report]:
    """Decline what of a transaction was not sent yet, or its recovery; or let a BLOCKED one go, whose verdict stands.

    Raises ProposalError if nothing is left.
    """
    report = yield from find(subject)
    check_declinable(report)
    moment = yield from do(Now())
    if report.state is State.BLOCKED:
        yield from do(Commit(tuple((yield from taken_up(report, {"by": by, "reason": reason}, moment)))))
        yield from void_followers(report.transaction, moment)
        return (yield from find(report.transaction))
    if not report.waiting(State.PROPOSED, State.CONFIRMED):
        return (yield from give_up(report))
    try:
        return (yield from withdraw(report, Happened.DECLINED, {"by": by, "reason": reason}, moment))
    except LostRaceError:
        return (yield from decline(subject, by=by, reason=reason))


def check_declinable(report: Report) -> None:
    """Raise ProposalError if nothing of `report` is left to decline."""
    is_left = report.waiting(State.PROPOSED, State.CONFIRMED) or (report.state is State.OPEN and not report.is_moving)
    if not is_left and (report.state is not State.BLOCKED or report.is_followed_up):
        raise ProposalError(f"{report.transaction} has nothing left to decline: it is {report.state}")


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


def _confirmed(report: Report, by: str, moment: Moment) -> tuple[Report, list[Event]]:
    """Give `report` with every write that waits for it confirmed, and the events that make it so."""
    events = []
    for life in report.waiting(State.PROPOSED):
        event = Event(life.operation_id, Happened.CONFIRMED, moment.now_ms, {"by": by, "digest": life.digest})
        report = report.with_life(life.followed_by([event]))
        events.append(event)
    return report, events


def _join(plans: Sequence[Plan]) -> Steps[Report | None]:
    """Give the transaction that is under way with exactly the payloads of `plans`, or None.

    One that shares only some of them is no answer to this request: it says nothing of the others. While a shared write
    of it may have applied, ProposalError is raised, so that merging and splitting documents sends nothing twice. A
    proposal that nobody confirmed and that expired, or was shown another state, is ended here instead.
    """
    wanted = {fingerprint(each.operation): each for each in plans}
    moment = yield from do(Now())
    for row in (yield from do(ListTouching(frozenset(wanted), frozenset()))):
        planned = wanted[row.fingerprint or ""]
        report = yield from find(row.subject)
        if {life.fingerprint for life in report.lives if not life.is_recovery} != wanted.keys():
            if row.state in MAYBE_SENT:
                raise ProposalError(
                    f"the write to {planned.operation.target} is under way already, as operation {row.subject} and with"
                    " other writes than here",
                    hint=f"settle that first: amends check {row.subject}",
                )
            continue
        life = next(life for life in report.lives if life.operation_id == row.subject)
        if life.state is State.PROPOSED:
            if _is_expired(report, moment):
                ending, data = Happened.EXPIRED, {}
            elif life.digest != digest_of(planned):
                ending, data = Happened.SUPERSEDED, {"reason": "the target changed since"}
            else:
                return replace(report, is_joined=True)
            try:
                yield from withdraw(report, ending, data, moment)
            except LostRaceError:
                return (yield from _join(plans))
            continue
        return replace(report, is_joined=True)
    return None


def _unfinished(plans: Sequence[Plan], *, besides: str | None = None) -> Steps[Report | None]:
    """Give the transaction (`besides` one) that failed on its way and is about what `plans` are about.

    Raises BlockedError where it is BLOCKED. One whose writes may still land is not given: what is about the same is
    refused once it has its claims.
    """
    for report in (yield from about([each.operation for each in plans], besides=besides)):
        if not report.has_failed or report.is_moving:
            continue
        ended = yield from concluded(report)
        if ended.state is State.OPEN:
            return ended
        if ended.state is State.BLOCKED:
            raise BlockedError(
                f"{ended.transaction} is BLOCKED / NOT COMPLETE and is about the same; nothing was sent",
                hint=f"a person can take it up with a fresh look: amends followup {ended.transaction}",
            )
    return None


def _carried(plans: Sequence[Plan], ask: Ask) -> Steps[Report]:
    """Give the transaction that `plans` belong to: an unfinished one that is about the same, or a new one.

    What asks for just what an unfinished one did has that one go on, as confirming it again does.
    """
    unfinished = yield from _unfinished(plans)
    if unfinished is None:
        return (yield from open_transaction(plans, ask))
    left = [each for each in plans if not each.operation.holds(each.shown, each.shown_source)]
    asked = {fingerprint(each.operation): each.payload for each in plans}
    confirmed = {life.fingerprint: life.plan.payload for life in unfinished.planned}
    is_same = all(confirmed.get(fingerprint(each.operation)) == each.payload for each in left)
    if asked.keys() == confirmed.keys() and is_same:
        return (yield from run(unfinished)) if ask.confirmed_by is not None else replace(unfinished, is_joined=True)
    return (yield from _adopt(left or plans, ask, unfinished))


def _adopt(plans: Sequence[Plan], ask: Ask, report: Report) -> Steps[Report]:
    """Take `plans` as recoveries of `report`, within its budget. Raises BlockedError where that is spent."""
    if not all(overlap(report.aims, aims(each.operation)) for each in plans):
        raise DocumentError(
            f"some of these writes are about what the unfinished {report.transaction} is about, and some are not",
            hint="propose them apart: the former are its recoveries",
        )
    used = spent(report)
    if used.is_exhausted or any(used.forbids(each.operation) for each in plans):
        raise BlockedError(
            f"{report.transaction} is about the same, and its automatic recoveries are used up; nothing was sent",
            hint=f"end it first: amends check {report.transaction}",
        )
    moment = yield from do(Now())
    more: dict[str, Json] = {
        "is_recovery": True,
        "expires_at_ms": None if ask.expires_in_ms is None else moment.now_ms + ask.expires_in_ms,
    }
    events: list[Event] = []
    for place, each in enumerate(plans, start=1):
        asked = yield from proposed(each, report.transaction, proposer=ask.proposer, moment=moment, more=more)
        data = {"operation": asked.subject, "places": _places([each])}
        adopted = Event(report.transaction, Happened.RECOVERING, moment.now_ms, data, epoch=report.epoch + place)
        events += [adopted, asked]
    try:
        yield from do(Commit(tuple(events)))
    except LostRaceError:  # it ended meanwhile, or somebody else is at it
        return (yield from _carried(plans, ask))
    if ask.confirmed_by is not None:
        return (yield from confirm(report.transaction, by=ask.confirmed_by))
    return (yield from find(report.transaction))


def _places(plans: Sequence[Plan]) -> list[Json]:
    return sorted({aim.target for each in plans for aim in aims(each.operation)})


def _is_expired(report: Report, moment: Moment) -> bool:
    return any(life.is_expired(moment.now_ms) for life in report.lives)


def _reject_overlaps(plans: Sequence[Plan]) -> None:
    """Refuse writes of one transaction that are about the same target, or one about what is in the other's.

    Raises DocumentError.
    """
    places: dict[str, int] = {}
    for place, each in enumerate(plans, start=1):
        for target in filter(None, (each.operation.target, each.operation.source)):
            _reject_twice(target, target, place, places)
            places[target] = place
    for target, place in places.items():
        for above in _above(target):
            _reject_twice(above, target, place, places)


def _reject_twice(target: str, told: str, place: int, places: dict[str, int]) -> None:
    other = places.get(target)
    if other is not None:
        raise DocumentError(
            f"writes {min(other, place)} and {max(other, place)} are both about {told}",
            hint="write to each target once, or make two documents",
        )


def _above(target: str) -> Iterator[str]:
    """Give the folders that `target` is in, where its surface has such."""
    while "/" in target:
        target = target.rpartition("/")[0]
        yield target
