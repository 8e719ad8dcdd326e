"""The three outcomes, the evidence for each, and the result that a broker reports.

Source: recovery contract (RFD-AGT-002 D-10). `failed` needs proof, `applied` needs proof, everything else is
ambiguous; an exception proves nothing by its class. The literal set `ALLOWED` is the only place that says which
evidence may carry which outcome; SQL, JSON and docs derive from it (invariants 2, 3 and 25).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .guarantee import Level
from .operation import Observation, OperationKind


class WriteOutcome(StrEnum):
    """What became of a write."""

    APPLIED = "applied"
    FAILED = "failed"
    AMBIGUOUS = "ambiguous"


class RecoveryAction(StrEnum):
    """What to do about an outcome."""

    CONFIRM_APPLIED = "confirm_applied"
    REPORT_FAILED = "report_failed"
    SURFACE_AMBIGUOUS = "surface_ambiguous"


class Evidence(StrEnum):
    """Why an outcome is what it is. One sentence each in `docs/concepts/outcomes.md`."""

    NEVER_SENT = "never_sent"
    REFUSED = "refused"
    STALE = "stale"
    ALREADY_SO = "already_so"
    ACKNOWLEDGED = "acknowledged"
    RECEIPT = "receipt"
    OBSERVED = "observed"
    VOIDED = "voided"
    WAITED = "waited"
    ATTESTED = "attested"
    PARTIAL = "partial"
    UNPROVEN = "unproven"


_FAILED, _APPLIED, _AMBIGUOUS = WriteOutcome.FAILED, WriteOutcome.APPLIED, WriteOutcome.AMBIGUOUS

ALLOWED: frozenset[tuple[WriteOutcome, Evidence]] = frozenset(
    {
        (_FAILED, Evidence.NEVER_SENT),
        (_FAILED, Evidence.REFUSED),
        (_FAILED, Evidence.STALE),
        (_FAILED, Evidence.ALREADY_SO),
        (_APPLIED, Evidence.ACKNOWLEDGED),
        (_APPLIED, Evidence.RECEIPT),
        (_APPLIED, Evidence.OBSERVED),
        (_FAILED, Evidence.VOIDED),
        (_FAILED, Evidence.WAITED),
        (_APPLIED, Evidence.ATTESTED),
        (_FAILED, Evidence.ATTESTED),
        (_AMBIGUOUS, Evidence.PARTIAL),
        (_AMBIGUOUS, Evidence.UNPROVEN),
    }
)

ACTIONS: dict[WriteOutcome, RecoveryAction] = {
    WriteOutcome.APPLIED: RecoveryAction.CONFIRM_APPLIED,
    WriteOutcome.FAILED: RecoveryAction.REPORT_FAILED,
    WriteOutcome.AMBIGUOUS: RecoveryAction.SURFACE_AMBIGUOUS,
}


def outcome_of(evidence: Evidence) -> WriteOutcome:
    """Give the one outcome that `evidence` proves.

    Raises ValueError for `attested`, where a person says which.
    """
    outcomes = [outcome for outcome, known in ALLOWED if known is evidence]
    if len(outcomes) != 1:
        raise ValueError(f"{evidence} does not decide an outcome by itself")
    return outcomes[0]


def _as_observation(value: object) -> object:
    """Take a bare mapping of fields for a present target, as a brain that holds only the row would give it."""
    if isinstance(value, dict) and "presence" not in value:
        return {"presence": "present", "fields": value}
    return {"presence": "absent"} if value == "absent" else value


Seen = Annotated[Observation | None, BeforeValidator(_as_observation)]


class OperationResult(BaseModel):
    """What the broker reports of one write. The first four fields are enough to build one.

    `before` and `after` are observations of the target; a bare mapping of fields stands for a present target and
    the word "absent" for one that was not there. `check_after_ms` (Unix milliseconds) is the earliest time at which
    the read of `check_hint` means something. `closed` says that waiting can't settle it any more. `undoable=False`
    is the surface's word that it can't reverse this write. `note` is one more sentence that is true of the outcome.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation_id: str = Field(min_length=1)
    kind: OperationKind
    target: str = Field(min_length=1)
    outcome: WriteOutcome
    evidence: Evidence | None = None
    source: str | None = Field(default=None, min_length=1)
    before: Seen = None
    after: Seen = None
    level: Level | None = None
    reason: str | None = None
    note: str | None = None
    check_hint: str | None = None
    check_after_ms: int | None = None
    closed: bool = False
    undoable: bool = True
    reverses: str | None = None

    @model_validator(mode="after")
    def _evidence_fits(self) -> Self:
        if self.evidence is not None and (self.outcome, self.evidence) not in ALLOWED:
            raise ValueError(f"{self.evidence} is no evidence for {self.outcome}")
        if self.closed and self.outcome is not WriteOutcome.AMBIGUOUS:
            raise ValueError("only an ambiguous write can be closed")
        return self


def plan_recovery(result: OperationResult) -> RecoveryAction:
    """Name what to do about `result`: confirm it, report it, or surface it with the way to check."""
    return ACTIONS[result.outcome]


def silent_retry_forbidden(outcome: WriteOutcome) -> bool:
    """Say whether a re-write could repeat an effect that may already be there.

    True for ambiguous: a read resolves it, never a second write. False for applied and failed means only that what
    happened is known. It is no leave to send again silently: an applied write is done, and a failed one is reported
    and, if still wanted, proposed and confirmed anew.

    The plain word, as JSON has it, is taken too; any other word raises ValueError and never reads as leave.
    """
    return WriteOutcome(outcome) is WriteOutcome.AMBIGUOUS
