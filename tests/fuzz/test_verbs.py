"""A person, agents and a foreign writer use one folder in any order: all verbs of the command line, and kills between.

The model knows every content that was ever seen under a name, by anybody, and which of them a confirmed delete took
away. The foreign writer keeps what it replaces. So each content is under a name, in the archive, or with the foreign
writer, after every step; each outcome that was told is in the log for ever; and verifying finds no fault.
"""

import hashlib
import json
import os
import random
import shutil
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.cli.place import _die, answered, on_terminal
from tests.crash.process import fork
from tests.fuzz.command import Ran, command, examples, new_folder
from tests.proof import record

HISTORIES, STEPS = 8, 25
"""How many histories in the quick share, and how long each may be."""

NAMES = st.sampled_from(["a.md", "b.md", "folder/c.md", "new/deep/d.md"])
FOLDERS = st.sampled_from(["folder", "new", "other"])
FINAL = frozenset({"applied", "failed"})
SENDING = frozenset({0, 1, 2, 3, 4, 6})
"""What a verb that may send may leave with, while nothing is broken."""


class Verbs(RuleBasedStateMachine):
    """One folder, and what is known of it without Amends."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = new_folder()
        self.root = self.folder / "notes"
        self.foreign = self.folder / "foreign"
        self.foreign.mkdir()
        self.numbers = count(1)
        self.seen: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.final: dict[str, str] = {}
        self.ids: list[str] = []

    def teardown(self) -> None:
        verified = command(self.folder, "verify")
        assert verified.code == 0, verified
        shutil.rmtree(self.folder)

    # --- what is known ------------------------------------------------------------------------------------------------

    def content(self) -> str:
        """Give a text that there is only once."""
        return f"content {next(self.numbers)}\n" * random.Random(len(self.seen)).choice((1, 3, 400))

    def visible(self) -> dict[str, str]:
        """Give what is under each name, by its digest."""
        return {
            path.relative_to(self.root).as_posix(): _digest(path)
            for path in self.root.rglob("*")
            if path.is_file() and ".amends" not in path.relative_to(self.root).parts
        }

    def do(self, *words: str, stdin: bytes = b"", codes: frozenset[int] = SENDING) -> Ran:
        """Carry out a command, see its exit code, and hold what it says of outcomes against what was said before."""
        Verbs.steps += 1
        ran = command(self.folder, *words, "--json", stdin=stdin)
        assert ran.code in codes, ran
        if "error" not in ran.document:
            self.agree(ran.document)
        return ran

    def agree(self, document: dict[str, Any]) -> None:
        """An outcome that was final is the same for ever."""
        for report in document.get("transactions", [document]):
            for write in report.get("writes", []):
                if "operation_id" not in write:
                    continue
                name = write["operation_id"]
                if name not in self.ids:
                    self.ids.append(name)
                known = self.final.get(name)
                assert known in (None, write["outcome"]), (known, write)
                if write["outcome"] in FINAL:
                    self.final[name] = write["outcome"]
                assert write["applied"] == (write["outcome"] == "applied"), write

    def person(self, *words: str) -> None:
        """Let a person at a terminal carry out a command, and type what is asked for."""
        Verbs.steps += 1
        ran = answered(*on_terminal(self.folder, words))
        assert ran.code in SENDING, ran
        assert "a fault in Amends itself" not in ran.out, ran

    def deleting(self, act: Callable[[], object]) -> None:
        """Do something that may delete, and note what is gone as deleted."""
        before = set(self.visible().values())
        act()
        gone = before - set(self.visible().values()) - self.kept()
        self.deleted |= gone

    def kept(self) -> set[str]:
        """Give what is kept in the archive, in the stage, or by the foreign writer."""
        places = [self.root / ".amends" / "archive", self.root / ".amends" / "stage", self.foreign]
        return {_digest(path) for place in places for path in place.rglob("*") if path.is_file()}

    def change(self, *writes: dict[str, Any]) -> bytes:
        return json.dumps({"write": list(writes)}).encode()

    # --- what is done -------------------------------------------------------------------------------------------------

    @rule(name=NAMES, verb=st.sampled_from(["create", "edit"]), verdict=st.sampled_from(["apply", "apply", "propose"]))
    def write(self, name: str, verb: str, verdict: str) -> None:
        change = self.change({verb: f"notes:{name}", "set": {"text": self.content()}})
        ran = self.do(verdict, "-", *["--yes"] * (verdict == "apply"), stdin=change)
        if verdict == "apply" and ran.code == 0:
            assert self.log()[ran.document["operation_id"]] == "applied"

    @rule(one=NAMES, two=NAMES)
    def document(self, one: str, two: str) -> None:
        writes = [{"create": f"notes:{one}", "set": {"text": self.content()}}]
        writes += [{"edit": f"notes:{two}", "set": {"text": self.content()}}]
        self.do("apply", "-", "--yes", stdin=self.change(*writes))

    @rule(name=NAMES)
    def upload(self, name: str) -> None:
        (self.folder / "local.bin").write_text(self.content())
        document = self.folder / "upload.json"
        document.write_bytes(self.change({"upload": f"notes:{name}", "from": "local.bin"}))
        self.do("apply", str(document), "--yes")

    @rule(name=NAMES | FOLDERS)
    def archive(self, name: str) -> None:
        self.do("apply", "-", "--yes", stdin=self.change({"archive": f"notes:{name}"}))

    @rule(name=NAMES | FOLDERS, to=NAMES | FOLDERS, verb=st.sampled_from(["move", "rename"]))
    def move(self, name: str, to: str, verb: str) -> None:
        self.do("apply", "-", "--yes", stdin=self.change({verb: f"notes:{name}", "to": f"notes:{to}"}))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.deleting(lambda: self.do("apply", "-", "--yes", stdin=self.change({"delete": f"notes:{name}"})))

    @rule(name=NAMES, verb=st.sampled_from(["create", "edit"]), after_sending=st.booleans())
    def killed(self, name: str, verb: str, after_sending: bool) -> None:
        (self.folder / "killed.json").write_bytes(self.change({verb: f"notes:{name}", "set": {"text": self.content()}}))
        fork(lambda _: _die(self.folder, "killed.json", after_sending=after_sending)).reap()

    @rule(every=st.booleans(), data=st.data())
    def check(self, every: bool, data: st.DataObject) -> None:
        words = ["--all"] if every or not self.ids else [data.draw(st.sampled_from(self.ids))]
        self.deleting(lambda: self.do("check", *words, codes=frozenset({0, 3})))

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        self.do("undo", data.draw(st.sampled_from(self.ids)), "--yes")

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def follow_up(self, data: st.DataObject) -> None:
        self.do("followup", data.draw(st.sampled_from(self.ids)))

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), verb=st.sampled_from(["confirm", "confirm", "decline", "attest"]))
    def decide(self, data: st.DataObject, verb: str) -> None:
        name = data.draw(st.sampled_from(self.ids))
        more = ["--failed", "--reason", "it is not there"] if verb == "attest" else []
        self.deleting(lambda: self.person(verb, name, *more))

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def show(self, data: st.DataObject) -> None:
        self.do("show", data.draw(st.sampled_from(self.ids)), codes=frozenset({0}))

    @rule(words=st.sampled_from([(), ("log",), ("verify",), ("show", "op_"), ("log", "--limit", "2")]))
    def look(self, words: tuple[str, ...]) -> None:
        before = self.visible()
        self.do(*words, codes=frozenset({0, 2} if "op_" in words else {0}))
        assert self.visible() == before

    @rule(name=NAMES)
    def edit_as_somebody_else(self, name: str) -> None:
        """Save a file by a rename, and keep what was there."""
        draft, path = self.foreign / f"draft {next(self.numbers)}", self.root / name
        draft.write_text(self.content())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                os.rename(path, self.foreign / f"old {next(self.numbers)}")
            os.rename(draft, path)
        except OSError:  # a folder stands there
            draft.unlink()

    @rule(name=NAMES)
    def take_away_as_somebody_else(self, name: str) -> None:
        """Take a file away, and keep it."""
        if (self.root / name).is_file():
            os.rename(self.root / name, self.foreign / f"old {next(self.numbers)}")

    # --- what holds ---------------------------------------------------------------------------------------------------

    def log(self) -> dict[str, str]:
        """Give what the log says of each write."""
        document = command(self.folder, "log", "--limit", "1000", "--json").document
        self.agree(document)
        return {
            write["operation_id"]: write["outcome"] for each in document["transactions"] for write in each["writes"]
        }

    @invariant()
    def nothing_is_lost(self) -> None:
        visible = self.visible()
        for name, digest in visible.items():
            self.seen.setdefault(digest, name)
        lost = self.seen.keys() - set(visible.values()) - self.kept() - self.deleted
        assert not lost, [self.seen[digest] for digest in lost]

    @invariant()
    def what_was_final_is_in_the_log(self) -> None:
        if self.final:
            log = self.log()
            assert {name: log.get(name) for name in self.final} == self.final


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.proof
@pytest.mark.requirement("fuzz:verbs:history")
def test_any_history_of_verbs_and_foreign_edits_loses_nothing_and_agrees() -> None:
    """Each verb is tested by itself; people and agents use them in an order that nobody thought of."""
    started = time.monotonic()
    Verbs.steps = 0
    chosen = examples(HISTORIES)
    run_state_machine_as_test(Verbs, settings=type(chosen)(chosen, stateful_step_count=STEPS))
    record(
        "histories of verbs",
        tried=chosen.max_examples,
        what="made-up histories of verbs, kills and foreign edits",
        seconds=time.monotonic() - started,
        commands=Verbs.steps,
    )
