"""The recovery budget: one automatic recovery per fingerprint and per aim, two per transaction, for ever.

Source: persistent-work discipline, "Bounded budgets". What was spent is a journal row committed with the intent, so
that a restart, another process, another folder or a new label finds it spent (invariant 17). Reads cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from amends.contract.operation import ABSENT, Operation, OperationKind

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
        """Say whether both are about the same thing."""
        return self.target == other.target and (self.field == other.field or WHOLE in (self.field, other.field))


_WHOLE_KINDS = frozenset(OperationKind) - {OperationKind.EDIT}
"""Kinds that make, take away or replace a target, and with it every field."""


def aims(operation: Operation) -> frozenset[Aim]:
    """Give what `operation` overlaps. Values play no part, so that another value is no other aim."""
    whole = operation.kind in _WHOLE_KINDS
    found = {
        Aim(fact.target, WHOLE if whole or fact.value == ABSENT else fact.field) for fact in operation.postcondition
    }
    if operation.source is not None:
        found.add(Aim(operation.source, WHOLE))
    return frozenset(found)


def overlap(one: Iterable[Aim], other: Iterable[Aim]) -> bool:
    """Say whether any aim of one overlaps any of the other."""
    others = tuple(other)
    return any(aim.overlaps(each) for aim in one for each in others)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a transaction's automatic recoveries have used up."""

    fingerprints: frozenset[str] = frozenset()
    aims: frozenset[Aim] = field(default_factory=frozenset)
    count: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Say whether no recovery is left, whatever it is."""
        return self.count >= PER_TRANSACTION_MAX

    def forbids(self, fingerprint: str, wanted: frozenset[Aim]) -> bool:
        """Say whether a recovery that does this was made already, by that name or any other."""
        return fingerprint in self.fingerprints or overlap(self.aims, wanted)
