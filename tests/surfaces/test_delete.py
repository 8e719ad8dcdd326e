"""Deletes: what was confirmed is gone for good, and nothing else is."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amends.contract.message import render_outcome
from amends.contract.outcome import Evidence, OperationResult, WriteOutcome
from amends.contract.undo import build_undo
from amends.errors import RecoveryError, TargetError
from amends.ports import Answer, Attempt
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import DELETE, Desk, ended, in_child, replaced_by_rename, tree
from tests.surfaces.fault import WithoutFlags, failing, watched
from tests.surfaces.test_crash import Signal

REMOVAL_CALLS_MAX = 80  # two for each entry of the folder below, and some for the marks


def private(desk: Desk) -> list[str]:
    """Everything that is kept in the private folder but its own folders."""
    room = desk.root / ".amends"
    return sorted(str(path.relative_to(room)) for path in room.rglob("*") if path.parent not in (room, room / "stage"))


def folder(desk: Desk) -> Path:
    """A folder with what folders hold: files, an empty folder, a link that leads out of it, a pipe."""
    desk.path("outside.md", "outside")
    desk.path("folder/a.md", "a")
    desk.path("folder/deep/b.md", "b")
    (desk.root / "folder" / "empty").mkdir(exist_ok=True)
    if not (desk.root / "folder" / "link").is_symlink():
        (desk.root / "folder" / "link").symlink_to("../outside.md")
        os.mkfifo(desk.root / "folder" / "deep" / "pipe")
    return desk.root / "folder"


def going(desk: Desk, attempt: Attempt) -> Path:
    """Where what is removed is meanwhile."""
    return desk.root / ".amends" / "archive" / attempt.key / "going"


def told(attempt: Attempt, answer: Answer) -> str:
    """What a person reads of it."""
    outcomes = {
        Evidence.ACKNOWLEDGED: WriteOutcome.APPLIED,
        Evidence.RECEIPT: WriteOutcome.APPLIED,
        Evidence.NEVER_SENT: WriteOutcome.FAILED,
        Evidence.PARTIAL: WriteOutcome.AMBIGUOUS,
    }
    result = OperationResult(
        operation_id=attempt.operation_id,
        kind=DELETE,
        target=attempt.operation.target,
        outcome=outcomes[answer.evidence],
        evidence=answer.evidence,
        reason=answer.reason,
        note=answer.note,
        check_hint=answer.hint,
        undoable=False,
    )
    return render_outcome(result).text


@pytest.mark.requirement("files:delete:nothing")
@pytest.mark.parametrize("key", ["plan.md", "folder"])
def test_a_delete_keeps_nothing_and_says_so_first(desk: Desk, key: str, system: Callable[[], Syscalls]) -> None:
    """Whoever confirms it must know, and no copy may be left that nobody knows of, nor a list of names."""
    desk.path("plan.md", "secret")
    (folder(desk) / "deep").chmod(0o500)
    files = desk.files(system())
    plan = desk.plan(DELETE, key, files=files)
    assert plan.warnings == ("This keeps nothing.",)
    assert not plan.undoable
    shown = files.preview(plan, desk.blobs)
    what = "the file of 6 bytes" if key == "plan.md" else "the folder with 6 entries"
    assert shown.startswith(f"Removes {what}, sha256:")
    assert shown.endswith(" for good.")
    attempt = desk.prepare(plan, files=files)
    answer = files.send(attempt)
    assert answer == Answer(Evidence.ACKNOWLEDGED)
    assert told(attempt, answer) == f"I deleted notes:{key}."
    marks = [f"archive/{attempt.key}", f"archive/{attempt.key}/gone"]
    assert [name for name in private(desk) if not name.startswith("writers/")] == marks
    assert files.fence(attempt, is_sender_gone=True).evidence is Evidence.RECEIPT
    files.tidy(attempt)
    assert private(desk) == []
    assert not (desk.root / key).exists()
    assert (desk.root / ("folder" if key == "plan.md" else "plan.md")).exists()
    assert (desk.root / "outside.md").read_text() == "outside"


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
@pytest.mark.parametrize("how", ["replaced", "in place", "added", "mode", "removed"])
def test_what_nobody_agreed_to_is_brought_back_to_its_place(desk: Desk, how: str) -> None:
    """Somebody changed it in the same moment: it was carried off, looked at, and given back, and nothing is lost."""
    path = desk.path("plan.md", "old") if how in ("replaced", "in place") else folder(desk)
    attempt = desk.prepared(DELETE, path.name)
    if how == "replaced":
        replaced_by_rename(path, b"theirs")
    elif how == "in place":
        path.write_bytes(b"theirs")
    elif how == "added":
        (path / "deep" / "theirs.md").write_text("theirs")
    elif how == "mode":
        (path / "a.md").chmod(0o755)
    else:
        (path / "a.md").unlink()
    before = tree(path)
    answer = desk.files().send(attempt)
    assert tree(path) == before
    assert told(attempt, answer) == (
        f"I couldn't delete notes:{path.name}: somebody else changed it in the same moment, so it was brought back to"
        " its place; nothing was changed."
    )
    again = desk.files().fence(attempt, is_sender_gone=True)
    assert again == answer
    desk.files().tidy(attempt)
    assert private(desk) == []
    assert tree(path) == before


@pytest.mark.requirement("files:delete:foreign")
@pytest.mark.parametrize("system", [Syscalls, WithoutFlags], ids=["local", "without_flags"])
def test_what_can_not_be_brought_back_is_kept_and_told(desk: Desk, system: Callable[[], Syscalls]) -> None:
    """Its place is taken by now, or the filesystem can't give it back without the risk of replacing something."""
    path = folder(desk)
    attempt = desk.prepared(DELETE, "folder", files=desk.files(system()))
    (path / "theirs.md").write_text("theirs")

    def taken(name: str, carry_out: Callable[[], Any]) -> Any:
        done = carry_out()
        path.mkdir(exist_ok=True)
        return done

    answer = desk.files(watched(system(), taken, "rename")).send(attempt)
    why = "something is already there" if system is Syscalls else "function not implemented"
    kept = desk.root / ".amends" / "archive" / attempt.key / "kept" / "folder"
    assert told(attempt, answer) == (
        "A part of the write to notes:folder may have applied, but not all of it is there: somebody else changed it in"
        " the same moment, so nothing of it was removed; it could not be brought back"
        f" ({why}) and is kept at {kept} — here's how to check: see whether {path} is still there, and what"
        f" {kept.parent.parent} holds."
    )
    assert answer.is_quiescent
    assert desk.files(system()).fence(attempt, is_sender_gone=True) == answer
    desk.files(system()).tidy(attempt)
    assert (kept / "theirs.md").read_text() == "theirs"
    assert (kept / "a.md").read_text() == "a"
    assert list(path.iterdir()) == []


@dataclass
class Meddler:
    """Somebody who has a folder open and writes into it before the `step`th changing call of whoever removes it."""

    folder: Path
    how: str
    step: int
    calls: int = 0
    did_write: bool = False

    def __post_init__(self) -> None:
        self.fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def __call__(self, name: str, carry_out: Callable[[], Any]) -> Any:
        if self.calls == self.step:
            with suppress(FileNotFoundError):  # it is gone already, which the system tells whoever writes
                self.write()
        self.calls += 1
        return carry_out()

    def write(self) -> None:
        name = "theirs.md" if self.how == "adds" else "b.md"
        if self.how == "replaces":
            os.unlink(name, dir_fd=self.fd)
        flags = os.O_WRONLY | (0 if self.how == "changes" else os.O_CREAT)
        fd = os.open(name, flags, 0o644, dir_fd=self.fd)
        os.write(fd, b"theirs")
        os.close(fd)
        self.did_write = True


@pytest.mark.requirement("files:delete:foreign")
@pytest.mark.parametrize("how", ["adds", "changes", "replaces"])
def test_what_somebody_does_while_a_folder_is_removed_is_kept_and_told(desk: Desk, how: str) -> None:
    """At every step: whoever still has the folder open can write into it while it goes, and loses nothing."""
    stayed = 0
    for step in range(REMOVAL_CALLS_MAX):
        path = folder(desk)
        attempt = desk.prepared(DELETE, "folder")
        meddler = Meddler(path / "deep", how, step)
        answer = desk.files(watched(Syscalls(), meddler)).send(attempt)
        os.close(meddler.fd)
        text = told(attempt, answer)
        desk.files().tidy(attempt)
        theirs = [place for place in desk.root.rglob("*.md") if place.is_file() and place.read_bytes() == b"theirs"]
        assert len(theirs) == meddler.did_write, (step, text)
        if answer.evidence is Evidence.PARTIAL:
            stayed += 1
            assert str(going(desk, attempt)) in text
            assert ("added" if how == "adds" else "deep/b.md was changed meanwhile") in text
        elif answer.evidence is Evidence.NEVER_SENT:
            assert (path / "a.md").read_text() == "a"
            assert theirs[0].parent == path / "deep"
        else:
            assert not meddler.did_write, "what is called deleted holds nothing of somebody else"
            assert not path.exists()
        for place in theirs:
            place.unlink()
        if meddler.calls <= step:
            assert stayed, "no step was met at which something would have been lost"
            return
    pytest.fail(f"a removal makes more than {REMOVAL_CALLS_MAX} calls")


@pytest.mark.requirement("files:delete:foreign")
def test_an_entry_that_may_not_be_removed_stays_and_is_told(desk: Desk) -> None:
    """Part of the folder is gone for good, and part of it is not: neither word alone would be true."""
    folder(desk)
    attempt = desk.prepared(DELETE, "folder")
    answer = desk.files(failing(Syscalls(), 1, "unlink")).send(attempt)
    assert answer.evidence is Evidence.PARTIAL
    assert "a.md could not be removed: the system does not permit it" in told(attempt, answer)
    assert (desk.root / "folder").exists() is False
    assert desk.files().fence(attempt, is_sender_gone=True).evidence is Evidence.RECEIPT
    desk.files().tidy(attempt)
    assert private(desk) == []


@pytest.mark.requirement("files:delete:foreign")
@pytest.mark.parametrize("lost", ["gone", "altered"])
def test_without_the_list_of_what_was_confirmed_nothing_is_removed(desk: Desk, lost: str) -> None:
    """A process died in the middle, and somebody touched what it left: nobody knows any more what may go."""
    folder(desk)
    attempt = desk.prepared(DELETE, "folder")
    ended(in_child(partial(sent, desk, attempt, 4)))
    listed = going(desk, attempt).parent / "listed"
    listed.unlink() if lost == "gone" else listed.write_bytes(listed.read_bytes() + b"x\0file\0\0")
    answer = desk.files().fence(attempt, is_sender_gone=True)
    assert answer.evidence is Evidence.PARTIAL
    assert "it can't be told any more what was confirmed" in told(attempt, answer)
    assert (going(desk, attempt) / "a.md").read_text() == "a"


def sent(desk: Desk, attempt: Attempt, step: int) -> int:
    """What a child does that dies before its `step`th call."""
    desk.files(watched(Syscalls(), Signal(signal.SIGKILL, step))).send(attempt)
    return 0


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
@pytest.mark.parametrize("key", ["plan.md", "folder"])
def test_a_delete_that_failed_removes_nothing(desk: Desk, key: str) -> None:
    """Tidied before anything landed, or after it was set aside, everything is where it was."""
    desk.path("plan.md", "old")
    folder(desk)
    before = tree(desk.root / key)
    attempt = desk.prepared(DELETE, key)
    desk.files().fence(attempt, is_sender_gone=True)
    desk.files().tidy(attempt)
    assert tree(desk.root / key) == before
    assert private(desk) == []
    assert desk.files().send(attempt).evidence is Evidence.NEVER_SENT


@pytest.mark.requirement("files:delete:foreign")
def test_a_folder_that_changed_before_the_intent_is_not_listed(desk: Desk) -> None:
    """The list is that of what was shown, or there is none, and nothing is recorded."""
    path = folder(desk)
    plan = desk.plan(DELETE, "folder")
    attempt = desk.attempt(plan)
    (path / "theirs.md").write_text("theirs")
    with pytest.raises(TargetError, match="folder changed in this moment"):
        desk.files().prepare(attempt, desk.blobs)


@pytest.mark.requirement("files:fence:killed")
def test_a_removal_killed_at_any_step_is_finished_by_whoever_settles_it(desk: Desk) -> None:
    """It landed or it did not, for every step; and once it landed, the rest goes too, entry by entry."""
    verdicts = []
    for step in range(REMOVAL_CALLS_MAX):
        path = folder(desk)
        attempt = desk.prepared(DELETE, "folder")
        code = ended(in_child(partial(sent, desk, attempt, step)))
        truth = not path.exists()
        for settle_step in (3, 9, 14):  # whoever settles it may die too
            dying = watched(Syscalls(), Signal(signal.SIGKILL, settle_step))
            ended(in_child(partial(fenced, desk.files(dying), attempt)))
        answer = desk.files().fence(attempt, is_sender_gone=True)
        assert desk.files().fence(attempt, is_sender_gone=True) == answer
        verdicts.append((answer.evidence, truth))
        assert path.exists() is not truth
        desk.files().tidy(attempt)
        assert private(desk) == []
        if code == 0:
            break
    else:
        pytest.fail(f"a removal makes more than {REMOVAL_CALLS_MAX} calls")
    assert set(verdicts) == {(Evidence.NEVER_SENT, False), (Evidence.RECEIPT, True)}


def fenced(files: Any, attempt: Attempt) -> int:
    """What a child does that settles."""
    files.fence(attempt, is_sender_gone=True)
    return 0


@pytest.mark.requirement("files:fence:killed")
def test_a_bringing_back_killed_at_any_step_is_finished_by_whoever_settles_it(desk: Desk) -> None:
    """What was carried off by mistake never stays away, whenever the process that saw it died."""
    path = folder(desk)
    for step in range(REMOVAL_CALLS_MAX):
        attempt = desk.prepared(DELETE, "folder")
        (path / "theirs.md").write_text("theirs")
        before = tree(path)
        code = ended(in_child(partial(sent, desk, attempt, step)))
        answer = desk.files().fence(attempt, is_sender_gone=True)
        assert answer.evidence is Evidence.NEVER_SENT
        assert tree(path) == before
        (path / "theirs.md").unlink()
        if code == 0:
            return
    pytest.fail(f"bringing back makes more than {REMOVAL_CALLS_MAX} calls")


@pytest.mark.requirement("files:fence:paused")
def test_two_that_settle_a_delete_at_once_never_undo_each_other(desk: Desk) -> None:
    """The sender is stopped at every step while another process finishes its delete, and then goes on."""
    for step in range(REMOVAL_CALLS_MAX):
        path = folder(desk)
        attempt = desk.prepared(DELETE, "folder")

        def stopped(attempt: Attempt = attempt, step: int = step) -> int:
            desk.files(watched(Syscalls(), Signal(signal.SIGSTOP, step))).send(attempt)
            return 0

        child = in_child(stopped)
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return
        answer = desk.files().fence(attempt, is_sender_gone=False)
        desk.files().tidy(attempt)
        truth = not path.exists()
        assert answer.evidence is (Evidence.RECEIPT if truth else Evidence.NEVER_SENT)
        os.kill(child, signal.SIGCONT)
        assert ended(child) == 0
        assert path.exists() is not truth
        if not truth:
            assert (path / "deep" / "b.md").read_text() == "b"
    pytest.fail(f"a removal makes more than {REMOVAL_CALLS_MAX} calls")


@pytest.mark.requirement("files:delete:removed")
def test_a_removal_whose_names_are_not_durable_removes_nothing(desk: Desk) -> None:
    """After a power cut it could be back at its place, with some of it gone."""
    folder(desk)
    attempt = desk.prepared(DELETE, "folder")
    answer = desk.files(failing(Syscalls(), 5, "fsync")).send(attempt)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)
    assert str(going(desk, attempt)) in str(answer.reason)
    assert (going(desk, attempt) / "deep" / "b.md").read_text() == "b"


@pytest.mark.requirement("files:delete:removed")
def test_tidying_killed_at_any_step_leaves_no_mark_that_lies(desk: Desk) -> None:
    """The outcome is recorded by then; a fence that is asked again must not call it failed."""

    def tidied(attempt: Attempt, step: int) -> int:
        desk.files(watched(Syscalls(), Signal(signal.SIGKILL, step))).tidy(attempt)
        return 0

    for step in range(REMOVAL_CALLS_MAX):
        folder(desk)
        attempt, _ = desk.write(DELETE, "folder")
        code = ended(in_child(partial(tidied, attempt, step)))
        verdict = desk.files().fence(attempt, is_sender_gone=True)
        assert verdict.evidence in (Evidence.RECEIPT, Evidence.UNPROVEN), "what landed is never called failed"
        desk.files().tidy(attempt)
        assert private(desk) == []
        if code == 0:
            return
    pytest.fail(f"tidying makes more than {REMOVAL_CALLS_MAX} calls")
