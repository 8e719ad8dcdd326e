"""What commands print for people. Colours only on a terminal; names of targets are never taken for markup."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from amends.broker import Life, Report
from amends.contract.lifecycle import Happened, State
from amends.contract.message import printable
from amends.contract.operation import ABSENT, Observation, Presence
from amends.contract.outcome import Evidence
from amends.ports import Event, Plan

from .shape import Located, is_undoable, next_command, unsent_text, verdict

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

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(*parts: str | Text, console: Console | None = None) -> None:
    """Print one line; plain strings are printed as they are."""
    (console or out).print(*parts, markup=False, emoji=False)


def styled(state: State, text: str | None = None) -> Text:
    """Give `text` in the colour of `state`; without a text, the state's own name."""
    return Text(text or state, style=_STYLES.get(state, "dim"))


def tell(report: Report, located: Located) -> None:
    """Print a transaction: each write with its outcome in its own sentence, then the verdict and the next step."""
    if report.is_joined:
        say("Nothing was sent now: this was asked for before, and here is how that stands.")
        if not next_command(report, located):
            say("To do it once more all the same: add --again.")
    if len(report.lives) > 1:
        say(f"{printable(report.title) or 'Transaction'}  ({report.transaction})")
    for life in report.lives:
        _tell_write(life, located, is_listed=len(report.lives) > 1)
    if len(report.lives) > 1:
        say(styled(report.state, verdict(report)))
    following = next_command(report, located)
    if following:
        say(f"Next: {following}")


def _tell_write(life: Life, located: Located, *, is_listed: bool) -> None:
    message = located.message(life)
    indent = "  " if is_listed else ""
    say(Text(indent), styled(life.state, f"{life.state:<9}"), message.text if message else unsent_text(life))
    if life.state is State.APPLIED and is_undoable(life):
        say(f"{indent}          Undo: {located('undo', life.operation_id)}")


def tell_plans(plans: Iterable[tuple[Plan, str]]) -> None:
    """Print what a dry run found."""
    for plan, preview in plans:
        operation = plan.operation
        say(Text(f"Would {operation.kind} {printable(operation.target)}", style="bold"), f"({plan.guarantee.level})")
        if operation.holds(plan.shown):
            say("  It is already as asked; nothing would be sent.")
        for line in preview.splitlines():
            say("  " + printable(line))
        for warning in plan.warnings:
            say("  Note: " + printable(warning))
        if not plan.undoable:
            say("  This could not be undone.")
    say("Nothing was recorded and nothing was sent.")


def tell_proposal(report: Report, previews: Iterable[str]) -> None:
    """Print what a person is asked to confirm."""
    if report.title:
        say(Text(printable(report.title), style="bold"))
    for life, preview in zip(report.lives, previews, strict=True):
        operation = life.operation
        say(f"{operation.kind} {printable(operation.target)}  ({life.plan.guarantee.level}), asked by {life.proposer}")
        for line in preview.splitlines():
            say("  " + printable(line))
        for warning in life.plan.warnings:
            say("  Note: " + printable(warning))
        if not life.plan.undoable:
            say("  This could not be undone.")


def tell_inbox(reports: list[Report], located: Located, journal: str) -> None:
    """Print what waits for somebody, each with its one command."""
    headings = {
        "To confirm": [r for r in reports if r.waiting(State.PROPOSED, State.CONFIRMED)],
        "May have applied": [r for r in reports if r.waiting(State.EXECUTING, State.AMBIGUOUS, State.CLOSED)],
        "BLOCKED / NOT COMPLETE": [r for r in reports if r.state is State.BLOCKED and len(r.lives) > 1],
    }
    for heading, found in headings.items():
        if not found:
            continue
        say(Text(heading, style="bold"))
        for report in found:
            say(f"  {summary(report)}")
            say(f"    {next_command(report, located)}")
    if not reports:
        say("Nothing waits: nothing to confirm, nothing that may have applied, nothing BLOCKED.")
    say(Text(f"Journal: {journal}", style="dim"))


def summary(report: Report) -> str:
    """Give one line about a transaction."""
    first = report.lives[0].operation
    more = f" and {len(report.lives) - 1} more" if len(report.lives) > 1 else ""
    title = f"{printable(report.title)}: " if report.title else ""
    return f"{title}{first.kind} {printable(first.target)}{more}"


def tell_log(reports: Iterable[Report]) -> None:
    """Print the newest transactions, one line for each write."""
    for report in reports:
        for life in report.lives:
            because = f" ({life.evidence})" if life.evidence else ""
            say(
                clock(life.events[0].at_ms),
                life.operation_id,
                styled(life.state, f"{life.state}{because}"),
                f"{life.operation.kind} {printable(life.operation.target)}",
            )


def tell_life(life: Life, located: Located) -> None:
    """Print an operation's life line by line: asked, read, recorded, sent, answered, concluded, with evidence."""
    say(
        Text(life.operation_id, style="bold"),
        f"{life.operation.kind} {printable(life.operation.target)}  ({life.plan.guarantee.level})",
    )
    for event in life.events:
        for word, what in _lines(event, life):
            say(f"  {clock(event.at_ms)}  {word:<10} {printable(what)}")
    _tell_write(life, located, is_listed=False)


def _lines(event: Event, life: Life) -> list[tuple[str, str]]:
    data = event.data
    match event.happened:
        case Happened.PROPOSED:
            facts = ", ".join(
                f"{fact.field} = {'absent' if fact.value == ABSENT else fact.value}"
                for fact in life.operation.postcondition
            )
            lines = [("asked", f"by {life.proposer}: {facts}"), ("read", _seen(life.plan.shown))]
            return [*lines, ("bound", f"to what will be sent and was shown: {life.digest}")]
        case Happened.CONFIRMED:
            return [("confirmed", f"by {data['by']}")]
        case Happened.INTENDED:
            lines = [("read", _seen(life.before)), ("recorded", f"the intent, epoch {event.epoch}, key {data['key']}")]
            return [*lines, ("sent", _sent(life))]
        case Happened.TAKEN_OVER:
            return [("taken over", f"by {data['owner']}, epoch {event.epoch}: its sender was gone or too long at it")]
        case Happened.FENCE_STARTED:
            return [("fenced", "so that it can't land from here on; then looked whether it had")]
        case Happened.ANSWER_LOST:
            return [("answered", f"nothing that proves anything: {data['reason'] or 'no reason given'}")]
        case Happened.APPLIED | Happened.FAILED | Happened.CLOSED:
            said = "; ".join(filter(None, [data.get("reason"), data.get("note")]))
            by = f" by {data['by']}" if "by" in data else ""
            return [("concluded", f"{event.happened} ({data['evidence']}{by}){': ' + said if said else ''}")]
        case Happened.DELIVERED:
            return [("told", "whoever asked")]
        case Happened.UNDONE:
            return [("undone", f"by operation {data['by']}")]
        case _:
            why = data.get("reason")
            return [(event.happened, f"by {data.get('by', 'Amends')}{': ' + str(why) if why else ''}")]


def _sent(life: Life) -> str:
    if life.state is State.ABANDONED:
        return "never"
    if life.evidence in (Evidence.ACKNOWLEDGED, Evidence.REFUSED):
        return "once, and answered"
    if life.evidence is Evidence.NEVER_SENT:
        return "not: it was set aside before it could land"
    return "at most once; whether it left is not recorded"


def _seen(seen: Observation | None) -> str:
    if seen is None:
        return "nothing"
    if seen.presence is Presence.PRESENT:
        return "present: " + ", ".join(f"{name} = {value}" for name, value in sorted(seen.fields.items()))
    return f"{seen.presence}{': ' + seen.detail if seen.detail else ''}"


def clock(at_ms: int) -> str:
    """Give a time as people here read it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]


def fail(message: str, hint: str | None) -> None:
    """Print an error and its next step."""
    say(Text("Error:", style="bold red"), printable(message), console=err)
    if hint:
        say(Text("Next:", style="bold"), printable(hint), console=err)


def is_terminal() -> bool:
    """Say whether a person can be asked something here."""
    return sys.stdin.isatty() and sys.stdout.isatty()
