"""From a request to a plan, and what it would change, for a person to read.

Nothing at or near the target changes (a dry run leaves no trace). What can't be asked of files is refused here, by
name, with the reason and the next step. A preview is made from the bytes that will be sent and from the file as it is
now; where that is no longer as it was planned, it says so (invariant 10).
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat

from amends.contract.message import printable
from amends.contract.operation import ABSENT, Fact, Json, Observation, Operation, OperationKind, Presence
from amends.errors import DocumentError, PayloadError, TargetError
from amends.ports import Blobs, Plan, WriteRequest
from amends.surfaces.files.content import PAYLOAD_BYTES_MAX, Content, from_fields, from_local_file, mode_from, put
from amends.surfaces.files.identity import ROOM, Entry
from amends.surfaces.files.room import check_owner
from amends.surfaces.files.root import Root, Way
from amends.surfaces.files.snapshot import Snapshot
from amends.surfaces.files.syscall import why

_WRITTEN = frozenset({"text", "base64", "mode"})
_FIELDS = {
    OperationKind.CREATE: _WRITTEN,
    OperationKind.EDIT: _WRITTEN,
    OperationKind.UPLOAD: frozenset({"mode"}),
    OperationKind.ARCHIVE: frozenset[str](),
    OperationKind.DELETE: frozenset[str](),
}
"""What a request of each kind may say."""

_TAKES_AWAY = (OperationKind.ARCHIVE, OperationKind.DELETE)


def plan(root: Root, request: WriteRequest, blobs: Blobs) -> Plan:
    """Plan `request`."""
    kind = request.kind
    takes_away = kind in _TAKES_AWAY
    entry = root.find(request.key, follow=not takes_away)
    target = root.target(entry.parts)
    root.check_filesystem(entry.parts)
    found = root.take(entry.parts, takes_folders=takes_away)
    check_readable(target, found.seen)
    if takes_away:
        from_fields(request, blobs, allowed=_FIELDS[kind])
        return away_plan(root, kind, target, found.seen, warnings=_away_warnings(kind, target, entry, found))
    is_there = found.seen.presence is Presence.PRESENT
    if kind is OperationKind.EDIT and not is_there:
        raise TargetError(
            f"nothing is at {target} to edit",
            hint=f"it is spelled {entry.twin!a} there" if entry.twin else "create it instead",
        )
    means = root.means()
    way = means.replacing() if is_there and kind is not OperationKind.CREATE else means.appearing()
    if way in (Way.EXCHANGE, Way.REPLACE):
        check_single_name(target, found.stat)
    if way is Way.LINK and entry.missing > 1:
        raise TargetError(
            f"the folder of {target} does not exist, and this filesystem can't make it in the same step",
            hint="make the folder first",
        )
    content, mode = _asked(root, request, entry, found, blobs)
    return write_plan(
        root,
        kind,
        target,
        found.seen,
        content=content,
        mode=mode,
        way=way,
        warnings=_write_warnings(root, request, entry, found),
    )


def replan(root: Root, plan: Plan) -> Plan:
    """Plan what `plan` wants against what is there now; what was to be made is edited if something is there by now."""
    operation, payload = plan.operation, plan.payload
    target = operation.target
    parts = root.parts(target)
    check_owner(root.path, parts, journal_id=root.journal_id)
    found = root.take(parts, takes_folders=operation.kind in _TAKES_AWAY)
    check_readable(target, found.seen)
    if operation.kind in _TAKES_AWAY:
        return away_plan(root, operation.kind, target, found.seen, warnings=())
    is_there = found.seen.presence is Presence.PRESENT
    means = root.means()
    way = means.replacing() if is_there else means.appearing()
    if way in (Way.EXCHANGE, Way.REPLACE):
        check_single_name(target, found.stat)
    kind = operation.kind
    if kind is not OperationKind.UPLOAD:
        kind = OperationKind.EDIT if is_there else OperationKind.CREATE
    content = Content(payload["content"], payload["size"])
    return write_plan(
        root,
        kind,
        target,
        found.seen,
        content=content,
        mode=payload["mode"],
        way=way,
        warnings=(),
        like=payload.get("like"),
    )


def away_plan(root: Root, kind: OperationKind, target: str, shown: Observation, *, warnings: tuple[str, ...]) -> Plan:
    """Plan that nothing is at `target` any more: an archive keeps what was there, a delete nothing."""
    operation = Operation(kind, target, (Fact(target, "content", ABSENT),))
    is_kept = kind is OperationKind.ARCHIVE
    way = Way.ARCHIVE if is_kept else Way.REMOVE
    payload: dict[str, Json] = {"way": str(way)}
    if not is_kept:
        warnings = ("This keeps nothing.", *warnings)
    return Plan(operation, payload, shown, root.means().guarantee(way), undoable=is_kept, warnings=warnings)


def write_plan(
    root: Root,
    kind: OperationKind,
    target: str,
    shown: Observation,
    *,
    content: Content,
    mode: str | None,
    way: Way,
    warnings: tuple[str, ...],
    like: list[str] | None = None,
) -> Plan:
    """Plan that `target` holds `content`. `like` is the place in `.amends` of a file to take owner and ACL from."""
    facts = [Fact(target, "content", content.digest)]
    if mode is not None:
        facts.append(Fact(target, "mode", mode))
    payload: dict[str, Json] = {"content": content.digest, "size": content.size, "mode": mode, "way": str(way)}
    if like is not None:
        payload["like"] = like
    operation = Operation(kind, target, tuple(facts))
    return Plan(operation, payload, shown, root.means().guarantee(way), undoable=True, warnings=warnings)


def check_readable(target: str, seen: Observation) -> None:
    """Refuse to plan for what can't be read: nothing could be compared, proved or undone."""
    if seen.presence is Presence.UNREADABLE:
        raise TargetError(
            f"{target} can't be taken as a file: {seen.detail}", hint="name a regular file that this user can read"
        )


def check_single_name(target: str, entry: os.stat_result | None) -> None:
    """Refuse to replace one of several names of a file: the others would keep the old bytes."""
    if names := names_told(target, entry):
        raise TargetError(
            f"{names}; replacing it would split them",
            hint="remove the other names (hard links) first, or archive this one and create it anew",
        )


def _asked(
    root: Root, request: WriteRequest, entry: Entry, found: Snapshot, blobs: Blobs
) -> tuple[Content, str | None]:
    mode = mode_from(request.fields.get("mode"))
    content = from_fields(request, blobs, allowed=_FIELDS[request.kind])
    if request.kind is OperationKind.UPLOAD:
        return from_local_file(request.local_file, blobs, progress=root.progress), mode
    if content is None and request.kind is OperationKind.EDIT and mode is not None:
        content = _current(root, entry, found.seen, blobs)
    if content is None:
        raise DocumentError(
            f"{request.kind} of {root.target(entry.parts)} without content", hint="give 'text' or 'base64'"
        )
    return content, mode


def _current(root: Root, entry: Entry, seen: Observation, blobs: Blobs) -> Content:
    """Keep the bytes that are there, for an edit that only sets the mode."""
    target = root.target(entry.parts)
    try:
        with root.reading(entry.parts) as fd:
            size = seen.fields["size"]
            content = put(fd, blobs, size=size, bytes_max=max(size, PAYLOAD_BYTES_MAX), progress=root.progress)
    except OSError as error:
        raise PayloadError(f"{target} can't be read: {why(error)}", hint="check who may read it") from error
    if content.digest != seen.fields["content"]:
        raise PayloadError(f"{target} changed while it was read", hint="wait until whatever writes it is done")
    return content


def _away_warnings(kind: OperationKind, target: str, entry: Entry, found: Snapshot) -> tuple[str, ...]:
    warnings = []
    if names := names_told(target, found.stat):
        warnings.append(f"{names}; only this one is {kind}d, the others stay.")
    if entry.twin is not None and found.seen.presence is Presence.ABSENT:
        warnings.append(f"Nothing is at {target}; there is a file that looks the same, spelled {entry.twin!a}.")
    return tuple(warnings)


def names_told(target: str, entry: os.stat_result | None) -> str | None:
    """Say that a file has several names, if it has."""
    if entry is None or stat.S_ISDIR(entry.st_mode) or entry.st_nlink == 1:
        return None
    return f"{target} has {entry.st_nlink} names"


def _write_warnings(root: Root, request: WriteRequest, entry: Entry, found: Snapshot) -> tuple[str, ...]:
    target = root.target(entry.parts)
    warnings = []
    if entry.link is not None:
        warnings.append(f"{entry.link} is a symbolic link; the file that it leads to, {target}, is written.")
    if request.kind is OperationKind.CREATE and found.seen.presence is Presence.PRESENT:
        warnings.append(f"Something is already at {target}; a create never replaces it.")
    if entry.missing > 1:
        warnings.append(f"The folder {root.target(entry.parts[:-1])} does not exist; it is made in the same step.")
    if entry.twin is not None:
        warnings.append(f"There is a file beside {target} that looks the same, spelled {entry.twin!a}.")
    return tuple(warnings)


PREVIEW_BYTES_MAX = 256 * 1024
"""More than a person reads through; beyond it only sizes and digests are told."""

PREVIEW_LINES_MAX = 200
"""Some screens full; what is left out is counted."""


def preview(root: Root, plan: Plan, blobs: Blobs) -> str:
    """Show `plan` as a unified diff with the mode changes, or in a sentence. Never raises for what can't be read."""
    shown, operation = plan.shown, plan.operation
    looks = [(operation.target, shown)]
    if operation.source is not None and plan.shown_source is not None:
        looks.append((operation.source, plan.shown_source))
    if not all(root.take(root.parts(target)).seen.same_as(seen) for target, seen in looks):
        return "It is no longer as it was when this was planned; a confirmation now would be refused as stale."
    size = shown.fields.get("size", 0)
    if operation.kind is OperationKind.ARCHIVE:
        return f"Sets aside {what_is(shown)}."
    if operation.kind is OperationKind.DELETE:
        return f"Removes {what_is(shown)} for good."
    if plan.shown_source is not None:
        what = what_is(plan.shown_source)
        return f"Takes {what} from {printable(str(operation.source))} to {printable(operation.target)}."
    if "from" in plan.payload:
        return f"Brings back the folder that is kept at {printable(root.whole((ROOM, *plan.payload['from'])))}."
    lines: list[str] = []
    mode = plan.payload.get("mode")
    if mode is not None and mode != shown.fields.get("mode"):
        lines.append(f"mode {shown.fields.get('mode', 'none')} -> {mode}")
    old = b"" if shown.presence is Presence.ABSENT else _bytes_now(root, plan)
    new = _bytes_then(plan, blobs)
    if old is None or new is None:
        lines.append(f"{size} bytes -> {plan.payload['size']} bytes, {plan.payload['content']}")
    else:
        lines += _diff(old, new)
    if len(lines) > PREVIEW_LINES_MAX:
        left_out = len(lines) - PREVIEW_LINES_MAX
        lines = [*lines[:PREVIEW_LINES_MAX], f"({left_out} more lines)"]
    return "\n".join(lines)


def what_is(seen: Observation) -> str:
    """Name what a look found, in words."""
    fields = seen.fields
    if "tree" in fields:
        number = fields["entries"]
        return f"the folder with {number} {'entry' if number == 1 else 'entries'}, {fields['tree']}"
    return f"the file of {fields.get('size', 0)} bytes, {fields.get('content')}"


def _diff(old: bytes, new: bytes) -> list[str]:
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return [f"{len(old)} bytes -> {len(new)} bytes, not text"]
    rows = difflib.unified_diff(_lines(before), _lines(after), "now", "then", n=2, lineterm="")
    return list(rows) or ["the same lines; only what ends them differs" if before != after else "the same content"]


def _lines(text: str) -> list[str]:
    """Split into lines, each printable: a control character in a file must not move the reader's cursor."""
    return ["\t".join(map(printable, line.split("\t"))) for line in text.splitlines()]


def _text(raw: bytes) -> str | None:
    try:
        return None if b"\0" in raw else raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _bytes_then(plan: Plan, blobs: Blobs) -> bytes | None:
    """Give the bytes to send; None where there are too many to show."""
    if plan.payload["size"] > PREVIEW_BYTES_MAX:
        return None
    with blobs.open_blob(plan.payload["content"]) as blob:
        return blob.read()


def _bytes_now(root: Root, plan: Plan) -> bytes | None:
    """Give the bytes that are there now; None where there are too many to show, or not the planned ones any more."""
    if plan.shown.fields.get("size", 0) > PREVIEW_BYTES_MAX:
        return None
    try:
        with root.reading(root.parts(plan.operation.target)) as fd:
            found = os.read(fd, PREVIEW_BYTES_MAX + 1)
    except OSError:
        return None
    return found if f"sha256:{hashlib.sha256(found).hexdigest()}" == plan.shown.fields.get("content") else None
