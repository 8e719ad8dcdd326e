"""The generated blocks of the documentation: fresh, found stale when they are, and never half written."""

import subprocess
import sys
from pathlib import Path

import pytest

from amends import Evidence
from docs.generate import BLOCKS, regenerate
from tests.spec.suite import ROOT


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.requirement("house:docs:generated")
def test_the_generated_pages_are_up_to_date() -> None:
    """A page that was true last month is believed like one that is true today."""
    checked = generate("--check")
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.requirement("house:docs:generated")
def test_a_stale_page_is_named_and_then_written(tmp_path: Path) -> None:
    """Whoever breaks the check should read which file, and mend it with one command."""
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text("# A page\n\n<!-- generated: actions -->\nold\n<!-- end -->\n\nkept\n")
    stale = generate("--check", "--root", str(tmp_path))
    assert stale.returncode == 1
    assert "docs/page.md is stale" in stale.stderr
    assert "old" in page.read_text()
    assert generate("--root", str(tmp_path)).returncode == 0
    assert "surface_ambiguous" in page.read_text()
    assert page.read_text().endswith("<!-- end -->\n\nkept\n")
    assert generate("--check", "--root", str(tmp_path)).returncode == 0


@pytest.mark.requirement("house:docs:generated")
def test_a_wrong_marker_is_an_error_and_not_skipped() -> None:
    """A misspelt marker would quietly turn a generated block into a hand-written one."""
    with pytest.raises(ValueError, match="no block is called livecycle"):
        regenerate("<!-- generated: livecycle -->\n<!-- end -->\n")
    with pytest.raises(ValueError, match="stands alone"):
        regenerate("<!-- generated: lifecycle -->\n")
    assert regenerate("no block here") == "no block here"


@pytest.mark.requirement("house:docs:generated")
def test_every_evidence_is_explained_and_every_block_is_used() -> None:
    """The page on outcomes is where a reader looks a word of a message up; an unused block is read by nobody."""
    pages = {path.name: path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    unexplained = [kind for kind in Evidence if f"\n- `{kind}`: " not in pages["outcomes.md"]]
    unused = [name for name in BLOCKS if not any(f"<!-- generated: {name} -->" in text for text in pages.values())]
    assert (unexplained, unused) == ([], [])
