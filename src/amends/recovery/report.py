"""What is said of a BLOCKED transaction: what was asked, seen, and kept, why it stopped, and what to decide next.

Source: persistent-work discipline, "Terminal state". One literal phrasebook, `PHRASES`, has the sentences of each
stop reason. A report is made of what the governor decided on and of nothing else, so that it can't know more: every
line is about one target or one write, never about several at once (invariants 18 and 25). The next decision is data,
a verb and what it is about; a door makes a command of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from amends.contract.message import printable
from amends.contract.operation import Fact, Json, Observation, Operation, Presence

from .governor import Blocked, Case, Standing, Stop, Tried
from .mismatch import Mismatch, Severity, same_fact, severity, value_told

VERDICT = "BLOCKED / NOT COMPLETE"


class Verb(StrEnum):
    """What a person may do next."""

    FOLLOWUP = "followup"
    """Begin a new, linked transaction with a fresh audit."""
    ATTEST = "attest"
    """Say what became of a write that nothing can prove."""
    CHECK = "check"
    """Read again, and send nothing."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """What is said of a stop reason. Slots: target (what it is about), because (": " and why, where that is known)."""

    why: str
    verb: Verb
    first: str


PHRASES: dict[Stop, Phrase] = {
    Stop.NO_PROGRESS: Phrase(
        "After a recovery, no fact was closer to what was asked than before it.",
        Verb.FOLLOWUP,
        "mend what kept it from applying{because}",
    ),
    Stop.REGRESSION: Phrase(
        "A fact about {target} is further from what was asked than at an earlier look.",
        Verb.FOLLOWUP,
        "find out what changed {target}, and have it stop",
    ),
    Stop.OSCILLATION: Phrase(
        "{target} shows again what it showed before it changed, so something changes it back.",
        Verb.FOLLOWUP,
        "find out what changes {target} back, and have it stop",
    ),
    Stop.SAME_STEP_FAILED: Phrase(
        "What is still amiss at {target} was the aim of a recovery already, and there is one for each.",
        Verb.FOLLOWUP,
        "mend what kept it from applying{because}",
    ),
    Stop.BUDGET_EXHAUSTED: Phrase(
        "The two recoveries that a transaction has are used up.",
        Verb.FOLLOWUP,
        "mend what kept it from applying{because}",
    ),
    Stop.CAPABILITY_MISSING: Phrase(
        "What this needs can't be done at {target}{because}.",
        Verb.FOLLOWUP,
        "make it possible{because}",
    ),
    Stop.NEXT_DESTRUCTIVE: Phrase(
        "Going on at {target} would delete or replace something, and only a person may decide that.",
        Verb.FOLLOWUP,
        "look at {target}, and decide whether what is there may be lost",
    ),
    Stop.NEXT_AMBIGUOUS: Phrase(
        "It is not known what made {target} as it is, so it is not known what another write would do to it.",
        Verb.FOLLOWUP,
        "look at {target}, and decide whether it is still to be changed",
    ),
    Stop.INTERRUPTED: Phrase(
        "A person broke it off, and nothing goes on by itself after that.",
        Verb.FOLLOWUP,
        "decide whether it is still wanted",
    ),
}
"""One phrase for each stop reason. Two of them have another verb where a read or a person's word must come first."""

UNREADABLE = (Verb.CHECK, "make {target} readable{because}")
CLOSED = (Verb.ATTEST, "look at {target}, and say whether the write to it applied")

STANDINGS: dict[Standing, str] = {
    Standing.UNSENT: "was not sent",
    Standing.HELD: "may still land",
    Standing.APPLIED: "applied",
    Standing.ALREADY_SO: "was already as asked, so nothing was sent",
    Standing.FAILED: "did not apply",
    Standing.CLOSED: "may have applied; nothing can prove it any more",
}


@dataclass(frozen=True, slots=True)
class Next:
    """The smallest next decision: what to do first, in words, and then which verb, of which write.

    `operation` is the write that the verb is about; None means the transaction.
    """

    first: str
    verb: Verb
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class BlockedReport:
    """A BLOCKED transaction as it was when it stopped, and what to decide next.

    `asked` are the facts of its gate, `writes` what was tried for them, `observed` the newest reading. `holding` are
    the facts that held in it: with `kept` (what is kept, and where) they are what was preserved.
    """

    stop: Stop
    why: str
    asked: tuple[Fact, ...]
    writes: tuple[Tried, ...]
    observed: Mapping[str, Observation]
    mismatches: tuple[Mismatch, ...]
    holding: tuple[Fact, ...]
    kept: Mapping[str, str]
    next: Next

    def as_json(self) -> dict[str, Json]:
        """Give the report as JSON."""
        return {
            "verdict": VERDICT,
            "stop": str(self.stop),
            "why": self.why,
            "asked": [_fact_json(fact) for fact in self.asked],
            "writes": [_write_json(each) for each in self.writes],
            "observed": [{"target": target, **_seen_json(seen)} for target, seen in self.observed.items()],
            "mismatches": [_mismatch_json(each) for each in self.mismatches],
            "holding": [_fact_json(fact) for fact in self.holding],
            "kept": dict(self.kept),
            "next": {
                "verb": str(self.next.verb),
                "target": None if self.next.operation is None else self.next.operation.target,
                "first": self.next.first,
            },
        }

    def lines(self) -> tuple[str, ...]:
        """Give the report as lines for a person, each about one thing, and none longer than what it names."""
        listed = {
            "Asked for": [_fact_told(fact, "should be") for fact in self.asked],
            "Tried": [_write_told(each) for each in self.writes],
            "Seen": [_seen_told(target, seen) for target, seen in self.observed.items()],
            "Amiss": [str(each) for each in self.mismatches],
            "Holds": [_fact_told(fact, "is") for fact in self.holding],
            "Kept": [f"{what}: {where}" for what, where in self.kept.items()],
        }
        told = [f"{VERDICT}: {self.why}"]
        for heading, entries in listed.items():
            if entries:
                told += [f"{heading}:", *(f"  {entry}" for entry in entries)]
        told.append(f"Next: {self.next.first}; then {self.next.verb}.")
        return tuple(printable(line) for line in told)


def blocked_report(case: Case, blocked: Blocked, *, kept: Mapping[str, str]) -> BlockedReport:
    """Report what `blocked` was decided on. `kept` says what is kept and where, as far as the caller knows."""
    phrase = PHRASES[blocked.stop]
    verb, first, subject = phrase.verb, phrase.first, None
    write = _tried(case, blocked.operation)
    if blocked.stop is Stop.CAPABILITY_MISSING and blocked.operation is None:
        verb, first = UNREADABLE
    elif blocked.stop is Stop.NEXT_AMBIGUOUS and write is not None and write.standing is Standing.CLOSED:
        verb, first = CLOSED
        subject = write.operation
    slots = {"target": blocked.target, "because": _because(case, blocked, write)}
    asked = _unique(case.gate)
    return BlockedReport(
        stop=blocked.stop,
        why=printable(phrase.why.format(**slots)),
        asked=asked,
        writes=case.tried,
        observed=dict(case.latest),
        mismatches=blocked.mismatches,
        holding=tuple(fact for fact in asked if severity(fact, case.latest[fact.target]) is Severity.HOLDS),
        kept=dict(kept),
        next=Next(printable(first.format(**slots)), verb, subject),
    )


def _tried(case: Case, operation: Operation | None) -> Tried | None:
    return next((each for each in reversed(case.tried) if each.operation == operation), None)


def _because(case: Case, blocked: Blocked, write: Tried | None) -> str:
    if write is not None:
        cause = write.lacks if blocked.stop is Stop.CAPABILITY_MISSING else write.reason
    else:
        cause = case.latest[blocked.target].detail
    cause = (cause or "").strip().rstrip(".")
    return f": {cause}" if cause else ""


def _unique(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Give each fact once, however often it is stated."""
    return tuple(
        fact for place, fact in enumerate(facts) if not any(same_fact(fact, earlier) for earlier in facts[:place])
    )


def _fact_told(fact: Fact, verb: str) -> str:
    return f"{fact.target}: {fact.field} {verb} {value_told(fact.value)}"


def _write_told(tried: Tried) -> str:
    operation = tried.operation
    what = operation.target if operation.source is None else f"{operation.source} to {operation.target}"
    again = "a recovery: " if tried.is_recovery else ""
    reason = f": {tried.reason}" if tried.reason and not tried.standing.is_done else ""
    return f"{again}{operation.kind} {what}: {STANDINGS[tried.standing]}{reason}"


def _seen_told(target: str, seen: Observation) -> str:
    shows = str(seen.presence)
    if seen.presence is Presence.PRESENT and seen.fields:
        shows = ", ".join(f"{name} {value_told(value)}" for name, value in seen.fields.items())
    elif seen.presence is Presence.UNREADABLE and seen.detail:
        shows = f"{shows}: {seen.detail}"
    return f"{target}: {shows} ({_when(seen.at_ms)})"


def _when(at_ms: int | None) -> str:
    if at_ms is None:
        return "at a time that was not recorded"
    return f"seen at {datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y-%m-%dT%H:%M:%SZ}"


def _fact_json(fact: Fact) -> dict[str, Json]:
    return {"target": fact.target, "field": fact.field, "value": fact.value}


def _mismatch_json(mismatch: Mismatch) -> dict[str, Json]:
    degree = mismatch.severity.name.lower()
    return {**_fact_json(mismatch.fact), "severity": degree, "seen": mismatch.seen, "at_ms": mismatch.at_ms}


def _write_json(tried: Tried) -> dict[str, Json]:
    return {
        "kind": str(tried.operation.kind),
        "source": tried.operation.source,
        "target": tried.operation.target,
        "standing": str(tried.standing),
        "is_recovery": tried.is_recovery,
        "reason": tried.reason,
    }


def _seen_json(seen: Observation) -> dict[str, Json]:
    return {
        "presence": str(seen.presence),
        "version": seen.version,
        "fields": seen.fields,
        "at_ms": seen.at_ms,
        "detail": seen.detail,
    }
