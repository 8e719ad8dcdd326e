"""The judges of recovery: that each one is looked at first, helps, is one of few, and that an end is an end.

They have rules of their own for severity, aims and fingerprints: a mistake in those of the broker must not hide here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, pairwise

from amends.broker import Life
from amends.contract import ABSENT, Fact, Happened, Observation, Operation, OperationKind, State
from amends.contract.operation import Json, canonical_json
from tests.simulation.case import Case
from tests.simulation.history import Recorded, Request

Found = Iterator[str]
Audit = Mapping[str, dict[str, Json]]
"""Observations as the journal has them, by target."""

RECOVERIES_MAX = 2
WHOLE = ""


def recovery_follows_a_look(case: Case) -> Found:
    """15: a recovery is decided on a reading of all that its transaction names, newer than all that could land."""
    for request in case.recoveries:
        name = request.operation_id
        decided = _decided(case, request)
        if decided is None:
            yield f"{name} was sent as a recovery without a recorded reading"
            continue
        transaction = case.lives[name].transaction
        since = _quiet_since(case, transaction, decided.tick)
        reads = [read for read in case.reads_by(decided.task) if since <= read.tick < decided.tick]
        for target in _named(case, transaction, decided.tick):
            seen = decided.event.data["audit"].get(target)
            if seen is None or not any(read.target == target and _plain(read.seen) == seen for read in reads):
                yield f"{name} was sent as a recovery without a fresh look at {target}"


def what_follows_a_failure_was_looked_at(case: Case) -> Found:
    """15: after a write that did not apply, the next one follows a reading of all, newer than all that could land."""
    for transaction, requests in case.sent_for.items():
        for one, other in pairwise(request for request in requests if not _is_too_late(case, request)):
            intent = case.intents.get(other.operation_id)
            is_done = any(
                life.operation_id == one.operation_id and life.is_done
                for life in _lives_at(case, transaction, intent.tick if intent else other.tick)
            )
            if is_done or intent is None or case.lives[other.operation_id].is_recovery:
                continue
            since = _quiet_since(case, transaction, intent.tick)
            reads = {read.target for read in case.reads_by(intent.task) if since <= read.tick < intent.tick}
            for target in sorted(_named(case, transaction, intent.tick) - reads):
                yield f"{other.operation_id} was sent after {one.operation_id} had failed, without a look at {target}"


def recovery_is_paid_with_its_intent(case: Case) -> Found:
    """17: what a recovery uses up of the budget is recorded in the same commit as its intent."""
    for request in case.recoveries:
        decided, intent = _decided(case, request), case.intents.get(request.operation_id)
        spends = decided.event.data.get("spends") if decided is not None else None
        if decided is None or intent is None or spends is None or decided.tick != intent.tick:
            yield f"{request.operation_id} was sent as a recovery that its budget does not know"
            continue
        if _fingerprint_of(case, request.operation_id) not in spends["fingerprints"]:
            yield f"{request.operation_id} was sent as a recovery, and another one was paid for"
        names = {(target, WHOLE if field == "*" else field) for target, field in spends["aims"]}
        if not _aims(request.attempt.operation) <= names:
            yield f"{request.operation_id} was sent as a recovery, and not all that it aims at was paid for"


def an_end_waits_for_quiet(case: Case) -> Found:
    """15, 25: COMPLETE and BLOCKED are recorded only once no attempt of the transaction can land any more."""
    for transaction in case.ends:
        for happened in (Happened.COMPLETED, Happened.BLOCKED):
            for item in case.happened(transaction, happened):
                if item.task and _quiet_since(case, transaction, item.tick) > item.tick:
                    yield f"{transaction} was recorded as {happened} while a write of it could still land"


def recovery_helps(case: Case) -> Found:
    """16: after a recovery no fact is worse and one is better, or its transaction sends nothing more."""
    for transaction, requests in case.sent_for.items():
        for one, other in pairwise(request for request in requests if not _is_too_late(case, request)):
            decided = _decided(case, one)
            if decided is None or not case.lives[one.operation_id].is_recovery:
                continue
            after = _audit_before(case, other, since=one.tick)
            changes = [
                _severity(fact, decided.event.data["audit"][fact.target])
                - _severity(fact, after.get(fact.target, UNREADABLE))
                for fact in _gate(case, transaction)
            ]
            if not changes or min(changes) < 0 or max(changes) <= 0:
                yield f"{other.operation_id} was sent though the recovery {one.operation_id} had not helped"


def nothing_swings(case: Case) -> Found:
    """16: what shows again, whole, what it showed before it changed is not recovered: somebody changes it back."""
    for transaction, requests in case.sent_for.items():
        course: list[Audit] = [_opening(case, transaction)]
        for request in requests:
            decided = _decided(case, request)
            if decided is None:
                continue
            course.append(decided.event.data["audit"])
            for target in _named(case, transaction, decided.tick):
                looks = [_state(audit[target]) for audit in course if target in audit]
                states = [look for place, look in enumerate(looks) if place == 0 or look != looks[place - 1]]
                if len(set(states)) < len(states):
                    yield f"{request.operation_id} was sent as a recovery though {target} went back and forth"


def recoveries_are_few(case: Case) -> Found:
    """17: at most two recoveries of a transaction, one of each fingerprint and aim, counted at the target."""
    for transaction, requests in case.sent_for.items():
        made = [request for request in requests if case.lives[request.operation_id].is_recovery]
        if len(made) > RECOVERIES_MAX:
            yield f"{transaction} sent {len(made)} recoveries"
        planned = case.recorded[transaction][0].event.data["operations"]
        if len(requests) > len(planned) + RECOVERIES_MAX:
            yield f"{transaction} sent {len(requests)} requests for {len(planned)} writes"
        for name, count in Counter(_fingerprint(request.attempt.operation) for request in made).items():
            if count > 1:
                yield f"{transaction} recovered {name} {count} times"
        planned_ones = [case.lives[name].operation for name in planned]
        for one, other in combinations(made, 2):
            touched = [each for each in planned_ones if _overlap(one.attempt.operation, each)]
            if any(_overlap(each, other.attempt.operation) for each in (one.attempt.operation, *touched)):
                yield f"{other.operation_id} recovered what {one.operation_id} had recovered"


def an_end_is_an_end(case: Case) -> Found:
    """17: what is COMPLETE or BLOCKED sends nothing more, and until a follow-up no agent's write goes round it."""
    for transaction, ended_at in _ends(case):
        for request in case.sent_for.get(transaction, []):
            if request.tick > ended_at and not _is_too_late(case, request):
                yield f"{request.operation_id} was sent though {transaction} is {case.ends[transaction]}"
    for transaction, blocked_at in _ends(case):
        if case.ends[transaction] is not State.BLOCKED:
            continue
        followed = case.happened(transaction, Happened.FOLLOWED_UP)
        until = followed[0].tick if followed else None
        for other, requests in case.sent_for.items():
            if other == transaction or _is_a_persons(case, other):
                continue
            for request in requests:
                intended = case.intents[request.operation_id].tick
                is_between = intended > blocked_at and (until is None or intended < until)
                if is_between and any(
                    _overlap(request.attempt.operation, each) for each in _operations(case, transaction)
                ):
                    yield f"{request.operation_id} was sent around {transaction}, which is BLOCKED"


def what_failed_is_not_asked_anew(case: Case) -> Found:
    """17: a write about what an unfinished transaction failed at is that one's recovery, whatever it is called."""
    ends = dict(_ends(case)) | {
        item.event.subject: item.tick for item in case.history.recorded if item.event.happened is Happened.WITHDRAWN
    }
    for item in case.history.recorded:
        if item.event.happened is not Happened.FAILED or item.event.subject not in case.intents:
            continue
        life = case.lives[item.event.subject]
        if not life.was_attempted:
            continue  # it was kept back, and stands in nobody's way
        end = ends.get(life.transaction)
        for other in case.sent_for:
            opened = case.recorded[other][0]
            task = case.task(opened.task)
            is_between = item.tick < task.started_at and (end is None or opened.tick < end)
            if other == life.transaction or not is_between or not task.name.startswith("propose"):
                continue
            if any(each.is_holding or each.holds_claims for each in _lives_at(case, life.transaction, task.started_at)):
                continue
            for request in case.sent_for[other]:
                if _overlap(request.attempt.operation, life.operation):
                    yield f"{request.operation_id} was sent beside the unfinished {life.transaction}"


def the_same_again_is_joined(case: Case) -> Found:
    """12, 17: the same payload again, while one may still land, is joined, whatever it is called."""
    for item in case.history.recorded:
        if item.event.happened is not Happened.PROPOSED or case.task(item.task).name != "propose":
            continue
        life = case.lives[item.event.subject]
        if life.is_recovery:
            continue
        for other_id, intent in case.intents.items():
            other = case.lives[other_id]
            if other.transaction == life.transaction or intent.tick >= case.task(item.task).started_at:
                continue
            decided = [e.tick for e in case.recorded[other_id] if e.event.happened in DECIDING]
            is_open = not decided or decided[0] > item.tick
            if is_open and _fingerprint(other.operation) == _fingerprint(life.operation):
                yield f"{item.event.subject} was proposed while {other_id}, which does the same, is under way"


def complete_means_that_all_holds(case: Case) -> Found:
    """25: COMPLETE is recorded only where whoever did so has just seen every fact of the gate hold."""
    for transaction in case.ends:
        for item in case.happened(transaction, Happened.COMPLETED):
            if not item.task:
                continue  # a commit that failed, and showed after the power was lost
            reads = [read for read in case.reads_by(item.task) if read.tick < item.tick]
            for fact in _gate(case, transaction):
                seen = [read.seen for read in reads if read.target == fact.target]
                if not seen or not fact.holds(seen[-1]):
                    yield f"{transaction} is complete, and {fact.target} {fact.field} was not seen as asked"
                elif "seen_at_ms" in item.event.data and (len(seen) < 2 or not fact.holds(seen[-2])):
                    yield f"{transaction} is complete, and {fact.target} {fact.field} was not seen so twice"


def blocked_says_what_is_amiss(case: Case) -> Found:
    """18: a BLOCKED report names exactly the facts that do not hold in the last look, each with its own target."""
    for transaction in case.ends:
        for item in case.happened(transaction, Happened.BLOCKED):
            if not item.task:
                continue  # a commit that failed, and showed after the power was lost
            reads = [read for read in case.reads_by(item.task) if read.tick < item.tick]
            latest = {read.target: read.seen for read in reads}
            amiss = {
                (fact.target, fact.field)
                for fact in _gate(case, transaction)
                if fact.target not in latest or not fact.holds(latest[fact.target])
            }
            told = {(each["target"], each["field"]) for each in item.event.data["mismatches"]}
            if told != amiss:
                yield f"{transaction} is BLOCKED for {sorted(told)}, and {sorted(amiss)} is amiss"


BOUNDS: tuple[Callable[[Case], Found], ...] = (
    recovery_follows_a_look,
    what_follows_a_failure_was_looked_at,
    recovery_is_paid_with_its_intent,
    an_end_waits_for_quiet,
    recovery_helps,
    nothing_swings,
    recoveries_are_few,
    an_end_is_an_end,
    what_failed_is_not_asked_anew,
    the_same_again_is_joined,
    complete_means_that_all_holds,
    blocked_says_what_is_amiss,
)

UNREADABLE: dict[str, Json] = {"presence": "unreadable", "fields": {}}
DECIDING = frozenset({Happened.APPLIED, Happened.FAILED, Happened.CLOSED, Happened.ABANDONED})


# --- the parts -------------------------------------------------------------------------------------------------------


def _decided(case: Case, request: Request) -> Recorded | None:
    """Give the event with the reading that a recovery was decided on; None if there is none before it."""
    transaction = case.lives[request.operation_id].transaction
    for item in case.happened(transaction, Happened.RECOVERING):
        is_it = item.event.data["operation"] == request.operation_id and "audit" in item.event.data
        if is_it and item.tick < request.tick:
            return item
    return None


def _is_a_persons(case: Case, transaction: str) -> bool:
    """Say whether it is a follow-up or an undo, also where its opening was recorded late, by somebody else's commit."""
    opened = case.recorded[transaction][0].event.data
    return opened["follows"] is not None or any(case.lives[name].reverses for name in opened["operations"])


def _is_too_late(case: Case, request: Request) -> bool:
    """Say whether `request` came after its fence, from a sender that was held up: the target never takes that."""
    return case.stopped.get(request.key, request.tick) < request.tick


def _quiet_since(case: Case, transaction: str, before: int) -> int:
    """Give when the last attempt of `transaction` that began before `before` could land no more."""
    intents = [
        intent
        for name, intent in case.intents.items()
        if case.lives[name].transaction == transaction and intent.tick < before
    ]
    return max((case.over_at(intent) for intent in intents), default=0)


def _named(case: Case, transaction: str, before: int) -> set[str]:
    """Give every target that `transaction` names in what was recorded of it before `before`."""
    found = {fact.target for fact in _gate(case, transaction)}
    for name, life in case.lives.items():
        if life.transaction == transaction and case.recorded[name][0].tick < before:
            found |= {life.operation.target, life.operation.source or life.operation.target}
    return found


def _gate(case: Case, transaction: str) -> list[Fact]:
    return [Fact(**fact) for fact in case.recorded[transaction][0].event.data["gate"]]


def _opening(case: Case, transaction: str) -> Audit:
    planned = [case.lives[name] for name in case.recorded[transaction][0].event.data["operations"]]
    seen = {life.operation.target: _plain(life.plan.shown) for life in planned}
    for life in planned:
        if life.operation.source is not None and life.plan.shown_source is not None:
            seen[life.operation.source] = _plain(life.plan.shown_source)
    return seen


def _audit_before(case: Case, request: Request, *, since: int) -> Audit:
    """Give the reading that `request` was decided on: what is recorded with it, or what its sender saw last."""
    decided = _decided(case, request)
    if decided is not None:
        audit: Audit = decided.event.data["audit"]
        return audit
    reads = [read for read in case.reads_by(request.task) if since < read.tick < request.tick]
    return {read.target: _plain(read.seen) for read in reads}


def _plain(seen: Observation) -> dict[str, Json]:
    return {
        "presence": str(seen.presence),
        "version": seen.version,
        "fields": dict(seen.fields),
        "at_ms": seen.at_ms,
        "detail": seen.detail,
    }


def _state(seen: Mapping[str, Json]) -> str:
    return canonical_json([seen["presence"], dict(seen["fields"])])


def _severity(fact: Fact, seen: Mapping[str, Json]) -> int:
    if seen["presence"] == "unreadable":
        return 3
    is_there = seen["presence"] == "present"
    value = seen["fields"].get(fact.field) if is_there else ABSENT
    if value == fact.value:
        return 0
    return 1 if is_there and (fact.value == ABSENT or fact.field in seen["fields"]) else 2


def _fingerprint(operation: Operation) -> str:
    facts = sorted(canonical_json([fact.target, fact.field, fact.value]) for fact in operation.postcondition)
    return canonical_json([operation.kind, operation.target, operation.source, facts])


def _fingerprint_of(case: Case, operation_id: str) -> str:
    """Give the fingerprint that was recorded with the write."""
    found: str = case.recorded[operation_id][0].event.data["fingerprint"]
    return found


def _aims(operation: Operation) -> set[tuple[str, str]]:
    is_whole = operation.kind is not OperationKind.EDIT
    found = {
        (fact.target, WHOLE if is_whole or fact.value == ABSENT else fact.field) for fact in operation.postcondition
    }
    places = {operation.target, operation.source} - {None} if is_whole else set()
    return found | {(place, WHOLE) for place in places if place is not None}


def _overlap(one: Operation, other: Operation) -> bool:
    return any(
        (place == where and (WHOLE in (field, name) or field == name))
        or (field == WHOLE and where.startswith(f"{place}/"))
        or (name == WHOLE and place.startswith(f"{where}/"))
        for place, field in _aims(one)
        for where, name in _aims(other)
    )


def _ends(case: Case) -> Iterator[tuple[str, int]]:
    for transaction, items in case.recorded.items():
        for item in items:
            if item.event.happened in (Happened.COMPLETED, Happened.BLOCKED) and transaction in case.ends:
                yield transaction, item.tick


def _operations(case: Case, transaction: str) -> list[Operation]:
    return [life.operation for life in case.lives.values() if life.transaction == transaction]


def _lives_at(case: Case, transaction: str, tick: int) -> list[Life]:
    """Give the writes of `transaction` as they were at `tick`."""
    found = []
    for name, life in case.lives.items():
        events = [item.event for item in case.recorded[name] if item.tick <= tick]
        if life.transaction == transaction and events:
            found.append(Life.of(events))
    return found
