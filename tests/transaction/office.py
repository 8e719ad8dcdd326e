"""A folder of real files with a real journal, and a surface whose sends can be refused, killed or interfered with.

Every request opens Amends anew, as after a restart. Sends are counted at the target, in a file of its own that the
journal knows nothing of, so that the processes that a test starts are counted too.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amends.assembly import Amends
from amends.broker import Report
from amends.contract.lifecycle import Happened
from amends.contract.operation import Observation
from amends.contract.outcome import Evidence
from amends.ports import Answer, Attempt
from tests.crash.process import Tell, asked, die, fork

OPERATOR = "operator (--yes)"
SETTINGS = '[surfaces.notes]\ntype = "files"\nroot = "notes"\n'
REFUSAL = Answer(Evidence.REFUSED, reason="the printer is on fire")
CAPABILITIES_3, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 0x20080522, 1, 2
"""capget(2) and capabilities(7)."""

Write = dict[str, Any]
Fate = Callable[[Attempt], Answer | None]
"""What a send is answered without being sent; None sends it."""


def edit(name: str, text: str, **more: str) -> Write:
    """Ask for an edit."""
    return {"edit": f"notes:{name}", "set": {"text": text, **more}}


def create(name: str, text: str) -> Write:
    """Ask for a new file."""
    return {"create": f"notes:{name}", "set": {"text": text}}


def archive(name: str) -> Write:
    """Ask for a file to go, and be kept."""
    return {"archive": f"notes:{name}"}


@dataclass
class Office:
    """One folder. `fate` decides about each send, `after_read` is called after each read with how many there were."""

    folder: Path
    fate: Fate = lambda _: None
    after_read: Callable[[str, int], None] = lambda *_: None
    reads: int = 0

    def __post_init__(self) -> None:
        self.root = self.folder / "notes"
        self.root.mkdir(parents=True)
        self.ledger = self.folder / "sends"
        self.ledger.touch()
        (self.folder / "amends.toml").write_text(SETTINGS)

    # --- files -------------------------------------------------------------------------------------------------------

    def put(self, name: str, text: str) -> None:
        """Save a file as somebody else would, by a rename."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.folder / "draft"
        draft.write_text(text)
        os.replace(draft, path)

    def read(self, name: str) -> str | None:
        """Give the text of a file; None if there is none."""
        path = self.root / name
        return path.read_text() if path.exists() else None

    @property
    def sends(self) -> list[str]:
        """The file that each send was about, in order, whichever process it came from."""
        return self.ledger.read_text().split("\n")[:-1]

    # --- requests ----------------------------------------------------------------------------------------------------

    def opened(self, start: Path | None = None) -> Amends:
        """Open Amends as a new process does, with its sends counted and decided about."""
        amends = Amends.open(start or self.folder)
        surfaces: dict[str, Any] = {name: _Played(surface, self) for name, surface in amends.world.surfaces.items()}
        amends.world = replace(amends.world, surfaces=surfaces)
        return amends

    def ask(
        self, *writes: Write, title: str = "", proposer: str = "agent", by: str | None = OPERATOR, start: str = ""
    ) -> Report:
        """Ask for a change, and confirm it."""
        with self.opened(self.folder / start) as amends:
            change = {"title": title, "write": list(writes)}
            return amends.propose(change, folder=self.folder, proposer=proposer, confirmed_by=by)

    def confirm(self, report: Report) -> Report:
        """Confirm it, or go on with it."""
        with self.opened() as amends:
            return amends.confirm(report.transaction, by="ada")

    def check(self, report: Report) -> Report:
        """Settle what may have applied."""
        with self.opened() as amends:
            return amends.check(report.transaction)

    def followup(self, report: Report) -> Report:
        """Take up a BLOCKED one; not confirmed yet."""
        with self.opened() as amends:
            return amends.followup(report.transaction, proposer="ada")

    def undo(self, report: Report) -> Report:
        """Propose the reversal of the whole."""
        with self.opened() as amends:
            return amends.undo(report.transaction, proposer="ada")

    def find(self, report: Report) -> Report:
        """Read it back."""
        with self.opened() as amends:
            return amends.find(report.transaction)

    def newest(self) -> Report:
        """Give the newest transaction."""
        with self.opened() as amends:
            return amends.log(limit=1)[0]

    # --- fates -------------------------------------------------------------------------------------------------------

    def refuse(self, *names: str, times: int = 1000, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Refuse the next sends about these files, each so many times; `meanwhile` is what somebody does just then."""
        left = dict.fromkeys(names, times)

        def fate(attempt: Attempt) -> Answer | None:
            name = attempt.operation.target.partition(":")[2]
            if not left.get(name):
                return None
            left[name] -= 1
            meanwhile()
            return REFUSAL

        self.fate = fate

    def accept(self) -> None:
        """Send everything from now on."""
        self.fate = lambda _: None

    def killed(self, act: Callable[[], object], *, at: str = "") -> Report:
        """Let a process do it that gets SIGKILL at its first send (about the file `at`), and give what it left."""

        def kill(attempt: Attempt) -> Answer | None:
            if attempt.operation.target.endswith(f":{at}" if at else ""):
                die()
            return None

        before, self.fate = self.fate, kill
        child = fork(lambda _: act() and None)
        self.fate = before
        child.reap()
        assert child.status == -signal.SIGKILL, child.marks
        return self.newest()

    def elsewhere(self, act: Callable[[], Any], *, heeding_permissions: bool = False) -> Any:
        """Let another process do it, and give what it gave (JSON); one that root's privileges don't help, if asked."""

        def acted(_: Tell) -> Any:
            if heeding_permissions:
                heed_permissions()
            return act()

        return asked(acted)


class _Played:
    """A surface that counts what is sent, and lets the office decide about it."""

    def __init__(self, surface: Any, office: Office) -> None:
        self._surface = surface
        self._office = office

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surface, name)

    def send(self, attempt: Attempt) -> Answer:
        with self._office.ledger.open("a") as ledger:
            ledger.write(attempt.operation.target.partition(":")[2] + "\n")
        answer: Answer = self._office.fate(attempt) or self._surface.send(attempt)
        return answer

    def read(self, target: str) -> Observation:
        seen: Observation = self._surface.read(target)
        self._office.reads += 1
        self._office.after_read(target, self._office.reads)
        return seen


def heed_permissions() -> None:
    """Have this process obey permission bits for good: root alone may pass over them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    data = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    for word in (0, 1, 2):
        data[word] &= ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH) & 0xFFFFFFFF
    assert libc.capset(header, data) == 0


def stop_of(report: Report) -> str | None:
    """Give why a transaction stopped; None if it did not."""
    return None if report.blocked is None else str(report.blocked["stop"])


def recoveries(report: Report) -> int:
    """Count the recoveries that the journal says are spent."""
    return sum(event.happened is Happened.RECOVERING and "spends" in event.data for event in report.events)
