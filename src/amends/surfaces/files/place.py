"""One filesystem of a surface, with its private folder: where an attempt is prepared, sent, fenced and tidied.

A surface has one for its root, and one for each other filesystem below it that something is moved to or from. All that
can be done before the intent is done by `prepare`: the room made, the bytes staged, the claims named. The target is not
touched, nor the source of a move. The notes that come out of it are all that the rest goes by, in any process.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from amends.contract.operation import Observation, Presence
from amends.contract.outcome import Evidence
from amends.errors import TargetError
from amends.ports import Answer, Attempt, Blobs, Prepared
from amends.surfaces.files import fence, landing, removal
from amends.surfaces.files.content import Like, stage_entry
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.landing import Notes, Site, never_sent
from amends.surfaces.files.planning import check_single_name
from amends.surfaces.files.removal import make_ready
from amends.surfaces.files.room import (
    KEPT,
    PRIVATE,
    Past,
    Room,
    announce,
    check_owner,
    descend,
    descend_far,
    drop_prepared,
    make_room,
    open_room,
    open_root,
    opened,
    sweep,
    withdraw,
)
from amends.surfaces.files.root import Means, Root, Way, claims, means_of, prove
from amends.surfaces.files.snapshot import kind_of
from amends.surfaces.files.syscall import Syscalls, why


def _prepare_at(root: Root, room: Room, attempt: Attempt, blobs: Blobs, *, proven: set[Way]) -> Prepared:
    """Prepare `attempt`. `proven` remembers the ways that were tried on this filesystem. Raises OSError."""
    target = attempt.operation.target
    assert attempt.before.presence is not Presence.UNREADABLE, target
    parts = root.parts(target)
    way = Way(attempt.payload["way"])
    means = _checked(root, room, way, proven, key=attempt.key)
    folder, depth = descend_far(room.root, parts[:-1])
    with opened(folder):
        return _prepare(root, room, attempt, blobs, means=means, folder=folder, parts=parts, depth=depth)


def _checked(root: Root, room: Room, way: Way, proven: set[Way], *, key: str) -> Means:
    means = means_of(root.syscalls, room.root)
    moving = (Way.MOVE, Way.RESPELL) if means.has_flags else ()
    if way not in (means.appearing(), means.replacing(), Way.ARCHIVE, Way.REMOVE, *moving):
        raise TargetError(
            f"the filesystem of {root.path} is no longer what it was when this was planned", hint="propose it again"
        )
    if way not in proven:
        prove(root.syscalls, room.stage, way, means, key=key)
        proven.add(way)
    return means


def _prepare(
    root: Root,
    room: Room,
    attempt: Attempt,
    blobs: Blobs,
    *,
    means: Means,
    folder: int,
    parts: Sequence[str],
    depth: int,
) -> Prepared:
    target = attempt.operation.target
    way = Way(attempt.payload["way"])
    inside = tuple(parts[depth + 1 :])
    if inside and way is not Way.NOREPLACE:
        raise TargetError(f"the folder of {target} is not there any more", hint="look again, then propose it anew")
    found = None if inside else _stat(root, folder, parts[depth])
    if way in (Way.MOVE, Way.RESPELL):
        return _prepare_move(root, room, attempt, parts=parts)
    like = None
    staged = file = None
    if way is Way.REMOVE:
        make_ready(
            root.syscalls,
            room.archive,
            attempt.key,
            folder=folder,
            name=parts[depth],
            tree=attempt.before.fields.get("tree"),
        )
    elif way is Way.ARCHIVE:
        root.syscalls.mkdir(room.archive, attempt.key, PRIVATE)
        with opened(outer := descend(room.archive, (attempt.key,))):
            root.syscalls.mkdir(outer, KEPT, PRIVATE)
            root.syscalls.fsync(outer)
        root.syscalls.fsync(room.archive)
    else:
        if way in (Way.EXCHANGE, Way.REPLACE) and found is not None:
            if not stat.S_ISREG(found.st_mode):
                raise TargetError(f"{target} is {kind_of(found.st_mode)} now", hint="look again, then propose it anew")
            check_single_name(target, found)
            like = _like(root.syscalls, folder, (parts[depth],))
        elif "like" in attempt.payload:
            like = _like(root.syscalls, room.root, (ROOM, *attempt.payload["like"]))
        mode = attempt.payload["mode"]
        staged, file = stage_entry(
            root.syscalls,
            room.stage,
            (attempt.key, *inside),
            blob=lambda: blobs.open_blob(attempt.payload["content"]),
            digest=attempt.payload["content"],
            size=attempt.payload["size"],
            mode=None if mode is None else int(mode, 8),
            like=like,
            group_of=folder,
            progress=root.progress,
        )
    notes = Notes(
        way=way,
        folder=tuple(parts[:depth]),
        entry=parts[depth],
        inside=inside,
        room=room.inodes,
        staged=staged,
        file=file,
        born_ns=None if staged is None else root.syscalls.born_ns(room.stage, attempt.key),
        is_network=means.network is not None,
    )
    is_tree = bool(inside) or (found is not None and stat.S_ISDIR(found.st_mode))
    return Prepared(notes.to_json(), claims(root, parts[: depth + 1], found, is_tree=is_tree))


def _prepare_move(root: Root, room: Room, attempt: Attempt, *, parts: Sequence[str]) -> Prepared:
    operation = attempt.operation
    place = attempt.payload.get("from")
    source = root.parts(str(operation.source)) if place is None else (ROOM, *place)
    check_owner(root.path, source, journal_id=root.journal_id)
    with opened(above := descend(room.root, source[:-1])):
        found = root.syscalls.stat(above, source[-1])
        born_ns = root.syscalls.born_ns(above, source[-1])
    if found.st_dev != os.fstat(room.root).st_dev or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise TargetError(
            f"{operation.source} is {kind_of(found.st_mode)} now", hint="look again, then propose it anew"
        )
    notes = Notes(
        way=Way(attempt.payload["way"]),
        folder=tuple(parts[:-1]),
        entry=parts[-1],
        room=room.inodes,
        staged=found.st_ino,
        source=tuple(source),
        born_ns=born_ns,
        changed_ns=found.st_ctime_ns,
    )
    is_tree = stat.S_ISDIR(found.st_mode)
    both = (*claims(root, source, found, is_tree=is_tree), *claims(root, parts, None, is_tree=is_tree))
    return Prepared(notes.to_json(), tuple(dict.fromkeys(both)))


def _stat(root: Root, folder: int, name: str) -> os.stat_result | None:
    try:
        return root.syscalls.stat(folder, name)
    except FileNotFoundError:
        return None


def _like(syscalls: Syscalls, top: int, parts: Sequence[str]) -> Like | None:
    """Read what to take over; None if it is gone, in which case the landing or the undo's digest will tell."""
    try:
        with opened(folder := descend(top, parts[:-1])), opened(fd := syscalls.open(folder, parts[-1])):
            return Like(fd)
    except FileNotFoundError:
        return None


_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")  # keys and ids become file names: two of them in one, with a suffix


def _close_all(fds: dict[str, int]) -> None:
    while fds:
        os.close(fds.popitem()[1])


class Place:
    """The files below `root` that are on its filesystem."""

    def __init__(self, root: Root, *, past: Past | None, tidy: Callable[[Attempt], None]) -> None:
        """Stand for it. `past` and `tidy` serve the sweep: what became of an attempt, and what removes its rest."""
        self._root = root
        self._past = past
        self._tidy = tidy
        self._proven: set[Way] = set()
        self._at_work: dict[str, int] = {}
        weakref.finalize(self, _close_all, self._at_work)

    def read(self, target: str) -> Observation:
        """Read `target` afresh, without following a link."""
        return self._root.take(self._root.parts(target)).seen

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Stage the bytes and name the claims, after sweeping up what dead processes left."""
        root, target = self._root, attempt.operation.target
        assert _NAME.fullmatch(attempt.key), attempt.key
        assert _NAME.fullmatch(attempt.operation_id), attempt.operation_id
        check_owner(root.path, root.parts(target), journal_id=root.journal_id)
        try:
            room = make_room(root.syscalls, root.path, journal_id=root.journal_id)
            with opened(*room.fds):
                if root.means().network is None:  # there a lock may be free while a process on another machine lives
                    if self._past is not None:
                        sweep(root.syscalls, room, self._past, self._tidy)
                    self._at_work[attempt.key] = announce(root.syscalls, room, attempt)
                try:
                    prepared = _prepare_at(root, room, attempt, blobs, proven=self._proven)
                    return replace(prepared, notes={**prepared.notes, "base": list(root.base)})
                except BaseException:
                    self._stand_back(attempt)
                    with suppress(OSError):  # the next sweep tries again
                        drop_prepared(root.syscalls, room, attempt.key)
                        withdraw(root.syscalls, room, attempt)
                    raise
        except OSError as error:
            raise TargetError(
                f"{target} can't be written: {why(error)}",
                hint=f"check {root.path} and its disk, then propose it again",
            ) from error

    def _rest(self, room: Room, attempt: Attempt) -> None:
        """Take note that nothing more is done for `attempt`, and that nothing of it is left."""
        withdraw(self._root.syscalls, room, attempt)
        self._stand_back(attempt)

    def _stand_back(self, attempt: Attempt) -> None:
        """Take note that this process does not send `attempt` any more; what became of it is the journal's to say."""
        if (fd := self._at_work.pop(attempt.key, None)) is not None:
            os.close(fd)

    def send(self, attempt: Attempt) -> Answer:
        """Land it in one step."""
        try:
            site = self._open(attempt)
        except OSError as error:
            return never_sent(why(error))
        with opened(*site.room.fds):
            is_delete = site.notes.way is Way.REMOVE
            answer = removal.send(site) if is_delete else landing.send(site)
            if answer.evidence is Evidence.ACKNOWLEDGED and not is_delete:
                self._rest(site.room, attempt)
            self._stand_back(attempt)
            return answer

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Set it aside, or prove that it landed."""
        try:
            site = self._open(attempt)
        except OSError as error:
            return Answer(
                Evidence.UNPROVEN,
                is_quiescent=False,
                reason=f"{self._root.whole((ROOM,))} can't be used: {why(error)}",
                hint=f"bring {self._root.whole((ROOM,))} back as it was, then check this operation again",
            )
        with opened(*site.room.fds):
            if site.notes.way is Way.REMOVE:
                return removal.fence(site)
            return fence.fence(site, is_sender_gone=is_sender_gone)

    def tidy(self, attempt: Attempt) -> None:
        """Remove what a failed attempt staged, or what a delete took away."""
        try:
            site = self._open(attempt)
        except OSError:
            return
        with opened(*site.room.fds):
            removal.tidy(site) if site.notes.way is Way.REMOVE else fence.tidy(site)
            self._rest(site.room, attempt)

    def _open(self, attempt: Attempt) -> Site:
        """Open the room that the attempt was prepared in. Raises OSError if it is not there, or another one is."""
        notes = Notes.from_json(attempt.prepared)
        operation = attempt.operation
        room = open_room(open_root(self._root.path))
        if room.inodes != notes.room:
            for fd in room.fds:
                os.close(fd)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return Site(
            syscalls=self._root.syscalls,
            room=room,
            attempt=attempt,
            notes=notes,
            path=self._root.whole(self._root.parts(operation.target)),
            source_path=self._root.whole(notes.source),
            kept=self._root.whole((ROOM, *notes.kept_place(attempt.key))),
        )
