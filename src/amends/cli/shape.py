"""The shapes of what commands print with `--json`, as models: `amends schema` prints their JSON Schema.

Version 1. Fields may be added; a field that is here keeps its name and meaning. A transaction is one object with
its `writes`; where it has exactly one write, that write's fields also stand at the top, so that a script which made
one write need not look for it. Several writes are never folded into one outcome.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from amends.broker import Life, Report
from amends.contract.lifecycle import State
from amends.contract.message import RecoveryMessage, render_outcome, undo_refusal
from amends.contract.operation import Json, OperationKind
from amends.contract.outcome import Evidence, OperationResult, RecoveryAction, WriteOutcome

VERSION: Literal[1] = 1


class WriteShape(BaseModel):
    """One write. `outcome`, `evidence` and `action` are null while nothing was sent or concluded."""

    model_config = ConfigDict(extra="forbid")

    operation_id: str
    kind: OperationKind
    target: str
    source: str | None
    state: State
    outcome: WriteOutcome | None
    evidence: Evidence | None
    applied: bool
    text: str
    action: RecoveryAction | None
    check_hint: str | None
    check_after: int | None
    undo: str | None
    level: str
    digest: str


class ReportShape(BaseModel):
    """One transaction. `joined` says that this call sent nothing and tells of an earlier one."""

    model_config = ConfigDict(extra="allow")

    version: Literal[1] = VERSION
    transaction_id: str
    title: str
    state: State
    verdict: str
    joined: bool
    next: str | None
    exit_code: int
    writes: list[WriteShape]


class ErrorShape(BaseModel):
    """What went wrong before anything was sent."""

    version: Literal[1] = VERSION
    error: str
    message: str
    hint: str | None
    exit_code: int


class Located:
    """Commands that work from any folder: each names the folder whose settings it was made with."""

    def __init__(self, folder: str) -> None:
        """Take the folder as a shell word."""
        self.command = f"amends -C {folder}"

    def __call__(self, verb: str, subject: str, more: str = "") -> str:
        """Give the command that does `verb` to `subject`, an id, which is shortened."""
        return f"{self.command} {verb} {subject}{' ' + more if more else ''}"

    def result(self, life: Life) -> OperationResult | None:
        """Give the result of `life` with its commands located."""
        result = life.result
        if result is None or result.check_hint is None:
            return result
        hint = result.check_hint
        for verb in ("check", "attest"):
            hint = hint.replace(f"amends {verb} {life.operation_id}", f"{self.command} {verb} {life.operation_id}")
        return result.model_copy(update={"check_hint": hint})

    def message(self, life: Life) -> RecoveryMessage | None:
        """Give what is told of `life`; None while nothing was sent or concluded."""
        result = self.result(life)
        return None if result is None else render_outcome(result)


def is_undoable(life: Life) -> bool:
    """Say whether an undo of `life` can be proposed."""
    result = life.result
    return result is not None and life.undone_by is None and life.after is not None and undo_refusal(result) is None


def exit_code(report: Report) -> int:
    """Give the exit code of a verb that may send and that ended in `report`."""
    if report.state is State.COMPLETE:
        return 0
    if any(life.is_holding for life in report.lives):
        return 3
    if report.waiting(State.PROPOSED, State.CONFIRMED):
        return 6
    if len(report.lives) > 1:
        return 4
    return {State.CLOSED: 3, State.APPLIED: 0}.get(report.lives[0].state, 1)


def write_shape(life: Life, located: Located) -> WriteShape:
    """Give the shape of one write."""
    message = located.message(life)
    return WriteShape(
        operation_id=life.operation_id,
        kind=life.operation.kind,
        target=life.operation.target,
        source=life.operation.source,
        state=life.state,
        outcome=message.outcome if message else None,
        evidence=message.evidence if message else None,
        applied=message.applied if message else False,
        text=message.text if message else unsent_text(life),
        action=message.action if message else None,
        check_hint=message.check_hint if message else None,
        check_after=message.check_after_ms if message else None,
        undo=located("undo", life.operation_id) if is_undoable(life) else None,
        level=life.plan.guarantee.level,
        digest=life.digest,
    )


def report_shape(report: Report, located: Located, *, code: int | None = None) -> dict[str, Json]:
    """Give the JSON form of `report`."""
    writes = [write_shape(life, located) for life in report.lives]
    shape = ReportShape(
        transaction_id=report.transaction,
        title=report.title,
        state=report.state,
        verdict=verdict(report),
        joined=report.is_joined,
        next=next_command(report, located),
        exit_code=exit_code(report) if code is None else code,
        writes=writes,
    )
    document: dict[str, Any] = shape.model_dump(mode="json")
    if len(writes) == 1:
        document |= {name: value for name, value in document["writes"][0].items() if name not in document}
    return document


def unsent_text(life: Life) -> str:
    """Say what is so of a write that was not sent."""
    kind, target = life.operation.kind, life.operation.target
    match life.state:
        case State.PROPOSED:
            return f"To {kind} {target} is proposed and waits for a person; nothing was sent."
        case State.CONFIRMED:
            return f"To {kind} {target} was confirmed, but not sent yet."
        case State.ABANDONED:
            return f"To {kind} {target} was abandoned before it was sent: its intent could not be recorded."
        case _:
            return f"To {kind} {target} is {life.state}; nothing was sent."


def verdict(report: Report) -> str:
    """Say in one line how the transaction stands; never more than all of its writes bear."""
    done = sum(life.is_done for life in report.lives)
    of = f"{done} of {len(report.lives)} writes are as asked"
    match report.state:
        case State.COMPLETE:
            return f"COMPLETE: {of}."
        case State.BLOCKED:
            return f"BLOCKED / NOT COMPLETE: {of}."
        case State.WITHDRAWN:
            return "WITHDRAWN: nothing was sent."
        case _:
            return f"OPEN: {of}."


def next_command(report: Report, located: Located) -> str | None:
    """Give the one command that goes on from here, or None if there is nothing to do."""
    for life in report.lives:
        if life.is_holding:
            return located("check", life.operation_id)
        if life.state is State.CLOSED:
            return located("attest", life.operation_id, '--applied (or --failed) --reason "…"')
    if report.waiting(State.PROPOSED, State.CONFIRMED):
        return located("confirm", report.transaction)
    if report.state is State.BLOCKED and len(report.lives) > 1:
        return located("show", report.transaction)
    return None
