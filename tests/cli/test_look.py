"""The inbox, `show`, `log`, `verify`, `init` and `schema`: what only looks, and what begins."""

import json
import os
import tomllib

import pytest

from amends.cli.shape import Printed
from amends.document import Change
from tests.cli.place import Place


@pytest.mark.requirement("cli:inbox:waits")
def test_the_inbox_lists_what_waits_with_its_command(place: Place) -> None:
    """Whoever types `amends` after the weekend should see what needs them, and nothing else."""
    assert "Nothing waits" in place.run().out
    waiting = place.proposed(place.change({"create": "notes:a.md", "set": {"text": ""}}, title="File motion 42"))
    maybe = place.killed(place.create("b.md", "x"), after_sending=True)
    closed = place.closed("c.md")
    place.write("taken.md", "theirs")
    taken, more = ({"create": f"notes:{name}.md", "set": {"text": ""}} for name in ("taken", "d"))
    stopped = place.change(more, taken)
    blocked = place.json("apply", stopped, "--yes", expect=4)["transaction_id"]
    place.applied(place.create("e.md", "done and gone"))
    code, out, err = place.run()
    assert (code, err) == (0, "")
    start = f"    amends -C {place.folder}"
    to_confirm, may_have, is_blocked = (out.index(word) for word in ("To confirm", "May have applied", "BLOCKED"))
    assert to_confirm < out.index(f"File motion 42: create notes:a.md\n{start} confirm {waiting}\n") < may_have
    assert may_have < out.index(f"create notes:b.md\n{start} check {maybe}\n") < is_blocked
    assert may_have < out.index(f"create notes:c.md\n{start} show {closed}\n") < is_blocked
    assert is_blocked < out.index(f"create notes:d.md and 1 more\n{start} followup {blocked}\n")
    assert out.endswith(f"Journal: {place.folder}/.amends/journal\n")
    assert len(place.json(expect=0)["transactions"]) == 4


@pytest.mark.requirement("cli:show:lines")
def test_show_tells_a_life_line_by_line(place: Place) -> None:
    """When a colleague asks what happened at 9:30, each line must be a fact with its time and its evidence."""
    place.write("a.md", "open\n")
    transaction = place.proposed(place.edit("a.md", "filed\n"), "--as", "drafting-agent")
    assert place.person("confirm", transaction).code == 0
    code, out, _ = place.run("show", transaction)
    assert code == 0
    words = [line.split()[2] for line in out.splitlines() if line.startswith("  2")]
    first = ["asked", "read", "bound", "confirmed", "read", "recorded", "sent"]
    assert words == [*first, "answered", "concluded", "told"]
    assert "asked      by drafting-agent: content = sha256:" in out
    assert "concluded  applied (acknowledged)" in out
    assert "recorded   the intent, epoch 1, key key_" in out


@pytest.mark.requirement("cli:show:lines")
def test_show_says_no_more_than_is_recorded(place: Place) -> None:
    """Of a sender that was killed it is not known whether its write left, and the line must not pretend."""
    operation_id = place.killed(place.create("a.md", "one"), after_sending=True)
    out = place.run("show", operation_id).out
    assert "sent       at most once; whether it left is not recorded" in out
    assert "may have applied" in out
    assert f"Next: amends -C {place.folder} check {operation_id}" in out
    place.run("check", operation_id)
    out = place.run("show", operation_id).out
    assert "taken over by pr_" in out
    assert "fenced     so that it can't land from here on" in out
    assert "concluded  applied (receipt)" in out
    (write,) = place.json("show", operation_id, expect=0)["writes"]
    assert [line["word"] for line in write["life"]][-4:] == ["taken over", "fenced", "concluded", "told"]


@pytest.mark.requirement("cli:log:newest")
def test_the_log_lists_the_newest_first(place: Place) -> None:
    """One line a write: when, its id, what became of it and why, and what it was."""
    first = place.applied(place.create("a.md", "one"))
    place.run("apply", place.create("a.md", "two"), "--yes")
    out = place.run("log").out.splitlines()
    assert out[1].endswith(f"{first} applied (acknowledged) create notes:a.md")
    assert "failed (never_sent) create notes:a.md" in out[0]
    assert len(place.run("log", "--limit", "1").out.splitlines()) == 1
    assert place.run("log", "--limit", "0").code == 2
    pages: list[str] = []
    before: list[str] = []
    while page := place.json("log", "--limit", "1", *before, expect=0)["transactions"]:
        pages += [entry["transaction_id"] for entry in page]
        before = ["--before", pages[-1]]
    assert pages == [entry["transaction_id"] for entry in place.json("log", expect=0)["transactions"]]
    assert place.run("log", "--before", "tx_zzz").code == 2


@pytest.mark.requirement("cli:verify:found")
def test_verify_finds_a_flipped_byte(place: Place) -> None:
    """A journal that was tampered with, or rotted, is worth nothing unless somebody can find out."""
    place.applied(place.create("a.md", "one"))
    code, out, _ = place.run("verify")
    assert (code, "No fault found." in out) == (0, True)
    assert place.json("verify", expect=0)["events"] > 4
    path = place.folder / ".amends" / "journal" / "journal.sqlite"
    raw = path.read_bytes()
    place_of_word = raw.rindex(b'"operator"')
    path.write_bytes(raw[: place_of_word + 1] + b"O" + raw[place_of_word + 2 :])
    code, out, _ = place.run("verify")
    assert code == 5
    assert "FAULT: " in out
    assert place.json("verify", expect=5)["faults"]


@pytest.mark.requirement("cli:init:once")
def test_init_makes_settings_that_work_and_only_once(place: Place) -> None:
    """The first command of a newcomer; run twice by mistake, it must not undo what they have written since."""
    (place.folder / "amends.toml").unlink()
    code, out, _ = place.run("init", "notes", "--name", "notes")
    assert code == 0
    assert f"targets are notes:PATH, files in {place.folder}/notes" in out
    assert place.run("apply", place.create("a.md", "one"), "--yes").code == 0
    written = (place.folder / "amends.toml").read_text()
    code, _, err = place.run("init", ".")
    assert (code, "is there already; it was not changed" in err) == (2, True)
    assert (place.folder / "amends.toml").read_text() == written


@pytest.mark.requirement("cli:init:once")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere"], "is no folder"),
        (["notes", "--name", "My Notes"], "can't name a surface"),
        (["notes", "--name", 'x]\n[journal]\nfolder="notes'], "can't name a surface"),
        ([".amends/journal"], "lies inside"),
    ],
    ids=["missing", "name", "forged", "journal"],
)
def test_init_refuses_what_would_not_work(place: Place, words: list[str], why: str) -> None:
    """Settings that fail at the first write are worse than none; nothing is left behind."""
    (place.folder / "amends.toml").unlink()
    (place.folder / ".amends" / "journal").mkdir(parents=True)
    code, _, err = place.run("init", *words)
    assert (code, why in err, "Next: " in err) == (2, True, True), err
    assert not (place.folder / "amends.toml").exists()
    assert place.json("init", *words, expect=2)["exit_code"] == 2


@pytest.mark.requirement("cli:init:once")
def test_init_takes_a_folder_with_any_name(place: Place) -> None:
    """TOML and the shell both have quotes; a folder's name may have them too."""
    (place.folder / "amends.toml").unlink()
    name = 'it\'s "the" \\ büro\t\u007f\U0001f600'
    (place.folder / name).mkdir()
    assert place.json("init", name, expect=0)["root"] == str(place.folder / name)
    parsed = tomllib.loads((place.folder / "amends.toml").read_text())
    assert parsed["surfaces"]["files"]["root"] == name
    document = place.change({"create": "files:a.md", "set": {"text": "one"}})
    assert place.run("apply", document, "--yes").code == 0
    assert sorted(os.listdir(place.folder / name)) == [".amends", "a.md"]


@pytest.mark.requirement("cli:json:schema")
def test_the_schemas_are_those_that_are_checked(place: Place) -> None:
    """A program that validates by the printed schema must accept what the commands print, and the other way round."""
    assert json.loads(place.run("schema").out) == Change.model_json_schema()
    assert json.loads(place.run("schema", "report", "--json").out) == Printed.model_json_schema()
    assert place.run("schema", "other").code == 2
