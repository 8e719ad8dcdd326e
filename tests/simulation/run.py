"""Runs a seed, and many: `python -m tests.simulation.run --seeds 2000 [--first 0] [--processes 2]`.

A run is its seed and the code. Phase one has faults, and whatever is told in it must be true; phase two has none, and
everything must end. A seed that fails is printed with the one command that repeats it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from amends.contract import Fence, Happened, Level, State
from amends.contract.lifecycle import HOLDING
from tests.simulation.case import Case
from tests.simulation.checkers import violations
from tests.simulation.nemesis import Nemesis
from tests.simulation.surface import GUARANTEES, KINDS, VECTORS
from tests.simulation.workload import Workload
from tests.simulation.world import EndlessError, SimulatedWorld, Task

TICKS_MAX = 3_000
PROCESSES = 2
"""The machines that check every change have two cores."""
SEEDS_AT_ONCE = 50
"""How many seeds a process is handed at a time."""
KEPT = Path(__file__).parent / "seeds.txt"
AMBIGUOUS_SHARE_MAX = 0.05
"""Where the target compares in the same step as it writes, doubt that stays open has no excuse; and where its receipts
come in that step too, any doubt."""
APPLIED_SHARE_MIN = 0.3
"""A broker that refuses everything would pass the rest."""
RUNS_TO_WEIGH = 100
"""Of fewer runs a share says nothing."""
NAMED_SHARE = 0.6
"""How many of the seeds are on a kind of surface with a name; the others have any vector that can be declared."""
EVERY_ON_DISK = 20
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


WHOLE = Less()


@dataclass(slots=True)
class Play:
    """A seed with everything that takes part in it."""

    seed: int
    less: Less = WHOLE
    is_on_disk: bool | None = None
    """Whether the journal is the real one; None leaves that to the seed."""
    world: SimulatedWorld = field(init=False)
    nemesis: Nemesis = field(init=False)
    workload: Workload = field(init=False)
    rng: Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.seed}:schedule")
        kind = self.rng.choice(tuple(KINDS if self.rng.random() < NAMED_SHARE else VECTORS))
        is_on_disk = self.seed % EVERY_ON_DISK == 0 if self.is_on_disk is None else self.is_on_disk
        self.world = SimulatedWorld(kind, is_on_disk=is_on_disk)
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


def simulate(seed: int, less: Less = WHOLE, *, is_on_disk: bool | None = None) -> Outcome:
    """Run one seed to the end of time, and judge it."""
    play = Play(seed, less, is_on_disk)
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
    at_work: list[Task] = []
    started = 0
    current: Task | None = None
    while world.tick < TICKS_MAX:
        nemesis.between_steps()
        alive = [process for process in world.processes if process.is_alive]
        if not alive or (len(alive) < 2 and rng.random() < 0.05):
            alive.append(world.process())
        at_work += world.tasks[started:]
        started = len(world.tasks)
        for task in [task for task in at_work if not task.is_running]:
            at_work.remove(task)
            if task.ended is not None and task.process.is_alive:
                workload.hear(task)
        at_work += world.tasks[started:]
        started = len(world.tasks)
        running = [task for task in at_work if task.is_running]
        if workload.calls_left and len(running) < TASKS_MAX and (not running or rng.random() < 0.06):
            newest = workload.start_one(rng.choice(alive))
            running += [newest] if newest is not None else []
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


NO_FENCE = "without a fence"
"""Where nothing rules out a late landing, what was not answered stays in doubt for ever."""
ROWS = (*map(str, Level), NO_FENCE)


@dataclass(slots=True)
class Tally:
    """What many runs come to."""

    runs: int = 0
    states: dict[str, Counter[State]] = field(default_factory=lambda: {row: Counter() for row in ROWS})
    """How the writes that had an intent ended, by what the surface promises."""
    doubtful_at_first: Counter[str] = field(default_factory=Counter)
    ends: Counter[State] = field(default_factory=Counter)
    recoveries: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        guarantee = GUARANTEES[outcome.kind]
        level = str(guarantee.level) if guarantee.fence is not Fence.NONE else NO_FENCE
        self.runs += 1
        self.states[level] += outcome.states
        self.doubtful_at_first[level] += outcome.doubtful_at_first
        self.ends += outcome.ends
        self.recoveries += outcome.recoveries

    def open_share(self, level: str) -> float:
        """Give the share of writes that are ambiguous and open when all is settled that can be."""
        return self._share(level, self.states[level][State.AMBIGUOUS])

    def doubt_share(self, level: str) -> float:
        """Give the share of writes that are ambiguous, open or closed."""
        return self._share(level, self.states[level][State.AMBIGUOUS] + self.states[level][State.CLOSED])

    @property
    def is_decisive(self) -> bool:
        """Say whether doubt is rare where it has no excuse, and success is not. Needs enough runs to mean something."""
        atomic = self.states[Level.ATOMIC]
        return (
            all(self.open_share(level) < AMBIGUOUS_SHARE_MAX for level in (Level.ATOMIC, Level.CONDITIONAL))
            and self.doubt_share(Level.ATOMIC) < AMBIGUOUS_SHARE_MAX
            and self._share(Level.ATOMIC, atomic[State.APPLIED]) > APPLIED_SHARE_MIN
            and self.recoveries > 0
        )

    def lines(self) -> Iterator[str]:
        """Say it."""
        for level, counted in self.states.items():
            yield f"{level:16} " + ", ".join(f"{state} {count}" for state, count in counted.most_common())
            at_first = self._share(level, self.doubtful_at_first[level])
            yield (
                f"{'':16} ambiguous and open {self.open_share(level):.1%} (when the faults ended: {at_first:.1%}),"
                f" with closed {self.doubt_share(level):.1%}"
            )
        yield "transactions " + ", ".join(f"{state} {count}" for state, count in self.ends.most_common())
        yield f"{self.recoveries} recoveries reached the target"

    def _share(self, level: str, count: int) -> float:
        return count / max(1, self.states[level].total())


def simulate_many(seeds: Iterable[int], *, processes: int = 1) -> Iterator[Outcome]:
    """Run `seeds`, in as many processes as are given."""
    if processes == 1:
        yield from map(simulate, seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(simulate, seeds, chunksize=SEEDS_AT_ONCE)


def kept_seeds() -> list[int]:
    """Give the seeds that have failed once, which are run first and for ever."""
    lines = [line.partition("#")[0].strip() for line in KEPT.read_text(encoding="utf-8").splitlines()]
    return [int(line) for line in lines if line]


def again(seed: int) -> str:
    """Give the command that repeats a seed."""
    return f"python -m tests.simulation.run --first {seed} --seeds 1"


def commit() -> str:
    """Name the commit that is checked out, and whether anything was changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "no commit"


def main(arguments: list[str] | None = None) -> int:
    """Run, print what was found, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    started, at = time.monotonic(), commit()
    tally, bad = Tally(), 0
    seeds = range(options.first, options.first + options.seeds)
    for outcome in simulate_many(seeds, processes=options.processes):
        tally.add(outcome)
        if outcome.wrong:
            bad += 1
            print(f"seed {outcome.seed} ({outcome.kind}) at {at}: {again(outcome.seed)}")
            print("".join(f"    {line}\n" for line in outcome.wrong), end="")
            print(f"    as a short story: python -m tests.simulation.shrink {outcome.seed}", flush=True)
    print("\n".join(tally.lines()))
    took = time.monotonic() - started
    print(f"{options.seeds} seeds, {bad} bad, in {took:.0f} s at {at}, from {options.first}")
    if tally.runs >= RUNS_TO_WEIGH and not tally.is_decisive:
        print(f"Too much is left in doubt, or too little applies: at most {AMBIGUOUS_SHARE_MAX:.0%} may be ambiguous.")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
