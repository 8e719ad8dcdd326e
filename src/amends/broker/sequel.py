"""What may come after a transaction has ended: its undo, and the follow-up of a BLOCKED one.

Both are new transactions, linked to the old one, that begin with a fresh look and are confirmed like any other. Neither
changes what the old one's verdict was (invariants 13 and 14).
"""

from __future__ import annotations

from dataclasses import replace

from amends.contract.lifecycle import UNSETTLED, State
from amends.contract.outcome import Evidence
from amends.contract.undo import build_undo
from amends.errors import MisuseError, RecoveryError
from amends.ports import Plan
from amends.recovery import mismatches

from .life import Life
from .machine import recall
from .proposal import Ask, open_transaction
from .report import Report, find, resolve
from .step import ListOpen, PlanUndo, Replan, Steps, do
from .transaction import about, audit


def undo(subject: str, ask: Ask) -> Steps[Report]:
    """Propose the reversal of one write, or of all applied writes of a transaction, last first.

    It is shown the state that each reversed write left, and revalidates against that: a target that somebody changed
    since is refused as stale. What can't be restored is listed in `left_out`; RecoveryError where nothing can be.
    """
    identity = yield from resolve(subject)
    report = yield from find(identity)
    chosen = [life for life in report.lives if life.operation_id == identity]
    if not chosen and len(report.lives) != 1:
        return (yield from _undo_all(report, ask))
    life = yield from _in_force((chosen or list(report.lives))[0])
    under_way = yield from _under_way({life.operation_id})
    if under_way is not None:
        return under_way
    plans = yield from _warned([(yield from _reversal(life))], besides=life.transaction)
    title = ask.title or f"Undo of {life.operation.kind} {life.operation.target}"
    return (yield from open_transaction(plans, replace(ask, title=title), reverses=[life.operation_id]))


def followup(subject: str, ask: Ask) -> Steps[Report]:
    """Take up a BLOCKED transaction: look afresh at its gate, and propose what is still amiss as a new transaction.

    If nothing is amiss any more, the new one is complete at once. Raises RecoveryError for one that is not BLOCKED.
    """
    report = yield from find(subject)
    if report.state is not State.BLOCKED:
        raise RecoveryError(f"{report.transaction} is {report.state}, not BLOCKED; there is nothing to follow up")
    if report.aftermath is not None:
        raise RecoveryError(f"{report.transaction} was taken up already, by {report.aftermath['by']}")
    for row in (yield from do(ListOpen())):
        if row.state is State.OPEN:
            other = yield from find(row.subject)
            if other.follows == report.transaction:
                return replace(other, is_joined=True)
    now = yield from audit(report)
    lives, earlier = report.lives, report.follows
    while earlier is not None:  # its gate is that of the first one, and a fact that held then may be amiss now
        followed = yield from find(earlier)
        lives, earlier = (*followed.lives, *lives), followed.follows
    plans: dict[str, Plan] = {}
    for mismatch in mismatches(report.gate, now):
        life = next(life for life in reversed(lives) if mismatch.fact in life.operation.postcondition)
        if life.operation_id not in plans:
            try:
                plans[life.operation_id] = yield from do(Replan(life.plan))
            except MisuseError as error:
                error.hint = (
                    f"{error.hint}; if it is not wanted any more, let it go: amends decline {report.transaction}"
                )
                raise
    title = report.title if report.follows else f"Follow-up of {report.title or report.transaction}"
    taking_up = replace(ask, title=ask.title or title, follows=report.transaction)
    warned = yield from _warned(list(plans.values()), besides=report.transaction)
    return (yield from open_transaction(warned, taking_up, gate=report.gate))


def _undo_all(report: Report, ask: Ask) -> Steps[Report]:
    plans: list[Plan] = []
    reversed_ids: list[str] = []
    left_out: list[str] = []
    for applied in reversed(report.waiting(State.APPLIED)):
        try:
            life = yield from _in_force(applied)
            plans.append((yield from _reversal(life)))
            reversed_ids.append(life.operation_id)
        except RecoveryError as refusal:
            left_out.append(str(refusal))
    under_way = yield from _under_way(set(reversed_ids))
    if under_way is not None:
        return under_way
    if not plans:
        raise RecoveryError(
            f"nothing of {report.transaction} can be undone: {'; '.join(left_out) or 'none of its writes applied'}"
        )
    title = ask.title or f"Undo of {report.title or report.transaction}"
    asking = replace(ask, title=title, follows=report.transaction if report.state is State.BLOCKED else None)
    warned = yield from _warned(plans, besides=report.transaction)
    return (yield from open_transaction(warned, asking, reverses=reversed_ids, left_out=left_out))


def _warned(plans: list[Plan], *, besides: str) -> Steps[list[Plan]]:
    """Have whoever confirms know which other transactions failed on their way and are about the same."""
    warned: list[Plan] = []
    for plan in plans:
        others = yield from about([plan.operation], besides=besides)
        told = tuple(
            f"{other.transaction}, which is about the same, has failed on its way; see amends show {other.transaction}."
            for other in others
            if other.has_failed
        )
        warned.append(replace(plan, warnings=(*plan.warnings, *told)))
    return warned


def _in_force(life: Life) -> Steps[Life]:
    """Give the write whose reversal takes away what `life` did: itself, or the undo of its undo.

    Raises RecoveryError if what it did was undone.
    """
    undone = life.operation_id
    while life.undone_by is not None:
        undoing = yield from recall(life.undone_by)
        if undoing.undone_by is None:
            raise RecoveryError(f"operation {undone} was undone already, by operation {undoing.operation_id}")
        life = yield from recall(undoing.undone_by)
    return life


def _under_way(operation_ids: set[str]) -> Steps[Report | None]:
    """Give the transaction that waits to undo exactly these writes. Raises RecoveryError if one undoes others too."""
    for row in (yield from do(ListOpen())):
        if row.reverses in operation_ids and row.state in UNSETTLED:
            report = yield from find(row.subject)
            if {life.reverses for life in report.planned} == operation_ids:
                return replace(report, is_joined=True)
            raise RecoveryError(
                f"operation {row.reverses} is being undone already, by operation {row.subject}",
                hint=f"settle that first: amends show {row.subject}",
            )
    return None


def _reversal(life: Life) -> Steps[Plan]:
    """Plan the reversal of one write. Raises RecoveryError for what can't be undone."""
    result = life.result
    if result is None:
        raise RecoveryError(
            f"operation {life.operation_id} is {life.state}: nothing was sent, so nothing can be undone"
        )
    if life.state is State.APPLIED and life.plan.undoable and life.after is None:
        raise RecoveryError(
            f"operation {life.operation_id} can't be undone: {life.operation.target} was no longer as it left it when"
            " that was looked at, so that undoing it could lose somebody else's work"
        )
    proposal = build_undo(result)
    plan = yield from do(PlanUndo(proposal, life.attempt))
    if life.evidence is not Evidence.OBSERVED:
        return plan
    seen_only = "The write that this reverses was never proved to be ours: its target was only seen to hold it."
    return replace(plan, warnings=(*plan.warnings, seen_only))
