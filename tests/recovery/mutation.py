"""Changes the pure packages one place at a time, and says which changes no test of theirs notices.

`python -m tests.recovery.mutation [MODULE …]` plants each change into the code of its function, in a forked child, and
runs the tests of both packages there: first those by example, then, where they all pass, those by random cases. It
takes long, so it is no part of any other target; what survived last is in `survivors.txt`, each with the reason.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import os
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

MODULES = (
    "amends.recovery.budget",
    "amends.recovery.mismatch",
    "amends.recovery.governor",
    "amends.recovery.fingerprint",
    "amends.recovery.report",
    "amends.contract.lifecycle",
    "amends.contract.operation",
    "amends.contract.outcome",
    "amends.contract.guarantee",
    "amends.contract.undo",
    "amends.contract.message",
)
TESTS = ("tests/contract", "tests/recovery")
LEFT_OUT = ("tests/recovery/test_mutants.py", "tests/recovery/test_exploration.py")
"""Those plant mistakes of their own, or take half a minute; the exploration would only find more."""
SURVIVORS = Path(__file__).parent / "survivors.txt"

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_CHANGEABLE = (ast.Compare, ast.BoolOp, ast.Constant, ast.comprehension, ast.IfExp, ast.BinOp, ast.UnaryOp)


@dataclass(frozen=True, slots=True)
class Place:
    """One changed function: where, what it says now, and its code."""

    module: str
    name: str
    change: str
    function: FunctionType
    code: CodeType

    def __str__(self) -> str:
        """Give a line of the list."""
        return f"{self.module}.{self.name}: {self.change}"


def loaded(name: str) -> ModuleType:
    """Give a module by its name."""
    return importlib.import_module(name)


def changes(module: ModuleType) -> Iterator[Place]:
    """Give every change of every function and method of `module`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(module)))
    owners: list[tuple[str, Any, list[ast.stmt]]] = [("", module, tree.body)]
    owners += [
        (f"{node.name}.", getattr(module, node.name), node.body) for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    for prefix, owner, body in owners:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                function = _function(owner, node.name)
                for change, mutated in _mutations(node):
                    code = _compiled(mutated, function)
                    if code is not None:
                        yield Place(module.__name__, f"{prefix}{node.name}", change, function, code)


def _function(owner: Any, name: str) -> FunctionType:
    found = owner.__dict__[name]
    for wrapper in ("fget", "__func__", "wrapped"):
        found = getattr(found, wrapper, found)
    assert isinstance(found, FunctionType), name
    return found


def _compiled(node: ast.FunctionDef, function: FunctionType) -> CodeType | None:
    node.decorator_list = []
    scope: dict[str, Any] = {}
    flags = __import__("__future__").annotations.compiler_flag
    module = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(module, "<mutation>", "exec", dont_inherit=True, flags=flags), dict(function.__globals__), scope)
    code: CodeType = scope[node.name].__code__
    return code if code.co_freevars == function.__code__.co_freevars else None


def _mutations(function: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Give copies of `function` with one change each, and the change in words; annotations do nothing."""
    for each in ast.walk(function):
        if isinstance(each, ast.arg | ast.AnnAssign):
            each.annotation = ast.Constant(None)
        if isinstance(each, ast.FunctionDef):
            each.returns = None
    for number, node in enumerate(ast.walk(function)):
        for way in range(2 if isinstance(node, _CHANGEABLE) else 0):
            mutated = copy.deepcopy(function)
            target = list(ast.walk(mutated))[number]
            before = ast.unparse(target) if isinstance(target, ast.expr | ast.comprehension) else ""
            if _change(target, way):
                yield f"+{_line(node, function)}: {before.strip()} -> {ast.unparse(target).strip()}", mutated


def _line(node: ast.AST, function: ast.FunctionDef) -> int:
    """Give the line within the function; a comprehension begins with its target."""
    place = node.target if isinstance(node, ast.comprehension) else node
    return int(getattr(place, "lineno", function.lineno)) - function.lineno


def _change(node: ast.AST, way: int) -> bool:
    """Change `node` in place in one of its ways; say whether there is such a way."""
    match node:
        case ast.Compare(ops=[op]) if way == 0 and type(op) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(op)]()]
        case ast.BoolOp() if way == 0:
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BoolOp() if way == 1:
            node.values = [node.values[0], node.values[0]]
        case ast.Constant(value=bool() as value) if way == 0:
            node.value = not value
        case ast.Constant(value=int() as value) if way == 0 and not isinstance(value, bool):
            node.value = value + 1
        case ast.comprehension(ifs=[_, *_]) if way == 0:
            node.ifs = node.ifs[1:]
        case ast.IfExp() if way == 0:
            node.body, node.orelse = node.orelse, node.body
        case ast.BinOp(op=ast.BitOr()) if way == 0:
            node.op = ast.BitAnd()
        case ast.UnaryOp(op=ast.Not()) if way == 0:
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case _:
            return False
    return True


def is_noticed(place: Place) -> bool:
    """Say whether a test fails with `place` changed; an endless loop is noticed too."""
    for kind in ("not proof and not hypothesis", "not proof and hypothesis"):
        child = os.fork()
        if not child:
            os._exit(_fails_with(place, kind))
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            return True
    return False


def _fails_with(place: Place, kind: str) -> int:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    place.function.__code__ = place.code
    options = ["-x", "-q", "-m", kind, "-p", "no:cacheprovider", "-o", "timeout=60"]
    left_out = [f"--ignore={name}" for name in LEFT_OUT]
    return int(pytest.main([*options, *left_out, *TESTS]) not in (0, pytest.ExitCode.NO_TESTS_COLLECTED))


def explained() -> set[str]:
    """Give the changes that nothing notices and for which there is a reason."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines() if SURVIVORS.is_file() else []
    return {line for line in lines if line and not line.startswith(("#", " "))}


def main(names: list[str]) -> int:
    """Try all modules, or those named; print what survives, and give the exit code."""
    tried = survived = unexplained = 0
    known = explained()
    for name in names or MODULES:
        for place in changes(loaded(name)):
            tried += 1
            if not is_noticed(place):
                survived += 1
                unexplained += str(place) not in known
                print(place, flush=True)
        print(
            f"# {name}: {tried} changes so far, {survived} not noticed, {unexplained} of them without a reason",
            flush=True,
        )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
