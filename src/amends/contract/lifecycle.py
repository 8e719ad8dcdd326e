"""The one transition table: what may happen to a write, and to a transaction, and what each is afterwards.

`TABLE` is a literal. A missing pair is illegal: it raises and leaves the state as it was. Terminal states are rows
like any other, so that what may still happen to them (a claim released, an answer delivered, an undo) is in sight.
SQL checks, the JSON enum and the diagram in the docs derive from this table, and a test says so.

Two rules that the rows show:
- An outcome moves only from ambiguous to applied or failed; terminal outcomes never change (invariant 6).
- A takeover leads to ambiguous, never to a send: no row leads back from `executing` or `ambiguous` to `confirmed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from amends.errors import LostRaceError


class State(StrEnum):
    """What a write (or, from `open` on, a transaction) is."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    DECLINED = "declined"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    EXECUTING = "executing"
    ABANDONED = "abandoned"
    AMBIGUOUS = "ambiguous"
    CLOSED = "closed"
    APPLIED = "applied"
    FAILED = "failed"
    OPEN = "open"
    COMPLETE = "complete"
    BLOCKED = "blocked"
    WITHDRAWN = "withdrawn"


class Happened(StrEnum):
    """What can happen to a write or a transaction."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    DECLINED = "declined"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    INTENDED = "intended"
    """The intent is durable; from here on the first byte may leave."""
    ABANDONED = "abandoned"
    """The intent's commit failed; nothing was sent for it and nothing will be."""
    ANSWER_LOST = "answer_lost"
    TAKEN_OVER = "taken_over"
    """Another process works on it now, under the next epoch."""
    FENCE_STARTED = "fence_started"
    APPLIED = "applied"
    FAILED = "failed"
    CLOSED = "closed"
    """Ambiguous, and quiescent: waiting can't settle it any more."""
    QUIESCED = "quiesced"
    """The attempt of a decided write can no longer land; its claims are free."""
    DELIVERED = "delivered"
    """Somebody was told the outcome."""
    UNDONE = "undone"
    """A later write reversed this one."""
    OPENED = "opened"
    RECOVERING = "recovering"
    """A recovery joins the transaction; with what it was decided on, and what of the budget it uses up."""
    PROCEEDING = "proceeding"
    """A planned write follows after one that failed; decided on a fresh reading, as a recovery is."""
    COMPLETED = "completed"
    BLOCKED = "blocked"
    WITHDRAWN = "withdrawn"
    FOLLOWED_UP = "followed_up"
    """A later transaction completed what this BLOCKED one did not, or a person let it go; its verdict stands."""


TABLE: dict[State | None, dict[Happened, State]] = {
    None: {
        Happened.PROPOSED: State.PROPOSED,
        Happened.OPENED: State.OPEN,
    },
    State.PROPOSED: {
        Happened.CONFIRMED: State.CONFIRMED,
        Happened.DECLINED: State.DECLINED,
        Happened.SUPERSEDED: State.SUPERSEDED,
        Happened.EXPIRED: State.EXPIRED,
        Happened.FAILED: State.FAILED,
    },
    State.CONFIRMED: {
        Happened.INTENDED: State.EXECUTING,
        Happened.DECLINED: State.DECLINED,
        Happened.FAILED: State.FAILED,
    },
    State.EXECUTING: {
        Happened.APPLIED: State.APPLIED,
        Happened.FAILED: State.FAILED,
        Happened.ANSWER_LOST: State.AMBIGUOUS,
        Happened.TAKEN_OVER: State.AMBIGUOUS,
        Happened.ABANDONED: State.ABANDONED,
    },
    State.AMBIGUOUS: {
        Happened.FENCE_STARTED: State.AMBIGUOUS,
        Happened.TAKEN_OVER: State.AMBIGUOUS,
        Happened.APPLIED: State.APPLIED,
        Happened.FAILED: State.FAILED,
        Happened.CLOSED: State.CLOSED,
    },
    State.CLOSED: {
        Happened.APPLIED: State.APPLIED,
        Happened.FAILED: State.FAILED,
    },
    State.APPLIED: {
        Happened.FENCE_STARTED: State.APPLIED,
        Happened.QUIESCED: State.APPLIED,
        Happened.DELIVERED: State.APPLIED,
        Happened.UNDONE: State.APPLIED,
    },
    State.FAILED: {
        Happened.FENCE_STARTED: State.FAILED,
        Happened.QUIESCED: State.FAILED,
        Happened.DELIVERED: State.FAILED,
    },
    State.DECLINED: {},
    State.SUPERSEDED: {},
    State.EXPIRED: {},
    State.ABANDONED: {},
    State.OPEN: {
        Happened.RECOVERING: State.OPEN,
        Happened.PROCEEDING: State.OPEN,
        Happened.COMPLETED: State.COMPLETE,
        Happened.BLOCKED: State.BLOCKED,
        Happened.WITHDRAWN: State.WITHDRAWN,
    },
    State.COMPLETE: {},
    State.BLOCKED: {
        Happened.FOLLOWED_UP: State.BLOCKED,
    },
    State.WITHDRAWN: {},
}

HOLDING: frozenset[State] = frozenset({State.EXECUTING, State.AMBIGUOUS})
"""States whose attempt may still land: claims are held, whatever else happens."""

UNSETTLED: frozenset[State] = HOLDING | {State.PROPOSED, State.CONFIRMED, State.CLOSED}
"""States in which the same payload again is joined instead of proposed anew."""


def after(state: State | None, event: Happened) -> State:
    """Give the state that `event` leads to from `state` (None: not recorded yet).

    Raises LostRaceError when the table has no such row: somebody else was first, or the caller is wrong.
    """
    following = TABLE[state].get(event)
    if following is None:
        raise LostRaceError(f"'{event}' can't happen to something that is {state or 'not recorded'}")
    return following


def fold(events: Iterable[Happened]) -> State | None:
    """Give the state that a history ends in; None for an empty one."""
    state: State | None = None
    for event in events:
        state = after(state, event)
    return state


def diagram() -> str:
    """Draw the table as a mermaid state diagram; rows that stay where they are are left out."""
    lines = ["stateDiagram-v2"]
    for state, row in TABLE.items():
        lines += [
            f"    {state or '[*]'} --> {following}: {event}" for event, following in row.items() if following != state
        ]
    return "\n".join(lines)
