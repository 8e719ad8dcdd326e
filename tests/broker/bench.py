"""What the broker's tests are told on: a journal of either kind, a fake target, and a driver of either kind.

The combination is not supposed to change any answer, so a test doesn't know which one it has. `until` leaves a machine
standing before a step, as a slow process would; `kill` ends a process as SIGKILL would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from amends.broker import Ask, Report, Step, Steps, World, check, confirm, drive, drive_async, propose, undo
from amends.contract import Evidence, OperationKind, WriteOutcome, render_outcome
from amends.contract.operation import Json
from amends.ports import Answer, Attempt, Journal, WriteRequest
from amends.testing import FakeIds
from amends.testing.journal_bench import JournalBench
from tests.simulation.history import History
from tests.simulation.surface import FakeSurface, Fate, FenceFate

T = TypeVar("T")

EDIT, CREATE, ARCHIVE = OperationKind.EDIT, OperationKind.CREATE, OperationKind.ARCHIVE
ASK = Ask("agent")
AUTO = Ask("agent", confirmed_by="operator")
OLD: dict[str, Json] = {"text": "old", "note": "kept"}
THEIRS: dict[str, Json] = {"text": "theirs", "note": "kept"}


def request(kind: OperationKind, key: str, text: str = "new") -> WriteRequest:
    """Ask for `text` at `key`."""
    return WriteRequest(kind, "sim", key, fields={} if kind is ARCHIVE else {"text": text})


@dataclass
class Halfway:
    """A machine that stands before `step`, in one process."""

    world: World
    machine: Steps[Any]
    step: Step[Any]

    def advance(self) -> None:
        """Do one step, and stand before the next."""
        try:
            answer = self.step.perform(self.world)
        except Exception as error:
            self.step = self.machine.throw(error)
        else:
            self.step = self.machine.send(answer)

    def finish(self) -> Any:
        """Do the rest."""
        while True:
            try:
                self.advance()
            except StopIteration as ended:
                return ended.value


@dataclass
class Bench:
    """One world to tell a story in. `sim:a` holds `OLD` at the start."""

    journals: JournalBench
    is_async: bool
    kind: str = "ledger"
    ids: FakeIds = field(default_factory=lambda: FakeIds(1000))

    def __post_init__(self) -> None:
        self.surface = FakeSurface(self.kind, History())
        self.surface.put("sim:a", OLD)
        self.journal = self.journals.open()

    def world(self, journal: Journal | None = None) -> World:
        """Give the ports, as the first process sees them or the one that has `journal`."""
        return World(journal or self.journal, {"sim": self.surface}, self.journals.clock, self.ids)

    def run(self, machine: Steps[T], journal: Journal | None = None) -> T:
        """Run `machine` to its end."""
        world = self.world(journal)
        return asyncio.run(drive_async(world, machine)) if self.is_async else drive(world, machine)

    def until(self, machine: Steps[Any], step_type: type[Step[Any]], journal: Journal | None = None) -> Halfway:
        """Run `machine` up to its first step of that type, which is not done."""
        halfway = Halfway(self.world(journal), machine, next(machine))
        while not isinstance(halfway.step, step_type):
            halfway.advance()
        return halfway

    def no_fence_works(self) -> None:
        """Have fences fail, until `fences_work`."""
        self.surface.fence_fate = lambda attempt: FenceFate.NEVER_SET

    def fences_work(self) -> None:
        """Have fences work again."""
        self.surface.fence_fate = lambda attempt: FenceFate.ANSWERED

    def propose(self, *requests: WriteRequest, ask: Ask = ASK) -> Report:
        """Propose writes."""
        return self.run(propose(requests, ask))

    def write(self, *requests: WriteRequest) -> Report:
        """Propose writes, and confirm them."""
        return self.run(confirm(self.propose(*requests).transaction, by="person"))

    def check(self, report: Report) -> Report:
        """Check a transaction."""
        return self.run(check(report.transaction))

    def undo(self, report: Report) -> Report:
        """Undo the first write of a transaction."""
        proposed = self.run(undo(report.lives[0].operation_id, ASK))
        return self.run(confirm(proposed.transaction, by="person"))

    def fates(self, *fates: Fate) -> None:
        """Give the next requests these fates; later ones are answered."""
        left = list(fates)
        self.surface.fate = lambda attempt: left.pop(0) if left else Fate.ANSWERED

    def send_answers(self, answer: Callable[[Attempt], Answer]) -> None:
        """Have the surface's `send` be `answer`."""
        self.surface.send = answer  # type: ignore[method-assign, assignment]

    def fence_answers(self, answer: Answer) -> None:
        """Have the surface's `fence` give `answer`."""

        def fence(attempt: Attempt, *, is_sender_gone: bool) -> Answer:
            del attempt, is_sender_gone
            return answer

        self.surface.fence = fence  # type: ignore[method-assign]

    @property
    def text(self) -> str | None:
        """What is at `sim:a`."""
        content = self.surface.content("sim:a")
        return content["text"] if content else None

    @property
    def effects(self) -> int:
        """How often anything of ours landed, counted at the target."""
        return len(self.surface.history.effects)

    @property
    def requests(self) -> int:
        """How many requests of ours were on the wire, counted at the target."""
        return len(self.surface.history.requests)


def said(report: Report) -> list[str]:
    """Give what is shown of each write, in order; nothing of those of which there is nothing to tell."""
    return [render_outcome(life.result).text for life in report.lives if life.result]


def outcomes(report: Report) -> list[tuple[WriteOutcome, Evidence | None] | None]:
    """Give the outcome of each write, in order; None where nothing is known yet."""
    results = [life.result for life in report.lives]
    return [(result.outcome, result.evidence) if result else None for result in results]
