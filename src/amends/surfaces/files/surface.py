"""The surface of files: the port `amends.ports.Surface`, put together from the other modules of this package.

`plan` and `read` create nothing. `prepare` does all that can be done before the intent, `send` is one step, `fence`
and `tidy` work from the recorded notes alone, in any process, at any time.
"""

from __future__ import annotations

import weakref
from functools import partial
from pathlib import Path

from amends.contract.operation import Observation
from amends.contract.proposal import WriteProposal
from amends.ports import Answer, Attempt, Blobs, Clock, Plan, Prepared, WriteRequest
from amends.surfaces.files import carry, move, planning, preview, undo
from amends.surfaces.files.content import Progress
from amends.surfaces.files.means import Way
from amends.surfaces.files.place import Place
from amends.surfaces.files.root import Root
from amends.surfaces.files.sweep import Past
from amends.surfaces.files.syscall import Syscalls


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
        past: Past | None = None,
    ) -> None:
        """Stand for the folder `root` under `name`. Looks at nothing yet.

        `past` says what became of an operation; without it, what dead processes left in the private folder stays.

        `progress` is called with "reading" or "staging", the bytes done and all bytes, for every piece of a file.
        """
        self._root = Root(name, root, journal_id, clock, syscalls or Syscalls(), progress)
        self._past = past
        self._places: dict[tuple[str, ...], Place] = {}

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self._root.surface

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        """Identify the target, read it, and keep the payload's bytes in `blobs`. Changes nothing."""
        if request.kind in move.KINDS:
            return move.plan(self._root, request, blobs)
        return planning.plan(self._root, request, blobs)

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan what `plan` wants once more, against what is there now. Its bytes are kept already."""
        if carry.is_carried(plan.payload) or Way(plan.payload["way"]) in (Way.MOVE, Way.RESPELL):
            return move.replan(self._root, plan, blobs)
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
        """Stage the bytes and name the claims, after sweeping up what dead processes left."""
        if carry.is_carried(attempt.payload):
            return carry.prepare(*self._halves(attempt), blobs)
        return self._place(()).prepare(attempt, blobs)

    def send(self, attempt: Attempt) -> Answer:
        """Land it in one step; on another filesystem in two."""
        if carry.is_carried(attempt.payload):
            return carry.send(*self._halves(attempt))
        return self._place(()).send(attempt)

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Set it aside, or prove that it landed."""
        if carry.is_carried(attempt.payload):
            return carry.fence(*self._halves(attempt), is_sender_gone=is_sender_gone)
        return self._place(()).fence(attempt, is_sender_gone=is_sender_gone)

    def tidy(self, attempt: Attempt) -> None:
        """Remove what a failed attempt prepared, or the marks of a delete."""
        if carry.is_carried(attempt.payload):
            for half in self._halves(attempt):
                half.place.tidy(half.attempt)
        else:
            self._place(()).tidy(attempt)

    def _halves(self, attempt: Attempt) -> tuple[carry.Half, carry.Half]:
        """Give the two writes of a move to another filesystem, each on its own: that which it was prepared on."""
        both = []
        for half in (carry.copying(attempt), carry.putting_away(attempt)):
            base = self._root.beneath(self._root.parts(half.operation.target))[0].base
            both.append(carry.Half(self._place(tuple(half.prepared.get("base", base))), half))
        return both[0], both[1]

    def _place(self, base: tuple[str, ...]) -> Place:
        if base not in self._places:
            surface = weakref.proxy(self)  # else only the collector of cycles would end both
            self._places[base] = Place(self._root.at(base), past=self._past, tidy=partial(Files.tidy, surface))
        return self._places[base]
