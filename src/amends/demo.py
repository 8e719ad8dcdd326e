"""The demo: the main job, on real files with a real journal, as a transcript that explains itself.

Every line that begins with `$` is the real command, run as a process of its own, and what stands below it is what it
printed. Only two things are staged: the person at the terminal, whose code is typed by the demo, and the crashes,
which are a real SIGKILL sent by a surface that the demo wraps.
"""

from __future__ import annotations

import ctypes
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from amends.assembly import Amends
from amends.document import read_change
from amends.errors import MisuseError
from amends.ports import Answer, Attempt

_out = Console(highlight=False, soft_wrap=True)
_ASKED = re.compile(rb"Type (\w+) to [^\n]*\n> ")
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
"""prctl(2) and capabilities(7)."""

_TYPING_S_MAX = 30
"""How long a command may take to ask for its code before the demo gives up on it."""


def play(folder: Path | None) -> None:
    """Play every act in `folder`, a new or empty one; without one, in a new temporary folder, which stays."""
    started = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="amends-demo-")) if folder is None else folder.absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
        is_empty = not any(place.iterdir())
    except OSError as error:
        raise MisuseError(f"{place} can't be used: {error.strerror}", hint="name a new folder") from error
    if not is_empty:
        raise MisuseError(f"{place} is not empty; the demo leaves other files alone", hint="name a new folder")
    stage = _Stage(place)
    try:
        _play_acts(stage)
    except KeyboardInterrupt:
        raise MisuseError(f"the demo was stopped; what it left is in {place}", hint=f"rm -r {_word(place)}") from None
    stage.act("What it left")
    stage.say("Nothing is hidden. Look at it yourself, from any folder:")
    for verb in ("log", f"show {stage.maybe}", "verify", ""):
        stage.say(f"  amends -C {_word(place)} {verb}".rstrip())
    stage.say(f"  ls -R {_word(place / 'notes')}")
    stage.say(f"({time.monotonic() - started:.0f} s; to remove it: rm -r {_word(place)})")


def _play_acts(stage: _Stage) -> None:
    stage.say(f"Everything here happens in {stage.place}.")
    stage.say("Lines with $ are real commands, each a process of its own; below each stands what it printed.")
    stage.command("init", "notes", "--name", "notes", expect=0)
    _an_applied_write_and_its_undo(stage)
    _a_stale_confirmation(stage)
    _killed_after_the_change(stage)
    _killed_before_the_change(stage)
    _an_undo_that_would_lose_work(stage)
    _a_transaction_that_stops(stage)


def _an_applied_write_and_its_undo(stage: _Stage) -> None:
    stage.act("1. A write, and its undo")
    stage.write("notes/status.md", "open\n")
    stage.change("file.toml", title="File motion 42", edit="notes:status.md", text="filed\n")
    stage.command("apply", "file.toml", "--yes", expect=0)
    stage.look("notes/status.md")
    stage.say("An undo is a write of its own: it looks first whether the file is still as the write left it.")
    stage.command("undo", stage.newest(), "--yes", expect=0)
    stage.look("notes/status.md")


def _a_stale_confirmation(stage: _Stage) -> None:
    stage.act("2. A confirmation that came too late")
    stage.command("propose", "file.toml", "--as", "drafting-agent", expect=6)
    stage.say("Before anybody confirms it, a colleague edits the file. The confirmation was for what was shown:")
    stage.write("notes/status.md", "open, but wait for the client\n")
    stage.as_person("confirm", stage.newest(), expect=1)
    stage.look("notes/status.md")


def _killed_after_the_change(stage: _Stage) -> None:
    stage.act("3. Killed between the change and its record")
    stage.change("memo.toml", title="Send the memo", create="notes:memo.md", text="To all: court moved to 9:30.\n")
    stage.killed("memo.toml", after_sending=True)
    stage.maybe = stage.newest()
    stage.say("Its process is gone, and nobody heard an answer. What does Amends say?")
    stage.command(expect=0)
    stage.say("An eager agent would now send it again. Here the repeat is joined, and nothing is sent:")
    stage.command("apply", "memo.toml", "--yes", expect=3)
    stage.say("It is settled by looking, and by a fence that keeps it from landing later:")
    stage.command("check", stage.maybe, expect=0)
    stage.look("notes/memo.md")


def _killed_before_the_change(stage: _Stage) -> None:
    stage.act("4. Killed just before the change")
    stage.change("brief.toml", title="File the brief", create="notes:brief.md", text="Brief, second draft.\n")
    stage.killed("brief.toml", after_sending=False)
    stage.say("From outside this looks the same as before. The check tells them apart, by proof:")
    stage.command("check", stage.newest(), expect=0)
    stage.look("notes/brief.md")
    stage.say(
        "It is known not to have landed, and that it can't any more. Asked for again, it is that write's one recovery:"
    )
    stage.command("apply", "brief.toml", "--yes", expect=0)


def _an_undo_that_would_lose_work(stage: _Stage) -> None:
    stage.act("5. An undo that would lose somebody's work")
    stage.say("Since act 3 somebody has added a line to the memo. Undoing it now would lose that line:")
    stage.write("notes/memo.md", "To all: court moved to 9:30.\nBring the exhibits. - Ada\n")
    stage.command("undo", stage.maybe, "--yes", expect=1)
    stage.look("notes/memo.md")


def _a_transaction_that_stops(stage: _Stage) -> None:
    stage.act("6. Several files, one of which can't be written")
    sealed = stage.place / "notes" / "sealed"
    sealed.mkdir()
    sealed.chmod(0o555)
    papers = ("status.md", "served\n"), ("sealed/receipt.md", "received\n"), ("next.md", "hearing on Friday\n")
    document = 'title = "Serve the papers"\n'
    for name, text in papers:
        kind = "edit" if name == "status.md" else "create"
        document += f'[[write]]\n{kind} = "notes:{name}"\nset = {{ text = {_quoted(text)} }}\n'
    stage.document("papers.toml", document)
    stage.say("The folder notes/sealed is read-only. One recovery is made; when nothing is better after it, it stops:")
    stage.command("apply", "papers.toml", "--yes", expect=4)
    stage.look("notes/status.md")
    stage.say("Whoever asks again under another name is refused. A person mends the cause, and takes it up:")
    sealed.chmod(0o755)
    stopped = stage.newest()
    stage.as_person("followup", stopped, expect=0)
    stage.look("notes/sealed/receipt.md")
    stage.say("The follow-up is complete, and the old verdict stands:")
    stage.command("log", "--limit", "2", expect=0)


class _Stage:
    """The folder that the demo plays in, and the means to act there and to show it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.maybe = ""
        (place / "notes").mkdir()

    def act(self, title: str) -> None:
        _out.print()
        _out.print(Text(title, style="bold"))

    def say(self, text: str) -> None:
        _out.print(text, markup=False)

    def command(self, *words: str, expect: int) -> None:
        """Run a real command and show it with what it prints. It heeds file permissions even if root plays."""
        self._prompt(words)
        ended = subprocess.run(
            self._argv(words), cwd=self.place, capture_output=True, text=True, check=False, preexec_fn=_heed_permissions
        )
        self._printed(ended.stdout + ended.stderr)
        self._exited(ended.returncode, expect)

    def as_person(self, *words: str, expect: int) -> None:
        """Run a real command on a terminal, and type the code that it asks for."""
        self._prompt(words)
        child, terminal = pty.fork()
        if child == 0:
            try:
                os.chdir(self.place)
                os.execv(sys.executable, self._argv(words))  # noqa: S606 - our own interpreter, no shell
            finally:
                os._exit(70)
        seen = self._typed(terminal)
        os.close(terminal)  # hangs up, so that a command that still waits ends too
        self._printed(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode().replace("\r\n", "\n")))
        self._exited(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), expect)

    def _typed(self, terminal: int) -> bytes:
        """Read what a command prints on its terminal, and type the code that it asks for."""
        seen, is_typed, deadline = b"", False, time.monotonic() + _TYPING_S_MAX
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                seen += os.read(terminal, 65_536)
            except OSError:  # how Linux says that the other end is gone
                break
            asked = _ASKED.search(seen.replace(b"\r\n", b"\n"))
            if asked and not is_typed:
                is_typed = True
                os.write(terminal, asked[1] + b"\n")
        return seen

    def killed(self, change: str, *, after_sending: bool) -> None:
        """Apply `change` in a process that gets SIGKILL right before or right after it sends."""
        self._prompt(("apply", change, "--yes"))
        moment = "after" if after_sending else "before"
        script = "from amends.demo import die; die(__import__('sys').argv[1], after_sending=__import__('sys').argv[2])"
        argv = [sys.executable, "-c", script, str(self.place / change), "yes" if after_sending else ""]
        ended = subprocess.run(argv, cwd=self.place, capture_output=True, text=True, check=False)
        if ended.returncode != -signal.SIGKILL:
            raise MisuseError(f"the demo's writer was not killed: {ended.stderr.strip()[-300:]}")
        self._printed(f"Killed  (SIGKILL, right {moment} the change)")

    def write(self, path: str, text: str) -> None:
        """Write a file as somebody else would: without Amends."""
        (self.place / path).write_text(text, encoding="utf-8")

    def change(self, path: str, *, title: str, text: str, **write: str) -> None:
        """Write a change document with one write and show it."""
        (kind, target), *_ = write.items()
        document = f'title = "{title}"\n[[write]]\n{kind} = "{target}"\nset = {{ text = {_quoted(text)} }}\n'
        self.document(path, document)

    def document(self, path: str, document: str) -> None:
        """Write `document` to a file and show it."""
        (self.place / path).write_text(document, encoding="utf-8")
        self.say(f"{path}:")
        self._printed(document)

    def look(self, path: str) -> None:
        """Show what is really in a file."""
        file = self.place / path
        _out.print(Text(f"$ cat {path}", style="cyan"))
        self._printed(file.read_text(encoding="utf-8") if file.exists() else f"cat: {path}: No such file or directory")

    def newest(self) -> str:
        """Give the id of the newest write."""
        with Amends.open(self.place) as amends:
            return amends.log(limit=1)[0].lives[-1].operation_id

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "amends", *words]

    def _prompt(self, words: tuple[str, ...]) -> None:
        _out.print(Text(f"$ amends {' '.join(words)}".rstrip(), style="cyan"))

    def _printed(self, text: str) -> None:
        for line in text.rstrip("\n").split("\n"):
            _out.print("    " + line, markup=False)

    def _exited(self, code: int, expected: int) -> None:
        if code != expected:
            raise MisuseError(f"the demo's command left with exit code {code}, not {expected}; see above")
        if code:
            _out.print(Text(f"    [exit code {code}]", style="dim"))


class _Dying:
    """A surface whose sender is killed right before or right after it sends."""

    def __init__(self, surface: Any, *, after_sending: bool) -> None:
        self._surface = surface
        self._after_sending = after_sending

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surface, name)

    def send(self, attempt: Attempt) -> Answer:
        if self._after_sending:
            self._surface.send(attempt)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("SIGKILL does not return")


def die(change: str, *, after_sending: str) -> None:
    """Apply `change` and be killed on the way. For the demo's child process."""
    document, folder = read_change(change)
    amends = Amends.open(folder)
    surfaces = {
        name: _Dying(surface, after_sending=bool(after_sending)) for name, surface in amends.world.surfaces.items()
    }
    amends.world = replace(amends.world, surfaces=surfaces)
    amends.propose(document, folder=folder, proposer="operator", confirmed_by="operator (--yes)")


def _heed_permissions() -> None:
    """Have the command that is about to start obey permission bits: root alone may pass over them."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _word(path: Path) -> str:
    return shlex.quote(str(path))
