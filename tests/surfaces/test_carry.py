"""Moves to another filesystem below the root: a tmpfs that is really mounted there, in a namespace of its own."""

import ctypes
import os
import signal
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from amends.assembly import Amends
from amends.contract.operation import OperationKind, Presence
from amends.contract.outcome import Evidence
from amends.errors import TargetError
from amends.ports import Attempt
from amends.surfaces.files import Files, Syscalls
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, MOVE, RENAME, Desk, ended, in_child, replaced_by_rename
from tests.surfaces.fault import WithoutFlags, failing, watched
from tests.surfaces.test_crash import Signal
from tests.surfaces.test_sweep import OPERATOR, office
from tests.surfaces.test_undone import said, written

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CARRY_CALLS_MAX = 40


def mounted(place: Path, story: Callable[[], None]) -> None:
    """Play `story` in a process that has a tmpfs of its own at `place`; what it raises is raised here."""
    place.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()

    def played() -> int:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            uid, gid = os.getuid(), os.getgid()
            spaces = CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER
            assert libc.unshare(spaces) == 0, f"no namespace: {os.strerror(ctypes.get_errno())}"
            if uid != 0:
                Path("/proc/self/setgroups").write_text("deny")
                Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
                Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
            assert libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
            assert libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, None) == 0, os.strerror(ctypes.get_errno())
            assert place.stat().st_dev != place.parent.stat().st_dev, "this is to cross filesystems"
            story()
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-4000:])
            return 1
        return 0

    child = in_child(played)
    os.close(writing)
    with open(reading, "rb") as told:
        failure = told.read().decode()
    assert ended(child) == 0, failure


def places(desk: Desk) -> tuple[str | None, str | None]:
    """What is at the one place and at the other."""
    one, other = ((desk.root / name) for name in ("plan.md", "m/plan.md"))
    return tuple(path.read_text() if path.exists() else None for path in (one, other))  # type: ignore[return-value]


def carrying(desk: Desk, system: Callable[[], Syscalls] = Syscalls) -> Attempt:
    """A prepared move of plan.md to the other filesystem."""
    (desk.root / "m" / "plan.md").unlink(missing_ok=True)
    desk.path("plan.md", "old\n").chmod(0o640)
    return desk.prepared(MOVE, "m/plan.md", source="plan.md", files=desk.files(system()))


def sent(files: Files, attempt: Attempt) -> int:
    """What a child does that may die in it."""
    files.send(attempt)
    return 0


@pytest.mark.requirement("files:carry:copied")
def test_a_move_to_another_filesystem_copies_and_then_archives(tmp_path: Path) -> None:
    """Told before, done as asked, taken back as asked; and the source is kept, as every archived file is."""
    root = office(tmp_path)
    (root / "plan.md").write_text("old\n")
    (root / "plan.md").chmod(0o640)

    def story() -> None:
        life = written(root, {"move": "notes:plan.md", "to": "notes:m/plan.md"})
        assert life.plan.warnings == (
            "It goes to another filesystem, so it is copied and then archived: its owner and times stay behind.",
        )
        assert (life.state, life.evidence) == ("applied", Evidence.ACKNOWLEDGED)
        assert said(life).startswith("I moved notes:plan.md to notes:m/plan.md. (Racy:")
        assert not (root / "plan.md").exists()
        assert (root / "m" / "plan.md").read_text() == "old\n"
        assert (root / "m" / "plan.md").stat().st_mode & 0o777 == 0o640
        assert [path.read_text() for path in (root / ".amends" / "archive").rglob("plan.md")] == ["old\n"]
        assert (root / "m" / ".amends" / "owner").read_text() == (root / ".amends" / "owner").read_text()
        with Amends.open(tmp_path) as amends:
            undone = amends.undo(life.operation_id, confirmed_by=OPERATOR).lives[0]
        assert undone.evidence is Evidence.ACKNOWLEDGED
        assert not (root / "m" / "plan.md").exists()
        assert (root / "plan.md").read_text() == "old\n"
        assert (root / "plan.md").stat().st_mode & 0o777 == 0o640

    mounted(root / "m", story)


@pytest.mark.requirement("files:carry:part")
@pytest.mark.parametrize("system", [Syscalls, WithoutFlags], ids=["local", "without_flags"])
def test_a_carrier_killed_at_any_step_is_judged_truly_and_loses_no_copy(
    desk: Desk, system: Callable[[], Syscalls]
) -> None:
    """Both, neither, or the copy alone: each is told as it is, and the bytes are always in sight."""

    def story() -> None:
        verdicts = set()
        for number in range(CARRY_CALLS_MAX):
            attempt = carrying(desk, system)
            dying = desk.files(watched(system(), Signal(signal.SIGKILL, number)))
            code = ended(in_child(partial(sent, dying, attempt)))
            before = places(desk)
            answer = desk.files(system()).fence(attempt, is_sender_gone=True)
            assert places(desk) == before, "a fence changes nothing at either place"
            assert desk.files(system()).fence(attempt, is_sender_gone=True) == answer
            late = desk.files(system()).send(attempt)
            assert late.evidence in (Evidence.NEVER_SENT, Evidence.REFUSED)
            assert places(desk) == before
            assert "old\n" in before
            verdicts.add((answer.evidence, before))
            desk.files(system()).tidy(attempt)
            if code == 0:
                break
        else:
            pytest.fail(f"a carrier makes more than {CARRY_CALLS_MAX} calls")
        if system is WithoutFlags:  # a hard link leaves no trace where it was made from
            verdicts.discard((Evidence.UNPROVEN, ("old\n", None)))
        assert verdicts == {
            (Evidence.NEVER_SENT, ("old\n", None)),
            (Evidence.PARTIAL, ("old\n", "old\n")),
            (Evidence.RECEIPT, (None, "old\n")),
        }

    mounted(desk.root / "m", story)


@pytest.mark.requirement("files:carry:part")
def test_a_move_that_stopped_half_way_says_what_is_where(tmp_path: Path) -> None:
    """Two copies are no damage, but they are not what was asked for; a person decides which one goes."""
    root = office(tmp_path)
    (root / "plan.md").write_text("old\n")

    def story() -> None:
        def hindered() -> None:
            real = Syscalls.rename

            def rename(self: Syscalls, source_fd: int, source: str, target_fd: int, target: str) -> None:
                if source == "plan.md":
                    os.kill(os.getpid(), signal.SIGKILL)
                real(self, source_fd, source, target_fd, target)

            setattr(Syscalls, "rename", rename)  # noqa: B010 - typed otherwise

        def act() -> int:
            hindered()
            written(root, {"move": "notes:plan.md", "to": "notes:m/plan.md"})
            return 0

        assert ended(in_child(act)) == -signal.SIGKILL
        with Amends.open(tmp_path) as amends:
            (report,) = amends.inbox()
            life = amends.check(report.lives[0].operation_id).lives[0]
        assert (life.state, life.evidence) == ("closed", Evidence.PARTIAL)
        assert (
            "A part of the write to notes:m/plan.md may have applied, but not all of it is there: it was copied to"
            " notes:m/plan.md, but notes:plan.md was not put away: it was set aside before it could land — here's how"
            " to check: look at notes:m/plan.md and at notes:plan.md, and archive one of them"
        ) in said(life)
        assert (root / "plan.md").read_text() == (root / "m" / "plan.md").read_text() == "old\n"

    mounted(root / "m", story)


@pytest.mark.requirement("files:carry:part")
@pytest.mark.parametrize("who", ["target", "copy", "source", "failing"])
def test_a_copy_that_is_not_what_was_confirmed_leaves_the_source(desk: Desk, who: str) -> None:
    """The source goes only once its copy is there, whole and read back; what somebody wrote meanwhile is kept."""

    def story() -> None:
        attempt = carrying(desk)
        copy, source = desk.root / "m" / "plan.md", desk.root / "plan.md"
        files = desk.files()
        if who == "target":
            copy.write_text("theirs")
        elif who == "source":
            replaced_by_rename(source, b"theirs")
        elif who == "copy":

            class Quick(Syscalls):
                def rename_noreplace(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
                    super().rename_noreplace(source_fd, source, target_fd, target)
                    if target == "plan.md":
                        replaced_by_rename(copy, b"theirs")

            files = desk.files(Quick())
        else:
            files = desk.files(failing(Syscalls(), 13, "rename"))
        answer = files.send(attempt)
        expected = {
            "target": (Evidence.REFUSED, ("old\n", "theirs")),
            "copy": (Evidence.PARTIAL, ("old\n", "theirs")),
            "source": (Evidence.ACKNOWLEDGED, (None, "old\n")),
            "failing": (Evidence.PARTIAL, ("old\n", "old\n")),
        }
        assert (answer.evidence, places(desk)) == expected[who]
        if who == "source":
            kept = next((desk.root / ".amends" / "archive").rglob("plan.md"))
            assert kept.read_text() == "theirs"
            assert answer.note == (
                "Somebody else changed notes:plan.md in the same moment; what they wrote was displaced and is kept at"
                f" {kept}."
            )
            assert not answer.is_undoable

    mounted(desk.root / "m", story)


@pytest.mark.requirement("files:carry:part")
def test_what_a_carrier_prepared_that_failed_is_tidied_in_both_places(desk: Desk) -> None:
    """Two private folders take part, and neither keeps anything."""

    def story() -> None:
        attempt = carrying(desk)
        desk.files().fence(attempt, is_sender_gone=True)
        desk.files().tidy(attempt)
        attempt = desk.attempt(desk.plan(MOVE, "m/plan.md", source="plan.md"))
        with pytest.raises(TargetError, match="permission was denied"):
            desk.files(failing(Syscalls(), 13, "mkdir")).prepare(attempt, desk.blobs)
        for room in (desk.root / ".amends", desk.root / "m" / ".amends"):
            assert [path for path in room.rglob("*") if path.parent != room] == []

    mounted(desk.root / "m", story)


@pytest.mark.requirement("files:target:filesystem")
def test_all_other_writes_to_another_filesystem_are_refused_with_the_way(desk: Desk) -> None:
    """Only a move reaches there; for all else that filesystem is a surface of its own."""

    def story() -> None:
        (desk.root / "m" / "plan.md").write_text("old\n")
        desk.path("folder/a.md")
        for kind in (CREATE, EDIT, ARCHIVE, DELETE):
            with pytest.raises(TargetError, match=r"notes:m/plan\.md is on another filesystem than") as caught:
                desk.plan(kind, "m/plan.md", text="x") if kind in (CREATE, EDIT) else desk.plan(kind, "m/plan.md")
            assert "a surface of its own" in str(caught.value.hint)
        with pytest.raises(TargetError, match="is on another filesystem than"):
            desk.plan(RENAME, "m/other.md", source="m/plan.md")
        with pytest.raises(TargetError, match="is a folder, and its new place is on another filesystem"):
            desk.plan(MOVE, "m/folder", source="folder")
        with pytest.raises(TargetError, match="on another filesystem"):
            desk.plan(OperationKind.RENAME, "n", source="m")
        assert desk.files().read("notes:m/plan.md").presence is Presence.PRESENT

    mounted(desk.root / "m", story)


@pytest.mark.requirement("files:carry:part")
def test_a_filesystem_that_is_not_mounted_any_more_settles_nothing(desk: Desk) -> None:
    """The proof is over there; until it is back, nobody can say, and the hint says what to bring back."""

    def story() -> None:
        attempt = carrying(desk)
        desk.files().send(attempt)
        answer = desk.files().fence(attempt, is_sender_gone=True)
        assert answer.evidence is Evidence.RECEIPT
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.umount2(os.fsencode(desk.root / "m"), 2) == 0
        answer = desk.files().fence(attempt, is_sender_gone=True)
        assert (answer.evidence, answer.is_quiescent) == (Evidence.UNPROVEN, False)
        assert f"{desk.root / 'm' / '.amends'} can't be used: it is not there" in str(answer.reason)

    mounted(desk.root / "m", story)


@pytest.mark.requirement("files:carry:copied")
def test_a_move_from_another_filesystem_is_taken_back_too(tmp_path: Path) -> None:
    """Where it came from is there, though it is reached by another way; and the undo of that brings it here again."""
    root = office(tmp_path)

    def story() -> None:
        (root / "m" / "sub").mkdir()
        for place, name in (("m/one.md", "one.md"), ("m/sub/two.md", "two.md")):
            (root / place).write_text(f"{name}\n")
            moved = written(root, {"move": f"notes:{place}", "to": f"notes:here/{name}"})
            assert (moved.state, (root / "here" / name).read_text()) == ("applied", f"{name}\n")
            with Amends.open(tmp_path) as amends:
                undone = amends.undo(moved.operation_id, confirmed_by=OPERATOR).lives[0]
                assert (undone.evidence, (root / place).read_text()) == (Evidence.ACKNOWLEDGED, f"{name}\n")
                again = amends.undo(undone.operation_id, confirmed_by=OPERATOR).lives[0]
                assert (again.evidence, (root / "here" / name).read_text()) == (Evidence.ACKNOWLEDGED, f"{name}\n")

    (root / "here").mkdir()
    mounted(root / "m", story)


@pytest.mark.requirement("files:carry:bound")
def test_what_is_bound_from_elsewhere_is_outside_though_its_device_is_the_same(desk: Desk, tmp_path: Path) -> None:
    """A folder of this filesystem that is mounted within the root: nothing in it is removed, moved off or changed."""
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True, mode=0o755)
    (outside / "top.md").write_text("theirs\n")
    bound = desk.root / "folder" / "m"
    bound.mkdir(parents=True)
    (desk.root / "folder" / "own.md").write_text("ours\n")

    def story() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(os.fsencode(outside), os.fsencode(bound), None, MS_BIND, None) == 0
        assert bound.stat().st_dev == desk.root.stat().st_dev, "this is to be of the same device"
        for kind in (DELETE, ARCHIVE):
            with pytest.raises(TargetError, match="m is on another filesystem"):
                desk.plan(kind, "folder")
            with pytest.raises(TargetError, match="on another filesystem"):
                desk.plan(kind, "folder/m/top.md")
        with pytest.raises(TargetError, match="on another filesystem"):
            desk.plan(RENAME, "elsewhere", source="folder")
        assert {path.name: path.stat().st_mode & 0o777 for path in outside.iterdir()} == {
            "empty": 0o755,
            "top.md": (outside / "top.md").stat().st_mode & 0o777,
        }

    mounted(desk.root / "tmpfs", story)
    assert (outside / "top.md").read_text() == "theirs\n"
