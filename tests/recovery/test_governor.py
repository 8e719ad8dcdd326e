"""Each rule of the governor, each reason to stop, and the order among them."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends import ABSENT, Fact, Operation, OperationKind, fingerprint
from amends.recovery import (
    RULES,
    Audit,
    Blocked,
    Case,
    Complete,
    LookAgain,
    Proceed,
    Progress,
    Recover,
    Spent,
    Standing,
    Stop,
    Tried,
    Wait,
    aims,
    decide,
    overlap,
    progress,
    rule_table,
)
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
    held,
    note,
    recovery,
    stop_of,
    tried,
    unreadable,
    unsent,
    write,
)

OLD: Audit = {A: note()}
NEW: Audit = {A: note("new")}
BOTH_OLD: Audit = {A: note(), B: note()}


# --- waiting and completing --------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:observe:held")
def test_nothing_is_sent_while_an_attempt_may_land() -> None:
    """A recovery beside an attempt that lands late would be the second effect of one confirmation."""
    waiting = case(held(edit(A)), unsent(edit(B)), now=BOTH_OLD, wait_until_ms=9)
    assert decide(waiting) == Wait(9)
    assert decide(case(failed(edit(A)), recovery(edit(A), Standing.HELD, OLD), now=OLD)) == Wait(None)


@pytest.mark.requirement("recovery:observe:held", "recovery:rules:order")
def test_not_even_complete_is_said_while_an_attempt_may_land() -> None:
    """What holds now could be overwritten by what is still on its way."""
    assert decide(case(held(edit(A)), now=NEW, again=NEW)) == Wait(None)
    assert decide(case(held(edit(A), was_interrupted=True), now={A: unreadable()})) == Wait(None)


@pytest.mark.requirement("recovery:gate:complete")
def test_one_reading_asks_for_another_before_it_is_complete() -> None:
    """One look can fall between two changes; nobody is told complete by it."""
    assert decide(case(applied(edit(A)), now=NEW)) == LookAgain()
    assert decide(case(applied(edit(A)), now=NEW, again=NEW)) == Complete(is_steady=True)


@pytest.mark.requirement("recovery:gate:complete")
def test_it_is_complete_whoever_made_it_so() -> None:
    """The user asked for a state; where it holds, nothing is left to send, whatever became of our writes."""
    for write_ in (failed(edit(A)), closed(edit(A)), unsent(edit(A)), tried(edit(A), Standing.ALREADY_SO)):
        assert decide(case(write_, now=NEW, again=NEW)) == Complete(is_steady=True)


@pytest.mark.requirement("recovery:gate:complete", "recovery:progress:regression")
def test_what_holds_only_in_the_first_reading_is_not_complete() -> None:
    """Nothing of ours could land in between: somebody else is writing at this moment."""
    assert stop_of(case(applied(edit(A)), now=NEW, again={A: note("theirs")})) is Stop.REGRESSION
    assert stop_of(case(applied(edit(A)), now=NEW, again=OLD)) is Stop.OSCILLATION


@pytest.mark.requirement("recovery:gate:complete")
def test_what_holds_only_in_the_second_reading_needs_a_third() -> None:
    """Two readings that agree are what completes a transaction, not the better one of two."""
    assert decide(case(failed(edit(A)), now=OLD, again=NEW)) == LookAgain()


@pytest.mark.requirement("recovery:gate:steady")
def test_two_readings_of_other_versions_are_complete_but_not_steady() -> None:
    """Every fact was seen twice, and yet something moved: the report has to say when each was seen."""
    first, second = {A: note("new", version="1")}, {A: note("new", version="2")}
    assert decide(case(applied(edit(A)), now=first, again=second)) == Complete(is_steady=False)


@pytest.mark.requirement("recovery:gate:proved")
def test_a_write_without_facts_is_complete_only_by_its_own_proof() -> None:
    """All of no facts hold at any time; a message that was never sent would be called sent."""
    message = Operation(OperationKind.CREATE, A, ())
    assert decide(case(applied(message), now=OLD, again=OLD)) == Complete(is_steady=True)
    assert decide(case(unsent(message), now=OLD, again=OLD)) == Proceed(message)
    for lost in (closed(message), failed(message)):
        assert stop_of(case(lost, now=OLD, again=OLD)) is Stop.NEXT_AMBIGUOUS
        assert stop_of(case(lost, unsent(edit(B)), now=BOTH_OLD)) is Stop.NEXT_AMBIGUOUS


@pytest.mark.requirement("recovery:gate:proved", "recovery:stop:ambiguous")
def test_a_write_without_facts_that_waits_its_turn_blames_nobody() -> None:
    """What was not sent yet is not amiss, so the failed write before it is recovered."""
    message = Operation(OperationKind.CREATE, B, ())
    assert decide(case(failed(edit(A)), unsent(message), now=BOTH_OLD)) == Recover(edit(A))


@pytest.mark.requirement("recovery:mismatch:once", "recovery:gate:complete")
def test_a_fact_stated_twice_changes_no_decision() -> None:
    """Neither completing nor recovering depends on how often somebody says what is wanted."""
    twice = replace(edit(A), postcondition=edit(A).postcondition * 2)
    assert decide(case(applied(twice), now=NEW, again=NEW)) == Complete(is_steady=True)
    assert decide(case(failed(twice), now=OLD)) == Recover(twice)


# --- planned writes ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:planned:first")
def test_the_next_planned_write_follows_when_nothing_else_is_amiss() -> None:
    """A first sending costs no budget: an ambiguous write that did land must not stop those after it."""
    landed = {A: note("new"), B: note()}
    assert decide(case(closed(edit(A)), unsent(edit(B)), unsent(edit(C)), now={**landed, C: note()})) == Proceed(
        edit(B)
    )
    spent = Spent(count=2)
    assert decide(case(closed(edit(A)), unsent(edit(B)), now=landed, spent=spent)) == Proceed(edit(B))


@pytest.mark.requirement("recovery:planned:first")
def test_no_planned_write_is_sent_past_one_that_failed() -> None:
    """The user asked for one state; its later parts could make an earlier failure worse."""
    assert decide(case(failed(edit(A)), unsent(edit(B)), now=BOTH_OLD)) == Recover(edit(A))
    moved_on = case(failed(edit(A)), unsent(edit(B)), now={A: note("other"), B: note()})
    assert stop_of(moved_on) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:planned:first")
def test_a_planned_write_with_another_value_mends_nothing_of_this_one() -> None:
    """That something is going to be written there is no promise that the fact will hold."""
    assert decide(case(failed(edit(A)), unsent(edit(A, "later")), now=OLD)) == Recover(edit(A))


# --- the person, and what can't be done ----------------------------------------------------------------------------


@pytest.mark.requirement("recovery:stop:interrupted")
def test_after_a_person_broke_it_off_nothing_is_sent() -> None:
    """Whoever presses Ctrl-C does not mean: try it once more."""
    assert stop_of(case(failed(edit(A), was_interrupted=True), unsent(edit(B)), now=BOTH_OLD)) is Stop.INTERRUPTED
    landed = {A: note("new"), B: note()}
    assert stop_of(case(failed(edit(A), was_interrupted=True), unsent(edit(B)), now=landed)) is Stop.INTERRUPTED


@pytest.mark.requirement("recovery:stop:interrupted", "recovery:rules:order")
def test_what_is_complete_is_complete_also_when_it_was_broken_off() -> None:
    """Nothing would be sent either way; then the truth is that it holds."""
    given = case(failed(edit(A), was_interrupted=True), now=NEW, again=NEW)
    assert decide(given) == Complete(is_steady=True)
    blind = case(failed(edit(A), was_interrupted=True), now={A: unreadable()})
    assert stop_of(blind) is Stop.INTERRUPTED


@pytest.mark.requirement("recovery:stop:capability")
def test_nothing_is_sent_while_a_target_cannot_be_read() -> None:
    """What can't be read can't be compared, and afterwards nobody could tell whether it helped."""
    blind = decide(case(failed(edit(A)), unsent(edit(B)), now={A: note(), B: unreadable()}))
    assert isinstance(blind, Blocked)
    assert (blind.stop, blind.target, blind.operation) == (Stop.CAPABILITY_MISSING, B, None)
    later = case(applied(edit(A)), unsent(edit(B)), now={A: note("new"), B: unreadable()})
    assert stop_of(later) is Stop.CAPABILITY_MISSING


@pytest.mark.requirement("recovery:stop:capability", "recovery:rules:order")
def test_a_target_that_became_unreadable_is_no_regression() -> None:
    """It may hold all the same; what is missing is the means to see it, and that is what is said."""
    history = ({A: note("new")},)
    assert stop_of(case(applied(edit(A)), now={A: unreadable()}, history=history)) is Stop.CAPABILITY_MISSING


@pytest.mark.requirement("recovery:stop:capability", "recovery:rules:order")
def test_that_a_target_cannot_be_read_is_told_before_a_return() -> None:
    """Whoever can't see everything should not be told what goes on, but how to see."""
    history = (BOTH_OLD, {A: note("x"), B: note()})
    given = case(failed(edit(A)), failed(edit(B)), now={A: note(), B: unreadable()}, history=history)
    assert stop_of(given) is Stop.CAPABILITY_MISSING


@pytest.mark.requirement("recovery:stop:capability")
def test_what_the_surface_can_not_do_is_not_tried() -> None:
    """Sending it would spend the one recovery on something that is known not to work."""
    unable = failed(edit(A), lacks="the folder is read-only")
    assert stop_of(case(unable, now=OLD)) is Stop.CAPABILITY_MISSING
    assert stop_of(case(applied(edit(A), lacks="no more"), failed(edit(B)), now={A: note("new"), B: note()})) is None
    planned = unsent(edit(B), lacks="it keeps no archive")
    assert stop_of(case(closed(edit(A)), planned, now={A: note("new"), B: note()})) is Stop.CAPABILITY_MISSING


# --- progress ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:progress:unchanged")
def test_a_recovery_that_changed_nothing_is_the_last() -> None:
    """The same step at the same state would do the same again."""
    given = case(failed(edit(A)), recovery(edit(A), Standing.FAILED, OLD), now=OLD)
    assert stop_of(given) is Stop.NO_PROGRESS


@pytest.mark.requirement("recovery:progress:unchanged", "recovery:rules:order")
def test_no_planned_write_follows_a_recovery_without_progress() -> None:
    """The fact that is amiss could be one of a planned write, too; progress is asked for before anything else."""
    lost = case(
        applied(edit(A)),
        recovery(edit(A), Standing.CLOSED, {A: note("new"), B: note()}),
        unsent(edit(B)),
        now={A: note("new"), B: note()},
    )
    assert stop_of(lost) is Stop.NO_PROGRESS


@pytest.mark.requirement("recovery:progress:unchanged")
def test_a_recovery_that_exchanged_one_wrong_value_for_another_is_the_last() -> None:
    """Old, then something else, then something else again: the distance never shrinks."""
    given = case(failed(edit(A)), recovery(edit(A), Standing.CLOSED, OLD), now={A: note("other")})
    assert stop_of(given) is Stop.NO_PROGRESS


@pytest.mark.requirement("recovery:progress:regression")
def test_a_recovery_after_which_something_is_worse_is_the_last() -> None:
    """That it mended one fact does not weigh up another one that it, or somebody, broke."""
    writes = (applied(edit(A)), failed(edit(B)))
    before = {A: note("new"), B: note()}
    given = case(*writes, recovery(edit(B), Standing.APPLIED, before), now={A: note(None), B: note("new")})
    stopped = decide(replace(given, history=(BOTH_OLD, before)))
    assert isinstance(stopped, Blocked)
    assert (stopped.stop, stopped.target) == (Stop.REGRESSION, A)


@pytest.mark.requirement("recovery:progress:regression")
def test_a_fact_that_got_worse_stops_before_any_recovery() -> None:
    """Somebody else is at work there; whatever is sent now is sent into their hands."""
    given = case(failed(edit(A)), unsent(edit(B)), now={A: note(), B: note(None)})
    assert stop_of(given) is Stop.REGRESSION


@pytest.mark.requirement("recovery:progress:regression")
def test_a_regress_that_was_made_good_again_is_not_forgotten() -> None:
    """Worse and back is a target in somebody's hands, whatever the newest look shows."""
    history = (OLD, {A: note(None)}, {A: note("x")})
    assert stop_of(case(failed(edit(A)), now={A: note("y")}, history=history)) is Stop.REGRESSION


@pytest.mark.requirement("recovery:progress:regression")
def test_a_regress_against_the_reading_of_the_recovery_counts_without_its_look() -> None:
    """After a restart the history may be short; what the recovery was decided on came with its own record."""
    given = case(failed(edit(A)), recovery(edit(A), Standing.CLOSED, OLD), now={A: note(None)}, history=())
    assert stop_of(given) is Stop.REGRESSION


@pytest.mark.requirement("recovery:progress:regression")
def test_a_look_at_one_target_counts_for_that_target() -> None:
    """After an applied write its own target is read; that look knows better than the reading before it."""
    history = (BOTH_OLD, {A: note("new")})
    assert stop_of(case(applied(edit(A)), failed(edit(B)), now={A: note("x"), B: note()}, history=history)) is (
        Stop.REGRESSION
    )
    assert decide(case(applied(edit(A)), failed(edit(B)), now={A: note("new"), B: note()}, history=history)) == (
        Recover(edit(B))
    )


@pytest.mark.requirement("recovery:progress:oscillation")
def test_a_target_that_came_back_stops_recovery() -> None:
    """The write landed, and somebody put the old text back: writing it again would be the next round."""
    one, two, three = ({A: note(text, version=version), B: note()} for text, version in ("o1", "n2", "o3"))
    writes = (closed(edit(A, "n"), base=one), failed(edit(B)))
    stopped = decide(case(*writes, now=three, history=(one, two)))
    assert isinstance(stopped, Blocked)
    assert (stopped.stop, stopped.target) == (Stop.OSCILLATION, A)


@pytest.mark.requirement("recovery:progress:oscillation", "recovery:rules:order")
def test_a_return_is_told_as_such_and_not_as_regress_or_standstill() -> None:
    """Three reasons may hold at once; the one that says most about the cause is given."""
    writes = (failed(edit(A)), recovery(edit(A), Standing.APPLIED, OLD))
    assert stop_of(case(*writes, now=OLD, history=(OLD, NEW))) is Stop.OSCILLATION
    missing = case(failed(edit(A)), now={A: note(None)}, history=({A: note(None)}, {A: note("x")}))
    assert stop_of(missing) is Stop.OSCILLATION


@pytest.mark.requirement("recovery:progress:no_oscillation")
def test_notes_that_are_deleted_one_after_the_other_go_on() -> None:
    """All of them are empty and then gone; not one of them came back."""
    names = [f"notes:{number}.md" for number in range(4)]
    gone = [write(OperationKind.ARCHIVE, name, text=ABSENT) for name in names]
    looks = [
        {name: ABSENT_NOTE if place < count else note("") for place, name in enumerate(names)} for count in (0, 1, 3)
    ]
    base = {name: {name: note("")} for name in names}
    writes = [closed(each, base=base[each.target]) for each in gone[:3]]
    given = case(*writes, unsent(gone[3]), now=looks[2], history=tuple(looks[:2]))
    assert decide(given) == Proceed(gone[3])


# --- whose state it is ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:stop:ambiguous")
def test_a_fact_that_no_write_was_to_establish_is_not_guessed_at() -> None:
    """There is no confirmed write that would mend it, and none is made up."""
    stopped = decide(case(applied(edit(A)), now={A: note("new"), B: note()}, gate=(Fact(B, "text", "new"),)))
    assert isinstance(stopped, Blocked)
    assert (stopped.stop, stopped.target, stopped.operation) == (Stop.NEXT_AMBIGUOUS, B, None)


@pytest.mark.requirement("recovery:stop:ambiguous")
def test_a_lost_write_that_left_something_else_is_not_repeated() -> None:
    """It may be half of ours or all of somebody's; a second write would be right in one case only."""
    given = case(closed(edit(A)), now={A: note("nwe")})
    assert stop_of(given) is Stop.NEXT_AMBIGUOUS


@pytest.mark.requirement("recovery:stop:ambiguous", "recovery:stop:foreign")
def test_a_lost_write_is_recovered_from_the_very_state_that_was_confirmed() -> None:
    """It can't land any more and the old state is there: this is what the one recovery is for."""
    assert decide(case(closed(edit(A)), now=OLD)) == Recover(edit(A))
    base = {A: note(version="7")}
    assert decide(case(closed(edit(A), base=base), now={A: note(version="7")})) == Recover(edit(A))
    assert stop_of(case(closed(edit(A), base=base), now={A: note(version="9")})) is Stop.NEXT_AMBIGUOUS


@pytest.mark.requirement("recovery:stop:ambiguous")
def test_a_part_that_provably_landed_may_be_completed() -> None:
    """Where the surface proved what the write left, nothing is guessed, and the rest is recovered from there."""
    step = edit(A, mode="0644")
    base, left = {A: note(mode="0600", version="1")}, {A: note("new", mode="0600", version="2")}
    assert decide(case(closed(step, base=base, left=left), now=left)) == Recover(step)
    assert stop_of(case(closed(step, base=base), now=left)) is Stop.NEXT_AMBIGUOUS
    reverted = case(closed(step, base={A: note(mode="1")}, left={A: note("new", mode="1")}), now={A: note(mode="1")})
    assert stop_of(replace(reverted, history=())) is Stop.NEXT_AMBIGUOUS, "somebody put the old text back"
    touched = {A: note("new", mode="0600", version="3")}
    assert stop_of(case(closed(step, base=base, left=left), now=touched)) is Stop.NEXT_AMBIGUOUS


@pytest.mark.requirement("recovery:stop:foreign")
def test_what_somebody_wrote_after_our_write_is_not_replaced() -> None:
    """Our write applied; that its text is not there any more is somebody's decision."""
    done = applied(edit(A))
    assert stop_of(case(done, now={A: note("theirs")})) is Stop.NEXT_DESTRUCTIVE
    assert stop_of(case(done, now=OLD)) is Stop.NEXT_DESTRUCTIVE
    assert stop_of(case(tried(edit(A), Standing.ALREADY_SO), now=OLD)) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:foreign")
def test_what_somebody_wrote_instead_of_our_write_is_not_replaced() -> None:
    """A write that failed as stale must not come back as a recovery of itself."""
    stale = failed(edit(A), base={A: note(version="1")})
    for seen in (note("theirs", version="2"), note(version="2"), ABSENT_NOTE):
        assert stop_of(case(stale, now={A: seen}, history=())) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:foreign")
def test_somebody_who_helped_with_a_part_is_not_overwritten_either() -> None:
    """They are at work on the same thing; that the rest would be safe is a guess."""
    step = edit(A, mode="0644")
    stale = failed(step, base={A: note(mode="0600", version="1")})
    assert stop_of(case(stale, now={A: note(mode="0644", version="2")})) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:foreign")
def test_somebody_who_helped_with_all_of_it_lets_it_go_on() -> None:
    """Its fact holds; nothing is left to recover, and the next planned write follows."""
    given = case(failed(edit(A)), unsent(edit(B)), now={A: note("new"), B: note()})
    assert decide(given) == Proceed(edit(B))


@pytest.mark.requirement("recovery:observe:whole", "recovery:stop:foreign")
def test_a_move_is_not_recovered_when_its_source_is_another() -> None:
    """The place where it leads is as free as it was; what would be moved there is not what was confirmed."""
    move = Operation(OperationKind.MOVE, B, (Fact(B, "text", "old"), Fact(A, "text", ABSENT)), source=A)
    base = {A: note(), B: ABSENT_NOTE}
    assert decide(case(failed(move, base=base), now=base, history=())) == Recover(move)
    swapped = {A: note("somebody's"), B: ABSENT_NOTE}
    assert stop_of(case(failed(move, base=base), now=swapped, history=())) is Stop.NEXT_DESTRUCTIVE
    assert stop_of(case(failed(move, base={B: ABSENT_NOTE}), now=base, history=())) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:foreign", "recovery:rules:order")
def test_the_worst_of_all_mismatches_decides_and_not_the_first() -> None:
    """Recovering the one that can be, with another that can't, would change things for no end."""
    theirs = case(failed(edit(A)), applied(edit(B)), now={A: note(), B: note("theirs")})
    assert stop_of(theirs) is Stop.NEXT_DESTRUCTIVE
    nobodys = case(failed(edit(A)), now=BOTH_OLD, gate=(Fact(A, "text", "new"), Fact(B, "text", "new")))
    assert stop_of(nobodys) is Stop.NEXT_AMBIGUOUS
    spent = Spent().also(edit(B), [])
    repeated = case(failed(edit(A)), failed(edit(B)), now=BOTH_OLD, spent=spent)
    assert stop_of(repeated) is Stop.SAME_STEP_FAILED


@pytest.mark.requirement("recovery:stop:destructive")
def test_no_recovery_deletes_what_nothing_keeps() -> None:
    """A delete is confirmed by a person each time; what it takes away is nowhere else."""
    delete = write(OperationKind.DELETE, A, text=ABSENT)
    assert stop_of(case(failed(delete), now=OLD)) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:destructive")
def test_no_recovery_replaces_what_the_surface_does_not_keep() -> None:
    """On a surface without an archive the old text would be gone; the last good state comes first."""
    assert stop_of(case(failed(edit(A), undoable=False), now=OLD)) is Stop.NEXT_DESTRUCTIVE
    create = write(OperationKind.CREATE, A, text="new")
    nothing = {A: ABSENT_NOTE}
    given = case(failed(create, base=nothing, undoable=False), now=nothing, history=(nothing,))
    assert decide(given) == Recover(create)


# --- the budget ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:stop:repeated", "recovery:budget:fingerprint")
def test_a_step_that_was_recovered_is_not_recovered_again() -> None:
    """Somebody's help elsewhere is progress, but no second chance for this step."""
    writes = (failed(edit(A)), failed(edit(B)), recovery(edit(A), Standing.FAILED, BOTH_OLD))
    assert stop_of(case(*writes, now={A: note(), B: note("new")})) is Stop.SAME_STEP_FAILED


@pytest.mark.requirement("recovery:stop:foreign", "recovery:rules:order")
def test_what_somebody_wrote_is_told_before_a_used_up_budget() -> None:
    """With a new budget it would still be somebody else's; that is what a person has to decide about."""
    writes = (failed(edit(A)), failed(edit(B)), recovery(edit(A), Standing.FAILED, BOTH_OLD))
    assert stop_of(case(*writes, now={A: note("theirs"), B: note("new")})) is Stop.NEXT_DESTRUCTIVE


@pytest.mark.requirement("recovery:stop:repeated", "recovery:rules:order")
def test_a_repeated_step_is_told_before_a_used_up_budget() -> None:
    """The step that fails again is what is to be mended; that two were used up says less."""
    spent = Spent().also(edit(A), []).also(edit(B), [])
    assert stop_of(case(failed(edit(A)), now=OLD, spent=spent)) is Stop.SAME_STEP_FAILED


@pytest.mark.requirement("recovery:budget:fingerprint", "recovery:budget:aims")
def test_what_the_journal_says_is_spent_is_spent() -> None:
    """Another process, a restart or a new folder sees no recovery among its own writes, but finds the row."""
    by_name = Spent(fingerprints=frozenset({fingerprint(edit(A))}), count=1)
    by_aim = Spent(aims=aims(edit(A, "new ")), count=1)
    for spent in (by_name, by_aim):
        assert stop_of(case(failed(edit(A)), now=OLD, spent=spent)) is Stop.SAME_STEP_FAILED


@pytest.mark.requirement("recovery:budget:unsent")
def test_a_recovery_without_a_row_in_the_journal_counts_too() -> None:
    """It was stale before it was sent, so no intent carries it; deciding it again could go on for ever."""
    first, second = BOTH_OLD, {A: note(), B: note("new")}
    writes = (failed(edit(A)), failed(edit(B)), recovery(edit(A), Standing.FAILED, first))
    assert stop_of(case(*writes, now=second, spent=Spent())) is Stop.SAME_STEP_FAILED


@pytest.mark.requirement("recovery:budget:transaction")
def test_a_third_step_finds_the_budget_of_the_transaction_used_up() -> None:
    """Two recoveries that helped, and another write fails: it is time for a person."""
    before, between = {A: note(), B: note(), C: note()}, {A: note("new"), B: note(), C: note()}
    writes = (
        failed(edit(A)),
        failed(edit(B)),
        failed(edit(C)),
        recovery(edit(A), Standing.APPLIED, before),
        recovery(edit(B), Standing.APPLIED, between),
    )
    given = case(*writes, now={A: note("new"), B: note("new"), C: note()}, history=(before, between))
    assert stop_of(given) is Stop.BUDGET_EXHAUSTED
    recorded = case(failed(edit(A)), now=OLD, spent=Spent(count=2))
    assert stop_of(recorded) is Stop.BUDGET_EXHAUSTED


@pytest.mark.requirement("recovery:budget:transaction")
def test_a_second_step_has_its_own_recovery() -> None:
    """The budget is two, and the first one helped."""
    writes = (failed(edit(A)), failed(edit(B)), recovery(edit(A), Standing.APPLIED, BOTH_OLD))
    now = {A: note("new"), B: note()}
    assert decide(case(*writes, now=now, spent=Spent().also(edit(A), []))) == Recover(edit(B))


@pytest.mark.requirement("recovery:budget:unsent")
def test_a_recovery_can_not_wait_as_a_planned_write() -> None:
    """As a first sending it would cost nothing, so the value can't even be made."""
    with pytest.raises(AssertionError, match="begins with its intent"):
        recovery(edit(A), Standing.UNSENT, OLD)


# --- the table -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recovery:rules:order")
def test_the_rules_are_told_in_their_order_by_their_docstrings() -> None:
    """The table of the skill and the docs is the code's own; a rule without a sentence would be a blank row."""
    table = rule_table()
    assert [name for name, _ in table] == [rule.__name__.lstrip("_") for rule in RULES]
    assert all(sentence.endswith((".", ": stop.", "once.")) and "\n" not in sentence for _, sentence in table)
    assert [name for name, _ in table][:2] == ["held", "complete"]
    assert table[-1] == ("recover", "Else: recover the first write that is amiss, once.")


@pytest.mark.requirement("recovery:stop:reasons", "recovery:rules:order")
def test_the_mismatches_of_a_stop_are_told_worst_first() -> None:
    """What can't be seen at all is what a person must look at first."""
    stopped = decide(
        case(failed(edit(A)), failed(edit(B)), failed(edit(C)), now={A: note(), B: unreadable(), C: note(None)})
    )
    assert isinstance(stopped, Blocked)
    assert [each.fact.target for each in stopped.mismatches] == [B, C, A]


# --- properties over many cases ------------------------------------------------------------------------------------

TARGETS = (A, B)
LOOKS = st.fixed_dictionaries(
    dict.fromkeys(
        TARGETS,
        st.sampled_from(
            [note(version=v) for v in "12"] + [note("new"), note("x"), note(None), ABSENT_NOTE, unreadable()]
        ),
    )
)
STEPS = st.builds(
    write,
    st.sampled_from([OperationKind.EDIT, OperationKind.UPLOAD, OperationKind.DELETE]),
    st.sampled_from(TARGETS),
    text=st.sampled_from(["new", "x"]),
)
WRITES = st.builds(
    Tried,
    operation=STEPS,
    standing=st.sampled_from([each for each in Standing if each is not Standing.UNSENT]),
    base=LOOKS,
    undoable=st.booleans(),
    is_recovery=st.booleans(),
)
CASES = st.builds(
    lambda writes, **more: case(*writes, **more),
    st.lists(WRITES, min_size=1, max_size=4),
    now=LOOKS,
    again=st.none() | LOOKS,
    history=st.lists(LOOKS, max_size=2).map(tuple),
    spent=st.builds(Spent, aims=st.just(frozenset()) | STEPS.map(aims), count=st.integers(0, 3)),
)


@pytest.mark.requirement("recovery:budget:transaction", "recovery:budget:aims")
@given(CASES)
def test_no_case_at_all_recovers_past_its_budget(given_case: Case) -> None:
    """Whatever the rules before it said: with the budget used up or the aim spent there is no recovery."""
    decision = decide(given_case)
    if isinstance(decision, Recover):
        recoveries = [each.operation for each in given_case.tried if each.is_recovery]
        assert max(given_case.spent.count, len(recoveries)) < 2
        assert not overlap(given_case.spent.aims, aims(decision.operation))
        assert not any(overlap(aims(each), aims(decision.operation)) for each in recoveries)


@pytest.mark.requirement("recovery:stop:foreign", "recovery:stop:destructive", "recovery:progress:facts")
@given(CASES)
def test_no_case_at_all_recovers_what_is_not_as_confirmed(given_case: Case) -> None:
    """Judged without the governor's own words for it."""
    decision = decide(given_case)
    if isinstance(decision, Recover):
        latest = given_case.again or given_case.now
        starts = [each for each in given_case.tried if each.operation == decision.operation]
        assert any(latest[decision.operation.target].same_as(each.base[decision.operation.target]) for each in starts)
        assert decision.operation.kind is not OperationKind.DELETE
        assert not any(each.standing is Standing.HELD for each in given_case.tried)
        for each in given_case.tried:
            if each.is_recovery and each is given_case.last_recovery:
                assert progress(given_case.gate, each.base, latest) is Progress.BETTER


@pytest.mark.requirement("recovery:gate:complete")
@given(CASES)
def test_no_case_at_all_is_complete_with_a_fact_that_does_not_hold(given_case: Case) -> None:
    """Complete is the one word that ends a transaction well; it is never said of one reading, or of a part."""
    if isinstance(decide(given_case), Complete):
        assert given_case.again is not None
        for reading in (given_case.now, given_case.again):
            assert all(fact.holds(reading[fact.target]) for fact in given_case.gate)


@pytest.mark.requirement("recovery:rules:pure")
@given(CASES)
def test_the_same_case_is_always_decided_alike(given_case: Case) -> None:
    """After a crash another process decides again, from the same record."""
    copy = Case(**{field.name: getattr(given_case, field.name) for field in fields(Case)})
    assert decide(given_case) == decide(copy)
