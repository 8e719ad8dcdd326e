"""`journal prune`: by which age, what it says, and who may give up undo."""

import pytest

from amends.cli import desk
from tests.cli.place import Place


@pytest.fixture
def old(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A journal whose writes count as old at once: one that can be undone, one that can't."""
    monkeypatch.setattr(desk, "PRUNE_AGE_MIN_MS", 0)
    place.applied(place.create("a.md", "one"))
    place.write("b.md", "two")
    place.applied(place.change({"delete": "notes:b.md"}))
    place.proposed(place.create("c.md", "three"))
    return place


@pytest.mark.requirement("cli:prune:policy")
def test_prune_says_what_went_and_why_the_rest_stays(old: Place) -> None:
    """Whoever prunes sees before, and after, what is lost; the journal verifies, and the files are as they were."""
    dry = old.run("journal", "prune", "--older-than", "0s", "--dry-run")
    assert (dry.code, "Would forget 1 transaction. Nothing was changed." in dry.out) == (0, True)
    assert "1 transaction: it can be undone" in dry.out
    assert "1 transaction: it is not settled" in dry.out
    before = old.read("a.md")
    answer = old.json("journal", "prune", "--older-than", "0s", expect=0)
    assert (answer["transactions"], answer["is_dry"]) == (1, False)
    assert answer["kept"] == {"it can be undone": 1, "it is not settled": 1}
    assert old.json("verify", expect=0)["faults"] == []
    assert (old.read("a.md"), len(old.json("log", expect=0)["transactions"])) == (before, 2)


@pytest.mark.requirement("cli:prune:policy")
@pytest.mark.parametrize("age", ["", "never", "30m", "x", "-1d"])
def test_an_age_that_is_none_or_too_young_is_refused(place: Place, age: str) -> None:
    """Bytes that a proposal will name in a moment must not be swept, and a slip must not forget everything."""
    place.applied(place.change({"create": "notes:a.md", "set": {"text": "x"}}))
    refused = place.run("journal", "prune", f"--older-than={age}")
    assert (refused.code, "is no age to prune by" in refused.err, "--older-than 90d" in refused.err) == (2, True, True)
    assert len(place.json("log", expect=0)["transactions"]) == 1


@pytest.mark.requirement("cli:prune:policy")
def test_the_settings_say_how_long_things_are_kept(place: Place) -> None:
    """The policy is written once; nothing here is that old."""
    place.settings('[policy]\nkeep = "365d"\n')
    place.applied(place.change({"create": "notes:a.md", "set": {"text": "x"}}))
    answer = place.json("journal", "prune", expect=0)
    assert (answer["transactions"], answer["kept"]) == (0, {"it is recent": 1})


@pytest.mark.requirement("cli:prune:person")
def test_only_a_person_gives_up_undo(old: Place) -> None:
    """An agent that covers its tracks would begin here."""
    words = ("journal", "prune", "--older-than", "0s", "--give-up-undo")
    refused = old.run(*words)
    assert (refused.code, "takes a person at a terminal" in refused.err) == (2, True)
    assert old.json(*words, "--dry-run", expect=0)["transactions"] == 2
    assert len(old.json("log", expect=0)["transactions"]) == 3
