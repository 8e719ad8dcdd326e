"""Runs a seed, and many: `python -m tests.simulation.run --seeds 2000 [--first 0]`.

A run is its seed and the code. Phase one has faults, and whatever is told in it must be true; phase two has none, and
everything must end. A seed that fails is printed with the one command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from amends.contract import Happened, State
from amends.contract.lifecycle import HOLDING
from tests.simulation.case import Case
from tests.simulation.checkers import violations
from tests.simulation.nemesis import Nemesis
from tests.simulation.surface import GUARANTEES, KINDS, VECTORS
from tests.simulation.workload import Workload
from tests.simulation.world import EndlessError, SimulatedWorld, Task

TICKS_MAX = 3_000
NAMED_SHARE = 0.6
"""How many of the seeds are on a kind of surface with a name; the others have any vector that can be declared."""
EVERY_ON_DISK = 10
"""Which seeds run on the real journal."""
TASKS_MAX = 3
"""Calls at work at once; more of them only make a run longer."""


@dataclass(slots=True)
class Outcome:
    """What a seed came to."""

    seed: int
    kind: str
    wrong: list[str]
    states: Counter[State] = field(default_factory=Counter)
    """How the writes that had an intent ended."""
    told: Counter[str] = field(default_factory=Counter)
    ends: Counter[State] = field(default_factory=Counter)
    """How the transactions ended."""
    doubtful_at_first: int = 0
    """How many writes were ambiguous and open when the faults ended."""
    recoveries: int = 0
    """How many recoveries reached the target."""


@dataclass(frozen=True, slots=True)
class Less:
    """What of a seed is left out to make it a shorter story: numbers of calls and of strikes."""

    calls: frozenset[int] = frozenset()
    strikes: frozenset[int] = frozenset()


@dataclass(slots=True)
class Play:
    """A seed with everything that takes part in it."""

    seed: int
    less: Less = Less()
    world: SimulatedWorld = field(init=False)
    nemesis: Nemesis = field(init=False)
    workload: Workload = field(init=False)
    rng: Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.seed}:schedule")
        kind = self.rng.choice(tuple(KINDS if self.rng.random() < NAMED_SHARE else VECTORS))
        self.world = SimulatedWorld(kind, is_on_disk=self.seed % EVERY_ON_DISK == 0)
        self.nemesis = Nemesis(self.world, self.seed, left_out=self.less.strikes)
        self.workload = Workload(self.world, self.seed, left_out=self.less.calls)

    def to_the_end(self) -> Outcome:
        """Play it: with faults, without faults, until nothing can land any more. Then judge it."""
        world = self.world
        world.process()
        try:
            _phase_one(world, self.nemesis, self.workload, self.rng)
            self.nemesis.rest()
            for task in world.tasks:
                world.finish(task)
        except EndlessError:
            return Outcome(self.seed, world.kind, ["a run that never ends"])
        for request in world.surface.flying():
            if self.rng.random() < 0.5:
                world.surface.land(request)
        return conclude(world, self.seed)


def simulate(seed: int, less: Less = Less()) -> Outcome:  # noqa: B008 - frozen
    """Run one seed to the end of time, and judge it."""
    play = Play(seed, less)
    try:
        return play.to_the_end()
    finally:
        play.world.forget()


def conclude(world: SimulatedWorld, seed: int = -1) -> Outcome:
    """Settle everything, let time run out, and judge."""
    world.crash_points.clear()
    open_at_first = _doubtful(world)
    try:
        world.go_on()
    except EndlessError:
        return Outcome(seed, world.kind, ["a run that never ends"])
    world.run_out_of_time()
    journal = world.processes[-1].journal
    case = Case(world.kind, world.history, tuple(journal.open()), journal.verify())
    outcome = Outcome(seed, world.kind, violations(case))
    outcome.states.update(case.lives[name].state for name in case.intents)
    outcome.told.update(str(told.outcome) for told in world.history.told)
    outcome.ends.update(case.ends.values())
    outcome.recoveries = len(case.recoveries)
    outcome.doubtful_at_first = open_at_first
    return outcome


def _doubtful(world: SimulatedWorld) -> int:
    """Count the writes that may have landed, and nobody knows, before anybody settles them in peace."""
    sent = {item.event.subject for item in world.history.recorded if item.event.happened is Happened.INTENDED}
    return sum(world.standing(name) in HOLDING for name in sent)


def _phase_one(world: SimulatedWorld, nemesis: Nemesis, workload: Workload, rng: Random) -> None:
    stickiness = rng.choice((0.3, 0.7, 0.95))
    heard: set[int] = set()
    current: Task | None = None
    while world.tick < TICKS_MAX:
        nemesis.between_steps()
        alive = [process for process in world.processes if process.is_alive]
        if not alive or (len(alive) < 2 and rng.random() < 0.05):
            alive.append(world.process())
        for task in world.tasks:
            if task.ended is not None and task.record.number not in heard and task.process.is_alive:
                heard.add(task.record.number)
                workload.hear(task)
        running = [task for task in world.tasks if task.is_running]
        if workload.calls_left and len(running) < TASKS_MAX and (not running or rng.random() < 0.06):
            started = workload.start_one(rng.choice(alive))
            running += [started] if started is not None else []
        if not running:
            if not workload.calls_left:
                return
            continue
        awake = [task for task in running if task.paused_until <= world.tick]
        if not awake:
            world.tick += 1
            continue
        if current not in awake or rng.random() > stickiness:
            current = rng.choice(awake)
        assert current is not None
        instead = nemesis.instead_of(current)
        if current.paused_until <= world.tick:
            world.advance(current, instead=instead)
    raise EndlessError


def simulate_many(first: int, count: int) -> Iterator[Outcome]:
    """Run `count` seeds from `first`."""
    for seed in range(first, first + count):
        yield simulate(seed)


def again(seed: int) -> str:
    """Give the command that repeats a seed."""
    return f"python -m tests.simulation.run --first {seed} --seeds 1"


def main(arguments: list[str] | None = None) -> int:
    """Run, print what was found, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    started = time.process_time()
    bad = recoveries = 0
    ends: Counter[State] = Counter()
    states: dict[str, Counter[State]] = {kind: Counter() for kind in GUARANTEES}
    for outcome in simulate_many(options.first, options.seeds):
        states[outcome.kind] += outcome.states
        ends += outcome.ends
        recoveries += outcome.recoveries
        if outcome.wrong:
            bad += 1
            print(f"seed {outcome.seed} ({outcome.kind}): {again(outcome.seed)}")
            print("".join(f"    {line}\n" for line in outcome.wrong), end="")
    took = time.process_time() - started
    for kind, counted in states.items():
        print(f"{kind:8} " + ", ".join(f"{state} {count}" for state, count in counted.most_common()))
    print("transactions " + ", ".join(f"{state} {count}" for state, count in ends.most_common()))
    print(f"{recoveries} recoveries reached the target")
    print(f"{options.seeds} seeds, {bad} bad, {options.seeds / took:.0f} a second of this process")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
