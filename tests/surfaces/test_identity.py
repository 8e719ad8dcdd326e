"""One file, one target, whatever the spelling; two files, two targets, however alike they look."""

import os
import socket
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from amends.contract.operation import OperationKind
from amends.errors import TargetError
from amends.ports import WriteRequest
from amends.surfaces.files import Files
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, UPLOAD, Desk
from tests.surfaces.fault import Folding

NFC = unicodedata.normalize("NFC", "Müll.md")
NFD = unicodedata.normalize("NFD", "Müll.md")


def targets(desk: Desk, *keys: str, files: Files | None = None) -> set[str]:
    return {desk.plan(EDIT, key, files=files, text="new").operation.target for key in keys}


@pytest.mark.requirement("files:identity:spelling")
def test_every_spelling_of_a_path_gives_one_target(desk: Desk) -> None:
    """A claim on one spelling protects nothing if another spelling gets past it."""
    desk.path("sub/plan.md")
    (desk.root / "alias").symlink_to("sub")
    (desk.root / "far").symlink_to(desk.root / "sub", target_is_directory=True)
    assert targets(
        desk,
        "sub/plan.md",
        "./sub//plan.md",
        "sub/./plan.md",
        "sub/../sub/plan.md",
        "sub/plan.md/",
        "alias/plan.md",
        "alias/../sub/plan.md",
        "far/plan.md",
        f"../{desk.root.name}/sub/plan.md",
    ) == {"notes:sub/plan.md"}


@pytest.mark.requirement("files:identity:spelling")
def test_a_path_through_a_folder_that_is_not_there_yet_has_one_target(desk: Desk) -> None:
    """Two creates of one new file must meet at one claim."""
    keys = ("new/deep/a.md", "new//deep/./a.md", "new/other/../deep/a.md")
    assert {desk.plan(CREATE, key, text="x").operation.target for key in keys} == {"notes:new/deep/a.md"}


@pytest.mark.requirement("files:identity:distinct")
@pytest.mark.parametrize("other", ["plan.md ", " plan.md", "Plan.md", "plan%2emd", "%70lan.md", "plan.md\n", NFC])
def test_names_that_only_look_alike_are_different_files(desk: Desk, other: str) -> None:
    """A name is bytes: whoever trims, decodes or folds it writes to a file that nobody named."""
    desk.path("plan.md", "the one")
    desk.path(other, "the other")
    plan = desk.plan(EDIT, other, text="new")
    desk.files().send(desk.prepare(plan))
    assert plan.operation.target == f"notes:{other}"
    assert (desk.root / other).read_text() == "new"
    assert (desk.root / "plan.md").read_text() == "the one"


@pytest.mark.requirement("files:identity:distinct")
def test_both_forms_of_an_umlaut_are_two_files_where_the_folder_says_so(desk: Desk) -> None:
    """Here both can exist, so neither may stand for the other."""
    desk.path(NFC, "composed")
    desk.path(NFD, "decomposed")
    desk.write(EDIT, NFD, text="new")
    assert (desk.root / NFC).read_text() == "composed"
    assert (desk.root / NFD).read_text() == "new"


@pytest.mark.requirement("files:identity:twins")
def test_a_name_that_could_mean_two_files_is_refused(desk: Desk) -> None:
    """A third spelling of two files that look the same names neither of them."""
    mixed = "ü" + unicodedata.normalize("NFD", "ü") + ".md"
    desk.path(unicodedata.normalize("NFC", mixed))
    desk.path(unicodedata.normalize("NFD", mixed))
    with pytest.raises(TargetError, match="could mean any of 2 files") as caught:
        desk.plan(EDIT, mixed, text="x")
    assert "code points" in str(caught.value.hint)


@pytest.mark.requirement("files:identity:twins")
def test_a_missing_name_tells_of_the_one_that_looks_the_same(desk: Desk) -> None:
    """Without this the user sees the file in the listing and a message that it is not there."""
    desk.path(NFD)
    with pytest.raises(TargetError) as caught:
        desk.plan(EDIT, NFC, text="x")
    assert ascii(NFD) in str(caught.value.hint)
    assert ascii(NFD) in desk.plan(CREATE, NFC, text="x").warnings[0]


@pytest.mark.requirement("files:identity:folding")
def test_a_folder_that_folds_names_gives_the_name_that_it_lists(desk: Desk) -> None:
    """On such a folder, all these spellings open one file, so they are one target."""
    desk.path(f"Sub/{NFD}")
    files = desk.files(Folding())
    spellings = (f"Sub/{NFD}", f"Sub/{NFC}", f"sub/{NFC.lower()}", f"SUB/{NFD.upper()}")
    assert targets(desk, *spellings, files=files) == {f"notes:Sub/{NFD}"}


@pytest.mark.requirement("files:identity:folding")
def test_two_spellings_of_a_new_file_meet_at_one_claim_where_the_folder_folds(desk: Desk) -> None:
    """Neither exists yet, so only the folder's own behaviour tells that they will be one file."""
    desk.path("Other.md")
    for system, count in ((Folding(), 1), (None, 2)):
        files = desk.files(system)
        claims = set()
        for key in ("New.md", "nEW.md"):
            claims.add(desk.claims(desk.plan(CREATE, key, files=files, text="x"), files=files))
        assert len(claims) == count


@pytest.mark.requirement("files:identity:folding")
def test_an_empty_folder_is_known_to_fold_by_its_own_name(desk: Desk) -> None:
    """Nothing is in it yet that could be asked for by another spelling."""
    (desk.root / "Empty").mkdir()
    files = desk.files(Folding())
    claims = set()
    for key in ("Empty/a.md", "Empty/A.md"):
        claims.add(desk.claims(desk.plan(CREATE, key, files=files, text="x"), files=files))
    assert len(claims) == 1


@pytest.mark.requirement("files:identity:link")
def test_an_edit_through_a_link_writes_the_real_file_and_keeps_the_link(desk: Desk) -> None:
    """A rename onto ~/.zshrc that is a link into a dotfiles folder would cut the two apart."""
    real = desk.path("dotfiles/zshrc", "old")
    (desk.root / ".zshrc").symlink_to("dotfiles/zshrc")
    plan = desk.plan(EDIT, ".zshrc", text="new")
    desk.files().send(desk.prepare(plan))
    assert plan.operation.target == "notes:dotfiles/zshrc"
    assert "is a symbolic link" in plan.warnings[0]
    assert (desk.root / ".zshrc").readlink() == Path("dotfiles/zshrc")
    assert real.read_text() == "new"


@pytest.mark.requirement("files:identity:link")
def test_a_link_is_not_archived_in_place_of_its_file(desk: Desk) -> None:
    """Which of the two is meant can't be known, and the message says how to say it."""
    desk.path("real.md")
    (desk.root / "link.md").symlink_to("real.md")
    with pytest.raises(TargetError, match=r"symbolic link to 'real\.md'") as caught:
        desk.plan(ARCHIVE, "link.md")
    assert caught.value.hint == "name the real file"


@pytest.mark.requirement("files:identity:link")
@pytest.mark.parametrize("aim", ["nowhere.md", "no/where.md", "../outside.md", "/etc/hostname", "loop.md"])
def test_a_link_that_leads_to_no_file_in_the_root_is_refused(desk: Desk, aim: str) -> None:
    """Writing through it would make a file at a place that nobody named."""
    (desk.root.parent / "outside.md").write_text("theirs")
    (desk.root / "loop.md").symlink_to("loop.md")
    (desk.root / "link.md").symlink_to(aim)
    for kind in (CREATE, EDIT):
        with pytest.raises(TargetError) as caught:
            desk.plan(kind, "link.md", text="x")
        assert "link.md" in str(caught.value)
        assert caught.value.hint


def bad_targets(root: Path) -> dict[str, str]:
    (root / "folder").mkdir()
    (root / "file.md").write_text("x")
    os.mkfifo(root / "pipe")
    (root / "up").symlink_to("..")
    with socket.socket(socket.AF_UNIX) as listening:
        place = os.open(root, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{place}/socket")
        os.close(place)
    return {
        "": "an empty name",
        "a\0b": "NUL",
        "/etc/passwd": "is absolute",
        f"{root}/file.md": "is absolute",
        "..": "leads out of",
        "../other.md": "leads out of",
        "folder/../../other.md": "leads out of",
        "up/other.md": "leads out of",
        ".": "the folder",
        "folder/..": "the folder",
        "pipe": "it is a named pipe",
        "socket": "it is a socket",
        "file.md/below.md": "which is a file, not a folder",
        "\udcff.md": "not valid UTF-8",
        "x" * 256: "at most 255",
        "ü" * 128: "at most 255",
        "/".join(["x" * 250] * 17).lstrip("/"): "longer than 4096 bytes",
        ".amends/owner": "where Amends keeps",
        "folder/.amends/x": "where Amends keeps",
        ".amends": "where Amends keeps",
    }


@pytest.mark.requirement("files:target:refused")
@pytest.mark.parametrize("kind", [CREATE, EDIT, ARCHIVE, DELETE, UPLOAD])
def test_what_is_no_target_is_refused_with_reason_and_next_step(desk: Desk, kind: object) -> None:
    """A refusal that names target, reason and next step can be acted on; anything else is repeated until it works."""
    local_file = str(desk.path("../local.md"))
    for key, reason in bad_targets(desk.root).items():
        request = WriteRequest(
            kind,  # type: ignore[arg-type]
            "notes",
            key,
            fields={"text": "x"} if kind in (CREATE, EDIT) else {},
            local_file=local_file if kind is UPLOAD else None,
        )
        with pytest.raises(TargetError, match=reason) as caught:
            desk.files().plan(request, desk.blobs)
        assert caught.value.hint, key
        assert repr(key)[1:20] in str(caught.value) or f"notes:{key}" in str(caught.value) or not key
    assert not (desk.root / ".amends").exists()


@pytest.mark.requirement("files:target:refused")
@pytest.mark.parametrize("kind", [CREATE, EDIT, UPLOAD])
def test_a_folder_is_not_written_like_a_file(desk: Desk, kind: OperationKind) -> None:
    """It can be moved, archived and deleted, but it has no content of its own."""
    local_file = str(desk.path("../local.md"))
    desk.path("folder/a.md")
    fields: dict[str, Any] = {} if kind is UPLOAD else {"text": "x"}
    with pytest.raises(TargetError, match="it is a folder") as caught:
        desk.plan(kind, "folder", local_file=local_file, **fields)
    assert caught.value.hint


@pytest.mark.requirement("files:target:refused")
def test_the_private_folder_is_refused_in_any_spelling_where_the_folder_folds(desk: Desk) -> None:
    """On such a folder .AMENDS opens the same folder."""
    desk.path("Other.md")
    with pytest.raises(TargetError, match="where Amends keeps"):
        desk.plan(CREATE, ".AMENDS/stage/x", files=desk.files(Folding()), text="x")
    assert desk.plan(CREATE, ".AMENDS/stage/x", text="x").operation.target == "notes:.AMENDS/stage/x"


@pytest.mark.requirement("files:target:filesystem")
def test_a_target_on_another_filesystem_is_refused(desk: Desk) -> None:
    """Nothing can be renamed from one filesystem to another, so nothing could be proved there."""
    files = desk.files(root=Path("/"))
    for key in ("proc/amends.md", "proc/sys/amends.md"):
        with pytest.raises(TargetError, match="on another filesystem"):
            desk.plan(CREATE, key, files=files, text="x")


@pytest.mark.requirement("files:target:names")
def test_one_of_several_names_of_a_file_is_not_replaced(desk: Desk) -> None:
    """The rename would give this name new bytes and leave the old ones under the others."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)
    for kind in (EDIT, UPLOAD):
        with pytest.raises(TargetError, match="has 2 names; replacing it would split them") as caught:
            desk.plan(kind, "one.md", text="x", local_file=str(path))
        assert caught.value.hint


@pytest.mark.requirement("files:target:names")
def test_a_name_added_after_the_plan_is_found_before_the_intent(desk: Desk) -> None:
    """The look at planning time may be minutes old."""
    path = desk.path("one.md")
    plan = desk.plan(EDIT, "one.md", text="x")
    (desk.root / "two.md").hardlink_to(path)
    with pytest.raises(TargetError, match="has 2 names"):
        desk.prepare(plan)


@pytest.mark.requirement("files:target:names")
def test_archiving_one_of_several_names_says_that_the_others_stay(desk: Desk) -> None:
    """It is a sensible wish, but not the whole of what it looks like."""
    path = desk.path("one.md")
    (desk.root / "two.md").hardlink_to(path)
    plan = desk.plan(ARCHIVE, "one.md")
    desk.files().send(desk.prepare(plan))
    assert "has 2 names" in plan.warnings[0]
    assert not path.exists()
    assert (desk.root / "two.md").read_text() == "old\n"
