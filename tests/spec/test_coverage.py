"""The manifest, the tests and the guarantees are checked against each other, each both ways."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.spec.requirements import AREAS, REQUIREMENTS
from tests.spec.suite import ROOT, cases, suite

GUARANTEES = ROOT / "docs" / "concepts" / "guarantees.md"
ID_IN_BACKTICKS = re.compile(r"`([a-z0-9_-]+:[a-z0-9_-]+:[a-z0-9_-]+)`")


@pytest.mark.requirement("house:manifest:ids")
def test_every_id_stands_in_the_module_of_its_area() -> None:
    """A reader who meets an id in a test must know which file explains it."""
    wrong = [
        f"{area}.py: {name}"
        for area, requirements in AREAS.items()
        for name in requirements
        if not re.fullmatch(rf"{area}:[a-z0-9_-]+:[a-z0-9_-]+", name)
    ]
    assert wrong == []


@pytest.mark.requirement("house:manifest:ids")
def test_no_id_is_in_the_manifest_twice() -> None:
    """A dict keeps the last of two equal keys without a word, so a promise could be lost by pasting."""
    keys = Counter(
        key.value
        for path in sorted((Path(__file__).parent / "requirements").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    )
    assert [name for name, count in keys.items() if count > 1] == []
    assert set(keys) == set(REQUIREMENTS)


@pytest.mark.requirement("house:manifest:ids")
def test_every_requirement_says_what_holds_and_where_from() -> None:
    """An empty field is a promise that nobody can check."""
    wrong = [
        name
        for name, item in REQUIREMENTS.items()
        if not item.source.strip()
        or not item.sentence.endswith(".")
        or any(text is not None and not text.strip() for text in (item.divergence, item.deferral))
    ]
    assert wrong == []


@pytest.mark.requirement("house:manifest:covered")
def test_every_requirement_is_proved_or_says_why_not() -> None:
    """A promise without a test is a hope."""
    proved = {name for case in suite() for name in case.requirements}
    missing = [name for name, item in REQUIREMENTS.items() if name not in proved and item.deferral is None]
    assert missing == [], "mark a test with these ids, or give them a deferral with the reason"


@pytest.mark.requirement("house:manifest:covered")
def test_a_deferral_ends_when_the_test_comes() -> None:
    """A list of what is missing that does not shrink is soon not read any more."""
    proved = {name for case in suite() for name in case.requirements}
    assert [name for name, item in REQUIREMENTS.items() if name in proved and item.deferral is not None] == []


@pytest.mark.requirement("house:manifest:named")
def test_every_test_names_a_requirement_that_exists() -> None:
    """A test without a promise protects something that nobody asked for, and nobody knows when it may go."""
    nameless = [case.place for case in suite() if not case.requirements]
    unknown = [f"{case.place}: {name}" for case in suite() for name in case.requirements if name not in REQUIREMENTS]
    assert nameless == []
    assert unknown == []


@pytest.mark.requirement("house:manifest:told")
def test_the_guarantees_tell_every_requirement_in_one_line() -> None:
    """Users read the guarantees, not the tests: what is not there is not promised, and what is there is proved."""
    lines = GUARANTEES.read_text().splitlines()
    told = Counter(name for line in lines for name in set(ID_IN_BACKTICKS.findall(line)))
    assert sorted(set(REQUIREMENTS) - set(told)) == [], "not told in docs/concepts/guarantees.md"
    assert sorted(set(told) - set(REQUIREMENTS)) == [], "told in docs/concepts/guarantees.md, but not in the manifest"
    assert [name for name, count in told.items() if count > 1] == [], "told in more than one line"


EXAMPLE = '''
import pytest
pytestmark = [pytest.mark.requirement("a:module:mark")]

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("a:param:mark"))])
async def test_a_function_with_a_parameter(x):
    """Why."""

@pytest.mark.requirement("a:class:mark")
class TestInAClass:
    @pytest.mark.requirement("a:method:mark", "a:second:mark")
    def test_a_method_of_a_class(self): ...

class TestThatInherits(Conformance):
    pytestmark = pytest.mark.requirement("a:base:mark")

def helper_that_is_no_test(): ...
'''


@pytest.mark.requirement("house:manifest:scan")
def test_the_scan_finds_marks_wherever_pytest_would() -> None:
    """If the scan overlooked a way to mark a test, people would write ids twice, or stop to write them."""
    function, method, heir = cases(EXAMPLE, path="example.py")
    assert function.requirements == ("a:module:mark", "a:param:mark")
    assert function.docstring == "Why."
    assert method.requirements == ("a:module:mark", "a:class:mark", "a:method:mark", "a:second:mark")
    assert method.docstring is None
    assert heir.requirements == ("a:module:mark", "a:base:mark")
    assert heir.is_class


@pytest.mark.requirement("house:manifest:scan")
def test_the_scan_refuses_an_id_that_is_not_literal() -> None:
    """An id that only a run knows would be missing from every check above."""
    with pytest.raises(ValueError, match=r"example.py:2: a requirement id must be a literal string"):
        cases("\n@pytest.mark.requirement(ID)\ndef test_with_a_name_for_its_id(): ...", path="example.py")


@pytest.mark.requirement("house:manifest:scan")
def test_the_scan_sees_what_pytest_collected_here(request: pytest.FixtureRequest) -> None:
    """The scan reads files and pytest runs objects: where both look at the same test, they must agree."""
    scanned = {(case.path, case.name): set(case.requirements) for case in suite()}
    for item in request.session.items:
        path = item.path.relative_to(ROOT).as_posix()
        if not isinstance(item, pytest.Function) or not path.startswith("tests/"):
            continue
        marked = {name for marker in item.iter_markers("requirement") for name in marker.args}
        heir = scanned.get((path, item.cls.__name__), set()) if item.cls else set()
        assert marked <= scanned.get((path, item.originalname), heir), item.nodeid
