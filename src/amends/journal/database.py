"""The journal's SQLite file: how it is made, opened, brought to the current schema, and asked.

Only its owner may read it (0600, in a folder of 0700). WAL with synchronous=FULL is not asked for but asserted, on a
SQLite without the WAL-reset bug. SQL lives in `schema/`: numbered migrations, and queries under their names.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import apsw

from amends.errors import JournalError

JOURNAL_FILE = "journal.sqlite"

SQLITE_VERSION_MIN = (3, 51, 3)
"""Below it, a WAL reset at the wrong moment can corrupt the file."""

BUSY_TIMEOUT_MS = 5_000
"""A commit takes milliseconds. Who holds the journal for five seconds has a stuck disk or was stopped, and waiting on
would only hide it."""

APPLICATION_ID = 0x416D6E64
"""`Amnd` in the file's header, so that another program's database is never taken for a journal."""

PAGE_BYTES_MIN = 512
"""No SQLite file is shorter, but SQLite takes a file of one byte for an empty one, and would begin anew in it."""

SYNCHRONOUS_NORMAL, SYNCHRONOUS_FULL = 1, 2
"""SQLite's own numbers: NORMAL syncs the WAL at checkpoints, FULL at every commit."""

_SCHEMA = resources.files("amends.journal").joinpath("schema")


def queries() -> dict[str, str]:
    """Read the statements of `queries.sql` by their names."""
    text = _SCHEMA.joinpath("queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def migrations() -> list[tuple[int, str]]:
    """Read the migrations, each with its number, in order."""
    files = sorted((file for file in _SCHEMA.iterdir() if file.name[:4].isdigit()), key=lambda file: file.name)
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


def ask(database: apsw.Connection, statement: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
    """Run `statement` to its end: apsw runs the later ones of several only when the cursor is read."""
    return list(database.execute(statement, values))


def scalar(database: apsw.Connection, statement: str, *values: apsw.SQLiteValue) -> apsw.SQLiteValue:
    """Give the first value of the first row; None if there is no row."""
    rows = ask(database, statement, *values)
    return rows[0][0] if rows else None


def set_synchronous(database: apsw.Connection, level: int) -> None:
    """Set how much a commit syncs, and see that it took: SQLite ignores what it doesn't like without a word."""
    database.execute(f"PRAGMA synchronous={level}")
    if scalar(database, "PRAGMA synchronous") != level:
        raise JournalError(f"SQLite did not take synchronous={level}", hint="report this; nothing was written")


def open_database(path: Path, *, new_journal_id: Callable[[], str]) -> tuple[apsw.Connection, str]:
    """Open the file at `path`, making it if there is none; give the connection and the journal's id.

    Raises JournalError for what is not our journal, and apsw.Error or OSError for what can't be opened.
    """
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < SQLITE_VERSION_MIN:
        least = ".".join(map(str, SQLITE_VERSION_MIN))
        raise JournalError(
            f"SQLite {apsw.sqlite_lib_version()} can damage a journal; {least} or newer is needed",
            hint="install the apsw wheel from PyPI, which brings its own SQLite",
        )
    _make_file(path)
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        database.set_busy_timeout(BUSY_TIMEOUT_MS)
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "fullfsync=ON", "checkpoint_fullfsync=ON"):
            ask(database, f"PRAGMA {pragma}")
        _refuse_other_files(database, path)
        if scalar(database, "PRAGMA journal_mode=WAL") != "wal":
            raise JournalError(f"{path} can't use a write-ahead log", hint="keep the journal on a local disk")
        set_synchronous(database, SYNCHRONOUS_FULL)
        return database, _migrated(database, new_journal_id)
    except BaseException:
        database.close()
        raise


def _make_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise JournalError(f"{path} is not a file", hint="move it away, or set another place for the journal")
        if 0 < found.st_size < PAGE_BYTES_MIN:
            raise JournalError(
                f"{path} is too short to be a journal: {found.st_size} bytes",
                hint="bring it back from a copy, or set another place for the journal",
            )
    finally:
        os.close(descriptor)


def _refuse_other_files(database: apsw.Connection, path: Path) -> None:
    version, application = scalar(database, "PRAGMA user_version"), scalar(database, "PRAGMA application_id")
    is_empty = scalar(database, "SELECT count(*) FROM sqlite_schema") == 0
    if application != APPLICATION_ID and not (is_empty and application == 0):
        raise JournalError(
            f"{path} is the database of another program", hint="move it away, or set another place for the journal"
        )
    known = migrations()[-1][0]
    if isinstance(version, int) and version > known:
        raise JournalError(
            f"{path} has the journal format {version}; this version of Amends knows up to {known}",
            hint="update Amends; an older one must not write to a newer journal",
        )


def _migrated(database: apsw.Connection, new_journal_id: Callable[[], str]) -> str:
    """Bring the schema up to date in one step, and give the journal's id."""
    statement = queries()
    ask(database, "BEGIN IMMEDIATE")
    try:
        version = scalar(database, "PRAGMA user_version")
        assert isinstance(version, int)
        for number, script in migrations():
            if number > version:
                ask(database, script)
                ask(database, f"PRAGMA user_version={number}")
        if version == 0:
            ask(database, f"PRAGMA application_id={APPLICATION_ID}")
            ask(database, statement["insert_meta"], new_journal_id())
        journal_id = scalar(database, statement["journal_id"])
        ask(database, "COMMIT")
    except BaseException:
        if database.in_transaction:
            ask(database, "ROLLBACK")
        raise
    if not isinstance(journal_id, str):
        raise JournalError("the journal has lost its id", hint="amends verify")
    return journal_id
