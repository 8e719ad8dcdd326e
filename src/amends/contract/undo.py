"""How a write is reversed: by a fresh, confirmed write that revalidates first, never by a rollback.

Source: recovery contract, AC2. Create⇒archive, archive⇒edit, edit⇒edit, upload⇒archive or edit, move and rename
back; delete keeps nothing and has no undo. Nothing destructive comes out of here (invariant 13).
"""

from __future__ import annotations

from amends.errors import RecoveryError

from .operation import OperationKind, Presence
from .outcome import OperationResult, WriteOutcome
from .proposal import WriteProposal

REVERSALS: dict[OperationKind, OperationKind | None] = {
    OperationKind.CREATE: OperationKind.ARCHIVE,
    OperationKind.EDIT: OperationKind.EDIT,
    OperationKind.ARCHIVE: OperationKind.EDIT,
    OperationKind.MOVE: OperationKind.MOVE,
    OperationKind.RENAME: OperationKind.RENAME,
    OperationKind.UPLOAD: None,
    OperationKind.DELETE: None,
}
"""The kind that reverses each kind; None where it can't be said from the kind alone, or not at all."""


def build_undo(result: OperationResult) -> WriteProposal:
    """Propose the write that reverses `result`.

    Raises RecoveryError, which says what to do instead: for a failed or ambiguous write, for a delete, for an upload
    without `before`, for a move without its source, and where the surface can't reverse it.
    """
    name = f"operation {result.operation_id}"
    if result.outcome is WriteOutcome.FAILED:
        raise RecoveryError(f"{name} failed: nothing was changed, so there is nothing to undo")
    if result.outcome is WriteOutcome.AMBIGUOUS:
        raise RecoveryError(
            f"{name} may or may not have applied, so it can't be undone yet",
            hint=f"settle it by a read first: amends check {result.operation_id}",
        )
    if result.kind is OperationKind.DELETE:
        raise RecoveryError(f"{name} deleted {result.target} and kept nothing; there is no undo")
    if not result.undoable and result.note:
        raise RecoveryError(f"{name} can't be undone: {result.note}")
    if not result.undoable:
        raise RecoveryError(f"{name} can't be undone: {result.target.partition(':')[0]} keeps no archive")

    if result.kind in (OperationKind.MOVE, OperationKind.RENAME):
        if result.source is None:
            raise RecoveryError(f"{name} can't be undone without knowing where {result.target} came from")
        return WriteProposal(
            kind=result.kind,
            target=result.source,
            source=result.target,
            reverses=result.operation_id,
            expects=result.after,
        )
    kind = REVERSALS[result.kind]
    if result.before is not None and result.before.presence is not Presence.UNREADABLE:
        was_absent = result.before.presence is Presence.ABSENT
        if was_absent and result.kind is OperationKind.ARCHIVE:
            raise RecoveryError(f"{name} archived nothing: {result.target} was absent before it")
        kind = OperationKind.ARCHIVE if was_absent else OperationKind.EDIT
    if kind is None:
        raise RecoveryError(
            f"{name} can't be undone without knowing what was at {result.target} before: "
            "archive it if nothing was, edit it back if something was"
        )
    return WriteProposal(
        kind=kind,
        target=result.target,
        reverses=result.operation_id,
        restores=result.before,
        expects=result.after,
    )
