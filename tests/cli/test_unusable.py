"""A broken world: exit code 5 where nothing was sent, and never where something was.

The journal can be newer, damaged, on a full or read-only disk, or fail between two writes; the settings can be missing
or wrong; and Amends itself can have a fault. Whatever it is, the target is what the message says.
"""

import errno
import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from amends.assembly import Amends
from amends.cli import shape, text
from amends.journal import SqliteJournal
from amends.surfaces import Files
from tests.cli.place import Place


def is_unusable(place: Place, *names: str) -> None:
    """See that a write is refused with exit code 5, says why and what to do, and changes nothing."""
    document = place.create("new.md", "new")
    code, out, err = place.run("apply", document, "--yes")
    assert (code, out) == (5, ""), err
    assert "nothing was sent" in err
    assert "Next: " in err
    for name in names:
        assert name in err
    assert place.json("apply", document, "--yes", expect=5)["hint"]
    assert place.read("new.md") is None


def _newer(journal: Path) -> None:
    database = apsw.Connection(str(journal / "journal.sqlite"))
    database.execute("PRAGMA user_version = 999")
    database.close()


def _damaged(journal: Path) -> None:
    path = journal / "journal.sqlite"
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))


def _foreign(journal: Path) -> None:
    (journal / "journal.sqlite").write_bytes(b"something else entirely\n" * 99)


def _a_file(journal: Path) -> None:
    shutil.rmtree(journal)
    journal.write_text("")


@pytest.mark.requirement("cli:unusable:journal")
@pytest.mark.parametrize(
    ("spoil", "names"),
    [
        (_newer, ["journal format 999", "update Amends"]),
        (_damaged, ["is damaged", "office verify"]),
        (_foreign, ["it is not a journal", "move it away"]),
        (_a_file, ["can't be used", "set another place"]),
    ],
    ids=["newer", "damaged", "foreign", "a_file"],
)
def test_a_journal_that_can_not_be_used_sends_nothing(
    place: Place, spoil: Callable[[Path], None], names: list[str]
) -> None:
    """Without a record of the intent a write could never be settled, so it must not begin."""
    place.applied(place.create("old.md", "old"))
    spoil(place.folder / ".amends" / "journal")
    is_unusable(place, *names)
    assert place.run().code == 5
    assert place.read("old.md") == "old"


@pytest.mark.requirement("cli:unusable:journal")
def test_a_full_disk_under_the_journal_sends_nothing(place: Place) -> None:
    """The disk of the journal may fill up while that of the target has room; the limit of a file's size shows it."""
    place.applied(place.create("old.md", "old"))
    largest = max(path.stat().st_size for path in (place.folder / ".amends" / "journal").glob("journal.sqlite*"))

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, largest))

    ended = place.process("apply", place.create("new.md", "new"), "--yes", prepare=fill)
    assert ended.code == 5, ended
    assert "nothing was sent" in ended.err
    assert place.read("new.md") is None
    assert place.run("apply", "change.json", "--yes").code == 0
    assert place.run("verify").code == 0


@pytest.mark.requirement("cli:unusable:journal")
def test_a_read_only_journal_sends_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup that was mounted read-only is a fine thing to look at, and no place to promise anything."""
    place.applied(place.create("old.md", "old"))
    opens = os.open

    def read_only(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if "/.amends/journal/" in str(path) and flags & (os.O_CREAT | os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opens(path, flags, *args, **more)

    monkeypatch.setattr(os, "open", read_only)
    is_unusable(place, "it can't be written to")


@pytest.mark.requirement("cli:unusable:journal")
def test_a_folder_of_another_journal_is_left_alone(place: Place) -> None:
    """Two journals over one folder would not know of each other's open writes."""
    place.applied(place.create("old.md", "old"))
    shutil.rmtree(place.folder / ".amends")
    is_unusable(place, "belongs to journal jn_", "use the settings that name journal jn_")


@pytest.mark.requirement("cli:unusable:lost")
@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["gone", "empty"])
def test_a_journal_that_was_lost_does_not_say_that_nothing_waits(place: Place, spoil: Callable[[Path], object]) -> None:
    """A lost journal is made anew and knows nothing; what it says of the folder would be wrong, not only little."""
    place.applied(place.create("old.md", "old"))
    place.proposed(place.create("new.md", "new"))
    for path in (place.folder / ".amends" / "journal").glob("journal.sqlite-*"):
        path.unlink()
    spoil(place.folder / ".amends" / "journal" / "journal.sqlite")
    for words in ((), ("log",), ("verify",), ("check", "--all")):
        code, out, err = place.run(*words)
        assert (code, out) == (5, "")
        assert "belongs to journal jn_" in err


@pytest.mark.requirement("cli:unusable:midway")
def test_a_journal_that_fails_between_two_writes_hides_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 5 says that nothing was sent; after the first of two writes that would be a lie."""
    commit = SqliteJournal.commit
    intents = 0

    def fails_at_the_second_intent(journal: SqliteJournal, events: Any, *, durable: bool = True) -> None:
        nonlocal intents
        intents += sum(event.happened == "intended" for event in events)
        if intents == 2:
            monkeypatch.setattr(SqliteJournal, "commit", commit)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        commit(journal, events, durable=durable)

    document = place.change(
        {"create": "notes:a.md", "set": {"text": "one"}}, {"create": "notes:b.md", "set": {"text": "two"}}
    )
    monkeypatch.setattr(SqliteJournal, "commit", fails_at_the_second_intent)
    code, out, err = place.run("apply", document, "--yes")
    assert code == 4
    assert "No space left on device" in err
    assert "I created notes:a.md." in out
    assert "The create of notes:b.md is confirmed, but was not sent." in out
    assert (place.read("a.md"), place.read("b.md")) == ("one", None)
    transaction = place.json(expect=0)["transactions"][0]["transaction_id"]
    assert place.json("confirm", transaction, expect=0)["state"] == "complete"
    assert place.read("b.md") == "two"


@pytest.mark.requirement("cli:unusable:midway")
def test_an_answer_that_can_not_be_recorded_is_ambiguous(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was sent, and what came of it is written nowhere: the only true word is `may have applied`."""
    send = Files.send

    def sends_and_fills_the_disk(files: Files, attempt: Any) -> Any:
        answer = send(files, attempt)
        monkeypatch.setattr(SqliteJournal, "_transact", _disk_is_full)
        return answer

    monkeypatch.setattr(Files, "send", sends_and_fills_the_disk)
    code, out, _ = place.run("apply", place.create("a.md", "one"), "--yes")
    assert (code, "may have applied" in out) == (3, True)
    monkeypatch.undo()
    assert place.json("check", "--all", expect=0)["transactions"][0]["outcome"] == "applied"


def _disk_is_full(*args: Any, **more: Any) -> None:
    raise apsw.FullError("made to fail")


@pytest.mark.requirement("cli:unusable:settings")
def test_without_settings_it_says_how_to_begin(place: Place) -> None:
    """A newcomer's first command is often run in the wrong folder."""
    (place.folder / "amends.toml").unlink()
    is_unusable(place, "no amends.toml in", str(place.folder), "make one here: amends init")


@pytest.mark.requirement("cli:unusable:settings")
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("[surfaces", "is not TOML"),
        ("surface = 1", "'surface' is no setting"),
        ('[surfaces.notes]\ntype = "files"\nroot = "notes"\ncolour = "red"', "'colour' is no setting"),
        ('[surfaces.notes]\ntype = "mail"\nroot = "notes"', "surfaces.notes.type"),
        ('[surfaces.notes]\ntype = "files"\nroot = 3', "surfaces.notes.root"),
        ('[surfaces.notes]\ntype = "files"\nroot = ""', "surfaces.notes.root"),
        ('[surfaces.Notes]\ntype = "files"\nroot = "."', "can't name a surface"),
        ('[policy]\nexpires = "soon"', "such as '15m'"),
        (
            '[surfaces.notes]\ntype = "files"\nroot = "notes"\n[journal]\nfolder = "notes/journal"',
            "lies inside surface",
        ),
        ('[surfaces.notes]\ntype = "files"\nroot = "~nobody-of-that-name/x"', "nobody's home"),
    ],
    ids=["toml", "unknown", "unknown_below", "kind", "type", "empty", "name", "duration", "exposed", "home"],
)
def test_broken_settings_are_named_with_their_place(place: Place, settings: str, why: str) -> None:
    """A slip in a file of ten lines should be found in as many seconds."""
    (place.folder / "amends.toml").write_text(settings)
    is_unusable(place, str(place.folder / "amends.toml"), why)


@pytest.mark.requirement("cli:fault:said")
def test_a_fault_before_anything_was_sent_is_exit_5(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is called what it is, and claims only what is proved: that no send was reached."""

    def broken(*args: Any) -> Any:
        raise RuntimeError("the unforeseen")

    monkeypatch.setattr(Files, "plan", broken)
    document = place.create("a.md", "one")
    code, out, err = place.run("apply", document, "--yes")
    assert (code, out) == (5, "")
    assert "a fault in Amends itself (RuntimeError at cli/test_unusable.py:" in err
    assert "the unforeseen); nothing was sent" in err
    assert place.json("apply", document, "--yes", expect=5)["error"] == "fault"
    assert place.read("a.md") is None


@pytest.mark.requirement("cli:fault:said")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_fault_after_a_write_was_sent_tells_the_write(
    place: Place, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """The fault is ours; the outcome is the user's, and they get it with its own exit code."""
    answer = Amends._answer

    def broken(amends: Amends, machine: Any) -> Any:
        answer(amends, machine)
        raise OSError(errno.EIO, "the unforeseen")

    monkeypatch.setattr(Amends, "_answer", broken)
    code, out, err = place.run("apply", place.create("a.md", "one"), "--yes", *more)
    assert code == 0
    assert "I created notes:a.md." in out
    assert "a fault in Amends itself (OSError" in err
    assert not more or json.loads(out)["outcome"] == "applied"


@pytest.mark.requirement("cli:fault:said")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_fault_in_the_telling_itself_is_exit_3(
    place: Place, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """It was sent, and we can't even say what became of it: the exit code must not be one of nothing was sent."""

    def broken(*args: Any, **named: Any) -> Any:
        raise KeyError("the unforeseen")

    monkeypatch.setattr(text, "tell", broken)
    monkeypatch.setattr(shape, "report_shape", broken)
    code, out, err = place.run("apply", place.create("a.md", "one"), "--yes", *more)
    assert code == 3
    assert "a write may have applied, and how it ended can't be told" in out + err
    assert f"see how it stands: amends -C {place.folder}" in out + err
    monkeypatch.undo()
    assert place.json("log", expect=0)["transactions"][0]["outcome"] == "applied"
