"""The test suite as its files tell it: read with `ast`, never imported or collected.

So the whole suite is known whichever part of it runs. A test is what pytest would collect by name: a function `test_*`
at the top of a `test_*.py` file, or a method `test_*` of a class `Test*` there. Requirement ids are gathered from the
decorators of the function (also inside `pytest.param(..., marks=...)`), from its classes and from `pytestmark`, and
must be literal strings: an id that only a run knows can't be checked. A `Test*` class with a base, such as a
conformance suite, is a case of its own: it stands for the tests that it inherits, and its own ids speak for them.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Case:
    """One test function as it is written, or one class that inherits its tests."""

    path: str
    line: int
    name: str
    docstring: str | None
    requirements: tuple[str, ...]
    is_class: bool = False

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


def files_of_tests(root: Path = ROOT) -> list[Path]:
    """The files of tests/ and of agents/*/tests/ that pytest would collect."""
    return sorted(
        path for top in ("tests", "agents") for path in (root / top).rglob("test_*.py") if "tests" in path.parts
    )


def suite(root: Path = ROOT) -> list[Case]:
    """Every test of the project."""
    return [
        case
        for path in files_of_tests(root)
        for case in cases(path.read_text(), path=path.relative_to(root).as_posix())
    ]


def cases(source: str, *, path: str) -> list[Case]:
    """Every test in one file's text."""
    tree = ast.parse(source, filename=path)
    return list(_cases_in(tree.body, path=path, inherited=()))


def _cases_in(body: list[ast.stmt], *, path: str, inherited: tuple[str, ...]) -> Iterator[Case]:
    here = inherited + tuple(_ids_in(_pytestmark_values(body), path=path))
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            ids = here + tuple(_ids_in(node.decorator_list, path=path))
            yield Case(path, node.lineno, node.name, ast.get_docstring(node), tuple(dict.fromkeys(ids)))
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            ids = here + tuple(_ids_in([*node.decorator_list, *_pytestmark_values(node.body)], path=path))
            if node.bases:
                yield Case(
                    path, node.lineno, node.name, ast.get_docstring(node), tuple(dict.fromkeys(ids)), is_class=True
                )
            yield from _cases_in(node.body, path=path, inherited=ids)


def _pytestmark_values(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            yield node.value


def _ids_in(expressions: Iterable[ast.expr], *, path: str) -> Iterator[str]:
    for expression in expressions:
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                for argument in node.args:
                    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                        raise ValueError(f"{path}:{node.lineno}: a requirement id must be a literal string")
                    yield argument.value
