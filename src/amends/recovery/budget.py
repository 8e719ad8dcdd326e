"""The recovery budget: one automatic recovery per fingerprint and per aim, two per transaction, for ever.

Source: persistent-work discipline, "Bounded budgets". What was spent is a journal row committed with the intent, so
that a restart, another process, another folder or a new label finds it spent (invariant 17). Reads cost nothing.

A fingerprint alone could be evaded by saying the same step otherwise: with another value, in parts, or merged with a
neighbour. So a recovery also spends what it overlaps: its own aims, and all aims of each planned write that it
touches anywhere, whatever of that write it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amends.contract.operation import ABSENT, Operation, OperationKind, same_value

from .fingerprint import fingerprint

PER_FINGERPRINT_MAX = 1
PER_TRANSACTION_MAX = 2

WHOLE = "*"
"""The field of an aim that touches the whole target."""


@dataclass(frozen=True, slots=True)
class Aim:
    """One (target, field) that a write overlaps, with any value."""

    target: str
    field: str

    def overlaps(self, other: Aim) -> bool:
        """Say whether both are about the same thing. A whole target has all of its fields, and all below it."""
        if self.target == other.target:
            return self.field == other.field or WHOLE in (self.field, other.field)
        return self._has_below(other) or other._has_below(self)

    def _has_below(self, other: Aim) -> bool:
        return self.field == WHOLE and other.target.startswith(f"{self.target}/")


def aims(operation: Operation) -> frozenset[Aim]:
    """Give what `operation` overlaps. Values play no part, so that another value is no other aim.

    Only an edit has fields as its aims. Every other kind makes, replaces or takes away a target, and so does an edit
    that says nothing of its own target or wants it gone.
    """
    places = {operation.target, operation.source} - {None}
    if operation.kind is OperationKind.EDIT and operation.source is None:
        places -= {fact.target for fact in operation.postcondition}
    found = {Aim(target, WHOLE) for target in places if target is not None}
    for fact in operation.postcondition:
        is_whole = operation.kind is not OperationKind.EDIT or same_value(fact.value, ABSENT)
        found.add(Aim(fact.target, WHOLE if is_whole else fact.field))
    return frozenset(found)


def overlap(one: Iterable[Aim], other: Iterable[Aim]) -> bool:
    """Say whether any aim of one overlaps any of the other."""
    others = tuple(other)
    return any(aim.overlaps(each) for aim in one for each in others)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a transaction's automatic recoveries have used up."""

    fingerprints: frozenset[str] = frozenset()
    aims: frozenset[Aim] = frozenset()
    count: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Say whether no recovery is left, whatever it is."""
        return self.count >= PER_TRANSACTION_MAX

    def forbids(self, operation: Operation) -> bool:
        """Say whether a recovery that does this was made already, by that name or any other."""
        return fingerprint(operation) in self.fingerprints or overlap(self.aims, aims(operation))

    def also(self, operation: Operation, planned: Iterable[Operation]) -> Spent:
        """Give what is spent once `operation` is sent as a recovery in a transaction of the `planned` writes."""
        own = aims(operation)
        touched = [operation, *(each for each in planned if overlap(own, aims(each)))]
        return Spent(
            self.fingerprints | {fingerprint(each) for each in touched},
            self.aims.union(*(aims(each) for each in touched)),
            self.count + 1,
        )

    def __or__(self, other: Spent) -> Spent:
        """Give what either says is spent; two accounts of one transaction, not two transactions."""
        return Spent(self.fingerprints | other.fingerprints, self.aims | other.aims, max(self.count, other.count))
