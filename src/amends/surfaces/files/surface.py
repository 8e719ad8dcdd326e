"""The surface of files: the port `amends.ports.Surface`, put together from the other modules of this package.

`plan` and `read` create nothing. `prepare` does all that can be done before the intent, `send` is one step, `fence`
and `tidy` work from the recorded notes alone, in any process, at any time.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from amends.contract.operation import Observation
from amends.contract.outcome import Evidence
from amends.contract.proposal import WriteProposal
from amends.errors import TargetError
from amends.ports import Answer, Attempt, Blobs, Clock, Plan, Prepared, WriteRequest
from amends.surfaces.files import fence, landing, move, planning, preparation, preview, undo
from amends.surfaces.files.content import Progress
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.means import Way
from amends.surfaces.files.room import check_owner, open_room, open_root, opened
from amends.surfaces.files.root import Root
from amends.surfaces.files.site import Notes, Site, never_sent
from amends.surfaces.files.syscall import Syscalls, why


class Files:
    """The files below one folder."""

    def __init__(
        self,
        name: str,
        root: Path,
        *,
        journal_id: str,
        clock: Clock,
        syscalls: Syscalls | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Stand for the folder `root` under `name`. Looks at nothing yet.

        `progress` is called with "reading" or "staging", the bytes done and all bytes, for every piece of a file.
        """
        self._root = Root(name, root, journal_id, clock, syscalls or Syscalls(), progress)
        self._proven: set[Way] = set()

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self._root.surface

    def check_owner(self) -> None:
        """Raise OwnershipError if the folder belongs to another journal. A folder that is not there is nobody's."""
        with suppress(TargetError):
            check_owner(self._root.path, (), journal_id=self._root.journal_id)

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        """Identify the target, read it, and keep the payload's bytes in `blobs`. Changes nothing."""
        if request.kind in move.KINDS:
            return move.plan(self._root, request, blobs)
        return planning.plan(self._root, request, blobs)

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan what `plan` wants once more, against what is there now. Its bytes are kept already."""
        del blobs
        if Way(plan.payload["way"]) in (Way.MOVE, Way.RESPELL):
            return move.replan(self._root, plan)
        return planning.replan(self._root, plan)

    def plan_undo(self, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
        """Plan the write that restores `proposal.restores`, from what the reversed attempt displaced."""
        return undo.plan_undo(self._root, proposal, reversed_attempt, blobs)

    def preview(self, plan: Plan, blobs: Blobs) -> str:
        """Show what would change: a diff where both sides are text, else a sentence."""
        return preview.preview(self._root, plan, blobs)

    def read(self, target: str) -> Observation:
        """Read `target` afresh, without following a link."""
        return self._root.take(self._root.parts(target)).seen

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Stage the bytes and name the claims."""
        return preparation.prepare(self._root, attempt, blobs, proven=self._proven)

    def send(self, attempt: Attempt) -> Answer:
        """Land it in one step."""
        try:
            site = self._open(attempt)
        except OSError as error:
            return never_sent(why(error))
        with opened(site.room.root, site.room.stage, site.room.archive):
            return landing.send(site)

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
        with opened(site.room.root, site.room.stage, site.room.archive):
            return fence.fence(site, is_sender_gone=is_sender_gone)

    def tidy(self, attempt: Attempt) -> None:
        """Remove what a failed attempt staged, or what a delete took away."""
        try:
            site = self._open(attempt)
        except OSError:
            return
        with opened(site.room.root, site.room.stage, site.room.archive):
            fence.tidy(site)

    def _open(self, attempt: Attempt) -> Site:
        """Open the room that the attempt was prepared in. Raises OSError if it is not there, or another one is."""
        notes = Notes.from_json(attempt.prepared)
        operation = attempt.operation
        room = open_room(open_root(self._root.path))
        if room.inodes != notes.room:
            for fd in (room.root, room.stage, room.archive):
                os.close(fd)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return Site(
            syscalls=self._root.syscalls,
            room=room,
            attempt=attempt,
            notes=notes,
            path=self._root.whole(self._root.parts(operation.target)),
            source_path=self._root.whole(notes.source),
            kept=self._root.whole((ROOM, *undo.kept_place(attempt.key, notes))),
        )
