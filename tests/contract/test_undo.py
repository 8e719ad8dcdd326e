"""How each kind of write is reversed, what is refused, and that a chain of undos leads back and forth."""

import pytest
from hypothesis import given
from pydantic import ValidationError

from amends import (
    Observation,
    OperationKind,
    OperationResult,
    Presence,
    RecoveryError,
    WriteOutcome,
    WriteProposal,
    build_undo,
)
from tests.contract.example import AMBIGUOUS, APPLIED, FAILED, RESULTS, TARGET, result

ABSENT = Observation(Presence.ABSENT)
OLD, NEW = {"title": "old"}, {"title": "new"}


@pytest.mark.requirement("contract:proposal:confirmed")
@pytest.mark.parametrize("flag", ["confirm_first", "revalidate_before_apply"])
def test_no_proposal_can_skip_the_confirmation_or_the_fresh_read(flag: str) -> None:
    """If a proposal could say "at once", some caller would, and the person would learn of it afterwards."""
    proposal = WriteProposal(kind=OperationKind.EDIT, target=TARGET)
    assert proposal.model_dump()[flag] is True
    for value in (False, None, "no", 0):
        with pytest.raises(ValidationError, match=flag):
            WriteProposal.model_validate(proposal.model_dump() | {flag: value})
    with pytest.raises(ValidationError, match="frozen"):
        setattr(proposal, flag, False)


@pytest.mark.requirement("contract:proposal:key")
def test_no_proposal_can_bring_its_own_key() -> None:
    """The broker mints one key per attempt; an old key would be answered with an old success."""
    for stray in ("idempotency_key", "key", "payload"):
        with pytest.raises(ValidationError, match=stray):
            WriteProposal.model_validate({"kind": "edit", "target": TARGET, stray: "k-1"})


@pytest.mark.requirement("contract:undo:fresh")
def test_an_undo_says_what_it_reverses_restores_and_expects() -> None:
    """The broker needs all three to refuse an undo of something that was changed since."""
    undo = build_undo(result(APPLIED, before=OLD, after=NEW))
    assert undo == WriteProposal.model_validate(
        {"kind": "edit", "target": TARGET, "reverses": "op_1", "restores": OLD, "expects": NEW}
    )
    assert (undo.confirm_first, undo.revalidate_before_apply) == (True, True)


@pytest.mark.requirement("contract:undo:kinds")
@pytest.mark.parametrize(("kind", "reversing"), [("create", "archive"), ("archive", "edit"), ("edit", "edit")])
def test_four_fields_are_enough_to_undo_what_the_contract_names(kind: str, reversing: str) -> None:
    """Create⇒archive, archive⇒edit, edit⇒edit: the brain may know no more than the kind; the broker knows the rest."""
    undo = build_undo(result(APPLIED, kind=kind))
    assert undo.kind == reversing
    assert undo.restores is None


@pytest.mark.requirement("contract:undo:kinds")
@pytest.mark.parametrize("before", [None, {"presence": "unreadable"}])
def test_an_archive_is_undone_even_if_nobody_saw_what_it_held(before: object) -> None:
    """The archive itself holds what was there, so not having seen it is no reason to refuse."""
    undo = build_undo(result(APPLIED, kind="archive", before=before))
    assert undo.kind is OperationKind.EDIT


@pytest.mark.requirement("contract:undo:kinds")
def test_what_was_there_before_decides_over_the_kind() -> None:
    """A create that replaced something is undone by bringing that back, not by archiving over it."""
    assert build_undo(result(APPLIED, kind="create", before=OLD)).kind is OperationKind.EDIT
    assert build_undo(result(APPLIED, kind="create", before="absent")).kind is OperationKind.ARCHIVE
    assert build_undo(result(APPLIED, kind="edit", before="absent")).kind is OperationKind.ARCHIVE


@pytest.mark.requirement("contract:undo:upload")
def test_an_upload_is_undone_by_what_was_there_before() -> None:
    """An upload creates or replaces; only the observation before it tells which."""
    assert build_undo(result(APPLIED, kind="upload", before="absent")).kind is OperationKind.ARCHIVE
    replaced = build_undo(result(APPLIED, kind="upload", before=OLD, after=NEW))
    assert replaced.kind is OperationKind.EDIT
    assert replaced.restores == Observation(Presence.PRESENT, fields=OLD)


@pytest.mark.requirement("contract:undo:upload")
@pytest.mark.parametrize("before", [None, {"presence": "unreadable"}])
def test_an_upload_without_a_before_is_not_guessed_at(before: object) -> None:
    """To archive what was replaced would lose the old file from sight; the person is told both ways instead."""
    with pytest.raises(RecoveryError, match="archive it if nothing was, edit it back if something was"):
        build_undo(result(APPLIED, kind="upload", before=before))


@pytest.mark.requirement("contract:undo:move")
@pytest.mark.parametrize("kind", [OperationKind.MOVE, OperationKind.RENAME])
def test_a_move_is_undone_by_moving_back(kind: OperationKind) -> None:
    """Back means from the target to the source, with what the move left at the target still there."""
    undo = build_undo(result(APPLIED, kind=kind, source="notes:old.md", after=NEW))
    assert (undo.kind, undo.source, undo.target) == (kind, TARGET, "notes:old.md")
    assert undo.expects == Observation(Presence.PRESENT, fields=NEW)
    with pytest.raises(RecoveryError, match=r"where notes:plan\.md came from"):
        build_undo(result(APPLIED, kind=kind))


@pytest.mark.requirement("contract:undo:refused")
def test_a_failed_write_leaves_nothing_to_undo() -> None:
    """Reversing what never happened would be the first change."""
    with pytest.raises(RecoveryError, match="nothing was changed, so there is nothing to undo"):
        build_undo(result(FAILED))


@pytest.mark.requirement("contract:undo:refused")
def test_an_ambiguous_write_is_settled_before_it_is_undone() -> None:
    """The refusal names the next step, because "no" alone makes people go around us."""
    with pytest.raises(RecoveryError, match="may or may not have applied") as refused:
        build_undo(result(AMBIGUOUS))
    assert refused.value.hint == "settle it by a read first: amends check op_1"


@pytest.mark.requirement("contract:undo:refused")
@pytest.mark.parametrize("before", [None, "absent", OLD])
def test_a_delete_has_no_undo(before: object) -> None:
    """A delete keeps nothing, and an undo that makes something up from memory is a forgery."""
    with pytest.raises(RecoveryError, match="kept nothing; there is no undo"):
        build_undo(result(APPLIED, kind="delete", before=before))


@pytest.mark.requirement("contract:undo:refused")
@pytest.mark.parametrize("kind", OperationKind)
def test_a_surface_without_an_archive_has_no_undo(kind: OperationKind) -> None:
    """Where nothing is kept, nothing can be promised; the surface's word counts for every kind."""
    with pytest.raises(RecoveryError):
        build_undo(result(APPLIED, kind=kind, source="notes:old.md", before=OLD, undoable=False))


@pytest.mark.requirement("contract:undo:refused")
def test_an_archive_of_nothing_has_no_undo() -> None:
    """Nothing was there and nothing is: an undo could only archive once more, and call that a restoration."""
    with pytest.raises(RecoveryError, match="archived nothing"):
        build_undo(result(APPLIED, kind="archive", before="absent"))


@pytest.mark.requirement("contract:undo:refused")
@given(RESULTS)
def test_no_undo_is_ever_destructive_or_of_an_unknown_outcome(told: OperationResult) -> None:
    """Whatever a broker reports, a delete never comes out, and nothing but an applied write is reversed."""
    try:
        undo = build_undo(told)
    except RecoveryError:
        return
    assert told.outcome is WriteOutcome.APPLIED
    assert undo.kind is not OperationKind.DELETE
    assert undo.reverses == told.operation_id


def ran(undo: WriteProposal, operation_id: str) -> OperationResult:
    """The undo as a broker reports it: it found what it expected, and left what it restores."""
    return result(
        APPLIED,
        operation_id=operation_id,
        kind=undo.kind,
        target=undo.target,
        source=undo.source,
        before=undo.expects,
        after=undo.restores,
        reverses=undo.reverses,
    )


@pytest.mark.requirement("contract:undo:chain")
@pytest.mark.parametrize(
    ("kind", "before", "kinds"),
    [
        ("create", "absent", ["archive", "edit", "archive"]),
        ("edit", OLD, ["edit", "edit", "edit"]),
        ("upload", "absent", ["archive", "edit", "archive"]),
        ("upload", OLD, ["edit", "edit", "edit"]),
    ],
)
def test_an_undo_of_an_undo_restores_the_write(kind: str, before: object, kinds: list[str]) -> None:
    """People change their minds twice; each undo is a write like any other and names the one that it reverses."""
    written = result(APPLIED, kind=kind, before=before, after=NEW)
    first = build_undo(written)
    second = build_undo(ran(first, "op_2"))
    third = build_undo(ran(second, "op_3"))
    assert [str(undo.kind) for undo in (first, second, third)] == kinds
    assert [undo.reverses for undo in (first, second, third)] == ["op_1", "op_2", "op_3"]
    assert (first.restores, second.restores, third.restores) == (written.before, written.after, written.before)


@pytest.mark.requirement("contract:undo:chain")
def test_an_undo_of_an_undone_archive_archives_again() -> None:
    """An archive's undo is an edit that brings something back where nothing is, so its own undo archives."""
    archived = result(APPLIED, kind="archive", before=OLD, after="absent")
    back = build_undo(archived)
    again = build_undo(ran(back, "op_2"))
    assert (back.kind, again.kind) == (OperationKind.EDIT, OperationKind.ARCHIVE)
    assert again.restores == ABSENT


@pytest.mark.requirement("contract:undo:chain")
@pytest.mark.parametrize("kind", ["move", "rename"])
def test_an_undo_of_a_move_back_moves_forth(kind: str) -> None:
    """The way back is a move like the first, with the same two places the other way round."""
    back = build_undo(result(APPLIED, kind=kind, source="notes:old.md", after=NEW))
    forth = build_undo(ran(back, "op_2"))
    assert (forth.source, forth.target) == ("notes:old.md", TARGET)
