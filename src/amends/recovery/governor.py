"""The governor: the one pure function that decides how a transaction goes on, by one ordered table of rules.

Source: persistent-work discipline. It is asked after every outcome that is not applied, and at the end, with a fresh
reading of everything that the transaction names; it never reads, waits or sends itself. The first rule of `RULES`
that has something to say decides. Every stop reason of the discipline is a value of `Stop`.

That it ends is plain from the table: a recovery is only decided where the budget has one left (rules `budget` and
`spent`), and after each one a reading that is not strictly better stops (rules `oscillation`, `worse`, `unchanged`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from amends.contract.operation import Fact, Observation, Operation, OperationKind, Presence

from .budget import Spent, aims
from .fingerprint import fingerprint
from .mismatch import Audit, Mismatch, Progress, mismatches, oscillates, progress


class Stop(StrEnum):
    """Why recovery stops."""

    NO_PROGRESS = "no_progress"
    REGRESSION = "regression"
    OSCILLATION = "oscillation"
    SAME_STEP_FAILED = "same_step_failed"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CAPABILITY_MISSING = "capability_missing"
    NEXT_DESTRUCTIVE = "next_destructive"
    NEXT_AMBIGUOUS = "next_ambiguous"
    INTERRUPTED = "interrupted"
    """A person broke it off; nothing goes on by itself after that."""


class Standing(StrEnum):
    """How one write of a transaction stands, as far as the governor cares."""

    UNSENT = "unsent"
    HELD = "held"
    """It may still land."""
    DONE = "done"
    FAILED = "failed"
    CLOSED = "closed"
    """It may have landed, and nothing can prove it any more."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One write of the transaction: what it does, from what state, and how it stands.

    `base` is the observation that was confirmed with it. `was_interrupted`: a person
    broke it off before it was sent.
    """

    operation: Operation
    base: Observation
    standing: Standing
    was_interrupted: bool = False
    is_recovery: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """All that is decided on: the frozen gate, every write, and every reading.

    `gate` is what must hold at the end, frozen when the transaction opened. `history` holds the first reading and the
    one before each recovery; `now` is the fresh one, taken when every attempt was quiescent, and `again` a second one
    taken after it, if there was.
    """

    gate: tuple[Fact, ...]
    tried: tuple[Tried, ...]
    spent: Spent
    history: tuple[Audit, ...]
    now: Audit
    again: Audit | None = None
    wait_until_ms: int | None = None

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """The facts that do not hold in the fresh reading."""
        return mismatches(self.gate, self.now)

    @property
    def unsent(self) -> tuple[Tried, ...]:
        """The planned writes that were not sent yet, in order."""
        return tuple(each for each in self.tried if each.standing is Standing.UNSENT)

    @property
    def pressing(self) -> tuple[Mismatch, ...]:
        """The mismatches that no unsent write is going to mend."""
        planned = {(fact.target, fact.field) for each in self.unsent for fact in each.operation.postcondition}
        return tuple(each for each in self.mismatches if (each.fact.target, each.fact.field) not in planned)

    @property
    def last_recovery(self) -> Tried | None:
        """The latest recovery, if there was one."""
        return next((each for each in reversed(self.tried) if each.is_recovery), None)

    def culprit(self, mismatch: Mismatch) -> Tried | None:
        """Give the latest write that was to establish the fact which `mismatch` is about."""
        return next((each for each in reversed(self.tried) if mismatch.fact in each.operation.postcondition), None)


@dataclass(frozen=True, slots=True)
class Complete:
    """Every fact of the gate holds. `is_steady`: in two readings with equal versions; else each was seen once."""

    is_steady: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """An attempt may still land; `until_ms` is when asking again means something, None for "when it is settled"."""

    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Proceed:
    """Send the next planned write. A first send is no recovery."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Recover:
    """Send `operation` once more, as a recovery, from the state that was just read."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Blocked:
    """Stop for good, and why: the reason, the mismatches, and the operation that could not be recovered."""

    stop: Stop
    mismatches: tuple[Mismatch, ...]
    operation: Operation | None = None


Decision = Complete | Wait | Proceed | Recover | Blocked
Rule = Callable[[Case], Decision | None]


def _held(case: Case) -> Decision | None:
    """While an attempt may still land: wait."""
    return Wait(case.wait_until_ms) if any(each.standing is Standing.HELD for each in case.tried) else None


def _complete(case: Case) -> Decision | None:
    """When every fact of the frozen gate holds: complete."""
    if case.mismatches or (case.again is not None and mismatches(case.gate, case.again)):
        return None
    steady = case.again is not None and all(seen.same_as(case.again[target]) for target, seen in case.now.items())
    return Complete(is_steady=steady)


def _interrupted(case: Case) -> Decision | None:
    """When a person broke it off: stop."""
    return _stop(case, Stop.INTERRUPTED) if any(each.was_interrupted for each in case.tried) else None


def _unreadable(case: Case) -> Decision | None:
    """When a target can't be read: stop, a capability is missing."""
    blind = any(seen.presence is Presence.UNREADABLE for seen in case.now.values())
    return _stop(case, Stop.CAPABILITY_MISSING) if blind else None


def _oscillation(case: Case) -> Decision | None:
    """When, after a recovery, a target shows again what it showed before it changed: stop."""
    returned = case.last_recovery is not None and oscillates(case.history, case.now)
    return _stop(case, Stop.OSCILLATION) if returned else None


def _worse(case: Case) -> Decision | None:
    """When a recovery left any fact worse: stop."""
    return _stop(case, Stop.REGRESSION) if _since_recovery(case) is Progress.WORSE else None


def _unchanged(case: Case) -> Decision | None:
    """When a recovery made nothing better: stop."""
    return _stop(case, Stop.NO_PROGRESS) if _since_recovery(case) is Progress.UNCHANGED else None


def _planned(case: Case) -> Decision | None:
    """When all that is amiss is what planned writes will mend: send the next of them."""
    return Proceed(case.unsent[0].operation) if case.unsent and not case.pressing else None


def _unknown(case: Case) -> Decision | None:
    """When no write of the transaction was to establish what is amiss, or that write can't be judged: stop."""
    culprit = _culprit(case)
    if culprit is None or (culprit.standing is Standing.CLOSED and not _is_as_confirmed(case, culprit)):
        return _stop(case, Stop.NEXT_AMBIGUOUS)
    return None


def _destructive(case: Case) -> Decision | None:
    """When the recovery would delete, or replace what somebody else wrote since: stop."""
    culprit = _culprit(case)
    if culprit is None:
        return None
    is_someone_elses = culprit.standing is Standing.DONE or not _is_as_confirmed(case, culprit)
    destroys = culprit.operation.kind is OperationKind.DELETE or is_someone_elses
    return _stop(case, Stop.NEXT_DESTRUCTIVE) if destroys else None


def _spent(case: Case) -> Decision | None:
    """When this step, or one with the same aims, was recovered before: stop."""
    culprit = _culprit(case)
    if culprit is None:
        return None
    operation = culprit.operation
    return _stop(case, Stop.SAME_STEP_FAILED) if case.spent.forbids(fingerprint(operation), aims(operation)) else None


def _budget(case: Case) -> Decision | None:
    """When the transaction's two recoveries are used up: stop."""
    return _stop(case, Stop.BUDGET_EXHAUSTED) if case.spent.is_exhausted else None


def _recover(case: Case) -> Decision | None:
    """Else: recover the first write that is amiss, once."""
    culprit = _culprit(case)
    return Recover(culprit.operation) if culprit is not None else _stop(case, Stop.NEXT_AMBIGUOUS)


RULES: tuple[Rule, ...] = (
    _held,
    _complete,
    _interrupted,
    _unreadable,
    _oscillation,
    _worse,
    _unchanged,
    _planned,
    _unknown,
    _destructive,
    _spent,
    _budget,
    _recover,
)
"""In this order; the docstring of each is its line in the table of the skill and the docs."""


def decide(case: Case) -> Decision:
    """Decide how a transaction goes on: the first rule that has something to say."""
    for rule in RULES:
        decision = rule(case)
        if decision is not None:
            return decision
    raise AssertionError("the last rule always decides")


def _culprit(case: Case) -> Tried | None:
    pressing = case.pressing
    return case.culprit(pressing[0]) if pressing else None


def _is_as_confirmed(case: Case, tried: Tried) -> bool:
    """Say whether the target still is as it was when the write was confirmed."""
    return case.now[tried.operation.target].same_as(tried.base)


def _since_recovery(case: Case) -> Progress | None:
    """Compare the reading before the last recovery with the fresh one; None where there was no recovery."""
    return None if case.last_recovery is None else progress(case.gate, case.history[-1], case.now)


def _stop(case: Case, stop: Stop) -> Blocked:
    culprit = _culprit(case)
    worst = sorted(case.mismatches, key=lambda each: -each.severity)
    return Blocked(stop, tuple(worst), None if culprit is None else culprit.operation)
