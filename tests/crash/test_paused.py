"""A writer that stops for a while at the worst moment, and is judged dead meanwhile."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.broker.machine import LEASE_MS
from amends.contract.lifecycle import State
from amends.contract.outcome import WriteOutcome
from amends.system import SystemClock
from tests.crash import judge
from tests.crash.place import Place
from tests.crash.points import Pause, Point, telling, watch
from tests.crash.process import Tell, asked, fork
from tests.crash.story import KINDS, Story, outcomes, rival

LANDINGS = {
    "create": "rename_noreplace",
    "create_deep": "rename_noreplace",
    "edit": "rename_exchange",
    "archive": "rename",
}


class LaterClock(SystemClock):
    """This machine's clock, when the lease is over."""

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + LEASE_MS + 1


def pausing(place: Place, story: Story, moment: str) -> Callable[[Tell], Any]:
    """Carry `story` out, and stop right before or right after the one call that lands it."""

    def act(tell: Tell) -> Any:
        amends = Amends.open(place.folder)
        pause, told = Pause(moment, LANDINGS[story.kind]), telling(tell)

        def reach(point: Point) -> None:
            told(point)
            pause(point)

        watch(amends, reach)
        return outcomes(story.ask(amends, place))

    return act


def taking_over(place: Place, *, is_later: bool) -> Callable[[Tell], Any]:
    """Check everything, by a clock on which the lease of the paused writer is over or not."""

    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            if is_later:
                amends.world = replace(amends.world, clock=LaterClock())
            told = [each for report in amends.inbox() for each in outcomes(amends.check(report.transaction))]
            return told, judge.states_in(amends)

    return act


def asking(place: Place, story: Story) -> Callable[[Tell], Any]:
    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return outcomes(story.ask(amends, place))

    return act


def settled(place: Place) -> Any:
    """Give what is recorded when all is over."""

    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return judge.settle_all(amends)

    return asked(act)


@pytest.mark.requirement("crash:pause:fenced")
@pytest.mark.parametrize("kind", sorted(LANDINGS))
def test_a_paused_writer_that_was_taken_over_lands_nothing_when_it_wakes(kind: str, tmp_path: Path) -> None:
    """No lease can stop a process that checked it a moment ago and then slept; the fence must, at the target."""
    place = Place(tmp_path)
    story = KINDS[kind](place, random.Random(kind), "n")
    before = judge.scan(place, {}).visible
    writer = fork(pausing(place, story, "before"))
    writer.wait_until_stopped()

    told, states = asked(taking_over(place, is_later=True))

    (operation,) = states
    assert [each["outcome"] for each in told] == [WriteOutcome.FAILED]
    assert judge.scan(place, states).visible == before
    writer.go_on()
    (late,) = writer.answer()
    place.record.learn(writer.marks)
    assert judge.scan(place, states).visible == before, "it landed after it was reported as failed"
    assert (late["operation"], late["outcome"]) == (operation, WriteOutcome.FAILED), "not what is recorded"
    assert "nothing was changed" in late["text"]
    assert judge.judge(place, settled(place), {operation: late["outcome"]}) == []


@pytest.mark.requirement("crash:pause:landed")
@pytest.mark.parametrize("kind", sorted(LANDINGS))
def test_a_writer_paused_after_it_landed_is_found_to_have_applied(kind: str, tmp_path: Path) -> None:
    """Taking over must not turn an effect into a failure, and the one that wakes up must not claim it twice."""
    place = Place(tmp_path)
    story = KINDS[kind](place, random.Random(kind), "n")
    writer = fork(pausing(place, story, "after"))
    writer.wait_until_stopped()

    told, states = asked(taking_over(place, is_later=True))

    (operation,) = states
    assert [each["outcome"] for each in told] == [WriteOutcome.APPLIED]
    writer.go_on()
    (late,) = writer.answer()
    place.record.learn(writer.marks)
    assert late["outcome"] == WriteOutcome.APPLIED
    assert judge.judge(place, settled(place), {operation: late["outcome"]}) == []
    assert judge.scan(place, states).visible.get(*story.ends) == next(iter(story.ends.values()))


@pytest.mark.requirement("crash:pause:alive")
def test_a_paused_writer_is_left_alone_while_its_lease_runs(tmp_path: Path) -> None:
    """Whoever lives and is in time must get to the end of its write; a hasty check may only look."""
    place = Place(tmp_path)
    story = KINDS["create"](place, random.Random(1), "n")
    writer = fork(pausing(place, story, "before"))
    writer.wait_until_stopped()

    told, _ = asked(taking_over(place, is_later=False))

    assert [each["outcome"] for each in told] == [WriteOutcome.AMBIGUOUS]
    writer.go_on()
    (late,) = writer.answer()
    place.record.learn(writer.marks)
    assert late["outcome"] == WriteOutcome.APPLIED
    assert judge.judge(place, settled(place)) == []


@pytest.mark.requirement("crash:pause:overtaken")
@pytest.mark.parametrize("kind", ["create", "edit"])
def test_a_paused_writer_harms_nothing_that_was_written_meanwhile(kind: str, tmp_path: Path) -> None:
    """Between the takeover and the waking another write may be confirmed and applied; that one must stay."""
    place = Place(tmp_path)
    rng = random.Random(kind)
    story = KINDS[kind](place, rng, "n")
    writer = fork(pausing(place, story, "before"))
    writer.wait_until_stopped()
    other = rival(place, rng, story, "n")
    assert other is not None
    (held,) = asked(asking(place, other))
    assert held["outcome"] == WriteOutcome.FAILED, "two writes held one target"

    asked(taking_over(place, is_later=True))
    *_, applied = asked(asking(place, other))
    writer.go_on()
    late, *_ = writer.answer()

    place.record.learn(writer.marks)
    assert (applied["outcome"], late["outcome"]) == (WriteOutcome.APPLIED, WriteOutcome.FAILED)
    resumed = settled(place)
    assert judge.judge(place, resumed) == []
    (path,) = other.ends
    assert judge.scan(place, resumed["settled"]).visible[path] == other.ends[path]
    states = sorted(write["state"] for write in resumed["settled"].values())
    assert states == [State.APPLIED, State.FAILED, State.FAILED]
