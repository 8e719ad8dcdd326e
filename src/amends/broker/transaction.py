"""Transactions under way: first sends in order, then observe, decide, recover or stop, to COMPLETE or BLOCKED.

The loop in `run` only carries out what the governor decides on a fresh reading of everything that the transaction
names. What it has used of its recovery budget, and each reading that a recovery was decided on, are journal records
committed with the recovery itself, so that a restart anywhere finds them (invariants 15 to 17).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from amends.contract.lifecycle import HOLDING, Happened, State
from amends.contract.operation import Json, Observation, Operation
from amends.contract.outcome import Evidence, WriteOutcome
from amends.errors import BudgetSpentError, LostRaceError, RecoveryError, UnusableError
from amends.ports import Answer, Event, Plan
from amends.recovery import (
    Aim,
    Audit,
    Blocked,
    Case,
    Complete,
    Decision,
    LookAgain,
    Proceed,
    Recover,
    Spent,
    Standing,
    Stop,
    Tried,
    Wait,
    aims,
    blocked_report,
    decide,
    fingerprint,
    overlap,
    places,
)

from .life import Life, digest_of, observation_data, observation_from, plan_data
from .machine import Closing, conclude, execute, look, may_settle, quiesce, record, settle
from .report import Report, find, one, refreshed
from .step import Commit, ListOpen, ListTouching, Moment, Name, Now, Read, Self, Steps, do

_STANDINGS = {
    State.PROPOSED: Standing.UNSENT,
    State.CONFIRMED: Standing.UNSENT,
    State.EXECUTING: Standing.HELD,
    State.AMBIGUOUS: Standing.HELD,
    State.APPLIED: Standing.APPLIED,
    State.CLOSED: Standing.CLOSED,
}
"""How the governor sees a state; what is not here has failed."""

_WITHDRAWN = frozenset({State.DECLINED, State.SUPERSEDED, State.EXPIRED})


def run(report: Report, pending: Sequence[Event] = (), *, joins: bool = False) -> Steps[Report]:
    """Carry a confirmed transaction on until it is COMPLETE or BLOCKED, or waits for proof or for a person.

    `pending` is what was not committed yet. Once something may have been sent, a journal or a surface that can't be
    used is no longer raised: what is known is reported as it stood. `joins`: raise ClaimHeldError, and record nothing,
    where somebody just began the very same.
    """
    has_sent = False
    me = yield from do(Self())
    try:
        for planned in [life for life in report.lives if not life.is_recovery]:
            ended = planned
            if planned.state is State.CONFIRMED:
                ended = yield from _executed(report, planned, pending, joins=joins)
                joins = False
                pending, has_sent = (), True
                report = report.with_life(ended)
                if ended.owner not in (None, me):  # another process took it over, and told somebody how it ended
                    return (yield from find(report.transaction))
            if not ended.is_done:
                break
        if pending:
            yield from do(Commit(tuple(pending)))
        report = yield from refreshed(report)
        while report.state is State.OPEN:
            case, decision = yield from consider(report)
            if not (yield from _carry_out(report, case, decision)):
                break
            has_sent = has_sent or isinstance(decision, Proceed | Recover)
            report = yield from find(report.transaction)
    except UnusableError:
        if not has_sent:
            raise
    return report


def consider(report: Report) -> Steps[tuple[Case, Decision]]:
    """Read everything that `report` names, and have the governor decide; again where it wants to look again."""
    case = Case(
        gate=report.gate,
        tried=tuple(_tried(report)),
        spent=spent(report),
        history=_history(report),
        now={},
    )
    if report.is_moving:
        return case, Wait(None)
    case = replace(case, now=(yield from audit(report)))
    decision = decide(case)
    if isinstance(decision, LookAgain):
        case = replace(case, again=(yield from audit(report)))
        decision = decide(case)
    return case, decision


def audit(report: Report) -> Steps[dict[str, Observation]]:
    """Read every target that `report` names, once."""
    found: dict[str, Observation] = {}
    for target in sorted({fact.target for fact in report.gate} | {*places(life.operation for life in report.lives)}):
        found[target] = yield from do(Read(target, is_interruptible=False))
    return found


def spent(report: Report) -> Spent:
    """Give what the recoveries of `report` have used up, as it is recorded."""
    used = Spent()
    for event in report.events:
        spends = event.data.get("spends") if event.happened is Happened.RECOVERING else None
        if spends is not None:
            names = frozenset(Aim(target, field) for target, field in spends["aims"])
            used = Spent(used.fingerprints | set(spends["fingerprints"]), used.aims | names, used.count + 1)
    return used


def check(subject: str) -> Steps[Report]:
    """Settle whatever of a transaction is ambiguous, by reading and fencing. Never sends a change, nor a recovery."""
    report = yield from find(subject)
    for life in report.lives:
        if (yield from may_settle(life)):
            yield from settle(life, closing=closing(report))
        elif life.holds_claims and life.state not in HOLDING:
            yield from quiesce(life)
    return (yield from concluded((yield from find(report.transaction))))


def attest(operation_id: str, *, outcome: WriteOutcome, by: str, reason: str) -> Steps[Report]:
    """Record what a person found of a write that nothing can prove any more. Proof, where there is some, goes first.

    Raises RecoveryError if the outcome is known already, or `outcome` is ambiguous.
    """
    if outcome is WriteOutcome.AMBIGUOUS:
        raise RecoveryError("attest that it applied or that it failed; ambiguous is what it is already")
    life = yield from one(operation_id)
    report = yield from check(life.transaction)
    life = next(each for each in report.lives if each.operation_id == life.operation_id)
    if life.state not in (State.CLOSED, State.AMBIGUOUS):
        if life.state in (State.APPLIED, State.FAILED):
            raise RecoveryError(
                f"operation {life.operation_id} needs no word of a person: it is {life.state} ({life.evidence})"
            )
        raise RecoveryError(f"operation {life.operation_id} is {life.state}; there is nothing to attest")
    happened = Happened.APPLIED if outcome is WriteOutcome.APPLIED else Happened.FAILED
    seen, seen_source = yield from look(life.operation)
    is_there = happened is Happened.APPLIED and life.operation.holds(seen, seen_source)
    data = {
        "evidence": Evidence.ATTESTED,
        "reason": reason,
        "by": by,
        "after": observation_data(seen) if is_there else None,
    }
    yield from record(life, happened, data, life.state is State.CLOSED, closing=closing(report))
    return (yield from concluded((yield from find(report.transaction))))


def concluded(report: Report) -> Steps[Report]:
    """End `report` where the governor says that it has ended; whatever would send something is left for later."""
    if report.state is not State.OPEN or report.waiting(State.PROPOSED):
        return report
    case, decision = yield from consider(report)
    if isinstance(decision, Complete | Blocked):
        return (yield from _end(report, case, decision))
    return report


def give_up(report: Report) -> Steps[Report]:
    """End an unfinished transaction that a person wants no further."""
    case, _ = yield from consider(report)
    return (yield from _end(report, case, Blocked(Stop.INTERRUPTED, case.mismatches, report.gate[0].target)))


def withdraw(report: Report, happened: Happened, data: dict[str, str], moment: Moment) -> Steps[Report]:
    """End what was not sent of a transaction: declined, superseded, or, each that is, expired."""
    events = [
        Event(life.operation_id, happened, moment.now_ms, dict(data), epoch=life.epoch)
        for life in report.waiting(State.PROPOSED, State.CONFIRMED)
        if happened is not Happened.EXPIRED or life.is_expired(moment.now_ms)
    ]
    ended = {event.subject for event in events}
    if all(life.operation_id in ended or life.state in _WITHDRAWN for life in report.lives):
        events.append(Event(report.transaction, Happened.WITHDRAWN, moment.now_ms, epoch=report.epoch))
    yield from do(Commit(tuple(events)))
    return (yield from concluded((yield from find(report.transaction))))


def taken_up(report: Report, data: dict[str, Json], moment: Moment) -> Steps[list[Event]]:
    """Give the events that end the matter of a BLOCKED transaction, and of those that it follows."""
    earlier: Report | None = report
    events = []
    while earlier is not None:
        events.append(Event(earlier.transaction, Happened.FOLLOWED_UP, moment.now_ms, dict(data), epoch=earlier.epoch))
        earlier = None if earlier.follows is None else (yield from find(earlier.follows))
    return events


def void_followers(transaction: str, moment: Moment) -> Steps[None]:
    """End the follow-ups and undos of a BLOCKED transaction that still wait, now that its matter is ended."""
    for row in (yield from do(ListOpen())):
        if row.state is State.OPEN:
            report = yield from find(row.subject)
            if report.follows == transaction and report.waiting(State.PROPOSED) == report.lives:
                data = {"reason": f"{transaction} was taken up otherwise"}
                with suppress(LostRaceError):
                    yield from withdraw(report, Happened.SUPERSEDED, data, moment)


def closing(report: Report) -> Closing:
    """Give what the end of a write means for its transaction, where that needs no other reading.

    Only the one write of a transaction that follows none can end it: it was read back when it ended.
    """

    def closed(ended: Life, at_ms: int) -> Sequence[Event]:
        is_only = len(report.lives) == 1 and report.follows is None and report.state is State.OPEN
        was_read = ended.after is not None or ended.evidence is Evidence.ALREADY_SO
        if not (is_only and ended.is_done and was_read):
            return ()
        return (Event(report.transaction, Happened.COMPLETED, at_ms, {"is_steady": True}, epoch=report.epoch),)

    return closed


def about(operations: Iterable[Operation], *, besides: str | None = None) -> Steps[list[Report]]:
    """Give the unfinished and BLOCKED transactions, not `besides`, that are about what `operations` are about."""
    wanted = frozenset[Aim]().union(*map(aims, operations))
    touching = ListTouching(frozenset(), frozenset(aim.target for aim in wanted))
    found: list[Report] = []
    for row in (yield from do(touching)):
        if row.state in (State.OPEN, State.BLOCKED) and row.subject != besides:
            report = yield from find(row.subject)
            if overlap(report.aims, wanted):
                found.append(report)
    return found


def proposed(plan: Plan, transaction: str, *, proposer: str, moment: Moment, more: dict[str, Json]) -> Steps[Event]:
    """Make the event that records `plan` as a proposed write of `transaction`."""
    operation_id = yield from do(Name("op"))
    print_of_it = fingerprint(plan.operation)
    data = {
        **plan_data(plan),
        "transaction": transaction,
        "fingerprint": print_of_it,
        "digest": digest_of(plan, print_of_it),
        "proposer": proposer,
        "expires_at_ms": None,
        "reverses": None,
        "is_recovery": False,
        **more,
    }
    return Event(operation_id, Happened.PROPOSED, moment.now_ms, data)


# --- the parts --------------------------------------------------------------------------------------------------


def _executed(report: Report, life: Life, pending: Sequence[Event], *, joins: bool = False) -> Steps[Life]:
    """Execute a write of `report`, unless a transaction that failed on its way is about the same.

    That is looked at under the claims: nothing else about the same can be sent, or end, from there on. A follow-up and
    an undo are a person's decision on just that, and are not kept back.
    """

    def objection(claiming: Life) -> Steps[Answer | None]:
        if report.follows is None and claiming.reverses is None:
            for other in (yield from about([claiming.operation], besides=report.transaction)):
                if other.has_failed:
                    reason = f"{other.transaction} is about the same and has failed on its way"
                    return Answer(Evidence.NEVER_SENT, reason=reason, note=f"See amends show {other.transaction}.")
        return None

    return (yield from execute(life, pending=pending, closing=closing(report), objection=objection, joins=joins))


def _carry_out(report: Report, case: Case, decision: Decision) -> Steps[bool]:
    """Do what was decided, and say whether there was anything to do now."""
    chosen = next((life for life in report.lives if life.is_recovery and life.state is State.CONFIRMED), None)
    match decision:
        case Complete() | Blocked():
            yield from _end(report, case, decision)
        case Proceed(operation):
            life = next(life for life in report.waiting(State.CONFIRMED, State.PROPOSED) if life.operation == operation)
            if life.state is State.PROPOSED:
                return False
            moment = yield from do(Now())
            event = Event(report.transaction, Happened.PROCEEDING, moment.now_ms, epoch=report.epoch + 1)
            with suppress(LostRaceError):
                yield from _executed(report, life, (event,))
        case Recover() if chosen is not None:
            try:
                yield from _recover(report, chosen, case.now, pending=())
            except BudgetSpentError:  # by another recovery since it was proposed; nothing would ever send it
                kept_back = Answer(Evidence.NEVER_SENT, reason="what it is about was recovered already, once")
                yield from conclude(chosen, kept_back, closing=closing(report))
            except LostRaceError:
                pass  # somebody else is at it: what is so now is read again
        case Recover(operation):
            if any(life.is_recovery and life.state is State.PROPOSED for life in report.lives):
                return False
            with suppress(LostRaceError):
                yield from _recover_again(report, operation, case.now)
        case Wait() | LookAgain():
            return False
    return True


def _recover_again(report: Report, operation: Operation, now: Audit) -> Steps[None]:
    """Send a write of the transaction once more, on the confirmation that the transaction had."""
    failed = next(life for life in reversed(report.lives) if life.operation == operation)
    moment = yield from do(Now())
    source = failed.operation.source
    plan = replace(
        failed.plan,
        shown=now[failed.operation.target],
        shown_source=None if source is None else now[source],
    )
    more: dict[str, Json] = {"is_recovery": True}
    asked = yield from proposed(plan, report.transaction, proposer="recovery", moment=moment, more=more)
    by = {"by": failed.confirmed_by, "digest": asked.data["digest"]}
    confirmed = Event(asked.subject, Happened.CONFIRMED, moment.now_ms, by)
    again = Life.proposed(asked, plan).followed_by([confirmed])
    yield from _recover(report, again, now, pending=(asked, confirmed))


def _recover(report: Report, life: Life, now: Audit, *, pending: Sequence[Event]) -> Steps[None]:
    """Send a recovery. The reading that it was decided on is recorded with it."""
    moment = yield from do(Now())
    seen = {target: observation_data(each) for target, each in now.items()}
    more = Spent().also(life.operation, [each.operation for each in report.lives if not each.is_recovery])
    spends = {
        "fingerprints": sorted(more.fingerprints),
        "aims": sorted([aim.target, aim.field] for aim in more.aims),
    }
    data: dict[str, Json] = {"operation": life.operation_id, "audit": seen, "spends": spends}
    recovering = Event(report.transaction, Happened.RECOVERING, moment.now_ms, data, epoch=report.epoch + 1)
    yield from _executed(report, life, (recovering, *pending))


def _end(report: Report, case: Case, decision: Complete | Blocked) -> Steps[Report]:
    """Record COMPLETE or BLOCKED, with what it rests on, and what it means for the writes that were not sent."""
    moment = yield from do(Now())
    events: list[Event] = []
    if isinstance(decision, Complete):
        data: dict[str, Json] = {"is_steady": decision.is_steady, "seen_at_ms": _times(case.now)}
        events.append(Event(report.transaction, Happened.COMPLETED, moment.now_ms, data, epoch=report.epoch))
        if report.follows is not None:
            earlier = yield from find(report.follows)
            events += yield from taken_up(earlier, {"by": report.transaction}, moment)
    else:
        kept = {
            life.operation.target: f"as it was before operation {life.operation_id}, until that is undone"
            for life in report.waiting(State.APPLIED)
            if life.plan.undoable and life.is_undoable
        }
        blocked = blocked_report(case, decision, kept=kept)
        data = {**blocked.as_json(), "lines": list(blocked.lines())}
        verdict = Happened.BLOCKED if report.was_attempted else Happened.WITHDRAWN  # nothing happened: it is asked anew
        events.append(Event(report.transaction, verdict, moment.now_ms, data, epoch=report.epoch))
    why = {"evidence": Evidence.NEVER_SENT, "reason": "its transaction ended before it was sent"}
    events += [
        Event(life.operation_id, Happened.FAILED, moment.now_ms, dict(why), epoch=life.epoch, releases=True)
        for life in report.waiting(State.PROPOSED, State.CONFIRMED)
    ]
    with suppress(LostRaceError):
        yield from do(Commit(tuple(events)))
        if isinstance(decision, Complete) and report.follows is not None:
            yield from void_followers(report.follows, moment)
    return (yield from find(report.transaction))


def _tried(report: Report) -> Iterator[Tried]:
    """Give every write as the governor sees it. A recovery that nobody confirmed, or took back, was not tried."""
    audits = _decided_on(report)
    for life in report.lives:
        state = life.state
        if life.is_recovery and (state in (State.PROPOSED, State.CONFIRMED) or state in _WITHDRAWN):
            continue
        standing = _STANDINGS.get(state, Standing.FAILED)
        if life.evidence is Evidence.ALREADY_SO:
            standing = Standing.ALREADY_SO
        yield Tried(
            operation=life.operation,
            standing=standing,
            base=audits.get(life.operation_id) or _shown(life),
            undoable=life.plan.undoable,
            lacks=_lacks(life),
            reason=life.reason,
            was_interrupted=life.was_interrupted or state in _WITHDRAWN,
            is_recovery=life.is_recovery,
        )


def _lacks(life: Life) -> str | None:
    """Say why sending a failed write once more can't help, or must not be tried without a person.

    What was not sent at all was kept back by something that another sending meets again, unless it was our own fence
    that set it aside. An undo is never sent without a person.
    """
    if life.state is not State.FAILED or life.evidence in (Evidence.ALREADY_SO, Evidence.STALE):
        return None
    if life.was_kept_back:
        return life.reason or "it could not be sent"
    return "an undo is not sent again without a person" if life.reverses is not None else None


def _shown(life: Life) -> dict[str, Observation]:
    """Give what was shown with a write: of its target, and of its source."""
    seen = {life.operation.target: life.plan.shown}
    if life.operation.source is not None and life.plan.shown_source is not None:
        seen[life.operation.source] = life.plan.shown_source
    return seen


def _decided_on(report: Report) -> dict[str, Audit]:
    """Give the reading that each recovery was decided on, by its operation id."""
    return {
        event.data["operation"]: {target: observation_from(seen) for target, seen in event.data["audit"].items()}
        for event in report.events
        if event.happened is Happened.RECOVERING and "audit" in event.data
    }


def _history(report: Report) -> tuple[Audit, ...]:
    """Give every earlier look: what was shown at the opening, and what each recovery was decided on."""
    opening: dict[str, Observation] = {}
    for life in report.lives:
        if not life.is_recovery:
            opening |= _shown(life)
    return (opening, *_decided_on(report).values())


def _times(now: Audit) -> dict[str, Json]:
    return {target: seen.at_ms for target, seen in now.items()}
