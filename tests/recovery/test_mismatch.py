"""How bad each mismatch is, when one reading is better than another, and what is a return to an earlier state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends import ABSENT, Fact, Observation, OperationKind, Presence
from amends.recovery import Audit, Progress, Severity, mismatches, oscillating, places, progress
from amends.recovery.mismatch import severity, value_told
from tests.recovery.example import ABSENT_NOTE, A, B, C, edit, note, unreadable, write

TEXT = Fact(A, "text", "new")
GONE = Fact(A, "text", ABSENT)

STATES = st.sampled_from([note("old"), note("new"), note("other"), note(None), ABSENT_NOTE, unreadable()])
AUDITS = st.fixed_dictionaries({A: STATES, B: STATES, C: STATES})
GATE = (TEXT, Fact(B, "text", "new"), Fact(C, "text", ABSENT))


@pytest.mark.requirement("recovery:mismatch:severity")
def test_what_differs_is_nearer_than_what_is_missing_or_unreadable() -> None:
    """Without an order among mismatches, turning a wrong text into no text could pass for progress."""
    seen = [note("new"), note("old"), note(None), ABSENT_NOTE, unreadable()]
    assert [severity(TEXT, each).name for each in seen] == ["HOLDS", "DIFFERS", "MISSING", "MISSING", "UNREADABLE"]
    assert Severity.HOLDS < Severity.DIFFERS < Severity.MISSING < Severity.UNREADABLE


@pytest.mark.requirement("recovery:mismatch:severity")
def test_what_should_be_gone_and_is_there_differs() -> None:
    """That a target is absent is a value like others, so its mismatch is not the worst one."""
    assert severity(GONE, ABSENT_NOTE) is Severity.HOLDS
    assert severity(GONE, note("old")) is severity(GONE, note(None)) is Severity.DIFFERS
    assert severity(GONE, unreadable()) is Severity.UNREADABLE


@pytest.mark.requirement("recovery:mismatch:severity")
def test_a_number_and_a_truth_value_that_look_alike_differ() -> None:
    """In Python 1 equals True; a target that holds one does not hold the other."""
    fact = Fact(A, "done", True)
    assert severity(fact, note(None, done=1)) is Severity.DIFFERS
    assert severity(fact, note(None, done=True)) is Severity.HOLDS


@pytest.mark.requirement("recovery:mismatch:told")
def test_a_mismatch_says_what_should_be_and_what_was_seen() -> None:
    """A person decides by this line; it must hold both sides, and when the target was seen."""
    (differs,) = mismatches([TEXT], {A: note("old", at_ms=7)})
    assert (str(differs), differs.at_ms) == (f"{A}: text should be new, it is old", 7)
    (missing,) = mismatches([TEXT], {A: ABSENT_NOTE})
    assert str(missing) == f"{A}: text should be new, it is missing"
    (blind,) = mismatches([TEXT], {A: unreadable("it is a folder")})
    assert str(blind) == f"{A}: text should be new, it can't be read: it is a folder"
    (unexplained,) = mismatches([TEXT], {A: Observation(Presence.UNREADABLE)})
    assert str(unexplained) == f"{A}: text should be new, it can't be read"
    (there,) = mismatches([GONE], {A: note("old")})
    assert str(there) == f"{A}: text should be absent, it is old"


@pytest.mark.requirement("recovery:mismatch:told")
def test_a_long_value_does_not_bury_the_sentence() -> None:
    """A field may hold a page; the line shows where it begins."""
    assert value_told("x" * 61) == "x" * 60 + "…"
    assert value_told({"b": 1, "a": None}) == '{"a":null,"b":1}'


@pytest.mark.requirement("recovery:mismatch:once")
def test_a_fact_that_is_stated_twice_is_one_mismatch() -> None:
    """Saying a thing twice must not make a transaction look twice as broken, nor twice as mended."""
    twice = [TEXT, Fact(A, "size", 100), Fact(A, "size", 100.0), TEXT]
    assert len(mismatches(twice, {A: note("old")})) == 2
    assert len(mismatches([Fact(A, "n", 1), Fact(A, "n", True)], {A: note("old")})) == 2


@pytest.mark.requirement("recovery:observe:whole")
def test_everything_that_a_write_names_is_to_be_read() -> None:
    """A move whose source nobody looks at again could take away a file that somebody replaced since."""
    move = write(OperationKind.MOVE, B, source=A, text="old")
    assert places([move, edit(C), edit(C)]) == (A, B, C)
    far = edit(A)
    assert places([write(OperationKind.DELETE, B), far]) == (B, A)


@pytest.mark.requirement("recovery:progress:facts")
def test_one_new_mismatch_is_not_made_good_by_two_mended() -> None:
    """A sum would call this progress, and the harm would be lost in it."""
    before = {A: note("old"), B: note("old"), C: ABSENT_NOTE}
    after = {A: note("new"), B: note("new"), C: note("back")}
    assert progress(GATE, before, after) is Progress.WORSE


@pytest.mark.requirement("recovery:progress:facts")
def test_another_wrong_value_is_no_progress() -> None:
    """A write that turns one wrong text into another would otherwise be repeated as long as texts last."""
    assert progress([TEXT], {A: note("old")}, {A: note("other")}) is Progress.UNCHANGED
    assert progress([TEXT], {A: note(None)}, {A: note("other")}) is Progress.BETTER
    assert progress([TEXT], {A: note("other")}, {A: note(None)}) is Progress.WORSE


@pytest.mark.requirement("recovery:progress:facts")
def test_what_one_reading_lacks_is_neither_better_nor_worse() -> None:
    """Of a target that was not looked at, nothing may be concluded."""
    assert progress(GATE, {A: note("old")}, {A: note("new"), B: note("old"), C: note()}) is Progress.BETTER
    assert progress(GATE, {}, {A: note("new"), B: note("new"), C: ABSENT_NOTE}) is Progress.UNCHANGED


@pytest.mark.requirement("recovery:progress:facts")
@given(AUDITS, AUDITS)
def test_progress_one_way_is_regress_the_other_way(one: Audit, other: Audit) -> None:
    """If both directions could be better, two states could improve into each other for ever."""
    there, back = progress(GATE, one, other), progress(GATE, other, one)
    if there is Progress.BETTER:
        assert back is Progress.WORSE
    if there is Progress.UNCHANGED:
        assert back is Progress.UNCHANGED
    if there is Progress.WORSE:
        assert back is not Progress.UNCHANGED


@pytest.mark.requirement("recovery:progress:facts")
@given(AUDITS, AUDITS, AUDITS)
def test_two_steps_forward_are_one_step_forward(one: Audit, two: Audit, three: Audit) -> None:
    """A strict order has no cycle, so a chain of improvements has an end."""
    if progress(GATE, one, two) is Progress.BETTER and progress(GATE, two, three) is Progress.BETTER:
        assert progress(GATE, one, three) is Progress.BETTER


def course(*looks: Observation) -> list[Audit]:
    """Successive looks at one target."""
    return [{A: look} for look in looks]


@pytest.mark.requirement("recovery:progress:oscillation")
def test_a_state_that_returns_after_it_changed_oscillates() -> None:
    """A, then B, then A: two hands are at work, and a third turn would only be the next round."""
    assert oscillating(course(note("a"), note("b"), note("a"))) == A
    assert oscillating(course(note("a"), note("b"), note("c"), note("a"))) == A
    assert oscillating(course(ABSENT_NOTE, note("b"), note("b"), ABSENT_NOTE)) == A
    assert oscillating(course(note("x"), note("a"), note("b"), note("a"), note("y"))) == A


@pytest.mark.requirement("recovery:progress:oscillation")
def test_a_version_that_never_repeats_hides_no_return() -> None:
    """A surface that counts its versions shows a new one at each turn of the same two states."""
    looks = course(note("a", version="1"), note("b", version="2"), note("a", version="3"))
    assert oscillating(looks) == A
    bare = [Observation(Presence.PRESENT, version) for version in ("1", "2", "1")]
    assert oscillating(course(*bare)) == A


@pytest.mark.requirement("recovery:progress:oscillation")
def test_a_look_that_could_not_see_is_no_change() -> None:
    """A file that was locked for a moment did not become something else and return."""
    assert oscillating(course(note("a"), unreadable(), note("a"))) is None
    assert oscillating(course(note("a"), unreadable(), note("b"), unreadable(), note("a"))) == A


@pytest.mark.requirement("recovery:progress:no_oscillation")
def test_going_on_from_state_to_state_is_no_oscillation() -> None:
    """A, B, C, D never returns, however long it goes on; nor does a target that stays as it is."""
    assert oscillating(course(*map(note, "abcd"))) is None
    assert oscillating(course(note("a"), note("a"), note("a"))) is None
    assert oscillating([]) is None


@pytest.mark.requirement("recovery:progress:no_oscillation")
def test_four_deleted_notes_with_the_same_empty_content_are_no_oscillation() -> None:
    """They look alike because they are all gone; states are compared within one target only."""
    names = [f"notes:{number}.md" for number in range(4)]
    looks = [{name: ABSENT_NOTE if place < gone else note("") for place, name in enumerate(names)} for gone in range(5)]
    assert oscillating(looks) is None
    assert oscillating([{name: look} for name, look in zip(names, [note("")] * 4, strict=True)]) is None


@pytest.mark.requirement("recovery:progress:oscillation")
@given(st.lists(STATES, max_size=6))
def test_a_return_is_seen_wherever_in_the_course_it_is(looks: list[Observation]) -> None:
    """Held against the plain definition: i < j < k, with i like k and unlike j."""
    states = [repr(look) for look in looks if look.presence is not Presence.UNREADABLE]
    returns = any(
        states[i] == states[k] != states[j]
        for i in range(len(states))
        for j in range(i + 1, len(states))
        for k in range(j + 1, len(states))
    )
    assert (oscillating(course(*looks)) == A) is returns
