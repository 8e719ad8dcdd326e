"""Forgetting: the events of what is over are removed, and the place where they stood in the chain is kept.

Each process's chain keeps, for a run of events that were forgotten, the hash before it and the hash that it ended
with, so that what is left still verifies from end to end (invariant 21). The very last event of a journal stays, since
the next process begins at it. Kept bytes that nothing names any more go too, once they are old enough that no write
which is just being proposed can name them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amends.contract.operation import canonical_json
from amends.errors import ConflictError

Run = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement of `queries.sql`, by its name, with its values."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of forgotten events of one process: what it came after, and what it ended with."""

    first: int
    last: int
    prev: bytes
    hash: bytes


def forget(subjects: Sequence[str], run: Run) -> int:
    """Remove the events of `subjects`, all or none, inside the running transaction; give how many there were.

    Raises ConflictError for a subject that is not over, has spent of a recovery budget, or wrote the last event.
    """
    for subject in subjects:
        if run("open_subject", subject):
            raise ConflictError(f"{subject} is not over")
        if run("recoveries_of", subject) != [(0,)]:
            raise ConflictError(f"{subject} has used up recoveries, which is never forgotten")
    if run("reversing_one_of", canonical_json(list(subjects))):
        raise ConflictError("an undo of it is under way")
    if any(last in subjects for (last,) in run("last_subject")):
        raise ConflictError("the last event of a journal is never forgotten")
    names = canonical_json(list(subjects))
    places = cast("list[tuple[int, int, bytes, bytes]]", run("places_of", names))
    for process, gap in _runs(places):
        before = cast("list[tuple[int, bytes]]", run("forgotten_before", process, gap.first - 1))
        after = cast("list[tuple[int, bytes]]", run("forgotten_after", process, gap.last + 1))
        if before:
            run("delete_forgotten", process, before[0][0])
        if after:
            run("delete_forgotten", process, gap.last + 1)
        first, prev = before[0] if before else (gap.first, gap.prev)
        last, ended = after[0] if after else (gap.last, gap.hash)
        run("insert_forgotten", process, first, last, prev, ended)
    run("delete_events_of", names)
    return len(places)


def gaps(run: Run) -> dict[int, dict[int, Gap]]:
    """Give every gap: by process number, then by the place of its first event."""
    found: dict[int, dict[int, Gap]] = {}
    for process, first, last, prev, ended in cast("list[tuple[int, int, int, bytes, bytes]]", run("all_forgotten")):
        found.setdefault(process, {})[first] = Gap(first, last, prev, ended)
    return found


def _runs(places: Iterable[tuple[int, int, bytes, bytes]]) -> Iterator[tuple[int, Gap]]:
    """Join places that follow each other in one process; they come in that order."""
    at: tuple[int, Gap] | None = None
    for process, n, prev, ended in places:
        if at is not None and at[0] == process and at[1].last + 1 == n:
            at = (process, Gap(at[1].first, n, at[1].prev, ended))
            continue
        if at is not None:
            yield at
        at = (process, Gap(n, n, prev, ended))
    if at is not None:
        yield at
