"""The demo as a newcomer runs it: whole, on real files, in a folder with a name that has spaces."""

import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.place import COMMAND, Place

DEMO_S_MAX = 100
"""It takes some 5 s alone; here it may share the machine with everything else."""

PR_CAPBSET_DROP = 24

STORY = [
    "1. A write, and its undo",
    "I edited notes:status.md.",
    "filed",
    "I edited notes:status.md.",
    "open",
    "2. A confirmation that came too late",
    "is proposed and waits for a person; nothing was sent.",
    "Type ",
    "I couldn't edit notes:status.md: it is no longer as it was shown",
    "[exit code 1]",
    "open, but wait for the client",
    "3. Killed between the change and its record",
    "Killed  (SIGKILL, right after the change)",
    "May have applied",
    "Nothing was sent now",
    "The write to notes:memo.md may have applied, but I didn't get confirmation",
    "[exit code 3]",
    "I created notes:memo.md: the proof that this write landed is there.",
    "4. Killed just before the change",
    "Killed  (SIGKILL, right before the change)",
    "it was set aside before it could land; nothing was changed.",
    "cat: notes/brief.md: No such file or directory",
    "it is that write's one recovery",
    "(a recovery) I created notes:brief.md.",
    "5. An undo that would lose somebody's work",
    "I couldn't archive notes:memo.md: it is no longer as it was shown",
    "Bring the exhibits. - Ada",
    "6. Several files, one of which can't be written",
    "I couldn't create notes:sealed/receipt.md: it was refused: permission was denied; nothing was changed.",
    "(a recovery) I couldn't create notes:sealed/receipt.md: it was refused",
    "BLOCKED / NOT COMPLETE: 1 of 3 writes as asked.",
    "[exit code 4]",
    "Follow-up of Serve the papers",
    "COMPLETE: 2 of 2 writes as asked.",
    "received",
    "the old verdict stands",
    "Serve the papers: BLOCKED / NOT COMPLETE: 1 of 3 writes as asked.",
    "What it left",
]


@pytest.mark.requirement("cli:demo:whole", "cli:demo:place")
def test_the_demo_plays_the_main_job_whole() -> None:
    """It is what people see first; each act must end as its heading says, in the files and in the journal."""
    with tempfile.TemporaryDirectory(prefix="amends demo ") as above:
        folder = Path(above) / "my first demo"
        played = subprocess.run(
            [sys.executable, "-c", THEN_LOOKING_FOR_CHILDREN, str(folder)],
            capture_output=True,
            text=True,
            timeout=DEMO_S_MAX,
            check=False,
            preexec_fn=_without_privileges,
            cwd=above,
        )
        assert (played.returncode, played.stderr) == (0, ""), played.stdout + played.stderr
        at = 0
        for line in STORY:
            assert line in played.stdout[at:], f"{line!r} is missing after:\n{played.stdout[:at]}"
            at = played.stdout.index(line, at)
        assert "\x1b" not in played.stdout
        notes = {path.name: path.read_text() for path in (folder / "notes").glob("*.md")}
        assert notes == {
            "status.md": "served\n",
            "brief.md": "Brief, second draft.\n",
            "next.md": "hearing on Friday\n",
            "memo.md": "To all: court moved to 9:30.\nBring the exhibits. - Ada\n",
        }
        commands = re.findall(r"^  (amends -C .*)$", played.stdout, flags=re.MULTILINE)
        assert [command.split("' ")[-1].split()[0] for command in commands[:3]] == ["log", "show", "verify"]
        assert played.stdout.endswith("no child is left\n")


THEN_LOOKING_FOR_CHILDREN = """
import os, sys
from amends.cli.fault import run
code = run(["demo", sys.argv[1]])
try:
    print("a child is left:", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child is left")
sys.exit(code)
"""


def _without_privileges() -> None:
    """Run in the child: what it starts next has no capability, so that even root is but the owner of its files."""
    for capability in range(64):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.requirement("cli:demo:place")
def test_the_demo_leaves_other_files_alone(place: Place) -> None:
    """Somebody will name their home folder."""
    before = place.tree()
    code, out, err = place.run("demo", str(place.folder))
    assert (code, out) == (2, "")
    assert "is not empty; the demo leaves other files alone" in err
    assert "Next: name a new folder" in err
    assert place.run("demo", str(place.folder / "amends.toml")).code == 2
    assert place.tree() == before
    assert COMMAND[0] == sys.executable
