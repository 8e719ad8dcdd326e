"""What is shipped: the wheel's content and its version."""

import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import amends
from tests.spec.suite import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.requirement("house:packaging:typed")
def test_the_wheel_ships_types_and_no_tests(tmp_path: Path) -> None:
    """Only a real build shows what users get; without py.typed their type checker ignores all our annotations."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "amends/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {"amends", f"amends-{PROJECT['version']}.dist-info"}


@pytest.mark.requirement("house:packaging:version")
def test_the_version_is_the_same_everywhere() -> None:
    """A bug report names a version; it has to be the one that runs."""
    assert metadata.version("amends") == PROJECT["version"]
    assert amends.__version__ == PROJECT["version"]
