"""One filesystem of a surface, with its private folder: where an attempt is prepared, sent, fenced and tidied.

A surface has one for its root, and one for each other filesystem below it that something is moved to or from. All of
an attempt happens in one place, in the room that it was prepared in; `send` is one step, and `fence` and `tidy` work
from the recorded notes alone, in any process, at any time.
"""

from __future__ import annotations

import errno
import os
import re
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from amends.contract.operation import Observation
from amends.contract.outcome import Evidence
from amends.errors import TargetError
from amends.ports import Answer, Attempt, Blobs, Prepared
from amends.surfaces.files import fence, landing, preparation
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.means import Way
from amends.surfaces.files.room import Room, check_owner, make_room, open_room, open_root, opened
from amends.surfaces.files.root import Root
from amends.surfaces.files.site import Notes, Site, never_sent
from amends.surfaces.files.sweep import Past, announce, drop_prepared, sweep, withdraw
from amends.surfaces.files.syscall import why

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
                    prepared = preparation.prepare(root, room, attempt, blobs, proven=self._proven)
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
            answer = landing.send(site)
            if answer.evidence is Evidence.ACKNOWLEDGED and site.notes.way is not Way.REMOVE:
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
            return fence.fence(site, is_sender_gone=is_sender_gone)

    def tidy(self, attempt: Attempt) -> None:
        """Remove what a failed attempt staged, or what a delete took away."""
        try:
            site = self._open(attempt)
        except OSError:
            return
        with opened(*site.room.fds):
            fence.tidy(site)
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
