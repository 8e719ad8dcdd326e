"""`confirm`, `decline`: what only a person may do, once, and for exactly what was shown."""

import json
import os
from typing import Any

import apsw
import pytest

from amends.contract.lifecycle import Happened
from amends.journal.chain import Written, link
from amends.ports import Event
from tests.cli.place import Place


@pytest.mark.requirement("cli:person:terminal")
@pytest.mark.parametrize("verb", ["confirm", "decline", "attest"])
def test_a_pipe_can_not_act_as_a_person(place: Place, verb: str) -> None:
    """An agent has pipes; if it could answer its own question, the question would be a formality."""
    document = place.create("a.md", "one")
    subject = place.closed("b.md") if verb == "attest" else place.proposed(document)
    words = [verb, subject, *(["--applied", "--reason", "I saw it"] if verb == "attest" else [])]
    before = place.run("show", subject).out
    code, out, err = place.process(*words, stdin=b"AAAA\nyes\n" * 50)
    assert (code, out) == (2, "")
    assert "takes a person at a terminal; nothing was done" in err
    assert f"Next: at a terminal: amends -C {place.folder} {verb}" in err
    assert place.json(*words, expect=2)["error"] == "person_needed"
    assert place.run("show", subject).out == before
    assert place.read("a.md") is None


@pytest.mark.requirement("cli:person:terminal")
def test_a_terminal_for_the_answer_alone_is_not_enough(place: Place) -> None:
    """Where the output is captured nobody can have seen the change, whatever the input is."""
    transaction = place.proposed(place.create("a.md", "one"))
    terminal, keyboard = os.openpty()
    ended = place.process("confirm", transaction, prepare=lambda: _reads_from(keyboard))
    os.close(terminal)
    os.close(keyboard)
    assert ended.code == 2
    assert place.read("a.md") is None


def _reads_from(fd: int) -> None:
    """Run in the child: standard input becomes `fd`."""
    os.dup2(fd, 0)


@pytest.mark.requirement("cli:person:code")
def test_a_person_sees_the_change_and_types_the_code(place: Place) -> None:
    """What is confirmed is what was on the screen: the diff, the level, who asked, and what can't be undone."""
    place.write("a.md", "open\n")
    transaction = place.proposed(place.edit("a.md", "filed\n"), "--as", "drafting-agent")
    code, out, _ = place.person("confirm", transaction)
    assert code == 0
    assert "edit notes:a.md  (racy), asked by drafting-agent" in out
    assert "  -open\n  +filed\n" in out
    assert "Type " in out
    assert place.read("a.md") == "filed\n"
    assert " at a terminal" in place.run("show", transaction).out


@pytest.mark.requirement("cli:person:code")
@pytest.mark.parametrize("typed", [b"\n", b"yes\n", b"\x04", b"\x03", b"\xff\xfe\n"], ids=repr)
def test_anything_but_the_code_leaves_it_as_it_is(place: Place, typed: bytes) -> None:
    """A habitual Enter, a `yes`, the end of input and Ctrl-C are no confirmation, and no decline either."""
    transaction = place.proposed(place.create("a.md", "one"))
    code, out, _ = place.person("confirm", transaction, types=typed)
    assert code == 2
    assert "nothing was done" in out
    assert place.read("a.md") is None
    assert place.json("show", transaction, expect=0)["state"] == "open"


@pytest.mark.requirement("cli:person:code")
def test_apply_asks_at_a_terminal_and_else_leaves_it_proposed(place: Place) -> None:
    """One command for a person who writes and confirms in one go; a wrong code keeps the work."""
    document = place.create("a.md", "one")
    code, out, _ = place.person("apply", document, types=b"no\n")
    assert (code, "waits for a person" in out) == (6, True)
    transaction = place.json(expect=0)["transactions"][0]["transaction_id"]
    assert place.person("confirm", transaction).code == 0
    assert place.person("apply", place.create("b.md", "two")).code == 0
    assert place.read("b.md") == "two"


@pytest.mark.requirement("cli:person:json")
def test_a_person_may_confirm_for_a_program(place: Place) -> None:
    """With --json the question stands on standard error, so that what is on standard output stays one document."""
    transaction = place.proposed(place.create("a.md", "one"))
    code, out, _ = place.person("confirm", transaction, "--json")
    assert code == 0
    assert out.index("Type ") < out.index('"outcome": "applied"')
    assert place.read("a.md") == "one"


@pytest.mark.requirement("cli:confirm:used")
def test_a_used_confirmation_shows_its_first_outcome(place: Place) -> None:
    """Whoever confirms twice wants to know how it stands; a second effect is what they never want."""
    transaction = place.proposed(place.create("a.md", "one"))
    assert place.person("confirm", transaction).code == 0
    os.unlink(place.folder / "notes" / "a.md")
    code, out, _ = place.run("confirm", transaction)
    assert code == 2
    assert "It was confirmed before" in out
    assert "nothing was sent now" in out
    assert "I created notes:a.md." in out
    answer = place.json("confirm", transaction, expect=2)
    assert (answer["outcome"], answer["joined"]) == ("applied", True)
    assert place.read("a.md") is None


@pytest.mark.requirement("cli:confirm:refused")
def test_a_proposal_that_is_over_can_not_be_confirmed(place: Place) -> None:
    """Each refusal says what the proposal is and how to go on; none of them is taken for a yes or a no."""
    assert "no operation or transaction is called 'tx_nothing'" in place.run("confirm", "tx_nothing").err

    declined = place.proposed(place.create("a.md", "one"))
    assert place.person("decline", declined, "--reason", "not yet").code == 0
    assert "is declined" in place.run("confirm", declined).err

    place.write("b.md", "old")
    superseded = place.proposed(place.edit("b.md", "new"))
    place.write("b.md", "changed")
    place.proposed(place.edit("b.md", "new"))
    assert "is superseded" in place.run("confirm", superseded).err

    place.settings('[policy]\nexpires = "0s"\n')
    expired = place.proposed(place.create("c.md", "three"))
    code, out, _ = place.person("confirm", expired)
    assert (code, "expired before it was confirmed" in out) == (2, True)
    assert "is expired" in place.run("confirm", expired).err

    for transaction in (declined, superseded, expired):
        assert place.json("confirm", transaction, expect=2)["hint"] == "propose it again"
    assert [place.read(name) for name in ("a.md", "b.md", "c.md")] == [None, "changed", None]


@pytest.mark.requirement("cli:confirm:altered")
def test_an_altered_proposal_is_refused(place: Place) -> None:
    """Whoever can write to the journal's file could swap the payload between the proposal and the confirmation."""
    transaction = place.proposed(place.create("a.md", "harmless"))
    _alter(place, "notes:a.md", "notes:x.md", mends_chain=False)
    code, _, err = place.run("confirm", transaction)
    assert (code, "is damaged" in err, "nothing was sent" in err) == (5, True, True)
    assert place.run("verify").code == 5


@pytest.mark.requirement("cli:confirm:altered")
def test_an_alteration_that_mends_the_chain_is_refused(place: Place) -> None:
    """The confirmation is bound to a digest of its own, so that a forged journal is not enough either."""
    transaction = place.proposed(place.create("a.md", "harmless"))
    _alter(place, "notes:a.md", "notes:x.md", mends_chain=True)
    code, out, _ = place.person("confirm", transaction)
    assert code == 2
    assert "was altered after it was proposed" in out
    assert "Next: propose it again" in out
    assert [place.read(name) for name in ("a.md", "x.md")] == [None, None]


@pytest.mark.requirement("cli:confirm:altered")
def test_altered_bytes_are_never_what_is_written(place: Place) -> None:
    """The payload is kept as a file of its own; what is in it when it is sent must be what was confirmed."""
    transaction = place.proposed(place.create("a.md", "harmless"))
    (blob,) = (place.folder / ".amends" / "journal" / "blobs").glob("*/*")
    blob.chmod(0o600)
    blob.write_text("harmful!")
    code, out, _ = place.person("confirm", transaction)
    assert code == 1
    assert "were altered" in out
    assert "nothing was changed" in out
    assert place.read("a.md") is None


def _alter(place: Place, old: str, new: str, *, mends_chain: bool) -> None:
    """Change what is recorded, as somebody could who may write to the journal's file."""
    database = apsw.Connection(str(place.folder / ".amends" / "journal" / "journal.sqlite"))
    for (trigger,) in list(database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")):
        database.execute(f"DROP TRIGGER {trigger}")
    database.execute("UPDATE events SET data = replace(data, ?, ?)", (old, new))
    if mends_chain:
        columns = "seq, process_id, n, subject, happened, epoch, at_ms, data, claims, releases, genesis"
        prev: Any = None
        for seq, process, n, subject, happened, epoch, at_ms, data, claims, releases, genesis in list(
            database.execute(f"SELECT {columns} FROM events JOIN processes USING (process) ORDER BY seq")
        ):
            prev = prev or genesis
            event = Event(subject, Happened(happened), at_ms, json.loads(data), epoch, (), bool(releases))
            current = link(prev, process, n, Written(event, data, claims))
            database.execute("UPDATE events SET prev = ?, hash = ? WHERE seq = ?", (prev, current, seq))
            prev = current
    database.close()


@pytest.mark.requirement("cli:confirm:stale")
def test_a_confirmation_is_for_what_was_shown(place: Place) -> None:
    """A file that changed in between was not what the person saw; their yes does not cover it."""
    place.write("a.md", "open\n")
    transaction = place.proposed(place.edit("a.md", "filed\n"))
    place.write("a.md", "open, but wait\n")
    code, out, _ = place.person("confirm", transaction)
    assert code == 1
    assert "It is no longer as it was when this was planned" in out
    assert "it is no longer as it was shown" in out
    assert "nothing was changed" in out
    assert place.read("a.md") == "open, but wait\n"


@pytest.mark.requirement("cli:confirm:race")
def test_two_who_confirm_at_once_make_one_effect(place: Place) -> None:
    """Two colleagues press the button together: one write, and both are told what became of it."""
    for turn in range(3):
        place.write("log.md", f"turn {turn}\n")
        transaction = place.proposed(place.edit("log.md", f"turn {turn}, confirmed\n"))
        started = [place.begin("confirm", transaction) for _ in range(2)]
        ended = [place.finish(child, terminal) for child, terminal in started]
        assert place.read("log.md") == f"turn {turn}, confirmed\n"
        assert all(ran.code in (0, 2, 3) for ran in ended), ended
        assert any(ran.code == 0 for ran in ended), ended
        assert all("notes:log.md" in ran.out.splitlines()[-2] + ran.out.splitlines()[-3] for ran in ended), ended
        (write,) = place.json("show", transaction, expect=0)["writes"]
        assert [line["word"] for line in write["life"]].count("recorded") == 1
        assert write["outcome"] == "applied"


@pytest.mark.requirement("cli:decline:reason")
def test_a_decline_is_told_with_its_reason(place: Place) -> None:
    """The proposer learns why; and what was sent already can't be declined any more."""
    transaction = place.proposed(place.create("a.md", "one"))
    code, out, _ = place.person("decline", transaction, "--reason", "the client said no")
    assert (code, "is declined; nothing was sent" in out) == (0, True)
    assert "the client said no" in place.run("show", transaction).out
    assert place.json(expect=0)["transactions"] == []
    done = place.applied(place.create("b.md", "two"))
    code, out, _ = place.person("decline", done)
    assert (code, "nothing left to decline" in out, "Type" in out) == (2, True, False)


@pytest.mark.requirement("cli:decline:blocked")
def test_a_person_lets_go_of_what_is_blocked(place: Place) -> None:
    """What is BLOCKED and not wanted any more must not hold up its files for ever; its verdict and its effects stay."""
    place.write("taken.md", "theirs")
    writes = [{"create": f"notes:{name}", "set": {"text": "one"}} for name in ("a.md", "taken.md")]
    blocked = place.json("apply", place.change(*writes), "--yes", expect=4)
    assert place.run("apply", place.edit("a.md", "other"), "--yes").code == 4
    code, out, _ = place.person("decline", blocked["transaction_id"], "--reason", "not wanted any more")
    assert (code, "let it go: not wanted any more" in out, "BLOCKED / NOT COMPLETE" in out) == (0, True, True)
    assert place.json(expect=0)["transactions"] == []
    assert (place.read("a.md"), place.read("taken.md")) == ("one", "theirs")
    assert place.json("show", blocked["transaction_id"], expect=0)["state"] == "blocked"
    assert place.run("apply", place.edit("a.md", "other"), "--yes").code == 0
    code, out, _ = place.person("decline", blocked["transaction_id"])
    assert (code, "nothing left to decline" in out) == (2, True)
