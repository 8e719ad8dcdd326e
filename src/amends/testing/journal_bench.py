"""What a journal is tested with: a bench that opens it and makes it fail, and the story of a write to record.

Whoever writes a journal makes a `JournalBench` for it and calls the promises of `amends.testing.journal_conformance`.
Nothing here knows a particular journal, and nothing needs a test library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import AmendsError, JournalError
from amends.ports import Event, Journal

from .fake_clock import FakeClock


@dataclass(frozen=True, slots=True)
class JournalBench:
    """One journal to test. `open` opens it, each time as another process, on one and the same store.

    `break_next_commit` makes the next commit of that opening fail before or after it took effect; `kill` ends that
    opening as a SIGKILL would.
    """

    open: Callable[[], Journal]
    break_next_commit: Callable[[Journal, Literal["before", "after"]], None]
    kill: Callable[[Journal], None]
    clock: FakeClock = field(default_factory=FakeClock)


Promise = Callable[[JournalBench], None]

AT_MS = 7
NOTE = Claim("notes:a.md")


def operation(name: str, *, upto: Happened = Happened.CONFIRMED, claims: Sequence[Claim] = (NOTE,)) -> list[Event]:
    """Give the events of a write from its proposal to `upto`."""
    about = {"fingerprint": f"print of {name}", "transaction": "tx_1", "reverses": None}
    story = [
        Event(name, Happened.PROPOSED, AT_MS, about),
        Event(name, Happened.CONFIRMED, AT_MS),
        Event(name, Happened.INTENDED, AT_MS, {"key": "k"}, epoch=1, claims=tuple(claims)),
        Event(name, Happened.APPLIED, AT_MS, {"evidence": "receipt"}, epoch=1, releases=True),
        Event(name, Happened.DELIVERED, AT_MS, epoch=1),
    ]
    return story[: [event.happened for event in story].index(upto) + 1]


def refused(error: type[AmendsError] | type[ValueError], journal: Journal, *events: Event) -> Exception:
    """See that the batch is refused with `error`, and that nothing of it is left; give the exception."""
    subjects = {event.subject for event in events if event.subject.isprintable()}
    before = [journal.open(), *[journal.events(subject) for subject in subjects]]
    try:
        journal.commit(events)
    except error as refusal:
        assert [journal.open(), *[journal.events(subject) for subject in subjects]] == before
        return refusal
    raise AssertionError(f"not refused: {events}")


def state_of(journal: Journal, subject: str) -> State | None:
    """Give the state that the open table shows."""
    return next((row.state for row in journal.open() if row.subject == subject), None)


def fails(journal: Journal, events: Sequence[Event]) -> None:
    """See that the commit raises JournalError, after which nothing is known."""
    try:
        journal.commit(events)
    except JournalError:
        return
    raise AssertionError("the commit was to fail")
