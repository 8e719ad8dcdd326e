"""Moves and renames: one step, onto a free name, of exactly what was shown, or told."""

import errno
import os
from dataclasses import replace

import pytest

from amends.contract.operation import ABSENT, Fact, OperationKind, Presence
from amends.contract.outcome import Evidence
from amends.contract.proposal import WriteProposal
from amends.errors import DocumentError, RecoveryError, TargetError
from amends.ports import Attempt
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, MOVE, RENAME, Desk, digest, replaced_by_rename, tree
from tests.surfaces.fault import OVERLAY_NUMBER, Folding, Network, WithoutFlags, failing


def moving(desk: Desk, content: str = "old\n") -> Attempt:
    """A prepared move of plan.md to sub/plan.md."""
    desk.path("plan.md", content)
    (desk.root / "sub").mkdir(exist_ok=True)
    return desk.prepared(MOVE, "sub/plan.md", source="plan.md")


@pytest.mark.requirement("files:move:whole")
def test_a_moved_file_is_the_same_file_at_its_new_place(desk: Desk) -> None:
    """Nothing is copied, so nothing of it can be lost: times, attributes, other names."""
    path = desk.path("plan.md", "old\n")
    os.setxattr(path, "user.colour", b"blue")
    was = path.stat()
    (desk.root / "sub").mkdir()
    plan = desk.plan(MOVE, "sub/other.md", source="./plan.md")
    assert (plan.operation.source, plan.operation.target) == ("notes:plan.md", "notes:sub/other.md")
    assert plan.operation.postcondition == (
        Fact("notes:sub/other.md", "content", digest(b"old\n")),
        Fact("notes:sub/other.md", "mode", f"{was.st_mode & 0o7777:04o}"),
        Fact("notes:plan.md", "content", ABSENT),
    )
    assert plan.shown.presence is Presence.ABSENT
    assert plan.shown_source == desk.files().read("notes:plan.md")
    assert desk.files().send(desk.prepare(plan)).evidence is Evidence.ACKNOWLEDGED
    moved = desk.root / "sub" / "other.md"
    assert not path.exists()
    assert (moved.stat().st_ino, moved.stat().st_mtime_ns) == (was.st_ino, was.st_mtime_ns)
    assert os.getxattr(moved, "user.colour") == b"blue"


@pytest.mark.requirement("files:move:repeated")
@pytest.mark.parametrize("key", ["plan.md", "folder"])
def test_a_move_that_is_asked_for_again_is_told_what_was_found(desk: Desk, key: str) -> None:
    """The request does not say what was to be moved, so nobody can say that this is it; what is there can be said."""
    desk.path("plan.md", "old\n")
    desk.path("folder/a.md")
    (desk.root / "sub").mkdir()
    desk.write(MOVE, f"sub/{key}", source=key)
    before = tree(desk.root)
    with pytest.raises(TargetError) as caught:
        desk.plan(MOVE, f"sub/{key}", source=key)
    fields = desk.files().read(f"notes:sub/{key}").fields
    one = f"folder with 1 entry, {fields.get('tree')}"
    what = one if key == "folder" else f"file of 4 bytes, {fields.get('content')}"
    assert str(caught.value) == f"nothing is at notes:{key} to move; at notes:sub/{key} is the {what}"
    assert caught.value.hint == "if that is what you mean, it was moved already: amends log shows by which write"
    assert tree(desk.root) == before


@pytest.mark.requirement("files:move:parents")
@pytest.mark.parametrize(
    ("kind", "key", "reason"),
    [
        (RENAME, "sub/plan.md", "different parents"),
        (MOVE, "other.md", "the same parent"),
        (MOVE, "sub/../other.md", "the same parent"),
        (RENAME, "./plan.md", "is where it is to go already"),
        (MOVE, "no/such/plan.md", "does not exist"),
        (MOVE, "../plan.md", "leads out of"),
        (MOVE, "link/plan.md", "leads out of"),
        (MOVE, ".amends/stage/plan.md", "where Amends keeps"),
    ],
)
def test_a_place_that_does_not_fit_the_kind_is_refused_with_the_way(
    desk: Desk, kind: OperationKind, key: str, reason: str
) -> None:
    """Whoever mixes the two up is told the other one, and nothing is made on the way."""
    desk.path("plan.md")
    (desk.root / "sub").mkdir()
    (desk.root / "link").symlink_to("..")
    before = tree(desk.root)
    with pytest.raises(TargetError, match=reason) as caught:
        desk.plan(kind, key, source="plan.md")
    assert caught.value.hint
    if "parent" in reason:
        assert caught.value.hint == f"ask for a {'move' if kind is RENAME else 'rename'} instead"
    assert tree(desk.root) == before


@pytest.mark.requirement("files:move:parents")
def test_what_can_not_be_moved_is_refused_by_name(desk: Desk) -> None:
    """Nothing, a link, a pipe, a folder into itself; and a move has no content to set."""
    desk.path("folder/a.md")
    desk.path("plan.md")
    (desk.root / "link.md").symlink_to("plan.md")
    os.mkfifo(desk.root / "pipe")
    for source, key, reason in (
        ("no.md", "other.md", "nothing is at notes:no.md to rename"),
        ("link.md", "other.md", "links are left as they are"),
        ("pipe", "other", "it is a named pipe"),
        ("", "other", "a rename of nothing"),
    ):
        with pytest.raises(TargetError, match=reason) as caught:
            desk.plan(RENAME, key, source=source)
        assert caught.value.hint
    with pytest.raises(TargetError, match="can't go into itself"):
        desk.plan(MOVE, "folder/deeper", source="folder")
    with pytest.raises(DocumentError, match="'text' is no field of move"):
        desk.plan(MOVE, "folder/plan.md", source="plan.md", text="x")


@pytest.mark.requirement("files:move:never_replaces")
def test_something_at_the_new_place_is_never_replaced(desk: Desk) -> None:
    """A plain rename would silently replace it: seen at the plan it is refused, seen at the landing as well."""
    attempt = moving(desk)
    theirs = desk.path("sub/plan.md", "theirs")
    with pytest.raises(TargetError, match=r"something is at notes:sub/plan\.md already") as caught:
        desk.plan(MOVE, "sub/plan.md", source="plan.md")
    assert "archive what is there first" in str(caught.value.hint)
    answer = desk.files().send(attempt)
    assert (answer.evidence, answer.reason) == (Evidence.REFUSED, "something is already there")
    assert theirs.read_text() == "theirs"
    assert (desk.root / "plan.md").read_text() == "old\n"


@pytest.mark.requirement("files:move:never_replaces")
def test_a_rename_onto_another_name_of_the_same_file_is_no_success(desk: Desk) -> None:
    """The kernel answers a plain rename of one to the other with success, and does nothing."""
    path = desk.path("one.md")
    attempt = desk.prepared(RENAME, "two.md", source="one.md")
    (desk.root / "two.md").hardlink_to(path)
    with pytest.raises(TargetError, match=r"something is at notes:two\.md already"):
        desk.plan(RENAME, "two.md", source="one.md")
    assert desk.files().send(attempt).evidence is Evidence.REFUSED
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)
    assert sorted(os.listdir(desk.root)) == [".amends", "one.md", "two.md"]


@pytest.mark.requirement("files:move:never_replaces")
def test_two_spellings_that_are_two_names_of_one_file_stay_two(desk: Desk) -> None:
    """Hard links whose names differ in case only look like one entry of a folder that folds names, and are not."""
    path = desk.path("plan")
    (desk.root / "PLAN").hardlink_to(path)
    for name, other in (("plan", "PLAN"), ("PLAN", "plan")):
        with pytest.raises(TargetError, match=f"something is at notes:{other} already"):
            desk.plan(RENAME, other, source=name)
        assert desk.plan(ARCHIVE, name).operation.target == f"notes:{name}"
    attempt, answer = desk.write(RENAME, "Plan", source="plan")
    assert (answer.evidence, attempt.payload["way"]) == (Evidence.ACKNOWLEDGED, "move")
    _, answer = desk.write(DELETE, "PLAN")
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert sorted(os.listdir(desk.root)) == [".amends", "Plan"]
    assert (desk.root / "Plan").read_text() == "old\n"


@pytest.mark.requirement("files:move:never_replaces")
def test_a_folder_is_never_merged_into_another(desk: Desk) -> None:
    """A plain rename replaces an empty folder, and nobody asked for that."""
    desk.path("folder/a.md")
    attempt = desk.prepared(RENAME, "other", source="folder")
    (desk.root / "other").mkdir()
    assert desk.files().send(attempt).evidence is Evidence.REFUSED
    assert list((desk.root / "other").iterdir()) == []


@pytest.mark.requirement("files:move:whole")
def test_moving_one_of_several_names_says_that_the_others_stay(desk: Desk) -> None:
    """It is a sensible wish, but the file is still at its other names."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)
    plan = desk.plan(RENAME, "three.md", source="one.md")
    assert plan.warnings == ("notes:one.md has 2 names; only this one is renamed, the others stay.",)
    assert desk.files().send(desk.prepare(plan)).evidence is Evidence.ACKNOWLEDGED
    assert (desk.root / "two.md").samefile(desk.root / "three.md")


@pytest.mark.requirement("files:move:changed")
@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_what_changed_in_the_same_moment_is_moved_and_told(desk: Desk, how: str) -> None:
    """The kernel moves whatever has the name; that it is not what was shown is found out afterwards."""
    attempt = moving(desk)
    if how == "replaced":
        replaced_by_rename(desk.root / "plan.md", b"theirs")
    else:
        (desk.root / "plan.md").write_text("theirs")
    answer = desk.files().send(attempt)
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert "what they wrote was moved too and is at notes:sub/plan.md" in str(answer.note)
    assert (desk.root / "sub" / "plan.md").read_text() == "theirs"


@pytest.mark.requirement("files:move:proof")
def test_a_later_file_with_the_same_number_is_no_receipt(desk: Desk) -> None:
    """Filesystems give the number of a removed file to the next one; when it was made tells them apart."""
    attempt = moving(desk)
    (desk.root / "plan.md").unlink()
    later = desk.path("sub/plan.md", "old\n")
    attempt = replace(attempt, prepared={**attempt.prepared, "staged": later.stat().st_ino})
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)


@pytest.mark.requirement("files:move:proof")
@pytest.mark.parametrize("touch", ["back", "mode", "linked", "elsewhere"])
def test_a_source_that_was_touched_since_proves_nothing(desk: Desk, touch: str) -> None:
    """It may have been there and back, so neither can be said; and waiting will not help."""
    attempt = moving(desk)
    path = desk.root / "plan.md"
    if touch == "back":
        desk.files().send(attempt)
        (desk.root / "sub" / "plan.md").rename(path)
    elif touch == "mode":
        path.chmod(0o600)
    elif touch == "linked":
        (desk.root / "sub" / "plan.md").hardlink_to(path)
    else:
        path.rename(desk.root / "gone.md")
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)
    assert answer.reason == (
        "it is elsewhere" if touch in ("linked", "elsewhere") else "it is where it was, but was touched since"
    )
    assert str(path) in str(answer.hint)


@pytest.mark.requirement("files:move:proof")
@pytest.mark.parametrize("after_doing_it", [False, True])
def test_an_error_that_proves_nothing_is_settled_by_where_it_is(desk: Desk, after_doing_it: bool) -> None:
    """An I/O error may come from before or after the rename."""
    attempt = moving(desk)
    lossy = failing(Syscalls(), errno.EIO, "rename_noreplace", after_doing_it=after_doing_it)
    answer = desk.files(lossy).send(attempt)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, False)
    settled = desk.files().fence(attempt, is_sender_gone=True)
    assert settled.evidence is (Evidence.RECEIPT if after_doing_it else Evidence.NEVER_SENT)


@pytest.mark.requirement("files:move:proof")
def test_a_receipt_of_a_changed_file_tells_the_change(desk: Desk) -> None:
    """It is our move, but no longer what was moved."""
    attempt = moving(desk)
    desk.files().send(attempt)
    (desk.root / "sub" / "plan.md").write_text("theirs")
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert answer.evidence is Evidence.RECEIPT
    assert "moved too" in str(answer.note)


@pytest.mark.requirement("files:move:proof")
def test_a_landing_that_can_not_be_synced_is_settled_as_unproven(desk: Desk) -> None:
    """It is there now and may be gone after a power cut."""
    attempt = moving(desk)
    answer = desk.files(failing(Syscalls(), errno.EIO, "fsync")).send(attempt)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)
    again = desk.files(failing(Syscalls(), errno.EIO, "fsync")).fence(attempt, is_sender_gone=True)
    assert again.evidence is Evidence.UNPROVEN


@pytest.mark.requirement("files:move:proof")
def test_a_folder_that_is_gone_is_looked_behind(desk: Desk) -> None:
    """The folder that it came from may be removed once it is empty; the receipt is at the target."""
    desk.path("from/plan.md")
    (desk.root / "sub").mkdir()
    attempt = desk.prepared(MOVE, "sub/plan.md", source="from/plan.md")
    desk.files().send(attempt)
    (desk.root / "from").rmdir()
    assert desk.files().fence(attempt, is_sender_gone=True).evidence is Evidence.RECEIPT
    attempt = desk.prepared(RENAME, "sub/b.md", source="sub/plan.md")
    (desk.root / "sub").rename(desk.root / "away")
    assert desk.files().send(attempt).evidence is Evidence.NEVER_SENT
    assert desk.files().fence(attempt, is_sender_gone=True).reason == "it is elsewhere"


@pytest.mark.requirement("files:guarantee:declared")
def test_a_move_is_racy_and_only_the_end_of_its_sender_rules_it_out(desk: Desk) -> None:
    """Where inodes change on a rename, as on an overlay, no receipt is declared; elsewhere a move is refused."""
    desk.path("plan.md")
    plan = desk.plan(RENAME, "b.md", source="plan.md")
    assert (plan.guarantee.level, plan.guarantee.receipt, plan.guarantee.fence) == ("racy", "same_step", "kill")

    class Overlay(Syscalls):
        def filesystem(self, fd: int) -> int:
            return OVERLAY_NUMBER

    plan = desk.plan(RENAME, "b.md", source="plan.md", files=desk.files(Overlay()))
    assert (plan.guarantee.level, plan.guarantee.receipt) == ("racy", "none")
    assert desk.files(Overlay()).send(desk.prepare(plan, files=desk.files(Overlay()))).evidence is Evidence.ACKNOWLEDGED
    for system in (WithoutFlags(), Network()):
        with pytest.raises(TargetError, match="without the risk of replacing") as caught:
            desk.plan(RENAME, "c.md", source="b.md", files=desk.files(system))
        assert "archive the old one" in str(caught.value.hint)


@pytest.mark.requirement("files:guarantee:measured")
def test_a_filesystem_that_does_not_mark_a_rename_is_found_out_before_the_intent(desk: Desk) -> None:
    """If a rename leaves the ctime alone, or makes another inode, the fence would take what moved for untouched."""

    class Unmarked(Syscalls):
        def stat(self, folder_fd: int, name: str) -> os.stat_result:
            seen = super().stat(folder_fd, name)
            if not name.startswith("probe."):
                return seen
            return os.stat_result([*seen[:10]], {"st_ctime_ns": 1, "st_mtime_ns": 1, "st_atime_ns": 1})

    desk.path("plan.md")
    plan = desk.plan(RENAME, "b.md", source="plan.md")
    with pytest.raises(TargetError, match="does not do what move needs"):
        desk.prepare(plan, files=desk.files(Unmarked()))
    assert list((desk.root / ".amends" / "stage").iterdir()) == []


@pytest.mark.requirement("files:move:proof")
def test_a_source_that_is_gone_before_the_intent_is_refused(desk: Desk) -> None:
    """Nothing is recorded for it and nothing is sent."""
    path = desk.path("plan.md")
    plan = desk.plan(RENAME, "b.md", source="plan.md")
    attempt = desk.attempt(plan)
    path.unlink()
    with pytest.raises(TargetError, match="it is not there"):
        desk.files().prepare(attempt, desk.blobs)
    os.mkfifo(path)
    with pytest.raises(TargetError, match="is a named pipe now"):
        desk.files().prepare(attempt, desk.blobs)


@pytest.mark.requirement("files:move:respelled")
def test_a_new_spelling_takes_effect_where_the_folder_takes_both_for_one(desk: Desk) -> None:
    """There a rename in one step is answered with success and does nothing, so it goes by way of the stage."""
    desk.path("Plan.md", "old\n")
    files = desk.files(Folding())
    plan = desk.plan(RENAME, "plan.md", source="PLAN.md", files=files)
    assert (plan.operation.source, plan.operation.target) == ("notes:Plan.md", "notes:plan.md")
    attempt = desk.prepare(plan, files=files)
    assert files.send(attempt).evidence is Evidence.ACKNOWLEDGED
    assert sorted(os.listdir(desk.root)) == [".amends", "plan.md"]
    assert plan.operation.holds(files.read("notes:plan.md"), files.read("notes:Plan.md"))
    back = desk.undo_plan(attempt, files=files)
    assert files.send(desk.prepare(back, files=files)).evidence is Evidence.ACKNOWLEDGED
    assert sorted(os.listdir(desk.root)) == [".amends", "Plan.md"]


@pytest.mark.requirement("files:move:respelled")
def test_a_new_spelling_that_somebody_takes_in_between_loses_nothing(desk: Desk) -> None:
    """The file is for a moment at neither name; whoever comes then does not lose, and neither do we."""
    path = desk.path("Plan.md", "old\n")
    files = desk.files(Folding())
    attempt = desk.prepared(RENAME, "plan.md", source="Plan.md", files=files)

    class Taken(Folding):
        def rename_noreplace(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
            super().rename_noreplace(source_fd, source, target_fd, target)
            path.write_text("theirs")

    answer = desk.files(Taken()).send(attempt)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, False)
    settled = files.fence(attempt, is_sender_gone=True)
    kept = desk.root / ".amends" / "stage" / attempt.key
    assert (settled.evidence, settled.is_quiescent) == (Evidence.UNPROVEN, True)
    assert settled.reason == f"something else is where it was; it is kept at {kept}"
    assert (kept.read_text(), path.read_text()) == ("old\n", "theirs")


@pytest.mark.requirement("files:move:respelled")
def test_elsewhere_a_new_spelling_is_a_name_like_any_other(desk: Desk) -> None:
    """Two spellings are two files there."""
    desk.path("Plan.md", "old\n")
    attempt, answer = desk.write(RENAME, "plan.md", source="Plan.md")
    assert (answer.evidence, attempt.payload["way"]) == (Evidence.ACKNOWLEDGED, "move")
    desk.path("Plan.md", "another\n")
    with pytest.raises(TargetError, match=r"something is at notes:Plan\.md already"):
        desk.plan(RENAME, "Plan.md", source="plan.md")


@pytest.mark.requirement("files:move:undone")
@pytest.mark.parametrize(("kind", "key"), [(MOVE, "sub/plan.md"), (RENAME, "other.md")])
def test_an_undo_moves_it_back_and_its_undo_forth(desk: Desk, kind: OperationKind, key: str) -> None:
    """Shown is what the move left, so a file that changed since is refused as stale."""
    path = desk.path("plan.md", "old\n")
    (desk.root / "sub").mkdir()
    before = desk.files().read("notes:plan.md")
    attempt, _ = desk.write(kind, key, source="plan.md")
    plan = desk.undo_plan(attempt)
    assert (plan.operation.kind, plan.operation.source, plan.operation.target) == (
        kind,
        f"notes:{key}",
        "notes:plan.md",
    )
    assert plan.shown_source == desk.files().read(f"notes:{key}")
    undone = desk.prepare(plan)
    assert desk.files().send(undone).evidence is Evidence.ACKNOWLEDGED
    assert desk.files().read("notes:plan.md").same_as(before)
    desk.files().send(desk.prepare(desk.undo_plan(undone)))
    assert not path.exists()
    assert desk.files().read(f"notes:{key}").same_as(before)


@pytest.mark.requirement("files:undo:refused")
def test_a_move_back_into_a_folder_that_is_gone_is_refused(desk: Desk) -> None:
    """A rename can't make the folder in the same step."""
    desk.path("from/plan.md")
    (desk.root / "sub").mkdir()
    attempt, _ = desk.write(MOVE, "sub/plan.md", source="from/plan.md")
    (desk.root / "from").rmdir()
    with pytest.raises(RecoveryError, match="the folder notes:from is not there any more") as caught:
        desk.undo_plan(attempt)
    assert caught.value.hint == "make it, then undo again"
    (desk.root / "from").mkdir()
    proposal = WriteProposal(kind=MOVE, target="notes:from/plan.md", source="notes:sub/plan.md")
    assert desk.files().plan_undo(proposal, attempt, desk.blobs).shown_source == desk.files().read("notes:sub/plan.md")


@pytest.mark.requirement("files:plan:again")
def test_what_is_planned_again_is_planned_against_what_is_there(desk: Desk) -> None:
    """A follow-up wants the same, but what was shown before is old."""
    desk.path("plan.md", "old\n")
    desk.path("gone.md", "old\n")
    move, archive = desk.plan(RENAME, "b.md", source="plan.md"), desk.plan(ARCHIVE, "gone.md")
    edit, create = desk.plan(EDIT, "gone.md", text="x"), desk.plan(CREATE, "new.md", text="x")
    desk.path("plan.md", "newer\n")
    (desk.root / "gone.md").unlink()
    desk.path("new.md", "theirs")
    files = desk.files()
    again = files.replan(move, desk.blobs)
    assert again.operation.postcondition[0] == Fact("notes:b.md", "content", digest(b"newer\n"))
    assert files.replan(archive, desk.blobs).shown.presence is Presence.ABSENT
    assert files.replan(edit, desk.blobs).operation.kind is CREATE
    assert files.replan(create, desk.blobs).operation.kind is EDIT
    desk.path("b.md", "theirs")
    with pytest.raises(TargetError, match=r"something is at notes:b\.md already"):
        files.replan(move, desk.blobs)
    (desk.root / "plan.md").unlink()
    with pytest.raises(TargetError, match=r"nothing is at notes:plan\.md to rename"):
        files.replan(move, desk.blobs)


@pytest.mark.requirement("files:preview:shown")
def test_a_preview_of_a_move_names_both_places(desk: Desk) -> None:
    """And tells when either is no longer as it was planned."""
    path = desk.path("plan.md", "old\n")
    plan = desk.plan(RENAME, "b\x1b.md", source="plan.md")
    shown = desk.files().preview(plan, desk.blobs)
    what = f"the file of 4 bytes, {plan.operation.postcondition[0].value}"
    assert shown == f"Takes {what} from notes:plan.md to notes:b\\x1b.md."
    path.write_text("theirs")
    assert "no longer as it was" in desk.files().preview(plan, desk.blobs)
