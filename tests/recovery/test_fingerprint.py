"""What makes two operations one, and what a confirmation is bound to."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends import ABSENT, Fact, Observation, Operation, OperationKind, Presence, fingerprint
from amends.recovery import confirmation_digest
from amends.recovery.fingerprint import digest

EDIT = Operation(OperationKind.EDIT, "crm:88", (Fact("crm:88", "total", 100), Fact("crm:88", "currency", "EUR")))
SHOWN = Observation(Presence.PRESENT, "v7", {"total": 90})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "$integer", "$$integer"]), inner),
    max_leaves=8,
)


def of(*values: object) -> str:
    """The fingerprint of an edit whose facts have `values`."""
    return fingerprint(replace(EDIT, postcondition=tuple(Fact("crm:88", "total", value) for value in values)))


@pytest.mark.requirement("fingerprint:operation:covered")
def test_kind_source_target_and_facts_make_the_operation() -> None:
    """Two writes that do different things must not share one budget, nor answer for each other."""
    others = [
        EDIT,
        replace(EDIT, kind=OperationKind.CREATE),
        replace(EDIT, target="crm:89"),
        replace(EDIT, source="crm:87"),
        replace(EDIT, postcondition=EDIT.postcondition[:1]),
        replace(EDIT, postcondition=(Fact("crm:88", "total", 101), EDIT.postcondition[1])),
        replace(EDIT, postcondition=(Fact("crm:88", "sum", 100), EDIT.postcondition[1])),
        replace(EDIT, postcondition=(Fact("crm:89", "total", 100), EDIT.postcondition[1])),
        replace(EDIT, postcondition=(Fact("crm:88", "total", ABSENT), EDIT.postcondition[1])),
    ]
    assert len({fingerprint(operation) for operation in others}) == len(others)


@pytest.mark.requirement("fingerprint:operation:prose")
def test_an_operation_has_no_place_for_labels_or_prose() -> None:
    """A step that is renamed, re-worded or numbered anew keeps its history, since the name is nowhere in it."""
    assert {field.name for field in fields(Operation)} == {"kind", "source", "target", "postcondition"}
    assert {field.name for field in fields(Fact)} == {"target", "field", "value"}
    assert fingerprint(replace(EDIT)) == fingerprint(EDIT)


@pytest.mark.requirement("fingerprint:operation:prose")
def test_the_form_of_a_fingerprint_does_not_change() -> None:
    """It is recorded: another form in the next release would give every spent budget back."""
    assert fingerprint(EDIT) == "d4bfd9e2dcda1fc56c40bd45e40b01f07401aa55b2c661ae3dc2a9af1e89b09d"


@pytest.mark.requirement("fingerprint:facts:set")
def test_the_order_of_facts_makes_no_other_operation() -> None:
    """An agent that lists the same facts the other way round gains no fresh retry."""
    assert fingerprint(replace(EDIT, postcondition=EDIT.postcondition[::-1])) == fingerprint(EDIT)
    assert of(15, 1e22) == of(10**22, 15)
    assert of({"a": 1, "b": 2}) == of({"b": 2, "a": 1})
    assert of([1, 2]) != of([2, 1])


@pytest.mark.requirement("fingerprint:facts:set")
def test_a_fact_said_twice_makes_no_other_operation() -> None:
    """A postcondition is a set; saying a thing again must not buy another attempt."""
    assert of(100, 100.0, 100) == of(100)


@pytest.mark.requirement("fingerprint:number:form")
def test_equal_numbers_have_one_form_however_they_are_written() -> None:
    """JSON writers differ in 100 and 100.0; a retry budget must not."""
    assert of(100) == of(100.0)
    assert of(0) == of(-0.0)
    assert of([100.0, {"a": 2.0}]) == of([100, {"a": 2}])
    assert of((1, 2)) == of([1, 2])


@pytest.mark.requirement("fingerprint:number:form")
def test_values_that_only_look_alike_stay_apart() -> None:
    """True, 1 and "1" are three values on every surface that knows types."""
    alike = [True, 1, "1", 1.5, None, "null", "", [], {}, [1], False, 0, ABSENT]
    assert len({of(value) for value in alike}) == len(alike)


@pytest.mark.requirement("fingerprint:number:big")
def test_integers_past_a_double_are_kept_exactly() -> None:
    """Two keys that a double can't tell apart are two rows all the same."""
    assert of(2**53) != of(2**53 + 1)
    assert of(-(2**53)) != of(-(2**53) - 1)
    assert of(10**22) == of(1e22)


@pytest.mark.requirement("fingerprint:number:big")
def test_nothing_written_by_hand_looks_like_a_big_integer() -> None:
    """If a value could be forged into another's form, two operations would share one history."""
    big = 2**60
    forged = [big, str(big), {"$integer": str(big)}, {"$$integer": str(big)}, {"$integer": big}, {"$": str(big)}]
    assert len({of(value) for value in forged}) == len(forged)


@pytest.mark.requirement("fingerprint:number:big")
@given(JSON, JSON)
def test_two_values_share_a_digest_only_if_they_are_equal(one: object, other: object) -> None:
    """The form is reversible, tag and all: what differs as JSON differs as a digest."""
    assert (digest(one) == digest(other)) is (typed(one) == typed(other))


def typed(value: object) -> object:
    """`value` with its types beside it, numbers being one type: Python's own == takes True for 1."""
    match value:
        case bool() | None | str():
            return (type(value).__name__, value)
        case dict():
            return ("object", {key: typed(item) for key, item in value.items()})
        case list():
            return ("array", [typed(item) for item in value])
        case _:
            return ("number", value)


@pytest.mark.requirement("fingerprint:number:nan")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_has_no_fingerprint(value: float) -> None:
    """NaN is not equal to itself, so a fact about it could never hold, and every try would look new."""
    with pytest.raises(ValueError, match="JSON compliant"):
        of([{"deep": value}])


@pytest.mark.requirement("fingerprint:confirmation:bound")
def test_a_confirmation_is_bound_to_what_is_sent_and_what_was_shown() -> None:
    """A person confirms bytes against a state; if either differs, it is not what they confirmed."""
    payload = {"total": 100, "blob": "sha256:00"}
    digests = [
        confirmation_digest(fingerprint(EDIT), payload, SHOWN),
        confirmation_digest(fingerprint(replace(EDIT, target="crm:89")), payload, SHOWN),
        confirmation_digest(fingerprint(EDIT), payload | {"blob": "sha256:01"}, SHOWN),
        confirmation_digest(fingerprint(EDIT), payload, replace(SHOWN, version="v8")),
        confirmation_digest(fingerprint(EDIT), payload, replace(SHOWN, fields={"total": 91})),
        confirmation_digest(fingerprint(EDIT), payload, Observation(Presence.ABSENT)),
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.requirement("fingerprint:confirmation:bound")
def test_a_confirmation_outlives_a_second_look_at_the_same_thing() -> None:
    """When something was seen, or why it could not be, is no part of what was shown."""
    later = replace(SHOWN, at_ms=5, detail="read again")
    assert confirmation_digest(fingerprint(EDIT), {"total": 100}, SHOWN) == confirmation_digest(
        fingerprint(EDIT), {"total": 100.0}, later
    )
