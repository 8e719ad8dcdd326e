"""After BLOCKED: nothing acts, a person's follow-up begins afresh, and the old verdict stands."""

import pytest

from amends.cli.verdict import verdict
from amends.contract.lifecycle import State
from amends.errors import BlockedError, ProposalError, RecoveryError
from tests.transaction.office import Office, create, edit, recoveries, stop_of


def blocked(office: Office) -> str:
    """Leave a BLOCKED transaction: `a.md` applied, `b.md` refused twice, `c.md` never sent."""
    office.refuse("b.md")
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"), create("c.md", "c\n"), title="Three papers")
    assert report.state is State.BLOCKED
    office.accept()
    return report.transaction


@pytest.mark.requirement("transaction:blocked:acts_no_more")
def test_what_is_blocked_acts_no_more_and_refuses_what_overlaps(office: Office) -> None:
    """Confirm, check, ask: none of them sends, though the cause was mended and a send would work."""
    blocked(office)
    report, sends = office.newest(), office.sends
    for state in (office.confirm(report).state, office.check(report).state):
        assert state is State.BLOCKED
    with pytest.raises(BlockedError, match="nothing was sent") as refused:
        office.ask(create("b.md", "b\n"))
    assert refused.value.exit_code == 4
    assert refused.value.hint is not None
    assert f"amends followup {report.transaction}" in refused.value.hint
    assert office.sends == sends
    assert office.ask(create("elsewhere.md", "x\n")).state is State.COMPLETE


@pytest.mark.requirement("transaction:followup:fresh")
def test_a_follow_up_completes_and_the_old_verdict_stands(office: Office) -> None:
    """Only what is amiss is proposed, to a person; only when it is complete is the matter open to all again."""
    blocked(office)
    old = office.newest()
    follow = office.followup(old)
    assert (follow.follows, follow.gate) == (old.transaction, old.gate)
    assert [life.operation.target for life in follow.lives] == ["notes:b.md", "notes:c.md"]
    assert [life.state for life in follow.lives] == [State.PROPOSED, State.PROPOSED]
    with pytest.raises(BlockedError):
        office.ask(edit("a.md", "newer\n"))
    assert office.followup(old).transaction == follow.transaction
    assert office.confirm(follow).state is State.COMPLETE
    after = office.find(old)
    assert (after.state, after.blocked, after.is_followed_up) == (State.BLOCKED, old.blocked, True)
    assert office.ask(edit("a.md", "newer\n")).state is State.COMPLETE


@pytest.mark.requirement("transaction:followup:mended")
def test_a_follow_up_where_somebody_mended_it_is_complete_at_once(office: Office) -> None:
    """Nothing is amiss, so there is nothing to confirm, and nothing to send."""
    blocked(office)
    old, sends = office.newest(), office.sends
    office.put("b.md", "b\n")
    office.put("c.md", "c\n")
    follow = office.followup(old)
    assert (follow.state, follow.lives, office.sends) == (State.COMPLETE, (), sends)
    assert verdict(follow) == "COMPLETE: all that was asked for holds already."
    assert office.find(old).state is State.BLOCKED
    with pytest.raises(RecoveryError, match=f"was taken up already, by {follow.transaction}"):
        office.followup(old)


@pytest.mark.requirement("transaction:followup:once")
def test_a_follow_up_is_void_once_the_matter_was_ended_otherwise(office: Office) -> None:
    """Somebody undid the whole, or let it go; the follow-up that waits would do the half that nobody wants any more."""
    blocked(office)
    old = office.newest()
    follow = office.followup(old)
    assert office.confirm(office.undo(old)).state is State.COMPLETE
    assert office.find(old).is_followed_up
    assert [life.state for life in office.find(follow).lives] == [State.SUPERSEDED] * 2
    with pytest.raises(ProposalError, match="it is superseded"):
        office.confirm(follow)
    with office.opened() as amends:
        assert amends.inbox() == []
    assert [office.read(name) for name in ("a.md", "b.md", "c.md")] == ["old\n", None, None]


@pytest.mark.requirement("transaction:followup:fresh")
def test_a_follow_up_has_a_budget_of_its_own_and_blocks_like_any_other(office: Office) -> None:
    """A person's second look is worth one more recovery, not endless ones."""
    blocked(office)
    office.refuse("b.md")
    ended = office.confirm(office.followup(office.newest()))
    assert (ended.state, stop_of(ended)) == (State.BLOCKED, "no_progress")
    assert office.sends.count("b.md") == 4
    office.accept()
    taking_up = office.followup(ended)
    assert taking_up.title == "Follow-up of Three papers"
    last = office.confirm(taking_up)
    assert last.state is State.COMPLETE
    assert office.ask(edit("b.md", "free again\n")).state is State.COMPLETE


@pytest.mark.requirement("transaction:undo:reversed")
def test_a_transaction_is_undone_last_first_and_what_can_not_be_is_listed(office: Office) -> None:
    """A later write may stand on an earlier one; and what is gone for good is said before anybody confirms."""
    office.put("b.md", "b\n")
    done = office.ask(edit("a.md", "new\n"), {"delete": "notes:b.md"}, create("c.md", "c\n"))
    assert done.state is State.COMPLETE
    undo = office.undo(done)
    assert [life.operation.target for life in undo.lives] == ["notes:c.md", "notes:a.md"]
    assert [("notes:b.md" in line or "delete" in line) for line in undo.left_out] == [True]
    assert office.confirm(undo).state is State.COMPLETE
    assert office.sends[-2:] == ["c.md", "a.md"]
    assert [office.read(name) for name in ("a.md", "b.md", "c.md")] == ["old\n", None, None]


@pytest.mark.requirement("transaction:repeat:goes_on")
def test_the_same_document_again_finishes_what_a_kill_left(office: Office) -> None:
    """Whoever asks again after a crash wants the rest, not a second account of what is done already."""
    writes = (create("b.md", "b\n"), edit("a.md", "new\n"), create("c.md", "c\n"))
    report = office.killed(lambda: office.ask(*writes), at="c.md")
    assert [office.read(name) for name in ("a.md", "b.md", "c.md")] == ["new\n", "b\n", None]
    assert office.check(report).state is State.OPEN
    waiting = office.ask(*writes, by=None)
    assert (waiting.transaction, waiting.is_joined, office.read("c.md")) == (report.transaction, True, None)
    ended = office.ask(*writes)
    assert (ended.transaction, ended.state) == (report.transaction, State.COMPLETE)
    assert ([office.read(name) for name in ("a.md", "b.md", "c.md")], recoveries(ended)) == (["new\n", "b\n", "c\n"], 1)


@pytest.mark.requirement("transaction:gate:frozen")
def test_a_changed_document_does_not_change_what_complete_means(office: Office) -> None:
    """Dropping the check that fails is the oldest way to be done."""
    report = office.killed(lambda: office.ask(edit("a.md", "new\n"), create("b.md", "b\n")))
    gate = report.gate
    office.check(report)
    ended = office.ask(edit("a.md", "new\n"), title="Now without the other one")
    assert (ended.transaction, ended.gate) == (report.transaction, gate)
    assert office.read("b.md") == ("b\n" if ended.state is State.COMPLETE else None)
    assert len(ended.gate) == 2
