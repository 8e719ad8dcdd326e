"""What a report comes to: its exit code, its verdict in one line, and whether an undo can be offered.

Nothing is decided here; outcomes come from the broker, and these say no more than it does (invariants 18 and 25).
"""

from __future__ import annotations

from amends.broker import Life, Report
from amends.contract.lifecycle import State
from amends.contract.message import printable, undo_refusal


def exit_code(report: Report) -> int:
    """Give the exit code of a verb that may send and that ended in `report`."""
    if report.waiting(State.CLOSED) and report.state is State.COMPLETE:
        return 3
    if report.state is State.COMPLETE:
        return 0
    if any(life.is_holding for life in report.lives):
        return 3
    if report.waiting(State.PROPOSED):
        return 6
    if report.state is State.WITHDRAWN and len(report.planned) != 1:
        return 1
    if len(report.planned) != 1 or (report.state is State.BLOCKED and report.planned[0].is_done):
        return 4
    return {State.CLOSED: 3, State.APPLIED: 0}.get(report.latest(report.planned[0]).state, 1)


def is_undoable(life: Life) -> bool:
    """Say whether an undo of `life` can be proposed."""
    result = life.result
    return result is not None and life.undone_by is None and life.after is not None and undo_refusal(result) is None


def unsent_text(life: Life) -> str:
    """Say what is so of a write that was not sent."""
    what = f"The {life.operation.kind} of {printable(life.operation.target)}"
    match life.state:
        case State.PROPOSED:
            return f"{what} is proposed and waits for a person; nothing was sent."
        case State.CONFIRMED:
            return f"{what} is confirmed, but was not sent."
        case State.ABANDONED:
            return f"{what} was abandoned before it was sent: its intent could not be recorded."
        case _:
            return f"{what} is {life.state}; nothing was sent."


def verdict(report: Report) -> str:
    """Say in one line how the transaction stands; never more than all of its writes bear."""
    planned = report.planned
    done = sum(report.latest(life).is_done or life.is_done for life in planned)
    of = f"{done} of {len(planned)} {'write' if len(planned) == 1 else 'writes'} as asked"
    match report.state:
        case State.COMPLETE:
            return f"COMPLETE: {of}." if planned else "COMPLETE: all that was asked for holds already."
        case State.BLOCKED:
            return f"BLOCKED / NOT COMPLETE: {of}.{_aftermath(report)}"
        case State.WITHDRAWN:
            return "WITHDRAWN: nothing was sent."
        case _:
            return f"OPEN: {of}."


def _aftermath(report: Report) -> str:
    since = report.aftermath
    if since is None:
        return ""
    if "reason" not in since:
        return f" Later {since['by']} completed it."
    reason = f": {printable(since['reason'])}" if since["reason"] else ""
    return f" Later {printable(since['by'])} let it go{reason}."
