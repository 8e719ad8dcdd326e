"""What a read shows, and that it never shows what was not there."""

import errno
import os

import pytest

from amends.contract.operation import Presence
from amends.errors import TargetError
from amends.surfaces.files import Syscalls
from tests.surfaces.desk import EDIT, Desk, digest, replaced_by_rename
from tests.surfaces.fault import failing


class Busy(Syscalls):
    """Somebody writes to the file each time that it is opened, so often."""

    def __init__(self, path: os.PathLike[str], times: int) -> None:
        self.path, self.times = path, times

    def open(self, folder_fd: int, name: str) -> int:
        opened = super().open(folder_fd, name)
        real_fstat = os.fstat

        def fstat(fd: int) -> os.stat_result:
            seen = real_fstat(fd)
            if fd == opened and self.times > 0:
                self.times -= 1
                with open(self.path, "ab") as file:
                    file.write(b"more\n")
            return seen

        os.fstat = fstat
        return opened


@pytest.mark.requirement("files:read:fields")
def test_a_read_shows_digest_mode_and_size(desk: Desk) -> None:
    """These are what facts are about, and what an undo has to bring back."""
    desk.path("plan.md", "old\n").chmod(0o640)
    seen = desk.files().read("notes:plan.md")
    assert seen.presence is Presence.PRESENT
    assert seen.fields == {"content": digest(b"old\n"), "mode": "0640", "size": 4}
    assert seen.version == digest(b"old\n") + "/0640"
    assert seen.at_ms == desk.clock.now_ms()


@pytest.mark.requirement("files:read:fields")
def test_the_version_can_repeat_and_so_it_is_declared(desk: Desk) -> None:
    """A file that was changed and changed back looks unchanged, and nobody may conclude more from it."""
    path = desk.path("plan.md", "a")
    first = desk.files().read("notes:plan.md")
    replaced_by_rename(path, b"b")
    assert not desk.files().read("notes:plan.md").same_as(first)
    replaced_by_rename(path, b"a")
    assert desk.files().read("notes:plan.md").same_as(first)
    assert desk.plan(EDIT, "plan.md", text="x").guarantee.version == "can_repeat"


@pytest.mark.requirement("files:read:absent")
def test_what_is_not_there_reads_as_absent(desk: Desk) -> None:
    """Also where its folder is not there either."""
    for target in ("notes:plan.md", "notes:no/such/plan.md"):
        assert desk.files().read(target).presence is Presence.ABSENT


@pytest.mark.requirement("files:read:unreadable")
def test_what_is_no_file_any_more_reads_as_unreadable(desk: Desk) -> None:
    """A pipe or a link in place of the file is neither the file nor its absence. A pipe must not block."""
    os.mkfifo(desk.root / "pipe")
    desk.path("plan.md")
    (desk.root / "link").symlink_to("plan.md")
    (desk.root / "up").symlink_to(".")
    for target, detail in {
        "pipe": "it is a named pipe",
        "link": "it is a symbolic link",
        "up/plan.md": "a part of its path is no folder, or is a symbolic link now",
        "plan.md/below.md": "a part of its path is no folder, or is a symbolic link now",
    }.items():
        seen = desk.files().read(f"notes:{target}")
        assert (seen.presence, seen.detail) == (Presence.UNREADABLE, detail)


@pytest.mark.requirement("files:read:unreadable")
def test_a_pipe_that_takes_the_place_of_a_file_does_not_block_the_read(desk: Desk) -> None:
    """Between the look and the opening a pipe may come, and its other end never."""
    os.mkfifo(desk.root / "pipe")
    folder = os.open(desk.root, os.O_RDONLY)
    os.close(Syscalls().open(folder, "pipe"))
    os.close(folder)


@pytest.mark.requirement("files:read:unreadable")
@pytest.mark.parametrize(("number", "detail"), [(errno.EACCES, "permission was denied"), (errno.EIO, "disk reported")])
def test_a_file_that_can_not_be_read_is_not_taken_for_absent(desk: Desk, number: int, detail: str) -> None:
    """And nothing is planned for it, since nothing could be compared, proved or undone."""
    desk.path("plan.md")
    seen = desk.files(failing(Syscalls(), number, "open")).read("notes:plan.md")
    assert seen.presence is Presence.UNREADABLE
    assert detail in str(seen.detail)
    with pytest.raises(TargetError, match=detail):
        desk.plan(EDIT, "plan.md", files=desk.files(failing(Syscalls(), number, "open")), text="x")


@pytest.mark.requirement("files:read:unreadable")
def test_a_root_that_is_gone_is_not_taken_for_an_absent_file(desk: Desk) -> None:
    """An unmounted disk must not look like a deleted file."""
    files = desk.files()
    desk.path("plan.md")
    files.read("notes:plan.md")
    desk.root.rename(desk.root.with_name("elsewhere"))
    assert files.read("notes:plan.md").presence is Presence.UNREADABLE
    with pytest.raises(TargetError, match="can't be opened"):
        desk.files().read("notes:plan.md")


@pytest.mark.requirement("files:read:torn")
@pytest.mark.parametrize(("times", "presence"), [(1, Presence.PRESENT), (99, Presence.UNREADABLE)])
def test_a_file_that_changes_while_it_is_read_is_read_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, times: int, presence: Presence
) -> None:
    """A digest over the first half of one version and the second half of another is of no file at all."""
    path = desk.path("plan.md", "old\n")
    monkeypatch.setattr(os, "fstat", os.fstat)
    seen = desk.files(Busy(path, times)).read("notes:plan.md")
    assert seen.presence is presence
    if presence is Presence.PRESENT:
        assert seen.fields["content"] == digest(path.read_bytes())
    else:
        assert seen.detail == "it changed during each of 3 reads"


@pytest.mark.requirement("files:read:targets")
@pytest.mark.parametrize(
    "target", ["other:plan.md", "plan.md", "notes:../x", "notes:a//b", "notes:", "notes:.amends/x"]
)
def test_a_target_that_no_plan_made_is_not_read(desk: Desk, target: str) -> None:
    """Targets come from the surface alone; a made-up one could lead anywhere."""
    with pytest.raises(TargetError, match="is no target of surface notes"):
        desk.files().read(target)


@pytest.mark.requirement("files:read:torn")
def test_a_file_that_grows_with_each_read_is_not_read_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is written faster than it is read has no end to wait for; what can't be read whole is unreadable."""
    path = desk.path("log.txt", "begin\n")
    real_read, reads = os.read, []

    def growing(fd: int, size: int) -> bytes:
        chunk = real_read(fd, size)
        reads.append(len(chunk))
        assert len(reads) < 100, "it is read for ever"
        with path.open("ab") as file:
            file.write(b"more\n")
        return chunk

    monkeypatch.setattr(os, "read", growing)
    seen = desk.files().read("notes:log.txt")
    assert (seen.presence, seen.detail) == (Presence.UNREADABLE, "it changed during each of 3 reads")
