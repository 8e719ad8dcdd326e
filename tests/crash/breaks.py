"""Faults on purpose: what a writer would do that is less careful. Each must be caught by the judge.

Each takes an opened Amends and makes it dishonest in one way, in the process that calls it.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amends.assembly import Amends
from amends.contract.lifecycle import Happened
from amends.contract.outcome import Evidence
from amends.ports import Answer, Attempt, Event

PIECE_BYTES = 4096


class _Other:
    """Something real but for what a subclass does differently."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _with_surface(amends: Amends, kind: type[_Other]) -> None:
    surfaces: dict[str, Any] = {name: kind(surface) for name, surface in amends.world.surfaces.items()}
    amends.world = replace(amends.world, surfaces=surfaces)


class _InPlace(_Other):
    """Opens the target and writes into it, as most programs do."""

    def send(self, attempt: Attempt) -> Answer:
        if attempt.payload.get("content") is None or attempt.prepared["inside"]:
            answer: Answer = self._real.send(attempt)
            return answer
        root = self._real._root
        staged = f"{root.path}/.amends/stage/{attempt.key}"
        with open(staged, "rb") as source:
            content = source.read()
        with open(root.whole(root.parts(attempt.operation.target)), "wb", buffering=0) as target:
            for at in range(0, len(content), PIECE_BYTES):
                target.write(content[at : at + PIECE_BYTES])
                os.fsync(target.fileno())
        os.rename(staged, f"{staged}.done")
        return Answer(Evidence.ACKNOWLEDGED)


def writes_in_place(amends: Amends) -> None:
    """No staging: a reader, and a crash, see half a file."""
    _with_surface(amends, _InPlace)


class _HopefulFence(_Other):
    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        self._real.fence(attempt, is_sender_gone=is_sender_gone)
        return Answer(Evidence.NEVER_SENT, reason="no answer came, so it will not have arrived")


def takes_no_answer_for_a_failure(amends: Amends) -> None:
    """A fence that calls everything failed whose answer was lost."""
    _with_surface(amends, _HopefulFence)


class _Hasty(_Other):
    """Reports success, and does the work when the success is recorded."""

    waiting: tuple[Attempt, ...] = ()

    def send(self, attempt: Attempt) -> Answer:
        self.waiting = (attempt,)
        return Answer(Evidence.ACKNOWLEDGED)

    def do_it(self) -> None:
        for attempt in self.waiting:
            self._real.send(attempt)
        self.waiting = ()


class _RecordsFirst(_Other):
    def __init__(self, real: Any, surfaces: Sequence[Any]) -> None:
        super().__init__(real)
        self._surfaces = surfaces

    def commit(self, events: Sequence[Event], *, durable: bool = True) -> None:
        self._real.commit(events, durable=durable)
        if any(event.happened is Happened.APPLIED for event in events):
            for surface in self._surfaces:
                surface.do_it()


def records_the_outcome_first(amends: Amends) -> None:
    """The success is written down before it is one."""
    _with_surface(amends, _Hasty)
    journal: Any = _RecordsFirst(amends.world.journal, list(amends.world.surfaces.values()))
    amends.world = replace(amends.world, journal=journal)


class _SendsFirst(_Other):
    """Sends while it prepares, before anything is recorded."""

    def prepare(self, attempt: Attempt, blobs: Any) -> Any:
        prepared = self._real.prepare(attempt, blobs)
        self._answer: Answer = self._real.send(replace(attempt, prepared=prepared.notes))
        return prepared

    def send(self, attempt: Attempt) -> Answer:
        return self._answer


def sends_before_the_intent(amends: Amends) -> None:
    """The intent is written down when it is done already."""
    _with_surface(amends, _SendsFirst)


class _Careless(_Other):
    """Renames over whatever is there, and keeps nothing of it."""

    def send(self, attempt: Attempt) -> Answer:
        if attempt.payload.get("content") is None or attempt.prepared["inside"]:
            answer: Answer = self._real.send(attempt)
            return answer
        root = self._real._root
        os.replace(f"{root.path}/.amends/stage/{attempt.key}", root.whole(root.parts(attempt.operation.target)))
        return Answer(Evidence.ACKNOWLEDGED)


def keeps_nothing_that_it_replaces(amends: Amends) -> None:
    """What was at the target is gone."""
    _with_surface(amends, _Careless)


class _Eager(_Other):
    """Makes sure that it arrived, by sending it once more."""

    def send(self, attempt: Attempt) -> Answer:
        answer: Answer = self._real.send(attempt)
        again = replace(attempt, key=f"{attempt.key}x")
        notes = self._real.prepare(replace(again, payload=attempt.payload), self._blobs).notes
        self._real.send(replace(again, prepared=notes | {"way": "exchange"} if notes["way"] != "archive" else notes))
        return answer

    def prepare(self, attempt: Attempt, blobs: Any) -> Any:
        self._blobs = blobs
        return self._real.prepare(attempt, blobs)


def sends_everything_twice(amends: Amends) -> None:
    """A resend below the broker, as client libraries do."""
    _with_surface(amends, _Eager)
