"""The one table: every pair is in it or raises, and what it must never allow is not reachable."""

from itertools import product

import pytest

from amends import Happened, State
from amends.contract.lifecycle import HOLDING, TABLE, UNSETTLED, after, diagram, fold
from amends.errors import LostRaceError

STATES: list[State | None] = [None, *State]
FINAL = {
    State.APPLIED,
    State.FAILED,
    State.DECLINED,
    State.SUPERSEDED,
    State.EXPIRED,
    State.ABANDONED,
    State.COMPLETE,
    State.BLOCKED,
    State.WITHDRAWN,
}


def reachable(start: State) -> set[State]:
    """Every state to which some history leads from `start`."""
    seen, waiting = set[State](), [start]
    while waiting:
        following = set(TABLE[waiting.pop()].values()) - seen
        seen |= following
        waiting += following
    return seen


@pytest.mark.requirement("lifecycle:table:closed")
@pytest.mark.parametrize(("state", "event"), list(product(STATES, Happened)))
def test_what_is_not_in_the_table_raises_and_changes_nothing(state: State | None, event: Happened) -> None:
    """A state machine that lets an unforeseen event pass is in a state that nobody has thought about."""
    row = dict(TABLE[state])
    if event in row:
        assert after(state, event) is row[event]
    else:
        with pytest.raises(LostRaceError, match=f"'{event}' can't happen to something that is {state or 'not rec'}"):
            after(state, event)
    assert TABLE[state] == row


@pytest.mark.requirement("lifecycle:table:closed")
def test_every_state_has_a_row_and_a_way_to_it() -> None:
    """A state without a row would crash; one that nothing leads to is a leftover that misleads the reader."""
    assert set(TABLE) == set(STATES)
    assert reachable(State.PROPOSED) | reachable(State.OPEN) | {State.PROPOSED, State.OPEN} == set(State)
    assert {event for row in TABLE.values() for event in row} == set(Happened)


@pytest.mark.requirement("lifecycle:table:closed")
def test_a_write_and_a_transaction_never_become_each_other() -> None:
    """Outcomes of several targets are never folded into one word, so no write is ever complete or blocked."""
    assert reachable(State.PROPOSED) & (reachable(State.OPEN) | {State.OPEN}) == set()


@pytest.mark.requirement("lifecycle:outcome:final")
@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_final_state_has_no_way_out(state: State) -> None:
    """An outcome that was told is told for ever; what may still happen to it changes nothing about it."""
    assert set(TABLE[state].values()) <= {state}


@pytest.mark.requirement("lifecycle:outcome:final")
def test_every_state_that_is_not_final_leads_to_one_that_is() -> None:
    """A write that can't end would hold its claims for ever."""
    for state in set(State) - FINAL:
        assert reachable(state) & FINAL


@pytest.mark.requirement("lifecycle:send:once")
@pytest.mark.parametrize("state", [State.EXECUTING, State.AMBIGUOUS, State.CLOSED, State.APPLIED, State.FAILED])
def test_nothing_leads_back_to_where_it_could_be_sent(state: State) -> None:
    """From the intent on the bytes may be out; any way back to confirmed is a second sending."""
    assert reachable(state) & {State.PROPOSED, State.CONFIRMED, State.EXECUTING} == set()


@pytest.mark.requirement("lifecycle:send:once")
def test_a_write_is_sent_only_after_it_was_confirmed() -> None:
    """`executing` is entered by one row: confirmed, with a durable intent."""
    entries = [
        (state, event) for state, row in TABLE.items() for event, to in row.items() if to is State.EXECUTING != state
    ]
    assert entries == [(State.CONFIRMED, Happened.INTENDED)]
    assert [state for state, row in TABLE.items() if State.CONFIRMED in row.values()] == [State.PROPOSED]


@pytest.mark.requirement("lifecycle:send:takeover")
@pytest.mark.parametrize("state", sorted(HOLDING))
def test_a_takeover_leads_to_ambiguous_and_never_to_a_send(state: State) -> None:
    """Whoever takes over doesn't know whether the other one sent; not knowing has one name."""
    assert after(state, Happened.TAKEN_OVER) is State.AMBIGUOUS


@pytest.mark.requirement("lifecycle:claims:held")
def test_what_may_still_land_counts_as_unsettled() -> None:
    """If an attempt that may land didn't count, the same payload would be proposed anew beside it."""
    may_land = {State.EXECUTING, State.AMBIGUOUS}
    assert may_land == HOLDING
    assert HOLDING < UNSETTLED
    assert UNSETTLED.isdisjoint(FINAL)


@pytest.mark.requirement("lifecycle:history:fold")
def test_a_history_gives_the_state_that_it_ends_in() -> None:
    """The state is never stored apart from its events, so the two can't disagree."""
    story = [Happened.PROPOSED, Happened.CONFIRMED, Happened.INTENDED, Happened.ANSWER_LOST, Happened.FENCE_STARTED]
    assert fold([]) is None
    assert fold(story) is State.AMBIGUOUS
    assert fold([*story, Happened.APPLIED, Happened.DELIVERED, Happened.UNDONE]) is State.APPLIED


@pytest.mark.requirement("lifecycle:history:fold")
def test_a_history_with_an_illegal_event_has_no_state() -> None:
    """A damaged journal must not be read as an outcome."""
    with pytest.raises(LostRaceError):
        fold([Happened.PROPOSED, Happened.INTENDED])
    with pytest.raises(LostRaceError):
        fold([Happened.APPLIED])


@pytest.mark.requirement("lifecycle:diagram:drawn")
def test_the_diagram_draws_every_change_of_state() -> None:
    """A diagram that is drawn by hand is wrong after the first change; this one is the table."""
    drawn = diagram().splitlines()
    changes = [(state, event, to) for state, row in TABLE.items() for event, to in row.items() if to is not state]
    assert drawn == ["stateDiagram-v2", *(f"    {state or '[*]'} --> {to}: {event}" for state, event, to in changes)]
