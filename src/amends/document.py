"""A change document: what somebody wants written, as TOML or JSON.

    title = "File motion 42"
    [[write]]
    edit = "notes:42/status.md"
    set = { text = "filed" }

One document is one transaction. It is read whole and checked whole before anything is planned; the first fault is
told with the place where it stands, and nothing is recorded.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from amends.contract.operation import Json, OperationKind
from amends.errors import DocumentError, TargetError
from amends.ports import WriteRequest

DOCUMENT_BYTES_MAX = 16 << 20
"""What is read into memory whole. Larger payloads are uploaded from a file of their own (`from`)."""

WRITES_MAX = 1_000
"""A transaction is one state that a user asked for; what has more parts is several, or one upload."""

TITLE_CHARS_MAX = 200
"""One line in an inbox."""

_KINDS = tuple(OperationKind)


class Write(BaseModel):
    """One write: exactly one kind with its target, and what it sets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    create: str | None = Field(default=None, description="The target to make; there must be nothing yet.")
    edit: str | None = Field(default=None, description="The target to change.")
    archive: str | None = Field(default=None, description="The target to put away, so that it can be brought back.")
    move: str | None = Field(default=None, description="The target to bring under another parent.")
    rename: str | None = Field(default=None, description="The target to give a new name under the same parent.")
    delete: str | None = Field(default=None, description="The target to remove for good.")
    upload: str | None = Field(default=None, description="The target to make or replace from a local file.")
    to: str | None = Field(default=None, description="Where a move or rename leads, as surface:key.")
    set: dict[str, Json] = Field(default_factory=dict, description="Fields and values, as the surface knows them.")
    from_: str | None = Field(
        default=None, alias="from", description="The local file to upload, relative to the document."
    )

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        named = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(named) != 1:
            raise ValueError(f"a write has exactly one of {', '.join(_KINDS)}; this one has {len(named)}")
        kind = named[0]
        if (kind is OperationKind.UPLOAD) != (self.from_ is not None):
            raise ValueError("`from` goes with upload, and upload needs it")
        if (kind in (OperationKind.MOVE, OperationKind.RENAME)) != (self.to is not None):
            raise ValueError("`to` goes with move and rename, and they need it")
        return self

    @property
    def kind(self) -> OperationKind:
        """The kind that is named."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)


class Change(BaseModel):
    """A whole change document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(default="", max_length=TITLE_CHARS_MAX, description="One line for the inbox and the log.")
    write: tuple[Write, ...] = Field(min_length=1, max_length=WRITES_MAX, description="The writes, in order.")

    def requests(self, folder: Path) -> list[WriteRequest]:
        """Give the writes to plan. `folder` is what relative `from` paths start at. Raises TargetError."""
        return [_request(write, place, folder) for place, write in enumerate(self.write, start=1)]


def read_change(path: str) -> tuple[Change, Path]:
    """Read the document at `path` (`-`: standard input) and give it with the folder that it stands in.

    Raises DocumentError.
    """
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
            folder = Path.cwd()
        else:
            with Path(path).open("rb") as file:
                raw = file.read(DOCUMENT_BYTES_MAX + 1)
            folder = Path(path).absolute().parent
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise DocumentError(
            f"{path} can't be read: {why}", hint="name a change document, or - and pipe one in"
        ) from error
    if len(raw) > DOCUMENT_BYTES_MAX:
        raise DocumentError(
            f"{path} has more than {DOCUMENT_BYTES_MAX} bytes",
            hint='put large contents into a file of their own and upload it: upload = "…", from = "…"',
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path} is not UTF-8 text: {error}", hint="save it as UTF-8") from error
    return parse_change(_parsed(text, path), name=path), folder


def parse_change(document: Mapping[str, Any], *, name: str = "the change") -> Change:
    """Check `document`, already parsed, as a change. Raises DocumentError that says where the first fault is."""
    writes = document.get("write")
    if isinstance(writes, list) and len(writes) > WRITES_MAX:
        raise DocumentError(
            f"{name} has {len(writes)} writes; a change has at most {WRITES_MAX}",
            hint="split it: what belongs together is one document",
        )
    try:
        return Change.model_validate(document)
    except ValidationError as error:
        raise DocumentError(
            f"{name}: {_first_fault(error)}", hint="see what a change may hold: amends schema"
        ) from error


def _first_fault(error: ValidationError) -> str:
    faults = error.errors()
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])  # most likely misspelt
    place = [str(part + 1) if isinstance(part, int) else part for part in first["loc"]]
    match first["type"], place:
        case "extra_forbidden", [name]:
            return f"{name!r} is no part of a change; it has a title and [[write]] tables"
        case "extra_forbidden", [*above, name]:
            kinds = ", ".join(_KINDS)
            return f"{' '.join(above)}: {name!r} is neither a kind of write ({kinds}) nor one of set, from and to"
        case "tuple_type" | "missing" | "too_short", ["write"]:
            return "there is no write in it; each begins with [[write]]"
        case _:
            return f"{' '.join(place) or 'document'}: {first['msg'].removeprefix('Value error, ')}"


def _parsed(text: str, name: str) -> dict[str, Any]:
    """Parse TOML, or JSON where the text begins with a brace."""
    document: dict[str, Any]
    try:
        if text.lstrip().startswith("{"):
            document = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_constant)
        else:
            document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"{name} is neither TOML nor JSON: {error}", hint="see what a change may hold: amends schema"
        ) from error
    return document


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; a name that stands twice would silently lose one of its values."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _request(write: Write, place: int, folder: Path) -> WriteRequest:
    spelled = getattr(write, write.kind)
    moved = write.kind in (OperationKind.MOVE, OperationKind.RENAME)
    target = write.to if moved else spelled
    assert target is not None, "the model requires `to` with move and rename"
    surface, key = _split(target, place)
    source_key = None
    if moved:
        source_surface, source_key = _split(spelled, place)
        if source_surface != surface:
            raise TargetError(
                f"write {place}: {spelled} and {target} are on different surfaces",
                hint="upload or create it on the other, look at it, then archive it on the one",
            )
    return WriteRequest(
        kind=write.kind,
        surface=surface,
        key=key,
        source_key=source_key,
        fields=dict(write.set),
        local_file=None if write.from_ is None else str(folder / write.from_),
    )


def _split(target: str, place: int) -> tuple[str, str]:
    surface, colon, key = target.partition(":")
    if not (surface and colon and key):
        raise TargetError(
            f"write {place}: {target!r} is no target", hint="write it as surface:key, such as notes:42/status.md"
        )
    return surface, key
