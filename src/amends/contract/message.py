"""What is said of a write: one message per result, from one phrasebook.

Source: recovery contract, AC1 and AC3. A message has no field that could bear rows, and `applied=True` is rejected
for every outcome but applied, so that a write can't be shown as a success unless the broker said so (invariants 18
and 25). A caller may bring other sentences, never another outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from amends.errors import RecoveryError

from .guarantee import Level
from .operation import OperationKind
from .outcome import ACTIONS, ALLOWED, Evidence, OperationResult, RecoveryAction, WriteOutcome, plan_recovery
from .undo import build_undo

Phrases = Mapping[tuple[WriteOutcome, Evidence | None], str]

_A, _F, _M = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS

PHRASES: Phrases = {
    (_A, None): "I {done} {what}.",
    (_A, Evidence.ACKNOWLEDGED): "I {done} {what}.",
    (_A, Evidence.RECEIPT): "I {done} {what}: the proof that this write landed is there.",
    (_A, Evidence.OBSERVED): "{target} holds now what was asked for; before the write it did not.",
    (_A, Evidence.ATTESTED): "A person says that the write to {target} applied{because}.",
    (_F, None): "I couldn't {do} {what}{because}; nothing was changed.",
    (_F, Evidence.NEVER_SENT): "I couldn't {do} {what}{because}; nothing was changed.",
    (_F, Evidence.REFUSED): "I couldn't {do} {what}: it was refused{because}; nothing was changed.",
    (_F, Evidence.STALE): "I couldn't {do} {what}: it is no longer as it was shown{because}; nothing was changed.",
    (_F, Evidence.ALREADY_SO): "{target} is already as asked; nothing was sent and nothing was changed.",
    (_F, Evidence.VOIDED): "I couldn't {do} {what}: the write was voided before it could land; nothing was changed.",
    (_F, Evidence.WAITED): "I couldn't {do} {what}: it can't land now and never did; nothing was changed.",
    (_F, Evidence.ATTESTED): (
        "A person says that the write to {target} did not apply and that nothing was changed{because}."
    ),
    (_M, None): "The write to {target} may have applied, but I didn't get confirmation — here's how to check: {hint}.",
    (_M, Evidence.UNPROVEN): (
        "The write to {target} may have applied, but I didn't get confirmation — here's how to check: {hint}."
    ),
    (_M, Evidence.PARTIAL): (
        "A part of the write to {target} may have applied, but not all of it is there{because}"
        " — here's how to check: {hint}."
    ),
}
"""One sentence per allowed pair. Slots: do, done, target, what (target; of a move, source too), because, hint."""

_VERBS: dict[OperationKind, tuple[str, str]] = {
    OperationKind.CREATE: ("create", "created"),
    OperationKind.EDIT: ("edit", "edited"),
    OperationKind.ARCHIVE: ("archive", "archived"),
    OperationKind.MOVE: ("move", "moved"),
    OperationKind.RENAME: ("rename", "renamed"),
    OperationKind.DELETE: ("delete", "deleted"),
    OperationKind.UPLOAD: ("upload", "uploaded"),
}

_RACY = "(Racy: what another program wrote to it in the same moment could have been displaced.)"


class RecoveryMessage(BaseModel):
    """What to tell whoever asked for a write: a sentence and the structure behind it. It bears no rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: WriteOutcome
    action: RecoveryAction
    applied: bool
    text: str = Field(min_length=1)
    undo_offered: bool = False
    operation_id: str | None = None
    evidence: Evidence | None = None
    check_hint: str | None = None
    check_after_ms: int | None = None

    @model_validator(mode="after")
    def _says_no_more_than_the_outcome(self) -> Self:
        if self.applied is not (self.outcome is WriteOutcome.APPLIED):
            raise ValueError(f"applied={self.applied} can't be said of a write that is {self.outcome}")
        if self.action is not ACTIONS[self.outcome]:
            raise ValueError(f"{self.action} is not what a write that is {self.outcome} calls for")
        if self.evidence is not None and (self.outcome, self.evidence) not in ALLOWED:
            raise ValueError(f"{self.evidence} is no evidence for {self.outcome}")
        if self.undo_offered and not self.applied:
            raise ValueError("only an applied write can be undone")
        if self.outcome is WriteOutcome.AMBIGUOUS and not (self.check_hint or "").strip():
            raise ValueError("an ambiguous write is never told without a way to check it")
        return self


def printable(text: str) -> str:
    """Show control characters as escapes, so that a name can't forge a line or move the cursor."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def check_hint(result: OperationResult) -> str:
    """Give the hint that came with `result`, else one that always works."""
    given = (result.check_hint or "").strip().rstrip(".")
    places = result.target if result.source is None else f"{result.source} and {result.target}"
    return given or f"read {places} and compare what is there with what was asked (operation {result.operation_id})"


def undo_refusal(result: OperationResult) -> str | None:
    """Say why `result` can't be undone; None where it can."""
    try:
        build_undo(result)
    except RecoveryError as refusal:
        return str(refusal)
    return None


def render_outcome(result: OperationResult, *, phrases: Phrases = PHRASES) -> RecoveryMessage:
    """Turn `result` into what is said of it.

    `phrases` may replace sentences, key by key; pairs that it lacks are taken from `PHRASES`. The outcome, the action,
    `applied` and the presence of a check hint never depend on it.
    """
    ambiguous = result.outcome is WriteOutcome.AMBIGUOUS
    hint = printable(check_hint(result)) if ambiguous else None
    phrase = phrases.get((result.outcome, result.evidence)) or PHRASES[(result.outcome, result.evidence)]
    do, done = _VERBS[result.kind]
    reason = printable((result.reason or "").strip().rstrip("."))
    what = result.target if result.source is None else f"{result.source} to {result.target}"
    sentence = phrase.format(
        do=do,
        done=done,
        target=printable(result.target),
        what=printable(what),
        because=f": {reason}" if reason else "",
        hint=hint or "",
    )
    sentences = [sentence]
    if result.level in (Level.RACY, Level.BLIND) and result.outcome is WriteOutcome.APPLIED:
        sentences.append(_RACY)
    if result.note:
        sentences.append(printable(result.note))
    return RecoveryMessage(
        outcome=result.outcome,
        action=plan_recovery(result),
        applied=result.outcome is WriteOutcome.APPLIED,
        text=" ".join(sentences),
        undo_offered=undo_refusal(result) is None,
        operation_id=result.operation_id,
        evidence=result.evidence,
        check_hint=hint,
        check_after_ms=result.check_after_ms if ambiguous else None,
    )
