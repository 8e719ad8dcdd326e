"""The power lost at every moment of a write, with every part lost that no sync had made certain, and gone on with.

What is assumed of a filesystem stands in `tests.crash.power`.
"""

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.crash.losses import Scenario, play, sending
from tests.crash.story import EVERY_KIND
from tests.proof import FULL, record, share

WITHOUT_FLAGS = ("create", "edit", "archive", "upload", "undo_archive", "undo_edit")
STATES_MIN = 5
STATES_MAX = 10
"""How many are tried of each kind in the quick share; most have not many more."""

SYNC_TWICE = ("rename", "undo_rename", "document")
"""A rename syncs its one folder twice, and of a document's writes each syncs the room: one of two may be left out."""

ROOM_SYNCS = 2
"""The first two syncs are of a room that is there already; where it is new, they matter, and are left out too."""


def losses(scenarios: Iterable[Scenario], folder: Path, name: str, what: str) -> None:
    """Play them all; none may break a promise."""
    started, states, ended = time.monotonic(), 0, Counter[str]()
    for number, scenario in enumerate(scenarios):
        found = play(scenario, folder / str(number))
        assert found["broken"] == [], f"{scenario}: {found['broken']}; what it left: {folder / str(number)}"
        states += found["states"]
        ended.update(found["ended"])
        shutil.rmtree(folder / str(number))
    assert states >= STATES_MIN
    assert {"applied", "failed"} <= ended.keys()
    record(name, tried=states, what=what, seconds=time.monotonic() - started, ended=dict(ended))


def killed(kinds: Iterable[str], folder: Path, *, has_flags: bool = True) -> Iterator[Scenario]:
    """Kill the writer after each call of its sending; another process settles, and then the power is lost."""
    for kind in kinds:
        found = play(Scenario(kind, has_flags=has_flags), folder / f"{kind}-whole")
        shutil.rmtree(folder / f"{kind}-whole")
        yield from (Scenario(kind, kill_after=at, has_flags=has_flags) for at in sending(found["entries"]))


@pytest.mark.requirement("crash:power:truth")
def test_a_power_loss_at_any_moment_of_a_write_leaves_the_truth_to_be_found(tmp_path: Path) -> None:
    """A kill leaves what the kernel knows; a power loss only what was synced, and of the rest any part."""
    losses(map(Scenario, ("create", "edit")), tmp_path, "power loss, in every run", "disks that it may leave")


@pytest.mark.proof
@pytest.mark.requirement("crash:power:truth")
def test_a_power_loss_at_any_moment_of_each_kind_leaves_the_truth_to_be_found(tmp_path: Path) -> None:
    """Files and whole folders, the undo of each, and the first write of all, which makes the room that it needs."""
    new = [Scenario(kind, is_first=True) for kind in EVERY_KIND if not kind.startswith("undo")]
    old = [Scenario(kind, has_flags=False) for kind in WITHOUT_FLAGS]
    if share() == FULL:
        every = [*map(Scenario, EVERY_KIND), *new, *old]
    else:
        every = [Scenario(kind, states_max=STATES_MAX) for kind in EVERY_KIND] + [new[0], old[0]]
    losses(every, tmp_path, "power loss during a write", "disks that it may leave")


@pytest.mark.proof
@pytest.mark.requirement("crash:power:killed")
def test_a_power_loss_after_a_kill_and_its_settling_leaves_the_truth_to_be_found(tmp_path: Path) -> None:
    """Who settles moves the proof about; that must not be on the disk before what it proves."""
    every = list(killed(EVERY_KIND if share() == FULL else ("edit",), tmp_path))
    every += killed(WITHOUT_FLAGS if share() == FULL else (), tmp_path, has_flags=False)
    losses(every, tmp_path, "power loss after a kill and its settling", "disks that it may leave")


@pytest.mark.proof
@pytest.mark.requirement("crash:power:bites")
def test_a_writer_that_leaves_out_any_one_sync_is_caught(tmp_path: Path) -> None:
    """A test of power loss that misses a missing sync shows nothing; so each sync is left out once."""
    started, caught, missed = time.monotonic(), 0, list[str]()
    kinds = [kind for kind in EVERY_KIND if kind not in SYNC_TWICE] if share() == FULL else ["edit"]
    for kind in kinds:
        for is_first in (True, False) if kind in ("create", "archive") and share() == FULL else (False,):
            whole = play(Scenario(kind, is_first=is_first), tmp_path / "whole")
            shutil.rmtree(tmp_path / "whole")
            for sync in range(1 if is_first else 1 + ROOM_SYNCS, whole["syncs"] + 1):
                scenario = Scenario(kind, is_first=is_first, forgets=sync)
                found = play(scenario, tmp_path / "without")
                shutil.rmtree(tmp_path / "without")
                caught += bool(found["broken"])
                missed += [] if found["broken"] else [str(scenario)]
    assert missed == []
    record("syncs left out", tried=caught, what="syncs, each caught", seconds=time.monotonic() - started)


@pytest.mark.requirement("crash:power:bites")
@pytest.mark.parametrize(
    ("kind", "sync", "kinds"),
    [
        pytest.param("create", 3, {"partial or foreign content visible"}, id="the file is not synced"),
        pytest.param("create", 5, {"false applied"}, id="the target's folder is not synced"),
        pytest.param("edit", 6, {"bytes lost"}, id="the archive is not synced"),
        pytest.param("archive", 3, {"bytes lost"}, id="the folder for what is archived is not synced"),
        pytest.param("move", 4, {"not as recorded"}, id="the folder that it left is not synced"),
    ],
)
def test_a_writer_that_forgets_one_sync_is_caught_at_once(
    kind: str, sync: int, kinds: set[str], tmp_path: Path
) -> None:
    """The five syncs that hide the worst: half a file, a success that goes away, and bytes that are nowhere."""
    found = play(Scenario(kind, forgets=sync), tmp_path / "place")
    assert {each for each, *_ in found["broken"]} >= kinds, found
