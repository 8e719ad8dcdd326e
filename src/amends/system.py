"""The real clock and the real ids: the two ports that need nothing but this machine.

Bounds are taken on a clock that no administrator sets (CLOCK_BOOTTIME where there is one, so that a suspended
machine does not stop it), together with the boot's id (invariant 24).
"""

from __future__ import annotations

import secrets
import time
from functools import cache
from pathlib import Path

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base32: no letter that reads like a digit, and it sorts as it counts."""

_TIME_CHARS = 9
"""45 bits of milliseconds: enough until the year 3084."""

_RANDOM_CHARS = 13
"""65 random bits: two ids of one millisecond stay apart (birthday bound above 10^9 of them)."""


class SystemClock:
    """This machine's clocks."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds since boot."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return time.clock_gettime_ns(clock) // 1_000_000

    def boot_id(self) -> str:
        """The kernel's id of this boot; without one, the wall-clock second of booting."""
        return _boot_id()


class SystemIds:
    """Ids that sort by the time of their making: `prefix_` + 9 characters of time + 13 random ones."""

    def new(self, prefix: str) -> str:
        """Make one."""
        stamp = _base32(time.time_ns() // 1_000_000, _TIME_CHARS)
        return f"{prefix}_{stamp}{_base32(secrets.randbits(5 * _RANDOM_CHARS), _RANDOM_CHARS)}"


def _base32(number: int, width: int) -> str:
    return "".join([_ALPHABET[number >> shift & 31] for shift in range(5 * (width - 1), -1, -5)])


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"booted-{round(time.time() - time.monotonic())}"
