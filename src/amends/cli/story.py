"""An operation's life line by line: asked, read, recorded, sent, answered, concluded, with evidence.

Every line is made of one recorded event, and says no more than that event proves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amends.broker import Life
from amends.contract.lifecycle import Happened, State
from amends.contract.message import printable
from amends.contract.operation import ABSENT, Observation, Presence
from amends.contract.outcome import Evidence
from amends.ports import Event


@dataclass(frozen=True, slots=True)
class Line:
    """What happened when, under one word."""

    at_ms: int
    word: str
    what: str


def story(life: Life) -> Iterator[Line]:
    """Tell `life` from its first event to its last."""
    for event in life.events:
        for word, what in _told(event, life):
            yield Line(event.at_ms, word, printable(what))


def _told(event: Event, life: Life) -> list[tuple[str, str]]:
    data = event.data
    match event.happened:
        case Happened.PROPOSED:
            lines = [("asked", f"by {life.proposer}: {_facts(life)}"), ("read", _seen(life.plan.shown))]
            return [*lines, ("bound", f"to what will be sent and was shown: {life.digest}")]
        case Happened.CONFIRMED:
            along = ", who confirmed the transaction, and with it this recovery" if life.is_recovery else ""
            return [("confirmed", f"by {data['by']}{along}")]
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
            answered = [("answered", "yes")] if data["evidence"] == Evidence.ACKNOWLEDGED else []
            said = "; ".join(filter(None, [data.get("reason"), data.get("note")]))
            by = f" by {data['by']}" if "by" in data else ""
            concluded = f"{event.happened} ({data['evidence']}{by}){': ' + said if said else ''}"
            return [*answered, ("concluded", concluded)]
        case Happened.DELIVERED:
            return [("told", "whoever asked")]
        case Happened.UNDONE:
            return [("undone", f"by operation {data['by']}")]
        case _:
            why = data.get("reason")
            return [(event.happened, f"by {data.get('by', 'Amends')}{': ' + str(why) if why else ''}")]


def _facts(life: Life) -> str:
    facts = life.operation.postcondition
    return ", ".join(f"{fact.field} = {'absent' if fact.value == ABSENT else fact.value}" for fact in facts)


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
