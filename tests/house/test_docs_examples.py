"""Every example of the documentation is run, or at least parsed, and what it shows is what is printed.

The convention, for whoever writes a page:

    <!-- file: memo.toml -->    the fenced block below is put into that file
    ```toml, ```json            is a change or settings, and must be taken as such
    ```console                  is run line by line, in one folder per page, and compared:
      $ command                   what follows is its output; none given: only the exit code is compared
      …                           any lines
      [exit code 3]               last, if it is not 0
      op_1, tx_1, /home/ada/office   stand for an id, and the same one each time, and for the folder
      # at a terminal               the next command is played by a person who types the code
      # killed after sending        the next command gets SIGKILL between its write and its record
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from amends.document import parse_change
from amends.settings import read_settings
from tests.cli.place import WAIT_S_MAX, Place, Ran
from tests.spec.suite import ROOT

PAGES = sorted(
    path
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if re.search(r"^```(console|toml|json)$", path.read_text(), flags=re.MULTILINE)
)

BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<kind>console|toml|json)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
ID = re.compile(r"\b(?:op|tx|jn|pr|key)_[0-9a-z]+\b")
OFFICE = "/home/ada/office"
CHANGING = [  # what differs from run to run without meaning anything
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\b"), "TIME"),
    (re.compile(r"\bType \w{4} to\b"), "Type CODE to"),
    (re.compile(r"^> \w{4}$"), "> CODE"),
    (re.compile(r"\bsha256:[0-9a-f]+…?"), "sha256:…"),
]


@dataclass
class Example:
    """One command of a console block, and what the page shows of it."""

    command: str
    remark: str = ""
    shown: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        """The exit code that the page tells."""
        told = re.fullmatch(r"\[exit code (\d+)\]", self.shown[-1]) if self.shown else None
        return int(told[1]) if told else 0


def examples(body: str) -> Iterator[Example]:
    """Take a console block apart."""
    example, remark = None, ""
    for line in body.splitlines():
        if line.startswith("# "):
            remark = line[2:]
        elif line.startswith("$ "):
            if example:
                yield example
            example, remark = Example(line[2:], remark), ""
        else:
            assert example, f"{line!r} is no output of any command"
            example.shown.append(line)
    if example:
        yield example


def plain(line: str) -> str:
    """Give a line without what changes from run to run."""
    for pattern, word in CHANGING:
        line = pattern.sub(word, line)
    return line.rstrip()


def is_same(shown: str, printed: str, ids: dict[str, str]) -> bool:
    """Compare a line of the page with one that was printed; an id of the page stands for one real id for good."""
    if ID.sub("ID", plain(shown)) != ID.sub("ID", plain(printed)):
        return False
    found = dict(zip(ID.findall(shown), ID.findall(printed), strict=True))
    if any(ids.get(name, real) != real for name, real in found.items()):
        return False
    ids |= found
    return True


def compare(shown: list[str], printed: list[str], ids: dict[str, str]) -> None:
    """Go through both, line by line; `…` is any number of lines."""
    at, skips = 0, False
    for line in shown:
        if line.strip() == "…":
            skips = True
            continue
        while skips and at < len(printed) and not is_same(line, printed[at], ids):
            at += 1
        assert at < len(printed), f"{line!r} was not printed"
        assert is_same(line, printed[at], ids), f"the page shows {line!r}, printed was {printed[at]!r}"
        at, skips = at + 1, False
    assert skips or at == len(printed), f"printed was also {printed[at:]}"


def carry_out(place: Place, example: Example, ids: dict[str, str]) -> Ran:
    """Run one command the way that its remark says."""
    command = ID.sub(lambda found: ids[found[0]], example.command).replace(OFFICE, str(place.folder))
    words = shlex.split(command)
    if example.remark == "at a terminal":
        return place.person(*words[1:])
    if example.remark == "killed after sending":
        place.killed(words[2], after_sending=True)
        return Ran(0, "")
    if words[0] == "amends" and not set("|;<>&") & set(command):
        return place.run(*words[1:])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=WAIT_S_MAX,
        check=False,
        env={**os.environ, "PATH": path},
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def office(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty folder, as a reader of the page begins with; the user's own settings are out of reach."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "office"
    folder.mkdir()
    return Place(folder, capsys, monkeypatch)


@pytest.mark.requirement("house:docs:examples")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_example_shows_what_is_printed(office: Place, page: Path) -> None:
    """An example that no longer works costs a newcomer an hour, and us their trust."""
    ids: dict[str, str] = {}
    for block in BLOCK.finditer(page.read_text()):
        if block["file"]:
            (office.folder / block["file"]).write_text(block["body"])
        if block["kind"] != "console":
            is_taken(office.folder, block["kind"], block["body"])
            continue
        for example in examples(block["body"]):
            ran = carry_out(office, example, ids)
            assert ran.code == example.code, (example.command, ran)
            if example.shown and not example.remark.startswith("killed"):
                printed = [*(ran.out + ran.err).replace(str(office.folder), OFFICE).splitlines()]
                compare(example.shown, [*printed, *([f"[exit code {ran.code}]"] if ran.code else [])], ids)


def is_taken(folder: Path, kind: str, body: str) -> None:
    """See that a block is a change or settings, whichever it says it is."""
    document = tomllib.loads(body) if kind == "toml" else json.loads(body)
    if "write" in document:
        parse_change(document)
        return
    path = folder / "shown.toml"
    path.write_text(body)
    read_settings(path, default_journal=folder / ".amends" / "journal")
    path.unlink()


@pytest.mark.requirement("house:docs:examples")
def test_the_comparison_finds_what_is_wrong() -> None:
    """A check of examples that takes everything is worse than none, since it is believed."""
    ids: dict[str, str] = {}
    compare(["applied op_1", "…", "Undo: op_1"], ["applied op_7x", "more", "and more", "Undo: op_7x"], ids)
    assert ids == {"op_1": "op_7x"}
    for shown, printed in [
        (["applied op_1"], ["applied op_9z"]),
        (["applied"], ["failed"]),
        (["applied"], ["applied", "and more"]),
        (["applied", "and more"], ["applied"]),
        (["…", "and more"], ["applied"]),
    ]:
        with pytest.raises(AssertionError):
            compare(shown, printed, dict(ids))
    assert [(each.command, each.code) for each in examples("$ a\n[exit code 3]\n# again\n$ b\n")] == [
        ("a", 3),
        ("b", 0),
    ]
