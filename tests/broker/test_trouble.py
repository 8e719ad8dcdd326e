"""A journal that fails: before the intent nothing is sent, and after the send nobody says that nothing was."""

from typing import Any

import pytest

from amends.broker import check, confirm, outcome_told
from amends.broker.step import Commit, ListTouching, Send, Stand, Step
from amends.contract import Evidence, Happened, State, WriteOutcome
from amends.errors import JournalError, OwnershipError
from amends.ports import Attempt, Blobs, Prepared
from tests.broker.bench import ASK, AUTO, CREATE, EDIT, Bench, outcomes, request, said

APPLIED, FAILED, AMBIGUOUS = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS
LEASE_AND_MORE_MS = 61_000


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.requirement("broker:journal:intent")
def test_without_a_durable_intent_nothing_is_sent(bench: Bench, when: str) -> None:
    """Whether the commit took effect can't be known; so nothing leaves, and the intent can't come back as a write."""
    proposed = bench.propose(request(EDIT, "a"))
    name = proposed.lives[0].operation_id
    bench.journals.break_next_commit(bench.journal, when)  # type: ignore[arg-type]
    with pytest.raises(JournalError):
        bench.run(confirm(proposed.transaction, by="person"))
    assert (bench.text, bench.requests) == ("old", 0)

    other = bench.propose(request(CREATE, "b"), ask=AUTO)
    assert outcomes(other) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    *_, last = bench.journal.events(name)
    assert last.happened is Happened.ABANDONED
    assert bench.check(proposed).state is State.OPEN
    retried = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(retried) == [None, (APPLIED, Evidence.ACKNOWLEDGED)]
    assert (bench.text, bench.effects) == ("new", 2)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.requirement("broker:journal:intent")
def test_a_crash_after_a_failed_intent_leaves_no_write(bench: Bench, when: str) -> None:
    """The process that knew of the failure is gone; what it left, if anything, is settled as never landed."""
    proposed = bench.propose(request(EDIT, "a"))
    process = bench.journals.open()
    bench.journals.break_next_commit(process, when)  # type: ignore[arg-type]
    with pytest.raises(JournalError):
        bench.run(confirm(proposed.transaction, by="person"), process)
    bench.journals.kill(process)
    checked = bench.check(proposed)
    assert outcomes(checked) == ([(FAILED, Evidence.VOIDED)] if when == "after" else [None])
    assert (bench.text, bench.requests) == ("old", 0)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.requirement("broker:journal:outcome")
def test_an_outcome_that_can_not_be_recorded_is_ambiguous(bench: Bench, when: str) -> None:
    """It was sent and acknowledged, but what isn't recorded isn't told, and 'nothing was sent' would be a lie."""
    proposed = bench.propose(request(EDIT, "a"))
    halfway = bench.until(confirm(proposed.transaction, by="person"), Send)
    halfway.advance()
    bench.journals.break_next_commit(bench.journal, when)  # type: ignore[arg-type]
    report = halfway.finish()
    if when == "after":
        assert said(report) == ["I edited sim:a."]
    else:
        assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
        assert "may have applied" in said(report)[0]
    bench.journals.clock.advance(LEASE_AND_MORE_MS)
    settled = bench.check(report)
    assert outcomes(settled)[0] in [(APPLIED, Evidence.RECEIPT), (APPLIED, Evidence.ACKNOWLEDGED)]
    assert (bench.text, bench.requests) == ("new", 1)


@pytest.mark.requirement("broker:journal:outcome")
def test_a_journal_gone_after_the_send_is_ambiguous(bench: Bench) -> None:
    """Not even the recorded state can be read back; what is known here is told, and it is not much."""
    proposed = bench.propose(request(EDIT, "a"))
    real = bench.surface.send

    def last_act(attempt: object) -> object:
        answer = real(attempt)  # type: ignore[arg-type]
        bench.journals.kill(bench.journal)
        return answer

    bench.send_answers(last_act)  # type: ignore[arg-type]
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert "may have applied" in said(report)[0]
    settled = bench.run(check(proposed.transaction), bench.journals.open())
    assert said(settled) == ["I edited sim:a: the proof that this write landed is there."]


@pytest.mark.requirement("broker:journal:midway")
def test_a_journal_that_fails_midway_hides_no_write_before_it(bench: Bench) -> None:
    """The first write was sent; an error that says 'nothing was sent' would be about the second one only."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    real = bench.surface.prepare

    def prepare(attempt: Attempt, blobs: Blobs) -> Prepared:
        if bench.requests:
            bench.journals.break_next_commit(bench.journal, "before")
        return real(attempt, blobs)

    bench.surface.prepare = prepare  # type: ignore[method-assign]
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(APPLIED, Evidence.ACKNOWLEDGED), None]
    assert said(report) == ["I edited sim:a."]
    assert (report.state, bench.requests) == (State.OPEN, 1)

    bench.surface.prepare = real  # type: ignore[method-assign]
    bench.run(outcome_told(report))
    assert bench.check(report).lives[1].state is State.ABANDONED
    assert bench.surface.content("sim:b") is None


@pytest.mark.requirement("broker:journal:midway")
def test_a_surface_that_is_lost_midway_hides_no_write_before_it(bench: Bench) -> None:
    """Somebody else's journal took the surface between two writes; that error, too, says 'nothing was sent'."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    real = bench.surface.prepare

    def prepare(attempt: Attempt, blobs: Blobs) -> Prepared:
        if bench.requests:
            raise OwnershipError
        return real(attempt, blobs)

    bench.surface.prepare = prepare  # type: ignore[method-assign]
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert said(report) == ["I edited sim:a."]
    assert [life.state for life in report.lives] == [State.APPLIED, State.CONFIRMED]
    with pytest.raises(OwnershipError):
        bench.run(confirm(proposed.transaction, by="person"))
    assert bench.requests == 1


@pytest.mark.requirement("broker:journal:intent")
@pytest.mark.parametrize("look", [ListTouching, Stand])
def test_a_journal_that_can_not_be_read_before_the_send_sends_nothing(bench: Bench, look: type[Step[Any]]) -> None:
    """A look after the intent failed: whether it was overtaken is unknown, so nothing leaves."""
    proposed = bench.propose(request(EDIT, "a"))
    halfway = bench.until(confirm(proposed.transaction, by="person"), Commit)
    while not isinstance(halfway.step, look):
        halfway.advance()
    with pytest.raises(JournalError):
        halfway.machine.throw(JournalError("unreadable"))
    assert bench.requests == 0
    bench.journals.clock.advance(LEASE_AND_MORE_MS)
    assert outcomes(bench.check(proposed)) == [(FAILED, Evidence.VOIDED)]
    assert bench.propose(request(EDIT, "a"), ask=ASK).is_joined
