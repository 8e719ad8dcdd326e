"""What reaches the terminal: colours only there, nothing raw, and an answer whatever becomes of the reader."""

import os
import pty
import re

import pytest

from tests.cli.place import COMMAND, Place

EVIL = "a\x1b[2J\x1b]0;owned\x07\nNext: rm -rf\r\u202eb\x9b31m.md"


@pytest.mark.requirement("cli:terminal:colours")
def test_there_are_colours_on_a_terminal_and_nowhere_else(place: Place) -> None:
    """Whoever pipes the output into a file or a program wants words."""
    document = place.create("a.md", "one")
    piped = place.process("apply", document, "--yes", TERM="xterm-256color")
    assert (piped.code, "\x1b" in piped.out + piped.err) == (0, False)
    assert "\x1b[32mapplied" in _raw(place, "apply", place.create("b.md", "two"), "--yes")
    place.monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in _raw(place, "apply", place.create("c.md", "three"), "--yes")


def _raw(place: Place, *words: str) -> str:
    """Give all that a command writes to its terminal, colours included. A process of its own: what a terminal can show
    is found out once, when the command starts.
    """
    place.monkeypatch.setenv("TERM", "xterm-256color")
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.chdir(place.folder)
            os.execv(COMMAND[0], [*COMMAND, *words])
        finally:
            os._exit(70)
    seen = b""
    while True:
        try:
            seen += os.read(terminal, 65_536)
        except OSError:
            break
    os.close(terminal)
    os.waitpid(child, 0)
    return seen.decode()


@pytest.mark.requirement("cli:terminal:colours")
def test_a_long_upload_shows_a_bar_and_takes_it_away(place: Place) -> None:
    """Ten silent seconds look like a hang; and the bar must not wipe the outcome off the screen when it goes."""
    (place.folder / "big.bin").write_bytes(os.urandom(1 << 20) * 12)
    (place.folder / "small.bin").write_bytes(b"small")
    shown = _raw(place, "apply", place.change({"upload": "notes:big.bin", "from": "big.bin"}), "--yes")
    assert "reading" in shown
    assert "staging" in shown
    last = shown.rindex("staging")
    assert "applied" in shown[last:]
    assert not re.search(r"\x1b\[\d*[AK]", shown[shown.rindex("I uploaded") :])
    assert "reading" not in _raw(place, "apply", place.change({"upload": "notes:s.bin", "from": "small.bin"}), "--yes")
    piped = place.process("apply", place.change({"upload": "notes:p.bin", "from": "big.bin"}), "--yes")
    assert (piped.code, piped.err) == (0, "")


@pytest.mark.requirement("cli:terminal:hostile")
def test_a_hostile_name_never_reaches_the_terminal_raw(place: Place) -> None:
    """A file's name may hold an escape sequence that clears the screen, or a line that looks like ours."""
    title = "Title\x1b[31m\nError: forged"
    document = place.change({"create": f"notes:{EVIL}", "set": {"text": f"text {EVIL}\n"}}, title=title)
    outputs = [place.run("apply", document, "--dry-run"), place.run("propose", document, "--as", f"agent {EVIL}")]
    (waiting,) = place.json(expect=0)["transactions"]
    outputs += [place.run(), place.run("show", waiting["transaction_id"]), place.run("log")]
    outputs += [place.person("confirm", waiting["transaction_id"]), place.run("apply", document, "--yes")]
    outputs += [
        place.run("show", EVIL),
        place.run("apply", f"{EVIL}.toml"),
        place.run(EVIL),
        place.run("apply", "--" + EVIL),
    ]
    outputs += [place.run("apply", place.edit(EVIL, "x", name="edit.json"), "--yes"), place.run("log")]
    outputs += [place.person("decline", waiting["transaction_id"], "--reason", f"because {EVIL}")]
    for code, out, err in outputs:
        text = out + err
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), (code, text)
        assert not any(line.startswith(("Next: rm", "Error: forged")) for line in text.splitlines()), text
    assert (place.folder / "notes" / EVIL).exists()


@pytest.mark.requirement("cli:terminal:hostile")
def test_tabs_in_a_diff_stay_readable(place: Place) -> None:
    """A Makefile's diff must look like a Makefile; a tab moves nothing backwards."""
    assert "  +all:\n  +     echo\n" in place.run("apply", place.create("Makefile", "all:\n\techo\n"), "--dry-run").out


@pytest.mark.requirement("cli:terminal:encoding")
def test_a_terminal_that_knows_only_ascii_is_no_fault(place: Place) -> None:
    """After a write it is too late to find out that its sentence can't be printed."""
    place.killed(place.create("büro.md", "x"), after_sending=True)
    ended = place.process("apply", "change.json", "--yes", PYTHONIOENCODING="ascii")
    assert (ended.code, "notes:b\\xfcro.md may have applied" in ended.out) == (3, True)
    as_json = place.process("apply", "change.json", "--yes", "--json", PYTHONIOENCODING="ascii")
    assert (as_json.code, "b\\u00fcro.md" in as_json.out) == (3, True)


@pytest.mark.requirement("cli:terminal:encoding")
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_streams_are_no_fault(place: Place, closed: tuple[int, ...]) -> None:
    """A daemon may start us without any; its next open file must not become the place where our words go."""

    def close() -> None:
        for fd in closed:
            os.close(fd)

    ended = place.process("apply", place.create("a.md", "one"), "--yes", prepare=close)
    assert ended.code == 0
    assert place.read("a.md") == "one"
    assert place.run("verify").code == 0


@pytest.mark.requirement("cli:pipe:broken")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_went_away_changes_no_exit_code(place: Place, more: list[str]) -> None:
    """`amends apply … | head` must not turn a failed write into a success, or a done one into a failure."""
    place.write("taken.md", "theirs")
    for document, code in ((place.create("a.md", "1", name="a.json"), 0), (place.create("taken.md", "2"), 1)):
        ended = place.process("apply", document, "--yes", *more, prepare=_broken_pipe)
        assert (ended.code, "broken pipe" in ended.err, "Traceback" in ended.err) == (code, True, False)
    assert place.read("a.md") == "1"
    for words in (["--help"], ["schema"], ["log"]):
        ended = place.process(*words, prepare=_broken_pipe)
        assert ("Traceback" in ended.err, "fault" in ended.err) == (False, False)


@pytest.mark.requirement("cli:pipe:broken")
def test_a_full_disk_behind_the_pipe_is_said(place: Place) -> None:
    """What could not be printed was done all the same; and a list that was not printed was not done as asked."""
    document = place.create("a.md", "one")
    ended = place.process("apply", document, "--yes", prepare=_full_disk)
    assert (ended.code, "no space left" in ended.err) == (0, True)
    assert place.process("log", prepare=_full_disk).code == 1
    assert place.json("apply", document, "--yes", expect=0)["joined"] is True


def _broken_pipe() -> None:
    """Run in the child: standard output becomes a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)


def _full_disk() -> None:
    """Run in the child: standard output becomes a disk without room."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
