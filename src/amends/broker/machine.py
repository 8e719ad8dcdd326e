"""The sans-I/O machine of one write: from its confirmation to its outcome, and from ambiguous to settled.

A generator that yields steps and is fed answers. `execute` is the first execution, `settle` whatever comes after a
lost answer; resuming after a crash is `settle` too, there is no second path. The order of the steps is the whole
safety argument, so each line here keeps an invariant:

    read        10  what differs from what was shown is not sent
    prepare      1  everything that can fail without an effect fails here
    intent       4  durable, with its claims, before the first byte
    look again  10  under the claims: what another write of ours did since the read
    objection   17  under the claims: no transaction that failed is about the same
    epoch        -  a sender that was taken over does not send
    send         7  once; whatever it raises proves nothing
    outcome      3  `failed` and `applied` come only with the surface's evidence, and are told only once recorded;
                    synced first, but for `applied` whose receipt is kept at the target (6)
    fence        8  journaled before it is set; the only thing that settling does to a target
    claims      27  freed by the event that says the attempt can't land any more, and by no other
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from amends.contract.guarantee import Compare, Fence, Receipt
from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Json, Observation, Operation, OperationKind, Presence
from amends.contract.outcome import Evidence, WriteOutcome, outcome_of
from amends.errors import ClaimHeldError, LostRaceError, MisuseError
from amends.ports import Answer, Attempt, Event

from .life import Life, observation_data
from .step import (
    Commit,
    IsAlive,
    Moment,
    Name,
    Now,
    Prepare,
    Read,
    Recall,
    Self,
    Send,
    SetFence,
    Stand,
    Steps,
    Tidy,
    do,
)

LEASE_MS = 60_000
"""How long a living process may take from its intent to its outcome before another may settle the write. Far above
what a local write needs; a takeover sets a fence and never sends, so that one too early costs an outcome, not truth."""

NEEDS_SOURCE = frozenset({OperationKind.MOVE, OperationKind.RENAME})
MAKES_NEW = NEEDS_SOURCE | {OperationKind.CREATE}
NEEDS_TARGET = frozenset({OperationKind.EDIT, OperationKind.ARCHIVE, OperationKind.DELETE})
"""What must be so before each kind; an upload takes either, and so does an undo that brings something back."""

SHOWN_CHARS_MAX = 20
"""As much of a value as tells two digests apart for a person."""

SEND_PROVES = frozenset(
    {
        Evidence.NEVER_SENT,
        Evidence.REFUSED,
        Evidence.ACKNOWLEDGED,
        Evidence.RECEIPT,
        Evidence.PARTIAL,
        Evidence.UNPROVEN,
    }
)
FENCE_PROVES = frozenset(
    {Evidence.NEVER_SENT, Evidence.RECEIPT, Evidence.VOIDED, Evidence.WAITED, Evidence.PARTIAL, Evidence.UNPROVEN}
)

Closing = Callable[[Life, int], Sequence[Event]]
"""Given how a write ended and when, what that means for its transaction."""

Objection = Callable[[Life], Steps[Answer | None]]
"""Given a write that holds its claims, why other transactions forbid that it is sent; None where they don't."""

_ENDS = {WriteOutcome.APPLIED: Happened.APPLIED, WriteOutcome.FAILED: Happened.FAILED}


def execute(
    life: Life, *, pending: Sequence[Event], closing: Closing, objection: Objection, joins: bool = False
) -> Steps[Life]:
    """Carry out a confirmed write. `pending` is what was not committed yet; it goes with the first commit.

    Raises LostRaceError if what is pending can't be recorded any more, and, with `joins`, ClaimHeldError if somebody
    just began the very same. Then nothing was sent, and nothing recorded.
    """
    assert life.state is State.CONFIRMED, life.state
    try:
        seen, seen_source = yield from look(life.operation)
        refusal = judge(life, seen, seen_source)
        if refusal is not None:
            return (yield from conclude(life, refusal, pending=pending, closing=closing))
        key = yield from do(Name("key"))
        attempt = Attempt(life.operation_id, key, life.operation, life.plan.payload, seen, before_source=seen_source)
        prepared = yield from do(Prepare(attempt))
    except MisuseError as error:
        unsent = Answer(Evidence.NEVER_SENT, reason=str(error))
        return (yield from conclude(life, unsent, pending=pending, closing=closing))
    except KeyboardInterrupt:
        data = _said(Answer(Evidence.NEVER_SENT, reason="interrupted before anything was sent"), None)
        data["was_interrupted"] = True
        return (yield from record(life, Happened.FAILED, data, True, pending=pending, closing=closing))

    attempt = replace(attempt, prepared=prepared.notes)
    moment = yield from do(Now())
    intended = Event(
        life.operation_id,
        Happened.INTENDED,
        moment.now_ms,
        {
            "key": attempt.key,
            "before": observation_data(seen),
            "before_source": None if seen_source is None else observation_data(seen_source),
            "prepared": prepared.notes,
            "owner": (yield from do(Self())),
            "since": moment.since(),
        },
        epoch=1,
        claims=prepared.claims,
    )
    try:
        yield from do(Commit((*pending, intended)))
    except (ClaimHeldError, LostRaceError) as conflict:
        yield from _drop(attempt)
        if isinstance(conflict, LostRaceError):
            if pending:
                raise
            return (yield from recall(life.operation_id))
        if joins and (yield from recall(conflict.holder)).digest == life.digest:
            raise
        held = Answer(
            Evidence.NEVER_SENT, reason=str(conflict), note=f"See what holds it: amends show {conflict.holder}"
        )
        return (yield from conclude(life, held, pending=pending, closing=closing))
    life = life.followed_by([intended])

    too_late = (yield from _overtaken(life)) or (yield from objection(life))
    if too_late is not None:
        return (yield from conclude(life, too_late, closing=closing))
    row = yield from do(Stand(life.operation_id))
    if row is None or (row.state, row.epoch) != (State.EXECUTING, life.epoch):
        return (yield from recall(life.operation_id))
    try:
        answer = yield from do(Send(life.attempt))
    except Exception as error:
        answer = _unknown(error)
    try:
        return (yield from _answered(life, _within(answer, SEND_PROVES), closing=closing))
    except Exception as error:
        # It was sent: whatever goes wrong from here on, "nothing was sent" would be a lie.
        return replace(life, evidence=Evidence.UNPROVEN, reason=f"its answer could not be recorded: {error}")


def _overtaken(life: Life) -> Steps[Answer | None]:
    """Say what another write of ours did between the read and the claims; now they keep every other one out.

    A surface that compares and writes in one step needs no second look: it refuses by itself.
    """
    if life.reverses is not None:
        reversed_life = yield from recall(life.reverses)
        if reversed_life.undone_by is not None:
            return Answer(Evidence.NEVER_SENT, reason=f"it was undone already, by operation {reversed_life.undone_by}")
    if life.plan.guarantee.compare is Compare.ATOMIC:
        return None
    return judge(life, *(yield from look(life.operation, is_interruptible=False)))


def settle(life: Life, *, closing: Closing) -> Steps[Life]:
    """Fence an ambiguous or orphaned write and decide it as far as there is proof. The change is never sent here."""
    moment = yield from do(Now())
    me = yield from do(Self())
    is_gone = yield from _is_sender_gone(life, moment)
    events: list[Event] = []
    epoch = life.epoch
    if life.state is State.EXECUTING or life.owner != me:
        epoch += 1
        taken = {"owner": me, "since": moment.since()}
        events.append(Event(life.operation_id, Happened.TAKEN_OVER, moment.now_ms, taken, epoch=epoch))
    events.append(Event(life.operation_id, Happened.FENCE_STARTED, moment.now_ms, epoch=epoch))
    try:
        yield from do(Commit(tuple(events)))
    except LostRaceError:
        return (yield from recall(life.operation_id))
    life = life.followed_by(events)
    try:
        answer = yield from do(SetFence(life.attempt, is_gone))
    except Exception as error:
        answer = _unknown(error)
    answer = _within(answer, FENCE_PROVES)
    if outcome_of(answer.evidence) is WriteOutcome.AMBIGUOUS:
        return (yield from _undecided(life, answer, closing=closing))
    return (yield from conclude(life, answer, closing=closing))


def quiesce(life: Life) -> Steps[None]:
    """Free the claims of a decided write whose attempt could still land, if its fence rules that out by now.

    Without a fence nothing ever rules it out; one that could not be set leaves the claims for the next time.
    """
    if life.plan.guarantee.fence is Fence.NONE:
        return
    moment = yield from do(Now())
    is_gone = yield from _is_sender_gone(life, moment)
    fencing = Event(life.operation_id, Happened.FENCE_STARTED, moment.now_ms, epoch=life.epoch)
    try:
        yield from do(Commit((fencing,)))
        answer = yield from do(SetFence(life.attempt, is_gone))
    except LostRaceError:
        return
    except Exception as error:
        answer = _unknown(error)
    if answer.is_quiescent:
        quiesced = Event(life.operation_id, Happened.QUIESCED, moment.now_ms, epoch=life.epoch, releases=True)
        yield from do(Commit((quiesced,)))


def may_settle(life: Life) -> Steps[bool]:
    """Say whether settling `life` takes nothing from a process that is still at work on it."""
    if life.state is State.AMBIGUOUS:
        return True
    if life.state is not State.EXECUTING or life.owner is None:
        return False
    moment = yield from do(Now())
    since = life.owned_since
    if since["boot_id"] != moment.boot_id or moment.monotonic_ms - since["monotonic_ms"] > LEASE_MS:
        return True
    return not (yield from do(IsAlive(life.owner)))


def look(operation: Operation, *, is_interruptible: bool = True) -> Steps[tuple[Observation, Observation | None]]:
    """Read the target of `operation`, and its source if it has one."""
    seen = yield from do(Read(operation.target, is_interruptible))
    source = operation.source
    return seen, (None if source is None else (yield from do(Read(source, is_interruptible))))


def judge(life: Life, seen: Observation, seen_source: Observation | None = None) -> Answer | None:
    """Say why what was `seen` just now rules the write out; None where it may be sent."""
    plan = life.plan
    looks = [(plan.shown, seen)]
    if plan.shown_source is not None and seen_source is not None:
        looks.append((plan.shown_source, seen_source))
    for _, fresh in looks:
        if fresh.presence is Presence.UNREADABLE:
            return Answer(Evidence.NEVER_SENT, reason=f"it can't be read: {fresh.detail or 'no reason given'}")
    is_gone = life.reverses is not None and seen.presence is Presence.ABSENT  # gone where to? it proves no undo
    if plan.operation.holds(seen, seen_source) and not is_gone:
        return Answer(Evidence.ALREADY_SO)
    for shown, fresh in looks:
        if not fresh.same_as(shown):
            return Answer(Evidence.STALE, reason=difference(shown, fresh))
    kind = plan.operation.kind
    is_there = seen.presence is Presence.PRESENT
    if kind in MAKES_NEW and is_there:
        instead = "; edit it, or upload over it" if kind is OperationKind.CREATE else ""
        return Answer(Evidence.NEVER_SENT, reason=f"something else is there already{instead}")
    if kind in NEEDS_SOURCE and (seen_source is None or seen_source.presence is Presence.ABSENT):
        return Answer(Evidence.NEVER_SENT, reason=f"there is nothing at {plan.operation.source}")
    if kind in NEEDS_TARGET and life.reverses is None and not is_there:
        return Answer(Evidence.NEVER_SENT, reason="there is nothing there")
    return None


def difference(shown: Observation, seen: Observation) -> str:
    """Say in words what is not as it was shown."""
    if shown.presence is not seen.presence:
        return f"it was {shown.presence}, now it is {seen.presence}"
    names = sorted({*shown.fields, *seen.fields})
    changed = [name for name in names if shown.fields.get(name) != seen.fields.get(name)]
    parts = [f"{name} was {_brief(shown, name)}, now it is {_brief(seen, name)}" for name in changed]
    return "; ".join(parts) or "its version is another one"


def _brief(seen: Observation, name: str) -> str:
    text = str(seen.fields.get(name))
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}…"


def recall(operation_id: str) -> Steps[Life]:
    """Read back what is recorded of a write that is known to be recorded."""
    return Life.of((yield from do(Recall(operation_id))))


def conclude(life: Life, answer: Answer, *, pending: Sequence[Event] = (), closing: Closing) -> Steps[Life]:
    """Record a decided outcome. If another process decided first, give what it recorded."""
    outcome = outcome_of(answer.evidence)
    after: Observation | None = None
    note = answer.note
    if outcome is WriteOutcome.APPLIED:
        seen, seen_source = yield from look(life.operation, is_interruptible=False)
        if life.operation.holds(seen, seen_source):
            after = seen
        else:
            note = " ".join(filter(None, [note, "It is no longer as this write left it."]))
    data = _said(replace(answer, note=note), after)
    return (yield from record(life, _ENDS[outcome], data, answer.is_quiescent, pending=pending, closing=closing))


def record(
    life: Life,
    happened: Happened,
    data: dict[str, Json],
    is_quiescent: bool,
    *,
    pending: Sequence[Event] = (),
    closing: Closing,
) -> Steps[Life]:
    """Record an outcome with what it means for others; told only once that is done.

    Raises LostRaceError if what is pending can't be recorded any more.
    """
    moment = yield from do(Now())
    event = Event(life.operation_id, happened, moment.now_ms, data, epoch=life.epoch, releases=is_quiescent)
    ended = life.followed_by([event])
    also: list[Event] = []
    if happened is Happened.APPLIED and life.reverses is not None:
        reversed_life = yield from recall(life.reverses)
        by = {"by": life.operation_id}
        also.append(Event(life.reverses, Happened.UNDONE, moment.now_ms, by, epoch=reversed_life.epoch))
    is_durable = bool(pending) or not _is_kept_there(ended)
    try:
        yield from do(Commit((*pending, event, *also, *closing(ended, moment.now_ms)), durable=is_durable))
    except LostRaceError:
        try:
            yield from do(Commit((*pending, event, *also), durable=is_durable))
        except LostRaceError:
            if pending:
                raise
            return (yield from recall(life.operation_id))
    is_litter_left = happened is Happened.FAILED or life.operation.kind is OperationKind.DELETE
    if is_litter_left and happened is not Happened.CLOSED and life.key is not None and is_quiescent:
        with contextlib.suppress(Exception):
            yield from do(Tidy(life.attempt))
    return ended


def _is_kept_there(ended: Life) -> bool:
    """Say whether the target itself keeps the proof that it applied, so that a lost record of it is found again."""
    is_proved = ended.evidence in (Evidence.ACKNOWLEDGED, Evidence.RECEIPT)
    return ended.state is State.APPLIED and is_proved and ended.plan.keeps_receipt


def _answered(life: Life, answer: Answer, *, closing: Closing) -> Steps[Life]:
    """Take the answer to a send: record what it proves, or that it was lost, and settle that."""
    if outcome_of(answer.evidence) is not WriteOutcome.AMBIGUOUS:
        return (yield from conclude(life, answer, closing=closing))
    moment = yield from do(Now())
    lost = Event(life.operation_id, Happened.ANSWER_LOST, moment.now_ms, _said(answer, None), epoch=life.epoch)
    try:
        yield from do(Commit((lost,)))
    except LostRaceError:
        return (yield from recall(life.operation_id))
    return (yield from settle(life.followed_by([lost]), closing=closing))


def _undecided(life: Life, answer: Answer, *, closing: Closing) -> Steps[Life]:
    """Handle a fence that proved neither: stay ambiguous while it may land, else look once and close."""
    if not answer.is_quiescent:
        return replace(life, reason=answer.reason, hint=answer.hint)
    held_before = life.before is None or life.operation.holds(life.before, life.before_source)
    if life.plan.guarantee.receipt is Receipt.NONE and not held_before:
        seen, seen_source = yield from look(life.operation, is_interruptible=False)
        if life.operation.holds(seen, seen_source):
            return (yield from conclude(life, replace(answer, evidence=Evidence.OBSERVED), closing=closing))
    return (yield from record(life, Happened.CLOSED, _said(answer, None), True, closing=closing))


def _drop(attempt: Attempt) -> Steps[None]:
    """Drop what was prepared for an attempt that has no intent; what can't be dropped does no harm."""
    with contextlib.suppress(Exception):
        yield from do(SetFence(attempt, is_sender_gone=True))
        yield from do(Tidy(attempt))


def _is_sender_gone(life: Life, moment: Moment) -> Steps[bool]:
    """Say whether the process that recorded the intent provably can't send any more.

    It has heard from its send, or it is gone, or this boot is another one. Whoever took over since plays no part.
    """
    has_heard = any(event.happened is Happened.ANSWER_LOST for event in life.events)
    if has_heard or life.sender is None or life.sender_boot != moment.boot_id:
        return True
    return not (yield from do(IsAlive(life.sender)))


def _said(answer: Answer, after: Observation | None) -> dict[str, Json]:
    return {
        "evidence": answer.evidence,
        "reason": answer.reason,
        "note": answer.note,
        "hint": answer.hint,
        "is_undoable": answer.is_undoable,
        "after": None if after is None else observation_data(after),
    }


def _unknown(error: Exception) -> Answer:
    return Answer(Evidence.UNPROVEN, is_quiescent=False, reason=f"{type(error).__name__}: {error}")


def _within(answer: Answer, provable: frozenset[Evidence]) -> Answer:
    """Take evidence only where it can come from; a surface that claims more has proved nothing."""
    if answer.evidence in provable:
        return answer
    return Answer(Evidence.UNPROVEN, is_quiescent=False, reason=f"the surface answered {answer.evidence} out of turn")
