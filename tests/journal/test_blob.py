"""Kept bytes on the disk: damaged, unfinished, and large ones."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amends.errors import JournalError, PayloadError
from tests.journal.conftest import OpenJournal

HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


@pytest.mark.requirement("journal:blob:damaged")
def test_damaged_bytes_are_found_and_replaced(folder: Path, open_journal: OpenJournal) -> None:
    """An undo that restored them would write what nobody ever had; the same bytes again mend them."""
    journal = open_journal()
    name, _ = journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    place = folder / "blobs" / HELLO[:2] / HELLO
    place.write_bytes(b"jello\n")
    (folder / "blobs" / HELLO[:2] / "stray").touch()
    found = journal.verify()
    assert found.blobs == 2
    assert [f"{place} are not what their name says" in fault for fault in found.faults] == [True, False]
    journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    with journal.open_blob(name) as kept:
        assert kept.read() == b"hello\n"


@pytest.mark.requirement("journal:blob:kept")
def test_good_bytes_are_not_written_again(folder: Path, open_journal: OpenJournal) -> None:
    """Who has the file open goes on reading it, and a full disk is no reason to lose what was kept."""
    journal = open_journal()
    journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    before = (folder / "blobs" / HELLO[:2] / HELLO).stat()
    journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    after = (folder / "blobs" / HELLO[:2] / HELLO).stat()
    assert before.st_ino == after.st_ino
    assert before.st_mtime_ns < after.st_mtime_ns


@pytest.mark.requirement("journal:blob:limit")
def test_refused_bytes_leave_nothing_behind(folder: Path, open_journal: OpenJournal) -> None:
    """Neither too many bytes nor a source that breaks may leave half a file."""

    class Breaking(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "the stick was pulled out")

    journal = open_journal()
    with pytest.raises(PayloadError, match="more than 3 bytes"):
        journal.put_blob(io.BytesIO(b"1234"), bytes_max=3)
    with pytest.raises(PayloadError, match="the stick was pulled out"):
        journal.put_blob(Breaking(), bytes_max=3)  # type: ignore[arg-type]
    assert list((folder / "blobs").iterdir()) == []


@pytest.mark.requirement("journal:blob:kept")
def test_what_a_dead_process_left_unfinished_is_removed(folder: Path, open_journal: OpenJournal) -> None:
    """A crash while 4 GiB are kept must not cost 4 GiB for ever; a living process's file stays."""
    journal = open_journal()
    (folder / "blobs" / ".pr_dead.1").write_bytes(b"half")
    (folder / "blobs" / f".{journal.process_id}.1").write_bytes(b"half")
    open_journal()
    assert [path.name for path in (folder / "blobs").iterdir()] == [f".{journal.process_id}.1"]


@pytest.mark.requirement("journal:blob:kept")
def test_bytes_that_can_not_be_opened_are_reported(folder: Path, open_journal: OpenJournal) -> None:
    """Whatever is in their place, the message names the place."""
    journal = open_journal()
    (folder / "blobs" / HELLO[:2] / HELLO).mkdir(parents=True)
    with pytest.raises(JournalError, match=HELLO):
        journal.open_blob(f"sha256:{HELLO}")
    assert any(HELLO in fault for fault in journal.verify().faults)


KEEP_MUCH = """
import sys, pathlib, resource
from amends.journal import SqliteJournal
from amends.testing import FakeClock, FakeIds
journal = SqliteJournal(pathlib.Path(sys.argv[1]), clock=FakeClock(), ids=FakeIds())
told = []
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open(sys.argv[2], "rb") as content:
    name, size = journal.put_blob(content, bytes_max=1 << 30, progress=told.append)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(size, told[-1], len(told), after - before)
"""


@pytest.mark.requirement("journal:blob:memory")
def test_a_large_file_takes_no_more_memory(folder: Path, tmp_path: Path) -> None:
    """256 MiB in a fresh process, whose highest use of memory the kernel tells; progress is told on the way."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(256 * 1024 * 1024)
    command = [sys.executable, "-c", KEEP_MUCH, str(folder), str(large)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    size, told, times, grown = map(int, answer.stdout.split())
    assert (size, told, times) == (256 * 1024 * 1024, 256 * 1024 * 1024, 256)
    unit = 1 if sys.platform == "darwin" else 1024
    assert grown * unit < 16 * 1024 * 1024


@pytest.mark.requirement("journal:forget:blobs")
def test_bytes_that_were_kept_again_just_now_are_not_swept(folder: Path, open_journal: OpenJournal) -> None:
    """A write that is just being proposed names them in a moment; only what is old and unnamed goes."""
    journal = open_journal()
    journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    place = folder / "blobs" / HELLO[:2] / HELLO
    os.utime(place, (1, 1))
    assert journal.sweep_blobs(before_ms=1_000) == 0
    journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    assert journal.sweep_blobs(before_ms=2_000) == 0
    os.utime(place, (1, 1))
    assert journal.sweep_blobs(before_ms=2_000) == 1
    assert [*(folder / "blobs").rglob("*")] == [place.parent]
