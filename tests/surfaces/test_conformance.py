"""Files keep every promise of the conformance suite, on every kind of system."""

from collections.abc import Callable
from itertools import count

import pytest

from amends.contract.operation import OperationKind
from amends.ports import WriteRequest
from amends.surfaces.files import Syscalls
from amends.testing.surface_conformance import PROMISES, Promise, SurfaceBench
from tests.surfaces.desk import (
    ARCHIVE,
    CREATE,
    DELETE,
    EDIT,
    MOVE,
    RENAME,
    UPLOAD,
    Desk,
    replaced_by_rename,
    tree,
)


@pytest.fixture
def bench(desk: Desk, system: Callable[[], Syscalls]) -> SurfaceBench:
    for name in ("edited.md", "archived.md", "deleted.md", "uploaded.md", "moved.md", "renamed.md", "sub/other.md"):
        desk.path(name, f"old content of {name}\n")
    local_file = desk.path("../local.md", "from this machine\n")
    numbers = count()

    def truth(target: str) -> object:
        path = desk.root / target.removeprefix("notes:")
        return (path.read_bytes(), path.stat().st_mode) if path.exists() else None

    def intrude(target: str) -> None:
        replaced_by_rename(desk.root / target.removeprefix("notes:"), f"somebody's {next(numbers)}".encode())

    def request(kind: OperationKind, key: str, source: str | None = None, **fields: str) -> WriteRequest:
        from_here = str(local_file) if kind is UPLOAD else None
        return WriteRequest(kind, "notes", key, source_key=source, fields=fields, local_file=from_here)

    moves = {
        MOVE: request(MOVE, "sub/moved.md", "moved.md"),
        RENAME: request(RENAME, "another name.md", "renamed.md"),
    }
    knows_moves = system is Syscalls
    return SurfaceBench(
        open=lambda: desk.files(system()),
        blobs=desk.blobs,
        requests={
            CREATE: request(CREATE, "created.md", text="new\n"),
            EDIT: request(EDIT, "edited.md", text="new\n", mode="0600"),
            ARCHIVE: request(ARCHIVE, "archived.md"),
            DELETE: request(DELETE, "deleted.md"),
            UPLOAD: request(UPLOAD, "uploaded.md"),
            **(moves if knows_moves else {}),
        },
        refused=(
            request(EDIT, "no such.md", text="x"),
            request(RENAME, "sub/renamed.md", "renamed.md"),
            request(MOVE, "another.md", "moved.md"),
            request(MOVE, "sub/other.md", "moved.md"),
            request(DELETE, "sub/../.amends"),
            *(() if knows_moves else moves.values()),
        ),
        truth=truth,
        world=lambda: tree(desk.root),
        intrude=intrude,
        ids=desk.ids,
    )


def promises(group: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test once for each promise of `group`."""
    return pytest.mark.parametrize("promise", [pytest.param(p, id=p.__name__) for p in PROMISES[group]])


@promises("look")
@pytest.mark.requirement("files:plan:traceless")
def test_looking_at_files_leaves_no_trace(promise: Promise, bench: SurfaceBench) -> None:
    """A dry run is shown to somebody who has not agreed to anything yet."""
    promise(bench)


@promises("send")
@pytest.mark.requirement("files:send:acknowledged")
def test_an_acknowledged_write_is_in_the_file(promise: Promise, bench: SurfaceBench) -> None:
    """Applied has to be true of the file, not of our record of it."""
    promise(bench)


@promises("fence")
@pytest.mark.requirement("files:fence:proves")
def test_a_fence_proves_what_became_of_a_write(promise: Promise, bench: SurfaceBench) -> None:
    """After a crash this is all that stands between the truth and a guess."""
    promise(bench)


@promises("declared")
@pytest.mark.requirement("files:guarantee:honoured")
def test_files_keep_what_they_declare(promise: Promise, bench: SurfaceBench) -> None:
    """What a level promises decides what a message may say."""
    promise(bench)


@promises("undo")
@pytest.mark.requirement("files:undo:restores")
def test_undo_brings_back_the_file(promise: Promise, bench: SurfaceBench) -> None:
    """An undo that restores almost everything is one more damage."""
    promise(bench)
