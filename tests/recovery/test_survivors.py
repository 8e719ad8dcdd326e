"""What a change of one place in the pure packages once slipped past, and now doesn't."""

import pytest

from amends import Fact, Operation, fingerprint
from amends.contract import OperationKind
from amends.recovery import Spent
from amends.recovery.mismatch import VALUE_CHARS_MAX, value_told
from tests.recovery import mutation

EDIT = Operation(OperationKind.EDIT, "notes:a.md", (Fact("notes:a.md", "text", "new"),))


@pytest.mark.requirement("recovery:proof:mutants")
def test_a_recovery_spends_its_fingerprint_beside_its_aims() -> None:
    """The aims alone would forbid it too, but a row of the journal names what was spent."""
    assert Spent().also(EDIT, [EDIT]).fingerprints == {fingerprint(EDIT)}


@pytest.mark.requirement("recovery:proof:mutants")
def test_a_value_of_just_the_longest_length_is_told_whole() -> None:
    """A sign of omission where nothing was left out would be a small lie."""
    assert value_told("x" * VALUE_CHARS_MAX) == "x" * VALUE_CHARS_MAX
    assert value_told("x" * (VALUE_CHARS_MAX + 1)) == "x" * VALUE_CHARS_MAX + "…"


@pytest.mark.requirement("recovery:proof:mutants")
def test_every_explained_survivor_is_still_a_change_that_fits() -> None:
    """A reason for something that is gone explains nothing; it is rewritten with the code."""
    changes = {str(place) for name in mutation.MODULES for place in mutation.changes(mutation.loaded(name))}
    assert len(changes) > 300
    assert sorted(mutation.explained() - changes) == []
