"""Moves to another filesystem below the same root: a copy, compared, and then the source put away.

No rename leads there, so it is two steps, each the landing of a write of its own kind with its own proof and fence: a
create at the target from the kept bytes, and an archive of the source. The source is put away only when the copy is
durable and was read back as what was confirmed, and it is kept, so that no half of this loses the only good copy. One
without the other is a part, and said to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.operation import Json, Observation, Operation, OperationKind
from amends.contract.outcome import Evidence, WriteOutcome, outcome_of
from amends.errors import PayloadError, TargetError
from amends.ports import Answer, Attempt, Blobs, Prepared
from amends.surfaces.files.content import PAYLOAD_BYTES_MAX, put
from amends.surfaces.files.means import Way
from amends.surfaces.files.place import Place
from amends.surfaces.files.root import Root
from amends.surfaces.files.syscall import why

CARRY = "carry"
"""What the payload calls this way, beside the ways that are one step."""

GUARANTEE = Guarantee(Receipt.SEPARATE, Compare.RACY, Version.CAN_REPEAT, Fence.VOID)

WARNING = "It goes to another filesystem, so it is copied and then archived: its owner and times stay behind."


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two writes, where it is made."""

    place: Place
    attempt: Attempt


def is_carried(payload: dict[str, Json]) -> bool:
    """Say whether what has this payload goes to another filesystem."""
    return bool(payload["way"] == CARRY)


def payload(root: Root, source: str, seen: Observation, blobs: Blobs, *, goal: Root) -> dict[str, Json]:
    """Keep the bytes of the source and give what will be sent. Raises TargetError, PayloadError."""
    if "content" not in seen.fields:
        raise TargetError(
            f"{source} is a folder, and its new place is on another filesystem",
            hint="move its files one by one, or make the other filesystem a surface of its own",
        )
    try:
        with root.reading(root.parts(source)) as fd:
            size = seen.fields["size"]
            content = put(fd, blobs, size=size, bytes_max=PAYLOAD_BYTES_MAX, progress=root.progress)
    except OSError as error:
        raise PayloadError(f"{source} can't be read: {why(error)}", hint="check who may read it") from error
    if content.digest != seen.fields["content"]:
        raise PayloadError(f"{source} changed while it was read", hint="wait until whatever writes it is done")
    kept = {"content": content.digest, "size": content.size, "mode": seen.fields["mode"]}
    return {"way": CARRY, "copy": {"way": str(goal.means().appearing()), **kept}}


def copying(attempt: Attempt) -> Attempt:
    """Give the half that creates."""
    operation = attempt.operation
    facts = tuple(fact for fact in operation.postcondition if fact.target == operation.target)
    return replace(
        attempt,
        operation=Operation(OperationKind.CREATE, operation.target, facts),
        payload=attempt.payload["copy"],
        prepared=attempt.prepared.get("copy", {}),
        before_source=None,
    )


def putting_away(attempt: Attempt) -> Attempt:
    """Give the half that archives."""
    operation = attempt.operation
    assert operation.source is not None, "a move has a source"
    assert attempt.before_source is not None, "and it was looked at"
    facts = tuple(fact for fact in operation.postcondition if fact.target == operation.source)
    return replace(
        attempt,
        operation=Operation(OperationKind.ARCHIVE, operation.source, facts),
        payload={"way": str(Way.ARCHIVE)},
        prepared=attempt.prepared.get("away", {}),
        before=attempt.before_source,
        before_source=None,
    )


def prepare(copy: Half, away: Half, blobs: Blobs) -> Prepared:
    """Prepare both, or neither."""
    first = copy.place.prepare(copy.attempt, blobs)
    try:
        second = away.place.prepare(away.attempt, blobs)
    except BaseException:
        prepared = replace(copy.attempt, prepared=first.notes)
        copy.place.fence(prepared, is_sender_gone=True)
        copy.place.tidy(prepared)
        raise
    claims = tuple(dict.fromkeys((*first.claims, *second.claims)))
    return Prepared({"copy": first.notes, "away": second.notes}, claims)


def send(copy: Half, away: Half) -> Answer:
    """Copy, read it back, and only then put the source away."""
    first = copy.place.send(copy.attempt)
    if first.evidence is not Evidence.ACKNOWLEDGED:
        return first
    target, source = copy.attempt.operation.target, away.attempt.operation.target
    if not all(fact.holds(copy.place.read(target)) for fact in copy.attempt.operation.postcondition):
        return _partial(copy, away, f"what is at {target} is not what was copied there, so {source} was left as it is")
    return _joined(copy, away, first, away.place.send(away.attempt), Evidence.ACKNOWLEDGED)


def fence(copy: Half, away: Half, *, is_sender_gone: bool) -> Answer:
    """Rule both out, in the order in which they would be sent, and judge."""
    first = copy.place.fence(copy.attempt, is_sender_gone=is_sender_gone)
    second = away.place.fence(away.attempt, is_sender_gone=is_sender_gone)
    return _joined(copy, away, first, second, Evidence.RECEIPT)


def _joined(copy: Half, away: Half, first: Answer, second: Answer, proof: Evidence) -> Answer:
    outcomes = [outcome_of(answer.evidence) for answer in (first, second)]
    is_quiescent = first.is_quiescent and second.is_quiescent
    reason = "; ".join(filter(None, (first.reason, second.reason)))
    if outcomes == [WriteOutcome.APPLIED, WriteOutcome.APPLIED]:
        note = " ".join(filter(None, (first.note, second.note))) or None
        return Answer(proof, is_quiescent=is_quiescent, note=note, is_undoable=note is None)
    if outcomes == [WriteOutcome.FAILED, WriteOutcome.FAILED]:
        return Answer(Evidence.NEVER_SENT, reason=first.reason)
    if outcomes == [WriteOutcome.APPLIED, WriteOutcome.FAILED]:
        target, source = copy.attempt.operation.target, away.attempt.operation.target
        return _partial(copy, away, f"it was copied to {target}, but {source} was not put away: {second.reason}")
    if outcomes[1] is WriteOutcome.APPLIED:
        reason = f"{away.attempt.operation.target} was put away; of the copy: {reason}"
    return Answer(Evidence.UNPROVEN, is_quiescent=is_quiescent, reason=reason, hint=_hint(copy, away))


def _partial(copy: Half, away: Half, reason: str) -> Answer:
    return Answer(Evidence.PARTIAL, reason=reason, hint=_hint(copy, away))


def _hint(copy: Half, away: Half) -> str:
    return f"look at {copy.attempt.operation.target} and at {away.attempt.operation.target}, and archive one of them"
