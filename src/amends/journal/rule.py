"""The one rule that every journal keeps: what a batch of events makes of what is recorded, or why it may not.

Pure: the journals bring what is recorded (`Recorded`) and write what `judge` gives. The state of a subject is the fold
of its events through the lifecycle table; its epoch grows only with `intended` and `taken_over`; claims that overlap
are never held by two subjects (invariants 5, 6, 12, 19 and 27). Nothing here is changed by a batch that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from amends.contract.lifecycle import HOLDING, UNSETTLED, Happened, State, after
from amends.contract.operation import Claim
from amends.errors import BudgetSpentError, ClaimHeldError, ConflictError, LostRaceError
from amends.ports import Event, OpenSubject
from amends.recovery import Aim, Spent, overlap

ALWAYS_OPEN = UNSETTLED | {State.OPEN}
"""States of which there is always something left to do."""

DECIDED = frozenset({State.APPLIED, State.FAILED, State.BLOCKED})
"""States that are over as soon as somebody was told, or, of a BLOCKED one, as soon as a follow-up completed."""

EPOCH_GROWS_WITH = frozenset({Happened.INTENDED, Happened.TAKEN_OVER, Happened.RECOVERING, Happened.PROCEEDING})
"""A transaction's grows with whatever was decided on a reading: what another process read before is stale then."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one subject stands after all its events. `since` is the place of its first event in the journal.

    `places` are the targets that a transaction is about, sorted.
    """

    state: State
    epoch: int = 0
    is_delivered: bool = False
    claims: tuple[Claim, ...] = ()
    transaction: str | None = None
    fingerprint: str | None = None
    reverses: str | None = None
    since: int = 0
    places: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Say whether it belongs into the table of what is not over."""
        return self.state in ALWAYS_OPEN or bool(self.claims) or (self.state in DECIDED and not self.is_delivered)

    def shown(self, subject: str) -> OpenSubject:
        """Give the row of the open table."""
        return OpenSubject(
            subject, self.state, self.epoch, self.transaction, self.fingerprint, self.reverses, self.claims
        )


class Recorded(Protocol):
    """What a journal can say of what it holds, inside the step that will write."""

    def standing(self, subject: str) -> Standing | None:
        """Give where `subject` stands; None if it has no event."""

    def spent(self, transaction: str) -> Spent:
        """Give what the recoveries of `transaction` have used up."""

    def claimed(self, claims: Sequence[Claim]) -> Iterable[tuple[str, Claim]]:
        """Give held claims with their holders: at least all that overlap one of `claims`."""


def step(before: Standing | None, event: Event) -> Standing:
    """Give where a subject stands after `event`. Raises LostRaceError where lifecycle or epoch forbid it."""
    state = after(before.state if before else None, event.happened)
    before = before or Standing(state)
    epoch = before.epoch + 1 if event.happened in EPOCH_GROWS_WITH else before.epoch
    if event.epoch != epoch:
        raise LostRaceError(f"'{event.happened}' of {event.subject} has epoch {event.epoch} where {epoch} is due")
    if event.releases and state in HOLDING:
        raise ValueError(f"'{event.happened}' of {event.subject} can't release claims: its attempt may still land")
    about = (before.transaction, before.fingerprint, before.reverses)
    if event.happened is Happened.PROPOSED:
        about = (_word(event, "transaction"), _word(event, "fingerprint"), _word(event, "reverses"))
    claims = merged(event.claims) or (() if event.releases else before.claims)
    is_delivered = before.is_delivered or event.happened in (Happened.DELIVERED, Happened.FOLLOWED_UP)
    places = before.places
    if event.happened in (Happened.OPENED, Happened.RECOVERING) and event.data.get("places"):
        places = tuple(sorted({*places, *event.data["places"]}))
    return Standing(state, epoch, is_delivered, claims, *about, before.since, places)


def _word(event: Event, key: str) -> str | None:
    word = event.data.get(key)
    if word is not None and not isinstance(word, str):
        raise ValueError(f"the {key} of {event.subject} is not a text")
    return word


def merged(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Give `claims` by name, each name once: the wider of two is the one that holds."""
    if len(claims) < 2:  # noqa: PLR2004 - the common case, with nothing to merge or sort
        return claims
    by_name: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda c: (c.name, c.subtree)):
        by_name[claim.name] = claim
    return tuple(by_name.values())


def spending(event: Event) -> Spent | None:
    """Give what of its transaction's budget `event` uses up; None for what uses up nothing."""
    spends = event.data.get("spends") if event.happened is Happened.RECOVERING else None
    if spends is None:
        return None
    aims = frozenset(Aim(target, field) for target, field in spends["aims"])
    return Spent(frozenset(spends["fingerprints"]), aims, 1)


def plus(spent: Spent, more: Spent) -> Spent:
    """Give both together. Raises BudgetSpentError where `more` is not left any more."""
    if spent.is_exhausted or spent.fingerprints & more.fingerprints or overlap(spent.aims, more.aims):
        raise BudgetSpentError
    return Spent(spent.fingerprints | more.fingerprints, spent.aims | more.aims, spent.count + more.count)


def spent_by(events: Iterable[Event]) -> Spent:
    """Give what the events of one transaction have used up. Raises BudgetSpentError if that is more than there was."""
    spent = Spent()
    for event in events:
        more = spending(event)
        spent = spent if more is None else plus(spent, more)
    return spent


@dataclass(frozen=True, slots=True)
class Change:
    """Where a subject stood before a batch (None: it had no event), and where it stands after it."""

    before: Standing | None
    after: Standing


def judge(events: Sequence[Event], recorded: Recorded) -> dict[str, Change]:
    """Give what the batch does to each of its subjects.

    Raises LostRaceError, BudgetSpentError or ClaimHeldError if it may not happen, ValueError for a mistake of ours.
    """
    changes: dict[str, Change] = {}
    budgets: dict[str, Spent] = {}
    for event in events:
        more = spending(event)
        if more is not None:
            so_far = budgets.get(event.subject) or recorded.spent(event.subject)
            budgets[event.subject] = plus(so_far, more)
        change = changes.get(event.subject)
        before = change.after if change else recorded.standing(event.subject)
        following = step(before, event)
        reverses = following.reverses if event.happened is Happened.PROPOSED else None
        if reverses is not None and reverses not in changes and recorded.standing(reverses) is None:
            raise LostRaceError(f"{event.subject} reverses {reverses}, of which nothing is recorded")
        if event.claims:
            if before and before.claims and not event.releases:
                raise ClaimHeldError(event.subject, before.claims[0].name)
            _refuse_overlap(event, changes, recorded)
        changes[event.subject] = Change(change.before if change else before, following)
    return changes


def _refuse_overlap(event: Event, changes: dict[str, Change], recorded: Recorded) -> None:
    held = [(holder, claim) for holder, claim in recorded.claimed(event.claims) if holder not in changes]
    held += [(holder, claim) for holder, change in changes.items() for claim in change.after.claims]
    for holder, claim in held:
        if holder != event.subject and any(claim.overlaps(wanted) for wanted in event.claims):
            raise ClaimHeldError(holder, claim.name)


def settle_doubt(
    events: Sequence[Event],
    recorded: Recorded,
    *,
    append: Callable[[Sequence[Event]], None],
    is_own_intent: Callable[[str], bool],
    at_ms: int,
) -> None:
    """Make sure that intents whose commit failed can't come back: write the batch again, then abandon its intents.

    Runs inside one write transaction, so it concludes from what that transaction commits, never from a read alone. A
    batch that landed after all is refused by the lifecycle (an intent happens once). So is one whose subject or claims
    somebody else has taken meanwhile: their commit came after ours had failed, so ours can't come back.
    """
    with suppress(ConflictError):
        append(events)
    abandoned = [
        Event(event.subject, Happened.ABANDONED, at_ms, epoch=event.epoch, releases=True)
        for event in events
        if event.happened is Happened.INTENDED
        and (standing := recorded.standing(event.subject)) is not None
        and (standing.state, standing.epoch) == (State.EXECUTING, event.epoch)
        and is_own_intent(event.subject)
    ]
    if abandoned:
        append(abandoned)


def has_intent(events: Iterable[Event]) -> bool:
    """Say whether the batch may let a first byte leave."""
    return any(event.happened is Happened.INTENDED for event in events)
