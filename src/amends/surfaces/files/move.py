"""Moves and renames: what is at one name comes to another that must be free, in one step, whatever it is.

A rename gives a new name under the same parent, a move brings it under another one. A spelling that the folder takes
for the old name is a new name too. A folder that an archive keeps comes back the same way: renamed, not copied, so
that owners, times and links in it stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.operation import ABSENT, Fact, Json, Observation, Operation, OperationKind, Presence
from amends.contract.proposal import WriteProposal
from amends.errors import PayloadError, RecoveryError, TargetError
from amends.ports import Blobs, Plan, WriteRequest
from amends.surfaces.files.content import PAYLOAD_BYTES_MAX, from_fields, put
from amends.surfaces.files.identity import fold, folds
from amends.surfaces.files.planning import check_readable, names_told, what_is
from amends.surfaces.files.room import check_owner
from amends.surfaces.files.root import Root, Way
from amends.surfaces.files.snapshot import absent
from amends.surfaces.files.syscall import why

CARRY = "carry"
"""What the payload calls this way, beside the ways that are one step."""

CARRIED = Guarantee(Receipt.SEPARATE, Compare.RACY, Version.CAN_REPEAT, Fence.VOID)

WARNING = "It goes to another filesystem, so it is copied and then archived: its owner and times stay behind."

KINDS = frozenset({OperationKind.MOVE, OperationKind.RENAME})


def plan(root: Root, request: WriteRequest, blobs: Blobs) -> Plan:
    """Plan `request`."""
    from_fields(request, blobs, allowed=frozenset())
    if not request.source_key:
        raise TargetError(f"a {request.kind} of nothing", hint="name what is to be moved, and where to")
    entry = root.find(request.source_key, follow=False)
    place = root.find(request.key, follow=False)
    goal = place.parts
    name = [name for name in request.key.split("/") if name not in ("", ".")][-1]
    if goal == entry.parts and fold(name) == fold(goal[-1]):  # the folder takes the new spelling for the old name
        goal = (*goal[:-1], name)
    source, target = root.target(entry.parts), root.target(goal)
    if place.missing > 1:
        raise TargetError(f"the folder {root.target(goal[:-1])} does not exist", hint="make the folder first")
    _check_kind(root, request.kind, entry.parts, goal)
    found = root.take(entry.parts)
    check_readable(source, found.seen)
    seen = root.take(goal).seen
    if found.seen.presence is Presence.ABSENT:
        if seen.presence is Presence.PRESENT:
            raise TargetError(
                f"nothing is at {source} to {request.kind}; at {target} is {what_is(seen)}",
                hint=f"if that is what you mean, it was {request.kind}d already: amends log shows by which write",
            )
        hint = f"it is spelled {entry.twin!a} there" if entry.twin else "check its name"
        raise TargetError(f"nothing is at {source} to {request.kind}", hint=hint)
    warnings = []
    if names := names_told(source, found.stat):
        warnings.append(f"{names}; only this one is {request.kind}d, the others stay.")
    if place.twin is not None:
        warnings.append(f"There is a file beside {target} that looks the same, spelled {place.twin!a}.")
    return _plan(
        root, request.kind, entry.parts, goal, blobs, shown=seen, shown_source=found.seen, warnings=tuple(warnings)
    )


def replan(root: Root, plan: Plan, blobs: Blobs) -> Plan:
    """Plan what `plan` wants against what is there now."""
    operation = plan.operation
    goal = root.parts(operation.target)
    check_owner(root.path, goal, journal_id=root.journal_id)
    if operation.source is None:
        seen = operation.postcondition[0].value
        return bring_back(root, operation.target, plan.payload["from"], seen=seen, shown=None)
    source = root.parts(operation.source)
    found = root.take(source).seen
    check_readable(operation.source, found)
    if found.presence is Presence.ABSENT:
        raise TargetError(f"nothing is at {operation.source} to {operation.kind}", hint="look at both places")
    return _plan(root, operation.kind, source, goal, blobs, shown=root.take(goal).seen, shown_source=found)


def plan_back(root: Root, proposal: WriteProposal, blobs: Blobs) -> Plan:
    """Plan the move or rename that reverses one: what `proposal.expects` shows goes back to where it was."""
    source, goal = root.parts(str(proposal.source)), root.parts(proposal.target)
    check_owner(root.path, source, journal_id=root.journal_id)
    check_owner(root.path, goal, journal_id=root.journal_id)
    shown_source = proposal.expects if proposal.expects is not None else root.take(source).seen
    if shown_source.presence is not Presence.PRESENT:
        raise RecoveryError(f"nothing is known to be at {proposal.source} that could be moved back")
    _check_folder(root, goal)
    return _plan(root, proposal.kind, source, goal, blobs, shown=absent(), shown_source=shown_source)


def bring_back(root: Root, target: str, place: list[str], *, seen: Json, shown: Observation | None) -> Plan:
    """Plan that the folder that is kept at `place` in `.amends` is at `target` again. `seen` is its digest."""
    goal = root.parts(target)
    _check_folder(root, goal)
    way = _way(root, goal, goal)
    shown = root.take(goal).seen if shown is None else shown
    check_readable(target, shown)
    operation = Operation(OperationKind.EDIT, target, (Fact(target, "tree", seen),))
    payload: dict[str, Json] = {"way": str(way), "from": place}
    return Plan(operation, payload, shown, root.means().guarantee(way), undoable=True)


def _plan(
    root: Root,
    kind: OperationKind,
    parts: Sequence[str],
    goal: Sequence[str],
    blobs: Blobs,
    *,
    shown: Observation,
    shown_source: Observation,
    warnings: tuple[str, ...] = (),
) -> Plan:
    source, target = root.target(parts), root.target(goal)
    if shown.presence is not Presence.ABSENT:
        raise TargetError(
            f"something is at {target} already",
            hint="choose another name, or archive what is there first; if this was asked for before: amends log",
        )
    names = ("content", "mode", "tree")
    facts = [Fact(target, name, shown_source.fields[name]) for name in names if name in shown_source.fields]
    operation = Operation(kind, target, (*facts, Fact(source, "content", ABSENT)), source=source)
    here, there = root.beneath(parts)[0], root.beneath(goal)[0]
    if here.base != there.base:
        payload = _carried(here, source, shown_source, blobs, goal=there)
        guarantee, warnings = CARRIED, (*warnings, WARNING)
    else:
        root.check_filesystem(goal)
        way = _way(root, parts, goal)
        payload, guarantee = {"way": str(way)}, root.means().guarantee(way)
    return Plan(operation, payload, shown, guarantee, undoable=True, warnings=warnings, shown_source=shown_source)


def _check_kind(root: Root, kind: OperationKind, parts: Sequence[str], goal: Sequence[str]) -> None:
    source, target = root.target(parts), root.target(goal)
    if tuple(goal) == tuple(parts):
        raise TargetError(f"{source} is where it is to go already", hint="name another place")
    if tuple(goal[: len(parts)]) == tuple(parts):
        raise TargetError(f"{source} can't go into itself, to {target}", hint="name another place")
    is_rename = tuple(parts[:-1]) == tuple(goal[:-1])
    if is_rename and kind is OperationKind.MOVE:
        raise TargetError(f"{source} and {target} have the same parent", hint="ask for a rename instead")
    if not is_rename and kind is OperationKind.RENAME:
        raise TargetError(f"{source} and {target} have different parents", hint="ask for a move instead")


def _check_folder(root: Root, goal: Sequence[str]) -> None:
    folder, (base, rest) = root.target(goal[:-1]), root.beneath(goal)
    if not base.has_folder(rest[:-1]):
        raise RecoveryError(f"the folder {folder} is not there any more", hint="make it, then undo again")


def _way(root: Root, parts: Sequence[str], goal: Sequence[str]) -> Way:
    if not root.means().has_flags:
        raise TargetError(
            f"the filesystem of {root.path} can't move anything without the risk of replacing what is there",
            hint="create it at its new place, look at it, and archive the old one",
        )
    is_same_parent = tuple(parts[:-1]) == tuple(goal[:-1]) and parts[-1] != goal[-1]
    if is_same_parent and fold(parts[-1]) == fold(goal[-1]) and folds(root.syscalls, root.whole(parts[:-1])):
        return Way.RESPELL
    return Way.MOVE


def is_carried(payload: dict[str, Json]) -> bool:
    """Say whether what has this payload goes to another filesystem."""
    return bool(payload["way"] == CARRY)


def _carried(root: Root, source: str, seen: Observation, blobs: Blobs, *, goal: Root) -> dict[str, Json]:
    """Keep the bytes of the source and give what will be sent. Raises TargetError, PayloadError."""
    if "content" not in seen.fields:
        raise TargetError(
            f"{source} is a folder, and its new place is on another filesystem",
            hint="move its files one by one, or make the other filesystem a surface of its own",
        )
    try:
        with root.reading(root.parts(source)) as fd:
            size = seen.fields["size"]
            content = put(fd, blobs, size=size, bytes_max=PAYLOAD_BYTES_MAX, progress=root.progress)
    except OSError as error:
        raise PayloadError(f"{source} can't be read: {why(error)}", hint="check who may read it") from error
    if content.digest != seen.fields["content"]:
        raise PayloadError(f"{source} changed while it was read", hint="wait until whatever writes it is done")
    kept = {"content": content.digest, "size": content.size, "mode": seen.fields["mode"]}
    return {"way": CARRY, "copy": {"way": str(goal.means().appearing()), **kept}}
