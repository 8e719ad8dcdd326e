"""The examples are programs that run as they stand, each in a process of its own."""

import subprocess
import sys

import pytest

from tests.spec.suite import ROOT

EXAMPLE_S_MAX = 60
"""An example takes about a second; here it may share the machine with everything else."""

SAID = {
    "write_from_python.py": [
        "complete - I created notes:status.md.",
        "on disk: filed",
        "complete - notes:status.md is already as asked; nothing was sent and nothing was changed.",
        "complete - I archived notes:status.md.",
        "on disk: False",
    ],
}


@pytest.mark.requirement("house:docs:examples")
def test_every_example_program_says_what_it_should() -> None:
    """Whoever copies an example copies its mistakes, and an example without a test is one that nobody has run."""
    assert sorted(path.name for path in (ROOT / "examples").glob("*.py")) == sorted(SAID)
    for name, lines in SAID.items():
        ended = subprocess.run(
            [sys.executable, ROOT / "examples" / name],
            capture_output=True,
            text=True,
            check=True,
            timeout=EXAMPLE_S_MAX,
        )
        printed = ended.stdout.splitlines()
        assert len(printed) == len(lines)
        assert all(found.startswith(line) for found, line in zip(printed, lines, strict=True)), ended.stdout
