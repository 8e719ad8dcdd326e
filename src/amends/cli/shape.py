"""The shapes of what commands print with `--json`, as models: `amends schema report` prints their JSON Schema.

Version 1. Fields may be added; a field that is here keeps its name and its meaning. A transaction is one object with
its `writes`. Where it has exactly one, what that write's outcome is also stands at the top, so that a script which
made one write need not look for it; several writes are never folded into one outcome.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from amends.broker import Life, Pruned, Report
from amends.contract.lifecycle import State
from amends.contract.operation import OperationKind
from amends.contract.outcome import Evidence, RecoveryAction, WriteOutcome
from amends.ports import Plan, Verification
from amends.settings import Settings

from .command import Located
from .story import Line, story
from .verdict import exit_code, is_undoable, unsent_text, verdict

VERSION: Literal[1] = 1


class Shape(BaseModel):
    """Whatever is printed: frozen, and with no field that is not named here."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Outcome(Shape):
    """What became of one write, and what to do about it."""

    operation_id: str | None = Field(description="The id of the write.")
    outcome: WriteOutcome | None = Field(description="Null while nothing was sent or concluded.")
    evidence: Evidence | None = Field(description="Why the outcome is what it is.")
    applied: bool | None = Field(description="True exactly if the outcome is applied.")
    text: str = Field(description="What to tell whoever asked, in a sentence or two.")
    action: RecoveryAction | None = Field(description="What the outcome calls for.")
    check_hint: str | None = Field(description="How to check; given with every ambiguous outcome.")
    check_after: int | None = Field(description="Unix milliseconds before which that check means nothing.")
    undo: str | None = Field(description="The command that proposes the undo; null where there is none.")


class LineShape(Shape):
    """One line of a write's life, as `show` tells it."""

    at: int = Field(description="Unix milliseconds.")
    word: str = Field(description="asked, read, recorded, sent, answered, concluded, ...")
    what: str = Field(description="What is recorded of it.")


class WriteShape(_Outcome):
    """One write."""

    operation_id: str = Field(description="The id of the write.")
    applied: bool = Field(description="True exactly if the outcome is applied.")
    kind: OperationKind = Field(description="What it does.")
    target: str = Field(description="The canonical target, `surface:key`.")
    source: str | None = Field(description="Where a move or rename comes from.")
    state: State = Field(description="Where the write stands.")
    level: str = Field(description="What the surface guarantees: atomic, conditional, racy or blind.")
    digest: str = Field(description="What its confirmation is bound to.")
    recovery: bool = Field(description="It is a recovery, not one of the writes that were asked for.")
    life: list[LineShape] | None = Field(description="Its life line by line; `show` only, else null.")


class ReportShape(_Outcome):
    """One transaction. The first nine fields are those of its only planned write; null where it has several."""

    text: str = Field(description="What to tell whoever asked; of several writes, the verdict.")
    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    transaction_id: str = Field(description="The id of the transaction.")
    title: str = Field(description="As the change document has it; may be empty.")
    state: State = Field(description="Where the transaction stands: open, complete, blocked or withdrawn.")
    verdict: str = Field(description="The same in one line.")
    joined: bool = Field(description="This call sent nothing and tells of an earlier one.")
    next: str | None = Field(description="The one command that goes on from here.")
    exit_code: int = Field(description="What the command left with.")
    follows: str | None = Field(description="The BLOCKED transaction that this one takes up.")
    left_out: list[str] = Field(description="What an undo can't restore, each in a sentence.")
    blocked: dict[str, Any] | None = Field(description="The BLOCKED report; null unless it is BLOCKED.")
    writes: list[WriteShape] = Field(description="Each write with its own outcome; recoveries come last.")


class ListShape(Shape):
    """Several transactions: the inbox, `log`, `check --all`."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    transactions: list[ReportShape] = Field(description="The inbox: oldest first; the log: newest first.")
    exit_code: int = Field(description="What the command left with.")


class PlannedShape(Shape):
    """One write of a dry run."""

    kind: OperationKind = Field(description="What it would do.")
    target: str = Field(description="The canonical target, `surface:key`.")
    level: str = Field(description="What the surface guarantees: atomic, conditional, racy or blind.")
    already_so: bool = Field(description="It is as asked already; nothing would be sent.")
    undoable: bool = Field(description="The surface could undo it.")
    warnings: list[str] = Field(description="Sentences to read before confirming.")
    preview: str = Field(description="What would change: a diff, or a sentence.")


class DryRunShape(Shape):
    """What a change would do. Nothing was recorded and nothing was sent."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    dry_run: Literal[True] = Field(default=True, description="What tells it from a report.")
    writes: list[PlannedShape] = Field(description="What each write would do.")
    exit_code: int = Field(description="What the command left with.")


class VerificationShape(Shape):
    """What `verify` found."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    events: int = Field(description="How many events were read.")
    processes: int = Field(description="How many processes wrote them.")
    blobs: int = Field(description="How many kept contents were read.")
    faults: list[str] = Field(description="Each fault in words.")
    exit_code: int = Field(description="What the command left with.")


class PrunedShape(Shape):
    """What `journal prune` did, or, of a dry run, would do."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    is_dry: bool = Field(description="Nothing was changed.")
    transactions: int = Field(description="How many were forgotten, or would be.")
    events: int = Field(description="How many events were forgotten.")
    blobs: int = Field(description="How many kept contents were removed.")
    kept: dict[str, int] = Field(description="How many transactions were kept, by reason.")
    exit_code: int = Field(description="What the command left with.")


class InitShape(Shape):
    """What `init` made."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    settings: str = Field(description="The file that was written.")
    surface: str = Field(description="The name of its surface.")
    root: str = Field(description="The folder of that surface.")
    journal: str = Field(description="Where the journal will be.")
    exit_code: int = Field(description="What the command left with.")


class ErrorShape(Shape):
    """Why a command could not be carried out."""

    version: Literal[1] = Field(default=VERSION, description="The version of these shapes.")
    error: str = Field(description="A stable code, such as document, target, proposal, journal or usage.")
    message: str = Field(description="The thing and the reason.")
    hint: str | None = Field(description="The next step.")
    exit_code: int = Field(description="What the command left with; at 2 and 5 nothing was sent.")


class Printed(
    RootModel[ReportShape | ListShape | DryRunShape | VerificationShape | PrunedShape | InitShape | ErrorShape],
):
    """Whatever a command prints with --json; version 1."""


def write_shape(life: Life, located: Located, *, is_told: bool = False) -> WriteShape:
    """Give the shape of one write; `is_told`: with its life line by line."""
    message = located.message(life)
    return WriteShape(
        operation_id=life.operation_id,
        outcome=message.outcome if message else None,
        evidence=message.evidence if message else None,
        applied=message.applied if message else False,
        text=message.text if message else unsent_text(life),
        action=message.action if message else None,
        check_hint=message.check_hint if message else None,
        check_after=message.check_after_ms if message else None,
        undo=located("undo", life.operation_id) if is_undoable(life) else None,
        kind=life.operation.kind,
        target=life.operation.target,
        source=life.operation.source,
        state=life.state,
        level=life.plan.guarantee.level,
        digest=life.digest,
        recovery=life.is_recovery,
        life=[_line_shape(line) for line in story(life)] if is_told else None,
    )


def report_shape(report: Report, located: Located, *, code: int | None = None, is_told: bool = False) -> ReportShape:
    """Give the shape of `report`."""
    writes = [write_shape(life, located, is_told=is_told) for life in report.lives]
    only = None
    if len(report.planned) == 1:
        name = report.latest(report.planned[0]).operation_id
        only = next(write for write in writes if write.operation_id == name)
    return ReportShape(
        operation_id=only and only.operation_id,
        outcome=only and only.outcome,
        evidence=only and only.evidence,
        applied=only and only.applied,
        text=only.text if only else verdict(report),
        action=only and only.action,
        check_hint=only and only.check_hint,
        check_after=only and only.check_after,
        undo=only and only.undo,
        transaction_id=report.transaction,
        title=report.title,
        state=report.state,
        verdict=verdict(report),
        joined=report.is_joined,
        next=located.next(report),
        exit_code=exit_code(report) if code is None else code,
        follows=report.follows,
        left_out=list(report.left_out),
        blocked=report.blocked,
        writes=writes,
    )


def list_shape(reports: list[Report], located: Located, *, code: int) -> ListShape:
    """Give the shape of several transactions."""
    return ListShape(transactions=[report_shape(report, located) for report in reports], exit_code=code)


def dry_run_shape(plans: list[tuple[Plan, str]]) -> DryRunShape:
    """Give the shape of a dry run."""
    writes = [
        PlannedShape(
            kind=plan.operation.kind,
            target=plan.operation.target,
            level=plan.guarantee.level,
            already_so=plan.operation.holds(plan.shown, plan.shown_source),
            undoable=plan.undoable,
            warnings=list(plan.warnings),
            preview=preview,
        )
        for plan, preview in plans
    ]
    return DryRunShape(writes=writes, exit_code=0)


def verification_shape(found: Verification) -> VerificationShape:
    """Give the shape of a verification."""
    return VerificationShape(
        events=found.events,
        processes=found.processes,
        blobs=found.blobs,
        faults=list(found.faults),
        exit_code=5 if found.faults else 0,
    )


def pruned_shape(pruned: Pruned, *, is_dry: bool) -> PrunedShape:
    """Give the shape of what was forgotten."""
    return PrunedShape(
        is_dry=is_dry,
        transactions=pruned.transactions,
        events=pruned.events,
        blobs=pruned.blobs,
        kept=dict(pruned.kept.most_common()),
        exit_code=0,
    )


def settings_shape(settings: Settings) -> InitShape:
    """Give the shape of new settings."""
    ((name, surface),) = settings.surfaces.items()
    return InitShape(
        settings=str(settings.path),
        surface=name,
        root=str(settings.root_of(surface)),
        journal=str(settings.journal_folder),
        exit_code=0,
    )


def _line_shape(line: Line) -> LineShape:
    return LineShape(at=line.at_ms, word=line.word, what=line.what)
