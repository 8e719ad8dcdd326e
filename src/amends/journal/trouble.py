"""What can be wrong with the disk or the file, said in words: the one place where foreign errors are translated.

apsw.Error and OSError become JournalError with the path, the reason and the next step; the cause is kept. What is
not listed here is still said, with SQLite's own words.
"""

from __future__ import annotations

import errno
from pathlib import Path

import apsw

from amends.errors import JournalError

DAMAGED_HINT = "amends verify"

_DISK_FULL = ("the disk is full", "make room, then ask again: amends")
_READ_ONLY = ("it can't be written to", "give yourself the right to write to it, or set another place for the journal")
_BUSY = ("another process holds it", "wait for the other amends command, or end it")
_DAMAGED = ("the file is damaged", "see what is left with: amends verify, or bring it back from a copy")
_MEMORY = ("memory ran out", "end something else, then ask again: amends")

REASONS: dict[type[apsw.Error], tuple[str, str]] = {
    apsw.FullError: _DISK_FULL,
    apsw.ReadOnlyError: _READ_ONLY,
    apsw.PermissionsError: _READ_ONLY,
    apsw.AuthError: _READ_ONLY,
    apsw.CantOpenError: ("it can't be opened", "look at the path and at the rights of its folder"),
    apsw.IOError: ("the disk failed to read or write", "look at the disk and the system's log, then: amends verify"),
    apsw.CorruptError: _DAMAGED,
    apsw.NotADBError: ("it is not a journal", "move it away, or set another place for the journal"),
    apsw.FormatError: _DAMAGED,
    apsw.EmptyError: _DAMAGED,
    apsw.ConstraintError: ("it refused a record that contradicts it", DAMAGED_HINT),
    apsw.MismatchError: ("it refused a record of the wrong type", DAMAGED_HINT),
    apsw.BusyError: _BUSY,
    apsw.LockedError: _BUSY,
    apsw.ProtocolError: _BUSY,
    apsw.SchemaChangeError: _BUSY,
    apsw.NoLFSError: ("this system can't hold a file of that size", "set another place for the journal"),
    apsw.TooBigError: ("a record is larger than SQLite can hold", "send less in one write"),
    apsw.NoMemError: _MEMORY,
    apsw.InterruptError: ("the command was interrupted", "ask again: amends"),
    apsw.AbortError: ("the command was interrupted", "ask again: amends"),
}
"""What each error of SQLite means for whoever reads it, and the next step."""

_ERRNO = {
    errno.ENOSPC: _DISK_FULL,
    errno.EDQUOT: _DISK_FULL,
    errno.EFBIG: _DISK_FULL,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EISDIR: ("there is a folder in its place", "move it away, or set another place for the journal"),
    errno.ENOTDIR: ("a part of its path is not a folder", "set another place for the journal"),
    errno.EEXIST: ("a part of its path is not a folder", "set another place for the journal"),
    errno.ENOENT: ("it is gone", "bring it back, or set another place for the journal"),
    errno.EIO: REASONS[apsw.IOError],
}


def unusable(path: Path, error: apsw.Error | OSError) -> JournalError:
    """Give the JournalError that says what `error` means for the file at `path`. Raise it `from` that error."""
    if isinstance(error, OSError):
        reason, hint = _ERRNO.get(error.errno or 0, (error.strerror or str(error), "look at the path and the disk"))
    else:
        kind = next((kind for kind in type(error).__mro__ if kind in REASONS), None)
        reason, hint = REASONS[kind] if kind else (f"SQLite says: {error}", DAMAGED_HINT)
    return JournalError(f"the journal {path} can't be used: {reason}", hint=hint)


def damaged(path: Path, what: object) -> JournalError:
    """Give the JournalError for content that is not what was written."""
    return JournalError(f"the journal {path} is damaged: {what}", hint=DAMAGED_HINT)
