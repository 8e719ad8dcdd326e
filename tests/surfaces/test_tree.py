"""Whole folders: read as one digest, and archived, moved or brought back as one thing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amends.contract.operation import ABSENT, Claim, Fact, OperationKind, Presence
from amends.contract.outcome import Evidence
from amends.errors import RecoveryError, TargetError
from amends.surfaces.files import Syscalls, snapshot
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, MOVE, RENAME, Desk, tree


def folder_in(desk: Desk) -> Path:
    """A folder with all that a folder may hold."""
    desk.path("folder/a.md", "a\n")
    desk.path("folder/deep/b.md", "b\n")
    (desk.root / "folder" / "empty").mkdir()
    (desk.root / "folder" / "out").symlink_to(desk.root.parent / "outside")
    (desk.root / "folder" / "nowhere").symlink_to("no such file")
    os.mkfifo(desk.root / "folder" / "pipe")
    (desk.root / "folder" / os.fsdecode(b"\xff.md")).write_text("no UTF-8")
    return desk.root / "folder"


@pytest.mark.requirement("files:tree:read")
def test_a_folder_is_read_as_one_digest_over_all_that_is_in_it(desk: Desk) -> None:
    """Equal digests mean equal names, kinds, modes, bytes and links; times and places play no part."""
    folder = folder_in(desk)
    seen = desk.files().read("notes:folder")
    assert seen.presence is Presence.PRESENT
    assert sorted(seen.fields) == ["entries", "tree"]
    assert (seen.fields["entries"], seen.version) == (8, seen.fields["tree"])
    shutil.copytree(folder / "deep", desk.root / "copy")
    assert desk.files().read("notes:copy").same_as(desk.files().read("notes:folder/deep"))


def aimed(link: Path) -> Path:
    link.symlink_to("elsewhere")
    return link


CHANGES: dict[str, Callable[[Path], object]] = {
    "bytes": lambda folder: (folder / "deep" / "b.md").write_text("c\n"),
    "name": lambda folder: (folder / "a.md").rename(folder / "c.md"),
    "mode": lambda folder: (folder / "deep" / "b.md").chmod(0o600),
    "mode of a folder": lambda folder: (folder / "empty").chmod(0o700),
    "its own mode": lambda folder: folder.chmod(0o700),
    "an empty folder": lambda folder: (folder / "empty").rmdir(),
    "an empty file": lambda folder: (folder / "empty" / "new").touch(),
    "place": lambda folder: (folder / "a.md").rename(folder / "deep" / "a.md"),
    "aim": lambda folder: os.replace(aimed(folder / "deep" / "new"), folder / "nowhere"),
    "kind": lambda folder: os.replace(folder / "a.md", folder / "pipe"),
}


@pytest.mark.requirement("files:tree:read")
@pytest.mark.parametrize("change", CHANGES)
def test_any_change_below_a_folder_shows(desk: Desk, change: str) -> None:
    """A write that was confirmed on an old view of it must be refused as stale."""
    folder = folder_in(desk)
    before = desk.files().read("notes:folder")
    CHANGES[change](folder)
    assert not desk.files().read("notes:folder").same_as(before)


@pytest.mark.requirement("files:tree:read")
def test_a_folder_in_place_of_a_file_is_another_state(desk: Desk) -> None:
    """An edit that was confirmed for the file is stale, and the facts about it do not hold."""
    path = desk.path("plan.md", "old\n")
    plan = desk.plan(EDIT, "plan.md", text="new")
    path.unlink()
    path.mkdir()
    seen = desk.files().read("notes:plan.md")
    assert not seen.same_as(plan.shown)
    assert not plan.operation.holds(seen)
    assert not Fact("notes:plan.md", "content", ABSENT).holds(seen)
    with pytest.raises(TargetError, match="is a folder now"):
        desk.prepare(plan, before=plan.shown)


@pytest.mark.requirement("files:tree:limits")
def test_a_folder_that_is_too_large_or_can_not_be_read_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be seen whole can't be compared, proved or brought back."""
    folder = folder_in(desk)
    monkeypatch.setattr(snapshot, "TREE_ENTRIES_MAX", 7)
    with pytest.raises(TargetError, match="holds more than 7 entries") as caught:
        desk.plan(ARCHIVE, "folder")
    assert caught.value.hint
    assert desk.files().read("notes:folder").presence is Presence.UNREADABLE
    monkeypatch.setattr(snapshot, "TREE_ENTRIES_MAX", 8)
    assert desk.plan(ARCHIVE, "folder").shown.fields["entries"] == 8
    monkeypatch.setattr(snapshot, "TREE_DEPTH_MAX", 0)
    with pytest.raises(TargetError, match="more than 0 folders deep"):
        desk.plan(DELETE, "folder")
    monkeypatch.undo()
    (folder / "deep" / ".amends").mkdir()
    for kind, key in ((ARCHIVE, "folder"), (DELETE, "folder/deep")):
        with pytest.raises(TargetError, match=r"holds \.amends, where Amends keeps"):
            desk.plan(kind, key)
    with pytest.raises(TargetError, match="on another filesystem"):
        desk.plan(ARCHIVE, "proc", files=desk.files(root=Path("/")))


@pytest.mark.requirement("files:tree:limits")
def test_a_file_below_that_can_not_be_read_makes_the_folder_unreadable(desk: Desk) -> None:
    """Leaving it out would call two different folders the same."""
    folder_in(desk)

    class Locked(Syscalls):
        def open(self, folder_fd: int, name: str) -> int:
            if name == "b.md":
                raise PermissionError(13, "denied")
            return super().open(folder_fd, name)

    seen = desk.files(Locked()).read("notes:folder")
    assert (seen.presence, seen.detail) == (Presence.UNREADABLE, "deep/b.md can't be read: permission was denied")


@pytest.mark.requirement("files:read:torn")
@pytest.mark.parametrize(("times", "presence"), [(1, Presence.PRESENT), (99, Presence.UNREADABLE)])
def test_a_folder_that_changes_while_it_is_read_is_read_again(desk: Desk, times: int, presence: Presence) -> None:
    """A digest over the first half of one state and the second half of another is of no state at all."""
    folder = folder_in(desk)

    class Busy(Syscalls):
        def names(self, listed: str | int) -> list[str]:
            names = super().names(listed)
            nonlocal times
            if isinstance(listed, int) and times > 0 and "a.md" in names:
                times -= 1
                (folder / f"new{times}").touch()
            return names

    seen = desk.files(Busy()).read("notes:folder")
    assert seen.presence is presence
    if presence is Presence.PRESENT:
        assert seen.same_as(desk.files().read("notes:folder"))
    else:
        assert seen.detail == "it changed during each of 3 reads"


@pytest.mark.requirement("files:tree:whole")
@pytest.mark.parametrize(("kind", "key"), [(MOVE, "sub/folder"), (RENAME, "other")])
def test_a_folder_is_moved_as_one_thing(desk: Desk, kind: OperationKind, key: str) -> None:
    """All of it or nothing, and the links in it lead where they led."""
    folder = folder_in(desk)
    (desk.root / "sub").mkdir()
    inside = {name: what for name, what in tree(folder).items() if name != "."}
    plan = desk.plan(kind, key, source="folder")
    assert plan.operation.postcondition == (
        Fact(f"notes:{key}", "tree", desk.files().read("notes:folder").version),
        Fact("notes:folder", "content", ABSENT),
    )
    assert "the folder with 8 entries" in desk.files().preview(plan, desk.blobs)
    attempt = desk.prepare(plan)
    assert desk.files().send(attempt).evidence is Evidence.ACKNOWLEDGED
    assert {name: what for name, what in tree(desk.root / key).items() if name != "."} == inside
    assert not folder.exists()
    assert desk.files().send(desk.prepare(desk.undo_plan(attempt))).evidence is Evidence.ACKNOWLEDGED
    assert {name: what for name, what in tree(folder).items() if name != "."} == inside


@pytest.mark.requirement("files:tree:whole")
def test_an_archived_folder_comes_back_as_it_was(desk: Desk) -> None:
    """It is renamed back, not copied, so that it is the same to the last attribute; and its undo archives it again."""
    folder = folder_in(desk)
    outside = desk.path("../outside/theirs.md", "theirs").parent
    inside = tree(folder)
    before = desk.files().read("notes:folder")
    attempt, answer = desk.write(ARCHIVE, "folder")
    assert (answer.evidence, answer.note) == (Evidence.ACKNOWLEDGED, None)
    assert not folder.exists()
    assert tree(desk.root / ".amends" / "archive" / attempt.key / "kept" / "folder").keys() == inside.keys()
    plan = desk.undo_plan(attempt)
    assert (plan.operation.kind, plan.operation.postcondition) == (
        EDIT,
        (Fact("notes:folder", "tree", before.version),),
    )
    assert "Brings back the folder" in desk.files().preview(plan, desk.blobs)
    undone = desk.prepare(plan)
    assert desk.files().send(undone).evidence is Evidence.ACKNOWLEDGED
    assert desk.files().fence(undone, is_sender_gone=True).evidence is Evidence.RECEIPT
    assert tree(folder) == inside
    assert desk.files().read("notes:folder").same_as(before)
    again = desk.prepare(desk.undo_plan(undone))
    assert desk.files().send(again).evidence is Evidence.ACKNOWLEDGED
    assert not folder.exists()
    desk.files().send(desk.prepare(desk.undo_plan(again)))
    assert tree(folder) == inside
    assert (outside / "theirs.md").read_text() == "theirs"


@pytest.mark.requirement("files:tree:whole")
def test_bringing_a_folder_back_never_replaces_what_came_since(desk: Desk) -> None:
    """Nor is it merged into a new folder of that name; planned afresh it says so."""
    folder = folder_in(desk)
    attempt, _ = desk.write(ARCHIVE, "folder")
    plan = desk.undo_plan(attempt)
    undone = desk.prepare(plan)
    folder.mkdir()
    assert desk.files().send(undone).evidence is Evidence.REFUSED
    assert list(folder.iterdir()) == []
    assert desk.files().replan(plan, desk.blobs).shown.presence is Presence.PRESENT
    folder.rmdir()
    assert desk.files().send(desk.prepare(desk.files().replan(plan, desk.blobs))).evidence is Evidence.ACKNOWLEDGED


@pytest.mark.requirement("files:undo:refused")
def test_a_kept_folder_that_is_gone_or_changed_is_not_brought_back(desk: Desk) -> None:
    """Restoring something else than what was there would be a second damage, called a repair."""
    desk.path("sub/folder/a.md", "a\n")
    attempt, _ = desk.write(ARCHIVE, "sub/folder")
    kept = desk.root / ".amends" / "archive" / attempt.key / "kept" / "folder"
    (desk.root / "sub").rmdir()
    with pytest.raises(RecoveryError, match="the folder notes:sub is not there any more"):
        desk.undo_plan(attempt)
    (desk.root / "sub").mkdir()
    (kept / "a.md").write_text("changed")
    with pytest.raises(RecoveryError, match="somebody changed it") as caught:
        desk.undo_plan(attempt)
    assert str(kept) in str(caught.value.hint)
    shutil.rmtree(kept)
    with pytest.raises(RecoveryError, match=f"is gone: it was kept at {kept}"):
        desk.undo_plan(attempt)


@pytest.mark.requirement("files:edit:displaced")
def test_a_change_below_an_archived_folder_is_kept_and_told(desk: Desk) -> None:
    """What was carried off is not what somebody agreed to archive."""
    folder = folder_in(desk)
    attempt = desk.prepared(ARCHIVE, "folder")
    (folder / "deep" / "b.md").write_text("theirs")
    answer = desk.files().send(attempt)
    kept = desk.root / ".amends" / "archive" / attempt.key / "kept" / "folder"
    assert answer.evidence is Evidence.ACKNOWLEDGED
    assert str(kept) in str(answer.note)
    assert (kept / "deep" / "b.md").read_text() == "theirs"


def overlap(one: tuple[Claim, ...], two: tuple[Claim, ...]) -> bool:
    return any(claim.overlaps(other) for claim in one for other in two)


@pytest.mark.requirement("files:claims:below")
@pytest.mark.parametrize("kind", [ARCHIVE, MOVE])
def test_a_write_below_a_folder_waits_for_what_takes_the_folder(desk: Desk, kind: OperationKind) -> None:
    """It would be carried along unseen, or land in the place of what is gone."""
    folder_in(desk)
    (desk.root / "sub").mkdir()
    request: dict[str, Any] = {"source": "folder"} if kind is MOVE else {}
    held = desk.claims(desk.plan(kind, "sub/other" if kind is MOVE else "folder", **request))
    inner = desk.files(root=desk.root / "folder")
    below = [
        desk.claims(desk.plan(EDIT, "folder/deep/b.md", text="x")),
        desk.claims(desk.plan(CREATE, "folder/deep/new/c.md", text="x")),
        desk.claims(desk.plan(ARCHIVE, "folder/deep")),
        desk.claims(desk.plan(CREATE, "new.md", files=inner, text="x"), files=inner),
    ]
    if kind is MOVE:
        below.append(desk.claims(desk.plan(CREATE, "sub/other/c.md", text="x")))
    assert [overlap(held, claims) for claims in below] == [True] * len(below)
    shutil.rmtree(desk.root / "folder" / ".amends")
    for beside in ("folder.md", "folders/a.md", "sub/another.md"):
        assert not overlap(held, desk.claims(desk.plan(CREATE, beside, text="x")))


@pytest.mark.requirement("files:claims:one")
def test_a_move_claims_where_it_is_and_where_it_goes(desk: Desk) -> None:
    """Under all of its names, and against whoever would take the free one."""
    path = desk.path("plan.md")
    (desk.root / "also.md").hardlink_to(path)
    held = desk.claims(desk.plan(RENAME, "b.md", source="plan.md"))
    for other in (
        desk.plan(ARCHIVE, "plan.md"),
        desk.plan(ARCHIVE, "also.md"),
        desk.plan(CREATE, "b.md", text="x"),
        desk.plan(RENAME, "b.md", source="also.md"),
    ):
        assert overlap(held, desk.claims(other))
    desk.path("other.md")
    assert not overlap(held, desk.claims(desk.plan(RENAME, "c.md", source="other.md")))
