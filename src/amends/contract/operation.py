"""What a write is: its kind, its facts, what a read shows, and which claims it takes.

Plain frozen values, shared by every layer above. Nothing here reads, writes or decides; a target is always the
canonical `surface:key` that the surface itself made, never the spelling of a request (invariant 19).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of such."""


class OperationKind(StrEnum):
    """The kinds of write (recovery contract, D-10)."""

    CREATE = "create"
    EDIT = "edit"
    ARCHIVE = "archive"
    MOVE = "move"
    """To another parent."""
    RENAME = "rename"
    """To a new name under the same parent."""
    DELETE = "delete"
    UPLOAD = "upload"
    """Create or replace from a local file."""


class Presence(StrEnum):
    """What a read found at a target."""

    ABSENT = "absent"
    PRESENT = "present"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Observation:
    """What one fresh, authoritative read of a target shows.

    `version` is the surface's own word for "unchanged since"; two observations with equal versions show the same.
    `fields` are what facts can be about. `at_ms` is Unix time; it takes no part in comparing. `detail` says why a
    target is unreadable.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid"}

    presence: Presence
    version: str | None = None
    fields: dict[str, Json] = field(default_factory=dict)
    at_ms: int | None = field(default=None, compare=False)
    detail: str | None = field(default=None, compare=False)

    def value(self, name: str) -> Json:
        """Give the value of field `name`; of an absent target every field is `ABSENT`."""
        return ABSENT if self.presence is Presence.ABSENT else self.fields.get(name)

    def same_as(self, other: Observation | None) -> bool:
        """Say whether both show the same thing. Two unreadable targets never do."""
        if other is None or Presence.UNREADABLE in (self.presence, other.presence):
            return False
        if self.presence is not other.presence:
            return False
        if self.version is not None and other.version is not None:
            return self.version == other.version
        return self.fields == other.fields


ABSENT: Json = {"$absent": True}
"""The value that a fact gives to a field of a target that must not be there; no text that a field may hold."""


def same_value(one: Json, other: Json) -> bool:
    """Say whether two JSON values are the same fact: 100 and 100.0 are, True and 1 are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that must hold after the write: `field` of `target` has `value`. `ABSENT` is a value."""

    target: str
    field: str
    value: Json

    def holds(self, seen: Observation) -> bool:
        """Say whether `seen`, an observation of this fact's target, shows it."""
        return seen.presence is not Presence.UNREADABLE and same_value(seen.value(self.field), self.value)


@dataclass(frozen=True, slots=True)
class Operation:
    """Kind, source, target and postcondition: exactly what the fingerprint covers."""

    kind: OperationKind
    target: str
    postcondition: tuple[Fact, ...]
    source: str | None = None

    @property
    def surface(self) -> str:
        """The name of the surface that the target is on."""
        return self.target.partition(":")[0]

    def holds(self, seen: Observation, seen_source: Observation | None = None) -> bool:
        """Say whether every fact holds in `seen`, a look at the target, and `seen_source`, one at the source."""
        places = {self.target: seen, self.source: seen_source}
        seen_at = ((fact, places.get(fact.target)) for fact in self.postcondition)
        return all(place is not None and fact.holds(place) for fact, place in seen_at)


@dataclass(frozen=True, slots=True)
class Claim:
    """One name that an attempt holds until it is quiescent. `subtree` covers all names below it, split at `/`."""

    name: str
    subtree: bool = False

    def overlaps(self, other: Claim) -> bool:
        """Say whether the two can't be held at once."""
        if self.name == other.name:
            return True
        return (self.subtree and other.name.startswith(self.name + "/")) or (
            other.subtree and self.name.startswith(other.name + "/")
        )


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> str:
    """Write `value` in the one form that digests are taken over: sorted keys, no spaces, no NaN."""
    return _ENCODER.encode(value)
