"""Writers that are killed or stopped between any two system calls, and what the next process then says."""

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amends.contract.operation import OperationKind
from amends.contract.outcome import Evidence
from amends.ports import Attempt
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import (
    ARCHIVE,
    CREATE,
    DELETE,
    EDIT,
    MOVE,
    RENAME,
    UPLOAD,
    Desk,
    ended,
    in_child,
    replaced_by_rename,
)
from tests.surfaces.fault import Folding, WithoutFlags, watched

CASES = {
    "create": (CREATE, "new.md"),
    "create_with_folders": (CREATE, "a/b/new.md"),
    "edit": (EDIT, "plan.md"),
    "archive": (ARCHIVE, "plan.md"),
    "archive_folder": (ARCHIVE, "folder"),
    "delete": (DELETE, "plan.md"),
    "delete_folder": (DELETE, "folder"),
    "upload_new": (UPLOAD, "new.md"),
    "upload_over": (UPLOAD, "plan.md"),
}
MOVES = {
    "move": (MOVE, "plan.md", "sub/plan.md", Syscalls),
    "rename": (RENAME, "plan.md", "other.md", Syscalls),
    "move_folder": (MOVE, "folder", "sub/folder", Syscalls),
    "respell": (RENAME, "plan.md", "PLAN.md", Folding),
    "respell_folder": (RENAME, "folder", "FOLDER", Folding),
}
CALLS_MAX = 20  # no send or fence of these makes as many


@dataclass
class Signal:
    """Sends this process a signal before its `step`th changing call; afterwards it just goes on."""

    number: signal.Signals
    step: int

    def __call__(self, name: str, carry_out: Callable[[], Any]) -> Any:
        if self.step == 0:
            os.kill(os.getpid(), self.number)
        self.step -= 1
        return carry_out()


@dataclass
class Foreign:
    """Replaces the target before the `foreign`th changing call, and dies before the `step`th."""

    path: Path
    foreign: int
    step: int
    did_land: Path
    calls: int = 0

    def __call__(self, name: str, carry_out: Callable[[], Any]) -> Any:
        if self.calls == self.foreign:
            replaced_by_rename(self.path, b"theirs")
        if self.calls == self.step:
            os.kill(os.getpid(), signal.SIGKILL)
        self.calls += 1
        done = carry_out()
        self.did_land.touch()  # the landing is the first call of every send
        return done


def ready(desk: Desk, kind: OperationKind, key: str, system: Callable[[], Syscalls]) -> Attempt:
    desk.path("plan.md", "old\n")
    if key == "folder":
        desk.path("folder/deep/a.md", "old\n")
    if system is WithoutFlags:  # where folders can't come in the same step
        (desk.root / key).parent.mkdir(parents=True, exist_ok=True)
    request: dict[str, str] = {"text": "new\n"} if kind in (CREATE, EDIT) else {}
    if kind is UPLOAD:
        request["local_file"] = str(desk.path("../local.md", "new\n"))
    return desk.prepared(kind, key, files=desk.files(system()), **request)


def act(desk: Desk, syscalls: Syscalls, attempt: Attempt, what: str) -> int:
    """What the child process does."""
    files = desk.files(syscalls)
    if what == "send":
        files.send(attempt)
    else:
        files.fence(attempt, is_sender_gone=True)
    return 0


def landed(desk: Desk, attempt: Attempt, key: str) -> bool:
    """The truth, from the folder."""
    path = desk.root / key
    if attempt.operation.kind in (ARCHIVE, DELETE):
        return not path.exists()
    return path.exists() and path.read_text() == "new\n"


def cleared(desk: Desk, key: str) -> None:
    """Make the folder as it was, for the next turn."""
    path = desk.root / key
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    for folder in list(path.parents)[: key.count("/")]:
        if folder.exists():
            folder.rmdir()


@pytest.mark.requirement("files:fence:killed")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("system", [Syscalls, WithoutFlags], ids=["local", "without_flags"])
def test_a_writer_killed_at_any_step_is_judged_truly(desk: Desk, case: str, system: Callable[[], Syscalls]) -> None:
    """The verdict of the next process is what really happened, for every step at which the first one died."""
    kind, key = CASES[case]
    verdicts = []
    for step in range(CALLS_MAX):
        attempt = ready(desk, kind, key, system)
        dying = watched(system(), Signal(signal.SIGKILL, step))
        code = ended(in_child(partial(act, desk, dying, attempt, "send")))
        assert code in (0, -signal.SIGKILL)
        truth = landed(desk, attempt, key)
        answer = desk.files(system()).fence(attempt, is_sender_gone=True)
        assert answer.is_quiescent
        verdicts.append((answer.evidence, truth))
        assert desk.files(system()).fence(attempt, is_sender_gone=True).evidence is answer.evidence
        late = desk.files(system()).send(attempt)
        assert late.evidence in (Evidence.NEVER_SENT, Evidence.REFUSED)
        if system is Syscalls and not truth:
            assert late.reason == "it was set aside before it could land"
        assert landed(desk, attempt, key) is truth
        cleared(desk, key)
        if code == 0:
            break
    else:
        pytest.fail(f"a send makes more than {CALLS_MAX} calls")
    honest = {(Evidence.NEVER_SENT, False), (Evidence.RECEIPT, True)}
    if system is WithoutFlags and kind in (CREATE, UPLOAD) and key.endswith("new.md"):
        honest.add((Evidence.UNPROVEN, False))  # a hard link leaves no trace where it was made from
    assert set(verdicts) <= honest
    assert verdicts[0] == (Evidence.NEVER_SENT, False)
    assert verdicts[-1] == (Evidence.RECEIPT, True)


@pytest.mark.requirement("files:fence:killed")
@pytest.mark.parametrize("case", ["create", "edit"])
def test_a_later_file_with_the_number_of_the_staged_one_is_no_receipt(desk: Desk, case: str) -> None:
    """Filesystems give the number of a removed file to the next one; when it was made tells the two apart."""
    kind, key = CASES[case]
    attempt = ready(desk, kind, key, Syscalls)
    staged = desk.root / ".amends" / "stage" / attempt.key
    staged.unlink()
    (desk.root / key).unlink(missing_ok=True)
    (desk.root / key).write_text("new\n")
    notes = {**attempt.prepared, "staged": (desk.root / key).stat().st_ino}
    answer = desk.files().fence(replace(attempt, prepared=notes), is_sender_gone=True)
    assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, True)


@pytest.mark.requirement("files:fence:repeated")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_sent", [False, True])
def test_a_fence_killed_at_any_step_is_finished_by_the_next(desk: Desk, case: str, is_sent: bool) -> None:
    """Whoever settles may die too, and must not take the proof along."""
    kind, key = CASES[case]
    for step in range(CALLS_MAX):
        attempt = ready(desk, kind, key, Syscalls)
        if is_sent:
            dying = watched(Syscalls(), Signal(signal.SIGKILL, 1))
            ended(in_child(partial(act, desk, dying, attempt, "send")))
            assert landed(desk, attempt, key)
        dying = watched(Syscalls(), Signal(signal.SIGKILL, step))
        code = ended(in_child(partial(act, desk, dying, attempt, "fence")))
        expected = Evidence.RECEIPT if is_sent else Evidence.NEVER_SENT
        assert desk.files().fence(attempt, is_sender_gone=True).evidence is expected
        assert landed(desk, attempt, key) is is_sent
        cleared(desk, key)
        if code == 0:
            return
    pytest.fail(f"a fence makes more than {CALLS_MAX} calls")


@pytest.mark.requirement("files:fence:paused")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("system", [Syscalls, WithoutFlags], ids=["local", "without_flags"])
def test_a_writer_that_wakes_after_the_fence_lands_nothing(
    desk: Desk, case: str, system: Callable[[], Syscalls]
) -> None:
    """It was stopped between any two calls, fenced, and then went on: what the fence said stays true."""
    kind, key = CASES[case]
    for step in range(CALLS_MAX):
        attempt = ready(desk, kind, key, system)
        stopping = watched(system(), Signal(signal.SIGSTOP, step))
        child = in_child(partial(act, desk, stopping, attempt, "send"))
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return
        truth = landed(desk, attempt, key)
        answer = desk.files(system()).fence(attempt, is_sender_gone=True)
        os.kill(child, signal.SIGCONT)
        assert ended(child) == 0
        assert landed(desk, attempt, key) is truth
        if answer.evidence is not Evidence.UNPROVEN:
            assert answer.evidence is (Evidence.RECEIPT if truth else Evidence.NEVER_SENT)
        assert desk.files(system()).fence(attempt, is_sender_gone=True).evidence is answer.evidence
        cleared(desk, key)
    pytest.fail(f"a send makes more than {CALLS_MAX} calls")


@pytest.mark.requirement("files:fence:foreign")
@pytest.mark.parametrize("case", ["create", "edit", "archive"])
def test_a_foreign_writer_at_any_step_does_not_bend_the_verdict(desk: Desk, case: str) -> None:
    """Somebody else replaces the target before or after each call of a writer that dies at the next one."""
    kind, key = CASES[case]
    for step in range(CALLS_MAX):
        code = 0
        for foreign in range(step + 1):
            attempt = ready(desk, kind, key, Syscalls)
            did_land = desk.root.parent / f"landed {step} {foreign}"

            dying = watched(Syscalls(), Foreign(desk.root / key, foreign, step, did_land))
            code = ended(in_child(partial(act, desk, dying, attempt, "send")))
            answer = desk.files().fence(attempt, is_sender_gone=True)
            if did_land.exists():
                assert answer.evidence in (Evidence.RECEIPT, Evidence.UNPROVEN)
            else:
                assert answer.evidence is Evidence.NEVER_SENT
            cleared(desk, key)
        if code == 0:
            return
    pytest.fail(f"a send makes more than {CALLS_MAX} calls")


def ready_to_move(desk: Desk, case: str) -> Attempt:
    kind, source, key, system = MOVES[case]
    for name in (source, key, "plan.md"):
        cleared(desk, name)
    desk.path("plan.md", "old\n")
    (desk.root / "sub").mkdir(exist_ok=True)
    if source == "folder":
        desk.path("folder/deep/a.md", "old\n")
        (desk.root / "folder" / "link").symlink_to("../plan.md")
    return desk.prepared(kind, key, source=source, files=desk.files(system()))


def whereabouts(desk: Desk, case: str) -> tuple[bool, bool]:
    """Whether it is at the source, and whether it is at the target, each by its exact name."""
    _, source, key, _ = MOVES[case]
    places = [desk.root / name for name in (source, key)]
    return tuple(place.name in os.listdir(place.parent) for place in places)  # type: ignore[return-value]


@pytest.mark.requirement("files:fence:killed")
@pytest.mark.parametrize("case", MOVES)
def test_a_mover_killed_at_any_step_is_judged_truly(desk: Desk, case: str) -> None:
    """Nothing was staged, so what it moved has to tell; and what was on its way is not left there."""
    system = MOVES[case][3]
    verdicts = []
    for step in range(CALLS_MAX):
        attempt = ready_to_move(desk, case)
        dying = watched(system(), Signal(signal.SIGKILL, step))
        code = ended(in_child(partial(act, desk, dying, attempt, "send")))
        answer = desk.files(system()).fence(attempt, is_sender_gone=True)
        truth = whereabouts(desk, case)
        assert answer.is_quiescent
        assert truth in ((True, False), (False, True))
        verdicts.append((answer.evidence, truth[1]))
        assert desk.files(system()).fence(attempt, is_sender_gone=True) == answer
        assert whereabouts(desk, case) == truth
        desk.files(system()).tidy(attempt)
        assert list((desk.root / ".amends" / "stage").iterdir()) == []
        if code == 0:
            break
    else:
        pytest.fail(f"a send makes more than {CALLS_MAX} calls")
    assert set(verdicts) == {(Evidence.NEVER_SENT, False), (Evidence.RECEIPT, True)}
    assert verdicts[0] == (Evidence.NEVER_SENT, False)


@pytest.mark.requirement("files:fence:repeated")
@pytest.mark.parametrize("case", ["respell", "respell_folder"])
def test_a_fence_killed_while_it_brings_back_is_finished_by_the_next(desk: Desk, case: str) -> None:
    """What it brought back has another ctime by then, and still it never landed."""
    for step in range(CALLS_MAX):
        attempt = ready_to_move(desk, case)
        ended(in_child(partial(act, desk, watched(Folding(), Signal(signal.SIGKILL, 1)), attempt, "send")))
        assert whereabouts(desk, case) == (False, False)
        dying = watched(Folding(), Signal(signal.SIGKILL, step))
        code = ended(in_child(partial(act, desk, dying, attempt, "fence")))
        answer = desk.files(Folding()).fence(attempt, is_sender_gone=True)
        assert (answer.evidence, whereabouts(desk, case)) == (Evidence.NEVER_SENT, (True, False))
        if code == 0:
            return
    pytest.fail(f"a fence makes more than {CALLS_MAX} calls")


@pytest.mark.requirement("files:fence:alive")
@pytest.mark.parametrize("case", MOVES)
def test_a_move_is_not_judged_while_its_sender_lives(desk: Desk, case: str) -> None:
    """It was stopped and may go on at any time; nothing could be set aside, so only its end rules the landing out."""
    system = MOVES[case][3]
    for step in range(CALLS_MAX):
        attempt = ready_to_move(desk, case)
        stopping = watched(system(), Signal(signal.SIGSTOP, step))
        child = in_child(partial(act, desk, stopping, attempt, "send"))
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return
        before = whereabouts(desk, case)
        early = desk.files(system()).fence(attempt, is_sender_gone=False)
        assert (early.evidence, early.is_quiescent) == (Evidence.UNPROVEN, False)
        assert "still lives" in str(early.reason)
        assert "wait for that process" in str(early.hint)
        assert whereabouts(desk, case) == before
        os.kill(child, signal.SIGCONT)
        assert ended(child) == 0
        assert desk.files(system()).fence(attempt, is_sender_gone=True).evidence is Evidence.RECEIPT
        assert whereabouts(desk, case) == (False, True)
    pytest.fail(f"a send makes more than {CALLS_MAX} calls")


@pytest.mark.requirement("files:fence:foreign")
@pytest.mark.parametrize("place", ["source", "target"])
def test_a_foreign_writer_at_any_step_does_not_bend_the_verdict_of_a_move(desk: Desk, place: str) -> None:
    """Somebody else takes the source's or the target's name before or after each call of a mover that dies."""
    for step in range(CALLS_MAX):
        code = 0
        for foreign in range(step + 1):
            attempt = ready_to_move(desk, "rename")
            did_land = desk.root.parent / f"landed {place} {step} {foreign}"
            path = desk.root / ("plan.md" if place == "source" else "other.md")
            dying = watched(Syscalls(), Foreign(path, foreign, step, did_land))
            code = ended(in_child(partial(act, desk, dying, attempt, "send")))
            answer = desk.files().fence(attempt, is_sender_gone=True)
            assert answer.is_quiescent
            if did_land.exists():
                assert answer.evidence in (Evidence.RECEIPT, Evidence.UNPROVEN)
            else:
                assert answer.evidence in (Evidence.NEVER_SENT, Evidence.UNPROVEN)
            if step == 0 and place == "target":
                assert answer.evidence is Evidence.NEVER_SENT
        if code == 0:
            return
    pytest.fail(f"a send makes more than {CALLS_MAX} calls")
