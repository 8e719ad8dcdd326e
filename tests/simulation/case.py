"""A finished run, arranged for the judges: writes, requests, effects and intents, by what they belong to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from amends.broker import Life
from amends.contract import Happened, State
from amends.contract.lifecycle import fold
from amends.ports import OpenSubject, Verification
from tests.simulation.history import History, ReadAt, Recorded, Request, TaskRecord

FOREVER = 1 << 60


@dataclass(frozen=True)
class Case:
    """A finished run: what happened, what the journal holds at the end, and what it says of itself."""

    kind: str
    history: History
    open: tuple[OpenSubject, ...]
    verification: Verification

    @cached_property
    def recorded(self) -> dict[str, list[Recorded]]:
        """Events by subject."""
        found: dict[str, list[Recorded]] = defaultdict(list)
        for item in self.history.recorded:
            found[item.event.subject].append(item)
        return dict(found)

    @cached_property
    def lives(self) -> dict[str, Life]:
        """The writes, as the journal has them at the end."""
        return {
            subject: Life.of([item.event for item in items])
            for subject, items in self.recorded.items()
            if items[0].event.happened is Happened.PROPOSED
        }

    @cached_property
    def proposed(self) -> dict[str, Life]:
        """The writes as they were proposed."""
        return {subject: Life.of([items[0].event]) for subject, items in self.recorded.items() if subject in self.lives}

    @cached_property
    def ends(self) -> dict[str, State]:
        """What each transaction is at the end."""
        return {
            subject: fold(item.event.happened for item in items) or State.OPEN
            for subject, items in self.recorded.items()
            if items[0].event.happened is Happened.OPENED
        }

    @cached_property
    def sent_for(self) -> dict[str, list[Request]]:
        """What was on the wire, by transaction and in order."""
        found: dict[str, list[Request]] = defaultdict(list)
        for request in self.requests:
            found[self.lives[request.operation_id].transaction].append(request)
        return found

    @cached_property
    def recoveries(self) -> list[Request]:
        """The recoveries that were on the wire."""
        return [request for request in self.requests if self.lives[request.operation_id].is_recovery]

    def happened(self, subject: str, happened: Happened) -> list[Recorded]:
        """Give the events of one sort of `subject`."""
        return [item for item in self.recorded.get(subject, []) if item.event.happened is happened]

    @cached_property
    def requests(self) -> list[Request]:
        """What was on the wire for writes that are recorded at all; `intent_precedes_effect` finds the others."""
        return [request for request in self.history.requests if request.operation_id in self.recorded]

    @cached_property
    def effects(self) -> dict[str, list[Request]]:
        """What landed, by write."""
        found: dict[str, list[Request]] = defaultdict(list)
        for request in self.history.effects:
            found[request.operation_id].append(request)
        return found

    @cached_property
    def intents(self) -> dict[str, Recorded]:
        """The recorded intents, by write."""
        return {item.event.subject: item for item in self.history.recorded if item.event.happened is Happened.INTENDED}

    @cached_property
    def stopped(self) -> dict[str, int]:
        """When each key was fenced first."""
        found: dict[str, int] = {}
        for fence in self.history.fences:
            found.setdefault(fence.key, fence.tick)
        return found

    @cached_property
    def _reads(self) -> dict[int, list[ReadAt]]:
        found: dict[int, list[ReadAt]] = defaultdict(list)
        for read in self.history.reads:
            found[read.task].append(read)
        return found

    def reads_by(self, task: int) -> list[ReadAt]:
        """Give what a task read, in order."""
        return self._reads[task]

    def task(self, number: int) -> TaskRecord:
        """Give a task by its number."""
        return self.history.tasks[number - 1]

    def over_at(self, intent: Recorded) -> int:
        """Give when the attempt of `intent` truly could not land any more, whoever knew it."""
        key = intent.event.data["key"]
        ends = [self.stopped.get(key, FOREVER)]
        requests = [request for request in self.history.requests if request.key == key]
        if requests:
            ends += [self._over(request) for request in requests]
        else:
            stopped_at = self.task(intent.task).stopped_at if intent.task else 0
            ends.append(FOREVER if stopped_at is None else stopped_at)
            ends += [  # whoever was to send it gave it up instead
                item.tick
                for item in self.recorded[intent.event.subject]
                if item.event.happened is Happened.ABANDONED
                or (item.task == intent.task and item.event.happened is Happened.FAILED)
            ]
            ends += [tick for tick, task, _ in self.history.sends if task == intent.task and tick > intent.tick]
        return min(ends)

    def _over(self, request: Request) -> int:
        if request.answered_at is not None:
            return request.answered_at
        if request.landed_at is not None:
            return request.landed_at
        return FOREVER if request.is_flying else request.tick
