"""A folder belongs to one journal, and what two writes may not do at once takes one claim."""

import os
from functools import partial
from pathlib import Path

import pytest

from amends.contract.operation import Claim
from amends.errors import OwnershipError
from amends.surfaces.files import Syscalls
from amends.testing import FakeClock, FakeIds
from tests.surfaces.desk import ARCHIVE, CREATE, EDIT, Desk, ended, in_child, tree
from tests.surfaces.fault import WithoutFlags


def owned(folder: Path, journal_id: str) -> None:
    (folder / ".amends").mkdir(parents=True)
    (folder / ".amends" / "owner").write_text(f"{journal_id}\n")


@pytest.mark.requirement("files:claims:one")
def test_a_claim_that_is_held_over_a_boot_meets_the_same_file_again(desk: Desk) -> None:
    """A device's number is given anew at each boot, so a hard link would be taken for another file."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)

    class Rebooted(Syscalls):
        def stat(self, folder_fd: int, name: str) -> os.stat_result:
            seen = super().stat(folder_fd, name)
            return os.stat_result([*seen[:2], seen.st_dev + 1, *seen[3:10]])

    class LaterBoot(FakeClock):
        def boot_id(self) -> str:
            return "the next boot"

    held = desk.claims(desk.plan(ARCHIVE, "one.md"))
    desk.clock = LaterBoot()
    later = desk.claims(desk.plan(ARCHIVE, "two.md"), files=desk.files(Rebooted()))
    assert any(one.overlaps(two) for one in held for two in later)
    desk.path("three.md")
    other = desk.claims(desk.plan(ARCHIVE, "three.md"), files=desk.files(Rebooted()))
    assert not any(one.overlaps(two) for one in held for two in other)


@pytest.mark.requirement("files:owner:one")
@pytest.mark.parametrize("place", [".", "..", "sub", "sub/deep"])
def test_a_folder_of_another_journal_is_refused_wherever_it_begins(desk: Desk, place: str) -> None:
    """Two journals with one folder would each not know what the other has sent."""
    desk.path("sub/deep/plan.md")
    owned(desk.root / place, "journal_2")
    with pytest.raises(OwnershipError) as caught:
        desk.plan(EDIT, "sub/deep/plan.md", text="x")
    folder = str((desk.root / place).resolve())
    assert str(caught.value) == f"{folder} belongs to journal journal_2; this is journal journal_1"
    assert "journal_2" in str(caught.value.hint)


@pytest.mark.requirement("files:owner:one")
def test_a_folder_becomes_the_journals_with_the_first_write(desk: Desk) -> None:
    """Before that nothing may be there, and from then on everybody must be able to tell."""
    plan = desk.plan(CREATE, "plan.md", text="x")
    assert not (desk.root / ".amends").exists()
    desk.prepare(plan)
    assert (desk.root / ".amends" / "owner").read_text() == "journal_1\n"
    assert (desk.root / ".amends").stat().st_mode & 0o777 == 0o700
    with pytest.raises(OwnershipError):
        desk.plan(CREATE, "plan.md", files=desk.files(journal_id="journal_2"), text="x")


@pytest.mark.requirement("files:owner:one")
@pytest.mark.parametrize("system", [None, WithoutFlags()], ids=["rename", "link"])
def test_of_two_journals_that_come_at_once_one_gets_the_folder(desk: Desk, system: WithoutFlags | None) -> None:
    """Both planned while the folder was nobody's."""
    plan = desk.plan(CREATE, "plan.md", files=desk.files(system), text="x")
    others = desk.files(system, journal_id="journal_2")
    desk.prepare(plan, files=desk.files(system))
    before = tree(desk.root)
    with pytest.raises(OwnershipError):
        desk.prepare(plan, files=others)
    assert tree(desk.root) == before


@pytest.mark.requirement("files:owner:one")
def test_many_processes_of_two_journals_agree_on_the_owner(desk: Desk) -> None:
    """The owner's file must never be seen empty or half written."""
    plan = desk.plan(CREATE, "plan.md", text="x")

    def claim(number: int) -> int:
        files = desk.files(journal_id=f"journal_{number % 2}")
        desk.ids = FakeIds(first=10 * number)
        try:
            desk.prepare(plan, files=files)
        except OwnershipError:
            return 2
        return number % 2

    children = [in_child(partial(claim, number)) for number in range(8)]
    codes = {ended(child) for child in children}
    winner = (desk.root / ".amends" / "owner").read_text().strip().removeprefix("journal_")
    assert codes <= {int(winner), 2}


@pytest.mark.requirement("files:owner:unclear")
def test_an_owner_that_can_not_be_told_is_refused(desk: Desk) -> None:
    """Guessing that nobody owns it would be the one wrong guess."""
    private = desk.root / ".amends"
    private.symlink_to(desk.root.parent)
    with pytest.raises(OwnershipError, match="is not a folder"):
        desk.plan(CREATE, "plan.md", text="x")
    private.unlink()
    private.mkdir()
    (private / "owner").touch()
    with pytest.raises(OwnershipError, match="is empty") as caught:
        desk.plan(CREATE, "plan.md", text="x")
    assert "remove" in str(caught.value.hint)
    (private / "owner").unlink()
    (private / "owner").symlink_to("elsewhere")
    with pytest.raises(OwnershipError, match="can't be read"):
        desk.plan(CREATE, "plan.md", text="x")


@pytest.mark.requirement("files:owner:private")
def test_a_journal_that_lives_in_the_private_folder_is_left_alone(desk: Desk) -> None:
    """It is the default place of a journal, and it is there before the first write."""
    (desk.root / ".amends" / "journal").mkdir(parents=True)
    (desk.root / ".amends" / "journal" / "journal.db").write_text("rows")
    desk.write(CREATE, "plan.md", text="x")
    assert (desk.root / ".amends" / "journal" / "journal.db").read_text() == "rows"


def overlap(one: tuple[Claim, ...], two: tuple[Claim, ...]) -> bool:
    return any(claim.overlaps(other) for claim in one for other in two)


@pytest.mark.requirement("files:claims:one")
def test_two_names_of_one_file_take_one_claim(desk: Desk) -> None:
    """Hard links are different entries of one file."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)
    assert overlap(desk.claims(desk.plan(ARCHIVE, "one.md")), desk.claims(desk.plan(ARCHIVE, "two.md")))


@pytest.mark.requirement("files:claims:one")
def test_two_surfaces_with_nested_roots_take_one_claim_for_one_file(desk: Desk) -> None:
    """The names of the targets differ, the file is the same, and so is the journal."""
    desk.path("sub/plan.md")
    inner = desk.files(root=desk.root / "sub")
    one = desk.claims(desk.plan(EDIT, "sub/plan.md", text="x"))
    assert overlap(one, desk.claims(desk.plan(EDIT, "plan.md", files=inner, text="x"), files=inner))
    one = desk.claims(desk.plan(CREATE, "sub/new.md", text="x"))
    assert overlap(one, desk.claims(desk.plan(CREATE, "new.md", files=inner, text="x"), files=inner))


@pytest.mark.requirement("files:claims:one")
def test_two_creates_in_one_new_folder_take_one_claim(desk: Desk) -> None:
    """Each would bring the folder with it, and only one of them can."""
    one = desk.claims(desk.plan(CREATE, "new/a.md", text="x"))
    assert one[0].subtree
    assert overlap(one, desk.claims(desk.plan(CREATE, "new/deep/b.md", text="x")))


@pytest.mark.requirement("files:claims:one")
def test_a_folder_that_may_not_be_listed_can_still_be_written_below(desk: Desk) -> None:
    """Folders above a home often may be passed through only, so how they take spellings can't be looked up."""

    class Closed(Syscalls):
        def casefold_flag(self, folder: str) -> bool | None:
            return None

        def names(self, folder: str | int) -> list[str]:
            raise PermissionError(13, "denied")

    (desk.root / "sub").mkdir()
    files = desk.files(Closed())
    one = desk.claims(desk.plan(CREATE, "sub/new.md", files=files, text="x"), files=files)
    assert overlap(one, desk.claims(desk.plan(CREATE, "sub/new.md", text="x")))


@pytest.mark.requirement("files:claims:two")
def test_two_files_never_take_one_claim(desk: Desk) -> None:
    """A write that waits for a stranger's is slow at best, and never ends at worst."""
    for name in ("a.md", "A.md", "sub/a.md"):
        desk.path(name)
    claims = [desk.claims(desk.plan(EDIT, name, text="x")) for name in ("a.md", "A.md", "sub/a.md")]
    claims += [desk.claims(desk.plan(CREATE, name, text="x")) for name in ("a.md.bak", "new.md", "fresh/new.md")]
    assert [(x, y) for x in range(6) for y in range(x) if overlap(claims[x], claims[y])] == []
