"""Undo through the front door, with the real journal: what is offered can be had, and what can't is told why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.broker import Life, Report
from amends.broker.step import Send, World
from amends.contract.message import render_outcome
from amends.contract.outcome import Evidence
from amends.errors import RecoveryError
from tests.surfaces.desk import replaced_by_rename
from tests.surfaces.test_sweep import OPERATOR, office


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return office(tmp_path)


def written(root: Path, write: dict[str, Any]) -> Life:
    """Carry out one write."""
    with Amends.open(root.parent) as amends:
        return amends.propose({"write": [write]}, confirmed_by=OPERATOR).lives[0]


def asking(kind: str) -> dict[str, Any]:
    """Ask for a write of `kind` to a.md."""
    more: dict[str, dict[str, Any]] = {"move": {"to": "notes:sub/a.md"}, "archive": {}}
    return {kind: "notes:a.md", **more.get(kind, {"set": {"text": "new"}})}


def undone(root: Path, life: Life, meanwhile: Callable[[], object] = lambda: None) -> Report:
    """Have `life` undone by a person, before whose confirmation something happens."""
    with Amends.open(root.parent) as amends:
        proposed = amends.undo(life.operation_id)
        meanwhile()
        return amends.confirm(proposed.transaction, by="person")


def said(life: Life) -> str:
    """What is told of a write."""
    assert life.result is not None
    return render_outcome(life.result).text


def offered(life: Life) -> bool:
    """Whether an undo is offered with it."""
    assert life.result is not None
    return render_outcome(life.result).undo_offered


@pytest.mark.requirement("files:undo:gone")
def test_an_undo_of_a_create_whose_file_was_renamed_away_is_stale(root: Path) -> None:
    """That nothing is at the name any more is no undo: the file is there, under another one."""
    made = written(root, {"create": "notes:a.md", "set": {"text": "ours"}})
    ended = undone(root, made, lambda: (root / "a.md").rename(root / "b.md")).lives[0]
    assert ended.evidence is Evidence.STALE
    assert said(ended) == (
        "I couldn't archive notes:a.md: it is no longer as it was shown: it was present, now it is absent;"
        " nothing was changed."
    )
    assert (root / "b.md").read_text() == "ours"


@pytest.mark.requirement("files:undo:gone")
@pytest.mark.parametrize("by", ["amends", "somebody"])
def test_an_undo_says_where_in_its_folder_the_file_is_now(root: Path, by: str) -> None:
    """Whoever wants it gone must not have to search for it; nothing is proposed that can't be carried out."""
    made = written(root, {"create": "notes:a.md", "set": {"text": "ours"}})
    if by == "amends":
        written(root, {"rename": "notes:a.md", "to": "notes:b.md"})
    else:
        (root / "a.md").rename(root / "b.md")
    with pytest.raises(RecoveryError) as no:
        undone(root, made)
    assert str(no.value) == "notes:a.md is no longer where the write left it: that file is at notes:b.md now"
    assert no.value.hint == "to take it back all the same, archive notes:b.md"
    assert (root / "b.md").read_text() == "ours"


@pytest.mark.requirement("files:undo:gone")
def test_an_undo_of_what_is_elsewhere_or_gone_is_stale_and_changes_nothing(root: Path) -> None:
    """It is not sought in other folders; that it is not as it was left is told all the same."""
    made = written(root, {"create": "notes:a.md", "set": {"text": "ours"}})
    (root / "sub").mkdir()
    (root / "a.md").rename(root / "sub" / "a.md")
    assert undone(root, made).lives[0].evidence is Evidence.STALE
    assert (root / "sub" / "a.md").read_text() == "ours"


@pytest.mark.requirement("files:undo:gone")
@pytest.mark.parametrize("write", ["archive", "edit", "move"])
def test_an_undo_of_what_is_back_already_has_nothing_to_do(root: Path, write: str) -> None:
    """What it would bring about is there, exactly, for everybody to see: that is as asked."""
    path = root / "a.md"
    path.write_text("old")
    path.chmod(0o640)
    (root / "sub").mkdir()
    life = written(root, asking(write))

    def back() -> None:
        (root / "sub" / "a.md").unlink(missing_ok=True)
        path.write_text("old")
        path.chmod(0o640)

    ended = undone(root, life, back).lives[0]
    assert ended.evidence is Evidence.ALREADY_SO
    assert "is already as asked" in said(ended)
    assert path.read_text() == "old"


@pytest.mark.requirement("files:undo:offered")
@pytest.mark.parametrize("write", ["edit", "archive", "move"])
def test_an_undo_is_not_offered_where_it_would_be_refused(
    root: Path, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else wrote in the same moment: what is kept is theirs, and an undo would bring back something else."""
    path = root / "a.md"
    path.write_text("old")
    (root / "sub").mkdir()
    real = Send.perform

    def perform(self: Send, world: World) -> Any:
        replaced_by_rename(path, b"theirs")
        return real(self, world)

    with monkeypatch.context() as patch:
        patch.setattr(Send, "perform", perform)
        life = written(root, asking(write))
    assert life.evidence is Evidence.ACKNOWLEDGED
    assert "Somebody else changed" in said(life)
    assert not offered(life)
    with pytest.raises(RecoveryError, match="can't be undone") as no:
        undone(root, life)
    told = "no longer as it left it" if write == "move" else "is kept at"
    assert told in str(no.value)
    theirs = [each for each in root.rglob("*") if each.is_file() and each.read_bytes() == b"theirs"]
    assert len(theirs) == 1


@pytest.mark.requirement("files:undo:offered")
@pytest.mark.parametrize("write", ["create", "edit", "archive", "move"])
def test_an_undo_that_is_offered_is_carried_out(root: Path, write: str) -> None:
    """An offer that turns out to be none costs more than no offer."""
    if write != "create":
        (root / "a.md").write_text("old")
    (root / "sub").mkdir()
    life = written(root, asking(write))
    assert offered(life)
    assert undone(root, life).lives[0].evidence is Evidence.ACKNOWLEDGED
    assert (root / "a.md").exists() is (write != "create")
