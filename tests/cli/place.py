"""A folder with settings, a root and a journal, and the ways to act there: as a program, as a person, as a crash.

`run` carries out a command in this process, which is fast; `process` is the command as users have it; `person` plays
a command on a terminal of its own and types the code that it shows. Whatever prints JSON goes through `json`, which
checks it against the published shape.
"""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.cli.fault import run, steady_streams
from amends.cli.shape import Printed
from amends.document import read_change
from amends.ports import Answer, Attempt

WAIT_S_MAX = 30
"""Nothing here takes a second; what takes this long hangs."""

LARGE_BYTES_MIN = 16 << 20

COMMAND = [sys.executable, "-m", "amends"]
ASKED = re.compile(rb"Type (\w+) to [^\n]*\n> ")


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str = ""

    def __iter__(self) -> Any:
        return iter((self.code, self.out, self.err))


@dataclass
class Place:
    """A folder to act in. `notes/` is the root of the surface `notes`."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    # --- files ---------------------------------------------------------------------------------------------------

    def settings(self, more: str = "") -> None:
        """Write settings with the one surface, and `more`."""
        (self.folder / "amends.toml").write_text(f'[surfaces.notes]\ntype = "files"\nroot = "notes"\n{more}')

    def write(self, name: str, text: str) -> None:
        """Write a file of the root as somebody else would: without Amends."""
        path = self.folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str | None:
        """Give the text of a file of the root; None if there is none."""
        path = self.folder / "notes" / name
        return path.read_text() if path.exists() else None

    def change(self, *writes: dict[str, Any], title: str = "", name: str = "change.json") -> str:
        """Write a change document and give its name."""
        (self.folder / name).write_text(json.dumps({"title": title, "write": list(writes)}))
        return name

    def create(self, key: str, text: str, *, name: str = "change.json") -> str:
        """Write a document that creates one file."""
        return self.change({"create": f"notes:{key}", "set": {"text": text}}, name=name)

    def edit(self, key: str, text: str, *, name: str = "change.json") -> str:
        """Write a document that edits one file."""
        return self.change({"edit": f"notes:{key}", "set": {"text": text}}, name=name)

    def tree(self) -> dict[str, Any]:
        """Give every path below the folder with its content (of large files, the size), to see that nothing changed."""
        return {path.relative_to(self.folder).as_posix(): _content(path) for path in sorted(self.folder.rglob("*"))}

    # --- commands ------------------------------------------------------------------------------------------------

    def run(self, *words: str, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        """Carry out a command in this process."""
        self.capsys.readouterr()
        handler = signal.getsignal(signal.SIGINT)
        with self.monkeypatch.context() as patch:
            patch.chdir(cwd or self.folder)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            try:
                code = run(words)
            finally:
                signal.signal(signal.SIGINT, handler)
        printed = self.capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return Ran(code, printed.out, printed.err)

    def json(self, *words: str, expect: int, stdin: bytes = b"") -> dict[str, Any]:
        """Carry out a command with --json, and check that it printed one document of the published shape."""
        code, out, err = self.run(*words, "--json", stdin=stdin)
        assert (code, err) == (expect, ""), out + err
        Printed.model_validate_json(out)
        document: dict[str, Any] = json.loads(out)
        assert (document["version"], document["exit_code"]) == (1, expect)
        return document

    def process(
        self,
        *words: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        prepare: Callable[[], None] | None = None,
        **environment: str,
    ) -> Ran:
        """Carry out a command as a process of its own."""
        ended = subprocess.run(
            [*COMMAND, *words],
            cwd=cwd or self.folder,
            input=stdin,
            capture_output=True,
            timeout=WAIT_S_MAX,
            check=False,
            preexec_fn=prepare,
            env={**os.environ, **environment},
        )
        return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def person(self, *words: str, types: bytes | None = None) -> Ran:
        """Carry out a command on a terminal, and type the code that it shows, or `types` instead."""
        return self.finish(*self.begin(*words), types=types)

    def begin(self, *words: str) -> tuple[int, int]:
        """Start a command on a terminal of its own, in a copy of this warm process."""
        return on_terminal(self.folder, words)

    def finish(self, child: int, terminal: int, *, types: bytes | None = None) -> Ran:
        """Answer what a command on a terminal asks, and see how it ends."""
        return answered(child, terminal, types=types)

    # --- states --------------------------------------------------------------------------------------------------

    def proposed(self, change: str, *more: str) -> str:
        """Propose as an agent, and give the transaction's id."""
        transaction: str = self.json("propose", change, *more, expect=6)["transaction_id"]
        return transaction

    def applied(self, change: str) -> str:
        """Apply as the operator, and give the id of the only write."""
        operation: str = self.json("apply", change, "--yes", expect=0)["operation_id"]
        return operation

    def killed(self, change: str, *, after_sending: bool) -> str:
        """Apply in a process that is killed right before or right after it sends, and give the operation's id."""
        child = os.fork()
        if child == 0:
            _die(self.folder, change, after_sending=after_sending)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        with Amends.open(self.folder) as amends:
            return amends.log(limit=1)[0].lives[-1].operation_id

    def closed(self, key: str = "memo.md") -> str:
        """Leave a write that may have applied and that nothing can prove any more; give its id."""
        operation_id = self.killed(self.create(key, "ours\n"), after_sending=True)
        self.write(f"{key}.new", "somebody else's\n")
        os.replace(self.folder / "notes" / f"{key}.new", self.folder / "notes" / key)
        assert self.run("check", operation_id).code == 3
        return operation_id


def _content(path: Path) -> bytes | int | None:
    if not path.is_file():
        return None
    size = path.stat().st_size
    return size if size > LARGE_BYTES_MIN else path.read_bytes()


def as_users_have_it() -> None:
    """In a child of the tests: let warnings be what they are for users, silent, and not errors."""
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    sys.unraisablehook = sys.__unraisablehook__


def on_terminal(folder: Path, words: Sequence[str]) -> tuple[int, int]:
    """Start a command on a terminal of its own; give its process and the terminal's other end."""
    child, terminal = pty.fork()
    if child == 0:
        code = 70
        try:
            as_users_have_it()
            os.chdir(folder)
            for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
                setattr(sys, name, os.fdopen(fd, mode, closefd=False))
            steady_streams()
            code = run(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return child, terminal


def answered(child: int, terminal: int, *, types: bytes | None = None) -> Ran:
    """Type the code that is asked for, or `types`, read to the end, and give how it ended, without colours."""
    seen, has_typed, deadline = b"", False, time.monotonic() + WAIT_S_MAX
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        asked = ASKED.search(seen.replace(b"\r\n", b"\n"))
        if asked and not has_typed:
            has_typed = True
            os.write(terminal, asked[1] + b"\n" if types is None else types)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shown = seen.decode(errors="replace").replace("\r\n", "\n")
    assert "Traceback" not in shown, shown
    return Ran(code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))


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


def _die(folder: Path, change: str, *, after_sending: bool) -> None:
    try:
        document, where = read_change(str(folder / change))
        amends = Amends.open(folder)
        surfaces = {
            name: _Dying(surface, after_sending=after_sending) for name, surface in amends.world.surfaces.items()
        }
        amends.world = replace(amends.world, surfaces=surfaces)
        amends.propose(document, folder=where, proposer="operator", confirmed_by="operator (--yes)")
    finally:
        os._exit(70)
