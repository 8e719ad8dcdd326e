"""The governor: the one pure function that decides how a transaction goes on, by one ordered table of rules.

Source: persistent-work discipline. It is asked after every outcome that is not applied, and at the end, with a fresh
reading of everything that the transaction names (`places` says what that is). It never reads, waits or sends itself.
The first rule of `RULES` that has something to say decides, and the docstring of a rule is its line in the table that
the skill and the docs show. Every stop reason of the discipline is a value of `Stop`.

That it ends is plain from the table: a recovery is only decided where the budget has one left (rules `spent` and
`budget`), and after each one a reading that is not strictly better stops (rules `oscillation`, `worse`, `unchanged`).
What counts as spent is the journal's account and the recoveries in `tried`, whichever says more: one that was decided
and never left (it was stale by then, or could not be prepared) has no row in the journal, and must not be decided for
ever.

Two things here are stricter than a first look asks for. A reading is compared with the latest earlier look at each
target, and not only across a recovery: a fact that got worse while nothing of ours was under way says that somebody
else is at work there, and everything sent after that would be sent into their hands. And a recovery starts only from
the very state that was confirmed, or, where the write provably left another one, from that: a version more, a source
that is another file now, the old state put back, all mean that the next write is not the one that was confirmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from amends.contract.operation import Fact, Operation, OperationKind, Presence

from .budget import Spent
from .mismatch import (
    Audit,
    Mismatch,
    Progress,
    Severity,
    mismatches,
    oscillating,
    places,
    progress,
    same_fact,
    severity,
    worsened,
)


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
    APPLIED = "applied"
    ALREADY_SO = "already_so"
    """What it asks for held before it; it was not sent."""
    FAILED = "failed"
    CLOSED = "closed"
    """It may have landed, and nothing can prove it any more."""

    @property
    def is_done(self) -> bool:
        """Say whether what the write asks for held when it was concluded."""
        return self in (Standing.APPLIED, Standing.ALREADY_SO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One write of the transaction: what it does, from what state, and how it stands.

    base             what was shown of its target and read of its source when it was confirmed; of a recovery, the
                     whole reading that it was decided on
    left             what it provably left of these where it landed in part; None where nothing proves it
    undoable         whether what it replaces is kept
    lacks            what the surface can't do for it, where that is known
    reason           why it failed, where that is known; it takes no part in deciding
    was_interrupted  whether a person broke it off before it was sent
    """

    operation: Operation
    standing: Standing
    base: Audit
    undoable: bool
    left: Audit | None = None
    lacks: str | None = None
    reason: str | None = None
    was_interrupted: bool = False
    is_recovery: bool = False

    def __post_init__(self) -> None:
        """Check that no recovery waits to be sent: as a first send it would cost nothing."""
        assert not (self.is_recovery and self.standing is Standing.UNSENT), "a recovery begins with its intent"

    def is_as_it_was(self, audit: Audit) -> bool:
        """Say whether `audit` shows all that this write names as the write provably left it, else as it found it."""
        start = self.base if self.left is None else self.left
        return all(audit[place].same_as(start.get(place)) for place in places([self.operation]))


@dataclass(frozen=True, slots=True)
class Case:
    """All that is decided on: the frozen gate, every write, and every reading.

    gate           what must hold at the end, frozen when the transaction opened
    tried          every write: the planned ones in their order, then the recoveries in theirs
    spent          what the journal says is used up
    history        every earlier look, oldest first, each of all targets or of some: at least the one at the opening
                   and the one that each recovery was decided on
    now            the fresh reading, begun when no attempt could land any more (while one can, nobody looks at it)
    again          a second one after it, asked for by `LookAgain`
    wait_until_ms  when asking again means something, while an attempt may still land
    """

    gate: tuple[Fact, ...]
    tried: tuple[Tried, ...]
    spent: Spent
    history: tuple[Audit, ...]
    now: Audit
    again: Audit | None = None
    wait_until_ms: int | None = None

    @property
    def latest(self) -> Audit:
        """The newest reading."""
        return self.now if self.again is None else self.again

    @property
    def course(self) -> tuple[Audit, ...]:
        """Every look in order, the newest last."""
        return (*self.history, self.now) if self.again is None else (*self.history, self.now, self.again)

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """The facts that do not hold in the newest reading."""
        return mismatches(self.gate, self.latest)

    @property
    def unsent(self) -> tuple[Tried, ...]:
        """The planned writes that were not sent yet, in order."""
        return tuple(each for each in self.tried if each.standing is Standing.UNSENT)

    @property
    def without_facts(self) -> tuple[Tried, ...]:
        """The writes that no reading can show, as long as nothing else proves them."""
        return tuple(each for each in self.tried if not each.operation.postcondition and not each.standing.is_done)

    @property
    def pressing(self) -> tuple[Mismatch, ...]:
        """The mismatches that no unsent write is going to mend."""
        planned = [fact for each in self.unsent for fact in each.operation.postcondition]
        return tuple(each for each in self.mismatches if not any(same_fact(each.fact, fact) for fact in planned))

    @property
    def last_recovery(self) -> Tried | None:
        """The latest recovery, if there was one."""
        return next((each for each in reversed(self.tried) if each.is_recovery), None)

    @property
    def used(self) -> Spent:
        """What is spent by either account: the journal's, and the recoveries that were tried."""
        planned = [each.operation for each in self.tried if not each.is_recovery]
        counted = Spent()
        for each in self.tried:
            if each.is_recovery:
                counted = counted.also(each.operation, planned)
        return self.spent | counted

    @property
    def culprits(self) -> tuple[Tried | None, ...]:
        """For each pressing mismatch, the latest write that was to establish its fact; None where none was."""
        return tuple(self._culprit(each) for each in self.pressing)

    def _culprit(self, mismatch: Mismatch) -> Tried | None:
        for each in reversed(self.tried):
            if any(same_fact(mismatch.fact, fact) for fact in each.operation.postcondition):
                return each
        return None


@dataclass(frozen=True, slots=True)
class Complete:
    """Every fact of the gate holds in two readings. `is_steady`: of equal versions; else each was seen at its time."""

    is_steady: bool


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Every fact of the gate holds in the newest reading: take another, and ask again with it as `again`."""


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
    """Stop for good: why, what is amiss (the worst first), and the target and operation at issue."""

    stop: Stop
    mismatches: tuple[Mismatch, ...]
    target: str
    operation: Operation | None = None


Decision = Complete | LookAgain | Wait | Proceed | Recover | Blocked
Rule = Callable[[Case], Decision | None]


def _held(case: Case) -> Decision | None:
    """While an attempt may still land: wait."""
    return Wait(case.wait_until_ms) if any(each.standing is Standing.HELD for each in case.tried) else None


def _complete(case: Case) -> Decision | None:
    """When every fact of the frozen gate holds: look again; when it holds in both readings: complete."""
    if case.mismatches or case.without_facts:
        return None
    if case.again is None or mismatches(case.gate, case.now):
        return LookAgain()
    return Complete(is_steady=all(seen.same_as(case.again[target]) for target, seen in case.now.items()))


def _interrupted(case: Case) -> Decision | None:
    """When a person broke it off: stop."""
    broken_off = next((each for each in case.tried if each.was_interrupted), None)
    return _stop(case, Stop.INTERRUPTED, of=broken_off) if broken_off is not None else None


def _unable(case: Case) -> Decision | None:
    """When a target can't be read, or the surface can't do what is still to be done: stop."""
    for target, seen in case.latest.items():
        if seen.presence is Presence.UNREADABLE:
            return _stop(case, Stop.CAPABILITY_MISSING, target=target)
    for each in case.tried:
        if each.lacks is not None and not each.standing.is_done:
            return _stop(case, Stop.CAPABILITY_MISSING, of=each)
    return None


def _oscillation(case: Case) -> Decision | None:
    """When a target shows again what it showed before it changed: stop."""
    target = oscillating(case.course)
    return _stop(case, Stop.OSCILLATION, target=target) if target is not None else None


def _worse(case: Case) -> Decision | None:
    """When any fact is worse than at the look before: stop."""
    known: dict[int, Severity] = {}
    for audit in case.course:
        for place, fact in enumerate(case.gate):
            if fact.target in audit:
                degree = severity(fact, audit[fact.target])
                if degree > known.get(place, degree):
                    return _stop(case, Stop.REGRESSION, target=fact.target)
                known[place] = degree
    worse = worsened(case.gate, case.last_recovery.base, case.latest) if case.last_recovery is not None else ()
    return _stop(case, Stop.REGRESSION, target=worse[0].target) if worse else None


def _unchanged(case: Case) -> Decision | None:
    """When the last recovery left no fact better: stop."""
    recovery = case.last_recovery
    if recovery is None or progress(case.gate, recovery.base, case.latest) is Progress.BETTER:
        return None
    return _stop(case, Stop.NO_PROGRESS, of=recovery)


def _planned(case: Case) -> Decision | None:
    """When planned writes that were not sent yet will mend all that is amiss: send the next of them."""
    is_amiss = case.pressing or _out_of_sight(case)
    return Proceed(case.unsent[0].operation) if case.unsent and not is_amiss else None


def _unknown(case: Case) -> Decision | None:
    """When no write was to establish what is amiss, or nothing tells what became of that write: stop."""
    for mismatch, culprit in zip(case.pressing, case.culprits, strict=True):
        if culprit is None:
            return _stop(case, Stop.NEXT_AMBIGUOUS, target=mismatch.fact.target)
        if culprit.standing is Standing.CLOSED and not culprit.is_as_it_was(case.latest):
            return _stop(case, Stop.NEXT_AMBIGUOUS, of=culprit)
    unseen = _out_of_sight(case)
    return _stop(case, Stop.NEXT_AMBIGUOUS, of=unseen) if unseen is not None else None


def _destructive(case: Case) -> Decision | None:
    """When the recovery would delete, replace what is kept nowhere, or replace what somebody else wrote: stop."""
    for culprit in filter(None, case.culprits):
        is_elses = culprit.standing.is_done or not culprit.is_as_it_was(case.latest)
        if is_elses or culprit.operation.kind is OperationKind.DELETE or _replaces_for_good(case, culprit):
            return _stop(case, Stop.NEXT_DESTRUCTIVE, of=culprit)
    return None


def _spent(case: Case) -> Decision | None:
    """When this step, or another one with an aim of it, was recovered before: stop."""
    for culprit in filter(None, case.culprits):
        if case.used.forbids(culprit.operation):
            return _stop(case, Stop.SAME_STEP_FAILED, of=culprit)
    return None


def _budget(case: Case) -> Decision | None:
    """When the two recoveries of the transaction are used up: stop."""
    return _stop(case, Stop.BUDGET_EXHAUSTED, of=_first(case)) if case.used.is_exhausted else None


def _recover(case: Case) -> Decision | None:
    """Else: recover the first write that is amiss, once."""
    return Recover(_first(case).operation)


RULES: tuple[Rule, ...] = (
    _held,
    _complete,
    _interrupted,
    _unable,
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


def rule_table() -> list[tuple[str, str]]:
    """Give the rules as a table, in their order: the name of each, and what it says."""
    return [(rule.__name__.lstrip("_"), rule.__doc__ or "") for rule in RULES]


def _first(case: Case) -> Tried:
    first = case.culprits[0]
    assert first is not None, "rule `unknown` stops where no write is to blame"
    return first


def _out_of_sight(case: Case) -> Tried | None:
    """Give a write that was sent, did not provably apply, and that no reading can show."""
    return next((each for each in case.without_facts if each.standing is not Standing.UNSENT), None)


def _replaces_for_good(case: Case, tried: Tried) -> bool:
    """Say whether there is something at the target that would be gone for good."""
    return not tried.undoable and case.latest[tried.operation.target].presence is Presence.PRESENT


def _stop(case: Case, stop: Stop, *, of: Tried | None = None, target: str = "") -> Blocked:
    worst = tuple(sorted(case.mismatches, key=lambda each: -each.severity))
    if of is None:
        return Blocked(stop, worst, target)
    return Blocked(stop, worst, of.operation.target, of.operation)
