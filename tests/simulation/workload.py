"""What is asked for: writes that overlap, repeat and contradict each other, confirmed or not, undone and attested.

An eager agent asks again for what did not work: under another title, in parts, merged with a neighbour, with another
value. A person takes up what is BLOCKED.

Names and contents come from few choices, so that joins, conflicts and lookalikes are common. Whoever asks knows what
was told so far; a person who attests has looked, and says what is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from amends.broker import Ask, Report, Steps, attest, check, confirm, decline, followup, outcome_told, propose, undo
from amends.contract import OperationKind, State, WriteOutcome
from amends.ports import WriteRequest
from tests.simulation.surface import MOVES
from tests.simulation.world import Process, SimulatedWorld, Task

KEYS = ("a", "b", "c", "a/b", "a-b")
"""`a/b` is below `a`, and `a-b` only looks like it. What differs in case only is one target."""
KINDS_THERE = (
    OperationKind.EDIT,
    OperationKind.EDIT,
    OperationKind.EDIT,
    OperationKind.UPLOAD,
    OperationKind.ARCHIVE,
    OperationKind.MOVE,
    OperationKind.RENAME,
    OperationKind.DELETE,
)
KINDS_ABSENT = (OperationKind.CREATE, OperationKind.CREATE, OperationKind.UPLOAD)
TITLES = ("", "Save it", "Save it, second try", "Step 7b")
TEXTS = ("one", "two", "three", "four", "five")


class Workload:
    """Starts calls, as long as there are some left."""

    def __init__(self, world: SimulatedWorld, seed: int, *, left_out: frozenset[int] = frozenset()) -> None:
        """Choose how many calls there are in all. `left_out` are numbers of calls."""
        self.world = world
        self.seed = seed
        self.left_out = left_out
        self.rng = rng = Random(f"{seed}:workload")
        """The stream of the latest call."""
        self.calls = self.calls_left = rng.randrange(3, 14)
        self.transactions: list[str] = []
        self.operations: list[str] = []
        self.asked: list[list[WriteRequest]] = []
        for key in rng.sample(KEYS, 3):
            world.surface.put(f"sim:{key.lower()}", {"text": "old", "note": "note of old"})
        self._choices: tuple[tuple[int, Callable[[Process], Task]], ...] = (
            (12, self._propose),
            (3, self._confirm),
            (1, self._decline),
            (3, self._check),
            (1, self._undo),
            (1, self._attest),
            (2, self._follow_up),
            (2, self._undo_all),
        )

    def start_one(self, process: Process) -> Task | None:
        """Start one more call in `process`, unless it is left out."""
        number = self.calls - self.calls_left
        self.calls_left -= 1
        if number in self.left_out:
            return None
        self.rng = Random(f"{self.seed}:call:{number}")
        if not self.transactions:
            return self._propose(process)
        if self._waiting() and self.rng.random() < 0.4:
            return self._confirm(process)
        if self._blocked() and self.rng.random() < 0.2:
            return self._follow_up(process)
        if self._applied() and self.rng.random() < 0.3:
            return self._undo(process)
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
        if Random(f"{self.seed}:hear:{task.record.number}").random() < 0.7:
            self.world.start(task.process, "outcome_told", outcome_told(report))

    def _waiting(self) -> list[str]:
        return [name for name in self.transactions if self.world.standing(name) is State.OPEN]

    def _blocked(self) -> list[str]:
        return [name for name in self.transactions if self.world.standing(name) is State.BLOCKED]

    def _applied(self) -> list[str]:
        return [name for name in self.operations if self.world.standing(name) is State.APPLIED]

    def _start(self, process: Process, machine: Steps[Any], name: str) -> Task:
        return self.world.start(process, name, machine)

    def _ask(self) -> Ask:
        is_confirmed, expires, again = self.rng.random() < 0.6, self.rng.random() < 0.05, self.rng.random() < 0.2
        return Ask(
            "agent",
            title=self.rng.choice(TITLES),
            confirmed_by="operator" if is_confirmed else None,
            expires_in_ms=30_000 if expires else None,
            again=again,
        )

    def _request(self, key: str) -> WriteRequest:
        is_there = self.world.surface.content(f"sim:{key.lower()}") is not None
        kinds = KINDS_THERE if is_there else KINDS_ABSENT
        kind = self.rng.choice(kinds if self.rng.random() < 0.9 else KINDS_THERE + KINDS_ABSENT)
        text = self.rng.choice(TEXTS)
        if kind in MOVES:
            free = [each for each in KEYS if self.world.surface.content(f"sim:{each}") is None]
            return WriteRequest(kind, "sim", self.rng.choice(free or KEYS), source_key=key)
        is_gone = kind in (OperationKind.ARCHIVE, OperationKind.DELETE)
        fields = {} if is_gone else {"text": text, "note": f"note of {text}"}
        if kind is OperationKind.EDIT and self.rng.random() < 0.2:
            del fields[self.rng.choice(("text", "note"))]
        return WriteRequest(kind, "sim", key, fields=fields)

    def _propose(self, process: Process) -> Task:
        chosen = self.rng.sample(KEYS, self.rng.choice((1, 1, 1, 2, 3)))
        keys = [key.upper() if self.rng.random() < 0.2 else key for key in chosen]
        requests = [self._request(key) for key in keys]
        if self.asked and self.rng.random() < 0.35:
            requests = self._asked_before(requests)
        self.asked.append(requests)
        ask = self._ask()
        return self._start(process, propose(requests, ask), "propose again" if ask.again else "propose")

    def _asked_before(self, others: list[WriteRequest]) -> list[WriteRequest]:
        """Ask once more for what was asked for: the same, a part of it, or merged with something else."""
        before = self.rng.choice(self.asked[-4:])
        match self.rng.randrange(3):
            case 0:
                return before
            case 1:
                part = self.rng.choice(before)
                if part.kind is OperationKind.EDIT and len(part.fields) > 1:
                    name = self.rng.choice(sorted(part.fields))
                    part = replace(part, fields={name: part.fields[name]})
                return [part]
            case _:
                keys = {request.key.lower() for request in before}
                return [*before, *(other for other in others if other.key.lower() not in keys)]

    def _confirm(self, process: Process) -> Task:
        name = self.rng.choice(self._waiting() or self.transactions)
        return self._start(process, confirm(name, by="person"), "confirm")

    def _decline(self, process: Process) -> Task:
        machine = decline(self.rng.choice(self.transactions), by="person", reason="not now")
        return self._start(process, machine, "decline")

    def _check(self, process: Process) -> Task:
        return self._start(process, check(self.rng.choice(self.transactions)), "check")

    def _undo(self, process: Process) -> Task:
        name = self.rng.choice(self._applied()[-2:] or self.operations or self.transactions)
        if self.rng.random() < 0.3:  # two people have the same idea
            self._start(process, undo(name, self._ask()), "undo")
        return self._start(process, undo(name, self._ask()), "undo")

    def _undo_all(self, process: Process) -> Task:
        return self._start(process, undo(self.rng.choice(self.transactions), self._ask()), "undo")

    def _follow_up(self, process: Process) -> Task:
        name = self.rng.choice(self._blocked() or self.transactions)
        return self._start(process, followup(name, self._ask()), "followup")

    def _attest(self, process: Process) -> Task:
        open_ones = [o for o in self.operations if self.world.standing(o) in (State.CLOSED, State.AMBIGUOUS)]
        name = self.rng.choice(open_ones or self.operations)
        landed = any(request.operation_id == name for request in self.world.history.effects)
        outcome = WriteOutcome.APPLIED if landed else WriteOutcome.FAILED
        return self._start(process, attest(name, outcome=outcome, by="person", reason="I looked"), "attest")
