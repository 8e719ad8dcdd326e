"""The sans-I/O machine of one write: from its confirmation to its outcome, and from ambiguous to settled.

A generator that yields steps and is fed answers. `execute` is the first execution, `settle` whatever comes after a
lost answer; resuming after a crash is `settle` too, there is no second path. The order of the steps is the whole
safety argument, so each line here keeps an invariant:

    read        10  what differs from what was shown is not sent
    prepare      1  everything that can fail without an effect fails here
    intent       4  durable, with its claims, before the first byte
    epoch        -  a sender that was taken over does not send
    send         7  once; whatever it raises proves nothing
    outcome      3  `failed` and `applied` come only with the surface's evidence, and are told only once recorded
    fence        8  journaled before it is set; the only thing that settling does to a target
    claims      27  freed by the event that says the attempt can't land any more, and by no other
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from amends.contract.guarantee import Receipt
from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Json, Observation, OperationKind, Presence
from amends.contract.outcome import Evidence, WriteOutcome, outcome_of
from amends.errors import ClaimHeldError, LostRaceError, MisuseError
from amends.ports import Answer, Attempt, Event

from .life import Life
from .step import Commit, IsAlive, Name, Now, Prepare, Read, Recall, Self, Send, SetFence, Steps, Tidy, do

LEASE_MS = 60_000
"""How long a living process may take from its intent to its outcome before another may settle the write. Far above
what a local write needs; a takeover sets a fence and never sends, so that one too early costs an outcome, not truth."""

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

_ENDS = {WriteOutcome.APPLIED: Happened.APPLIED, WriteOutcome.FAILED: Happened.FAILED}


def execute(life: Life, *, pending: Sequence[Event], closing: Closing) -> Steps[Life]:
    """Carry out a confirmed write. `pending` is what was not committed yet; it goes with the first commit."""
    assert life.state is State.CONFIRMED, life.state
    try:
        seen = yield from do(Read(life.operation.target))
        refusal = judge(life, seen)
        if refusal is not None:
            return (yield from conclude(life, refusal, pending=pending, closing=closing))
        key = yield from do(Name("key"))
        attempt = Attempt(life.operation_id, key, life.operation, life.plan.payload, before=seen)
        prepared = yield from do(Prepare(attempt))
    except MisuseError as error:
        unsent = Answer(Evidence.NEVER_SENT, reason=str(error))
        return (yield from conclude(life, unsent, pending=pending, closing=closing))
    except KeyboardInterrupt:
        unsent = Answer(Evidence.NEVER_SENT, reason="interrupted before anything was sent")
        return (yield from conclude(life, unsent, pending=pending, closing=closing))

    attempt = replace(attempt, prepared=prepared.notes)
    moment = yield from do(Now())
    intended = Event(
        life.operation_id,
        Happened.INTENDED,
        moment.now_ms,
        {
            "key": attempt.key,
            "before": asdict(seen),
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
            return (yield from recall(life.operation_id))
        held = Answer(
            Evidence.NEVER_SENT, reason=str(conflict), note=f"See what holds it: amends show {conflict.holder}"
        )
        return (yield from conclude(life, held, pending=pending, closing=closing))
    life = life.followed_by([intended])

    if life.reverses is not None:
        reversed_life = yield from recall(life.reverses)
        if reversed_life.undone_by is not None:  # asked only now: the claims keep every other undo of it out
            twice = Answer(Evidence.NEVER_SENT, reason=f"it was undone already, by operation {reversed_life.undone_by}")
            return (yield from conclude(life, twice, closing=closing))
    current = yield from recall(life.operation_id)
    if current.state is not State.EXECUTING or current.epoch != life.epoch:
        return current
    try:
        answer = yield from do(Send(life.attempt))
    except Exception as error:
        answer = _unknown(error)
    try:
        return (yield from _answered(life, _within(answer, SEND_PROVES), closing=closing))
    except Exception as error:
        # It was sent: whatever goes wrong from here on, "nothing was sent" would be a lie.
        return replace(life, evidence=Evidence.UNPROVEN, reason=f"its answer could not be recorded: {error}")


def settle(life: Life, *, closing: Closing) -> Steps[Life]:
    """Fence an ambiguous or orphaned write and decide it as far as there is proof. The change is never sent here."""
    moment = yield from do(Now())
    me = yield from do(Self())
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
        answer = yield from do(SetFence(life.attempt))
    except Exception as error:
        answer = _unknown(error)
    answer = _within(answer, FENCE_PROVES)
    if outcome_of(answer.evidence) is WriteOutcome.AMBIGUOUS:
        return (yield from _undecided(life, answer, closing=closing))
    return (yield from conclude(life, answer, closing=closing))


def quiesce(life: Life) -> Steps[None]:
    """Free the claims of a decided write whose attempt could still land, if its fence rules that out by now."""
    try:
        answer = yield from do(SetFence(life.attempt))
    except Exception:
        return
    if answer.is_quiescent:
        moment = yield from do(Now())
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


def judge(life: Life, seen: Observation) -> Answer | None:
    """Say why what was `seen` just now rules the write out; None where it may be sent."""
    if seen.presence is Presence.UNREADABLE:
        return Answer(Evidence.NEVER_SENT, reason=f"it can't be read: {seen.detail or 'no reason given'}")
    if life.operation.holds(seen):
        return Answer(Evidence.ALREADY_SO)
    if not seen.same_as(life.plan.shown):
        return Answer(Evidence.STALE, reason=difference(life.plan.shown, seen))
    is_new = life.operation.kind is OperationKind.CREATE
    if is_new and seen.presence is Presence.PRESENT:
        return Answer(Evidence.NEVER_SENT, reason="something else is there already; edit it, or upload over it")
    if not is_new and life.operation.kind is not OperationKind.UPLOAD and life.reverses is None:
        there = seen.presence is Presence.PRESENT
        return None if there else Answer(Evidence.NEVER_SENT, reason="there is nothing there")
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
        seen = yield from do(Read(life.operation.target, is_interruptible=False))
        if life.operation.holds(seen):
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
    """Record an outcome with what it means for others; told only once that is done."""
    moment = yield from do(Now())
    event = Event(life.operation_id, happened, moment.now_ms, data, epoch=life.epoch, releases=is_quiescent)
    ended = life.followed_by([event])
    also: list[Event] = []
    if happened is Happened.APPLIED and life.reverses is not None:
        reversed_life = yield from recall(life.reverses)
        by = {"by": life.operation_id}
        also.append(Event(life.reverses, Happened.UNDONE, moment.now_ms, by, epoch=reversed_life.epoch))
    try:
        yield from do(Commit((*pending, event, *also, *closing(ended, moment.now_ms))))
    except LostRaceError:
        try:
            yield from do(Commit((*pending, event, *also)))
        except LostRaceError:
            return (yield from recall(life.operation_id))
    if happened is Happened.FAILED and life.key is not None and is_quiescent:
        with contextlib.suppress(Exception):
            yield from do(Tidy(life.attempt))
    return ended


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
    if (
        life.plan.guarantee.receipt is Receipt.NONE
        and life.before is not None
        and not life.operation.holds(life.before)
    ):
        seen = yield from do(Read(life.operation.target, is_interruptible=False))
        if life.operation.holds(seen):
            return (yield from conclude(life, replace(answer, evidence=Evidence.OBSERVED), closing=closing))
    return (yield from record(life, Happened.CLOSED, _said(answer, None), True, closing=closing))


def _drop(attempt: Attempt) -> Steps[None]:
    """Drop what was prepared for an attempt that has no intent; what can't be dropped does no harm."""
    with contextlib.suppress(Exception):
        yield from do(SetFence(attempt))
        yield from do(Tidy(attempt))


def _said(answer: Answer, after: Observation | None) -> dict[str, Json]:
    return {
        "evidence": answer.evidence,
        "reason": answer.reason,
        "note": answer.note,
        "hint": answer.hint,
        "after": asdict(after) if after is not None else None,
    }


def _unknown(error: Exception) -> Answer:
    return Answer(Evidence.UNPROVEN, is_quiescent=False, reason=f"{type(error).__name__}: {error}")


def _within(answer: Answer, provable: frozenset[Evidence]) -> Answer:
    """Take evidence only where it can come from; a surface that claims more has proved nothing."""
    if answer.evidence in provable:
        return answer
    return Answer(Evidence.UNPROVEN, is_quiescent=False, reason=f"the surface answered {answer.evidence} out of turn")
