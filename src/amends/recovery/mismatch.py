"""Mismatches: facts that do not hold, how bad each is, and whether one reading is better than another.

Source: persistent-work discipline, "Progress rule". Readings are compared fact by fact: none may get worse and at
least one must get better. A sum would let one new mismatch hide behind two mended ones (invariant 16).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from amends.contract.operation import ABSENT, Fact, Json, Observation, Presence


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
        wanted = "absent" if self.fact.value == ABSENT else self.fact.value
        match self.severity:
            case Severity.UNREADABLE:
                seen = f"it can't be read ({self.seen})"
            case Severity.MISSING:
                seen = "it is missing"
            case _:
                seen = f"it is {self.seen}"
        return f"{self.fact.target}: {self.fact.field} should be {wanted}, {seen}"


Audit = Mapping[str, Observation]
"""One fresh reading of every target that a transaction names."""


def severity(fact: Fact, seen: Observation) -> Severity:
    """Say how far `fact` is from holding in `seen`, an observation of its target."""
    if seen.presence is Presence.UNREADABLE:
        return Severity.UNREADABLE
    if fact.holds(seen):
        return Severity.HOLDS
    is_there = seen.presence is Presence.PRESENT and (fact.value == ABSENT or fact.field in seen.fields)
    return Severity.DIFFERS if is_there else Severity.MISSING


def mismatches(facts: Iterable[Fact], audit: Audit) -> tuple[Mismatch, ...]:
    """Give the facts that do not hold in `audit`, in order."""
    found = []
    for fact in facts:
        seen = audit[fact.target]
        degree = severity(fact, seen)
        if degree is not Severity.HOLDS:
            value = seen.detail if degree is Severity.UNREADABLE else seen.fields.get(fact.field, seen.presence)
            found.append(Mismatch(fact, degree, value, seen.at_ms))
    return tuple(found)


class Progress(StrEnum):
    """What became of a transaction's facts between two readings."""

    BETTER = "better"
    UNCHANGED = "unchanged"
    WORSE = "worse"


def progress(facts: Iterable[Fact], before: Audit, after: Audit) -> Progress:
    """Compare fact by fact. WORSE if any is; BETTER if any is and none is worse."""
    steps = [severity(fact, after[fact.target]) - severity(fact, before[fact.target]) for fact in facts]
    if any(step > 0 for step in steps):
        return Progress.WORSE
    return Progress.BETTER if any(step < 0 for step in steps) else Progress.UNCHANGED


def oscillates(history: Iterable[Audit], now: Audit) -> bool:
    """Say whether a target shows again, whole, what it showed before it changed (A, then B, then A).

    Compared are whole observations of one target, so that four files that are all gone, or A, B, C, D, are no return.
    """
    audits = [*history, now]
    for target, latest in now.items():
        course = [audit[target] for audit in audits if target in audit]
        left = False
        for earlier in reversed(course[:-1]):
            is_same = latest.same_as(earlier)
            if left and is_same:
                return True
            left = left or not is_same
    return False
