"""What a large upload costs in memory, measured where it counts: in a process of its own, at its peak."""

import os
import subprocess
import sys

import pytest

from amends.cli.progress import SHOWN_BYTES_MIN
from tests.cli.place import WAIT_S_MAX, Place

LARGE_BYTES = 256 << 20
EXTRA_BYTES_MAX = 100 << 20

MEASURED = """
import resource, sys
from amends.cli.fault import run
code = run(["apply", sys.argv[1], "--yes"])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def peak(place: Place, size: int) -> int:
    """Upload `size` bytes with a process that shows its progress, and give the most memory that it held."""
    with (place.folder / "source.bin").open("wb") as file:
        file.truncate(size)
    document = place.change({"upload": f"notes:{size}.bin", "from": "source.bin"})
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, document],
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=4 * WAIT_S_MAX,
        check=True,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80"},  # draws the bar although nobody looks
    )
    code, most = ended.stdout.splitlines()[-1].split()
    assert code == "0", ended
    assert ("reading" in ended.stderr and "staging" in ended.stderr) is (size >= SHOWN_BYTES_MIN)
    assert (place.folder / "notes" / f"{size}.bin").stat().st_size == size
    return int(most)


@pytest.mark.requirement("cli:memory:flat")
def test_a_large_upload_takes_no_more_memory(place: Place) -> None:
    """A file that does not fit into memory must be as possible as a small one; a bar costs nothing either."""
    assert peak(place, LARGE_BYTES) - peak(place, 1) < EXTRA_BYTES_MAX
