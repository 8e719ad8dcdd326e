"""What commands print for people: a transaction, a proposal, the inbox, the log, a life, a verification.

Sentences about outcomes come from the contract's phrasebook; here they only get their place on the screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from amends.broker import Life, Pruned, Report
from amends.contract.lifecycle import State
from amends.contract.operation import Operation
from amends.contract.outcome import Evidence
from amends.ports import Plan, Verification
from amends.settings import Settings

from .command import Located
from .story import story
from .terminal import bold, say
from .verdict import is_undoable, unsent_text, verdict

_STYLES = {
    State.APPLIED: "green",
    State.COMPLETE: "green",
    State.FAILED: "red",
    State.BLOCKED: "bold red",
    State.AMBIGUOUS: "bold yellow",
    State.EXECUTING: "bold yellow",
    State.CLOSED: "bold yellow",
    State.PROPOSED: "cyan",
    State.CONFIRMED: "cyan",
    State.OPEN: "cyan",
}

_STATE_CHARS = max(map(len, State))
_INDENT = " " * _STATE_CHARS


def _styled(state: State, text: str) -> Text:
    return Text(text, style=_STYLES.get(state, "dim"))


def tell(report: Report, located: Located, *, remark: str | None = None, console: Console | None = None) -> None:
    """Print a transaction: each write with its outcome in its own sentence, then the verdict and the next step.

    `remark` says why this is told now; of a joined one that is said anyway.
    """
    following = located.next(report)
    if remark:
        say(remark, console=console)
    elif report.is_joined:
        say("Nothing was sent now: this was asked for before, and here is how that stands.", console=console)
        if not following:
            say("To do it once more all the same: add --again.", console=console)
    is_list = len(report.planned) != 1
    if is_list:
        say(bold(f"{report.title or 'Transaction'}  ({report.transaction})"), console=console)
    for life in report.lives if is_list else [report.latest(report.planned[0])]:
        _tell_write(life, located, console=console)
    if not is_list and report.state is State.COMPLETE and not report.latest(report.planned[0]).is_done:
        say("What was asked for holds now all the same.", console=console)
    for sentence in report.left_out:
        say(f"Can't be restored: {sentence}", console=console)
    if is_list or report.state is State.BLOCKED:
        say(_styled(report.state, verdict(report)), console=console)
    if is_list or report.waiting(State.CLOSED, State.APPLIED):
        _tell_blocked(report, console=console)
    if following:
        say(f"Next: {following}", console=console)


def tell_all(reports: list[Report], located: Located) -> None:
    """Print what became of everything that was checked."""
    for report in reports:
        tell(report, located)
    if not reports:
        say("Nothing may have applied; there is nothing to check.")


def _tell_blocked(report: Report, *, console: Console | None = None) -> None:
    """Print why it stopped, what is amiss, and what to decide; `show` has the whole report."""
    if report.blocked is None:
        return
    say(report.blocked["why"], console=console)
    told = report.blocked["lines"]
    amiss = told.index("Amiss:") if "Amiss:" in told else len(told)
    for line in told[amiss + 1 :]:
        if not line.startswith("  "):
            break
        say(line, console=console)
    say(f"First: {report.blocked['next']['first']}.", console=console)


def _tell_write(life: Life, located: Located, *, console: Console | None = None) -> None:
    message = located.message(life)
    say(_stand(life), _role(life) + (message.text if message else unsent_text(life)), console=console)
    if is_undoable(life):
        say(f"{_INDENT} Undo: {located('undo', life.operation_id)}", console=console)


def _stand(life: Life, because: str = "") -> Text:
    """Give the word for how a write stands."""
    if life.evidence is Evidence.ALREADY_SO:
        return _styled(State.COMPLETE, f"{'as asked':<{_STATE_CHARS}}")
    return _styled(life.state, f"{life.state + because:<{_STATE_CHARS}}")


def _role(life: Life) -> str:
    """Say what a write is where nobody asked for it as it stands."""
    if life.is_recovery:
        return "(a recovery) "
    return "" if life.reverses is None else "(an undo) "


def _what(operation: Operation) -> str:
    places = operation.target if operation.source is None else f"{operation.source} to {operation.target}"
    return f"{operation.kind} {places}"


def tell_plans(plans: Iterable[tuple[Plan, str]]) -> None:
    """Print what a dry run found."""
    for plan, preview in plans:
        say(bold(f"Would {_what(plan.operation)}"), f"({plan.guarantee.level})")
        if plan.operation.holds(plan.shown, plan.shown_source):
            say("  It is already as asked; nothing would be sent.")
        _tell_preview(plan, preview)
    say("Nothing was recorded and nothing was sent.")


def tell_proposal(report: Report, previews: Iterable[tuple[Life, str]], *, console: Console) -> None:
    """Print what a person is asked to decide on."""
    if report.title:
        say(bold(report.title), console=console)
    for life, preview in previews:
        what = f"{_what(life.operation)}  ({life.plan.guarantee.level}), asked by {life.proposer}"
        say(what, console=console)
        _tell_preview(life.plan, preview, console=console)


def _tell_preview(plan: Plan, preview: str, *, console: Console | None = None) -> None:
    for line in preview.splitlines():
        say("  " + line, console=console)
    for warning in plan.warnings:
        say("  Note: " + warning, console=console)
    if not plan.undoable:
        say("  This could not be undone.", console=console)


def tell_inbox(reports: list[Report], located: Located, journal: str) -> None:
    """Print what waits for somebody, each with its one command."""
    headings = {
        "To confirm": [r for r in reports if r.waiting(State.PROPOSED, State.CONFIRMED)],
        "May have applied": [r for r in reports if r.waiting(State.EXECUTING, State.AMBIGUOUS, State.CLOSED)],
        "BLOCKED / NOT COMPLETE": [r for r in reports if r.state is State.BLOCKED],
        "Unfinished": [r for r in reports if r.state is State.OPEN],
    }
    told: set[str] = set()
    for heading, found in headings.items():
        fresh = [report for report in found if report.transaction not in told]
        if fresh:
            say(bold(heading))
        for report in fresh:
            told.add(report.transaction)
            say(f"  {summary(report)}")
            say(f"    {located.next(report)}")
    if not reports:
        say("Nothing waits: nothing to confirm, nothing that may have applied, nothing BLOCKED.")
    say(Text(f"Journal: {journal}", style="dim"))


def summary(report: Report) -> str:
    """Give one line about a transaction."""
    if not report.planned:
        return report.title
    more = f" and {len(report.planned) - 1} more" if len(report.planned) > 1 else ""
    title = f"{report.title}: " if report.title else ""
    return f"{title}{_what(report.planned[0].operation)}{more}"


def tell_log(reports: Iterable[Report]) -> None:
    """Print the newest transactions, one line for each write, and one for what several come to."""
    for report in reports:
        if len(report.planned) != 1:
            line = f"{report.title or 'Transaction'}: {verdict(report)}"
            say(clock(report.events[0].at_ms), report.transaction, _styled(report.state, line))
        for life in report.lives:
            what = f"{_role(life)}{_what(life.operation)}"
            because = f" ({life.evidence})" if life.evidence else ""
            say(clock(life.events[0].at_ms), life.operation_id, _stand(life, because), what)


def tell_story(report: Report, located: Located) -> None:
    """Print the life of each write line by line, and how the transaction stands."""
    for life in report.lives:
        say(bold(life.operation_id), f"{_what(life.operation)}  ({life.plan.guarantee.level})")
        for line in story(life):
            say(f"  {clock(line.at_ms)}  {line.word:<10} {line.what}")
        _tell_write(life, located)
    if len(report.planned) != 1:
        say(_styled(report.state, verdict(report)))
    if report.blocked is not None:
        for line in report.blocked["lines"]:
            say(line)
    following = located.next(report)
    if following and f" show {report.transaction}" not in following and not report.waiting(State.CLOSED):
        say(f"Next: {following}")


def tell_settings(settings: Settings) -> None:
    """Print what new settings mean."""
    for name, surface in settings.surfaces.items():
        say(f"Wrote {settings.path}: targets are {name}:PATH, files in {settings.root_of(surface)}.")
    say(f"The journal will be in {settings.journal_folder}.")


def tell_verification(found: Verification) -> None:
    """Print what was read, and every fault."""
    say(f"Read {found.events} events of {found.processes} processes and {found.blobs} kept contents.")
    for fault in found.faults:
        say(Text(f"FAULT: {fault}", style="bold red"))
    if found.faults:
        say(f"{len(found.faults)} {'fault' if len(found.faults) == 1 else 'faults'} found.")
    else:
        say("No fault found.")


def tell_pruned(pruned: Pruned, is_dry: bool) -> None:
    """Print what was forgotten, and why the rest is kept."""
    for why, count in pruned.kept.most_common():
        say(f"kept       {count} {'transaction' if count == 1 else 'transactions'}: {why}")
    what = f"{pruned.transactions} {'transaction' if pruned.transactions == 1 else 'transactions'}"
    if is_dry:
        say(f"Would forget {what}. Nothing was changed.")
    else:
        say(f"Forgot {what}, {pruned.events} events and {pruned.blobs} kept contents.")


def clock(at_ms: int) -> str:
    """Give a time as people here read it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]
