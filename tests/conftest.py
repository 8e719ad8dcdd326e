"""The `requirement` marker: a test says which promises it proves.

    @pytest.mark.requirement("house:tidy:files")

A test whose marker is missing, or names an id that the manifest doesn't have, fails before it runs. A test that fails
shows the sentences that it was to prove, so that whoever reads the report sees which promise is broken.
"""

from collections.abc import Generator
from typing import Any

import pytest

from tests.spec.requirements import REQUIREMENTS


def requirement_ids(item: pytest.Item) -> list[str]:
    """All ids on the test, its class and its module, each once and in order."""
    ids = [str(name) for marker in item.iter_markers("requirement") for name in marker.args]
    return list(dict.fromkeys(ids))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a test that proves nothing, or something that nobody promised."""
    ids = requirement_ids(item)
    if not ids:
        pytest.fail('no requirement: add @pytest.mark.requirement("area:feature:variant")', pytrace=False)
    unknown = [name for name in ids if name not in REQUIREMENTS]
    if unknown:
        pytest.fail(f"unknown requirement {unknown}: add it to tests/spec/requirements/", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the promise beside the failure."""
    report = yield
    if report.failed:
        promises = [f"{name}: {REQUIREMENTS[name].sentence}" for name in requirement_ids(item) if name in REQUIREMENTS]
        if promises:
            report.sections.append(("what this was to prove", "\n".join(promises)))
    return report
