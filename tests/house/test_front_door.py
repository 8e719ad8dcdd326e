"""The front door: `import amends` brings all public names, and no library."""

import subprocess
import sys

import pytest

import amends

LIBRARIES = ("apsw", "pydantic", "rich", "typer")


@pytest.mark.requirement("house:front_door:names")
def test_the_public_names_are_listed_in_order() -> None:
    """A sorted list is read as a table of contents, and two changes to it don't collide."""
    assert amends.__all__, "the front door is empty"
    assert list(amends.__all__) == sorted(set(amends.__all__))


@pytest.mark.requirement("house:front_door:names")
def test_every_public_name_can_be_imported() -> None:
    """A name that is listed but loaded lazily would otherwise break at its first user."""
    missing = [name for name in amends.__all__ if not hasattr(amends, name)]
    assert missing == []


@pytest.mark.requirement("house:front_door:names")
def test_every_public_name_shows_in_a_shell() -> None:
    """Lazy names are invisible to `dir()`, and so to completion, unless the module says them."""
    assert sorted(set(amends.__all__) - set(dir(amends))) == []


@pytest.mark.requirement("house:front_door:light")
def test_importing_amends_loads_none_of_its_libraries() -> None:
    """A script that only asks for a name should not wait for pydantic; a fresh process is the only fair witness."""
    program = f"import sys, amends; print(sorted(set({LIBRARIES!r}) & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"
