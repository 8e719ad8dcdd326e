"""One write from its proposal to its outcome: what is sent, what is told, and what a repeat does."""

from dataclasses import replace

import pytest

from amends.broker import check, confirm, followup, outcome_told, propose
from amends.broker.step import Commit, Recall, Send
from amends.contract import Evidence, State, WriteOutcome
from amends.errors import BlockedError, DocumentError, ProposalError, UnknownSubjectError
from amends.ports import Answer
from tests.broker.bench import ARCHIVE, ASK, AUTO, CREATE, EDIT, OLD, Bench, outcomes, request, said
from tests.broker.conftest import MakeBench
from tests.simulation.surface import Fate

APPLIED, FAILED, AMBIGUOUS = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS


@pytest.mark.requirement("broker:confirm:applied")
def test_a_confirmed_write_is_sent_once_and_told(bench: Bench) -> None:
    """The ordinary case: nothing before the confirmation, one effect after it, and the truth about both."""
    proposed = bench.propose(request(EDIT, "a"))
    assert (bench.text, bench.requests, said(proposed)) == ("old", 0, [])

    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert said(report) == ["I edited sim:a."]
    assert report.state is State.COMPLETE
    assert (bench.text, bench.requests, bench.effects) == ("new", 1, 1)
    assert bench.surface.content("sim:a") == {**OLD, "text": "new"}


@pytest.mark.requirement("broker:confirm:applied")
def test_a_confirmation_may_come_with_the_request(bench: Bench) -> None:
    """An operator who set `auto` confirmed beforehand; it is recorded as theirs, with the intent in one commit."""
    report = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert outcomes(report) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert report.lives[0].confirmed_by == "operator"
    assert (bench.text, bench.effects) == ("new", 1)


@pytest.mark.requirement("broker:confirm:once")
def test_confirming_twice_gives_the_first_outcome(bench: Bench) -> None:
    """A person who presses the button again wants to know, not to write again."""
    first = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", OLD)
    second = bench.run(confirm(first.transaction, by="person"))
    assert second.is_joined
    assert said(second) == said(first)
    assert (bench.text, bench.requests) == ("old", 1)


@pytest.mark.parametrize("step", [Commit, Send])
@pytest.mark.requirement("broker:confirm:once")
def test_two_processes_that_confirm_send_once(bench: Bench, step: type[Commit] | type[Send]) -> None:
    """Both have read the proposal as open; the journal lets one of them record the intent."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="one"), step)
    fast = bench.run(confirm(proposed.transaction, by="two"), bench.journals.open())
    late = slow.finish()
    assert (bench.text, bench.requests, bench.effects) == ("new", 1, 1)
    assert outcomes(late) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert {life.operation_id for life in late.lives} == {life.operation_id for life in fast.lives}
    assert late.lives[0].confirmed_by == ("two" if step is Commit else "one")


@pytest.mark.requirement("broker:confirm:once")
def test_a_confirmer_who_sees_half_a_decision_looks_again(bench: Bench) -> None:
    """Writes are read one by one; another process may confirm them in between, and that is no error."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    slow = bench.until(confirm(proposed.transaction, by="one"), Recall)
    for _ in range(2):  # the transaction and its first write are read
        slow.advance()
    bench.run(confirm(proposed.transaction, by="two"), bench.journals.open())
    late = slow.finish()
    assert [outcome and outcome[0] for outcome in outcomes(late)] == [APPLIED, APPLIED]
    assert bench.effects == 2


@pytest.mark.requirement("broker:join:unsettled")
def test_the_same_payload_again_is_joined_while_unsettled(bench: Bench) -> None:
    """An agent that got no answer asks again; it gets the answer to its first request, and no second write."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    first = bench.write(request(EDIT, "a"))
    assert outcomes(first) == [(AMBIGUOUS, Evidence.UNPROVEN)]

    second = bench.propose(request(EDIT, "A"), ask=AUTO)
    assert second.is_joined
    assert second.transaction == first.transaction
    assert "may have applied" in said(second)[0]
    assert bench.requests == 1


@pytest.mark.requirement("broker:join:unsettled")
def test_a_proposal_that_nobody_confirmed_is_joined(bench: Bench) -> None:
    """Proposing twice must not make a person confirm twice."""
    first = bench.propose(request(EDIT, "a"))
    second = bench.propose(request(EDIT, "a"))
    assert second.is_joined
    assert second.transaction == first.transaction
    assert bench.requests == 0


@pytest.mark.requirement("broker:join:race")
def test_two_that_ask_for_the_same_at_once_share_one_outcome(bench: Bench) -> None:
    """Both looked, and saw nothing under way; the second intent is answered with the first outcome."""
    slow = bench.until(propose([request(EDIT, "a")], AUTO), Commit)
    fast = bench.until(propose([request(EDIT, "a")], AUTO), Send, bench.journals.open())
    joined = slow.finish()
    first = fast.finish()
    assert (joined.is_joined, joined.transaction) == (True, first.transaction)
    assert (bench.text, bench.requests) == ("new", 1)
    assert len(bench.journal.matching("tx_", limit=9)) == 1


@pytest.mark.requirement("broker:join:race")
def test_who_loses_the_race_for_a_document_does_not_stop_who_wins(make_bench: MakeBench) -> None:
    """The loser finds the first write done and the second under way: it sends nothing, and is in nobody's way."""
    bench = make_bench("shelf")
    document = [request(EDIT, "a"), request(CREATE, "b"), request(CREATE, "c")]
    loser = bench.until(propose(document, AUTO), Commit)
    winner = bench.until(propose(document, AUTO), Send, bench.journals.open())
    winner.advance()
    while not isinstance(winner.step, Send):
        winner.advance()
    lost = loser.finish()
    won = winner.finish()
    assert (won.state, outcomes(won)) == (State.COMPLETE, [(APPLIED, Evidence.ACKNOWLEDGED)] * 3)
    assert outcomes(lost)[:2] == [(FAILED, Evidence.ALREADY_SO), (FAILED, Evidence.NEVER_SENT)]
    assert (lost.state, bench.requests) == (State.WITHDRAWN, 3)


@pytest.mark.requirement("broker:join:race")
def test_a_second_one_that_was_asked_for_while_the_first_is_sent_is_refused(bench: Bench) -> None:
    """Whoever says `again` is not answered with the first one's outcome, and is told who is at it."""
    first = bench.until(propose([request(EDIT, "a")], AUTO), Send)
    second = bench.propose(request(EDIT, "a"), ask=replace(AUTO, again=True))
    assert outcomes(second) == [(FAILED, Evidence.NEVER_SENT)]
    assert "still holds sim:a" in said(second)[0]
    assert outcomes(first.finish()) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert bench.requests == 1


@pytest.mark.requirement("broker:join:race")
def test_one_that_comes_just_after_the_same_finds_it_as_asked(make_bench: MakeBench) -> None:
    """On a target that can't compare and write in one step, what the first one did is seen under the claims."""
    bench = make_bench("shelf")
    slow = bench.until(propose([request(EDIT, "a")], AUTO), Commit)
    bench.run(outcome_told(bench.propose(request(EDIT, "a"), ask=AUTO)))
    assert outcomes(slow.finish()) == [(FAILED, Evidence.ALREADY_SO)]
    assert bench.requests == 1


@pytest.mark.requirement("broker:blocked:race")
def test_what_was_asked_for_before_another_failed_is_not_sent_after(bench: Bench) -> None:
    """It had looked, and saw nothing amiss; the other one failed and is BLOCKED before it has its claims."""
    slow = bench.until(propose([request(EDIT, "a", "other")], AUTO), Commit)
    bench.fates(Fate.REFUSED, Fate.REFUSED)
    other = bench.write(request(EDIT, "a"))
    assert other.state is State.BLOCKED
    requests = bench.requests
    late = slow.finish()
    assert outcomes(late) == [(FAILED, Evidence.NEVER_SENT)]
    assert f"{other.transaction} is about the same and has failed on its way" in said(late)[0]
    assert (bench.text, bench.requests, late.state) == ("old", requests, State.WITHDRAWN)


@pytest.mark.requirement("broker:blocked:both")
def test_two_that_failed_about_the_same_do_not_shut_each_other_out(bench: Bench) -> None:
    """Whoever takes up one of them is told of the other, and decides; neither is taken up by an agent."""
    slow = bench.until(propose([request(EDIT, "a"), request(CREATE, "b")], AUTO), Send)
    send = bench.surface.send
    bench.send_answers(lambda attempt: Answer(Evidence.REFUSED, reason="no"))
    other = bench.propose(request(CREATE, "c"), request(CREATE, "b", "other"), ask=AUTO)
    bench.surface.send = send  # type: ignore[method-assign]
    one = slow.finish()
    assert (one.state, other.state) == (State.BLOCKED, State.BLOCKED)
    assert outcomes(one) == [(APPLIED, Evidence.ACKNOWLEDGED), (FAILED, Evidence.NEVER_SENT)]
    with pytest.raises(BlockedError):
        bench.propose(request(CREATE, "b"), ask=AUTO)
    taking_up = bench.run(followup(one.transaction, ASK))
    (warning,) = taking_up.lives[0].plan.warnings
    assert warning.startswith(f"{other.transaction}, which is about the same, has failed on its way")
    assert bench.run(confirm(taking_up.transaction, by="person")).state is State.COMPLETE


@pytest.mark.requirement("broker:join:undelivered")
def test_an_outcome_that_nobody_was_told_is_handed_over_once(bench: Bench) -> None:
    """The answer was lost between us and whoever asked: the repeat is told of it, and only the next one is a write."""
    first = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", OLD)
    repeat = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert repeat.is_joined
    assert said(repeat) == said(first)
    assert (bench.text, bench.requests) == ("old", 1)

    bench.run(outcome_told(repeat))
    another = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert not another.is_joined
    assert (bench.text, bench.requests, bench.effects) == ("new", 2, 2)


@pytest.mark.requirement("broker:join:again")
def test_two_intended_identical_writes_both_happen(bench: Bench) -> None:
    """Whoever says `again` wants a second write, though nobody was told of the first one."""
    bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", OLD)
    second = bench.propose(request(EDIT, "a"), ask=replace(AUTO, again=True))
    assert outcomes(second) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert (bench.text, bench.effects) == ("new", 2)


@pytest.mark.requirement("broker:join:undelivered")
def test_what_is_not_over_is_not_counted_as_told(bench: Bench) -> None:
    """A proposal that was shown is still to be confirmed; showing it leaves no mark."""
    proposed = bench.propose(request(EDIT, "a"))
    before = bench.journal.events(proposed.lives[0].operation_id)
    bench.run(outcome_told(proposed))
    assert bench.journal.events(proposed.lives[0].operation_id) == before


@pytest.mark.requirement("broker:join:whole")
def test_a_request_is_answered_only_by_its_own_writes(bench: Bench) -> None:
    """Merging what may have applied with something new must neither repeat the first nor swallow the second."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    first = bench.write(request(EDIT, "a"))
    with pytest.raises(ProposalError, match=f"under way already, as operation {first.lives[0].operation_id}"):
        bench.propose(request(EDIT, "a"), request(CREATE, "b"), ask=AUTO)
    assert (bench.requests, bench.surface.content("sim:b")) == (1, None)


@pytest.mark.requirement("broker:claims:refused")
def test_a_different_payload_under_held_claims_names_the_holder(bench: Bench) -> None:
    """The first may still land, whatever comes of it; the second is refused and never told of the first's success."""
    holder = bench.propose(request(EDIT, "a", "first"))
    slow = bench.until(confirm(holder.transaction, by="person"), Send)
    other = bench.run(propose([request(EDIT, "A", "second")], AUTO), bench.journals.open())
    name = holder.lives[0].operation_id
    assert outcomes(other) == [(FAILED, Evidence.NEVER_SENT)]
    assert said(other) == [
        f"I couldn't edit sim:a: operation {name} still holds sim:a; nothing was changed."
        f" See what holds it: amends show {name}"
    ]
    assert (bench.text, bench.requests) == ("old", 0)
    assert outcomes(slow.finish()) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert bench.text == "first"


@pytest.mark.requirement("broker:claims:refused")
def test_a_fence_that_fails_does_not_hide_who_holds_it(bench: Bench) -> None:
    """What was prepared for the refused write is cleared away at best effort; its outcome is told all the same."""
    holder = bench.propose(request(EDIT, "a", "first"))
    bench.until(confirm(holder.transaction, by="person"), Send)
    bench.no_fence_works()
    other = bench.run(propose([request(EDIT, "a", "second")], AUTO), bench.journals.open())
    assert outcomes(other) == [(FAILED, Evidence.NEVER_SENT)]
    assert "still holds sim:a" in said(other)[0]


@pytest.mark.requirement("broker:claims:refused")
def test_what_lies_below_an_archived_target_is_held(bench: Bench) -> None:
    """Archiving a folder takes what is in it along; a lookalike beside it is another target."""
    holder = bench.propose(request(ARCHIVE, "a"))
    bench.until(confirm(holder.transaction, by="person"), Send)
    process = bench.journals.open()
    below = bench.run(propose([request(CREATE, "a/b")], AUTO), process)
    beside = bench.run(propose([request(CREATE, "a-b")], AUTO), process)
    assert outcomes(below) == [(FAILED, Evidence.NEVER_SENT)]
    assert outcomes(beside) == [(APPLIED, Evidence.ACKNOWLEDGED)]


@pytest.mark.requirement("broker:transaction:stops")
def test_a_transaction_stops_at_its_first_failure(bench: Bench) -> None:
    """What follows was planned on what came before; each write is told by itself, and the whole is BLOCKED."""
    bench.fates(Fate.ANSWERED, Fate.REFUSED, Fate.REFUSED)
    report = bench.write(request(EDIT, "a"), request(CREATE, "b"), request(CREATE, "c"))
    assert [outcome and outcome[0] for outcome in outcomes(report)] == [APPLIED, FAILED, FAILED, FAILED]
    assert said(report) == [
        "I edited sim:a.",
        "I couldn't create sim:b: it was refused: the target said no; nothing was changed.",
        "I couldn't create sim:c: its transaction ended before it was sent; nothing was changed.",
        "I couldn't create sim:b: it was refused: the target said no; nothing was changed.",
    ]
    assert report.state is State.BLOCKED
    assert (bench.text, bench.surface.content("sim:b"), bench.surface.content("sim:c")) == ("new", None, None)


@pytest.mark.requirement("broker:transaction:stops")
def test_a_transaction_goes_on_where_it_was_broken_off(bench: Bench) -> None:
    """After a crash between two writes, confirming again sends the second, and never the first."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    process = bench.journals.open()
    halfway = bench.until(confirm(proposed.transaction, by="person"), Send, process)
    halfway.advance()
    while not isinstance(halfway.step, Send):
        halfway.advance()
    bench.journals.kill(process)

    checked = bench.check(proposed)
    assert [life.state for life in checked.lives] == [State.APPLIED, State.FAILED]
    assert checked.state is State.OPEN
    assert said(checked)[1] == (
        "I couldn't create sim:b: the write was voided before it could land; nothing was changed."
    )
    assert bench.effects == 1
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert report.state is State.COMPLETE
    assert [life.is_recovery for life in report.lives] == [False, False, True]
    assert (bench.effects, bench.surface.content("sim:b")) == (2, {"text": "new"})


@pytest.mark.requirement("broker:transaction:stops")
def test_confirming_again_sends_what_was_never_sent(bench: Bench) -> None:
    """The first write's answer was lost; once it is known to have applied, the rest may follow."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    process = bench.journals.open()
    bench.fates(Fate.ANSWER_LOST)
    halfway = bench.until(confirm(proposed.transaction, by="person"), Send, process)
    with pytest.raises(TimeoutError):
        halfway.step.perform(halfway.world)
    bench.journals.kill(process)

    checked = bench.check(proposed)
    assert [life.state for life in checked.lives] == [State.APPLIED, State.CONFIRMED]
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert report.state is State.COMPLETE
    assert (bench.effects, bench.requests) == (2, 2)


@pytest.mark.requirement("broker:transaction:one_target")
def test_two_writes_to_one_target_are_not_one_transaction(bench: Bench) -> None:
    """The second would be shown a state that the first is about to change; two spellings don't make two targets."""
    with pytest.raises(DocumentError, match="writes 1 and 2 are both about sim:a"):
        bench.propose(request(EDIT, "a"), request(EDIT, "A", "other"))
    assert bench.journal.open() == []


@pytest.mark.requirement("broker:find:prefix")
def test_a_subject_is_found_by_the_beginning_of_its_id(bench: Bench) -> None:
    """Ids are long; as much of one as only one has is enough, and less is refused with a way on."""
    report = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    one, other = (life.operation_id for life in report.lives)
    assert bench.run(check(one)).transaction == report.transaction
    assert bench.run(check(report.transaction[:-1])).transaction == report.transaction
    with pytest.raises(UnknownSubjectError, match="several ids begin with op_"):
        bench.run(check("op_"))
    with pytest.raises(UnknownSubjectError, match="no operation or transaction is called 'op_x'"):
        bench.run(check("op_x"))
    with pytest.raises(ProposalError, match=f"{other} is one of 2 writes that belong together"):
        bench.run(confirm(other, by="person"))
    assert bench.propose(request(EDIT, "a"), request(CREATE, "b"), ask=ASK).is_joined
