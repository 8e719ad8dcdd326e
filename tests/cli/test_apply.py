"""`apply` and `propose`: what is carried out, joined, refused, and with which exit code."""

import os

import pytest

from amends.cli.text import tell_plans
from amends.contract import (
    Compare,
    Fact,
    Fence,
    Guarantee,
    Observation,
    Operation,
    OperationKind,
    Presence,
    Receipt,
    Version,
)
from amends.ports import Plan
from tests.cli.place import Place


@pytest.mark.requirement("cli:exit:codes")
def test_the_exit_code_says_how_it_ended(place: Place) -> None:
    """A script that reads nothing else must still never take a failed or open write for a done one."""
    assert place.run("apply", place.create("a.md", "one"), "--yes").code == 0
    assert place.read("a.md") == "one"
    transaction = place.proposed(place.edit("a.md", "two"))
    place.write("a.md", "changed by hand")
    assert place.person("confirm", transaction).code == 1
    assert place.run("apply", "nothing.toml").code == 2
    place.killed(place.create("b.md", "x", name="b.json"), after_sending=True)
    assert place.run("apply", "b.json", "--yes").code == 3
    stopped = place.change(
        {"create": "notes:b.md", "set": {"text": "y"}}, {"create": "notes:c.md", "set": {"text": ""}}
    )
    assert place.run("apply", stopped, "--yes").code == 1
    stopped = place.change(
        {"create": "notes:c.md", "set": {"text": ""}}, {"create": "notes:b.md", "set": {"text": "y"}}
    )
    assert place.run("apply", stopped, "--yes").code == 4
    assert place.run("apply", place.create("d.md", "")).code == 6
    (place.folder / "amends.toml").write_text("surfaces = 3")
    assert place.run("apply", "b.json", "--yes").code == 5
    assert place.read("a.md") == "changed by hand"


@pytest.mark.requirement("cli:apply:complete")
def test_a_document_with_several_writes_is_complete(place: Place) -> None:
    """Each write has its own outcome and its own undo; COMPLETE is said of the whole only when all are as asked."""
    place.write("old.md", "old")
    (place.folder / "motion.pdf").write_bytes(b"%PDF")
    document = place.change(
        {"create": "notes:new.md", "set": {"text": "new"}},
        {"edit": "notes:old.md", "set": {"text": "edited"}},
        {"upload": "notes:motion.pdf", "from": "motion.pdf"},
        title="File motion 42",
    )
    code, out, _ = place.run("apply", document, "--yes")
    assert code == 0
    assert "File motion 42" in out
    assert "COMPLETE: 3 of 3 writes as asked." in out
    assert out.count("Undo: amends -C") == 3
    assert [place.read(name) for name in ("new.md", "old.md", "motion.pdf")] == ["new", "edited", "%PDF"]


@pytest.mark.requirement("cli:apply:blocked")
def test_it_stops_at_the_first_write_that_is_not_applied(place: Place) -> None:
    """What comes after a failed write may rest on it, so it is not sent, and each write says what became of it."""
    place.write("taken.md", "theirs")
    document = place.change(
        {"create": "notes:first.md", "set": {"text": "1"}},
        {"create": "notes:taken.md", "set": {"text": "2"}},
        {"create": "notes:third.md", "set": {"text": "3"}},
    )
    code, out, _ = place.run("apply", document, "--yes")
    assert code == 4
    assert "BLOCKED / NOT COMPLETE: 1 of 3 writes as asked." in out
    assert "I couldn't create notes:taken.md: something else is there already" in out
    assert "I couldn't create notes:third.md: its transaction ended before it was sent" in out
    assert [place.read(name) for name in ("first.md", "taken.md", "third.md")] == ["1", "theirs", None]
    assert "BLOCKED / NOT COMPLETE" in place.run().out


@pytest.mark.requirement("cli:apply:already")
def test_what_is_already_so_is_complete_without_asking(place: Place) -> None:
    """Nothing would be sent, so there is nothing to confirm; a script may apply the same document every day."""
    place.write("a.md", "one")
    place.write("b.md", "two")
    code, out, _ = place.run("apply", place.edit("a.md", "one"))
    assert (code, "already as asked; nothing was sent" in out) == (0, True)
    both = [{"edit": f"notes:{key}", "set": {"text": text}} for key, text in (("a.md", "one"), ("b.md", "two"))]
    answer = place.json("propose", place.change(*both), expect=0)
    assert answer["state"] == "complete"
    assert [write["evidence"] for write in answer["writes"]] == ["already_so", "already_so"]
    assert place.json(expect=0)["transactions"] == []


@pytest.mark.requirement("cli:apply:dry_run")
def test_a_dry_run_leaves_no_trace_at_all(place: Place) -> None:
    """Whoever only looks must be able to trust that looking changes nothing, down to the last hidden folder."""
    place.write("a.md", "old\n")
    (place.folder / "big.bin").write_bytes(b"\0" * (2 << 20))
    document = place.change(
        {"edit": "notes:a.md", "set": {"text": "new\n"}},
        {"upload": "notes:big.bin", "from": "big.bin"},
        {"create": "notes:deep/er.md", "set": {"text": ""}},
    )
    before = place.tree()
    code, out, err = place.run("apply", document, "--dry-run")
    assert (code, err) == (0, "")
    assert place.tree() == before
    assert "Would edit notes:a.md (racy)" in out
    assert "  -old" in out
    assert "  +new" in out
    assert "Would upload notes:big.bin (atomic)" in out
    assert "Note: The folder notes:deep does not exist" in out
    assert out.endswith("Nothing was recorded and nothing was sent.\n")


@pytest.mark.requirement("cli:apply:dry_run")
def test_a_dry_run_beside_a_journal_records_nothing(place: Place) -> None:
    """The journal that is there already must not grow by a question, and must be asked whether the root is its own."""
    place.applied(place.create("a.md", "one"))
    before = place.tree()
    answer = place.json("apply", place.edit("a.md", "one"), "--dry-run", expect=0)
    assert [(write["already_so"], write["undoable"]) for write in answer["writes"]] == [(True, True)]
    del before["change.json"]
    assert {name: content for name, content in place.tree().items() if name != "change.json"} == before


@pytest.mark.requirement("cli:apply:dry_run")
def test_a_dry_run_refuses_what_apply_would_refuse(place: Place) -> None:
    """A dry run that is kinder than the run is no rehearsal."""
    twice = place.change({"create": "notes:a.md", "set": {"text": ""}}, {"create": "notes:./a.md", "set": {"text": ""}})
    assert "writes 1 and 2 are both about notes:a.md" in place.run("apply", twice, "--dry-run").err
    assert place.run("apply", place.edit("missing.md", "x"), "--dry-run").code == 2


@pytest.mark.requirement("cli:apply:dry_run")
def test_a_dry_run_says_what_could_not_be_undone(place: Place) -> None:
    """The moment to learn that there is no way back is before the write, not after it."""
    operation = Operation(OperationKind.CREATE, "mail:1", (Fact("mail:1", "to", "all"),))
    blind = Guarantee(Receipt.NONE, Compare.NONE, Version.NONE, Fence.NONE)
    tell_plans([(Plan(operation, {}, Observation(Presence.ABSENT), blind, undoable=False), "sends a mail")])
    out = place.capsys.readouterr().out
    assert "Would create mail:1 (blind)" in out
    assert "This could not be undone." in out


@pytest.mark.requirement("cli:apply:yes")
def test_yes_confirms_only_its_own_proposal(place: Place) -> None:
    """--yes is the operator's word for what the operator just wrote, not for whatever an agent left lying there."""
    document = place.create("a.md", "one")
    transaction = place.proposed(document)
    answer = place.json("apply", document, "--yes", expect=6)
    assert (answer["joined"], answer["transaction_id"]) == (True, transaction)
    assert place.read("a.md") is None
    assert "confirm" in answer["next"]
    assert "--yes confirms only what its own command proposes" in place.run("apply", document, "--yes").out
    other = place.json("apply", place.create("b.md", "two"), "--yes", expect=0)
    assert "confirmed  by operator (--yes)" in place.run("show", other["operation_id"]).out


@pytest.mark.requirement("cli:apply:joined")
def test_the_same_again_is_joined_and_not_sent(place: Place) -> None:
    """This is the whole point: a repeat while nobody knows must not become a second effect."""
    document = place.create("a.md", "one")
    operation_id = place.killed(document, after_sending=True)
    (place.folder / "notes" / "a.md").unlink()
    code, out, _ = place.run("apply", document, "--yes")
    assert code == 3
    assert "Nothing was sent now" in out
    assert f"check {operation_id}" in out
    assert place.read("a.md") is None


@pytest.mark.requirement("cli:apply:joined")
def test_an_outcome_that_nobody_heard_is_handed_over(place: Place) -> None:
    """A reader that went away never learnt that it was done; its repeat must be told so, and not be done again."""
    document = place.edit("a.md", "one")
    place.write("a.md", "zero")
    unheard = place.process("apply", document, "--yes", prepare=_close_standard_output_for_good)
    assert unheard.code == 0
    assert place.read("a.md") == "one"
    place.write("a.md", "zero")
    answer = place.json("apply", document, "--yes", expect=0)
    assert (answer["joined"], answer["outcome"]) == (True, "applied")
    assert place.read("a.md") == "zero"
    assert place.json("apply", document, "--yes", expect=0)["joined"] is False
    assert place.read("a.md") == "one"


@pytest.mark.requirement("cli:apply:merged")
def test_a_shared_write_does_not_answer_for_the_others(place: Place) -> None:
    """Joining a document to one that has only some of its writes would report as done what was never sent."""
    alone, more = {"create": "notes:a.md", "set": {"text": "1"}}, {"create": "notes:b.md", "set": {"text": "2"}}
    unheard = place.process("apply", place.change(alone), "--yes", prepare=_close_standard_output_for_good)
    assert unheard.code == 0
    both = place.json("apply", place.change(alone, more), "--yes", expect=0)
    assert (both["joined"], both["state"], place.read("b.md")) == (False, "complete", "2")


@pytest.mark.requirement("cli:apply:merged")
def test_a_write_that_may_have_applied_can_not_be_merged_away(place: Place) -> None:
    """An eager agent re-packs its writes until one gets through; what may have applied is not sent in any packing."""
    alone, more = {"create": "notes:a.md", "set": {"text": "1"}}, {"create": "notes:b.md", "set": {"text": "2"}}
    operation_id = place.killed(place.change(alone), after_sending=False)
    code, _, err = place.run("apply", place.change(alone, more), "--yes")
    assert code == 2
    assert f"the write to notes:a.md is under way already, as operation {operation_id}" in err
    assert f"Next: settle that first: amends -C {place.folder} check {operation_id}" in err
    assert [place.read(name) for name in ("a.md", "b.md")] == [None, None]
    assert place.run("check", operation_id).code == 0
    code, _, err = place.run("apply", place.change(alone, more), "--yes")
    assert code == 2
    assert "propose them apart: the former are its recoveries" in err
    assert place.run("apply", place.change(alone), "--yes").code == 0
    assert place.run("apply", place.change(alone, more), "--yes").code == 0
    assert [place.read(name) for name in ("a.md", "b.md")] == ["1", "2"]


def _close_standard_output_for_good() -> None:
    """Run in the child: standard output becomes a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)


@pytest.mark.requirement("cli:apply:again")
def test_again_asks_for_a_second_one(place: Place) -> None:
    """Two writes that are meant may look alike; only the user can say so, and says it in one word."""
    document = place.create("a.md", "one")
    first = place.proposed(document)
    second = place.json("propose", document, "--again", expect=6)
    assert second["joined"] is False
    assert second["transaction_id"] != first
