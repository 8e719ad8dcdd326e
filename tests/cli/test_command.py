"""Printed commands, shortened ids, spellings, help, and every verb as a process of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amends.cli.command import shell_word
from amends.cli.shape import Printed
from tests.cli.place import COMMAND, WAIT_S_MAX, Place

VERBS = ["apply", "propose", "confirm", "decline", "check", "undo", "attest", "log", "show", "verify", "init", "schema"]


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a printed command as a person would: pasted into a shell, somewhere."""
    script = f'amends() {{ {shlex.quote(sys.executable)} -m amends "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, capture_output=True, text=True, timeout=WAIT_S_MAX, check=False
    )


@pytest.mark.requirement("cli:command:anywhere")
def test_printed_commands_work_from_any_folder(place: Place, tmp_path: Path) -> None:
    """A command is copied from a mail or a log into whatever terminal is open; it must find its own settings."""
    place.folder = place.folder.rename(tmp_path / "it's the `büro` $HOME\n\x1b[31m \\ \U0001f600")
    done = place.json("apply", place.create("a.md", "one"), "--yes", expect=0)
    assert shell(done["undo"], Path("/")).returncode == 6
    (waiting,) = place.json(expect=0)["transactions"]
    refused = shell(waiting["next"], tmp_path)
    assert refused.returncode == 2
    assert "at a terminal" in refused.stderr
    assert "\x1b" not in refused.stderr
    maybe = place.killed(place.create("b.md", "x"), after_sending=True)
    told = place.run("apply", "change.json", "--yes").out
    hint = re.search(r"here's how to check: (.*)\.\n", told)
    assert hint
    checked = shell(hint[1], Path("/"))
    assert (checked.returncode, "landed" in checked.stdout) == (0, True)
    following = re.search(r"Next: (.*)\n", told)
    assert following
    assert shell(following[1], tmp_path).returncode == 0
    assert place.json("show", f"{maybe}.", expect=0)["outcome"] == "applied"


@pytest.mark.requirement("cli:command:anywhere")
def test_the_users_own_settings_keep_their_journal_everywhere(place: Place, tmp_path: Path) -> None:
    """The commands that are printed name the settings' folder; from there the same journal must be found."""
    own = tmp_path / "config" / "amends"
    own.mkdir(parents=True)
    (own / "amends.toml").write_text(f'[surfaces.notes]\ntype = "files"\nroot = "{place.folder}/notes"\n')
    (place.folder / "amends.toml").unlink()
    done = place.json("apply", place.create("a.md", "one"), "--yes", expect=0)
    assert f"Journal: {tmp_path}/state/amends/journal" in place.run().out
    assert f"-C {own} " in done["undo"]
    undone = shell(f"{done['undo']} --yes", Path("/"))
    assert (undone.returncode, undone.stderr) == (0, "")
    assert place.read("a.md") is None
    assert not (own / ".amends").exists()


@pytest.mark.requirement("cli:command:anywhere")
def test_a_shell_reads_a_quoted_word_as_it_was() -> None:
    """Quoting is where a folder's name becomes a command, unless every byte of it survives."""
    for text in ["plain", "two words", "it's", "$(id)", "a\nb", "\x1b'\\", "", "é\n\u202e", "\udcff"]:
        word = shell_word(text)
        assert word.isprintable()
        seen = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, timeout=WAIT_S_MAX)
        assert seen.stdout == os.fsencode(text)


@pytest.mark.requirement("cli:command:prefix")
def test_an_id_shortens_to_any_beginning_of_its_own(place: Place) -> None:
    """Nobody types 26 characters; and where two ids begin alike, guessing one of them could undo the wrong write."""
    first, second = (place.applied(place.create(f"{name}.md", name)) for name in "ab")
    length = next(at for at, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
    same = first[:length]
    assert place.json("show", second[: length + 1], expect=0)["operation_id"] == second
    code, _, err = place.run("undo", same, "--yes")
    assert code == 2
    assert f"several ids begin with {same}" in err
    assert f"Next: give more of the id: amends -C {place.folder} log" in err
    assert [place.read("a.md"), place.read("b.md")] == ["a", "b"]
    assert place.json("undo", second[: length + 1], "--yes", expect=0)["applied"] is True


@pytest.mark.requirement("cli:spelling:once")
def test_two_processes_and_two_spellings_make_one_effect(place: Place) -> None:
    """`a.md`, `./a.md` and the way through a link are one file, and whoever comes second must be told so."""
    (place.folder / "notes" / "real").mkdir()
    (place.folder / "notes" / "link").symlink_to("real")
    documents = [
        place.change({"create": f"notes:{key}", "set": {"text": key}}, name=f"{number}.json")
        for number, key in enumerate(["real/a.md", "link//../link/./a.md"])
    ]
    running = [
        subprocess.Popen([*COMMAND, "apply", name, "--yes"], cwd=place.folder, stdout=subprocess.PIPE, text=True)
        for name in documents
    ]
    answers = [process.communicate(timeout=WAIT_S_MAX)[0] for process in running]
    codes = sorted(process.returncode for process in running)
    assert codes == [0, 1], answers
    assert sum("I created notes:real/a.md." in answer for answer in answers) == 1
    assert sum("I couldn't create notes:real/a.md" in answer for answer in answers) == 1
    winner = next(number for number, process in enumerate(running) if process.returncode == 0)
    assert place.read("real/a.md") == ["real/a.md", "link//../link/./a.md"][winner]
    assert all(left["state"] == "blocked" for left in place.json(expect=0)["transactions"])


@pytest.mark.requirement("cli:help:teaches")
def test_the_help_teaches_how_to_begin(place: Place) -> None:
    """`amends --help` is the first page that most people and every agent will read."""
    out = place.run("--help").out
    assert "each write ends applied, failed or ambiguous" in out
    assert "Exit codes" in out
    assert "amends init notes --name notes" in out
    assert [verb for verb in [*VERBS, "demo"] if f"\n  {verb} " not in out] == []
    assert re.fullmatch(r"amends \d+\.\d+\.\d+\n", place.run("--version").out)


@pytest.mark.requirement("cli:help:teaches")
@pytest.mark.parametrize("verb", [*VERBS, "demo"])
def test_every_verb_explains_itself_in_help(place: Place, verb: str) -> None:
    """No option without a sentence, and the same help whichever way it is asked for."""
    code, out, err = place.run(verb, "--help")
    assert (code, err) == (0, "")
    assert out == place.run(verb, "-h").out
    assert len(out.splitlines()[2].strip()) > 20
    _, _, options = out.partition("\nOptions:\n")
    assert [line for line in options.splitlines() if line.startswith("  -") and len(line.split()) < 4] == []
    assert "Traceback" not in out


@pytest.mark.requirement("cli:process:each")
def test_every_verb_works_as_a_process_of_its_own(place: Place) -> None:
    """The fast tests share one interpreter; this one goes the way of a user, once for each verb."""
    (place.folder / "amends.toml").unlink()
    assert _json(place, "init", "notes", "--name", "notes", expect=0)["surface"] == "notes"
    done = _json(place, "apply", place.create("a.md", "one"), "--yes", expect=0)
    assert place.process("undo", done["operation_id"], "--yes").code == 0
    waiting = _json(place, "propose", place.create("b.md", "two"), expect=6)
    assert place.process("confirm", waiting["transaction_id"]).code == 2
    assert _json(place, "decline", waiting["transaction_id"], expect=2)["error"] == "person_needed"
    maybe = place.killed(place.create("c.md", "three"), after_sending=True)
    assert _json(place, "check", maybe, expect=0)["outcome"] == "applied"
    assert place.process("attest", maybe, "--applied", "--reason", "seen").code == 2
    assert "concluded" in place.process("show", maybe).out
    assert len(place.process("log").out.splitlines()) == 4
    assert _json(place, "verify", expect=0)["faults"] == []
    assert f"confirm {waiting['transaction_id']}" in place.process().out
    assert json.loads(place.process("schema", "report").out) == Printed.model_json_schema()
    assert [place.read(name) for name in ("a.md", "b.md", "c.md")] == [None, None, "three"]


def _json(place: Place, *words: str, expect: int) -> dict[str, Any]:
    """Carry out a command as a process with --json, and check that it printed one document of the published shape."""
    ended = place.process(*words, "--json")
    assert (ended.code, ended.err) == (expect, ""), ended
    Printed.model_validate_json(ended.out)
    document: dict[str, Any] = json.loads(ended.out)
    assert document["exit_code"] == expect
    return document


@pytest.mark.requirement("cli:json:fields")
def test_the_documented_fields_say_what_they_should(place: Place) -> None:
    """Programs branch on these nine; each is there in every state, and only an applied write is applied."""
    document = place.create("a.md", "one")
    waiting = place.json("propose", document, expect=6)
    assert [waiting[name] for name in ("outcome", "evidence", "applied", "action", "undo")] == [
        None,
        None,
        False,
        None,
        None,
    ]
    place.killed(place.create("b.md", "x"), after_sending=True)
    maybe = place.json("apply", "change.json", "--yes", expect=3)
    assert (maybe["outcome"], maybe["evidence"], maybe["applied"]) == ("ambiguous", "unproven", False)
    assert (maybe["action"], maybe["check_after"], maybe["undo"]) == ("surface_ambiguous", None, None)
    assert maybe["check_hint"] == f"amends -C {place.folder} check {maybe['operation_id']}" == maybe["next"]
    applied = place.json("check", maybe["operation_id"], expect=0)
    assert (applied["outcome"], applied["applied"], applied["action"]) == ("applied", True, "confirm_applied")
    assert applied["undo"] == f"amends -C {place.folder} undo {applied['operation_id']}"
    failed = place.json("apply", place.create("b.md", "y"), "--yes", expect=1)
    assert (failed["outcome"], failed["applied"], failed["action"]) == ("failed", False, "report_failed")
    assert "nothing was changed" in failed["text"]
    both = place.change({"edit": "notes:b.md", "set": {"text": "z"}}, {"create": "notes:c.md", "set": {"text": "z"}})
    several = place.json("apply", both, "--yes", expect=0)
    nine = ("operation_id", "outcome", "evidence", "applied", "action", "check_hint", "check_after", "undo")
    assert [several[name] for name in nine] == [None] * 8
    assert several["text"] == several["verdict"] == "COMPLETE: 2 of 2 writes as asked."
    assert [write["applied"] for write in several["writes"]] == [True, True]


@pytest.mark.requirement("cli:json:errors")
def test_an_error_is_a_document_wherever_json_is_said(place: Place) -> None:
    """A program must not have to parse prose from another stream to learn that it misspelt a word."""
    for words in (
        ["--json", "apply", "gone.json"],
        ["apply", "gone.json", "--json"],
        ["--json", "aply"],
        ["--json", "show"],
    ):
        code, out, err = place.run(*words)
        assert (code, err) == (2, "")
        answer = json.loads(out)
        Printed.model_validate(answer)
        assert answer["hint"]
        assert answer["message"]
