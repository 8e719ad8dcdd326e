"""The judges: each is one numbered invariant, reads the history of a run and gives what is wrong with it, in words.

Effects are counted at the target and never in the journal. Where a rule speaks of the end of time, the run has let
every request land that still could. Those of recoveries are in `bounds`; those
of secrets, replayed files and clocks are kept elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations

from amends.contract import (
    Claim,
    Compare,
    Evidence,
    Fence,
    Happened,
    Level,
    Presence,
    State,
    WriteOutcome,
)
from amends.contract.lifecycle import HOLDING, fold
from amends.errors import AmendsError, ConflictError, UnusableError
from amends.recovery import confirmation_digest, fingerprint
from tests.simulation.bounds import BOUNDS
from tests.simulation.case import FOREVER, Case
from tests.simulation.history import SENDING, Fields, Request, Told
from tests.simulation.surface import GUARANTEES, needs

Found = Iterator[str]

LEASE_MS = 60_000
"""What a living process is given; written here again, so that a shorter one in the broker is noticed."""
DECIDING = frozenset({Happened.APPLIED, Happened.FAILED})


def at_most_one_effect(case: Case) -> Found:
    """1: at most one effect per attempt, and one attempt per confirmed write."""
    for name, count in Counter(request.key for request in case.history.effects).items():
        if count > 1:
            yield f"the attempt {name} had {count} effects"
    for operation_id, effects in case.effects.items():
        if len(effects) > 1:
            yield f"{operation_id} had {len(effects)} effects"
    for operation_id, keys in _keys(case).items():
        if len(keys) > 1:
            yield f"{operation_id} was attempted {len(keys)} times"


def applied_holds_what_was_confirmed(case: Case) -> Found:
    """2: `applied` by the target's word or a receipt means that exactly the confirmed change is, or was, there."""
    for told in case.history.told:
        if told.outcome is not WriteOutcome.APPLIED or told.life.evidence not in (
            Evidence.ACKNOWLEDGED,
            Evidence.RECEIPT,
        ):
            continue
        effects = case.effects.get(told.life.operation_id, [])
        confirmed = case.proposed[told.life.operation_id].plan.payload["fields"]
        if not any(effect.is_whole and effect.after == confirmed for effect in effects):
            yield f"{told.life.operation_id} was told as applied ({told.life.evidence}), but did not land as confirmed"


def failed_has_no_effect(case: Case) -> Found:
    """3: `failed` means that nothing of it ever landed, at the end of time; a person's word is their own."""
    for told in case.history.told:
        is_ours = told.life.evidence is not Evidence.ATTESTED
        if told.outcome is WriteOutcome.FAILED and is_ours and case.effects.get(told.life.operation_id):
            yield f"{told.life.operation_id} was told as failed ({told.life.evidence}), and it landed"
    for operation_id, life in case.lives.items():
        is_ours = life.evidence is not Evidence.ATTESTED
        if life.state is State.FAILED and is_ours and case.effects.get(operation_id):
            yield f"{operation_id} is recorded as failed ({life.evidence}), and it landed"


def intent_precedes_effect(case: Case) -> Found:
    """4: nothing is on the wire without a durable intent before it."""
    for request in case.history.requests:
        intent = case.intents.get(request.operation_id)
        if intent is None or intent.event.data["key"] != request.key:
            yield f"a request for {request.operation_id} was sent without an intent"
        elif intent.tick >= request.tick or not intent.is_durable:
            yield f"the intent of {request.operation_id} was not durable when its request was sent"


def no_intent_is_lost(case: Case) -> Found:
    """5: after a restart each intent is applied, failed, ambiguous or abandoned."""
    for operation_id in case.intents:
        if case.lives[operation_id].state is State.EXECUTING:
            yield f"{operation_id} is still executing, and nobody executes it"
    for row in case.open:
        if row.claims and row.subject not in case.intents:
            yield f"{row.subject} holds claims and has no intent"


def outcomes_never_change(case: Case) -> Found:
    """6: an outcome moves only from ambiguous to applied or failed; a loser reports what is recorded.

    Only `applied` whose receipt is kept at the target may read ambiguous again, after the power was lost.
    """
    cuts = [tick for tick, fault in case.history.faults if fault == "power lost"]
    known: dict[str, Told] = {}
    for told in case.history.told:
        if told.outcome is None:
            continue
        first = known.get(told.life.operation_id)
        if told.outcome is WriteOutcome.AMBIGUOUS:
            # Who began to read before the end may say later what it read; who began after it may not.
            is_later = first is not None and case.task(told.task).started_at > first.tick
            if (
                first is not None
                and is_later
                and not (
                    first.outcome is WriteOutcome.APPLIED
                    and first.life.plan.keeps_receipt
                    and any(first.tick <= cut < told.tick for cut in cuts)
                )
            ):
                yield f"{told.life.operation_id} was told as ambiguous after it was told as {first.outcome}"
        elif first is None:
            known[told.life.operation_id] = told
        elif first.outcome is not told.outcome:
            yield f"{told.life.operation_id} was told as {first.outcome} and then as {told.outcome}"


def one_request_per_key(case: Case) -> Found:
    """7: each key is on the wire at most once, counted at the target."""
    for key, count in Counter(request.key for request in case.history.requests).items():
        if count > 1:
            yield f"the key {key} was on the wire {count} times"


def settling_only_fences(case: Case) -> Found:
    """8: settling sends nothing, and a fence is journaled before it is set."""
    for request in case.history.requests:
        name = case.task(request.task).name
        if name not in SENDING:
            yield f"{name} sent a request for {request.operation_id}"
    for fence in case.history.fences:
        intent = case.intents.get(fence.operation_id)
        if intent is None or intent.event.data["key"] != fence.key:
            continue  # set aside before it was ever intended: nothing that could be seen
        if intent.task == fence.task and not any(request.key == fence.key for request in case.requests):
            continue  # set aside by the one who was to send it, and did not: nothing is settled by that
        if not any(
            item.event.happened is Happened.FENCE_STARTED and item.tick < fence.tick
            for item in case.recorded[fence.operation_id]
        ):
            yield f"a fence of {fence.operation_id} was set before it was recorded"


def nothing_lands_after_its_fence(case: Case) -> Found:
    """9: after a fence won, no late write of that attempt lands."""
    for effect in case.history.effects:
        if effect.landed_at is not None and case.stopped.get(effect.key, FOREVER) < effect.landed_at:
            yield f"{effect.operation_id} landed after its fence"


def what_moved_is_not_sent(case: Case) -> Found:
    """10: what differs at confirm time from what was shown leaves no request; a fresh read comes before each."""
    for request in case.requests:
        shown = case.proposed[request.operation_id].plan.shown
        shown_source = case.proposed[request.operation_id].plan.shown_source
        is_same = request.attempt.before.same_as(shown)
        if shown_source is not None and request.attempt.before_source is not None:
            is_same = is_same and request.attempt.before_source.same_as(shown_source)
        if not is_same:
            yield f"{request.operation_id} was sent, though its target was no longer as it was shown"
        intent = case.intents.get(request.operation_id)
        is_compared = GUARANTEES[case.kind].compare is Compare.ATOMIC
        attempt = request.attempt
        for place, before in (
            (attempt.operation.target, attempt.before),
            (attempt.operation.source, attempt.before_source),
        ):
            if place is None or before is None:
                continue
            reads = [read for read in case.reads_by(request.task) if read.target == place and read.tick < request.tick]
            if not any(read.seen == before for read in reads):
                yield f"{request.operation_id} was sent without a fresh read of {place}"
            same = [read for read in reads if read.seen.same_as(before)]
            if not is_compared and intent is not None and not any(read.tick > intent.tick for read in same):
                yield f"{request.operation_id} was sent without a second look at {place} under its claims"


def what_is_sent_was_confirmed(case: Case) -> Found:
    """11: what was sent is what was confirmed, and it was confirmed before."""
    for request in case.requests:
        proposed = case.proposed[request.operation_id]
        attempt = request.attempt
        if (attempt.operation, attempt.payload) != (proposed.operation, proposed.plan.payload):
            yield f"{request.operation_id} was sent differently from what was proposed"
        plan, print_of_it = proposed.plan, fingerprint(attempt.operation)
        digest = confirmation_digest(print_of_it, attempt.payload, plan.shown, plan.shown_source)
        confirmed = [e for e in case.history.of(request.operation_id) if e.happened is Happened.CONFIRMED]
        if [event.data["digest"] for event in confirmed] != [digest]:
            yield f"{request.operation_id} was sent without a confirmation of just that"


def claims_keep_others_out(case: Case) -> Found:
    """12, 19: while an attempt may land, nothing that overlaps it is sent, however it is spelled."""
    spans = [
        (intent.tick, case.over_at(intent), intent)
        for intent in case.intents.values()
        if any(request.key == intent.event.data["key"] for request in case.history.requests)
    ]
    for (_, over, one), (other_start, _, other) in combinations(sorted(spans, key=lambda span: span[:2]), 2):
        overlap = any(
            claim.overlaps(wanted)
            for claim in needs(case.lives[one.event.subject].operation)
            for wanted in needs(case.lives[other.event.subject].operation)
        )
        if overlap and other_start < over:
            yield f"{other.event.subject} was sent while {one.event.subject} could still land on the same target"


def nobody_else_is_kept_out(case: Case) -> Found:
    """12, 19: a refusal names a holder that truly overlaps; nobody is told of another payload's success."""
    claims = {subject: intent.event.claims for subject, intent in case.intents.items()}
    for told in case.history.told:
        reason = told.life.reason or ""
        if told.outcome is WriteOutcome.FAILED and "still holds" in reason:
            holder = next((name for name in claims if f"operation {name} " in reason), None)
            needed = [Claim(claim.name, subtree=True) for claim in needs(told.life.operation)]
            if holder is None or not any(claim.overlaps(each) for claim in claims[holder] for each in needed):
                yield f"{told.life.operation_id} was kept out by {holder}, which holds something else"
    for number, told_by in _told_by_task(case).items():
        planned = [item.plan for item in case.history.planned if item.task == number]
        if not case.task(number).name.startswith("propose") or not planned:
            continue
        wanted = {fingerprint(plan.operation) for plan in planned}
        if not wanted & {told.life.fingerprint for told in told_by}:
            yield f"a proposal was answered with other writes: {[told.life.operation_id for told in told_by]}"


def undo_is_careful(case: Case) -> Found:
    """13: an undo finds the target as the write left it, destroys nothing, and happens once."""
    undone: dict[str, list[Request]] = defaultdict(list)
    for request in (each for each in case.requests if each.landed_at is not None):
        life = case.proposed[request.operation_id]
        if life.reverses is not None:
            undone[life.reverses].append(request)
    for reversed_id, effects in undone.items():
        if len(effects) > 1:
            yield f"{reversed_id} was undone {len(effects)} times"
    for request in case.requests:
        life = case.proposed[request.operation_id]
        if life.reverses is None:
            continue
        left = [effect for effect in case.effects.get(life.reverses, []) if effect.is_whole]
        before = request.attempt.before_source or request.attempt.before
        seen = dict(before.fields) if before.presence is Presence.PRESENT else None
        if left and seen != left[0].after:
            yield f"{request.operation_id} undid {life.reverses}, whose target was no longer as it left it"


def undo_restores(case: Case) -> Found:
    """14: an undo brings back exactly what was there before the write that it reverses."""
    for effect in (each for each in case.requests if each.landed_at is not None):
        reverses = case.proposed[effect.operation_id].reverses
        if reverses is None or not effect.is_whole or reverses not in case.intents:
            continue
        before = case.intents[reverses].event.data["before_source"] or case.intents[reverses].event.data["before"]
        was: Fields | None = before["fields"] if before["presence"] == Presence.PRESENT else None
        if effect.after != was:
            yield f"{effect.operation_id} undid {reverses}, and left something else than what was there before"


def each_write_speaks_for_itself(case: Case) -> Found:
    """18, 25: nothing is told as applied or complete that is not recorded so, and no sentence says more."""
    for report in case.history.reports:
        state = report.report.state
        if state is not State.OPEN and state is not report.recorded:
            yield f"{report.report.transaction} was told as {state} while it was recorded as {report.recorded}"
    for told in case.history.told:
        name = told.life.operation_id
        if told.outcome is WriteOutcome.APPLIED and told.recorded is not State.APPLIED:
            yield f"{name} was told as applied while it was recorded as {told.recorded}"
        if told.outcome is WriteOutcome.FAILED and told.recorded is not State.FAILED:
            yield f"{name} was told as failed while it was recorded as {told.recorded}"
        if told.life.evidence is Evidence.PARTIAL and told.outcome is not WriteOutcome.AMBIGUOUS:
            yield f"{name} landed in part and was told as {told.outcome}"
        if told.outcome is not WriteOutcome.APPLIED and told.life.evidence is not Evidence.ATTESTED:
            yield from _overstated(told)


def the_message_admits_races(case: Case) -> Found:
    """22: a foreign writer's bytes are never overwritten at atomic; at racy and blind the message admits it."""
    guarantee = GUARANTEES[case.kind]
    for effect in case.history.effects:
        if effect.overwrote_foreign and guarantee.compare is Compare.ATOMIC:
            yield f"{effect.operation_id} overwrote what somebody else wrote"
    for told in case.history.told:
        is_open = guarantee.level in (Level.RACY, Level.BLIND)
        if told.outcome is WriteOutcome.APPLIED and is_open and "could have been displaced" not in told.text:
            yield f"{told.life.operation_id} was told as applied without a word on others who write there"


def nothing_stays_in_doubt(case: Case) -> Found:
    """20, 23: with the faults off, everything sent is decided or closed, or waits on a person by name."""
    can_settle = GUARANTEES[case.kind].fence is not Fence.NONE
    for operation_id in case.intents:
        life = case.lives[operation_id]
        if life.state in HOLDING and (can_settle or life.state is State.EXECUTING):
            yield f"{operation_id} is {life.state} for ever"
    for row in case.open:
        if row.claims and can_settle:
            yield f"{row.subject} is {row.state} and holds its claims for ever"
    for subject, items in case.recorded.items():
        if items[0].event.happened is not Happened.OPENED or fold(i.event.happened for i in items) is not State.OPEN:
            continue
        lives = [life for life in case.lives.values() if life.transaction == subject]
        if not any(life.state is State.PROPOSED or life.is_holding or life.holds_claims for life in lives):
            yield f"{subject} is open, and nothing of it is: {[life.state for life in lives]}"


def claims_outlive_doubt(case: Case) -> Found:
    """27: claims are never freed while the attempt can still land, whatever its outcome."""
    for item in case.history.recorded:
        intent = case.intents.get(item.event.subject)
        if intent is None or not item.event.releases or item.event.happened is Happened.ABANDONED:
            continue
        if item.tick < case.over_at(intent):
            yield f"the claims of {item.event.subject} were freed by '{item.event.happened}' while it could still land"


def a_sender_that_was_taken_over_does_not_send(case: Case) -> Found:
    """DESIGN 4.5: whoever sends has seen, in its last step before, that nobody had taken the write over."""
    for request in case.requests:
        previous = next(p for tick, task, p in case.history.sends if (tick, task) == (request.tick, request.task))
        intent = case.intents.get(request.operation_id)
        if intent is not None and previous <= intent.tick:
            yield f"{request.operation_id} was sent without a look at its epoch"
        for item in case.recorded[request.operation_id]:
            if item.event.happened is Happened.TAKEN_OVER and item.tick < previous:
                yield f"{request.operation_id} was sent by a process from which it had been taken"


def the_journal_verifies(case: Case) -> Found:
    """21: what is recorded is whole, and folding it again gives what is in the open table."""
    yield from case.verification.faults
    for row in case.open:
        items = case.recorded[row.subject]
        if fold(item.event.happened for item in items) is not row.state:
            yield f"{row.subject} is {row.state} in the open table, and its events say otherwise"


def errors_are_true(case: Case) -> Found:
    """25: only documented errors are shown, and none says that nothing was sent where something was."""
    for refused in case.history.refused:
        error = refused.error
        if isinstance(error, KeyboardInterrupt):
            continue
        if not isinstance(error, AmendsError) or isinstance(error, ConflictError):
            yield f"{case.task(refused.task).name} ended with {type(error).__name__}: {error}"
        sent = [request.operation_id for request in case.history.requests if request.task == refused.task]
        if isinstance(error, UnusableError) and sent:
            yield f"{case.task(refused.task).name} said that nothing was sent ({error.code}); it sent {sent}"


def what_is_told_is_durable(case: Case) -> Found:
    """6, 25: an outcome is told only once it is recorded durably, or where its target keeps the proof of it."""
    for told in case.history.told:
        if told.outcome not in (WriteOutcome.APPLIED, WriteOutcome.FAILED):
            continue
        is_proved = told.life.evidence in (Evidence.ACKNOWLEDGED, Evidence.RECEIPT)
        if told.outcome is WriteOutcome.APPLIED and is_proved and told.life.plan.keeps_receipt:
            continue
        decided = [item for item in case.recorded.get(told.life.operation_id, []) if item.event.happened in DECIDING]
        if not decided or not any(
            item.is_durable for item in case.history.recorded if decided[0].tick <= item.tick <= told.tick
        ):
            yield f"{told.life.operation_id} was told as {told.outcome}, and a power cut could take that back"


def nobody_is_made_to_decline(case: Case) -> Found:
    """DESIGN 5: a decline is a person's; what is too late expires, only then, and is not confirmed any more."""
    for items in case.recorded.values():
        expires_at = items[0].event.data.get("expires_at_ms")
        for item in items:
            name, event = item.event.subject, item.event
            if event.happened is Happened.DECLINED and item.task and case.task(item.task).name != "decline":
                yield f"{name} was recorded as declined by '{case.task(item.task).name}'"
            if event.happened is Happened.EXPIRED and (expires_at is None or event.at_ms < expires_at):
                yield f"{name} expired before its time"
            is_late = expires_at is not None and event.at_ms >= expires_at
            if event.happened is Happened.CONFIRMED and is_late:
                yield f"{name} was confirmed after it had expired"


def a_living_sender_keeps_its_write(case: Case) -> Found:
    """24: from a process that lives, a write is taken only after its lease, by the clock that can't jump."""
    for name, intent in case.intents.items():
        for item in case.recorded[name]:
            if item.event.happened is Happened.ANSWER_LOST:
                break
            if item.event.happened is Happened.TAKEN_OVER:
                died_at = case.history.deaths.get(intent.event.data["owner"])
                is_alive = died_at is None or died_at > item.tick
                since = intent.event.data["since"]
                has_time = item.boot_id == since["boot_id"] and item.monotonic_ms - since["monotonic_ms"] <= LEASE_MS
                if is_alive and has_time:
                    yield f"{name} was taken from a process that was at work on it"
                break


CHECKERS: tuple[Callable[[Case], Found], ...] = (
    at_most_one_effect,
    applied_holds_what_was_confirmed,
    failed_has_no_effect,
    intent_precedes_effect,
    no_intent_is_lost,
    outcomes_never_change,
    one_request_per_key,
    settling_only_fences,
    nothing_lands_after_its_fence,
    what_moved_is_not_sent,
    what_is_sent_was_confirmed,
    claims_keep_others_out,
    nobody_else_is_kept_out,
    undo_is_careful,
    undo_restores,
    each_write_speaks_for_itself,
    the_message_admits_races,
    nothing_stays_in_doubt,
    claims_outlive_doubt,
    a_sender_that_was_taken_over_does_not_send,
    the_journal_verifies,
    errors_are_true,
    what_is_told_is_durable,
    nobody_is_made_to_decline,
    a_living_sender_keeps_its_write,
    *BOUNDS,
)


def violations(case: Case) -> list[str]:
    """Give everything that is wrong with a run, each with the name of the checker that found it."""
    return [f"{checker.__name__}: {found}" for checker in CHECKERS for found in checker(case)]


# --- the parts ---------------------------------------------------------------------------------------------------


def _keys(case: Case) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for request in case.requests:
        found[request.operation_id].add(request.key)
    return found


def _told_by_task(case: Case) -> dict[int, list[Told]]:
    found: dict[int, list[Told]] = defaultdict(list)
    for told in case.history.told:
        found[told.task].append(told)
    return found


def _overstated(told: Told) -> Found:
    done = [f"I {word}" for word in ("created", "edited", "archived", "moved", "renamed", "deleted", "uploaded")]
    for claim in (*done, "holds now what was asked", "landed is there"):
        if claim in told.text:
            yield f"{told.life.operation_id} is {told.outcome}, and its message says: {told.text}"
    if told.outcome is WriteOutcome.AMBIGUOUS and "nothing was changed" in told.text:
        yield f"{told.life.operation_id} is ambiguous, and its message says: {told.text}"
