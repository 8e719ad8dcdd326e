"""The real clock and the real ids: what bounds and names rest on."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amends.system import SystemClock, SystemIds


@pytest.mark.requirement("system:clock:bounds")
def test_the_bounds_clock_is_shared_and_never_goes_back() -> None:
    """A lease that one process began is judged by another: both must read the same clock, whoever sets the date."""
    clock = SystemClock()
    readings = [clock.monotonic_ms() for _ in range(1000)]
    assert readings == sorted(readings)
    program = "from amends.system import SystemClock as C; print(C().monotonic_ms(), C().boot_id())"
    before = clock.monotonic_ms()
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    elsewhere, boot_id = answer.stdout.split()
    assert before <= int(elsewhere) <= clock.monotonic_ms()
    assert boot_id == clock.boot_id()


@pytest.mark.requirement("system:clock:bounds")
def test_times_for_people_are_unix_time() -> None:
    """What is shown and exported must mean the same everywhere."""
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 60_000


@pytest.mark.requirement("system:clock:boot")
def test_the_boot_is_the_kernels_or_else_the_time_of_booting(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart the monotonic clock begins again, and a lease of the last boot is over."""
    from amends import system

    known = SystemClock().boot_id()
    assert known
    system._boot_id.cache_clear()

    def unreadable(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", unreadable)
    assert re.fullmatch(r"booted-\d+", SystemClock().boot_id())
    assert SystemClock().boot_id() == SystemClock().boot_id()
    monkeypatch.undo()
    system._boot_id.cache_clear()
    assert SystemClock().boot_id() == known


@pytest.mark.requirement("system:ids:sorted")
def test_ids_sort_by_the_time_of_their_making(monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal's indexes grow at their end, and the newest comes first, only if ids sort so."""
    now = 1_700_000_000_000_000_000
    made = []
    for step_ms in (0, 1, 31, 32, 1_024, 86_400_000, 40 * 365 * 86_400_000):
        monkeypatch.setattr(time, "time_ns", lambda step=step_ms: now + step * 1_000_000)
        made.append(SystemIds().new("op"))
    assert made == sorted(made)
    assert all(re.fullmatch(r"op_[0-9a-hjkmnp-tv-z]{22}", each) for each in made)


@pytest.mark.requirement("system:ids:unique")
def test_ids_of_one_moment_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines may make one in the same millisecond; 65 random bits are what tells them apart."""
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    assert len({SystemIds().new("key") for _ in range(10_000)}) == 10_000
