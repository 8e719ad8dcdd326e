"""The three acceptance criteria of the recovery contract (RFD-AGT-002 D-10): 18 tests, no model, no network."""

import typing
from importlib import import_module

import pytest
from pydantic import ValidationError

from agents.atlas.recovery import (
    COUNSEL,
    OperationKind,
    OperationResult,
    RecoveryAction,
    RecoveryError,
    RecoveryMessage,
    WriteOutcome,
    WriteProposal,
    build_undo,
    plan_recovery,
    render_outcome,
    silent_retry_forbidden,
)

APPLIED, FAILED, AMBIGUOUS = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS
TARGET = "matters:4711/engagement-letter"


def result(outcome: WriteOutcome, *, kind: str = "edit", **more: object) -> OperationResult:
    return OperationResult.model_validate(
        {"operation_id": "op_1", "kind": kind, "target": TARGET, "outcome": outcome} | more
    )


# --- AC1: on failure an honest message, zero fabricated rows ---------------------------------------------------------


@pytest.mark.requirement("atlas:names:contract")
def test_the_module_has_every_name_of_the_contract() -> None:
    """The contract names the module `recovery` and what is in it; other teams import exactly that."""
    module = import_module("recovery")
    names = "WriteOutcome OperationResult RecoveryMessage render_outcome WriteProposal build_undo plan_recovery"
    assert [name for name in names.split() if not hasattr(module, name)] == []
    assert module.silent_retry_forbidden is silent_retry_forbidden
    assert {str(outcome) for outcome in module.WriteOutcome} == {"applied", "failed", "ambiguous"}


@pytest.mark.requirement("atlas:message:failed")
def test_a_failed_write_is_told_as_nothing_was_changed() -> None:
    """Counsel who reads anything vaguer will either file again or believe that it is filed."""
    message = render_outcome(result(FAILED, reason="the matter is locked"))
    assert message.text == f"I couldn't edit {TARGET}: the matter is locked; nothing was changed."
    assert message.applied is False
    assert message.undo_offered is False


@pytest.mark.requirement("atlas:message:failed")
def test_what_is_already_as_asked_is_told_so() -> None:
    """It counts as failed, since nothing was sent, but "I couldn't" would send counsel looking for a problem."""
    message = render_outcome(result(FAILED, evidence="already_so"))
    assert "already as asked" in message.text
    assert "nothing was changed" in message.text
    assert "couldn't" not in message.text
    assert message.applied is False


@pytest.mark.requirement("atlas:message:applied")
def test_an_applied_write_is_told_with_its_undo() -> None:
    """Honesty has two sides: a write that is known to be there is not hedged, and can be taken back."""
    message = render_outcome(result(APPLIED))
    assert message.text == f"Done: I edited {TARGET}."
    assert message.applied is True
    assert message.undo_offered is True


@pytest.mark.requirement("atlas:message:rows")
def test_a_message_has_no_field_that_could_bear_rows() -> None:
    """What has no place can't be fabricated: the page fetches the real, authorised rows itself."""
    assert not {"rows", "data", "results", "result", "items", "records", "before", "after"} & set(
        RecoveryMessage.model_fields
    )
    containers = (list, dict, tuple, set, frozenset)
    for field in RecoveryMessage.model_fields.values():
        parts = {field.annotation, *typing.get_args(field.annotation)}
        assert not any(part in containers or typing.get_origin(part) in containers for part in parts)


@pytest.mark.requirement("atlas:message:rows")
def test_a_message_takes_no_rows_and_no_change() -> None:
    """A field that somebody adds on the way to the page would be a place for invented rows after all."""
    message = render_outcome(result(FAILED))
    with pytest.raises(ValidationError, match="rows"):
        RecoveryMessage.model_validate(message.model_dump() | {"rows": [{"matter": 4711}]})
    with pytest.raises(ValidationError, match="frozen"):
        message.applied = True  # type: ignore[misc]


@pytest.mark.requirement("atlas:message:success")
def test_success_can_not_be_said_unless_the_broker_said_so() -> None:
    """The keystone: no code path, however wrong, can show a write as done that is not known to be."""
    for outcome in (FAILED, AMBIGUOUS):
        told = render_outcome(result(outcome)).model_dump()
        with pytest.raises(ValidationError, match="applied=True can't be said"):
            RecoveryMessage.model_validate(told | {"applied": True})


@pytest.mark.requirement("atlas:message:phrasebook")
def test_no_sentence_of_atlas_says_more_than_the_outcome() -> None:
    """Lawyers need words of their own, and a new wording is where an honest contract would start to lie."""
    assert set(COUNSEL) == set(import_module("amends").PHRASES)
    for outcome, evidence in COUNSEL:
        text = render_outcome(result(outcome, evidence=evidence)).text
        assert "{" not in text
        assert ("nothing was changed" in text) is (outcome is FAILED)
        assert ("may have applied" in text and "here's how to check: " in text) is (outcome is AMBIGUOUS)


# --- AC2: an undo is a fresh, confirmed write that revalidates -------------------------------------------------------


@pytest.mark.requirement("atlas:undo:proposal")
def test_an_undo_is_a_fresh_proposal_to_confirm_first() -> None:
    """A rollback behind counsel's back would be one more write that nobody asked for."""
    proposal = build_undo(result(APPLIED, before={"status": "draft"}, after={"status": "final"}))
    assert isinstance(proposal, WriteProposal)
    assert proposal.reverses == "op_1"
    assert proposal.confirm_first is True
    assert proposal.restores is not None
    assert proposal.restores.fields == {"status": "draft"}
    assert proposal.expects is not None
    assert proposal.expects.fields == {"status": "final"}


@pytest.mark.requirement("atlas:undo:revalidates")
def test_revalidation_of_an_undo_can_not_be_turned_off() -> None:
    """Between the write and its undo somebody may have worked on the matter; their work must be seen first."""
    proposal = build_undo(result(APPLIED))
    assert proposal.revalidate_before_apply is True
    for flag in ("revalidate_before_apply", "confirm_first"):
        with pytest.raises(ValidationError, match=flag):
            WriteProposal.model_validate(proposal.model_dump() | {flag: False})


@pytest.mark.requirement("atlas:undo:key")
def test_a_proposal_with_an_idempotency_key_is_rejected() -> None:
    """A key from the client could be an old one, and the undo would be answered with an old success."""
    proposal = build_undo(result(APPLIED)).model_dump()
    assert "idempotency_key" not in proposal
    with pytest.raises(ValidationError, match="idempotency_key"):
        WriteProposal.model_validate(proposal | {"idempotency_key": "k-1"})


@pytest.mark.requirement("atlas:undo:reversible")
def test_what_an_undo_proposes_is_never_destructive() -> None:
    """An undo that deletes could not be undone itself, and counsel would find out too late."""
    reversing = {kind: build_undo(result(APPLIED, kind=kind)).kind for kind in ("create", "archive", "edit")}
    assert reversing == {
        "create": OperationKind.ARCHIVE,
        "archive": OperationKind.EDIT,
        "edit": OperationKind.EDIT,
    }
    for kind in OperationKind:
        proposal = build_undo(result(APPLIED, kind=kind, source="matters:0", before={})) if kind != "delete" else None
        assert proposal is None or proposal.kind is not OperationKind.DELETE


@pytest.mark.requirement("atlas:undo:reversible")
def test_an_undo_of_an_undo_reverses_it_again() -> None:
    """Counsel may change their mind twice; an undo that ran is a write like any other."""
    undo = build_undo(result(APPLIED, kind="create", before="absent", after={"title": "Letter"}))
    ran = result(APPLIED, kind=undo.kind, operation_id="op_2", before=undo.expects, after=undo.restores)
    again = build_undo(ran)
    assert (undo.kind, again.kind) == (OperationKind.ARCHIVE, OperationKind.EDIT)
    assert again.reverses == "op_2"
    assert again.restores is not None
    assert again.restores.fields == {"title": "Letter"}


@pytest.mark.requirement("atlas:undo:refused")
def test_a_failed_write_has_nothing_to_undo() -> None:
    """Reversing what never happened would itself be the first change."""
    with pytest.raises(RecoveryError, match="nothing was changed"):
        build_undo(result(FAILED))


@pytest.mark.requirement("atlas:undo:refused")
def test_an_ambiguous_write_is_read_before_it_is_undone() -> None:
    """An undo of a maybe is a second maybe on top of the first; a read comes before both."""
    with pytest.raises(RecoveryError, match="may or may not have applied") as refused:
        build_undo(result(AMBIGUOUS))
    assert "read" in (refused.value.hint or "")


# --- AC3: ambiguous is surfaced, with a way to check -----------------------------------------------------------------


@pytest.mark.requirement("atlas:ambiguous:hint")
def test_an_ambiguous_write_is_told_with_the_hint_that_came() -> None:
    """The broker knows which read would settle it; counsel should get that very read."""
    message = render_outcome(result(AMBIGUOUS, check_hint="open matter 4711 and look for the letter."))
    assert message.text == (
        f"The change to {TARGET} may have applied, but I didn't get confirmation"
        " — here's how to check: open matter 4711 and look for the letter."
    )
    assert message.applied is False
    assert message.check_hint == "open matter 4711 and look for the letter"


@pytest.mark.requirement("atlas:ambiguous:hint")
def test_without_a_hint_counsel_still_learns_how_to_check() -> None:
    """A missing or blank hint must not become silence: "may have applied" alone invites a second filing."""
    for hint in (None, "", "  \n", "."):
        message = render_outcome(result(AMBIGUOUS, check_hint=hint))
        assert f"here's how to check: read {TARGET}" in message.text
        assert "op_1" in message.text
        assert message.check_hint


@pytest.mark.requirement("atlas:ambiguous:retry")
def test_a_maybe_applied_write_is_never_folded_into_failed() -> None:
    """Treating maybe as failed is the duplicate filing that the contract exists to prevent."""
    assert {outcome: plan_recovery(result(outcome)) for outcome in WriteOutcome} == {
        APPLIED: RecoveryAction.CONFIRM_APPLIED,
        FAILED: RecoveryAction.REPORT_FAILED,
        AMBIGUOUS: RecoveryAction.SURFACE_AMBIGUOUS,
    }
    assert [outcome for outcome in WriteOutcome if silent_retry_forbidden(outcome)] == [AMBIGUOUS]
    message = render_outcome(result(AMBIGUOUS))
    assert message.action is RecoveryAction.SURFACE_AMBIGUOUS
    assert message.undo_offered is False
    assert "nothing was changed" not in message.text
