"""Tidiness as a test: what a reviewer would otherwise have to say again and again."""

import ast
import re
from pathlib import Path

import pytest

from tests.spec.suite import ROOT, suite

SRC = ROOT / "src" / "amends"
MODULES = sorted(SRC.rglob("*.py"))

LINES_MAX = 500  # nine in ten files of a calm codebase stay under 400; past 500, split by noun
DOCSTRING_LINES_MIN, DOCSTRING_LINES_MAX = 3, 20  # a paragraph: what lives here, what must not; not an essay
ESSAYS = frozenset(  # what all the rest rests on may explain itself at length; errors.py draws its tree
    {"broker/machine.py", "contract/lifecycle.py", "errors.py", "recovery/governor.py"}
)
TEST_NAME_WORDS_MIN = 4  # fewer is a topic, not a sentence

NAMES_THAT_SAY_NOTHING = frozenset({"base", "common", "helpers", "impl", "info", "manager", "service", "utils"})
DOORS = (SRC / "cli", SRC / "demo")  # only these print


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_door(path: Path) -> bool:
    return any(path.is_relative_to(door) or path == door.with_suffix(".py") for door in DOORS)


@pytest.mark.requirement("house:tidy:files")
def test_every_shipped_file_says_what_lives_in_it() -> None:
    """Whoever opens a file by mistake should know it after three lines."""
    assert MODULES, "src/amends has no module"
    wrong = []
    for path in MODULES:
        lines = len((ast.get_docstring(ast.parse(path.read_text())) or "").splitlines())
        is_essay = path.relative_to(SRC).as_posix() in ESSAYS
        if lines < DOCSTRING_LINES_MIN or (lines > DOCSTRING_LINES_MAX and not is_essay):
            wrong.append(f"{place(path)}: {lines} lines of docstring")
    assert wrong == [], f"a module's docstring has {DOCSTRING_LINES_MIN} to {DOCSTRING_LINES_MAX} lines"


@pytest.mark.requirement("house:tidy:files")
def test_no_shipped_file_is_too_long_to_read() -> None:
    """A full file holds two nouns; the split is easiest on the day it becomes full."""
    long = [f"{place(path)}: {lines}" for path in MODULES if (lines := len(path.read_text().splitlines())) > LINES_MAX]
    assert long == [], f"over {LINES_MAX} lines: split by noun"


@pytest.mark.requirement("house:tidy:names")
def test_no_module_name_says_nothing_at_all() -> None:
    """A module called utils is a thing that has not been understood yet."""
    wrong = [
        place(path)
        for path in SRC.rglob("*")
        if path.stem.strip("_") in NAMES_THAT_SAY_NOTHING or "impl" in path.stem.split("_")
    ]
    assert wrong == []


@pytest.mark.requirement("house:tidy:leftovers")
def test_no_note_to_ourselves_is_shipped() -> None:
    """What is still to be done belongs into an issue or a deferral, where somebody counts it."""
    wrong = [
        f"{place(path)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"\b(TODO|FIXME)\b", line)
    ]
    assert wrong == []


@pytest.mark.requirement("house:tidy:leftovers")
def test_no_debugging_output_is_left_behind() -> None:
    """A stray print can show a secret, and breaks whoever reads our output as data. Only the doors print."""
    wrong = [
        f"{place(path)}:{node.lineno}"
        for path in MODULES
        if not is_door(path)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"breakpoint", "print"}
    ]
    assert wrong == []


@pytest.mark.requirement("house:tidy:tests")
def test_every_test_gives_the_reason_it_exists() -> None:
    """When it fails in two years, the docstring decides whether the code or the test is wrong."""
    assert [case.place for case in suite() if not (case.docstring or "").strip()] == []


@pytest.mark.requirement("house:tidy:tests")
def test_every_name_of_a_test_is_a_sentence() -> None:
    """The list of names is the specification that a newcomer reads first."""
    short = [c.place for c in suite() if not c.is_class and len(c.name.split("_")) - 1 < TEST_NAME_WORDS_MIN]
    assert short == [], f"at least {TEST_NAME_WORDS_MIN} words after test_"
