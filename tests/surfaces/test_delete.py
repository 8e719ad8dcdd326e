"""Deletes: what was shown is gone for good, and nothing else is."""

import os
import signal
from collections.abc import Callable
from functools import partial

import pytest

from amends.contract.outcome import Evidence, OperationResult, WriteOutcome
from amends.contract.undo import build_undo
from amends.errors import RecoveryError, TargetError
from amends.ports import Attempt
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import DELETE, Desk, ended, in_child, replaced_by_rename, tree
from tests.surfaces.fault import failing, watched
from tests.surfaces.test_crash import CALLS_MAX, Signal


def private(desk: Desk) -> list[str]:
    """Everything that is kept in the private folder but its own folders."""
    room = desk.root / ".amends"
    return sorted(str(path.relative_to(room)) for path in room.rglob("*") if path.parent != room)


@pytest.mark.requirement("files:delete:nothing")
def test_a_folder_is_not_deleted(desk: Desk) -> None:
    """Its names are removed one by one, and a file that somebody adds in between would go with them, untold."""
    desk.path("folder/a.md")
    with pytest.raises(TargetError, match="is a folder: what somebody puts into it"):
        desk.plan(DELETE, "folder")
    assert (desk.root / "folder" / "a.md").exists()


@pytest.mark.requirement("files:delete:nothing")
@pytest.mark.parametrize("key", ["plan.md"])
def test_a_delete_keeps_nothing_and_says_so_first(desk: Desk, key: str, system: Callable[[], Syscalls]) -> None:
    """Whoever confirms it must know, and no copy may be left that nobody knows of."""
    desk.path("plan.md", "secret")
    desk.path("folder/deep/a.md", "secret")
    (desk.root / "folder" / "link").symlink_to("../plan.md")
    (desk.root / "folder" / "deep").chmod(0o500)
    files = desk.files(system())
    plan = desk.plan(DELETE, key, files=files)
    assert plan.warnings == ("This keeps nothing.",)
    assert not plan.undoable
    assert "for good" in files.preview(plan, desk.blobs)
    attempt = desk.prepare(plan, files=files)
    assert files.send(attempt).evidence is Evidence.ACKNOWLEDGED
    assert files.fence(attempt, is_sender_gone=True).evidence is Evidence.RECEIPT
    files.tidy(attempt)
    assert private(desk) == []
    assert not (desk.root / key).exists()
    assert (desk.root / ("folder" if key == "plan.md" else "plan.md")).exists()


@pytest.mark.requirement("files:delete:nothing")
def test_a_delete_has_no_undo_at_all(desk: Desk) -> None:
    """It is said, instead of an undo that restores less than it promises."""
    desk.path("plan.md")
    attempt, _ = desk.write(DELETE, "plan.md")
    result = OperationResult(
        operation_id=attempt.operation_id,
        kind=DELETE,
        target="notes:plan.md",
        outcome=WriteOutcome.APPLIED,
        before=attempt.before,
        undoable=False,
    )
    with pytest.raises(RecoveryError, match="kept nothing"):
        build_undo(result)


@pytest.mark.requirement("files:delete:foreign")
def test_a_delete_never_removes_what_nobody_agreed_to(desk: Desk) -> None:
    """Somebody replaced the file in the same moment: theirs was carried off, is kept, and is told."""
    path = desk.path("plan.md", "old")
    attempt = desk.prepared(DELETE, "plan.md")
    replaced_by_rename(path, b"theirs")
    answer = desk.files().send(attempt)
    desk.files().tidy(attempt)
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert str(desk.kept(attempt)) in str(answer.note)
    assert desk.kept(attempt).read_bytes() == b"theirs"
    desk.files().tidy(attempt)
    assert desk.kept(attempt).read_bytes() == b"theirs"


@pytest.mark.requirement("files:delete:foreign")
def test_deleting_one_of_several_names_says_that_the_others_stay(desk: Desk) -> None:
    """The bytes are not gone while another name holds them."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)
    plan = desk.plan(DELETE, "one.md")
    assert "only this one is deleted, the others stay" in plan.warnings[1]
    attempt = desk.prepare(plan)
    desk.files().send(attempt)
    desk.files().tidy(attempt)
    assert private(desk) == []
    assert (desk.root / "two.md").read_text() == "old\n"


@pytest.mark.requirement("files:delete:foreign")
def test_a_delete_that_failed_removes_nothing(desk: Desk) -> None:
    """Tidied before anything landed, or after it was set aside, the file is where it was."""
    path = desk.path("plan.md", "old")
    attempt = desk.prepared(DELETE, "plan.md")
    desk.files().fence(attempt, is_sender_gone=True)
    desk.files().tidy(attempt)
    assert path.read_text() == "old"
    assert private(desk) == []
    assert desk.files().send(attempt).evidence is Evidence.NEVER_SENT


@pytest.mark.requirement("files:delete:removed")
def test_a_removal_killed_at_any_step_is_finished_by_the_next_delete(desk: Desk) -> None:
    """What lies in the trash belongs to a delete that is recorded, so whoever comes next may remove it."""

    def tidy(attempt: Attempt, syscalls: Syscalls) -> int:
        desk.files(syscalls).tidy(attempt)
        return 0

    for step in range(CALLS_MAX):
        desk.path("gone.md")
        attempt, _ = desk.write(DELETE, "gone.md")
        dying = watched(Syscalls(), Signal(signal.SIGKILL, step))
        code = ended(in_child(partial(tidy, attempt, dying)))
        verdict = desk.files().fence(attempt, is_sender_gone=True)
        assert verdict.evidence in (Evidence.RECEIPT, Evidence.UNPROVEN), "what landed is never called failed"
        desk.files().tidy(attempt)
        desk.path("plan.md")
        other, _ = desk.write(DELETE, "plan.md")
        desk.files().tidy(other)
        assert private(desk) == []
        if code == 0:
            return
    pytest.fail(f"a removal makes more than {CALLS_MAX} calls")


@pytest.mark.requirement("files:delete:removed")
def test_a_removal_that_is_not_permitted_is_no_error(desk: Desk) -> None:
    """The outcome is recorded by then; what could not be removed stays in the private folder for the next one."""
    desk.path("plan.md", "old")
    attempt, _ = desk.write(DELETE, "plan.md")
    desk.files(failing(Syscalls(), 13, "unlink", "rmdir")).tidy(attempt)
    assert private(desk) != []
    desk.files(failing(Syscalls(), 13, "mkdir", "rename")).tidy(attempt)
    before = tree(desk.root)
    os.rename(desk.root / ".amends", desk.root / "elsewhere")
    desk.files().tidy(attempt)
    os.rename(desk.root / "elsewhere", desk.root / ".amends")
    assert tree(desk.root).keys() == before.keys()
    desk.files().tidy(attempt)
    assert private(desk) == []
