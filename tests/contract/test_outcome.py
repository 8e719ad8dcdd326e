"""Three outcomes, the evidence that each needs, and the result that bears them."""

import pytest
from pydantic import ValidationError

from amends import (
    ALLOWED,
    Evidence,
    Observation,
    OperationKind,
    OperationResult,
    Presence,
    RecoveryAction,
    WriteOutcome,
    plan_recovery,
    silent_retry_forbidden,
)
from amends.contract.outcome import outcome_of
from tests.contract.example import AMBIGUOUS, APPLIED, FAILED, PAIRS, TARGET, result


@pytest.mark.requirement("contract:outcome:vocabulary")
def test_there_are_three_outcomes_each_with_its_action() -> None:
    """A fourth word, or two outcomes with one action, would fold maybe into no."""
    assert {str(outcome): str(plan_recovery(result(outcome))) for outcome in WriteOutcome} == {
        "applied": "confirm_applied",
        "failed": "report_failed",
        "ambiguous": "surface_ambiguous",
    }
    assert len(RecoveryAction) == len(WriteOutcome)


@pytest.mark.requirement("contract:outcome:retry")
def test_only_an_ambiguous_write_forbids_the_silent_retry() -> None:
    """A second write after a maybe is the duplicate that all of this exists to prevent; a read resolves it."""
    assert [outcome for outcome in WriteOutcome if silent_retry_forbidden(outcome)] == [AMBIGUOUS]


@pytest.mark.requirement("contract:outcome:retry")
def test_a_plain_word_forbids_the_retry_just_as_well() -> None:
    """A brain that reads JSON holds a string; an identity test on it would read "ambiguous" as leave to send."""
    assert silent_retry_forbidden("ambiguous") is True  # type: ignore[arg-type]
    assert silent_retry_forbidden("failed") is False  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="maybe"):
        silent_retry_forbidden("maybe")  # type: ignore[arg-type]


@pytest.mark.requirement("contract:outcome:evidence")
@pytest.mark.parametrize("outcome", WriteOutcome)
@pytest.mark.parametrize("evidence", Evidence)
def test_an_outcome_takes_only_evidence_that_proves_it(outcome: WriteOutcome, evidence: Evidence) -> None:
    """A result that says "failed, acknowledged" is a bug at its source, and must not travel."""
    if (outcome, evidence) in ALLOWED:
        assert result(outcome, evidence).evidence is evidence
    else:
        with pytest.raises(ValidationError, match="is no evidence for"):
            result(outcome, evidence)


@pytest.mark.requirement("contract:outcome:evidence")
def test_every_evidence_proves_one_outcome_but_a_persons_word() -> None:
    """If evidence left the outcome open, something else would decide it; only a person may say which."""
    proved = {evidence: outcome_of(evidence) for evidence in Evidence if evidence is not Evidence.ATTESTED}
    assert set(proved.items()) == {(e, o) for o, e in ALLOWED if e is not Evidence.ATTESTED}
    with pytest.raises(ValueError, match="attested does not decide"):
        outcome_of(Evidence.ATTESTED)
    assert {o for o, e in ALLOWED if e is Evidence.ATTESTED} == {APPLIED, FAILED}


@pytest.mark.requirement("contract:outcome:evidence")
@pytest.mark.parametrize("pair", PAIRS)
def test_only_an_ambiguous_write_can_be_closed(pair: tuple[WriteOutcome, Evidence | None]) -> None:
    """Closed means that waiting can't settle it; an outcome that is known has nothing to settle."""
    if pair[0] is AMBIGUOUS:
        assert result(*pair, closed=True).closed
    else:
        with pytest.raises(ValidationError, match="only an ambiguous write can be closed"):
            result(*pair, closed=True)


@pytest.mark.requirement("contract:result:fields")
def test_four_fields_are_enough_for_a_result() -> None:
    """A brain in another process has the id, the kind, the target and the outcome, and may know no more."""
    bare = OperationResult(operation_id="op_1", kind=OperationKind.EDIT, target=TARGET, outcome=APPLIED)
    assert (bare.evidence, bare.before, bare.check_hint) == (None, None, None)
    for name in ("operation_id", "kind", "target", "outcome"):
        with pytest.raises(ValidationError, match=name):
            OperationResult.model_validate(bare.model_dump(exclude={name}))


@pytest.mark.requirement("contract:result:fields")
def test_a_result_can_not_be_changed_or_extended() -> None:
    """An outcome is reported once; whoever passes it on may not improve it, nor attach rows to it."""
    told = result(FAILED)
    with pytest.raises(ValidationError, match="frozen"):
        told.outcome = APPLIED  # type: ignore[misc]
    with pytest.raises(ValidationError, match="rows"):
        result(APPLIED, rows=[])
    for name in ("operation_id", "target", "source"):
        with pytest.raises(ValidationError, match=name):
            result(APPLIED, **{name: ""})


@pytest.mark.requirement("contract:result:fields")
def test_a_result_survives_the_way_through_json() -> None:
    """Broker and brain are two processes; what is told must be what was decided."""
    told = result(APPLIED, Evidence.RECEIPT, before={"title": "A"}, after="absent", level="racy")
    assert OperationResult.model_validate_json(told.model_dump_json()) == told


@pytest.mark.requirement("contract:result:seen")
def test_a_bare_row_or_the_word_absent_is_an_observation() -> None:
    """A brain holds the row that it saw, not our type; an undo of it must still know what to bring back."""
    told = result(APPLIED, before={"title": "A"}, after="absent")
    assert told.before == Observation(Presence.PRESENT, fields={"title": "A"})
    assert told.after == Observation(Presence.ABSENT)


@pytest.mark.requirement("contract:result:seen")
def test_an_observation_of_unknown_shape_is_rejected() -> None:
    """A misread observation would be restored by an undo as if it had been there."""
    for seen in ("gone", 7, {"presence": "maybe"}, {"presence": "present", "rows": []}):
        with pytest.raises(ValidationError, match="before"):
            result(APPLIED, before=seen)
