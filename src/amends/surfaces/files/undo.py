"""The plan that reverses an earlier write, from the bytes that it displaced or archived.

The kept bytes are checked against what was seen before that write; if they are gone or differ, there is nothing to
plan and the error says so (invariants 13 and 14). They stay where they are, whatever becomes of the undo; a folder is
moved back, and so leaves the archive when the undo lands.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from amends.contract.operation import Observation, OperationKind, Presence
from amends.contract.proposal import WriteProposal
from amends.errors import RecoveryError
from amends.ports import Attempt, Blobs, Plan
from amends.surfaces.files import move
from amends.surfaces.files.content import Content, put
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.landing import Notes
from amends.surfaces.files.planning import away_plan, check_readable, write_plan
from amends.surfaces.files.room import check_owner
from amends.surfaces.files.root import Root
from amends.surfaces.files.syscall import why


def plan_undo(root: Root, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
    """Plan the write that brings back `proposal.restores`."""
    target = proposal.target
    if proposal.kind in move.KINDS:
        return move.plan_back(root, proposal, blobs)
    parts = root.parts(target)
    check_owner(root.path, parts, journal_id=root.journal_id)
    notes = Notes.from_json(reversed_attempt.prepared)
    shown = proposal.expects if proposal.expects is not None else root.take(parts).seen
    check_readable(target, shown)
    if proposal.kind is OperationKind.ARCHIVE:
        _check_in_place(root, target, parts, notes)
        made = root.target((*notes.folder, notes.entry))
        warning = f"Only the file is archived; the folder {made}, which was made for it, stays."
        return away_plan(root, proposal.kind, target, shown, warnings=(warning,) if notes.inside else ())
    if proposal.kind is not OperationKind.EDIT or proposal.restores is None:
        raise RecoveryError(f"files can't undo by {proposal.kind}")
    if proposal.restores.presence is not Presence.PRESENT:
        raise RecoveryError(f"what was at {target} before is not known, so it can't be brought back")
    place = notes.kept_place(reversed_attempt.key)
    if "tree" in proposal.restores.fields:
        return _tree_restored(root, place, target, proposal.restores, shown)
    if "tree" in shown.fields:
        raise RecoveryError(f"{target} is a folder now, which no file replaces", hint="archive the folder first")
    content = _restored(root, place, target, proposal.restores.fields.get("content"), blobs)
    means = root.means()
    return write_plan(
        root,
        OperationKind.EDIT,
        target,
        shown,
        content=content,
        mode=proposal.restores.fields.get("mode"),
        way=means.replacing() if shown.presence is Presence.PRESENT else means.appearing(),
        warnings=(),
        like=place,
    )


def _check_in_place(root: Root, target: str, parts: Sequence[str], notes: Notes) -> None:
    """Refuse to take back a file that has another name in its folder by now. One that left the folder is not sought."""
    if root.take(parts).seen.presence is Presence.ABSENT and (name := root.name_of(parts[:-1], notes.file)) is not None:
        now = root.target((*parts[:-1], name))
        raise RecoveryError(
            f"{target} is no longer where the write left it: that file is at {now} now",
            hint=f"to take it back all the same, archive {now}",
        )


def _tree_restored(root: Root, place: list[str], target: str, was: Observation, shown: Observation) -> Plan:
    path = root.whole((ROOM, *place))
    kept = root.take((ROOM, *place)).seen
    if kept.presence is Presence.ABSENT:
        raise RecoveryError(
            f"what was at {target} before is gone: it was kept at {path}", hint="bring it back from a backup"
        )
    if not kept.same_as(was):
        raise RecoveryError(
            f"what is kept at {path} is not what was seen at {target} before: {kept.detail or 'somebody changed it'}",
            hint=f"look at {path}; if you want it at {target}, move it there yourself",
        )
    return move.bring_back(root, target, place, seen=was.fields["tree"], shown=shown)


def _restored(root: Root, place: list[str], target: str, digest: object, blobs: Blobs) -> Content:
    path = root.whole((ROOM, *place))
    try:
        with root.reading((ROOM, *place)) as fd:
            kept = os.fstat(fd)
            if not stat.S_ISREG(kept.st_mode):
                raise RecoveryError(f"what was at {target} before was no regular file; it is kept at {path}")
            content = put(fd, blobs, size=kept.st_size, bytes_max=kept.st_size, progress=root.progress)
    except FileNotFoundError as error:
        raise RecoveryError(
            f"what was at {target} before is gone: it was kept at {path}",
            hint="bring it back from a backup, then propose an edit",
        ) from error
    except OSError as error:
        raise RecoveryError(
            f"what was at {target} before can't be read from {path}: {why(error)}", hint="check who may read it"
        ) from error
    if content.digest != digest:
        raise RecoveryError(
            f"what is kept at {path} is not what was seen at {target} before: somebody changed it",
            hint=f"look at {path}; if you want it at {target}, propose an edit",
        )
    return content
