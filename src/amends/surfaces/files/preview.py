"""What a write would change, for a person to read before confirming it: a diff, or a sentence where text can't show it.

The preview is made from the bytes that will be sent and from the file as it is now; where that is no longer as it was
planned, it says so, since the confirmation would be refused as stale (invariant 10).
"""

from __future__ import annotations

import difflib
import hashlib
import os

from amends.contract.message import printable
from amends.contract.operation import Observation, OperationKind, Presence
from amends.ports import Blobs, Plan
from amends.surfaces.files.identity import ROOM
from amends.surfaces.files.root import Root

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
    old = b"" if shown.presence is Presence.ABSENT else _current(root, plan)
    new = _planned(plan, blobs)
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


def _planned(plan: Plan, blobs: Blobs) -> bytes | None:
    """Give the bytes to send; None where there are too many to show."""
    if plan.payload["size"] > PREVIEW_BYTES_MAX:
        return None
    with blobs.open_blob(plan.payload["content"]) as blob:
        return blob.read()


def _current(root: Root, plan: Plan) -> bytes | None:
    """Give the bytes that are there now; None where there are too many to show, or not the planned ones any more."""
    if plan.shown.fields.get("size", 0) > PREVIEW_BYTES_MAX:
        return None
    try:
        with root.reading(root.parts(plan.operation.target)) as fd:
            found = os.read(fd, PREVIEW_BYTES_MAX + 1)
    except OSError:
        return None
    return found if f"sha256:{hashlib.sha256(found).hexdigest()}" == plan.shown.fields.get("content") else None
