"""Deletes: what was confirmed is carried off in one step, looked at where nobody else comes, and removed.

    archive/KEY/listed       of a folder: each path that was confirmed, with its kind, mode, and digest or aim
    archive/KEY/kept/NAME    carried off, and not yet looked at
    archive/KEY/back         a mark: it was not what was confirmed, so it goes back to its place, and the delete failed
    archive/KEY/going        it was what was confirmed, and is removed entry by entry
    archive/KEY/gone         a mark: `going` was there, so the delete landed
    archive/KEY/out.XXXX     one entry on its way out

Each name leaves its place by a rename of its own, so of two processes that settle one delete only one has it, and a
writer that still holds a folder open can't put something else under the name that is looked at. What is not exactly
as it was listed stays, and the outcome is then no more than a part (invariants 9 and 14).
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from amends.contract.operation import Presence
from amends.contract.outcome import Evidence
from amends.errors import TargetError
from amends.ports import Answer
from amends.surfaces.files import landing
from amends.surfaces.files.landing import SET_ASIDE, Site, never_sent
from amends.surfaces.files.room import KEPT, LISTED, PRIVATE, descend, opened
from amends.surfaces.files.snapshot import (
    UnreadableError,
    file_row,
    is_folder_row,
    listing,
    row_of,
    rows_in,
    take,
    tree_digest,
)
from amends.surfaces.files.syscall import Syscalls, why

BACK, GOING, GONE, OUT = "back", "going", "gone", "out."

BROUGHT_BACK = "somebody else changed it in the same moment, so it was brought back to its place"

LEFT_TOLD_MAX = 5
"""So many entries that stayed are named; the others are counted. Whoever looks sees them all."""


def make_ready(syscalls: Syscalls, archive: int, key: str, *, folder: int, name: str, tree: str | None) -> None:
    """Make the place that it is carried off to, with the list of a folder whose digest is `tree`."""
    syscalls.mkdir(archive, key, PRIVATE)
    with opened(outer := descend(archive, (key,))):
        syscalls.mkdir(outer, KEPT, PRIVATE)
        if tree is not None:
            _write_list(syscalls, outer, _list(syscalls, folder, name, tree))
        syscalls.fsync(outer)
    syscalls.fsync(archive)


def _list(syscalls: Syscalls, folder: int, name: str, tree: str) -> bytes:
    try:
        with opened(fd := descend(folder, (name,))):
            whole = listing(syscalls, fd)
    except UnreadableError as error:
        raise TargetError(f"{name} can't be listed: {error}", hint="look again, then propose it anew") from error
    if tree_digest(whole) != tree:
        raise TargetError(f"{name} changed in this moment", hint="look again, then propose it anew")
    return whole


def _write_list(syscalls: Syscalls, outer: int, whole: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(fd := os.open(LISTED, flags, 0o600, dir_fd=outer)):
        rest = memoryview(whole)
        while rest:
            rest = rest[os.write(fd, rest) :]
        syscalls.fsync(fd)


def send(site: Site) -> Answer:
    """Carry it off, look at it, and remove it or bring it back. Never raises OSError."""
    answer = landing.send(site)
    if answer.evidence is not Evidence.ACKNOWLEDGED:
        return answer
    try:
        with opened(outer := descend(site.room.archive, (site.key,))):
            return _finish(site, outer, Evidence.ACKNOWLEDGED)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=True)


def fence(site: Site) -> Answer:
    """Remove the place that it would be carried off to, or finish what has landed. Never raises OSError."""
    try:
        return _fence(site)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=False)


def _fence(site: Site) -> Answer:
    try:
        outer = descend(site.room.archive, (site.key,))
    except FileNotFoundError:
        return site.unproven(f"somebody removed {os.path.dirname(site.kept)}", is_quiescent=True)
    with opened(outer):
        try:
            with suppress(FileNotFoundError):
                site.syscalls.rmdir(outer, KEPT)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return _finish(site, outer, Evidence.RECEIPT)
        return _finish(site, outer, Evidence.RECEIPT) if _has_landed(site, outer) else _never_landed(site, outer)


def tidy(site: Site) -> None:
    """Remove the marks of a delete whose outcome is recorded. What was kept stays, where it was told to be.

    They leave in one step, so that a process that dies here leaves no mark that says something else.
    """
    syscalls, archive, over = site.syscalls, site.room.archive, f"{site.key}.over"
    with suppress(OSError):
        with opened(outer := descend(archive, (site.key,))):
            with suppress(FileNotFoundError):
                syscalls.rmdir(outer, KEPT)
            if any(name == GOING or name.startswith(OUT) for name in syscalls.names(outer)):
                return
        syscalls.rename(archive, site.key, archive, over)
    with suppress(OSError):
        with opened(outer := descend(archive, (over,))):
            for name in (BACK, GONE):
                with suppress(FileNotFoundError):
                    syscalls.rmdir(outer, name)
            with suppress(FileNotFoundError):
                syscalls.unlink(outer, LISTED)
        syscalls.rmdir(archive, over)


def _has_landed(site: Site, outer: int) -> bool:
    return site.has(outer, GOING) or site.has(outer, GONE)  # in this order: `gone` comes before `going` leaves


def _never_landed(site: Site, outer: int) -> Answer:
    return never_sent(BROUGHT_BACK if site.has(outer, BACK) else SET_ASIDE)


def _finish(site: Site, outer: int, proof: Evidence) -> Answer:
    answer = None if _has_landed(site, outer) else _decide(site, outer)
    return _remove(site, outer, proof) if answer is None else answer


def _decide(site: Site, outer: int) -> Answer | None:
    """Remove only what is exactly as it was confirmed, by content and mode; None where that is so."""
    with suppress(FileNotFoundError), opened(inner := descend(outer, (KEPT,))):
        seen = take(site.syscalls, inner, site.notes.entry).seen
        if seen.same_as(site.attempt.before):
            site.syscalls.rename(inner, site.notes.entry, outer, GOING)
            return None
        if seen.presence is not Presence.ABSENT:
            return _bring_back(site, outer, inner)
    # Another process that settles it was first.
    return None if _has_landed(site, outer) else _never_landed(site, outer)


def _bring_back(site: Site, outer: int, inner: int) -> Answer:
    syscalls, entry = site.syscalls, site.notes.entry
    with suppress(FileExistsError):
        syscalls.mkdir(outer, BACK, PRIVATE)
    try:
        with opened(folder := descend(site.room.root, site.notes.folder)):
            syscalls.rename_noreplace(inner, entry, folder, entry)
            syscalls.fsync(folder)
    except OSError as error:
        if site.has(inner, entry):
            return site.partial(
                "somebody else changed it in the same moment, so nothing of it was removed; it could not be brought"
                f" back ({why(error)}) and is kept at {site.kept}"
            )
        if isinstance(error, FileNotFoundError):  # another process that settles it was first
            return never_sent(BROUGHT_BACK)
        return site.unproven(f"it was brought back, but may not survive a power cut: {why(error)}", is_quiescent=True)
    with suppress(OSError):
        syscalls.rmdir(outer, KEPT)
    return never_sent(BROUGHT_BACK)


def _remove(site: Site, outer: int, proof: Evidence) -> Answer:
    syscalls = site.syscalls
    try:
        # It has left its place for good before the mark says so: a power cut could bring it back beside the mark.
        for root, parts in ((site.room.root, site.notes.folder), (outer, (KEPT,))):
            with suppress(FileNotFoundError, NotADirectoryError), opened(place := descend(root, parts)):
                syscalls.fsync(place)
        syscalls.fsync(outer)
        with suppress(FileExistsError):
            syscalls.mkdir(outer, GONE, PRIVATE)
        syscalls.fsync(outer)
    except OSError as error:
        reason = f"it landed, but may not survive a power cut: {why(error)}; what is left of it is at {site.going}"
        return site.unproven(reason, is_quiescent=True)
    left = _Removal(site, outer).run()
    if left:
        more = f"; and {len(left) - LEFT_TOLD_MAX} more" if len(left) > LEFT_TOLD_MAX else ""
        return site.partial(f"{'; '.join(left[:LEFT_TOLD_MAX])}{more}; what was not removed is at {site.going}")
    with suppress(FileNotFoundError):
        syscalls.rmdir(outer, KEPT)
    syscalls.fsync(outer)  # the list stays until then: a power cut may bring entries back, and they are compared again
    with suppress(FileNotFoundError):
        syscalls.unlink(outer, LISTED)
    return Answer(proof)


@dataclass
class _Removal:
    """One pass over what is going: `left` says of each entry that stays why it does."""

    site: Site
    outer: int
    rows: dict[bytes, bytes] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """Remove what is as it was confirmed, and give what stays."""
        names = [name for name in self.site.syscalls.names(self.outer) if name.startswith(OUT)]
        is_going = self.site.has(self.outer, GOING)
        if not names and not is_going:
            return []
        try:
            self.rows = self._confirmed()
        except (OSError, UnreadableError) as error:
            return [f"it can't be told any more what was confirmed ({error})"]
        for name in names:
            self._finish_out(name)
        if is_going:
            self._remove(self.outer, GOING, b"")
        return self.left

    def _confirmed(self) -> dict[bytes, bytes]:
        fields = self.site.attempt.before.fields
        if "tree" not in fields:
            return {b"": file_row(fields["mode"], fields["content"])}
        with opened(fd := self.site.syscalls.open(self.outer, LISTED)), open(fd, "rb", closefd=False) as file:
            whole = file.read()
        if tree_digest(whole) != fields["tree"]:
            raise UnreadableError("the list of it was altered")
        return rows_in(whole)

    def _finish_out(self, name: str) -> None:
        """Take up what a process that died was just taking out; its place is not known any more."""
        with suppress(FileNotFoundError):
            if self._is_row(name, frozenset(self.rows.values())):
                self.site.syscalls.unlink(self.outer, name)
            else:
                self.left.append(f"something in it was changed meanwhile, and is kept beside it as {name}")

    def _is_row(self, name: str, rows: Collection[bytes]) -> bool:
        try:
            return row_of(self.site.syscalls, self.outer, name) in rows
        except UnreadableError:
            return False

    def _remove(self, fd: int, name: str, path: bytes) -> None:
        told = os.fsdecode(path) or "it"
        row = self.rows.get(path)
        try:
            if row is None:
                self.left.append(f"{told} was added meanwhile")
            elif stat.S_ISDIR(self.site.syscalls.stat(fd, name).st_mode):
                self._remove_folder(fd, name, path, row)
            else:
                self._remove_entry(fd, name, told, row)
        except FileNotFoundError:
            return  # another process that settles it was quicker
        except OSError as error:
            self.left.append(f"{told} could not be removed: {why(error)}")

    def _remove_folder(self, fd: int, name: str, path: bytes, row: bytes) -> None:
        told = os.fsdecode(path) or "it"
        if not is_folder_row(row):
            self.left.append(f"{told} was changed meanwhile")
            return
        stayed = len(self.left)
        with opened(deeper := descend(fd, (name,))):
            with suppress(OSError):
                os.fchmod(deeper, PRIVATE)  # a folder that its owner may not write to can't be emptied
            for below in self.site.syscalls.names(deeper):
                self._remove(deeper, below, b"/".join(filter(None, (path, os.fsencode(below)))))
        try:
            self.site.syscalls.rmdir(fd, name)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if len(self.left) == stayed:
                self.left.append(f"something was added to {told} meanwhile")

    def _remove_entry(self, fd: int, name: str, told: str, row: bytes) -> None:
        """Take it out, look at it there, and unlink it; or give it back its name, unless that is taken by now."""
        syscalls, out = self.site.syscalls, f"{OUT}{secrets.token_hex(8)}"
        syscalls.rename(fd, name, self.outer, out)
        if self._is_row(out, (row,)):
            syscalls.unlink(self.outer, out)
            return
        self.left.append(f"{told} was changed meanwhile")
        with suppress(OSError):
            syscalls.rename_noreplace(self.outer, out, fd, name)
