"""Time and names that a test holds in its hand.

`FakeClock` moves only when told to, and either of its clocks may be moved alone, as a wall clock that is set or a
reboot does (invariant 24). `FakeIds` counts, so that a history reads the same in every run.
"""

from __future__ import annotations

from itertools import count

MORNING_MS = 1_767_225_600_000
"""2026-01-01 00:00 UTC: some moment that is plainly not now."""


class FakeClock:
    """A Clock that stands still."""

    def __init__(self, now_ms: int = MORNING_MS) -> None:
        """Start at `now_ms`, in the first second of the first boot."""
        self._now_ms = now_ms
        self._monotonic_ms = 1_000
        self._boot = 1

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """Milliseconds since this boot."""
        return self._monotonic_ms

    def boot_id(self) -> str:
        """What tells this boot from another."""
        return f"boot-{self._boot}"

    def advance(self, ms: int) -> None:
        """Let time pass on both clocks."""
        assert ms >= 0, "time passes forward; set_wall jumps"
        self._now_ms += ms
        self._monotonic_ms += ms

    def set_wall(self, now_ms: int) -> None:
        """Set the wall clock, either way; the monotonic one doesn't notice."""
        self._now_ms = now_ms

    def reboot(self) -> None:
        """Start another boot: the monotonic clock begins anew."""
        self._boot += 1
        self._monotonic_ms = 0


class FakeIds:
    """Ids that count: `op_000001`. One object serves all processes of a test, so none is given twice."""

    def __init__(self, first: int = 1) -> None:
        """Count from `first`."""
        self._numbers = count(first)

    def new(self, prefix: str) -> str:
        """Give the next id."""
        return f"{prefix}_{next(self._numbers):06d}"
