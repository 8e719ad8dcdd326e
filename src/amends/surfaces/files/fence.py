"""The step that rules out a late landing, and what the private folder then proves of the attempt.

May be repeated, by any process, at any time, also after a crash in its middle; a sender that wakes up afterwards finds
what it needs gone (invariant 9). `never_sent` rests on what was set aside, `receipt` on what was displaced or on the
staged inode being at the target. Where neither is left, it may have been overwritten since: ambiguous and closed.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from amends.contract.outcome import Evidence
from amends.ports import Answer
from amends.surfaces.files.landing import KEPT, put_away, sending
from amends.surfaces.files.means import Way
from amends.surfaces.files.reason import why
from amends.surfaces.files.room import descend, opened
from amends.surfaces.files.site import SET_ASIDE, Site, never_sent
from amends.surfaces.files.stage import drop


def fence(site: Site) -> Answer:
    """Make a late landing impossible, and judge. Never raises OSError."""
    try:
        match site.notes.way:
            case Way.NOREPLACE | Way.EXCHANGE:
                return _by_displaced(site)
            case Way.LINK | Way.REPLACE:
                return _by_unsent(site)
            case Way.ARCHIVE:
                return _by_archive(site)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=False)


def unsent(key: str) -> str:
    """Name what was set aside where the archive holds something else under the key."""
    return f"{key}.unsent"


def _by_displaced(site: Site) -> Answer:
    put_away(site)
    found = site.inode(site.room.archive, site.key)
    if found is None:
        return _by_target(site)
    if found == site.notes.staged:
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
    if site.inode(archive, unsent(site.key)) == site.notes.staged:
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


def _receipt(site: Site, archive: int, *, note: str | None) -> Answer:
    """It landed: said only when that is durable."""
    try:
        for fd in (archive, site.room.archive, site.room.stage):
            site.syscalls.fsync(fd)
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            opened(folder := descend(site.room.root, site.notes.folder)),
        ):
            site.syscalls.fsync(folder)
    except OSError as error:
        return site.unproven(f"it landed, but may not survive a power cut: {why(error)}", is_quiescent=True)
    return Answer(Evidence.RECEIPT, note=note)


def tidy(site: Site) -> None:
    """Remove what this failed attempt staged. Displaced and archived bytes have other inodes and stay."""
    stage, archive, notes, key = site.room.stage, site.room.archive, site.notes, site.key
    if notes.way is Way.ARCHIVE:
        with suppress(OSError):
            with opened(outer := descend(archive, (key,))), suppress(FileNotFoundError):
                site.syscalls.rmdir(outer, KEPT)
            site.syscalls.rmdir(archive, key)
        return
    if notes.staged is None or notes.file is None:
        return
    for fd, name in ((stage, key), (stage, sending(key)), (archive, key), (archive, unsent(key))):
        drop(site.syscalls, fd, name, notes.inside, staged=notes.staged, file=notes.file)
    if notes.way is Way.REPLACE:
        with suppress(OSError), opened(folder := descend(site.room.root, notes.folder)):
            kept = site.inode(archive, key)
            if kept is not None and kept == site.inode(folder, notes.entry):
                site.syscalls.unlink(archive, key)
