"""One office for each test."""

from pathlib import Path

import pytest

from tests.transaction.office import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A new folder, with `a.md` in it."""
    place = Office(tmp_path / "office")
    place.put("a.md", "old\n")
    return place
