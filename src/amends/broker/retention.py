"""Retention: which transactions are over for good and may be forgotten, and forgetting them page by page.

Never forgotten: what is unsettled, held, not told yet, BLOCKED, or has used up recoveries; what can still be undone,
unless a person gives that up; and an undo whose write is kept. Kept bytes go with the last event that names them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from amends.contract.lifecycle import State
from amends.errors import ConflictError

from .report import Report, find
from .step import Forget, ListAfter, Recall, Steps, SweepBlobs, do
from .transaction import spent

PAGE = 100
"""Transactions that are forgotten in one step: few enough that writers don't notice it."""

UNDID = "the write that it undid is kept"


@dataclass(slots=True)
class Pruned:
    """What was forgotten, and why the rest is kept: how many transactions for each reason."""

    transactions: int = 0
    events: int = 0
    blobs: int = 0
    kept: Counter[str] = field(default_factory=Counter)


def prune(*, before_ms: int, gives_up_undo: bool = False, is_dry: bool = False) -> Steps[Pruned]:
    """Forget every transaction that ended before `before_ms` (Unix milliseconds) and that nothing needs any more."""
    pruned, after = Pruned(), ""
    while True:
        page = yield from do(ListAfter("tx_", after, PAGE))
        if not page:
            break
        after = page[-1]
        chosen: list[Report] = []
        for transaction in page:
            report = yield from find(transaction)
            why = why_kept(report, before_ms=before_ms, gives_up_undo=gives_up_undo)
            if why is None and not (yield from _is_free(report, chosen)):
                why = UNDID
            if why is None:
                chosen.append(report)
            else:
                pruned.kept[why] += 1
        if not is_dry:
            chosen = yield from _forget(chosen, pruned)
        pruned.transactions += len(chosen)
    if not is_dry:
        pruned.blobs = yield from do(SweepBlobs(before_ms))
    return pruned


def why_kept(report: Report, *, before_ms: int, gives_up_undo: bool) -> str | None:
    """Say why a transaction is not forgotten; None for one that may be."""
    if report.state is State.BLOCKED:
        return "it is BLOCKED / NOT COMPLETE"
    if report.state is State.OPEN or report.is_moving or report.waiting(State.CLOSED):
        return "it is not settled"
    if any(not life.is_delivered for life in report.waiting(State.APPLIED, State.FAILED)):
        return "whoever asked was not told yet"
    if spent(report).count:
        return "it has used up recoveries"
    events = [*report.events, *(event for life in report.lives for event in life.events)]
    if max(event.at_ms for event in events) >= before_ms:
        return "it is recent"
    can_be_undone = any(
        life.plan.undoable and life.is_undoable and life.undone_by is None for life in report.waiting(State.APPLIED)
    )
    return "it can be undone" if can_be_undone and not gives_up_undo else None


def _is_free(report: Report, before_it: list[Report]) -> Steps[bool]:
    """Say whether each write that `report` undid goes too: with one of `before_it`, or it went already."""
    going = {life.operation_id for each in before_it for life in each.lives}
    for life in report.lives:
        if life.reverses is not None and life.reverses not in going and (yield from do(Recall(life.reverses))):
            return False
    return True


def _forget(chosen: list[Report], pruned: Pruned) -> Steps[list[Report]]:
    """Forget `chosen`, oldest first, and give those that are forgotten."""
    try:
        pruned.events += yield from do(Forget(tuple(name for each in chosen for name in _names(each))))
    except ConflictError:  # one of them has become needed just now
        forgotten: list[Report] = []
        for each in chosen:
            try:
                if (yield from _is_free(each, forgotten)):
                    pruned.events += yield from do(Forget(tuple(_names(each))))
                    forgotten.append(each)
                else:
                    pruned.kept[UNDID] += 1
            except ConflictError as needed:
                pruned.kept[str(needed).replace(each.transaction, "it")] += 1
        return forgotten
    return chosen


def _names(report: Report) -> list[str]:
    return [report.transaction, *(life.operation_id for life in report.lives)]
