"""The steps that a machine yields: each one thing that must be done in the world, and how to do it.

A machine never touches a port; it yields a step and is fed the answer, or the exception. Whoever drives it may
stop between any two steps, as a crash does. `do` is the only bridge: `answer = yield from do(Read(target))`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from amends.contract.operation import Json, Observation
from amends.contract.proposal import WriteProposal
from amends.ports import Answer, Attempt, Clock, Event, Ids, Journal, OpenSubject, Plan, Prepared, Surface, WriteRequest

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class World:
    """The ports that steps are performed on."""

    journal: Journal
    surfaces: Mapping[str, Surface]
    clock: Clock
    ids: Ids

    def surface_of(self, target: str) -> Surface:
        """Give the surface that `target` is on."""
        return self.surfaces[target.partition(":")[0]]


class Step(Protocol[T_co]):
    """One thing to be done. `is_interruptible` marks the long and harmless ones, which Ctrl-C may break off."""

    @property
    def is_interruptible(self) -> bool:
        """Say whether Ctrl-C may break it off."""

    def perform(self, world: World) -> T_co:
        """Do it and give the answer."""


Steps = Generator[Step[Any], Any, T]
"""A machine: yields steps, is fed answers, returns a T."""


def do(step: Step[T]) -> Steps[T]:
    """Yield `step` and give its answer, typed."""
    answer: T = yield step
    return answer


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading of the clocks."""

    now_ms: int
    monotonic_ms: int
    boot_id: str

    def since(self) -> dict[str, Json]:
        """Give what a later process needs to tell how long ago this was."""
        return {"monotonic_ms": self.monotonic_ms, "boot_id": self.boot_id}


@dataclass(frozen=True, slots=True)
class Now:
    """Read the clocks."""

    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> Moment:
        """Read them."""
        return Moment(world.clock.now_ms(), world.clock.monotonic_ms(), world.clock.boot_id())


@dataclass(frozen=True, slots=True)
class Name:
    """Make an id."""

    prefix: str
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> str:
        """Make it."""
        return world.ids.new(self.prefix)


@dataclass(frozen=True, slots=True)
class Self:
    """Ask which process this is."""

    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> str:
        """Give its id in the journal."""
        return world.journal.process_id


@dataclass(frozen=True, slots=True)
class Recall:
    """Read the events of a subject."""

    subject: str
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> list[Event]:
        """Read them from the journal."""
        return world.journal.events(self.subject)


@dataclass(frozen=True, slots=True)
class Stand:
    """Look up where a subject stands; None for what is over."""

    subject: str
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> OpenSubject | None:
        """Look it up in the open table."""
        return world.journal.row(self.subject)


@dataclass(frozen=True, slots=True)
class Match:
    """List subjects by the beginning of their id."""

    prefix: str
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> list[str]:
        """Ask the journal for two, which is enough to know whether there is one."""
        return world.journal.matching(self.prefix, limit=2)


@dataclass(frozen=True, slots=True)
class ListOpen:
    """List what is not over."""

    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> list[OpenSubject]:
        """Read the open table."""
        return world.journal.open()


@dataclass(frozen=True, slots=True)
class ListTouching:
    """List what is not over and has to do with a write: what does the same, and transactions about its places."""

    fingerprints: frozenset[str]
    places: frozenset[str]
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> list[OpenSubject]:
        """Look them up in the open table."""
        return world.journal.touching(fingerprints=self.fingerprints, places=self.places)


@dataclass(frozen=True, slots=True)
class ListAfter:
    """List subjects by the beginning of their id, oldest first, from the one after `after` on."""

    prefix: str
    after: str
    limit: int
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> list[str]:
        """Ask the journal for one page."""
        return world.journal.listing(self.prefix, after=self.after, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove the events of what is over."""

    subjects: tuple[str, ...]
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> int:
        """Have the journal forget them, all or none."""
        return world.journal.forget(self.subjects) if self.subjects else 0


@dataclass(frozen=True, slots=True)
class SweepBlobs:
    """Remove kept bytes that nothing names any more."""

    before_ms: int
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> int:
        """Have the journal remove them."""
        return world.journal.sweep_blobs(before_ms=self.before_ms)


@dataclass(frozen=True, slots=True)
class IsAlive:
    """Ask whether a process still has the journal open."""

    process_id: str
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> bool:
        """Ask the journal."""
        return world.journal.is_alive(self.process_id)


@dataclass(frozen=True, slots=True)
class Commit:
    """Record events, all or none."""

    events: tuple[Event, ...]
    durable: bool = True
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> None:
        """Commit them to the journal."""
        world.journal.commit(self.events, durable=self.durable)


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Have a surface plan a write that somebody asked for."""

    request: WriteRequest
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> Plan:
        """Plan it."""
        return world.surfaces[self.request.surface].plan(self.request, world.journal)


@dataclass(frozen=True, slots=True)
class Replan:
    """Have a surface plan afresh what an earlier plan wanted."""

    plan: Plan
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> Plan:
        """Plan it."""
        return world.surface_of(self.plan.operation.target).replan(self.plan, world.journal)


@dataclass(frozen=True, slots=True)
class PlanUndo:
    """Have a surface plan the reversal of a write."""

    proposal: WriteProposal
    attempt: Attempt
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> Plan:
        """Plan it."""
        return world.surface_of(self.proposal.target).plan_undo(self.proposal, self.attempt, world.journal)


@dataclass(frozen=True, slots=True)
class Read:
    """Read a target afresh."""

    target: str
    is_interruptible: bool = True
    """False between a send and its record: breaking off there would leave the answer untold."""

    def perform(self, world: World) -> Observation:
        """Read it."""
        return world.surface_of(self.target).read(self.target)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Do all that can be done before the intent."""

    attempt: Attempt
    is_interruptible: ClassVar[bool] = True

    def perform(self, world: World) -> Prepared:
        """Prepare it on the surface."""
        return world.surface_of(self.attempt.operation.target).prepare(self.attempt, world.journal)


@dataclass(frozen=True, slots=True)
class Send:
    """Send an attempt, once."""

    attempt: Attempt
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> Answer:
        """Send it."""
        return world.surface_of(self.attempt.operation.target).send(self.attempt)


@dataclass(frozen=True, slots=True)
class SetFence:
    """Make a late landing of an attempt impossible, and ask whether it landed."""

    attempt: Attempt
    is_sender_gone: bool
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> Answer:
        """Fence it on the surface."""
        return world.surface_of(self.attempt.operation.target).fence(self.attempt, is_sender_gone=self.is_sender_gone)


@dataclass(frozen=True, slots=True)
class Tidy:
    """Drop what only the proof of an attempt needed."""

    attempt: Attempt
    is_interruptible: ClassVar[bool] = False

    def perform(self, world: World) -> None:
        """Tidy up on the surface."""
        world.surface_of(self.attempt.operation.target).tidy(self.attempt)
