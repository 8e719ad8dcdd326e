"""A transaction as it stands: what was asked as one, its frozen gate, and the life of each of its writes.

Read back from the journal only, like a life. Several writes are never folded into one outcome (invariant 18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amends.contract.lifecycle import Happened, State, fold
from amends.contract.operation import Fact, Json
from amends.errors import UnknownSubjectError
from amends.ports import Event
from amends.recovery import Aim, aims, digest

from .life import Life
from .machine import recall
from .step import Match, Recall, Steps, do


@dataclass(frozen=True, slots=True)
class Report:
    """A transaction and its writes, the planned ones first, then its recoveries.

    `gate` is what must hold for it to be complete. `follows` is the BLOCKED transaction that it takes up. `blocked` is
    the report of a BLOCKED one, `left_out` what an undo can't restore. `is_joined` says that this call sent nothing and
    tells of an earlier one.
    """

    transaction: str
    title: str
    state: State
    gate: tuple[Fact, ...]
    lives: tuple[Life, ...]
    events: tuple[Event, ...] = ()
    follows: str | None = None
    left_out: tuple[str, ...] = ()
    is_joined: bool = False

    @property
    def epoch(self) -> int:
        """How often something was decided on a reading of it; what was read under an older one is stale."""
        return self.events[-1].epoch if self.events else 0

    @property
    def digest(self) -> str:
        """What a confirmation of the writes that wait for one is bound to."""
        waiting = self.waiting(State.PROPOSED) or self.lives
        return digest([life.digest for life in waiting])

    @property
    def aims(self) -> frozenset[Aim]:
        """What the transaction is about."""
        return frozenset().union(*(aims(life.operation) for life in self.lives))

    @property
    def planned(self) -> tuple[Life, ...]:
        """The writes that were asked for, without the recoveries."""
        return tuple(life for life in self.lives if not life.is_recovery)

    def latest(self, planned: Life) -> Life:
        """Give the last write that was to do what `planned` does: itself, or its recovery."""
        same = [life for life in self.lives if life.fingerprint == planned.fingerprint and life.key is not None]
        return same[-1] if same else planned

    @property
    def is_moving(self) -> bool:
        """Say whether a write of it may still land."""
        return any(life.is_holding or life.holds_claims for life in self.lives)

    @property
    def was_attempted(self) -> bool:
        """Say whether a write of it was sent, or kept from that only by a fence: not all of them were kept back."""
        return any(life.was_attempted for life in self.lives)

    @property
    def has_failed(self) -> bool:
        """Say whether it failed on its way: a write of it did not do what it should, or it is BLOCKED."""
        if self.state is State.BLOCKED:
            return not self.is_followed_up
        return any(life.was_attempted and life.state in (State.FAILED, State.CLOSED) for life in self.lives)

    @property
    def is_followed_up(self) -> bool:
        """Say whether a later transaction completed what this BLOCKED one did not, or a person let it go."""
        return self.aftermath is not None

    @property
    def aftermath(self) -> dict[str, Json] | None:
        """What became of a BLOCKED one since: `by` a transaction, or `by` a person for a `reason`; None if nothing."""
        return next((event.data for event in self.events if event.happened is Happened.FOLLOWED_UP), None)

    @property
    def blocked(self) -> dict[str, Json] | None:
        """The BLOCKED report; None unless it is BLOCKED."""
        return next((event.data for event in self.events if event.happened is Happened.BLOCKED), None)

    def waiting(self, *states: State) -> tuple[Life, ...]:
        """Give the writes that are in one of `states`."""
        return tuple(life for life in self.lives if life.state in states)

    def with_life(self, life: Life) -> Report:
        """Give this report with `life` in the place of its older self."""
        lives = [life if each.operation_id == life.operation_id else each for each in self.lives]
        return replace(self, lives=tuple(lives))


def find(subject: str) -> Steps[Report]:
    """Give the transaction of `subject`: its id or that of one of its writes, or a beginning that only one id has."""
    identity, events = subject, (yield from do(Recall(subject)))
    if not events:
        identity = yield from resolve(subject)
        events = yield from do(Recall(identity))
    if identity.startswith("op_"):
        identity = events[0].data["transaction"]
        events = yield from do(Recall(identity))
    opened = events[0].data
    names = _names(events)
    lives = yield from _recall_all(names)
    if 0 < sum(life.state is State.PROPOSED for life in lives) < len(lives):
        lives = yield from _recall_all(names)  # they are decided together: it was just then
    return Report(
        transaction=identity,
        title=opened["title"],
        state=fold(event.happened for event in events) or State.OPEN,
        gate=tuple(Fact(**fact) for fact in opened["gate"]),
        lives=tuple(lives),
        events=tuple(events),
        follows=opened["follows"],
        left_out=tuple(opened["left_out"]),
    )


def refreshed(report: Report) -> Steps[Report]:
    """Give `report` as it is recorded now. Where it is complete by what is known here, its lives are not read again."""
    events = yield from do(Recall(report.transaction))
    state = fold(event.happened for event in events)
    is_known = len(_names(events)) == len(report.lives) and all(life.is_done for life in report.lives)
    if state is not State.COMPLETE or not is_known:
        return (yield from find(report.transaction))
    return replace(report, state=state, events=tuple(events))


def one(subject: str) -> Steps[Life]:
    """Give one write: by its id, or by that of a transaction that has only one."""
    identity = yield from resolve(subject)
    report = yield from find(identity)
    named = [life for life in report.lives if life.operation_id == identity] or list(report.lives)
    if len(named) != 1:
        names = ", ".join(life.operation_id for life in named)
        raise UnknownSubjectError(f"{identity} has {len(named)} writes", hint=f"name one: {names}")
    return named[0]


def resolve(subject: str) -> Steps[str]:
    """Complete a shortened id. Raises UnknownSubjectError if none or several begin with it."""
    found = yield from do(Match(subject))
    if subject in found or len(found) == 1:
        return subject if subject in found else found[0]
    if found:
        raise UnknownSubjectError(f"several ids begin with {subject}", hint="give more of the id: amends log")
    raise UnknownSubjectError(
        f"no operation or transaction is called {subject!r}", hint="see which there are: amends log"
    )


def _names(events: Sequence[Event]) -> list[str]:
    """Give the operations that the events of a transaction name: the planned ones, then the recoveries."""
    names: list[str] = [*events[0].data["operations"]]
    for event in events[1:]:
        if event.happened is Happened.RECOVERING and event.data["operation"] not in names:
            names.append(event.data["operation"])
    return names


def _recall_all(operation_ids: list[str]) -> Steps[list[Life]]:
    lives: list[Life] = []
    for operation_id in operation_ids:
        lives.append((yield from recall(operation_id)))
    return lives
