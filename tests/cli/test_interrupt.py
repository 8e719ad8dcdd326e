"""Ctrl-C at any moment: a write that may have applied, or one that failed by proof; never a stack trace, never a lie.

A child is a copy of this warm process, so that its start takes no time and the moments fall into the work itself.
What it said is compared with what is in the target and in the journal.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

import pytest

from amends.assembly import Amends
from amends.cli import text
from amends.cli.fault import run, steady_streams
from amends.surfaces.files import Syscalls
from tests.cli.place import WAIT_S_MAX, Place, Ran, answered, as_users_have_it, on_terminal

MOMENTS = 40
SEED = 20_240_229


def interrupted(place: Place, document: str, moment: Any, *more: str) -> Ran:
    """Apply in a child that gets SIGINT at `moment`: after so many seconds, or wherever that callable sends it."""
    out, err = place.folder / "out.txt", place.folder / "err.txt"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            as_users_have_it()
            os.chdir(place.folder)
            for path, fd in ((out, 1), (err, 2)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
            for name, fd in (("stdout", 1), ("stderr", 2)):
                place.monkeypatch.setattr(f"sys.{name}", os.fdopen(fd, "w", closefd=False))
            steady_streams()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if callable(moment):
                moment()
            else:
                signal.signal(signal.SIGALRM, _interrupt)
                signal.setitimer(signal.ITIMER_REAL, moment)
            code = run(["apply", document, "--yes", *more])
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ran(code, out.read_text(), err.read_text())


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Send the SIGINT, but not before the command has begun: on a busy machine that may take longer than the moment."""
    while frame is not None and frame.f_code is not run.__code__:
        frame = frame.f_back
    if frame is None:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    else:
        os.kill(os.getpid(), signal.SIGINT)


def is_true(place: Place, ran: Ran, key: str, text: str) -> str:
    """Check what an interrupted apply of one write said, and give the word for it."""
    assert "Traceback" not in ran.out + ran.err, ran
    assert ran.code in (0, 1, 3), ran
    written = place.read(key)
    assert written in (None, text), "a partial file"
    if ran.code == 0:
        assert written == text
        assert "I created" in ran.out
        return "applied"
    if ran.code == 1:
        assert written is None, ran
        assert "nothing was changed" in ran.out or "nothing was sent" in ran.err, ran
        return "failed"
    assert "may have applied" in ran.out
    return "ambiguous"


@pytest.mark.requirement("cli:interrupt:anywhere")
def test_ctrl_c_at_random_moments_never_lies(place: Place) -> None:
    """People press it when nothing seems to happen, which is when the most does; afterwards `check` settles it all."""
    begun = time.monotonic()
    assert interrupted(place, place.create("whole.md", "x"), WAIT_S_MAX).code == 0
    takes_s = time.monotonic() - begun
    chance = random.Random(SEED)
    for number in range(MOMENTS):
        key, text = f"{number}.md", f"text {number}\n" * 100
        ran = interrupted(place, place.create(key, text), chance.uniform(0.001, takes_s))
        assert is_true(place, ran, key, text)
    assert place.run("check", "--all").code == 0
    assert place.json(expect=0)["transactions"] == []
    for entry in place.json("log", "--limit", "100", expect=0)["transactions"]:
        key = entry["writes"][0]["target"].removeprefix("notes:")
        assert (entry["outcome"] == "applied") is (place.read(key) is not None), entry
    assert place.run("verify").code == 0


@pytest.mark.requirement("cli:interrupt:anywhere")
def test_ctrl_c_during_a_big_upload_leaves_nothing_half(place: Place) -> None:
    """The longest moment of all: reading, keeping and staging can be broken off, and no half file is ever seen."""
    content = os.urandom(1 << 20) * 24
    (place.folder / "big.bin").write_bytes(content)
    chance = random.Random(SEED)
    for number in range(8):
        document = place.change({"upload": f"notes:{number}.bin", "from": "big.bin"})
        ran = interrupted(place, document, chance.uniform(0.01, 0.25))
        assert "Traceback" not in ran.out + ran.err
        path = place.folder / "notes" / f"{number}.bin"
        assert (ran.code == 0) is path.exists(), ran
        assert not path.exists() or path.read_bytes() == content
        assert ran.code in (0, 1), ran
    assert place.run("check", "--all").code == 0
    stage = place.folder / "notes" / ".amends" / "stage"
    assert not stage.exists() or list(stage.iterdir()) == []


@pytest.mark.requirement("cli:interrupt:anywhere")
def test_ctrl_c_right_after_staging_leaves_nothing_staged(place: Place) -> None:
    """The bytes are complete and only their folder is being synced; left there, nobody would ever remove them."""
    place.applied(place.create("first.md", "makes the folders"))
    stage = place.folder / "notes" / ".amends" / "stage"

    def interrupt_at_the_folder() -> None:
        fsync = Syscalls.fsync

        def interrupted_fsync(syscalls: Syscalls, fd: int) -> None:
            if os.fstat(fd).st_ino == stage.stat().st_ino:
                os.kill(os.getpid(), signal.SIGINT)
            fsync(syscalls, fd)

        place.monkeypatch.setattr(Syscalls, "fsync", interrupted_fsync)

    ran = interrupted(place, place.create("a.md", "one"), interrupt_at_the_folder)
    assert (ran.code, "interrupted before anything was sent" in ran.out) == (1, True)
    assert list(stage.iterdir()) == []


@pytest.mark.requirement("cli:interrupt:told")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_an_outcome_is_told_though_ctrl_c_came_upon_it(place: Place, more: list[str]) -> None:
    """Between the outcome's record and its printing lies a gap; who interrupts there must still read what was done."""
    tell = Amends._answer

    def answered_then_interrupted(amends: Amends, machine: Any) -> Any:
        report = tell(amends, machine)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(WAIT_S_MAX)
        return report

    ran = interrupted(
        place,
        place.create("a.md", "one"),
        lambda: place.monkeypatch.setattr(Amends, "_answer", answered_then_interrupted),
        *more,
    )
    assert ran.code == 0, ran
    assert "I created notes:a.md." in ran.out
    assert not more or json.loads(ran.out)["outcome"] == "applied"
    assert "interrupted" in ran.err


@pytest.mark.requirement("cli:interrupt:told")
def test_ctrl_c_while_the_answer_is_printed_is_too_late(place: Place) -> None:
    """The command is over; a second Ctrl-C out of impatience must not cut its last words off."""

    def interrupt_while_telling() -> None:
        told = text.tell

        def tell(*args: Any, **more: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            told(*args, **more)

        place.monkeypatch.setattr(text, "tell", tell)

    ran = interrupted(place, place.create("a.md", "one"), interrupt_while_telling)
    assert (ran.code, ran.err) == (0, "")
    assert "I created notes:a.md." in ran.out


@pytest.mark.requirement("cli:interrupt:anywhere")
def test_ctrl_c_stops_a_command_that_waits(place: Place) -> None:
    """A command that waits for its document must end at once, and say that it did nothing."""
    os.mkfifo(place.folder / "change.toml")
    child, terminal = on_terminal(place.folder, ["apply", "change.toml"])
    with (place.folder / "change.toml").open("wb"):  # opens when the command reads it, and gives it nothing
        os.write(terminal, b"\x03")
        ran = answered(child, terminal)
    assert ran.code == 1
    assert "interrupted; nothing was sent" in ran.out


@pytest.mark.requirement("cli:interrupt:anywhere")
def test_ctrl_c_in_a_finalizer_is_not_swallowed() -> None:
    """Python prints a trace for what is raised in a finalizer and goes on; a Ctrl-C there must still count."""
    program = (
        "import threading\n"
        "from amends.cli.fault import steady_streams\n"
        "class Finalized:\n"
        "    def __del__(self): raise KeyboardInterrupt\n"
        "steady_streams()\n"
        "try:\n"
        "    Finalized()\n"
        "    print('swallowed' if not threading.Event().wait(30) else '')\n"
        "except KeyboardInterrupt:\n"
        "    print('passed on')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("passed on\n", "")
