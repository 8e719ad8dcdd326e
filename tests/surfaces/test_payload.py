"""What a document or a local file brings, taken whole or not at all."""

import base64
import io
import os
import stat
import tracemalloc
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from amends.contract.operation import Fact
from amends.errors import DocumentError, PayloadError
from amends.surfaces.files import PAYLOAD_BYTES_MAX, Syscalls
from amends.surfaces.files.content import umask
from tests.surfaces.desk import ARCHIVE, CREATE, EDIT, UPLOAD, Desk, digest
from tests.surfaces.fault import watched


@pytest.mark.requirement("files:payload:document")
def test_text_and_base64_give_the_same_bytes(desk: Desk) -> None:
    """Text is for people, base64 for everything that is not UTF-8."""
    encoded = base64.b64encode("ä\r\n".encode()).decode()
    for key, plan in {
        "a.md": desk.plan(CREATE, "a.md", text="ä\r\n"),
        "b.md": desk.plan(CREATE, "b.md", base64=encoded),
    }.items():
        desk.files().send(desk.prepare(plan))
        assert (desk.root / key).read_bytes() == b"\xc3\xa4\r\n"
        assert plan.operation.postcondition == (Fact(f"notes:{key}", "content", digest(b"\xc3\xa4\r\n")),)
        assert plan.payload["size"] == 4


@pytest.mark.requirement("files:payload:document")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "without content"),
        ({"mode": "0644"}, "without content"),
        ({"text": "x", "base64": "eA=="}, "both given"),
        ({"text": 7}, "not a string"),
        ({"text": "\udcff"}, "can't be taken"),
        ({"base64": "no base64!"}, "can't be taken"),
        ({"text": "x", "tags": []}, "'tags' is no field of create"),
        ({"text": "x", "mode": 644}, "'mode' is 644"),
        ({"text": "x", "mode": "4755"}, "'mode' is '4755'"),
        ({"text": "x", "mode": "0888"}, "'mode' is '0888'"),
    ],
)
def test_a_document_that_can_not_be_taken_is_refused_by_field(desk: Desk, fields: dict[str, Any], reason: str) -> None:
    """A field that is dropped without a word is a wish that was not fulfilled."""
    with pytest.raises(DocumentError, match=reason) as caught:
        desk.plan(CREATE, "plan.md", **fields)
    assert caught.value.hint


@pytest.mark.requirement("files:payload:document")
def test_an_archive_takes_no_fields_at_all(desk: Desk) -> None:
    """Whoever gives one means something else by it."""
    desk.path("plan.md")
    with pytest.raises(DocumentError, match="'text' is no field of archive"):
        desk.plan(ARCHIVE, "plan.md", text="x")


@pytest.mark.requirement("files:mode:asked")
def test_an_edit_may_set_the_mode_alone(desk: Desk) -> None:
    """The content is then a fact too: what was shown stays."""
    path = desk.path("run.sh", "echo\n")
    path.chmod(0o644)
    plan = desk.plan(EDIT, "run.sh", mode="755")
    attempt = desk.prepare(plan)
    desk.files().send(attempt)
    assert {fact.field: fact.value for fact in plan.operation.postcondition} == {
        "content": digest(b"echo\n"),
        "mode": "0755",
    }
    assert path.read_text() == "echo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.requirement("files:mode:kept")
def test_an_edit_keeps_mode_owner_and_attributes(desk: Desk) -> None:
    """A rename brings a new file with it, so all that the old one had must be carried over."""
    path = desk.path("plan.md")
    path.chmod(0o4751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
        path.chmod(0o4751)
    os.setxattr(path, "user.colour", b"blue")
    before = path.stat()
    desk.write(EDIT, "plan.md", text="new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.colour") == b"blue"


@pytest.mark.requirement("files:mode:umask")
def test_a_new_file_and_its_new_folders_get_what_the_umask_leaves(desk: Desk) -> None:
    """As if they had been made in the usual way, although they were staged as private."""
    before = os.umask(0o027)
    try:
        assert umask() == 0o027
        desk.write(CREATE, "new/deep/plan.md", text="x")
        desk.write(CREATE, "asked.md", text="x", mode="0604")
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((desk.root / name).stat().st_mode) for name in ("new", "new/deep", "new/deep/plan.md")}
    assert modes == {"new": 0o750, "new/deep": 0o750, "new/deep/plan.md": 0o640}
    assert stat.S_IMODE((desk.root / "asked.md").stat().st_mode) == 0o604


@pytest.mark.requirement("files:mode:umask")
def test_a_folder_that_hands_its_group_on_does_so(desk: Desk) -> None:
    """A shared folder relies on it."""
    folder = desk.root / "shared"
    folder.mkdir()
    group = 4321 if os.geteuid() == 0 else os.getegid()
    os.chown(folder, -1, group)
    folder.chmod(0o2775)
    desk.write(CREATE, "shared/plan.md", text="x")
    assert (folder / "plan.md").stat().st_gid == group


@pytest.mark.requirement("files:upload:whole")
def test_an_upload_creates_or_replaces_from_a_local_file(desk: Desk) -> None:
    """Which of the two it is, and so what may be promised, depends on what is there."""
    local = desk.path("../local.bin", b"\0\1\2")
    first = desk.plan(UPLOAD, "a.bin", local_file=str(local))
    desk.files().send(desk.prepare(first))
    local.write_bytes(b"\3")
    second = desk.plan(UPLOAD, "a.bin", local_file=str(local), mode="0600")
    desk.files().send(desk.prepare(second))
    assert (first.guarantee.level, second.guarantee.level) == ("atomic", "racy")
    assert (desk.root / "a.bin").read_bytes() == b"\3"
    assert stat.S_IMODE((desk.root / "a.bin").stat().st_mode) == 0o600


@pytest.mark.requirement("files:upload:refused")
def test_a_local_file_that_can_not_be_taken_whole_is_refused(desk: Desk, tmp_path: Path) -> None:
    """What was read in part, or while it changed, is no file that anybody has seen."""
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(PAYLOAD_BYTES_MAX + 1)
    for path, error, reason in (
        (None, DocumentError, "without 'local_file'"),
        ("local.md", DocumentError, "not an absolute path"),
        (tmp_path / "missing", PayloadError, "can't be read: it is not there"),
        (tmp_path, PayloadError, "is a folder"),
        (tmp_path / "pipe", PayloadError, "is a named pipe"),
        (tmp_path / "huge", PayloadError, f"at most {PAYLOAD_BYTES_MAX} are taken"),
    ):
        with pytest.raises(error, match=reason) as caught:
            desk.plan(UPLOAD, "a.bin", local_file=None if path is None else str(path))
        assert caught.value.hint
    assert not (desk.root / "a.bin").exists()


@pytest.mark.requirement("files:upload:refused")
def test_a_local_file_that_changes_while_it_is_read_is_refused(desk: Desk) -> None:
    """The digest would be of no version that ever was."""
    local = desk.path("../local.bin", bytes(3 * 1024 * 1024))

    def grow(phase: str, done: int, total: int) -> None:
        with open(local, "ab") as file:
            file.write(b"x")

    files = desk.files(progress=grow)
    with pytest.raises(PayloadError, match="changed while it was read"):
        desk.plan(UPLOAD, "a.bin", files=files, local_file=str(local))


class OnDisk:
    """A store of blobs that keeps no bytes in memory."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "blob"

    def put_blob(self, content: BinaryIO, *, bytes_max: int) -> tuple[str, int]:
        import hashlib

        hashed, size = hashlib.sha256(), 0
        with open(self.path, "wb") as file:
            while chunk := content.read(1024 * 1024):
                hashed.update(chunk)
                size += file.write(chunk)
        return f"sha256:{hashed.hexdigest()}", size

    def open_blob(self, digest: str) -> BinaryIO:
        return open(self.path, "rb")


@pytest.mark.requirement("files:upload:flat")
def test_a_large_upload_takes_little_memory_and_tells_its_progress(desk: Desk, tmp_path: Path) -> None:
    """256 MiB must not need 256 MiB, nor look as if it hung."""
    size = 256 * 1024 * 1024
    local = tmp_path / "large"
    with open(local, "wb") as file:
        file.truncate(size)
    told: list[tuple[str, int, int]] = []
    files = desk.files(progress=lambda *step: told.append(step))
    desk.blobs = OnDisk(tmp_path)  # type: ignore[assignment]
    tracemalloc.start()
    try:
        attempt = desk.prepared(UPLOAD, "large.bin", files=files, local_file=str(local))
        files.send(attempt)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (desk.root / "large.bin").stat().st_size == size
    assert peak < 16 * 1024 * 1024
    assert [step for step in told if step[1] == size] == [("reading", size, size), ("staging", size, size)]


class Altered:
    """A store whose bytes were changed on the disk."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def put_blob(self, content: BinaryIO, *, bytes_max: int) -> tuple[str, int]:
        return digest(content.read()), 3

    def open_blob(self, digest: str) -> BinaryIO:
        return io.BytesIO(self.content)


@pytest.mark.requirement("files:payload:altered")
@pytest.mark.parametrize("key", ["plan.md", "new/deep/plan.md"])
def test_bytes_that_were_altered_since_the_confirmation_are_not_sent(desk: Desk, key: str) -> None:
    """What is sent is what was confirmed, byte for byte, or nothing."""
    desk.blobs = Altered(b"evil")  # type: ignore[assignment]
    plan = desk.plan(CREATE, key, text="good")
    with pytest.raises(PayloadError, match="were altered"):
        desk.prepare(plan)
    assert list((desk.root / ".amends" / "stage").iterdir()) == []
    assert not (desk.root / "plan.md").exists()


@pytest.mark.requirement("files:stage:durable")
def test_everything_is_synced_before_the_landing_and_named_after_it(desk: Desk) -> None:
    """A name that points at bytes which are not on the disk yet is an empty file after a power cut."""
    desk.path("plan.md")
    calls: list[str] = []

    def log(name: str, carry_out: Any) -> Any:
        calls.append(name)
        return carry_out()

    files = desk.files(watched(Syscalls(), log))
    desk.prepared(EDIT, "plan.md", files=files, text="x")
    calls.clear()
    attempt = desk.prepared(EDIT, "plan.md", files=files, text="x")
    assert calls[-2:] == ["fsync", "fsync"]
    calls.clear()
    desk.files(watched(Syscalls(), log)).send(attempt)
    assert calls == ["rename_exchange", "fsync", "rename_noreplace", "fsync", "fsync", "unlink"], (
        "of the lock of its process"
    )
    calls.clear()
    desk.files(watched(Syscalls(), log)).fence(attempt, is_sender_gone=True)
    assert calls == ["rename_noreplace", "fsync", "fsync", "fsync", "fsync"]
