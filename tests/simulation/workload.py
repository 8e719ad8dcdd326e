"""What is asked for: writes that overlap, repeat and contradict each other, confirmed or not, undone and attested.

Names and contents come from few choices, so that joins, conflicts and lookalikes are common. Whoever asks knows what
was told so far; a person who attests has looked, and says what is true.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from amends.broker import Ask, Report, Steps, attest, check, confirm, decline, outcome_told, propose, undo
from amends.contract import OperationKind, State, WriteOutcome
from amends.ports import WriteRequest
from tests.simulation.world import Process, SimulatedWorld, Task

KEYS = ("a", "A", "b", "a/b", "a-b")
"""`a` and `A` are one target; `a/b` is below `a`; `a-b` only looks like it."""
KINDS = (OperationKind.EDIT, OperationKind.EDIT, OperationKind.UPLOAD, OperationKind.CREATE, OperationKind.ARCHIVE)
TEXTS = ("one", "two", "three")


class Workload:
    """Starts calls, as long as there are some left."""

    def __init__(self, world: SimulatedWorld, rng: Random, *, calls: int) -> None:
        """Ask for `calls` calls in all."""
        self.world = world
        self.rng = rng
        self.calls_left = calls
        self.transactions: list[str] = []
        self.operations: list[str] = []
        self._choices: tuple[tuple[int, Callable[[Process], Task]], ...] = (
            (10, self._propose),
            (6, self._confirm),
            (1, self._decline),
            (3, self._check),
            (4, self._undo),
            (1, self._attest),
        )

    def start_one(self, process: Process) -> Task:
        """Start one more call in `process`."""
        self.calls_left -= 1
        if not self.transactions:
            return self._propose(process)
        weights = [weight for weight, _ in self._choices]
        [(_, start)] = self.rng.choices(self._choices, weights)
        return start(process)

    def hear(self, task: Task) -> None:
        """Learn from what `task` ended with; mostly, say that it was told."""
        report = task.ended
        if not isinstance(report, Report):
            return
        if report.transaction not in self.transactions:
            self.transactions.append(report.transaction)
        self.operations += [each.operation_id for each in report.lives if each.operation_id not in self.operations]
        if self.rng.random() < 0.7:  # noqa: PLR2004 - often enough that repeats become new writes
            self.world.start(task.process, "outcome_told", outcome_told(report))

    def _start(self, process: Process, machine: Steps[Any], name: str, wanted: tuple[str, ...] = ()) -> Task:
        return self.world.start(process, name, machine, wanted=wanted)

    def _ask(self) -> Ask:
        is_confirmed, expires, again = self.rng.random() < 0.5, self.rng.random() < 0.1, self.rng.random() < 0.2  # noqa: PLR2004
        return Ask(
            "agent",
            confirmed_by="operator" if is_confirmed else None,
            expires_in_ms=30_000 if expires else None,
            again=again,
        )

    def _request(self) -> WriteRequest:
        kind = self.rng.choice(KINDS)
        text = self.rng.choice(TEXTS)
        fields = {} if kind is OperationKind.ARCHIVE else {"text": text, "note": f"note of {text}"}
        return WriteRequest(kind, "sim", self.rng.choice(KEYS), fields=fields)

    def _propose(self, process: Process) -> Task:
        requests = [self._request() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        if self.world.kind == "ledger" and len(requests) == 1 and self.rng.random() < 0.1:  # noqa: PLR2004
            requests *= 2
        return self._start(process, propose(requests, self._ask()), "propose", ("any",))

    def _confirm(self, process: Process) -> Task:
        waiting = [t for t in self.transactions if self.world.standing(t) is State.OPEN]
        return self._start(process, confirm(self.rng.choice(waiting or self.transactions), by="person"), "confirm")

    def _decline(self, process: Process) -> Task:
        machine = decline(self.rng.choice(self.transactions), by="person", reason="not now")
        return self._start(process, machine, "decline")

    def _check(self, process: Process) -> Task:
        return self._start(process, check(self.rng.choice(self.transactions)), "check")

    def _undo(self, process: Process) -> Task:
        applied = [o for o in self.operations if self.world.standing(o) is State.APPLIED]
        name = self.rng.choice(applied[-2:] or self.operations)
        return self._start(process, undo(name, self._ask()), "undo")

    def _attest(self, process: Process) -> Task:
        open_ones = [o for o in self.operations if self.world.standing(o) in (State.CLOSED, State.AMBIGUOUS)]
        name = self.rng.choice(open_ones or self.operations)
        landed = any(request.operation_id == name for request in self.world.history.effects)
        outcome = WriteOutcome.APPLIED if landed else WriteOutcome.FAILED
        return self._start(process, attest(name, outcome=outcome, by="person", reason="I looked"), "attest")
