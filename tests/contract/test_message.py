"""What is said of a write, in every case, with every name; and what can't be said."""

import pytest
from hypothesis import given
from pydantic import ValidationError

from amends import (
    ALLOWED,
    PHRASES,
    Evidence,
    Level,
    OperationKind,
    OperationResult,
    RecoveryAction,
    RecoveryError,
    RecoveryMessage,
    WriteOutcome,
    build_undo,
    render_outcome,
)
from amends.contract.message import printable
from tests.contract.example import AMBIGUOUS, APPLIED, FAILED, PAIRS, RESULTS, TARGET, result

ESC = "\x1b"
HOSTILE = [
    "notes:a\nI edited notes:b.",
    "notes:a\r\x1b[2J\x1b[1;1HI edited notes:b.",
    "notes:{do}{hint.__class__}{0}{",
    "notes:%s%(target)s$target",
    "notes:a\u202edenepo\u2028\u0085\x00",
]


@pytest.mark.requirement("contract:message:phrasebook")
def test_every_allowed_pair_has_one_sentence() -> None:
    """A pair without a sentence would crash in the very moment in which somebody needs to be told."""
    assert set(PHRASES) == ALLOWED | {(outcome, None) for outcome in WriteOutcome}


@pytest.mark.requirement("contract:message:phrasebook")
@pytest.mark.parametrize("kind", OperationKind)
@pytest.mark.parametrize("pair", PAIRS)
def test_no_sentence_leaves_a_placeholder_behind(pair: tuple[WriteOutcome, Evidence | None], kind: str) -> None:
    """A brace in a message tells the reader that nobody has read it before."""
    for more in ({}, {"source": "notes:old.md", "reason": "it is locked.", "check_hint": "look at it."}):
        text = render_outcome(result(*pair, kind=kind, **more)).text
        assert "{" not in text
        assert "}" not in text
        assert text.endswith(".")
        assert ".." not in text
        assert ".;" not in text


@pytest.mark.requirement("contract:message:failed")
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] is FAILED])
def test_every_failed_sentence_says_that_nothing_was_changed(pair: tuple[WriteOutcome, Evidence | None]) -> None:
    """It is the one fact that the reader needs: the world is as it was."""
    message = render_outcome(result(*pair, reason="it is locked"))
    assert "nothing was changed" in message.text
    assert message.applied is False
    assert message.action is RecoveryAction.REPORT_FAILED


@pytest.mark.requirement("contract:message:failed")
def test_a_failed_write_says_what_could_not_be_done_and_why() -> None:
    """A reason turns a dead end into a next step."""
    assert render_outcome(result(FAILED, reason="the disk is full.")).text == (
        "I couldn't edit notes:plan.md: the disk is full; nothing was changed."
    )


@pytest.mark.requirement("contract:message:ambiguous")
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] is AMBIGUOUS])
@pytest.mark.parametrize("hint", [None, "", " \t\n", " . ", "count the invoices of today."])
def test_every_ambiguous_sentence_says_how_to_check(
    pair: tuple[WriteOutcome, Evidence | None], hint: str | None
) -> None:
    """Without a way to find out, "may have applied" only invites to try again."""
    message = render_outcome(result(*pair, check_hint=hint))
    assert "may have applied" in message.text
    assert f"here's how to check: {message.check_hint}." in message.text
    assert message.check_hint == (
        "count the invoices of today"
        if hint and "count" in hint
        else "read notes:plan.md and compare what is there with what was asked (operation op_1)"
    )
    assert "nothing was changed" not in message.text
    assert message.applied is False
    assert message.undo_offered is False
    assert message.action is RecoveryAction.SURFACE_AMBIGUOUS


@pytest.mark.requirement("contract:message:ambiguous")
def test_the_time_from_which_a_check_means_something_is_told() -> None:
    """A read that comes too early shows the old state and proves nothing; of a settled write there is none to tell."""
    assert render_outcome(result(AMBIGUOUS, check_after_ms=1_000)).check_after_ms == 1_000
    assert render_outcome(result(APPLIED, check_after_ms=1_000, check_hint="look")).check_after_ms is None
    assert render_outcome(result(FAILED, check_hint="look")).check_hint is None


@pytest.mark.requirement("contract:message:move")
@pytest.mark.parametrize("kind", [OperationKind.MOVE, OperationKind.RENAME])
def test_a_move_is_told_with_both_places(kind: OperationKind) -> None:
    """Whoever is told of a move has to look in two places, and only one of them holds what was asked for."""
    moved = {"kind": kind, "source": "notes:old.md"}
    assert "notes:old.md to notes:plan.md" in render_outcome(result(APPLIED, **moved)).text
    assert "read notes:old.md and notes:plan.md" in render_outcome(result(AMBIGUOUS, **moved)).text
    already = render_outcome(result(FAILED, Evidence.ALREADY_SO, **moved)).text
    assert already.startswith("notes:plan.md is already as asked")


@pytest.mark.requirement("contract:message:applied")
def test_an_observed_write_does_not_say_that_i_did_it() -> None:
    """That it holds now is known; who made it so is not."""
    observed = render_outcome(result(APPLIED, Evidence.OBSERVED))
    assert "holds now" in observed.text
    assert not observed.text.startswith("I ")
    assert render_outcome(result(APPLIED, Evidence.ACKNOWLEDGED)).text == "I edited notes:plan.md."


@pytest.mark.requirement("contract:message:applied")
@given(RESULTS)
def test_a_message_is_applied_exactly_when_the_outcome_is(told: OperationResult) -> None:
    """The keystone, for whatever a broker may report: no name, reason, hint or note makes a success."""
    message = render_outcome(told)
    assert message.applied is (told.outcome is APPLIED)
    assert message.outcome is told.outcome
    assert ("may have applied" in PHRASES[(message.outcome, message.evidence)]) is (told.outcome is AMBIGUOUS)


@pytest.mark.requirement("contract:message:structure")
@pytest.mark.parametrize("pair", PAIRS)
def test_a_message_that_contradicts_its_outcome_can_not_be_made(pair: tuple[WriteOutcome, Evidence | None]) -> None:
    """Whoever builds a message by hand meets the same rules as the phrasebook."""
    told = render_outcome(result(*pair)).model_dump()
    lies: list[dict[str, object]] = [{"applied": not told["applied"]}, {"text": ""}, {"rows": []}]
    lies += [{"action": action} for action in RecoveryAction if action is not told["action"]]
    lies += [{"evidence": kind} for kind in Evidence if (pair[0], kind) not in ALLOWED]
    if pair[0] is not APPLIED:
        lies.append({"undo_offered": True})
    if pair[0] is AMBIGUOUS:
        lies += [{"check_hint": hint} for hint in (None, "", "  ")]
    for lie in lies:
        with pytest.raises(ValidationError):
            RecoveryMessage.model_validate(told | lie)
    assert RecoveryMessage.model_validate(told).model_dump() == told


@pytest.mark.requirement("contract:message:structure")
def test_a_message_has_no_place_for_rows() -> None:
    """A field that can hold anything is a place for invented rows, so the list of fields is closed."""
    assert set(RecoveryMessage.model_fields) == {
        "action",
        "applied",
        "check_after_ms",
        "check_hint",
        "evidence",
        "operation_id",
        "outcome",
        "text",
        "undo_offered",
    }


@pytest.mark.requirement("contract:message:structure")
def test_a_message_can_not_be_changed_after_it_was_made() -> None:
    """Between the broker and the screen lies code that nobody has read yet."""
    message = render_outcome(result(FAILED))
    with pytest.raises(ValidationError, match="frozen"):
        message.applied = True  # type: ignore[misc]


@pytest.mark.requirement("contract:message:hostile")
def test_control_characters_are_shown_and_not_obeyed() -> None:
    """A terminal does what a name tells it to, unless the name is written out."""
    assert printable("a\nb\x1b[2Jc\u202ed") == "a\\nb\\x1b[2Jc\\u202ed"
    assert printable("Füße 机 🧾 — 'so'") == "Füße 机 🧾 — 'so'"


@pytest.mark.requirement("contract:message:hostile")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_forges_no_line_and_breaks_no_sentence(
    pair: tuple[WriteOutcome, Evidence | None], name: str
) -> None:
    """Names come from other people's systems; one that holds a line or a slot must stay a name."""
    message = render_outcome(
        result(*pair, target=name, source=name, reason=name, note=name, check_hint=None, operation_id=name)
    )
    assert message.text.isprintable()
    assert printable(name) in message.text
    assert (message.check_hint or "").isprintable()


@pytest.mark.requirement("contract:message:hostile")
@given(RESULTS)
def test_every_message_is_one_printable_line(told: OperationResult) -> None:
    """One message, one line: so that a log, a terminal and a model each see what we said and nothing else."""
    message = render_outcome(told)
    assert message.text.isprintable()
    assert (message.check_hint or "").isprintable()


@pytest.mark.requirement("contract:message:racy")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("level", [None, *Level])
def test_only_an_applied_racy_write_admits_a_displaced_one(
    pair: tuple[WriteOutcome, Evidence | None], level: Level | None
) -> None:
    """Where nothing can stop another writer, silence would claim more than we know; elsewhere it would frighten."""
    admits = "could have been displaced" in render_outcome(result(*pair, level=level)).text
    assert admits is (pair[0] is APPLIED and level in {Level.RACY, Level.BLIND})


@pytest.mark.requirement("contract:message:undo")
@given(RESULTS)
def test_an_undo_is_offered_exactly_when_one_can_be_built(told: OperationResult) -> None:
    """An offer that is refused when it is taken up is a small lie, and the reader remembers it."""
    try:
        build_undo(told)
    except RecoveryError:
        assert render_outcome(told).undo_offered is False
    else:
        assert render_outcome(told).undo_offered is True


@pytest.mark.requirement("contract:message:wording")
def test_a_caller_may_bring_other_sentences_only() -> None:
    """Readers differ, so words may; what became of the write may not."""
    phrases = dict.fromkeys(PHRASES, "Tout va bien.")
    for pair in PAIRS:
        plain, other = render_outcome(result(*pair)), render_outcome(result(*pair), phrases=phrases)
        assert other.text == "Tout va bien."
        assert other.model_dump(exclude={"text"}) == plain.model_dump(exclude={"text"})


@pytest.mark.requirement("contract:message:wording")
def test_a_phrasebook_with_gaps_is_filled_from_ours() -> None:
    """A translation that lacks a new evidence should fall back, not fall over."""
    ours = render_outcome(result(FAILED))
    assert render_outcome(result(FAILED), phrases={(APPLIED, None): "Fait."}) == ours
    assert render_outcome(result(FAILED), phrases={(FAILED, None): ""}) == ours


@pytest.mark.requirement("contract:message:wording")
def test_a_note_of_the_surface_follows_the_sentence() -> None:
    """A surface may know one more true thing, such as where the old bytes were put."""
    text = render_outcome(result(APPLIED, note=f"The old one is in {ESC}Archive.")).text
    assert text == "I edited notes:plan.md. The old one is in \\x1bArchive."
    assert TARGET in text
