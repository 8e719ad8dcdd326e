"""What a write is made of: observations, facts, claims and the one JSON form of them."""

import pytest

from amends import ABSENT, Claim, Fact, Observation, Operation, OperationKind, Presence
from amends.contract.operation import canonical_json

NOTHING = Observation(Presence.ABSENT)
UNREADABLE = Observation(Presence.UNREADABLE, detail="the disk answers with an error")


def present(version: str | None = None, **fields: object) -> Observation:
    return Observation(Presence.PRESENT, version, fields)


@pytest.mark.requirement("contract:observation:same")
def test_equal_versions_show_the_same_and_others_do_not() -> None:
    """The version is the surface's own word for "unchanged", and it knows more than our choice of fields."""
    assert present("v1", title="A").same_as(present("v1", title="A"))
    assert not present("v1", title="A").same_as(present("v2", title="A"))
    assert present(title="A").same_as(present("v2", title="A"))
    assert not present(title="A").same_as(present(title="B"))
    assert not present().same_as(NOTHING)
    assert NOTHING.same_as(Observation(Presence.ABSENT, at_ms=5))


@pytest.mark.requirement("contract:observation:same")
def test_an_unreadable_target_is_never_the_same_as_anything() -> None:
    """Two failures to read prove nothing about what was there between them, not even that it was the same."""
    for other in (UNREADABLE, NOTHING, present("v1"), None):
        assert not UNREADABLE.same_as(other)
    assert not present("v1").same_as(UNREADABLE)
    assert not present("v1").same_as(None)


@pytest.mark.requirement("contract:observation:same")
def test_when_something_was_seen_takes_no_part_in_comparing() -> None:
    """Two reads of one state at two times are one state."""
    early = Observation(Presence.PRESENT, "v1", {"a": 1}, at_ms=1)
    assert early == Observation(Presence.PRESENT, "v1", {"a": 1}, at_ms=2, detail="later")


@pytest.mark.requirement("contract:fact:holds")
def test_a_fact_holds_only_where_a_read_shows_it() -> None:
    """What could not be read has not been shown, however likely it is."""
    fact = Fact("notes:a", "title", "A")
    assert fact.holds(present(title="A"))
    for seen in (present(title="B"), present(), NOTHING, UNREADABLE):
        assert not fact.holds(seen)


@pytest.mark.requirement("contract:fact:holds")
def test_that_something_is_absent_is_a_fact_too() -> None:
    """An archive has a postcondition like any other write; a target that can't be read is not absent."""
    gone = Fact("notes:a", "sha256", ABSENT)
    assert gone.holds(NOTHING)
    assert not gone.holds(present(sha256="00"))
    assert not gone.holds(UNREADABLE)


@pytest.mark.requirement("contract:fact:holds")
def test_an_operation_holds_when_every_fact_of_its_target_does() -> None:
    """A part of a postcondition is no postcondition; what is said of the source is judged by a read of the source."""
    move = Operation(
        OperationKind.MOVE,
        "notes:b",
        (Fact("notes:b", "title", "A"), Fact("notes:b", "size", 3), Fact("notes:a", "title", ABSENT)),
        source="notes:a",
    )
    assert move.surface == "notes"
    assert move.holds(present(title="A", size=3), NOTHING)
    assert not move.holds(present(title="A", size=3), present(title="A"))
    assert not move.holds(present(title="A", size=3))
    assert not move.holds(present(title="A", size=4), NOTHING)
    assert not move.holds(NOTHING, NOTHING)


@pytest.mark.requirement("contract:claim:overlap")
def test_two_claims_overlap_in_one_name_or_below_a_subtree() -> None:
    """A folder and what is in it can't be written to by two at once; names that only look alike can."""
    folder, inside, beside = Claim("notes:a", subtree=True), Claim("notes:a/b"), Claim("notes:ab")
    for one, other, overlap in [
        (folder, inside, True),
        (folder, folder, True),
        (folder, Claim("notes:a"), True),
        (folder, beside, False),
        (folder, Claim("notes:a/b", subtree=True), True),
        (Claim("notes:a"), inside, False),
        (inside, Claim("notes:a/c"), False),
    ]:
        assert one.overlaps(other) is overlap
        assert other.overlaps(one) is overlap


@pytest.mark.requirement("contract:json:canonical")
def test_there_is_one_json_form_of_a_value() -> None:
    """A digest over two forms of one value would give two confirmations, or two budgets, for one thing."""
    assert canonical_json({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'
    assert canonical_json({"a": "ü", "b": (1, None)}) == canonical_json({"b": [1, None], "a": "ü"})
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(float("nan"))
