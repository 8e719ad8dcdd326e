"""Killed at every single point of a write, and of its resume, on real files with a real journal."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.contract.lifecycle import State
from tests.crash import judge
from tests.crash.place import Place, digest_of
from tests.crash.points import Fuse, Point, Reach, telling, watch
from tests.crash.process import Child, Tell, asked, die, fork
from tests.crash.story import KINDS, Story

FOUR = ("create", "edit", "archive", "undo")
SIX = (*FOUR, "create_deep", "upload")
TWICE = SIX if os.environ.get("AMENDS_PROOF") == "full" else ("create", "edit")
STORIES_PER_PLACE = 8
POINTS_MAX = 300
"""Far above what a write has; a walk that gets there would never end."""


def both(*reaches: Reach) -> Reach:
    def reach(point: Point) -> None:
        for each in reaches:
            each(point)

    return reach


def write(place: Place, story: Story, fuse: Fuse) -> Callable[[Tell], Any]:
    """Carry `story` out with a fuse that may blow on the way; the answer is how many points there were."""

    def act(tell: Tell) -> Any:
        amends = Amends.open(place.folder)
        watch(amends, both(telling(tell), fuse))
        story.ask(amends, place)
        return fuse.met

    return act


def resume(place: Place, fuse: Fuse) -> Callable[[Tell], Any]:
    """Settle what is unsettled, with a fuse that may blow on the way."""

    def act(tell: Tell) -> Any:
        amends = Amends.open(place.folder)
        watch(amends, both(telling(tell), fuse))
        for report in amends.inbox():
            amends.check(report.transaction)
        return fuse.met

    return act


def settle(place: Place) -> Callable[[Tell], Any]:
    """Settle in peace."""

    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return judge.settle_all(amends)

    return act


def repeat(place: Place, story: Story) -> Callable[[Tell], Any]:
    """Ask for the same again, in peace, and look at everything once more."""

    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return story.repeat(amends, place), judge.settle_all(amends)

    return act


class Walk:
    """All the points of one kind of story, one after the other; some share a place, and all in it is judged again."""

    def __init__(self, folder: Path, kind: str, *, is_fine: bool) -> None:
        self.folder = folder
        self.kind = kind
        self.is_fine = is_fine
        self.deaths = 0
        self.outcomes: set[str] = set()
        self._starts = 0
        self._place: Place | None = None

    def start(self) -> tuple[Place, Story]:
        """Give a place whose journal and room are there, so that a point is the same moment each time, and a story."""
        if self._place is None or self._starts % STORIES_PER_PLACE == 0:
            if self._place is not None:
                shutil.rmtree(self._place.folder)
            self._place = Place(self.folder / f"{self.kind}-{self._starts}")
            first = KINDS["create"](self._place, random.Random(0), "first")
            asked(write(self._place, first, Fuse(None, is_fine=False)))
        self._starts += 1
        name = f"n{self._starts}"
        return self._place, KINDS[self.kind](self._place, random.Random(name), name)

    def killed_at(self, at: int, place: Place, story: Story) -> bool:
        """Kill the writer at point `at`; False if it had no such point."""
        writer = fork(write(place, story, Fuse(at, self.is_fine)))
        return self.ended(place, writer)

    def resume_killed_at(self, at: int, place: Place) -> bool:
        """Kill whoever resumes at point `at`; False if it had no such point."""
        return self.ended(place, fork(resume(place, Fuse(at, self.is_fine))))

    def judge(self, place: Place, story: Story, how: str) -> None:
        """Resume in peace, judge, ask for the same again, and judge that."""
        resumed = asked(settle(place))
        violations = judge.judge(place, resumed)
        told, again = asked(repeat(place, story))
        violations += judge.judge(place, again)
        assert violations == [], f"{self.kind} {how}: {violations}; what it left: {place.folder}"
        for path, digest in story.ends.items():
            file = place.root / path
            found = digest_of(file.read_bytes()) if file.exists() else None
            assert found == digest, f"{self.kind} {how}: after the repeat {path} is wrong; told {told}; {place.folder}"
        closed = [write for write in again["settled"].values() if write["state"] == State.CLOSED]
        assert closed == [], f"{self.kind} {how}: undecided though nobody interfered: {closed}"
        self.outcomes |= {write["state"] for write in resumed["settled"].values() if write["path"] in story.ends}

    def ended(self, place: Place, child: Child) -> bool:
        """Wait for its end; say whether it was killed, which it may have been, or else did all that it should."""
        child.reap()
        place.record.learn(child.marks)
        if child.was_killed:
            self.deaths += 1
            return True
        child.answer()
        return False


def walk_once(folder: Path, kind: str, *, is_fine: bool) -> Walk:
    """Kill a writer before each of its points until none is left; judge each time."""
    walk = Walk(folder, kind, is_fine=is_fine)
    for at in range(1, POINTS_MAX):
        place, story = walk.start()
        was_killed = walk.killed_at(at, place, story)
        walk.judge(place, story, f"killed at point {at}")
        if not was_killed:
            return walk
    raise AssertionError(f"{kind} has no end")


def walk_twice(folder: Path, kind: str, *, is_fine: bool) -> Walk:
    """For each point of the writer, kill the resume before each of its points too."""
    walk = Walk(folder, kind, is_fine=is_fine)
    for at in range(1, POINTS_MAX):
        for again in range(1, POINTS_MAX):
            place, story = walk.start()
            if not walk.killed_at(at, place, story):
                return walk
            was_killed = walk.resume_killed_at(again, place)
            walk.judge(place, story, f"killed at point {at}, its resume at point {again}")
            if not was_killed:
                break
    raise AssertionError(f"{kind} has no end")


@pytest.mark.requirement("crash:step:once")
@pytest.mark.parametrize("kind", FOUR)
def test_a_crash_at_any_step_of_a_write_leaves_the_truth_to_be_found(kind: str, tmp_path: Path) -> None:
    """The gaps between two steps are where other tools lose an answer or repeat a write; so each gap is tried."""
    walk = walk_once(tmp_path, kind, is_fine=False)
    print(f"{kind}: killed at each of {walk.deaths} steps; ended {sorted(walk.outcomes)}")
    assert walk.deaths > 10
    assert {State.APPLIED, State.FAILED} <= walk.outcomes


@pytest.mark.proof
@pytest.mark.requirement("crash:step:call")
@pytest.mark.parametrize("kind", SIX)
def test_a_crash_at_any_system_call_of_a_write_leaves_the_truth_to_be_found(kind: str, tmp_path: Path) -> None:
    """A step on files is many calls: between two of them a name exists, moved or is half undone."""
    walk = walk_once(tmp_path, kind, is_fine=True)
    print(f"{kind}: killed at each of {walk.deaths} steps and calls; ended {sorted(walk.outcomes)}")
    assert walk.deaths > 30


@pytest.mark.proof
@pytest.mark.requirement("crash:step:twice")
@pytest.mark.parametrize("kind", TWICE)
def test_a_second_crash_at_any_step_of_the_resume_changes_nothing(kind: str, tmp_path: Path) -> None:
    """Resuming is a write to the journal too, and machines that crash once tend to crash again at once."""
    walk = walk_twice(tmp_path, kind, is_fine=False)
    print(f"{kind}: {walk.deaths} crashes, the second at each step of the resume; ended {sorted(walk.outcomes)}")
    assert walk.deaths > 100


@pytest.mark.requirement("crash:step:twice")
def test_a_create_that_crashes_once_sent_survives_a_crash_of_its_resume(tmp_path: Path) -> None:
    """The worst moment is between the landing and its record: there each step of the resume is tried every time."""
    walk = Walk(tmp_path, "create", is_fine=False)
    for at in range(1, POINTS_MAX):
        place, story = walk.start()
        assert walk.ended(place, fork(write_until_sent(place, story)))
        was_killed = walk.resume_killed_at(at, place)
        walk.judge(place, story, f"killed after it was sent, its resume at point {at}")
        if not was_killed:
            break
    assert walk.outcomes == {State.APPLIED}


def write_until_sent(place: Place, story: Story) -> Callable[[Tell], Any]:
    """Carry `story` out and die right after the step that sends it."""

    def act(tell: Tell) -> Any:
        amends = Amends.open(place.folder)

        def reach(point: Point) -> None:
            if (point.moment, point.what) == ("after", "Send"):
                die()

        watch(amends, both(telling(tell), reach))
        story.ask(amends, place)

    return act
