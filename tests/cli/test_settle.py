"""`check`, `attest` and `undo`: what becomes of a write that may have applied, and of one that did."""

import os

import pytest

from amends.ports import Answer, Attempt
from amends.surfaces import Files
from tests.cli.place import Place


@pytest.mark.requirement("cli:check:settles")
def test_a_check_tells_what_landed_from_what_did_not(place: Place) -> None:
    """From outside both look the same, a dead process and no answer; only proof may tell them apart."""
    landed = place.killed(place.create("a.md", "one"), after_sending=True)
    code, out, _ = place.run("check", landed)
    assert (code, "the proof that this write landed is there" in out) == (0, True)
    lost = place.killed(place.create("b.md", "two"), after_sending=False)
    answer = place.json("check", lost, expect=0)
    assert (answer["outcome"], answer["evidence"]) == ("failed", "never_sent")
    assert answer["text"].endswith("nothing was changed.")
    assert [place.read(name) for name in ("a.md", "b.md")] == ["one", None]


@pytest.mark.requirement("cli:check:settles")
def test_check_all_settles_everything_that_may_have_applied(place: Place) -> None:
    """After a crash of the machine there may be many; one command has to do."""
    for number in range(3):
        place.killed(place.create(f"{number}.md", "x"), after_sending=number != 1)
    waiting = place.proposed(place.create("later.md", "x"))
    answer = place.json("check", "--all", expect=0)
    assert [each["outcome"] for each in answer["transactions"]] == ["applied", "failed", "applied"]
    assert "there is nothing to check" in place.run("check", "--all").out
    unfinished, last = place.json(expect=0)["transactions"]
    assert (unfinished["outcome"], unfinished["state"], last["transaction_id"]) == ("failed", "open", waiting)
    assert place.run("check").code == 2
    assert place.run("check", "--all", waiting).code == 2


@pytest.mark.requirement("cli:check:open")
def test_what_can_not_be_settled_stays_ambiguous(place: Place) -> None:
    """Exit code 3 and a way to look: somebody overwrote the only proof, and a guess would be a lie."""
    operation_id = place.closed("a.md")
    code, out, _ = place.run("check", operation_id)
    assert code == 3
    assert "may have applied" in out
    assert "sha256sum" in out
    assert f"attest {operation_id}" in out
    answer = place.json("check", operation_id, expect=3)
    assert (answer["outcome"], answer["applied"], answer["state"]) == ("ambiguous", False, "blocked")
    assert answer["check_hint"]
    assert place.read("a.md") == "somebody else's\n"


@pytest.mark.requirement("cli:check:open")
def test_a_writer_that_still_works_is_left_alone(place: Place) -> None:
    """Fencing a live writer would make its write fail for no reason; it has its minute."""
    document = place.create("a.md", "one")
    is_sending, tell = os.pipe()
    wait, go_on = os.pipe()
    child = os.fork()
    if child == 0:
        _send_slowly(place, document, tell, wait)
    assert os.read(is_sending, 1) == b"."
    (open_one,) = place.json(expect=0)["transactions"]
    answer = place.json("check", open_one["transaction_id"], expect=3)
    assert answer["writes"][0]["state"] == "executing"
    os.write(go_on, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert place.json("show", open_one["transaction_id"], expect=0)["outcome"] == "applied"


def _send_slowly(place: Place, document: str, tell: int, wait: int) -> None:
    """In a child: apply, but tell that the intent is recorded, and wait for a word before sending."""
    send = Files.send

    def slowly(files: Files, attempt: Attempt) -> Answer:
        os.write(tell, b".")
        os.read(wait, 1)
        return send(files, attempt)

    code = 70
    try:
        place.monkeypatch.setattr(Files, "send", slowly)
        code = place.run("apply", document, "--yes").code
    finally:
        os._exit(code)


@pytest.mark.requirement("cli:attest:word")
def test_a_person_settles_what_nothing_can_prove(place: Place) -> None:
    """The one outcome without proof is marked as what it is: a person's word, with the reason."""
    operation_id = place.closed("a.md")
    code, out, _ = place.person("attest", operation_id, "--failed", "--reason", "the log has no entry")
    assert code == 0
    assert "A person says that the write to notes:a.md did not apply" in out
    assert "the log has no entry" in out
    assert place.json("show", operation_id, expect=0)["evidence"] == "attested"
    code, out, _ = place.person("attest", operation_id, "--applied", "--reason", "now I see it")
    assert (code, "needs no word of a person" in out) == (2, True)


@pytest.mark.requirement("cli:attest:reason")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--applied"], "Missing option '--reason'"),
        (["--applied", "--reason", "  "], "an attestation needs a reason"),
        (["--reason", "seen"], "say one of --applied and --failed"),
        (["--applied", "--failed", "--reason", "seen"], "say one of --applied and --failed"),
    ],
    ids=str,
)
def test_an_attestation_without_a_reason_is_refused(place: Place, words: list[str], why: str) -> None:
    """In half a year the reason is all that is left of what the person saw."""
    operation_id = place.closed("a.md")
    code, _, err = place.run("attest", operation_id, *words)
    assert code == 2
    assert why in err
    assert "Next: " in err
    assert place.json("show", operation_id, expect=0)["outcome"] == "ambiguous"


@pytest.mark.requirement("cli:attest:word")
def test_what_can_be_proved_needs_no_word(place: Place) -> None:
    """Proof goes before a person's word: what they say of a write that is provable is not asked."""
    operation_id = place.killed(place.create("a.md", "one"), after_sending=True)
    code, out, _ = place.person("attest", operation_id, "--failed", "--reason", "I see nothing")
    assert code == 2
    assert "needs no word of a person: it is applied (receipt)" in out
    assert place.json("show", operation_id, expect=0)["outcome"] == "applied"


@pytest.mark.requirement("cli:undo:restores")
def test_an_undo_restores_and_can_be_undone(place: Place) -> None:
    """An undo is a write like any other: proposed, confirmed, told, and itself reversible."""
    place.write("a.md", "before\n")
    edited = place.applied(place.edit("a.md", "after\n"))
    assert place.run("undo", edited).code == 6
    assert place.read("a.md") == "after\n"
    (waiting,) = place.json(expect=0)["transactions"]
    assert place.person("confirm", waiting["transaction_id"]).code == 0
    assert place.read("a.md") == "before\n"
    back = place.json("undo", waiting["operation_id"], "--yes", expect=0)
    assert place.read("a.md") == "after\n"
    assert back["undo"].endswith(f"undo {back['operation_id']}")


@pytest.mark.requirement("cli:undo:stale")
def test_an_undo_that_would_lose_work_is_refused(place: Place) -> None:
    """What somebody wrote since is worth more than our tidiness."""
    created = place.applied(place.create("a.md", "one\n"))
    place.write("a.md", "one\nand a line of somebody else\n")
    code, out, _ = place.run("undo", created, "--yes")
    assert code == 1
    assert "it is no longer as it was shown" in out
    assert place.read("a.md") == "one\nand a line of somebody else\n"


@pytest.mark.requirement("cli:undo:refused")
def test_what_did_not_apply_can_not_be_undone(place: Place) -> None:
    """Each refusal says why, and what to do instead; none of them changes anything."""
    place.write("taken.md", "theirs")
    place.run("apply", place.create("taken.md", "ours"), "--yes")
    failed = place.json("log", expect=0)["transactions"][0]["operation_id"]
    assert "failed: nothing was changed, so there is nothing to undo" in place.run("undo", failed).err

    maybe = place.killed(place.create("maybe.md", "x"), after_sending=True)
    code, _, err = place.run("undo", maybe, "--yes")
    assert "may or may not have applied, so it can't be undone yet" in err
    assert f"Next: settle it by a read first: amends -C {place.folder} check {maybe}" in err

    undone = place.applied(place.create("undone.md", "x"))
    assert place.run("undo", undone, "--yes").code == 0
    assert "was undone already" in place.run("undo", undone, "--yes").err

    proposed = place.proposed(place.create("later.md", "x"))
    assert "nothing was sent, so nothing can be undone" in place.run("undo", proposed).err
    for subject in (failed, maybe, undone, proposed, "op_unknown"):
        assert place.json("undo", subject, "--yes", expect=2)["exit_code"] == 2
    assert code == 2
    assert [place.read(name) for name in ("taken.md", "maybe.md", "undone.md")] == ["theirs", "x", None]
