"""Mismatches: facts that do not hold, how bad each is, and whether one reading is better than another.

Source: persistent-work discipline, "Progress rule". Readings are compared fact by fact: none may get worse and at
least one must get better. A sum would let one new mismatch hide behind two mended ones (invariant 16).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from amends.contract.operation import (
    ABSENT,
    Fact,
    Json,
    Observation,
    Operation,
    Presence,
    canonical_json,
    same_value,
)

VALUE_CHARS_MAX = 60
"""As much of a value as a person reads in a sentence."""


class Severity(IntEnum):
    """How far a fact is from holding; more is worse."""

    HOLDS = 0
    DIFFERS = 1
    MISSING = 2
    UNREADABLE = 3


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A fact that does not hold, what was seen instead, and when (Unix milliseconds)."""

    fact: Fact
    severity: Severity
    seen: Json = None
    at_ms: int | None = None

    def __str__(self) -> str:
        """Say it in a line."""
        match self.severity:
            case Severity.UNREADABLE:
                seen = "it can't be read" if self.seen is None else f"it can't be read: {self.seen}"
            case Severity.MISSING:
                seen = "it is missing"
            case _:
                seen = f"it is {value_told(self.seen)}"
        return f"{self.fact.target}: {self.fact.field} should be {value_told(self.fact.value)}, {seen}"


Audit = Mapping[str, Observation]
"""One fresh reading of targets: of every one that a transaction names, where nothing else is said."""


def value_told(value: Json) -> str:
    """Write a value as a sentence may hold it: bare text, else JSON, and not for ever."""
    if same_value(value, ABSENT):
        return "absent"
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}…"


def places(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Give every target that `operations` name, each once: what a reading must cover."""
    found: dict[str, None] = {}
    for each in operations:
        named = (each.source, each.target, *(fact.target for fact in each.postcondition))
        found.update(dict.fromkeys(target for target in named if target is not None))
    return tuple(found)


def severity(fact: Fact, seen: Observation) -> Severity:
    """Say how far `fact` is from holding in `seen`, an observation of its target."""
    if seen.presence is Presence.UNREADABLE:
        return Severity.UNREADABLE
    if fact.holds(seen):
        return Severity.HOLDS
    is_there = seen.presence is Presence.PRESENT and (same_value(fact.value, ABSENT) or fact.field in seen.fields)
    return Severity.DIFFERS if is_there else Severity.MISSING


def mismatches(facts: Iterable[Fact], audit: Audit) -> tuple[Mismatch, ...]:
    """Give the facts that do not hold in `audit`, in order; one that is stated twice is one."""
    found: list[Mismatch] = []
    for fact in facts:
        seen = audit[fact.target]
        degree = severity(fact, seen)
        if degree is not Severity.HOLDS and not any(same_fact(fact, each.fact) for each in found):
            value = seen.detail if degree is Severity.UNREADABLE else seen.fields.get(fact.field, seen.presence)
            found.append(Mismatch(fact, degree, value, seen.at_ms))
    return tuple(found)


def same_fact(one: Fact, other: Fact) -> bool:
    """Say whether both demand the same thing."""
    return (one.target, one.field) == (other.target, other.field) and same_value(one.value, other.value)


class Progress(StrEnum):
    """What became of a transaction's facts between two readings."""

    BETTER = "better"
    UNCHANGED = "unchanged"
    WORSE = "worse"


def worsened(facts: Iterable[Fact], before: Audit, after: Audit) -> tuple[Fact, ...]:
    """Give the facts that are further from holding than `before`. Targets that one of the looks lacks are left out."""
    return tuple(
        fact
        for fact in facts
        if fact.target in before
        and fact.target in after
        and severity(fact, after[fact.target]) > severity(fact, before[fact.target])
    )


def progress(facts: Iterable[Fact], before: Audit, after: Audit) -> Progress:
    """Compare fact by fact. WORSE if any is; BETTER if any is and none is worse. What one look lacks is left out."""
    facts = tuple(facts)
    if worsened(facts, before, after):
        return Progress.WORSE
    return Progress.BETTER if worsened(facts, after, before) else Progress.UNCHANGED


def oscillating(course: Iterable[Audit]) -> str | None:
    """Give a target that shows again, whole, what it showed before it changed (A, then B, then A); None if none does.

    Compared are whole states of one target, so that four files that are all gone, or A, B, C, D, are no return.
    Versions play no part: a surface that never repeats one would hide every return behind a new number. Looks at
    which a target could not be read say nothing.
    """
    readable: dict[str, list[Observation]] = {}
    for audit in course:
        for target, seen in audit.items():
            if seen.presence is not Presence.UNREADABLE:
                readable.setdefault(target, []).append(seen)
    for target, looks in readable.items():
        states = [look for place, look in enumerate(looks) if place == 0 or not _same_state(look, looks[place - 1])]
        if any(_same_state(one, other) for place, one in enumerate(states) for other in states[: max(0, place - 1)]):
            return target
    return None


def _same_state(one: Observation, other: Observation) -> bool:
    if one.presence is not other.presence:
        return False
    if not one.fields and not other.fields:
        return one.version == other.version
    return one.fields == other.fields and same_value(one.fields, other.fields)
