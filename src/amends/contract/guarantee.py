"""What a surface promises for one kind of write: a vector of four parts and the one word derived from it.

The word limits what may be said: at racy and blind a message admits that somebody else's bytes could have been
overwritten (invariant 22).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Receipt(StrEnum):
    """Proof on the target's side that this attempt landed."""

    NONE = "none"
    SEPARATE = "separate"
    SAME_STEP = "same_step"


class Compare(StrEnum):
    """Whether the surface writes only if the target is as expected."""

    NONE = "none"
    RACY = "racy"
    ATOMIC = "atomic"


class Version(StrEnum):
    """Whether a version that is seen again means that nothing happened in between."""

    NONE = "none"
    CAN_REPEAT = "can_repeat"
    NEVER_REPEATS = "never_repeats"


class Fence(StrEnum):
    """How a late landing is made impossible."""

    NONE = "none"
    WAIT = "wait"
    KILL = "kill"
    VOID = "void"


class Level(StrEnum):
    """The one word that people see."""

    ATOMIC = "atomic"
    CONDITIONAL = "conditional"
    RACY = "racy"
    BLIND = "blind"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The vector that a surface declares, and that the conformance suite tests in both directions."""

    receipt: Receipt
    compare: Compare
    version: Version
    fence: Fence

    @property
    def level(self) -> Level:
        """Derive the word."""
        if self.compare is Compare.ATOMIC:
            return Level.ATOMIC if self.receipt is Receipt.SAME_STEP else Level.CONDITIONAL
        return Level.RACY if self.compare is Compare.RACY else Level.BLIND
