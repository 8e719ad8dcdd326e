"""What goes wrong: lost answers, late landings, crashes, pauses, power cuts, journal faults and foreign writers.

Each seed enables some of these and sets how often they strike (swarm testing), so that some runs are quiet but for one
fault that then has room to do its worst. Strikes are numbered, and each one draws what it does from a stream of its
own, so that a shorter story can leave some of them out and keep the others.
"""

from __future__ import annotations

from random import Random

from amends.broker import check
from amends.broker.step import ListOpen, Prepare, Recall, Send
from amends.contract import Compare, Receipt, State, Version
from amends.errors import OwnershipError, TargetError
from amends.ports import Attempt
from tests.simulation.history import SENDING
from tests.simulation.surface import GUARANTEES, Fate, FenceFate
from tests.simulation.world import LEASE_AND_MORE_MS, SimulatedWorld, Task, is_commit, journal_fault

TARGETS = ("sim:a", "sim:b", "sim:c", "sim:a/b", "sim:a-b")
FAULTS = (
    "answers",
    "clock",
    "crash",
    "ctrl_c",
    "fences",
    "foreign",
    "journal",
    "pause",
    "power",
    "reading",
    "replica",
    "surface",
    "unreadable",
)
PROCESSES_MAX = 8


class Nemesis:
    """Strikes between steps and within them."""

    def __init__(self, world: SimulatedWorld, seed: int, *, left_out: frozenset[int] = frozenset()) -> None:
        """Choose the faults of this seed, and tell the surface. `left_out` are numbers of strikes."""
        self.world = world
        self.seed = seed
        self.left_out = left_out
        self.strikes_made = 0
        self._when = Random(f"{seed}:nemesis")
        self.rng = self._when
        """The stream of the latest strike."""
        self.odds = {fault: self._when.choice((0.0, 0.0, 0.5, 1.0, 2.0, 4.0)) for fault in FAULTS}
        world.surface.fate = self._fate
        world.surface.fence_fate = self._fence_fate
        world.surface.is_unreadable = lambda target: self.strikes("unreadable", 0.04)
        world.surface.is_stale = lambda target: self.strikes("replica", 0.04)

    def strikes(self, fault: str, chance: float) -> bool:
        """Say whether `fault` strikes now."""
        if self._when.random() >= chance * self.odds[fault]:
            return False
        number, self.strikes_made = self.strikes_made, self.strikes_made + 1
        if number in self.left_out:
            return False
        self.rng = Random(f"{self.seed}:strike:{number}")
        self.world.note(fault)
        return True

    def rest(self) -> None:
        """Do nothing any more."""
        self.odds = dict.fromkeys(FAULTS, 0.0)

    def between_steps(self) -> None:
        """Change what is around the machines."""
        world = self.world
        if self.strikes("foreign", 0.06):
            self._write_as_somebody_else()
        if (flying := world.surface.flying()) and self._when.random() < 0.1:
            world.tick += 1
            world.surface.tick = world.tick
            world.surface.land(self._when.choice(flying))
        if self.strikes("clock", 0.02):
            world.clock.advance(self.rng.choice((1_000, 31_000, LEASE_AND_MORE_MS)))
        if self.strikes("clock", 0.01):
            world.clock.set_wall(world.clock.now_ms() + self.rng.choice((-10_000_000, 10_000_000)))
        if self.strikes("power", 0.003):
            world.lose_power()
        elif self.strikes("crash", 0.02) and len(world.processes) < PROCESSES_MAX:
            alive = [process for process in world.processes if process.is_alive]
            if alive:
                world.kill(self.rng.choice(alive))

    def instead_of(self, task: Task) -> BaseException | None:
        """Interfere with the next step of `task`: give what it raises in place of doing it, or None."""
        step = task.step
        if step is None:
            return None
        if self.strikes("pause", 0.02):
            task.paused_until = self.world.tick + self.rng.randrange(5, 60)
        if self._is_about_to_send(task) and self.strikes("pause", 0.05):
            self._take_from(task)
            return None
        if is_commit(task) and self.strikes("journal", 0.03):
            self.world.keeping.fail_next(task.process.journal, self.rng.choice(("before", "after", "lingering")))
        if isinstance(step, Recall | ListOpen) and self.strikes("reading", 0.01):
            return journal_fault()
        if isinstance(step, Prepare) and self.strikes("surface", 0.05):
            return self.rng.choice((OwnershipError(), TargetError("it is gone")))
        if step.is_interruptible and self.strikes("ctrl_c", 0.01):
            return KeyboardInterrupt()
        return None

    def _is_about_to_send(self, task: Task) -> bool:
        step = task.step
        if isinstance(step, Recall) and task.record.name in SENDING:
            return self.world.standing(step.subject) is State.EXECUTING
        return isinstance(step, Send)

    def _take_from(self, task: Task) -> None:
        """Hold the sender up until it may be taken over, and have another process check what is open."""
        world = self.world
        task.paused_until = world.tick + self.rng.randrange(30, 90)
        world.clock.advance(LEASE_AND_MORE_MS)
        others = [process for process in world.processes if process.is_alive and process is not task.process]
        if not others and len(world.processes) >= PROCESSES_MAX:
            return
        process = self.rng.choice(others) if others else world.process()
        for row in process.journal.open():
            if row.state is State.EXECUTING and row.transaction is not None:
                world.start(process, "check", check(row.transaction))

    def _write_as_somebody_else(self) -> None:
        surface, effects = self.world.surface, self.world.history.effects
        if effects and self.rng.random() < 0.5:
            effect = self.rng.choice(effects)  # put back what one of us wrote, or displaced
            fields = self.rng.choice((effect.before, effect.after))
            surface.put(effect.attempt.operation.target, dict(fields) if fields else None)
            return
        text = self.rng.choice(("one", "theirs", f"theirs {self.world.tick}"))
        there = {"text": text, "note": f"note of {text}"}
        surface.put(self.rng.choice(TARGETS), there if self.rng.random() < 0.8 else None)

    def _fate(self, attempt: Attempt) -> Fate:
        if not self.strikes("answers", 0.35):
            return Fate.ANSWERED
        fates = [Fate.UNSENT, Fate.REFUSED, Fate.NEVER_LANDS, Fate.ANSWER_LOST, Fate.FLIES, Fate.FLIES]
        guarantee = GUARANTEES[self.world.kind]
        is_atomic = guarantee.compare is Compare.ATOMIC
        if not is_atomic:
            fates.append(Fate.RACED)
        if guarantee.receipt is Receipt.NONE:
            fates.append(Fate.HALF)
        never_repeats = guarantee.version is Version.NEVER_REPEATS and attempt.before.version is not None
        if guarantee.receipt is Receipt.SAME_STEP or (is_atomic and never_repeats):
            fates.append(Fate.TWICE)  # elsewhere nothing can keep a copy of a request from doing it twice
        return self.rng.choice(fates)

    def _fence_fate(self, attempt: Attempt) -> FenceFate:
        del attempt
        if not self.strikes("fences", 0.15):
            return FenceFate.ANSWERED
        return self.rng.choice((FenceFate.NEVER_SET, FenceFate.ANSWER_LOST))
