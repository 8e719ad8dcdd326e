"""What an undo brings back, and when it must say that it can't."""

import os
import stat
from typing import Any

import pytest

from amends.contract.operation import OperationKind
from amends.contract.outcome import Evidence
from amends.contract.proposal import WriteProposal
from amends.errors import RecoveryError
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, MOVE, Desk, digest


@pytest.mark.requirement("files:undo:restores")
def test_undoing_an_edit_brings_back_bytes_and_mode(desk: Desk) -> None:
    """From the kept file, as it was seen before the edit."""
    path = desk.path("plan.md", "old")
    path.chmod(0o640)
    attempt, _ = desk.write(EDIT, "plan.md", text="new", mode="0600")
    plan = desk.undo_plan(attempt)
    assert plan.operation.kind is OperationKind.EDIT
    desk.files().send(desk.prepare(plan))
    assert path.read_text() == "old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.requirement("files:undo:restores")
def test_undoing_an_archive_never_replaces_what_came_since(desk: Desk) -> None:
    """The undo is an edit by its kind, but what it restores to is an empty place."""
    path = desk.path("sub/plan.md", "old")
    os.setxattr(path, "user.colour", b"blue")
    attempt, _ = desk.write(ARCHIVE, "sub/plan.md")
    plan = desk.undo_plan(attempt)
    again = desk.prepare(plan)
    path.write_text("theirs")
    assert plan.guarantee.level == "atomic"
    assert desk.files().send(again).evidence is Evidence.REFUSED
    assert path.read_text() == "theirs"
    path.unlink()
    path.parent.rmdir()
    desk.files().send(desk.prepare(plan))
    assert path.read_text() == "old"
    assert os.getxattr(path, "user.colour") == b"blue"


@pytest.mark.requirement("files:undo:restores")
def test_undoing_a_create_archives_the_file_and_leaves_its_folder(desk: Desk) -> None:
    """Somebody may have put something else into the folder meanwhile."""
    attempt, _ = desk.write(CREATE, "a/b/plan.md", text="x")
    plan = desk.undo_plan(attempt)
    assert plan.operation.kind is ARCHIVE
    assert plan.warnings == ("Only the file is archived; the folder notes:a, which was made for it, stays.",)
    desk.files().send(desk.prepare(plan))
    assert list((desk.root / "a" / "b").iterdir()) == []


@pytest.mark.requirement("files:undo:refused")
@pytest.mark.parametrize("kind", [EDIT, ARCHIVE])
def test_an_undo_of_bytes_that_are_gone_or_changed_is_refused(desk: Desk, kind: OperationKind) -> None:
    """Restoring something else than what was there would be a second damage, called a repair."""
    desk.path("plan.md", "old")
    fields: dict[str, Any] = {"text": "new"} if kind is EDIT else {}
    attempt, _ = desk.write(kind, "plan.md", **fields)
    kept = desk.kept(attempt)
    kept.write_text("changed")
    with pytest.raises(RecoveryError, match="somebody changed it") as caught:
        desk.undo_plan(attempt)
    assert caught.value.hint
    kept.unlink()
    with pytest.raises(RecoveryError, match=f"is gone: it was kept at {kept}"):
        desk.undo_plan(attempt)
    kept.mkdir()
    with pytest.raises(RecoveryError, match="was no regular file"):
        desk.undo_plan(attempt)


@pytest.mark.requirement("files:undo:refused")
def test_an_undo_after_a_foreign_displacement_is_refused(desk: Desk) -> None:
    """What is kept is somebody else's, not what was there when the write was shown."""
    path = desk.path("plan.md", "old")
    attempt = desk.prepared(EDIT, "plan.md", text="new")
    path.write_text("theirs")
    desk.files().send(attempt)
    with pytest.raises(RecoveryError, match="somebody changed it"):
        desk.undo_plan(attempt)


@pytest.mark.requirement("files:undo:refused")
def test_an_undo_that_files_do_not_make_is_refused(desk: Desk) -> None:
    """A delete is no undo, and what nobody saw can't be brought back."""
    desk.path("plan.md", "old")
    attempt, _ = desk.write(EDIT, "plan.md", text="new")
    for proposal, reason in (
        (WriteProposal(kind=DELETE, target="notes:plan.md"), "can't undo by delete"),
        (WriteProposal(kind=MOVE, target="notes:plan.md", source="notes:b.md"), "nothing is known to be at notes:b.md"),
        (WriteProposal(kind=EDIT, target="notes:plan.md", restores="absent"), "is not known"),
    ):
        with pytest.raises(RecoveryError, match=reason):
            desk.files().plan_undo(proposal, attempt, desk.blobs)


@pytest.mark.requirement("files:undo:restores")
def test_undo_expects_what_is_there_where_the_proposal_does_not_say(desk: Desk) -> None:
    """A proposal without an expectation is compared with a fresh read."""
    desk.path("plan.md", "old")
    attempt, _ = desk.write(EDIT, "plan.md", text="new")
    proposal = WriteProposal(kind=EDIT, target="notes:plan.md", restores=attempt.before)
    plan = desk.files().plan_undo(proposal, attempt, desk.blobs)
    assert plan.shown.fields["content"] == digest(b"new")


@pytest.mark.requirement("files:preview:shown")
def test_a_preview_shows_the_change_as_text(desk: Desk) -> None:
    """What a person reads before saying yes, in lines that can't move the cursor."""
    desk.path("plan.md", "one\ntwo\n").chmod(0o644)
    plan = desk.plan(EDIT, "plan.md", text="one\nthree\x1b[2J\tx\n", mode="0600")
    assert desk.files().preview(plan, desk.blobs).splitlines() == [
        "mode 0644 -> 0600",
        "--- now",
        "+++ then",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+three\\x1b[2J\tx",
    ]


@pytest.mark.requirement("files:preview:shown")
def test_a_preview_tells_in_words_what_text_can_not_show(desk: Desk) -> None:
    """Bytes, long files and an archive are told by size and digest."""
    path = desk.path("plan.md", b"\0old")
    files = desk.files()
    assert "not text" in files.preview(desk.plan(EDIT, "plan.md", text="x"), desk.blobs)
    assert "4 bytes -> 300000 bytes" in files.preview(desk.plan(EDIT, "plan.md", text="x" * 300000), desk.blobs)
    assert "4 bytes" in files.preview(desk.plan(ARCHIVE, "plan.md"), desk.blobs)
    plan = desk.plan(EDIT, "plan.md", text="x")
    path.write_text("theirs")
    assert "no longer as it was" in files.preview(plan, desk.blobs)
    path.write_text("".join(f"{n}\n" for n in range(500)))
    long = files.preview(desk.plan(EDIT, "plan.md", text="x\n"), desk.blobs)
    assert "more lines)" in long
    path.write_text("a\n")
    assert "only what ends them" in files.preview(desk.plan(EDIT, "plan.md", text="a\r\n"), desk.blobs)
    path.write_text("x" * 300000)
    assert "300000 bytes -> 1 bytes" in files.preview(desk.plan(EDIT, "plan.md", text="x"), desk.blobs)
