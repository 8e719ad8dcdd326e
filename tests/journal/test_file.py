"""The journal's file: who may read it, and what is said when it can't be used."""

import inspect
import os
import resource
import sqlite3
import stat
from pathlib import Path

import apsw
import pytest

from amends.contract.lifecycle import Happened
from amends.errors import JournalError
from amends.journal import SqliteJournal, database
from amends.journal.trouble import REASONS, unusable
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import operation
from tests.journal.conftest import OpenJournal


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.rglob("*")]}


@pytest.mark.requirement("journal:file:private")
def test_only_the_owner_can_read_the_journal(folder: Path, open_journal: OpenJournal) -> None:
    """It holds what was written everywhere, pre-images included; the umask of the moment must not matter."""
    umask = os.umask(0)
    try:
        journal = open_journal()
        journal.commit(operation("op_1"))
        with open(__file__, "rb") as content:
            journal.put_blob(content, bytes_max=1_000_000)
        found = modes(folder)
    finally:
        os.umask(umask)
    assert {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "blobs", "owners"} <= set(found)
    assert {mode for name, mode in found.items() if (folder / name).is_file() or len(name) == 64} == {"0o600"}
    assert {mode for name, mode in found.items() if name in ("journal", "blobs", "owners")} == {"0o700"}


@pytest.mark.requirement("journal:commit:durable")
def test_a_commit_is_synced_unless_it_may_be_lost(open_journal: OpenJournal) -> None:
    """SQLite ignores a level that it doesn't like, so what counts is what it answers when asked."""
    journal = open_journal()
    assert journal._database is not None
    seen = []

    def level() -> object:
        assert journal._database is not None
        return database.scalar(journal._database, "PRAGMA synchronous")

    def look() -> bool:
        seen.append(level())
        return False

    assert (level(), database.scalar(journal._database, "PRAGMA journal_mode")) == (database.SYNCHRONOUS_FULL, "wal")
    journal._database.set_commit_hook(look)
    for durable in (True, False, True):
        journal.commit([Event(f"tx_{len(seen)}", Happened.OPENED, 0)], durable=durable)
    assert seen == [database.SYNCHRONOUS_FULL, database.SYNCHRONOUS_NORMAL, database.SYNCHRONOUS_FULL]


@pytest.mark.requirement("journal:commit:durable")
def test_the_names_of_new_folders_are_synced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A synced record in a folder whose own name a power cut takes away is lost with it."""
    synced, fsync = [], os.fsync

    def seen(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", seen)
    folder = tmp_path / "office" / ".amends" / "journal"
    SqliteJournal(folder, clock=FakeClock(), ids=FakeIds()).close()
    assert {str(path) for path in (tmp_path, tmp_path / "office", folder.parent)} <= set(synced)


@pytest.mark.requirement("journal:commit:durable")
def test_a_level_that_did_not_take_is_an_error(open_journal: OpenJournal) -> None:
    """SQLite takes another level for one that it doesn't know, without a word."""
    journal = open_journal()
    assert journal._database is not None
    with pytest.raises(JournalError, match="did not take synchronous=99"):
        database.set_synchronous(journal._database, 99)


@pytest.mark.requirement("journal:file:sqlite")
def test_a_sqlite_that_damages_journals_is_refused(open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most systems ship a SQLite with the WAL-reset bug; apsw can be built against it."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(JournalError, match=r"SQLite 3\.51\.2 can damage a journal; 3\.51\.3 or newer"):
        open_journal()


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()


def newer_journal(path: Path) -> None:
    SqliteJournal(path.parent, clock=FakeClock(), ids=FakeIds(first=900)).close()
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA journal_mode=DELETE")
        newer.execute("PRAGMA user_version=99")
    newer.close()


def prose(path: Path) -> None:
    path.write_text("Dear diary, this is no database, however long I make it. " * 40)


@pytest.mark.requirement("journal:file:foreign", "journal:file:newer")
@pytest.mark.parametrize(
    ("make", "says", "hint"),
    [
        pytest.param(other_database, "is the database of another program", "move it away", id="database"),
        pytest.param(prose, "it is not a journal", "move it away", id="prose"),
        pytest.param(
            newer_journal, "has the journal format 99; this version of Amends knows up to 1", "update", id="new"
        ),
    ],
)
def test_what_is_not_our_journal_stays_as_it_is(make, says, hint, folder: Path, open_journal: OpenJournal) -> None:
    """A wrong path in the settings must not cost anybody a file."""
    folder.mkdir()
    path = folder / "journal.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(JournalError) as raised:
        open_journal()
    assert says in str(raised.value)
    assert str(path) in str(raised.value)
    assert hint in (raised.value.hint or "")
    assert path.read_bytes() == before
    assert list((folder / "owners").iterdir()) == []


@pytest.mark.requirement("journal:file:foreign")
def test_what_is_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    """A folder or a pipe in the journal's place, or a file in the place of its folder, needs a person."""
    (tmp_path / "a" / "journal.sqlite").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "journal.sqlite")
    (tmp_path / "c").touch()
    for place, says in (
        (tmp_path / "a", "there is a folder in its place"),
        (tmp_path / "b", "is not a file"),
        (tmp_path / "c", "a part of its path is not a folder"),
        (tmp_path / "c" / "d", "a part of its path is not a folder"),
        (Path("/proc/nothing/can/be/made/here"), "it "),
    ):
        with pytest.raises(JournalError, match=says):
            SqliteJournal(place, clock=FakeClock(), ids=FakeIds())


@pytest.mark.requirement("journal:file:damaged")
def test_a_file_that_was_cut_short_is_reported(folder: Path, tmp_path: Path, open_journal: OpenJournal) -> None:
    """Wherever it was cut, it is never taken for a whole one; an empty file is a new journal with a new id."""
    journal = open_journal()
    for number in range(40):
        journal.commit(operation(f"op_{number:03d}", upto=Happened.DELIVERED))
    journal_id = journal.journal_id
    journal.close()
    whole = (folder / "journal.sqlite").read_bytes()
    assert len(whole) % 4096 == 0
    said = []
    for size in (1, 99, 100, 1000, 4095, 4096, 8192, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        place = tmp_path / str(size)
        place.mkdir()
        (place / "journal.sqlite").write_bytes(whole[:size])
        try:
            cut = SqliteJournal(place, clock=FakeClock(), ids=FakeIds(first=500))
        except JournalError as error:
            said.append((str(error), error.hint))
        else:
            assert cut.verify().faults != (), size
            cut.close()
    assert said
    assert [text for text, hint in said if str(tmp_path) not in text or not hint] == []
    (folder / "journal.sqlite").write_bytes(b"")
    assert open_journal().journal_id != journal_id


@pytest.mark.requirement("journal:file:full")
def test_a_full_disk_is_said_and_survived(open_journal: OpenJournal) -> None:
    """Nothing is half recorded, what was in doubt is abandoned when there is room again, and work goes on."""
    journal = open_journal()
    journal.commit(operation("op_1"))
    assert journal._database is not None
    pages = database.scalar(journal._database, "PRAGMA page_count")
    database.ask(journal._database, f"PRAGMA max_page_count={pages}")
    large = Event("op_2", Happened.PROPOSED, 0, {"text": "x" * 100_000})
    with pytest.raises(JournalError, match="the disk is full") as raised:
        journal.commit([large, *operation("op_2", upto=Happened.INTENDED)[1:]])
    assert "make room" in (raised.value.hint or "")
    assert isinstance(raised.value.__cause__, apsw.FullError)
    assert [row.subject for row in journal.open()] == ["op_1"]
    database.ask(journal._database, "PRAGMA max_page_count=1000000")
    journal.commit(operation("op_3"))
    assert [row.subject for row in journal.open()] == ["op_1", "op_3"]
    assert journal.events("op_2")[-1].happened is Happened.ABANDONED
    assert journal.verify().faults == ()


@pytest.mark.requirement("journal:file:full")
def test_a_refused_write_of_the_system_is_survived(folder: Path, open_journal: OpenJournal) -> None:
    """The system itself refuses to let the log or a blob grow: both are said, and leave nothing behind."""
    journal = open_journal()
    journal.commit(operation("op_1"))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "journal.sqlite-wal").stat().st_size, limit[1]))
    try:
        with pytest.raises(JournalError, match="can't be used"):
            journal.commit(operation("op_2", upto=Happened.INTENDED))
        with open("/dev/zero", "rb") as endless, pytest.raises(JournalError, match="the disk is full"):
            journal.put_blob(endless, bytes_max=10_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    journal.commit(operation("op_3"))
    assert [row.subject for row in journal.open()] == ["op_1", "op_3"]
    found = journal.verify()
    assert (found.blobs, found.faults) == (0, ())
    assert list((folder / "blobs").iterdir()) == []


OURS_ALONE = """
    BindingsError ConnectionClosedError ConnectionNotClosedError CursorClosedError Error ExecTraceAbort
    ExecutionCompleteError ExtensionLoadingError ForkingViolationError IncompleteExecutionError InternalError
    InvalidContextError MisuseError NoFTS5Error NotFoundError RangeError SQLError ThreadingViolationError
    VFSFileClosedError VFSNotImplementedError
"""  # only a mistake of ours could raise these: what SQLite says is all that can be said


@pytest.mark.requirement("journal:file:errors")
def test_every_error_of_sqlite_has_words_of_its_own() -> None:
    """An error that comes with a new version of apsw has to be thought about here, not by whoever meets it."""
    kinds = {item for _, item in inspect.getmembers(apsw, inspect.isclass) if issubclass(item, apsw.Error)}
    assert {kind for kind in kinds if kind.__name__ not in OURS_ALONE.split()} == set(REASONS)
    errors: list[apsw.Error | OSError] = [kind("what SQLite said") for kind in kinds]
    for error in [*errors, OSError(28, "full"), OSError("without a number")]:
        said = unusable(Path("/here/journal.sqlite"), error)
        assert str(said).startswith("the journal /here/journal.sqlite can't be used: ")
        assert said.hint
