"""A proposal is confirmed once, as it was shown, or ends without anything having been sent."""

from dataclasses import replace

import pytest

from amends.broker import Ask, confirm, decline, propose
from amends.broker.step import Commit, Send
from amends.contract import Evidence, Happened, State, WriteOutcome
from amends.errors import PayloadError, ProposalError
from amends.ports import Attempt, Blobs, Event, Prepared
from tests.broker.bench import ASK, AUTO, CREATE, EDIT, THEIRS, Bench, outcomes, request, said

FAILED = WriteOutcome.FAILED


@pytest.mark.requirement("broker:confirm:stale")
def test_what_moved_since_it_was_shown_is_not_sent(bench: Bench) -> None:
    """The person agreed to change what they saw; somebody else's words are not theirs to overwrite."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(FAILED, Evidence.STALE)]
    assert said(report) == [
        "I couldn't edit sim:a: it is no longer as it was shown: text was old, now it is theirs; nothing was changed."
    ]
    assert report.state is State.WITHDRAWN
    assert (bench.text, bench.requests) == ("theirs", 0)


@pytest.mark.requirement("broker:confirm:stale")
def test_what_vanished_since_it_was_shown_is_not_sent(bench: Bench) -> None:
    """Somebody took it away on purpose; writing it would bring it back."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.put("sim:a", None)
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(FAILED, Evidence.STALE)]
    assert "it was present, now it is absent" in said(report)[0]
    assert (bench.text, bench.requests) == (None, 0)


@pytest.mark.requirement("broker:confirm:already_so")
def test_what_holds_already_is_not_sent(bench: Bench) -> None:
    """Nothing of ours is there to be undone, and the transaction has what it asked for."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.put("sim:a", {"text": "new", "note": "by somebody else"})
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert outcomes(report) == [(FAILED, Evidence.ALREADY_SO)]
    assert said(report) == ["sim:a is already as asked; nothing was sent and nothing was changed."]
    assert report.state is State.COMPLETE
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:already_so")
def test_what_holds_already_needs_no_confirmation(bench: Bench) -> None:
    """A person who is asked for nothing learns to confirm without reading."""
    report = bench.propose(request(EDIT, "a", "old"))
    assert outcomes(report) == [(FAILED, Evidence.ALREADY_SO)]
    assert report.state is State.COMPLETE
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:fits")
def test_a_kind_that_does_not_fit_the_target_is_not_sent(bench: Bench) -> None:
    """A create over something would be an overwrite that nobody was shown, and an edit of nothing a create."""
    over = bench.propose(request(CREATE, "a"), ask=AUTO)
    assert said(over) == [
        "I couldn't create sim:a: something else is there already; edit it, or upload over it; nothing was changed."
    ]
    nothing = bench.propose(request(EDIT, "b"), ask=AUTO)
    assert said(nothing) == ["I couldn't edit sim:b: there is nothing there; nothing was changed."]
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:fits")
def test_a_target_that_can_not_be_read_is_not_written(bench: Bench) -> None:
    """What can't be compared with what was shown may be anything."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.is_unreadable = lambda target: True
    report = bench.run(confirm(proposed.transaction, by="person"))
    assert said(report) == ["I couldn't edit sim:a: it can't be read: the door is locked; nothing was changed."]
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:expired")
def test_an_expired_proposal_is_not_confirmed(bench: Bench) -> None:
    """A confirmation is for now; and what nobody looked at in time was not declined."""
    proposed = bench.propose(request(EDIT, "a"), ask=Ask("agent", expires_in_ms=1_000))
    bench.journals.clock.advance(1_000)
    with pytest.raises(ProposalError, match="expired before it was confirmed"):
        bench.run(confirm(proposed.transaction, by="person"))
    with pytest.raises(ProposalError, match="it is expired"):
        bench.run(confirm(proposed.transaction, by="person"))
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:fits")
def test_what_a_surface_refuses_to_prepare_is_not_sent(bench: Bench) -> None:
    """Everything that can fail without an effect fails before the intent, and says that nothing was changed."""

    def prepare(attempt: Attempt, blobs: Blobs) -> Prepared:
        raise PayloadError("the file shrank while it was read")

    bench.surface.prepare = prepare  # type: ignore[method-assign]
    report = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert said(report) == ["I couldn't edit sim:a: the file shrank while it was read; nothing was changed."]
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:expired")
def test_an_expiry_that_comes_too_late_changes_nothing(bench: Bench) -> None:
    """Another process confirmed in time by its own clock; whoever finds it expired is told what became of it."""
    proposed = bench.propose(request(EDIT, "a"), ask=Ask("agent", expires_in_ms=1_000))
    now_ms = bench.journals.clock.now_ms()
    bench.journals.clock.advance(1_000)
    slow = bench.until(confirm(proposed.transaction, by="one"), Commit)
    bench.journals.clock.set_wall(now_ms)
    quick = bench.run(confirm(proposed.transaction, by="two"), bench.journals.open())
    late = slow.finish()
    assert late.is_joined
    assert said(late) == said(quick) == ["I edited sim:a."]


@pytest.mark.requirement("broker:confirm:expired")
def test_an_expired_proposal_is_not_joined(bench: Bench) -> None:
    """Whoever asks again after that wants a proposal that can be confirmed."""
    proposed = bench.propose(request(EDIT, "a"), ask=Ask("agent", expires_in_ms=1_000))
    bench.journals.clock.advance(1_000)
    another = bench.propose(request(EDIT, "a"))
    assert another.transaction != proposed.transaction
    assert bench.check(proposed).state is State.WITHDRAWN


@pytest.mark.requirement("broker:confirm:declined")
def test_a_declined_proposal_is_over(bench: Bench) -> None:
    """No means no, with its reason; a later yes needs a new proposal."""
    proposed = bench.propose(request(EDIT, "a"))
    declined = bench.run(decline(proposed.transaction, by="person", reason="not today"))
    assert [life.state for life in declined.lives] == [State.DECLINED]
    assert declined.state is State.WITHDRAWN
    with pytest.raises(ProposalError, match="it is declined"):
        bench.run(confirm(proposed.transaction, by="person"))
    with pytest.raises(ProposalError, match="nothing left to decline"):
        bench.run(decline(proposed.transaction, by="person", reason="really not"))
    assert bench.requests == 0


@pytest.mark.requirement("broker:confirm:declined")
def test_a_decline_that_comes_too_late_says_so(bench: Bench) -> None:
    """Somebody confirmed in between: that is an answer for whoever declines, not a crash."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(decline(proposed.transaction, by="one", reason="no"), Commit)
    bench.run(confirm(proposed.transaction, by="two"), bench.journals.open())
    with pytest.raises(ProposalError, match="nothing left to decline: it is complete"):
        slow.finish()
    assert bench.text == "new"


@pytest.mark.requirement("broker:confirm:declined")
def test_a_confirmation_that_comes_too_late_sends_nothing(bench: Bench) -> None:
    """Somebody declined after this confirmation began; the journal decides who was first."""
    proposed = bench.propose(request(EDIT, "a"))
    slow = bench.until(confirm(proposed.transaction, by="one"), Commit)
    bench.run(decline(proposed.transaction, by="two", reason="no"), bench.journals.open())
    with pytest.raises(ProposalError, match="it is declined"):
        slow.finish()
    assert (bench.text, bench.requests) == ("old", 0)


@pytest.mark.requirement("broker:confirm:superseded")
def test_a_proposal_whose_target_moved_is_superseded(bench: Bench) -> None:
    """Proposed anew, it is shown as it is now; the old one can't be confirmed any more."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    another = bench.propose(request(EDIT, "a"))
    assert another.transaction != proposed.transaction
    with pytest.raises(ProposalError, match="it is superseded"):
        bench.run(confirm(proposed.transaction, by="person"))
    report = bench.run(confirm(another.transaction, by="person"))
    assert said(report) == ["I edited sim:a."]
    assert bench.effects == 1


@pytest.mark.requirement("broker:confirm:superseded")
def test_a_proposal_confirmed_meanwhile_is_joined_and_not_superseded(bench: Bench) -> None:
    """The second proposer saw it waiting; by the time it would replace it, it is on its way."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.surface.put("sim:a", THEIRS)
    slow = bench.until(propose([request(EDIT, "a")], ASK), Commit)
    bench.surface.put("sim:a", {"text": "old", "note": "kept"})
    bench.run(confirm(proposed.transaction, by="person"), bench.journals.open())
    report = slow.finish()
    assert report.is_joined
    assert report.transaction == proposed.transaction


@pytest.mark.requirement("broker:confirm:altered")
def test_a_proposal_altered_after_it_was_made_is_refused(bench: Bench) -> None:
    """A confirmation is bound to exactly what will be sent; a payload that changed behind it is not that."""
    proposed = bench.propose(request(EDIT, "a"))
    name = proposed.lives[0].operation_id
    events = bench.journal.events

    def altered(subject: str) -> list[Event]:
        found = events(subject)
        if subject == name:
            found[0] = replace(found[0], data={**found[0].data, "payload": {"fields": THEIRS}})
        return found

    bench.journal.events = altered  # type: ignore[method-assign]
    with pytest.raises(ProposalError, match=f"{name} was altered after it was proposed"):
        bench.run(confirm(proposed.transaction, by="person"))
    assert (bench.text, bench.requests) == ("old", 0)


@pytest.mark.requirement("broker:confirm:altered")
def test_a_confirmation_of_something_else_is_refused(bench: Bench) -> None:
    """The page that the person saw may be older than the proposal; the digest that came with it tells."""
    proposed = bench.propose(request(EDIT, "a"))
    with pytest.raises(ProposalError, match="is not what was shown"):
        bench.run(confirm(proposed.transaction, by="person", shown_digest="of another"))
    report = bench.run(confirm(proposed.transaction, by="person", shown_digest=proposed.digest))
    assert said(report) == ["I edited sim:a."]


@pytest.mark.requirement("broker:confirm:exact")
def test_what_is_sent_is_what_was_confirmed(bench: Bench) -> None:
    """Byte for byte, and recorded with its key before it leaves."""
    proposed = bench.propose(request(EDIT, "a"))
    halfway = bench.until(confirm(proposed.transaction, by="person"), Send)
    assert isinstance(halfway.step, Send)
    attempt = halfway.step.attempt
    assert (attempt.operation, attempt.payload) == (proposed.lives[0].operation, proposed.lives[0].plan.payload)
    [*_, intent] = bench.journals.open().events(attempt.operation_id)
    assert intent.happened is Happened.INTENDED
    assert intent.data["key"] == attempt.key
    assert intent.claims
