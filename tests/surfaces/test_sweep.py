"""What processes that died left in the private folder: swept before the next write, and nothing else is."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.broker import step
from amends.broker.step import World
from amends.contract.outcome import Evidence
from amends.errors import JournalError, TargetError
from amends.ports import Attempt
from amends.surfaces.files import Past, Remains, Syscalls
from amends.surfaces.files.room import SWEPT_MAX
from amends.testing import FakeIds
from tests.surfaces.desk import ARCHIVE, CREATE, DELETE, EDIT, MOVE, Desk, ended, in_child
from tests.surfaces.fault import failing, watched
from tests.surfaces.test_crash import Signal

PREPARATION_CALLS_MAX = 60
SETTINGS = '[surfaces.notes]\ntype = "files"\nroot = "notes"\n'
OPERATOR = "operator (--yes)"


def private(root: Path) -> list[str]:
    """All that lies in the three folders of the private folder."""
    room = root / ".amends"
    return sorted(str(path.relative_to(room)) for path in room.rglob("*") if path.parent != room)


def saying(remains: Remains | Attempt) -> Past:
    """A journal that says the same of every attempt."""
    return lambda operation_id, key: remains


@pytest.mark.requirement("files:sweep:died")
@pytest.mark.parametrize(
    ("kind", "key", "fields"),
    [
        (CREATE, "a/b/new.md", {"text": "secret"}),
        (EDIT, "plan.md", {"text": "secret"}),
        (ARCHIVE, "plan.md", {}),
        (DELETE, "folder", {}),
        (MOVE, "folder/plan.md", {"source": "plan.md"}),
    ],
)
def test_what_a_process_prepared_that_died_before_its_intent_is_swept(
    desk: Desk, kind: Any, key: str, fields: dict[str, str]
) -> None:
    """Killed between any two calls: nobody knows of those bytes, so nobody else would ever remove them."""

    def preparing(number: int) -> int:
        desk.prepared(kind, key, files=desk.files(watched(Syscalls(), Signal(signal.SIGKILL, number))), **fields)
        return 0

    for number in range(PREPARATION_CALLS_MAX):
        desk.path("plan.md", "old\n")
        desk.path("folder/a.md")
        code = ended(in_child(partial(preparing, number)))
        sweeping = desk.files(past=saying(Remains.UNSENT))
        attempt = desk.prepared(CREATE, f"{number}.md", files=sweeping, text="x")
        assert sweeping.send(attempt).evidence is Evidence.ACKNOWLEDGED
        assert [name for name in private(desk.root) if not name.endswith(".draft")] == []
        assert (desk.root / "plan.md").read_text() == "old\n"
        if code == 0:
            return
    pytest.fail(f"a preparation makes more than {PREPARATION_CALLS_MAX} calls")


@pytest.mark.requirement("files:sweep:needed")
def test_the_stage_of_a_process_that_lives_is_left_alone(desk: Desk) -> None:
    """It is between its last look and its intent, and the journal knows nothing of it yet."""
    ready, go = os.pipe(), os.pipe()

    def waiting() -> int:
        files = desk.files()
        desk.ids = FakeIds(first=1_000)  # another process never gives the same
        attempt = desk.prepared(CREATE, "theirs.md", files=files, text="theirs")
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        return 0 if files.send(attempt).evidence is Evidence.ACKNOWLEDGED else 1

    child = in_child(waiting)
    os.read(ready[0], 1)
    sweeping = desk.files(past=saying(Remains.UNSENT))
    try:
        attempt = desk.prepared(CREATE, "ours.md", files=sweeping, text="ours")
        sweeping.send(attempt)
    finally:
        os.write(go[1], b"x")
        code = ended(child)
    assert code == 0
    assert (desk.root / "theirs.md").read_text() == "theirs"
    assert private(desk.root) == []


@pytest.mark.requirement("files:sweep:needed")
@pytest.mark.parametrize("unknown", ["not over", "can't be read"])
def test_what_may_still_have_to_prove_something_is_left_alone(desk: Desk, unknown: str) -> None:
    """Its outcome is not recorded, or the journal can not say: what is staged is the only proof."""

    def past(operation_id: str, key: str) -> Remains | Attempt:
        if unknown == "can't be read":
            raise JournalError("events are damaged")
        return Remains.NEEDED

    attempt = desk.prepared(CREATE, "new.md", text="x")
    before = private(desk.root)
    sweeping = desk.files(past=past)
    sweeping.send(desk.prepared(CREATE, "other.md", files=sweeping, text="x"))
    assert private(desk.root) == before
    assert desk.files().fence(attempt, is_sender_gone=True).evidence is Evidence.NEVER_SENT


@pytest.mark.requirement("files:sweep:needed")
def test_what_somebody_else_wrote_is_never_swept(desk: Desk) -> None:
    """What an edit displaced may be nowhere else, also when its process died before it was put away."""
    path = desk.path("plan.md", "theirs")
    attempt = desk.prepared(EDIT, "plan.md", text="ours")
    dying = watched(Syscalls(), Signal(signal.SIGKILL, 1))
    ended(in_child(lambda: int(desk.files(dying).send(attempt).evidence is None)))
    assert (desk.root / ".amends" / "stage" / attempt.key).read_text() == "theirs"
    assert path.read_text() == "ours"
    for remains in (Remains.OVER, attempt):
        desk.files(past=saying(remains)).prepare(desk.attempt(desk.plan(CREATE, "x.md", text="x")), desk.blobs)
        assert (desk.root / ".amends" / "stage" / attempt.key).read_text() == "theirs"


@pytest.mark.requirement("files:sweep:died")
def test_a_preparation_that_fails_leaves_nothing_and_a_sweep_that_fails_breaks_no_write(desk: Desk) -> None:
    """Housekeeping is no reason to refuse a write; what could not go this time goes the next."""
    desk.path("folder/a.md")
    attempt = desk.attempt(desk.plan(DELETE, "folder"))
    desk.path("folder/b.md")
    with pytest.raises(TargetError, match="changed in this moment"):
        desk.files().prepare(attempt, desk.blobs)
    assert private(desk.root) == []
    desk.prepared(CREATE, "dead.md", text="x")
    hindered = desk.files(failing(Syscalls(), 13, "unlink"), past=saying(Remains.UNSENT))
    desk.prepared(ARCHIVE, "folder", files=hindered)
    assert [name for name in private(desk.root) if name.startswith("stage/key")]
    desk.prepared(ARCHIVE, "folder", files=desk.files(past=saying(Remains.UNSENT)))
    assert [name for name in private(desk.root) if name.startswith("stage/key")] == []


@pytest.mark.requirement("files:sweep:bounded")
def test_a_sweep_looks_at_a_bounded_number_of_attempts(desk: Desk) -> None:
    """A write must not take longer because a thousand others died before it."""
    asked = []

    def past(operation_id: str, key: str) -> Remains | Attempt:
        asked.append(operation_id)
        return Remains.NEEDED

    for number in range(SWEPT_MAX + 2):
        desk.prepared(CREATE, f"{number}.md", text="x")
    desk.prepared(CREATE, "new.md", files=desk.files(past=past), text="x")
    assert len(asked) == SWEPT_MAX
    assert asked == sorted(asked)


# --- with the real journal, in processes that are really killed ---------------------------------------------------


def die(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def office(folder: Path) -> Path:
    """A folder with settings; gives the root."""
    (folder / "notes").mkdir(parents=True)
    (folder / "amends.toml").write_text(SETTINGS)
    return folder / "notes"


def applied(folder: Path, *writes: dict[str, Any]) -> list[str]:
    """Carry out `writes`, and give what each is."""
    with Amends.open(folder) as amends:
        return [str(life.state) for life in amends.propose({"write": list(writes)}, confirmed_by=OPERATOR).lives]


def killed(folder: Path, write: dict[str, Any], change: Callable[[], None]) -> None:
    """Carry out `write` in a process that `change` has prepared for its end."""

    def act() -> int:
        change()
        applied(folder, write)
        return 0

    assert ended(in_child(act)) == -signal.SIGKILL


def create(name: str) -> dict[str, Any]:
    return {"create": f"notes:{name}", "set": {"text": "ours"}}


@pytest.mark.requirement("files:sweep:died")
def test_the_next_write_sweeps_what_a_killed_process_staged_and_never_meant_to_send(tmp_path: Path) -> None:
    """It died after staging and before its intent, of which the journal then knows nothing."""
    root = office(tmp_path)
    killed(tmp_path, create("new.md"), lambda: setattr(step.Commit, "perform", die))
    staged = [name for name in private(root) if name.startswith("stage/")]
    assert len(staged) == 1
    assert (root / ".amends" / staged[0]).read_text() == "ours"
    assert applied(tmp_path, create("other.md")) == ["applied"]
    assert private(root) == []
    assert not (root / "new.md").exists()


@pytest.mark.requirement("files:sweep:died")
def test_the_next_write_sweeps_what_a_failed_one_had_no_time_to_tidy(tmp_path: Path) -> None:
    """It was refused, and that was recorded; then the process died."""
    root = office(tmp_path)

    def change() -> None:
        real = step.Send.perform

        def perform(self: step.Send, world: World) -> Any:
            (root / "new.md").write_text("theirs")
            return real(self, world)

        setattr(step.Send, "perform", perform)  # noqa: B010 - typed otherwise
        setattr(step.Tidy, "perform", die)  # noqa: B010 - typed otherwise

    killed(tmp_path, create("new.md"), change)
    assert [name for name in private(root) if name.startswith("stage/")]
    assert applied(tmp_path, create("other.md")) == ["applied"]
    assert private(root) == []
    assert (root / "new.md").read_text() == "theirs"


@pytest.mark.requirement("files:sweep:died")
@pytest.mark.parametrize("key", ["plan.md", "folder"])
def test_the_next_write_sweeps_what_a_delete_had_no_time_to_tidy(tmp_path: Path, key: str) -> None:
    """Its bytes are gone with the outcome; the marks that proved it go too."""
    root = office(tmp_path)
    (root / "folder").mkdir()
    for name in ("plan.md", "folder/a.md"):
        (root / name).write_text("secret")
    killed(tmp_path, {"delete": f"notes:{key}"}, lambda: setattr(step.Tidy, "perform", die))
    assert not (root / key).exists()
    assert [name for name in private(root) if "gone" in name]
    assert not [path for path in (root / ".amends").rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
    assert applied(tmp_path, create("other.md")) == ["applied"]
    assert private(root) == []


@pytest.mark.requirement("files:sweep:needed")
def test_a_write_whose_outcome_is_not_recorded_is_settled_before_anything_of_it_goes(tmp_path: Path) -> None:
    """It died after its intent; other writes leave its stage alone, and its check still has the proof."""
    root = office(tmp_path)
    killed(tmp_path, create("new.md"), lambda: setattr(step.Send, "perform", die))
    before = private(root)
    assert [name for name in before if name.startswith("stage/")]
    assert applied(tmp_path, create("other.md")) == ["applied"]
    assert private(root) == before
    with Amends.open(tmp_path) as amends:
        lives = [life for report in amends.inbox() for life in report.lives]
        assert [str(life.state) for life in lives] == ["executing"]
        checked = amends.check(lives[0].operation_id).lives[0]
    assert (checked.state, checked.evidence) == ("failed", Evidence.NEVER_SENT)
    assert private(root) == []


@pytest.mark.requirement("files:sweep:died")
def test_what_is_left_is_never_committed_to_git_by_accident(tmp_path: Path) -> None:
    """Kept bytes of deleted and edited files, and the journal, have no place in a project's history."""
    root = office(tmp_path)
    applied(tmp_path, create("new.md"))
    assert (root / ".amends" / ".gitignore").read_text() == "*\n"
    (root / ".amends" / ".gitignore").write_text("!archive\n")
    applied(tmp_path, create("other.md"))
    assert (root / ".amends" / ".gitignore").read_text() == "!archive\n"
