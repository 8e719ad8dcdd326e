"""After a lost answer: what is said, what settles it, and what never happens again."""

import pytest

from amends.broker import attest, check, confirm, followup
from amends.broker.step import Commit, Send, SetFence
from amends.contract import Evidence, State, WriteOutcome
from amends.errors import BlockedError, RecoveryError
from amends.ports import Answer
from tests.broker.bench import ARCHIVE, ASK, AUTO, EDIT, THEIRS, Bench, outcomes, request, said
from tests.broker.conftest import MakeBench
from tests.simulation.surface import Fate

APPLIED, FAILED, AMBIGUOUS = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS
LEASE_AND_MORE_MS = 61_000


@pytest.mark.parametrize(
    ("fate", "text", "settled", "sentence"),
    [
        (
            Fate.ANSWER_LOST,
            "new",
            (APPLIED, Evidence.RECEIPT),
            "I edited sim:a: the proof that this write landed is there.",
        ),
        (
            Fate.NEVER_LANDS,
            "old",
            (FAILED, Evidence.VOIDED),
            "I couldn't edit sim:a: the write was voided before it could land; nothing was changed.",
        ),
        (
            Fate.FLIES,
            "old",
            (FAILED, Evidence.VOIDED),
            "I couldn't edit sim:a: the write was voided before it could land; nothing was changed.",
        ),
    ],
)
@pytest.mark.requirement("broker:doubt:settled")
def test_a_lost_answer_is_ambiguous_until_it_is_settled(
    bench: Bench, fate: Fate, text: str, settled: tuple[WriteOutcome, Evidence], sentence: str
) -> None:
    """The same silence stands for three truths. Nothing is claimed, nothing is sent again, and checking finds out."""
    bench.fates(fate)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    name = report.lives[0].operation_id
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert said(report) == [
        "The write to sim:a may have applied, but I didn't get confirmation"
        f" — here's how to check: amends check {name}."
    ]
    assert report.state is State.OPEN

    bench.fences_work()
    checked = bench.check(report)
    assert outcomes(checked) == [settled]
    assert said(checked) == [sentence]
    for flying in bench.surface.flying():
        bench.surface.land(flying)
    assert (bench.text, bench.requests) == (text, 1)


@pytest.mark.requirement("broker:doubt:settled")
def test_a_lost_answer_is_settled_at_once_where_it_can(bench: Bench) -> None:
    """A receipt that is there needs no second command: whoever asked is told the truth now."""
    bench.fates(Fate.ANSWER_LOST)
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(APPLIED, Evidence.RECEIPT)]
    assert (bench.text, bench.effects) == ("new", 1)


@pytest.mark.requirement("broker:doubt:settled")
def test_settling_is_repeated_without_another_effect(bench: Bench) -> None:
    """Checking is what everybody is told to do; it has to be harmless, however often."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    for _ in range(3):
        assert outcomes(bench.check(report)) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    bench.fences_work()
    first, second = bench.check(report), bench.check(report)
    assert said(first) == said(second)
    assert bench.requests == 1


@pytest.mark.requirement("broker:doubt:held")
def test_what_may_still_land_keeps_its_target(bench: Bench) -> None:
    """As long as it is in doubt it may come and destroy what was written after it."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    other = bench.propose(request(EDIT, "a", "other"), ask=AUTO)
    assert f"operation {report.lives[0].operation_id} still holds sim:a" in said(other)[0]

    bench.fences_work()
    bench.check(report)
    retried = bench.propose(request(EDIT, "a", "another"), ask=AUTO)
    assert outcomes(retried)[-1] == (APPLIED, Evidence.ACKNOWLEDGED)
    for flying in bench.surface.flying():
        bench.surface.land(flying)
    assert bench.text == "another"


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_dead_process_leaves_doubt_that_another_settles(bench: Bench) -> None:
    """It died with the request on the wire: the write is settled by a fence, and never sent by whoever finds it."""
    proposed = bench.propose(request(EDIT, "a"))
    process = bench.journals.open()
    halfway = bench.until(confirm(proposed.transaction, by="person"), Send, process)
    bench.fates(Fate.FLIES)
    with pytest.raises(TimeoutError):
        halfway.step.perform(halfway.world)
    bench.journals.kill(process)

    checked = bench.check(proposed)
    assert outcomes(checked) == [(FAILED, Evidence.VOIDED)]
    assert not bench.surface.land(bench.surface.history.requests[0])
    assert (bench.text, bench.requests) == ("old", 1)


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_living_process_is_not_disturbed_within_its_lease(bench: Bench) -> None:
    """It may be about to send; whoever checks meanwhile is told that it may have applied, and changes nothing."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="person"), Send)
    checked = bench.run(check(proposed.transaction), bench.journals.open())
    assert outcomes(checked) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert outcomes(slow.finish()) == [(APPLIED, Evidence.ACKNOWLEDGED)]


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_sender_that_slept_through_its_lease_does_not_send(bench: Bench) -> None:
    """Another process has decided meanwhile. The late one looks at its epoch, sends nothing, and tells that outcome."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="person"), Commit)
    slow.advance()
    bench.journals.clock.advance(LEASE_AND_MORE_MS)
    taken = bench.run(check(proposed.transaction), bench.journals.open())
    assert outcomes(taken) == [(FAILED, Evidence.VOIDED)]
    late = slow.finish()
    assert said(late) == said(taken)
    assert (bench.text, bench.requests) == ("old", 0)


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_sender_that_slept_before_its_first_byte_is_fenced(bench: Bench) -> None:
    """It had looked already: its request does leave, finds its place taken, and it tells what was decided."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="person"), Send)
    bench.journals.clock.advance(LEASE_AND_MORE_MS)
    taken = bench.run(check(proposed.transaction), bench.journals.open())
    late = slow.finish()
    assert said(late) == said(taken)
    assert (bench.text, bench.requests, bench.effects) == ("old", 1, 0)


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_slow_check_does_not_overrule_a_quick_one(bench: Bench) -> None:
    """Two settle at once; the second to record reports what the first one recorded."""
    bench.fates(Fate.ANSWER_LOST)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    bench.fences_work()
    slow = bench.until(check(report.transaction), SetFence, bench.journals.open())
    quick = bench.run(check(report.transaction), bench.journals.open())
    assert said(slow.finish()) == said(quick) == ["I edited sim:a: the proof that this write landed is there."]


@pytest.mark.requirement("broker:doubt:takeover")
def test_a_sender_whose_answer_is_lost_after_a_takeover_does_not_settle(bench: Bench) -> None:
    """It has nothing to say any more: the one that took over has decided, and its word is told."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="person"), Send)
    bench.journals.clock.advance(LEASE_AND_MORE_MS)
    taken = bench.run(check(proposed.transaction), bench.journals.open())
    bench.send_answers(lambda attempt: Answer(Evidence.UNPROVEN, is_quiescent=False))
    late = slow.finish()
    assert said(late) == said(taken)
    assert outcomes(late) == outcomes(taken)


@pytest.mark.requirement("broker:doubt:takeover")
def test_two_processes_that_take_over_settle_once(bench: Bench) -> None:
    """The epoch grows once; the second finds it grown, and looks at what there is."""
    proposed = bench.propose(request(EDIT, "a"))
    process = bench.journals.open()
    bench.until(confirm(proposed.transaction, by="person"), Send, process)
    bench.journals.kill(process)
    slow = bench.until(check(proposed.transaction), Commit, bench.journals.open())
    quick = bench.run(check(proposed.transaction), bench.journals.open())
    assert said(slow.finish()) == said(quick)
    assert outcomes(quick) == [(FAILED, Evidence.VOIDED)]


@pytest.mark.requirement("broker:doubt:closed")
def test_a_receipt_that_is_lost_closes_the_write(bench: Bench) -> None:
    """The surface is sure that nothing lands any more, and unsure whether it did; looking like it is no proof here."""
    bench.fates(Fate.ANSWER_LOST)
    bench.fence_answers(Answer(Evidence.UNPROVEN, hint="ask the clerk"))
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert report.lives[0].state is State.CLOSED
    assert "here's how to check: ask the clerk, then say what you found" in said(report)[0]


@pytest.mark.requirement("broker:doubt:observed")
def test_without_a_receipt_it_is_said_that_it_holds_now(make_bench: MakeBench) -> None:
    """It is there and was not before; that somebody else did it can't be ruled out, so nobody says 'I did it'."""
    bench = make_bench("shelf")
    bench.fates(Fate.ANSWER_LOST)
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(APPLIED, Evidence.OBSERVED)]
    assert said(report)[0].startswith("sim:a holds now what was asked for; before the write it did not.")
    assert "could have been displaced" in said(report)[0]
    assert bench.text == "new"


@pytest.mark.requirement("broker:doubt:closed")
def test_what_nothing_can_prove_is_closed_and_not_failed(make_bench: MakeBench) -> None:
    """It landed and was overwritten, or never landed: the target looks the same. It stays ambiguous, and frees it."""
    bench = make_bench("shelf")
    bench.fates(Fate.ANSWER_LOST)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    bench.fences_work()
    checked = bench.check(report)
    name = report.lives[0].operation_id
    assert outcomes(checked) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert checked.lives[0].state is State.CLOSED
    assert said(checked) == [
        "The write to sim:a may have applied, but I didn't get confirmation — here's how to check: look at sim:a"
        f' yourself, then say what you found: amends attest {name} --applied (or --failed) --reason "…".'
    ]
    assert checked.state is State.BLOCKED
    with pytest.raises(BlockedError):
        bench.propose(request(ARCHIVE, "a"), ask=AUTO)
    taken_up = bench.run(followup(checked.transaction, ASK))
    report = bench.run(confirm(taken_up.transaction, by="person"))
    assert outcomes(report) == [(APPLIED, Evidence.ACKNOWLEDGED)]
    assert bench.text == "new"


@pytest.mark.requirement("broker:doubt:partial")
def test_half_a_write_is_neither_applied_nor_failed(make_bench: MakeBench) -> None:
    """One of two fields is there. Either word would be a lie about the other."""
    bench = make_bench("shelf")
    bench.fates(Fate.HALF)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.PARTIAL)]
    assert said(report)[0].startswith("A part of the write to sim:a may have applied, but not all of it is there")


@pytest.mark.requirement("broker:attest:closed")
def test_a_person_may_say_what_nothing_can_prove(make_bench: MakeBench) -> None:
    """It is recorded as a person's word, with its reason, and told as that."""
    bench = make_bench("shelf")
    bench.fates(Fate.NEVER_LANDS)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    bench.fences_work()
    report = bench.check(report)
    name = report.lives[0].operation_id
    assert report.lives[0].state is State.CLOSED
    told = bench.run(attest(name, outcome=FAILED, by="person", reason="the log of the shelf has no such write"))
    assert outcomes(told) == [(FAILED, Evidence.ATTESTED)]
    assert said(told) == [
        "A person says that the write to sim:a did not apply and that nothing was changed:"
        " the log of the shelf has no such write."
    ]
    with pytest.raises(RecoveryError, match="needs no word of a person"):
        bench.run(attest(name, outcome=APPLIED, by="person", reason="I changed my mind"))


@pytest.mark.requirement("broker:attest:proof")
def test_proof_goes_before_the_word_of_a_person(bench: Bench) -> None:
    """They were about to say that it failed; the receipt says that it landed."""
    bench.fates(Fate.ANSWER_LOST)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    bench.fences_work()
    with pytest.raises(RecoveryError, match=r"needs no word of a person: it is applied \(receipt\)"):
        bench.run(attest(report.lives[0].operation_id, outcome=FAILED, by="person", reason="I think not"))
    assert outcomes(bench.check(report)) == [(APPLIED, Evidence.RECEIPT)]


@pytest.mark.requirement("broker:attest:proof")
def test_only_an_outcome_is_attested(bench: Bench) -> None:
    """Ambiguous is what it is already, and of what was never sent there is nothing to say."""
    proposed = bench.propose(request(EDIT, "a"))
    name = proposed.lives[0].operation_id
    with pytest.raises(RecoveryError, match="ambiguous is what it is already"):
        bench.run(attest(name, outcome=AMBIGUOUS, by="person", reason="who knows"))
    with pytest.raises(RecoveryError, match="is proposed; there is nothing to attest"):
        bench.run(attest(name, outcome=FAILED, by="person", reason="never sent"))


@pytest.mark.requirement("broker:attest:held")
def test_an_attested_write_keeps_its_target_until_its_fence(bench: Bench) -> None:
    """A person knows what is there now, not what may still arrive; the claims wait for the fence, and then go."""
    bench.fates(Fate.FLIES)
    bench.no_fence_works()
    report = bench.write(request(EDIT, "a"))
    told = bench.run(attest(report.lives[0].operation_id, outcome=FAILED, by="person", reason="it is not there"))
    assert outcomes(told) == [(FAILED, Evidence.ATTESTED)]
    other = bench.propose(request(EDIT, "a", "other"), ask=AUTO)
    assert "still holds sim:a" in said(other)[-1]
    assert bench.check(report).lives[0].holds_claims

    bench.fences_work()
    assert outcomes(bench.check(report)) == [(FAILED, Evidence.ATTESTED)]
    another = bench.propose(request(EDIT, "a", "another"), ask=AUTO)
    assert outcomes(another)[-1] == (APPLIED, Evidence.ACKNOWLEDGED)
    assert not bench.surface.flying()


@pytest.mark.requirement("broker:attest:held")
def test_what_no_fence_can_stop_is_held_whatever_a_person_says(make_bench: MakeBench) -> None:
    """A mailbox can't take back what flies: a person's word ends the doubt of people, not the danger."""
    bench = make_bench("mailbox")
    bench.fates(Fate.FLIES)
    report = bench.write(request(EDIT, "a"))
    bench.run(attest(report.lives[0].operation_id, outcome=FAILED, by="person", reason="it never came"))
    checked = bench.check(report)
    assert outcomes(checked) == [(FAILED, Evidence.ATTESTED)]
    assert checked.lives[0].holds_claims
    assert "still holds sim:a" in said(bench.propose(request(EDIT, "a", "other"), ask=AUTO))[0]


@pytest.mark.parametrize("raised", [ValueError("what"), OSError("gone"), RecoveryError("no"), RecursionError()])
@pytest.mark.requirement("broker:surface:raises")
def test_whatever_a_surface_raises_in_a_send_proves_nothing(bench: Bench, raised: Exception) -> None:
    """An exception has a class, not evidence: also our own errors, from in there, say nothing about the target."""
    real = bench.surface.send

    def raising(attempt: object) -> Answer:
        real(attempt)  # type: ignore[arg-type]
        raise raised

    bench.no_fence_works()
    bench.send_answers(raising)
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert "nothing was changed" not in said(report)[0]
    assert (bench.text, bench.requests) == ("new", 1)
    bench.fences_work()
    assert outcomes(bench.check(report)) == [(APPLIED, Evidence.RECEIPT)]


@pytest.mark.parametrize(
    "evidence", [Evidence.STALE, Evidence.ALREADY_SO, Evidence.VOIDED, Evidence.OBSERVED, Evidence.ATTESTED]
)
@pytest.mark.requirement("broker:surface:out_of_turn")
def test_a_surface_that_answers_out_of_turn_proves_nothing(bench: Bench, evidence: Evidence) -> None:
    """A send can't prove that its target was stale or that its fence won; a surface that says so is mistaken."""
    bench.no_fence_works()
    bench.send_answers(lambda attempt: Answer(evidence))
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert report.lives[0].is_holding


@pytest.mark.requirement("broker:surface:out_of_turn")
def test_a_fence_that_answers_out_of_turn_proves_nothing(bench: Bench) -> None:
    """A fence knows what landed; it was not there to be refused or acknowledged."""
    bench.fates(Fate.ANSWER_LOST)
    bench.fence_answers(Answer(Evidence.REFUSED))
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report) == [(AMBIGUOUS, Evidence.UNPROVEN)]
    assert report.lives[0].is_holding


@pytest.mark.requirement("broker:surface:raises")
def test_a_surface_that_can_not_tidy_changes_no_outcome(bench: Bench) -> None:
    """What is left behind is a pity; the outcome is recorded and is told."""

    def raising(attempt: object) -> None:
        raise OSError("no room to tidy up")

    bench.surface.tidy = raising  # type: ignore[method-assign]
    bench.fates(Fate.REFUSED)
    report = bench.write(request(EDIT, "a"))
    assert outcomes(report)[0] == (FAILED, Evidence.REFUSED)
