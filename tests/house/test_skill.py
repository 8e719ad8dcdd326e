"""The skill that agents are given: valid by the specification, short, up to date, and true where it shows commands."""

import ctypes
import os
import re
import shlex
from pathlib import Path

import pytest

from amends.recovery import rule_table
from tests.cli.place import Place, Ran
from tests.house.test_docs_examples import BLOCK, OFFICE, Example, carry_out, compare, examples, is_taken
from tests.spec.suite import ROOT

SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))
NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX, BODY_LINES_MAX = 64, 1024, 200
KNOWN = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
"""What agentskills.io/specification allows at the top of a skill."""

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def parts(skill: Path) -> tuple[dict[str, str], str]:
    """Give what stands at the top, and the body."""
    _, top, body = skill.read_text().split("---\n", 2)
    return dict(line.split(": ", 1) for line in top.splitlines()), body


def without_privileges() -> None:
    """Have the command that is about to start obey permission bits."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def ran(place: Place, example: Example, ids: dict[str, str]) -> Ran:
    """Run one command as its remark says."""
    if example.remark == "without root's privileges":
        return place.process(*shlex.split(example.command)[1:], prepare=without_privileges)
    return carry_out(place, example, ids)


@pytest.mark.requirement("house:skill:valid")
@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.parent.name)
def test_the_skill_is_what_the_specification_asks_for(skill: Path) -> None:
    """An agent's host drops a skill that it can't read, without a word to anybody."""
    top, body = parts(skill)
    assert top.keys() <= KNOWN
    assert top["name"] == skill.parent.name
    assert len(top["name"]) <= NAME_CHARS_MAX
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", top["name"])
    assert 0 < len(top["description"]) <= DESCRIPTION_CHARS_MAX
    assert ": " not in top["description"], "a colon would need quotes in YAML"
    assert len(body.splitlines()) < BODY_LINES_MAX


@pytest.mark.requirement("house:skill:rules")
def test_the_skill_shows_the_rules_that_decide() -> None:
    """An agent that goes by last year's rules breaks this year's."""
    (skill,) = SKILLS
    text = skill.read_text()
    assert "<!-- generated: governor -->" in text
    assert [name for name, sentence in rule_table() if sentence not in text] == []


@pytest.mark.requirement("house:skill:examples")
@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.parent.name)
def test_the_skill_shows_what_is_printed(
    skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent does what its skill shows, literally; three examples that don't work are three wrong habits."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "office"
    folder.mkdir()
    place, ids = Place(folder, capsys, monkeypatch), dict[str, str]()
    for block in BLOCK.finditer(skill.read_text()):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"])
        if block["kind"] != "console":
            is_taken(folder, block["kind"], block["body"])
            continue
        for example in examples(block["body"]):
            ended = ran(place, example, ids)
            assert ended.code == example.code, (example.command, ended)
            if example.shown and not example.remark.startswith("killed"):
                printed = (ended.out + ended.err).replace(str(folder), OFFICE).splitlines()
                compare(example.shown, [*printed, *([f"[exit code {ended.code}]"] if ended.code else [])], ids)
