"""What a send answers, and what is then in the folder."""

import errno
import os
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from amends.contract.message import render_outcome
from amends.contract.operation import OperationKind, Presence
from amends.contract.outcome import Evidence, OperationResult, WriteOutcome
from amends.errors import TargetError
from amends.ports import Answer, Attempt
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import ARCHIVE, CREATE, EDIT, Desk, ended, in_child, replaced_by_rename, tree
from tests.surfaces.fault import Network, WithoutFlags, failing, watched

LANDING = {CREATE: "rename_noreplace", EDIT: "rename_exchange", ARCHIVE: "rename"}


def message(desk: Desk, attempt: Attempt, answer: Answer) -> str:
    """What a user is told."""
    operation = attempt.operation
    outcome = {
        Evidence.ACKNOWLEDGED: WriteOutcome.APPLIED,
        Evidence.RECEIPT: WriteOutcome.APPLIED,
        Evidence.UNPROVEN: WriteOutcome.AMBIGUOUS,
    }.get(answer.evidence, WriteOutcome.FAILED)
    result = OperationResult(
        operation_id=attempt.operation_id,
        kind=operation.kind,
        target=operation.target,
        outcome=outcome,
        evidence=answer.evidence,
        reason=answer.reason,
        note=answer.note,
        check_hint=answer.hint,
    )
    return render_outcome(result).text


def ready(desk: Desk, kind: OperationKind, syscalls: Syscalls | None = None) -> Attempt:
    """A prepared create of new.md, or edit or archive of plan.md."""
    if kind is CREATE:
        return desk.prepared(CREATE, "new.md", files=desk.files(syscalls), text="new\n")
    desk.path("plan.md", "old\n")
    fields = {"text": "new\n"} if kind is EDIT else {}
    return desk.prepared(kind, "plan.md", files=desk.files(syscalls), **fields)


@pytest.mark.requirement("files:create:never_replaces")
def test_a_create_never_replaces_what_somebody_else_made_meanwhile(desk: Desk) -> None:
    """The look before the write is old by the time that the write lands."""
    attempt = ready(desk, CREATE)
    desk.path("new.md", "theirs")
    answer = desk.files().send(attempt)
    assert message(desk, attempt, answer) == (
        "I couldn't create notes:new.md: it was refused: something is already there; nothing was changed."
    )
    assert (desk.root / "new.md").read_text() == "theirs"


@pytest.mark.requirement("files:create:never_replaces")
def test_a_create_of_a_file_that_is_there_warns_and_never_replaces_it(desk: Desk) -> None:
    """Whoever confirms it in spite of the warning still keeps the file."""
    desk.path("plan.md", "theirs")
    plan = desk.plan(CREATE, "plan.md", text="new")
    answer = desk.files().send(desk.prepare(plan))
    assert "never replaces" in plan.warnings[0]
    assert answer.evidence is Evidence.REFUSED
    assert (desk.root / "plan.md").read_text() == "theirs"


@pytest.mark.requirement("files:create:folders")
def test_missing_folders_appear_together_with_the_file(desk: Desk) -> None:
    """An empty folder left behind by a failed write is a part of a write."""
    plan = desk.plan(CREATE, "a/b/plan.md", text="x")
    assert plan.warnings == ("The folder notes:a/b does not exist; it is made in the same step.",)
    lost = desk.prepare(plan)
    desk.files().fence(lost, is_sender_gone=True)
    desk.files().tidy(lost)
    assert [path.name for path in desk.root.iterdir()] == [".amends"]
    assert list((desk.root / ".amends").rglob("*/*")) == []
    assert desk.files().send(desk.prepare(plan)).evidence is Evidence.ACKNOWLEDGED
    assert (desk.root / "a/b/plan.md").read_text() == "x"


@pytest.mark.requirement("files:create:folders")
def test_a_folder_that_appeared_meanwhile_is_not_merged_into(desk: Desk) -> None:
    """One step can't both make a folder and put a file into somebody else's."""
    attempt = desk.prepared(CREATE, "a/b/plan.md", text="x")
    desk.path("a/theirs.md")
    answer = desk.files().send(attempt)
    assert (answer.evidence, answer.reason) == (Evidence.REFUSED, "something is already there")
    assert [path.name for path in (desk.root / "a").iterdir()] == ["theirs.md"]


@pytest.mark.requirement("files:edit:displaced")
def test_a_foreign_change_in_the_same_moment_is_kept_and_told(desk: Desk) -> None:
    """No filesystem compares and replaces in one step, so what was displaced is looked at afterwards."""
    attempt = ready(desk, EDIT)
    replaced_by_rename(desk.root / "plan.md", b"theirs")
    answer = desk.files().send(attempt)
    kept = desk.root / ".amends" / "archive" / attempt.key
    assert message(desk, attempt, answer) == (
        "I edited notes:plan.md. Somebody else changed notes:plan.md in the same moment; "
        f"what they wrote was displaced and is kept at {kept}."
    )
    assert kept.read_bytes() == b"theirs"
    assert (desk.root / "plan.md").read_text() == "new\n"


@pytest.mark.requirement("files:edit:displaced")
@pytest.mark.parametrize("how", ["in place", "mode", "folder", "link"])
def test_whatever_stood_at_the_target_is_kept_and_told(desk: Desk, how: str) -> None:
    """Also what is no file: an exchange displaces anything, and follows no link."""
    attempt = ready(desk, EDIT)
    path = desk.root / "plan.md"
    if how == "in place":
        path.write_text("theirs")
    elif how == "mode":
        path.chmod(0o600)
    else:
        path.unlink()
        if how == "folder":
            desk.path("plan.md/theirs.md")
        else:
            path.symlink_to("../outside.md")
    answer = desk.files().send(attempt)
    kept = desk.root / ".amends" / "archive" / attempt.key
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert str(kept) in str(answer.note)
    assert kept.lstat()
    assert (desk.root / "plan.md").read_text() == "new\n"
    assert not (desk.root.parent / "outside.md").exists()


@pytest.mark.requirement("files:edit:displaced")
def test_an_archived_foreign_change_is_kept_and_told(desk: Desk) -> None:
    """The file that was carried off is not the one that somebody agreed to archive."""
    attempt = ready(desk, ARCHIVE)
    replaced_by_rename(desk.root / "plan.md", b"theirs")
    answer = desk.files().send(attempt)
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert str(desk.kept(attempt)) in str(answer.note)
    assert desk.kept(attempt).read_bytes() == b"theirs"


@pytest.mark.requirement("files:edit:displaced")
@pytest.mark.parametrize("after_the_link", [False, True])
def test_without_an_exchange_a_foreign_change_is_looked_for_just_before(desk: Desk, after_the_link: bool) -> None:
    """There a rename over the file loses what came in between, so as little as possible is left in between."""
    path = desk.path("plan.md", "old\n")
    attempt = ready(desk, EDIT, WithoutFlags())

    def link(name: str, carry_out: Callable[[], Any]) -> None:
        if not after_the_link:
            replaced_by_rename(path, b"theirs")
        carry_out()
        if after_the_link:
            replaced_by_rename(path, b"theirs")

    answer = desk.files(watched(WithoutFlags(), link, "link")).send(attempt)
    assert answer.evidence is Evidence.NEVER_SENT
    assert "in this moment" in str(answer.reason)
    assert path.read_text() == "theirs"
    assert desk.files(WithoutFlags()).fence(attempt, is_sender_gone=True).evidence is Evidence.NEVER_SENT
    assert path.read_text() == "theirs"


@pytest.mark.requirement("files:send:refused")
@pytest.mark.parametrize("kind", [EDIT, ARCHIVE])
def test_a_target_that_is_gone_is_a_refusal(desk: Desk, kind: OperationKind) -> None:
    """Told apart from an attempt that was set aside, which gives the same error number."""
    attempt = ready(desk, kind)
    (desk.root / "plan.md").unlink()
    answer = desk.files().send(attempt)
    assert (answer.evidence, answer.reason) == (Evidence.REFUSED, "it is not there")
    assert not (desk.root / "plan.md").exists()


@pytest.mark.requirement("files:send:refused")
@pytest.mark.parametrize("kind", LANDING)
@pytest.mark.parametrize(
    "number", [errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.ENOTDIR, errno.ELOOP]
)
def test_a_definite_error_of_the_first_call_is_a_refusal(desk: Desk, kind: OperationKind, number: int) -> None:
    """On a local filesystem these mean that nothing was done."""
    attempt = ready(desk, kind)
    before = tree(desk.root)
    answer = desk.files(failing(Syscalls(), number, LANDING[kind])).send(attempt)
    assert answer.evidence is Evidence.REFUSED
    assert answer.reason
    assert answer.is_quiescent
    assert tree(desk.root) == before


@pytest.mark.requirement("files:send:unproven")
@pytest.mark.parametrize("kind", LANDING)
@pytest.mark.parametrize("after_doing_it", [False, True])
def test_any_other_error_proves_nothing_until_the_fence_looks(
    desk: Desk, kind: OperationKind, after_doing_it: bool
) -> None:
    """An I/O error may come from before or after the change."""
    attempt = ready(desk, kind)
    lossy = failing(Syscalls(), errno.EIO, LANDING[kind], after_doing_it=after_doing_it)
    answer = desk.files(lossy).send(attempt)
    assert answer.evidence is Evidence.UNPROVEN
    assert not answer.is_quiescent
    assert answer.hint
    settled = desk.files().fence(attempt, is_sender_gone=True)
    assert settled.evidence is (Evidence.RECEIPT if after_doing_it else Evidence.NEVER_SENT)


@pytest.mark.requirement("files:send:unproven")
@pytest.mark.parametrize("kind", LANDING)
def test_a_landing_that_can_not_be_synced_is_not_called_applied(desk: Desk, kind: OperationKind) -> None:
    """It is there now and may be gone after a power cut; a second sync may succeed falsely, so none is tried."""
    attempt = ready(desk, kind)
    answer = desk.files(failing(Syscalls(), errno.EIO, "fsync")).send(attempt)
    assert answer.evidence is Evidence.UNPROVEN
    assert answer.is_quiescent
    assert "may not survive a power cut" in str(answer.reason)
    again = desk.files(failing(Syscalls(), errno.EIO, "fsync")).fence(attempt, is_sender_gone=True)
    assert again.evidence is Evidence.UNPROVEN


@pytest.mark.requirement("files:send:network")
@pytest.mark.parametrize("kind", LANDING)
@pytest.mark.parametrize("number", [errno.ENOENT, errno.EEXIST, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("after_doing_it", [False, True])
def test_no_error_of_a_network_filesystem_counts_as_a_refusal(
    desk: Desk, kind: OperationKind, number: int, after_doing_it: bool
) -> None:
    """A server may have done it, lost its answer, done it again and then said that the file is not there."""
    attempt = ready(desk, kind, Network())
    landing = {CREATE: "link", EDIT: "rename", ARCHIVE: "rename"}[kind]
    lossy = failing(Network(), number, landing, after_doing_it=after_doing_it)
    answer = desk.files(lossy).send(attempt)
    assert answer.evidence is Evidence.UNPROVEN
    assert not answer.is_quiescent
    settled = desk.files(Network()).fence(attempt, is_sender_gone=True)
    landed = {CREATE: Evidence.RECEIPT, EDIT: Evidence.RECEIPT, ARCHIVE: Evidence.RECEIPT}[kind]
    not_landed = Evidence.UNPROVEN if kind is CREATE else Evidence.NEVER_SENT
    assert settled.evidence is (landed if after_doing_it else not_landed)
    assert settled.is_quiescent


@pytest.mark.requirement("files:send:network")
def test_a_server_that_lies_about_the_fence_is_looked_behind(desk: Desk) -> None:
    """The staged file is where the fence put it, whatever the server said."""
    attempt = ready(desk, EDIT, Network())
    lossy = failing(Network(), errno.ENOENT, "rename", after_doing_it=True)
    assert desk.files(lossy).fence(attempt, is_sender_gone=True).evidence is Evidence.NEVER_SENT


@pytest.mark.requirement("files:send:confined")
@pytest.mark.parametrize("key", ["sub/plan.md", "sub/new.md"])
def test_a_link_swapped_into_the_path_leads_nowhere(desk: Desk, key: str) -> None:
    """Between the plan and the send, a folder on the way becomes a link out of the root."""
    outside = desk.path("../outside/plan.md", "theirs").parent
    desk.path("sub/plan.md", "old")
    plan = desk.plan(EDIT if key.endswith("plan.md") else CREATE, key, text="new")
    attempt = desk.prepare(plan)
    before = tree(outside)
    (desk.root / "sub").rename(desk.root / "moved")
    (desk.root / "sub").symlink_to(outside)
    assert desk.files().read(f"notes:{key}").presence is Presence.UNREADABLE
    answer = desk.files().send(attempt)
    assert answer.evidence is Evidence.NEVER_SENT
    assert "symbolic link" in str(answer.reason)
    assert desk.files().fence(attempt, is_sender_gone=True).evidence is Evidence.NEVER_SENT
    with pytest.raises(TargetError):
        desk.prepare(plan, before=attempt.before)
    assert tree(outside) == before


@pytest.mark.requirement("files:send:confined")
def test_a_private_folder_from_a_backup_proves_nothing(desk: Desk) -> None:
    """In a copied folder the recorded inodes belong to other files, and would prove whatever they happen to fit."""
    attempt = ready(desk, EDIT)
    private = desk.root / ".amends"
    shutil.copytree(private, desk.root / "copy")
    private.rename(desk.root / "original")
    (desk.root / "copy").rename(private)
    assert desk.files().send(attempt).evidence is Evidence.NEVER_SENT
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, False)
    shutil.rmtree(private)
    assert desk.files().fence(attempt, is_sender_gone=True).evidence is Evidence.UNPROVEN
    assert (desk.root / "plan.md").read_text() == "old\n"


@pytest.mark.requirement("files:send:confined")
def test_an_archive_folder_that_somebody_removed_proves_nothing(desk: Desk) -> None:
    """It was empty or it was not: nobody can tell any more, and waiting will not help."""
    attempt = ready(desk, ARCHIVE)
    shutil.rmtree(desk.root / ".amends" / "archive" / attempt.key)
    for _ in range(2):
        answer = desk.files().fence(attempt, is_sender_gone=True)
        assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)
        assert "somebody removed" in str(answer.reason)
    assert desk.files().send(attempt).evidence is Evidence.NEVER_SENT
    assert (desk.root / "plan.md").exists()


@pytest.mark.requirement("files:send:confined")
def test_something_foreign_in_the_archive_folder_proves_nothing(desk: Desk) -> None:
    """It is not empty, but what is in it is not what was to be put there."""
    attempt = ready(desk, ARCHIVE)
    (desk.root / ".amends" / "archive" / attempt.key / "kept" / "other.md").write_text("theirs")
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, False)


@pytest.mark.requirement("files:guarantee:declared")
def test_what_is_declared_depends_on_the_kind_and_the_filesystem(desk: Desk) -> None:
    """The level is shown before somebody confirms, so it has to be true of the write that follows."""
    desk.path("plan.md")

    def levels(syscalls: Syscalls) -> dict[str, tuple[str, str]]:
        plans = {
            kind: desk.plan(kind, key, files=desk.files(syscalls), **fields)
            for kind, key, fields in (
                (CREATE, "new.md", {"text": "x"}),
                (EDIT, "plan.md", {"text": "x"}),
                (ARCHIVE, "plan.md", {}),
            )
        }
        return {str(kind): (plan.guarantee.level, plan.guarantee.receipt) for kind, plan in plans.items()}

    racy, unsure = ("racy", "same_step"), ("racy", "separate")
    assert levels(Syscalls()) == {"create": ("atomic", "same_step"), "edit": racy, "archive": racy}
    assert levels(WithoutFlags()) == {"create": ("conditional", "separate"), "edit": racy, "archive": racy}
    assert levels(Network()) == {"create": unsure, "edit": unsure, "archive": unsure}


@pytest.mark.requirement("files:guarantee:measured")
@pytest.mark.parametrize(("kind", "call"), [(CREATE, "rename_noreplace"), (EDIT, "rename_exchange")])
def test_a_filesystem_that_does_not_keep_its_promise_is_found_out_before_the_intent(
    desk: Desk, kind: OperationKind, call: str
) -> None:
    """A filesystem may know a flag by name and ignore it; then nothing can be proved of a write to it."""
    plain = os.rename

    def ignore_the_flag(source_fd: int, source: str, target_fd: int, target: str) -> None:
        if source == ".":
            raise OSError(errno.EBUSY, "busy")
        if target != "owner":
            plain(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)

    syscalls = Syscalls()
    setattr(syscalls, call, ignore_the_flag)
    with pytest.raises(TargetError, match=r"can be written|does not do what") as caught:
        ready(desk, kind, syscalls)
    assert caught.value.hint
    assert [path.name for path in (desk.root / ".amends" / "stage").iterdir()] == []


@pytest.mark.requirement("files:guarantee:measured")
def test_a_filesystem_without_hard_links_or_flags_is_refused(desk: Desk) -> None:
    """There is no way left to write that could not leave a part of a file."""
    with pytest.raises(TargetError, match="the system does not permit it"):
        ready(desk, CREATE, failing(WithoutFlags(), errno.EPERM, "link"))


@pytest.mark.requirement("files:guarantee:measured")
def test_a_missing_folder_is_refused_where_it_can_not_come_in_one_step(desk: Desk) -> None:
    """A hard link names files only, so the folder would come first, alone."""
    with pytest.raises(TargetError, match="can't make it in the same step") as caught:
        desk.plan(CREATE, "a/b.md", files=desk.files(WithoutFlags()), text="x")
    assert caught.value.hint == "make the folder first"


@pytest.mark.requirement("files:guarantee:measured")
def test_a_plan_for_another_system_is_not_carried_out_on_this_one(desk: Desk) -> None:
    """What was shown and confirmed named another level."""
    desk.path("plan.md")
    plan = desk.plan(EDIT, "plan.md", text="x")
    with pytest.raises(TargetError, match="no longer what it was") as caught:
        desk.prepare(plan, files=desk.files(WithoutFlags()))
    assert caught.value.hint == "propose it again"


@pytest.mark.requirement("files:race:create")
def test_of_many_processes_that_create_one_file_one_wins(desk: Desk, system: Callable[[], Syscalls]) -> None:
    """The winner's bytes are there whole, and every other one knows that it failed."""
    for turn in range(20):
        key = f"new{turn}.md"
        attempts = [desk.prepared(CREATE, key, files=desk.files(system()), text=f"{turn} {n}") for n in range(4)]
        start, go = os.pipe()

        def send(attempt: Attempt, start: int = start, go: int = go) -> int:
            os.close(go)
            os.read(start, 1)
            return 0 if desk.files(system()).send(attempt).evidence is Evidence.ACKNOWLEDGED else 1

        children = [in_child(partial(send, attempt)) for attempt in attempts]
        os.close(start)
        os.close(go)
        won = [n for n, child in enumerate(children) if ended(child) == 0]
        assert len(won) == 1
        assert (desk.root / key).read_text() == f"{turn} {won[0]}"
        assert (desk.root / key).stat().st_nlink == 1


@pytest.mark.requirement("files:race:edit")
def test_of_many_processes_that_edit_one_file_none_loses_bytes(desk: Desk) -> None:
    """Each exchange displaces what was there, and all that was displaced is kept."""
    path = desk.path("plan.md", "old")
    attempts = [desk.prepared(EDIT, "plan.md", text=f"new {n}") for n in range(8)]

    def send(attempt: Attempt) -> int:
        return 0 if desk.files().send(attempt).evidence is Evidence.ACKNOWLEDGED else 1

    children = [in_child(partial(send, attempt)) for attempt in attempts]
    assert {ended(child) for child in children} == {0}
    kept = sorted((desk.root / ".amends" / "archive" / attempt.key).read_text() for attempt in attempts)
    assert sorted([*kept, path.read_text()]) == sorted(["old", *(f"new {n}" for n in range(8))])


@pytest.mark.requirement("files:race:reader")
def test_a_reader_never_sees_a_part_of_a_file(desk: Desk) -> None:
    """Before, during and after an edit the name leads to a whole version."""
    size = 64 * 1024
    path = desk.path("plan.md", b"0" * size)

    def edit_often() -> int:
        for n in range(1, 10):
            desk.write(EDIT, "plan.md", text=str(n) * size)
        return 0

    child = in_child(edit_often)
    seen = set()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        content = path.read_bytes()
        seen.add((len(content), len(set(content))))
    assert seen == {(size, 1)}


@pytest.mark.requirement("files:tidy:own")
@pytest.mark.parametrize("kind", LANDING)
def test_tidying_never_removes_displaced_or_archived_bytes(
    desk: Desk, kind: OperationKind, system: Callable[[], Syscalls]
) -> None:
    """Even when it is called for a write that landed after all."""
    attempt = ready(desk, kind, system())
    desk.files(system()).send(attempt)
    before = tree(desk.root)
    desk.files(system()).tidy(attempt)
    assert tree(desk.root) == before


@pytest.mark.requirement("files:tidy:own")
@pytest.mark.parametrize("kind", LANDING)
def test_a_tidied_failure_leaves_nothing_behind(
    desk: Desk, kind: OperationKind, system: Callable[[], Syscalls]
) -> None:
    """The private folder would grow with every failure."""
    attempt = ready(desk, kind, system())
    desk.files(system()).fence(attempt, is_sender_gone=True)
    desk.files(system()).tidy(attempt)
    assert [*(desk.root / ".amends/stage").iterdir(), *(desk.root / ".amends/archive").iterdir()] == []
