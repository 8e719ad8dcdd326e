"""What happened in a run, in order: at the target, in the journal, and in what was told. Only written, never judged.

Every entry has the tick (the number of the step) at which it happened. What is counted as an effect is what the target
did, never what the journal says of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from amends.broker import Life, Report
from amends.contract import Observation, State, WriteOutcome
from amends.contract.operation import Json
from amends.ports import Attempt, Event, Plan

Fields = Mapping[str, Json]

SENDING = frozenset({"propose", "propose again", "confirm", "undo", "followup"})
"""The calls that may send: all others read, fence and record."""


@dataclass(slots=True, eq=False)
class Request:
    """One request that reached the wire, and what became of it. `before` and `after` are the target's content."""

    tick: int
    task: int
    attempt: Attempt
    sent_boot: str
    sent_ms: int
    """When it was sent, by the clock that only runs forward."""
    landed_at: int | None = None
    before: Fields | None = None
    after: Fields | None = None
    is_whole: bool = True
    version: int | None = None
    answered_at: int | None = None
    """When it became certain, to whoever sent it, that it is over."""
    is_flying: bool = False
    """It can still land."""
    overwrote_foreign: bool = False

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return self.attempt.key

    @property
    def operation_id(self) -> str:
        """The write that it belongs to."""
        return self.attempt.operation_id


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fence that took effect at the target."""

    tick: int
    task: int
    key: str
    operation_id: str


@dataclass(frozen=True, slots=True)
class ReadAt:
    """A read of a target."""

    tick: int
    task: int
    target: str
    seen: Observation


@dataclass(frozen=True, slots=True)
class Planned:
    """What a surface planned for a request."""

    tick: int
    task: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event that the journal took, and the task whose step it was in."""

    tick: int
    task: int
    event: Event
    is_durable: bool
    boot_id: str
    monotonic_ms: int


@dataclass(frozen=True, slots=True)
class Told:
    """What somebody was told of one write. `recorded` is the state in the journal at that moment."""

    tick: int
    task: int
    life: Life
    outcome: WriteOutcome | None
    text: str
    recorded: State
    is_joined: bool


@dataclass(frozen=True, slots=True)
class ReportTold:
    """What somebody was told of a transaction. `recorded` is its state in the journal at that moment."""

    tick: int
    task: int
    report: Report
    recorded: State | None


@dataclass(frozen=True, slots=True)
class Refused:
    """An exception that somebody was shown in place of an outcome."""

    tick: int
    task: int
    error: BaseException


@dataclass(slots=True)
class TaskRecord:
    """A machine that was started: what for, by which process, when its steps were and when it stopped."""

    number: int
    name: str
    process_id: str
    started_at: int
    stopped_at: int | None = None
    previous_at: int = 0
    """When the step before the present one was."""


@dataclass(slots=True)
class History:
    """All of it."""

    tasks: list[TaskRecord] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    copies: list[Request] = field(default_factory=list)
    """Requests that were doubled on the way; ours is in `requests`."""
    deaths: dict[str, int] = field(default_factory=dict)
    """When each process ended that did not live to the end."""
    fences: list[Fenced] = field(default_factory=list)
    reads: list[ReadAt] = field(default_factory=list)
    planned: list[Planned] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    reports: list[ReportTold] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    sends: list[tuple[int, int, int]] = field(default_factory=list)
    """(tick, task, tick of the task's step before) of every send, also of those that left nothing on the wire."""
    faults: list[tuple[int, str]] = field(default_factory=list)

    @property
    def effects(self) -> list[Request]:
        """The requests that landed, in the order of landing."""
        landed = (r for r in (*self.requests, *self.copies) if r.landed_at is not None)
        return sorted(landed, key=lambda r: r.landed_at or 0)

    def of(self, operation_id: str) -> list[Event]:
        """Give the recorded events of one write."""
        return [item.event for item in self.recorded if item.event.subject == operation_id]
