"""The BLOCKED report: what was asked, seen and kept, why it stopped, what to decide next, and nothing beyond."""

import json
from collections.abc import Callable
from string import Formatter

import pytest
from hypothesis import given

from amends import ABSENT, Observation, OperationKind, Presence
from amends.contract.message import printable
from amends.recovery import Blocked, BlockedReport, Case, Spent, Standing, Stop, Verb, blocked_report, decide
from amends.recovery.report import PHRASES, STANDINGS
from tests.recovery.example import (
    ABSENT_NOTE,
    A,
    B,
    C,
    applied,
    case,
    closed,
    edit,
    failed,
    note,
    recovery,
    tried,
    unreadable,
    unsent,
    write,
)
from tests.recovery.test_governor import CASES

KEPT = {f"{A} as it was before": "the archive of notes, 2026-11-30"}
OLD = {A: note(at_ms=1_000)}


def report(given_case: Case) -> BlockedReport:
    """The report of a case that is BLOCKED."""
    decision = decide(given_case)
    assert isinstance(decision, Blocked), decision
    return blocked_report(given_case, decision, kept=KEPT)


STORIES: dict[Stop, Callable[[], Case]] = {
    Stop.NO_PROGRESS: lambda: case(
        failed(edit(A)), recovery(edit(A), Standing.FAILED, OLD, reason="the disk is full."), now=OLD
    ),
    Stop.REGRESSION: lambda: case(failed(edit(A)), now={A: note(None)}),
    Stop.OSCILLATION: lambda: case(failed(edit(A)), now=OLD, history=(OLD, {A: note("x")})),
    Stop.SAME_STEP_FAILED: lambda: case(
        failed(edit(A), reason="it was refused"), now=OLD, spent=Spent().also(edit(A), [])
    ),
    Stop.BUDGET_EXHAUSTED: lambda: case(failed(edit(A), reason="it was refused"), now=OLD, spent=Spent(count=2)),
    Stop.CAPABILITY_MISSING: lambda: case(failed(edit(A), lacks="the folder is read-only"), now=OLD),
    Stop.NEXT_DESTRUCTIVE: lambda: case(applied(edit(A)), now={A: note("theirs")}),
    Stop.NEXT_AMBIGUOUS: lambda: case(closed(edit(A)), now={A: note("nwe")}),
    Stop.INTERRUPTED: lambda: case(failed(edit(A), was_interrupted=True), now=OLD),
}
"""One story that ends in each stop reason."""

NEXT: dict[Stop, tuple[Verb, str]] = {
    Stop.NO_PROGRESS: (Verb.FOLLOWUP, "mend what kept it from applying: the disk is full"),
    Stop.REGRESSION: (Verb.FOLLOWUP, f"find out what changed {A}, and have it stop"),
    Stop.OSCILLATION: (Verb.FOLLOWUP, f"find out what changes {A} back, and have it stop"),
    Stop.SAME_STEP_FAILED: (Verb.FOLLOWUP, "mend what kept it from applying: it was refused"),
    Stop.BUDGET_EXHAUSTED: (Verb.FOLLOWUP, "mend what kept it from applying: it was refused"),
    Stop.CAPABILITY_MISSING: (Verb.FOLLOWUP, "make it possible: the folder is read-only"),
    Stop.NEXT_DESTRUCTIVE: (Verb.FOLLOWUP, f"look at {A}, and decide whether what is there may be lost"),
    Stop.NEXT_AMBIGUOUS: (Verb.ATTEST, f"look at {A}, and say whether the write to it applied"),
    Stop.INTERRUPTED: (Verb.FOLLOWUP, "decide whether it is still wanted"),
}


@pytest.mark.requirement("recovery:stop:reasons", "recovery:report:next")
@pytest.mark.parametrize("stop", Stop)
def test_each_reason_to_stop_has_a_story_and_a_next_decision(stop: Stop) -> None:
    """A reason that nothing leads to is a promise without a case; one without a next step leaves people alone."""
    told = report(STORIES[stop]())
    assert told.stop is stop
    assert (told.next.verb, told.next.first) == NEXT[stop]
    assert told.lines()[-1] == f"Next: {NEXT[stop][1]}; then {NEXT[stop][0]}."


@pytest.mark.requirement("recovery:stop:reasons", "recovery:report:content")
def test_each_reason_has_one_whole_sentence_of_its_own() -> None:
    """Two reasons with one sentence would be one reason; a slot that stays open is no sentence."""
    assert set(PHRASES) == set(Stop)
    said = [report(STORIES[stop]()).why for stop in Stop]
    assert len(set(said)) == len(said)
    assert all(each.endswith(".") and ". " not in each and "{" not in each for each in said)
    for phrase in PHRASES.values():
        slots = {name for text in (phrase.why, phrase.first) for _, name, _, _ in Formatter().parse(text) if name}
        assert slots <= {"target", "because"}


@pytest.mark.requirement("recovery:report:next")
def test_what_can_not_be_read_is_made_readable_and_looked_at_first() -> None:
    """Nobody can decide about what nobody can see; a read is less than a follow-up."""
    told = report(case(failed(edit(A)), now={A: unreadable("permission denied")}))
    assert (told.next.verb, told.next.first) == (Verb.CHECK, f"make {A} readable: permission denied")
    assert told.why == f"What this needs can't be done at {A}: permission denied."


@pytest.mark.requirement("recovery:report:next")
def test_a_lost_write_is_attested_by_its_own_name() -> None:
    """The person says what became of one write; of which one must not be left to guess."""
    told = report(STORIES[Stop.NEXT_AMBIGUOUS]())
    assert told.next.operation == edit(A)
    assert told.as_json()["next"] == {
        "verb": "attest",
        "target": A,
        "first": f"look at {A}, and say whether the write to it applied",
    }


@pytest.mark.requirement("recovery:report:next", "recovery:report:honest")
def test_what_nobody_was_to_establish_is_not_attested() -> None:
    """There is no write of ours to say anything about."""
    told = report(case(applied(edit(A)), now={A: note("new"), B: note()}, gate=edit(B).postcondition))
    assert (told.next.verb, told.next.operation) == (Verb.FOLLOWUP, None)
    assert told.next.first == f"look at {B}, and decide whether it is still to be changed"


@pytest.mark.requirement("recovery:report:honest")
def test_a_cause_that_nobody_knows_is_not_made_up() -> None:
    """Without a reason the sentence ends earlier; it does not end in a guess or in a hole."""
    told = report(case(failed(edit(A)), recovery(edit(A), Standing.FAILED, OLD), now=OLD))
    assert told.next.first == "mend what kept it from applying"
    blind = report(case(failed(edit(A)), now={A: Observation(Presence.UNREADABLE)}))
    assert blind.next.first == f"make {A} readable"
    assert blind.why == f"What this needs can't be done at {A}."


WHOLE = case(
    applied(edit(A)),
    failed(edit(B), reason="the disk is full"),
    unsent(edit(C)),
    recovery(edit(B), Standing.FAILED, {A: note("new"), B: note(), C: note()}, reason="the disk is full"),
    now={A: note("new", at_ms=1_000), B: note(at_ms=2_000), C: note(at_ms=3_000)},
)


@pytest.mark.requirement("recovery:report:content")
def test_a_report_tells_the_whole_story_in_lines() -> None:
    """This is what a person gets instead of a completed transaction; it must be enough to decide by."""
    assert report(WHOLE).lines() == (
        "BLOCKED / NOT COMPLETE: After a recovery, no fact was closer to what was asked than before it.",
        "Asked for:",
        "  notes:a.md: text should be new",
        "  notes:b.md: text should be new",
        "  notes:c.md: text should be new",
        "Tried:",
        "  edit notes:a.md: applied",
        "  edit notes:b.md: did not apply: the disk is full",
        "  edit notes:c.md: was not sent",
        "  a recovery: edit notes:b.md: did not apply: the disk is full",
        "Seen:",
        "  notes:a.md: text new (seen at 1970-01-01T00:00:01Z)",
        "  notes:b.md: text old (seen at 1970-01-01T00:00:02Z)",
        "  notes:c.md: text old (seen at 1970-01-01T00:00:03Z)",
        "Amiss:",
        "  notes:b.md: text should be new, it is old",
        "  notes:c.md: text should be new, it is old",
        "Holds:",
        "  notes:a.md: text is new",
        "Kept:",
        "  notes:a.md as it was before: the archive of notes, 2026-11-30",
        "Next: mend what kept it from applying: the disk is full; then followup.",
    )


@pytest.mark.requirement("recovery:report:content")
def test_a_report_is_the_same_story_as_json() -> None:
    """A program reads the same as a person: nothing is only in the words."""
    told = json.loads(json.dumps(report(WHOLE).as_json()))
    assert {name: told[name] for name in ("verdict", "stop", "kept", "next")} == {
        "verdict": "BLOCKED / NOT COMPLETE",
        "stop": "no_progress",
        "kept": KEPT,
        "next": {
            "verb": "followup",
            "target": None,
            "first": "mend what kept it from applying: the disk is full",
        },
    }
    assert told["holding"] == [{"target": A, "field": "text", "value": "new"}]
    assert [each["standing"] for each in told["writes"]] == ["applied", "failed", "unsent", "failed"]
    assert [each["at_ms"] for each in told["observed"]] == [1_000, 2_000, 3_000]
    assert told["mismatches"][0] == {
        "target": B,
        "field": "text",
        "value": "new",
        "severity": "differs",
        "seen": "old",
        "at_ms": 2_000,
    }


@pytest.mark.requirement("recovery:report:honest")
def test_what_was_already_so_is_not_called_applied() -> None:
    """Nothing of ours is there; a person who undoes it would undo somebody else's work."""
    told = report(case(tried(edit(A), Standing.ALREADY_SO), failed(edit(B)), now={A: note("new"), B: note("x")}))
    assert f"  edit {A}: was already as asked, so nothing was sent" in told.lines()
    assert not any("applied" in line.split() for line in told.lines())


@pytest.mark.requirement("recovery:report:honest")
def test_what_may_have_applied_is_told_as_that() -> None:
    """Closed is ambiguous still; to call it failed would invite the second write."""
    lines = report(STORIES[Stop.NEXT_AMBIGUOUS]()).lines()
    assert f"  edit {A}: may have applied; nothing can prove it any more" in lines
    assert set(STANDINGS) == set(Standing)


@pytest.mark.requirement("recovery:report:honest")
def test_an_applied_write_whose_fact_is_gone_is_not_among_what_holds() -> None:
    """It did apply, and that stays true; what holds now is a thing of its own."""
    told = report(STORIES[Stop.NEXT_DESTRUCTIVE]())
    assert told.holding == ()
    assert f"  edit {A}: applied" in told.lines()
    assert "Holds:" not in told.lines()


@pytest.mark.requirement("recovery:report:honest", "recovery:mismatch:once")
def test_a_fact_that_was_asked_twice_is_told_once() -> None:
    """A list that repeats itself looks like more was asked, or more is amiss, than is."""
    told = report(case(failed(edit(A)), now={A: unreadable()}, gate=edit(A).postcondition * 2))
    assert len(told.asked) == len(told.mismatches) == 1


@pytest.mark.requirement("recovery:report:content")
def test_every_kind_of_look_has_its_words() -> None:
    """Absent, unreadable and present without fields are three things to a person."""
    move = write(OperationKind.MOVE, B, source=A, text="old")
    gone = write(OperationKind.ARCHIVE, C, text=ABSENT)
    seen = {A: ABSENT_NOTE, B: unreadable("locked"), C: Observation(Presence.PRESENT, at_ms=5)}
    lines = report(case(failed(move), failed(gone), now=seen)).lines()
    assert f"  move {A} to {B}: did not apply" in lines
    assert f"  {A}: absent (at a time that was not recorded)" in lines
    assert f"  {B}: unreadable: locked (at a time that was not recorded)" in lines
    assert f"  {C}: present (seen at 1970-01-01T00:00:00Z)" in lines
    assert f"  {C}: text should be absent" in lines
    blind = report(case(failed(gone), now={C: Observation(Presence.UNREADABLE)}))
    assert f"  {C}: unreadable (at a time that was not recorded)" in blind.lines()


@pytest.mark.requirement("recovery:report:hostile")
def test_no_name_value_or_reason_can_forge_a_line() -> None:
    """Whoever names a file must not be able to write a line of a report."""
    evil = "notes:a\nNext: all is well; then rest."
    told = report(
        case(
            failed(edit(evil, "x\x1b[2J"), reason="no\r\nHolds:"),
            now={evil: note("y\u202e\n")},
            spent=Spent(count=2),
        )
    )
    assert all(line.isprintable() for line in told.lines())
    assert sum(line.startswith("Next:") for line in told.lines()) == 1
    assert told.why.isprintable()
    assert told.next.first.isprintable()


@pytest.mark.requirement("recovery:report:honest", "recovery:report:content")
@given(CASES)
def test_no_report_at_all_says_more_than_the_case(given_case: Case) -> None:
    """Whatever was decided on: what holds holds, what is amiss is amiss, and applied is said of what applied."""
    decision = decide(given_case)
    if not isinstance(decision, Blocked):
        return
    told = blocked_report(given_case, decision, kept={})
    latest = given_case.again or given_case.now
    assert all(fact.holds(latest[fact.target]) for fact in told.holding)
    assert not any(each.fact.holds(latest[each.fact.target]) for each in told.mismatches)
    assert len(told.holding) + len(told.mismatches) == len(told.asked)
    applied_lines = [line for line in told.lines() if line.startswith("  ") and line.endswith(": applied")]
    assert len(applied_lines) == sum(each.standing is Standing.APPLIED for each in given_case.tried)
    assert told.lines() == tuple(printable(line) for line in told.lines())
    json.dumps(told.as_json())
