"""All that can be done before the intent: the room made, the bytes staged, the claims named.

The target is not touched, nor the source of a move. The notes that come out of here are all that `send` and `fence`
go by.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from amends.contract.operation import Presence
from amends.errors import TargetError
from amends.ports import Attempt, Blobs, Prepared
from amends.surfaces.files.claim import claims
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.means import Means, Way, means_of, prove
from amends.surfaces.files.planning import check_single_name
from amends.surfaces.files.removal import make_ready
from amends.surfaces.files.room import PRIVATE, Room, check_owner, descend, descend_far, opened
from amends.surfaces.files.root import Root
from amends.surfaces.files.site import KEPT, Notes
from amends.surfaces.files.snapshot import kind_of
from amends.surfaces.files.stage import Like, stage_entry
from amends.surfaces.files.syscall import Syscalls


def prepare(root: Root, room: Room, attempt: Attempt, blobs: Blobs, *, proven: set[Way]) -> Prepared:
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
