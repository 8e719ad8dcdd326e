"""The step that rules out a late landing, and what is then proved of the attempt; and the removal of what it left.

May be repeated, by any process, at any time, also after a crash in its middle; a sender that wakes up afterwards finds
what it needs gone (invariant 9). `never_sent` rests on what was set aside, `receipt` on what was displaced or on the
staged inode being at the target. Where neither is left, it may have been overwritten since: ambiguous and closed.

A move needs nothing that could be set aside, so only the end of its sender rules it out. After that it landed if the
moved inode is at the target, and never did if it is at the source with the ctime that was recorded, since a rename sets
it. A number that was given to a new file does not deceive: inodes are told apart by when they were made, too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress

from amends.contract.outcome import Evidence
from amends.ports import Answer
from amends.surfaces.files.content import drop
from amends.surfaces.files.landing import SET_ASIDE, Site, drop_second_name, never_sent, put_away, sending
from amends.surfaces.files.room import KEPT, PRIVATE, descend, opened
from amends.surfaces.files.root import Way
from amends.surfaces.files.syscall import why


def fence(site: Site, *, is_sender_gone: bool) -> Answer:
    """Make a late landing impossible, and judge. Never raises OSError."""
    try:
        match site.notes.way:
            case Way.NOREPLACE | Way.EXCHANGE:
                return _by_displaced(site)
            case Way.LINK | Way.REPLACE:
                return _by_unsent(site)
            case Way.ARCHIVE:
                return _by_archive(site)
            case Way.REMOVE:
                raise AssertionError("a delete has a fence of its own")
            case Way.MOVE | Way.RESPELL:
                return _by_move(site) if is_sender_gone else _still_sending(site)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=False)


def unsent(key: str) -> str:
    """Name what was set aside where the archive holds something else under the key."""
    return f"{key}.unsent"


def _by_displaced(site: Site) -> Answer:
    put_away(site)
    if not site.has(site.room.archive, site.key):
        return _by_target(site)
    if site.is_staged(site.room.archive, site.key):
        return never_sent(SET_ASIDE)
    return _receipt(site, site.room.archive, note=site.displaced(site.room.archive, site.key))


def _by_unsent(site: Site) -> Answer:
    """Where the landing displaces nothing: only a staged file that was never touched proves that nothing landed."""
    stage, archive = site.room.stage, site.room.archive
    try:
        site.syscalls.rename(stage, site.key, archive, unsent(site.key))
    except OSError:
        if site.inode(stage, site.key) is not None:
            raise
    if site.is_staged(archive, unsent(site.key)):
        if site.notes.way is Way.REPLACE:
            _drop_second_name(site)
        return never_sent(SET_ASIDE)
    if site.notes.way is Way.LINK:
        # A link that is under way in the kernel fails on a file without a name, so unlink and not rename.
        with suppress(FileNotFoundError):
            site.syscalls.unlink(stage, sending(site.key))
        return _by_target(site)
    note = site.displaced(archive, site.key) if site.inode(archive, site.key) is not None else None
    return _by_target(site, note=note)


def _by_target(site: Site, *, note: str | None = None) -> Answer:
    if site.is_at_target():
        return _receipt(site, site.room.archive, note=note)
    return site.unproven("what was staged is gone, and what is there now is something else", is_quiescent=True)


def _by_archive(site: Site) -> Answer:
    """An inner folder that can be removed is empty: nothing landed, and nothing can land in it any more.

    The outer one stays, so that a repeated fence knows why the inner one is gone.
    """
    try:
        outer = descend(site.room.archive, (site.key,))
    except FileNotFoundError:
        return site.unproven(f"somebody removed {os.path.dirname(site.kept)}", is_quiescent=True)
    with opened(outer):
        try:
            with suppress(FileNotFoundError):
                site.syscalls.rmdir(outer, KEPT)
            return never_sent(SET_ASIDE)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        with opened(inner := descend(outer, (KEPT,))):
            if site.inode(inner, site.notes.entry) is None:
                return site.unproven(f"somebody put something else into {site.kept}", is_quiescent=False)
            return _receipt(site, inner, note=site.displaced(inner, site.notes.entry))


def _still_sending(site: Site) -> Answer:
    return Answer(
        Evidence.UNPROVEN,
        is_quiescent=False,
        reason="the process that sends it still lives, and nothing but its end keeps a move from landing",
        hint="wait for that process, or end it, then check this operation again",
    )


def _by_move(site: Site) -> Answer:
    notes, stage = site.notes, site.room.stage
    if notes.way is Way.RESPELL and site.is_staged(stage, site.key):
        _bring_back(site)
        if site.inode(stage, site.key) is not None:
            return site.unproven(f"something else is where it was; it is kept at {site.kept}", is_quiescent=True)
    target = _moved_at(site, (*notes.folder, notes.entry))
    source = _moved_at(site, notes.source)
    if target is not None and source is None and notes.born_ns is not None:
        return _moved_receipt(site)
    was_brought_back = site.inode(stage, brought_back(site.key)) is not None
    if target is None and source is not None and (was_brought_back or source.st_ctime_ns == notes.changed_ns):
        return never_sent("it was never sent, and the process that would have sent it is gone")
    where = "it is where it was, but was touched since" if source is not None and target is None else "it is elsewhere"
    return site.unproven(where, is_quiescent=True)


def _moved_receipt(site: Site) -> Answer:
    with opened(folder := descend(site.room.root, site.notes.folder)):
        note = site.moved(folder)
    try:
        source = descend(site.room.root, site.notes.source[:-1])
    except FileNotFoundError:
        return _receipt(site, site.room.archive, note=note)
    with opened(source):
        return _receipt(site, source, note=note)


def brought_back(key: str) -> str:
    """Name the mark that a half-way entry was brought back by a fence, which sets its ctime as a landing would."""
    return f"{key}.back"


def _bring_back(site: Site) -> None:
    stage = site.room.stage
    with suppress(FileExistsError):
        site.syscalls.mkdir(stage, brought_back(site.key), PRIVATE)
    with (
        suppress(FileNotFoundError, FileExistsError),
        opened(folder := descend(site.room.root, site.notes.source[:-1])),
    ):
        site.syscalls.rename_noreplace(stage, site.key, folder, site.notes.source[-1])


def _moved_at(site: Site, parts: Sequence[str]) -> os.stat_result | None:
    """Look whether what was to be moved is at `parts`, under exactly that name. Raises OSError if that is unclear."""
    with suppress(FileNotFoundError, NotADirectoryError), opened(folder := descend(site.room.root, parts[:-1])):
        found = site.syscalls.stat(folder, parts[-1])
        is_it = (found.st_ino, site.syscalls.born_ns(folder, parts[-1])) == (site.notes.staged, site.notes.born_ns)
        if is_it and (site.notes.way is Way.MOVE or parts[-1] in site.syscalls.names(folder)):
            return found
    return None


def _receipt(site: Site, archive: int, *, note: str | None) -> Answer:
    """It landed: said only when that is durable. The target first: what was displaced proves that it landed."""
    try:
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            opened(folder := descend(site.room.root, site.notes.folder)),
        ):
            site.syscalls.fsync(folder)
        for fd in (archive, site.room.archive, site.room.stage):
            site.syscalls.fsync(fd)
    except OSError as error:
        return site.unproven(f"it landed, but may not survive a power cut: {why(error)}", is_quiescent=True)
    return Answer(Evidence.RECEIPT, note=note, is_undoable=note is None)


def tidy(site: Site) -> None:
    """Remove what this failed attempt staged, or what this delete took away. Other inodes, and bytes, stay."""
    stage, archive, notes, key = site.room.stage, site.room.archive, site.notes, site.key
    if notes.way is Way.ARCHIVE:
        with suppress(OSError):
            with opened(outer := descend(archive, (key,))), suppress(FileNotFoundError):
                site.syscalls.rmdir(outer, KEPT)
            site.syscalls.rmdir(archive, key)
        return
    if notes.way in (Way.MOVE, Way.RESPELL):
        with suppress(OSError):
            site.syscalls.rmdir(stage, brought_back(key))
        return
    if notes.staged is None or notes.file is None:
        return
    for fd, name in ((stage, key), (stage, sending(key)), (archive, key), (archive, unsent(key))):
        drop(site.syscalls, fd, name, notes.inside, staged=notes.staged, file=notes.file)
    if notes.way is Way.REPLACE:
        _drop_second_name(site)


def _drop_second_name(site: Site) -> None:
    with suppress(OSError), opened(folder := descend(site.room.root, site.notes.folder)):
        drop_second_name(site, folder)
