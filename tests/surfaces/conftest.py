"""A desk with an empty folder, and the kinds of systems that files live on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from amends.surfaces.files import Syscalls
from tests.surfaces.desk import Desk
from tests.surfaces.fault import Network, WithoutFlags


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "root"
    root.mkdir()
    return Desk(root)


@pytest.fixture(params=[Syscalls, WithoutFlags, Network], ids=["local", "without_flags", "network"])
def system(request: pytest.FixtureRequest) -> Callable[[], Syscalls]:
    """Makes the system calls of one kind of system."""
    kind: Callable[[], Syscalls] = request.param
    return kind
