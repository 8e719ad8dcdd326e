"""What a recovery uses up, and that saying the same step otherwise gives nothing back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends import ABSENT, Fact, Operation, OperationKind
from amends.recovery import PER_TRANSACTION_MAX, Aim, Spent, aims, overlap
from tests.recovery.example import A, B, C, edit, write

WHOLE_KINDS = sorted(set(OperationKind) - {OperationKind.EDIT})
STEP = edit(A, text="new", mode="0644")

OPERATIONS = st.builds(
    lambda kind, target, names, source: write(kind, target, source=source, **dict.fromkeys(names, 1)),
    st.sampled_from(OperationKind),
    st.sampled_from([A, B, "notes:a.md/b"]),
    st.sets(st.sampled_from(["text", "mode", "size"])),
    st.sampled_from([None, C]),
)


def after(*recoveries: Operation, planned: tuple[Operation, ...] = (STEP,)) -> Spent:
    """What is spent after `recoveries` in a transaction of the `planned` writes."""
    spent = Spent()
    for operation in recoveries:
        spent = spent.also(operation, planned)
    return spent


@pytest.mark.requirement("recovery:budget:fingerprint")
def test_a_step_is_recovered_once_whatever_it_is_called() -> None:
    """The budget hangs on what is done; nothing that an agent can re-word is in it."""
    assert not Spent().forbids(STEP)
    assert after(STEP).forbids(STEP)
    assert after(STEP).forbids(replace(STEP, postcondition=STEP.postcondition[::-1]))


@pytest.mark.requirement("recovery:budget:aims")
@pytest.mark.parametrize(
    "evasion",
    [
        pytest.param(edit(A, text="new ", mode="0644"), id="one space more"),
        pytest.param(edit(A, text="new"), id="a part of it"),
        pytest.param(write(OperationKind.EDIT, A, mode="0600"), id="the other part, with another value"),
        pytest.param(edit(A, text="new", mode="0644", owner="me"), id="merged with something new"),
        pytest.param(Operation(OperationKind.EDIT, A, (*STEP.postcondition, Fact(B, "text", "x"))), id="with another"),
        pytest.param(write(OperationKind.ARCHIVE, A, text=ABSENT), id="archive, to create it anew"),
        pytest.param(write(OperationKind.CREATE, A, text="new"), id="create, after an archive"),
        pytest.param(write(OperationKind.UPLOAD, A, text="new"), id="upload over it"),
        pytest.param(write(OperationKind.MOVE, A, source=B, text="new"), id="move something else there"),
        pytest.param(write(OperationKind.RENAME, B, source=A, text="new"), id="rename it away"),
        pytest.param(write(OperationKind.DELETE, A), id="delete, with no fact at all"),
        pytest.param(write(OperationKind.EDIT, A), id="an edit with no fact at all"),
        pytest.param(write(OperationKind.EDIT, A, owner=ABSENT), id="an edit that wants it gone"),
        pytest.param(write(OperationKind.ARCHIVE, "notes:a.md/x", text=ABSENT), id="below it"),
    ],
)
def test_saying_a_spent_step_otherwise_gains_nothing(evasion: Operation) -> None:
    """Each of these has another fingerprint, and each would be a second try at the same thing."""
    spent = after(edit(A, text="new", mode="0644") if "/" not in evasion.target else write(OperationKind.UPLOAD, A))
    assert spent.forbids(evasion)


@pytest.mark.requirement("recovery:budget:aims")
def test_a_step_in_parts_is_spent_with_its_first_part() -> None:
    """Mode first and content later: the two don't overlap, but both are the one step that failed."""
    mode, text = write(OperationKind.EDIT, A, mode="0644"), edit(A)
    assert not overlap(aims(mode), aims(text))
    assert after(mode).forbids(text)
    assert after(mode).forbids(STEP)
    assert not after(mode, planned=()).forbids(text)


@pytest.mark.requirement("recovery:budget:aims")
def test_steps_that_were_merged_are_both_spent() -> None:
    """One write that does the work of two failed ones is a try at each of them."""
    merged = Operation(OperationKind.EDIT, A, (Fact(A, "text", "new"), Fact(B, "text", "new")))
    spent = after(merged, planned=(edit(A), edit(B)))
    assert spent.forbids(edit(A))
    assert spent.forbids(edit(B))
    assert not spent.forbids(edit(C))
    assert spent.count == 1


@pytest.mark.requirement("recovery:budget:aims")
def test_two_moves_of_one_source_are_one_aim() -> None:
    """The second would move what the first, late or half done, may have moved already."""
    first, second = (write(OperationKind.MOVE, target, source=A, text="old") for target in (B, C))
    assert after(first, planned=(first, second)).forbids(second)


@pytest.mark.requirement("recovery:budget:aims")
def test_what_only_looks_alike_is_not_spent() -> None:
    """A budget that forbids too much would block transactions that could have been completed."""
    spent = after(edit("notes:a"), planned=())
    for other in (
        edit("notes:ab"),
        edit("notes:a.md"),
        edit("notes:a/b"),
        write(OperationKind.EDIT, "notes:a", mode=1),
    ):
        assert not spent.forbids(other), other


@pytest.mark.requirement("recovery:budget:aims")
def test_a_whole_folder_overlaps_all_that_is_in_it() -> None:
    """Archiving the folder is another way to try again at a note in it, and the other way round."""
    folder = write(OperationKind.ARCHIVE, "notes:dir", text=ABSENT)
    note = edit("notes:dir/deep/a.md")
    assert after(folder, planned=()).forbids(note)
    assert after(note, planned=()).forbids(folder)
    assert not after(folder, planned=()).forbids(edit("notes:dir.md"))


@pytest.mark.requirement("recovery:budget:aims")
@pytest.mark.parametrize("kind", WHOLE_KINDS)
def test_every_kind_but_an_edit_aims_at_the_whole_target(kind: OperationKind) -> None:
    """They make, replace or take away the target, and every field of it goes with that."""
    assert aims(write(kind, A, source=B, text="x")) == {Aim(A, "*"), Aim(B, "*")}
    assert aims(write(kind, A)) == {Aim(A, "*")}


@pytest.mark.requirement("recovery:budget:transaction")
def test_a_transaction_has_two_recoveries_and_no_third() -> None:
    """Three different steps are three fingerprints; the bound of the transaction holds all the same."""
    steps = (edit(A), edit(B), edit(C))
    assert [after(*steps[:count], planned=steps).is_exhausted for count in range(4)] == [False, False, True, True]
    assert PER_TRANSACTION_MAX == 2


@pytest.mark.requirement("recovery:budget:transaction")
def test_two_accounts_of_one_transaction_count_what_either_knows() -> None:
    """A recovery that another process recorded, or one that never got a row, is spent for both."""
    one, other = after(edit(A), planned=()), after(edit(B), edit(C), planned=())
    both = one | other
    assert both.count == 2
    assert all(both.forbids(edit(target)) for target in (A, B, C))
    assert (one | one) == one


@pytest.mark.requirement("recovery:budget:aims")
@given(OPERATIONS, OPERATIONS)
def test_overlap_is_mutual_and_every_step_overlaps_itself(one: Operation, other: Operation) -> None:
    """If order decided, the order of two tries would decide whether the second one is free."""
    assert overlap(aims(one), aims(one))
    assert overlap(aims(one), aims(other)) is overlap(aims(other), aims(one))


@pytest.mark.requirement("recovery:budget:aims")
@given(st.lists(OPERATIONS, max_size=4), st.lists(OPERATIONS, max_size=3))
def test_what_is_spent_stays_spent(steps: list[Operation], planned: list[Operation]) -> None:
    """No further recovery, whatever it is, gives an earlier one back."""
    spent = Spent()
    for place, step in enumerate(steps):
        spent = spent.also(step, planned)
        assert all(spent.forbids(earlier) for earlier in steps[: place + 1])
        assert spent.count == place + 1
