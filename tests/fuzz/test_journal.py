"""Bytes of the journal's files flipped, cut off, zeroed and swapped: no verb may tell what was not recorded.

A journal of some writes with known ends is made once; each example is a copy of it with some damage, through which all
verbs go. What is still told of a write must be true of the folder, whatever was lost from the record: applied is there,
failed is not.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from amends.assembly import Amends
from amends.journal import chain
from tests.cli.place import _Dying
from tests.crash.process import fork
from tests.fuzz.command import Ran, command, examples, new_folder, tree
from tests.proof import record

DAMAGES = 25
"""Examples in the quick share."""

FILES = ("journal.sqlite", "journal.sqlite-wal")
OPERATOR = "operator (--yes)"


@dataclass(frozen=True)
class Office:
    """A folder with a journal, and what became of each write in truth: whether it is there."""

    folder: Path
    landed: dict[str, bool]


@dataclass(frozen=True)
class Damage:
    """What is done to a file: `where` and `how_long` are shares of its size."""

    file: str
    kind: str
    where: float
    how_long: float

    def do(self, journal: Path) -> None:
        path = journal / self.file
        if not path.exists():
            return
        content = bytearray(path.read_bytes())
        size = len(content)
        at = min(int(self.where * size), max(size - 1, 0))
        end = min(size, at + max(1, int(self.how_long * size)))
        match self.kind:
            case "flip" if size:
                content[at] ^= 1 << int(self.how_long * 64) % 8
            case "zero":
                content[at:end] = bytes(end - at)
            case "fill":
                content[at:end] = b"\xff" * (end - at)
            case "cut":
                del content[at:]
            case "take out":
                del content[at:end]
            case "swap" if size >= 8192:
                page, other = at // 4096 * 4096, int(self.how_long * size) // 4096 * 4096
                content[page : page + 4096], content[other : other + 4096] = (
                    content[other : other + 4096],
                    content[page : page + 4096],
                )
            case "remove":
                path.unlink()
                return
            case _:
                pass
        path.write_bytes(content)


DAMAGE = st.builds(
    Damage,
    st.sampled_from(FILES),
    st.sampled_from(["flip", "flip", "flip", "zero", "fill", "cut", "take out", "swap", "remove"]),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1, exclude_max=True).map(lambda share: share**3),
)


def _change(*writes: dict[str, Any]) -> bytes:
    return json.dumps({"write": list(writes)}).encode()


def _create(name: str, text: str) -> dict[str, Any]:
    return {"create": f"notes:{name}", "set": {"text": text}}


def _applied_in_a_killed_process(folder: Path, change: bytes) -> None:
    """So that its log stays: who closes a journal last empties it."""

    def act(_: object) -> None:
        amends = Amends.open(folder)
        amends.propose(json.loads(change), folder=folder, confirmed_by=OPERATOR)
        os.kill(os.getpid(), signal.SIGKILL)

    fork(act).reap()


def _killed(folder: Path, change: bytes, *, after_sending: bool) -> None:
    def act(_: object) -> None:
        amends = Amends.open(folder)
        surfaces: Any = {
            name: _Dying(each, after_sending=after_sending) for name, each in amends.world.surfaces.items()
        }
        amends.world = type(amends.world)(amends.world.journal, surfaces, amends.world.clock, amends.world.ids)
        amends.propose(json.loads(change), folder=folder, confirmed_by=OPERATOR)

    fork(act).reap()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Writes that applied, failed, were declined by nobody, may have applied, and were undone."""
    folder = new_folder(tmp_path_factory.mktemp("journal"))
    (folder / "notes" / "old.md").write_text("old\n")
    for number in range(6):
        command(folder, "apply", "-", "--yes", stdin=_change(_create(f"a{number}.md", f"a {number}\n")))
    command(folder, "apply", "-", "--yes", stdin=_change({"edit": "notes:old.md", "set": {"text": "new\n"}}))
    command(folder, "propose", "-", stdin=_change(_create("waits.md", "waits\n")))
    command(folder, "apply", "-", "--yes", stdin=_change(_create("b1.md", "b\n"), _create("b2.md", "b\n")))
    _killed(folder, _change(_create("lost.md", "lost\n")), after_sending=False)
    command(folder, "check", "--all")
    _killed(folder, _change(_create("sent.md", "sent\n")), after_sending=True)
    _applied_in_a_killed_process(folder, _change(_create("last.md", "last\n")))
    assert (folder / ".amends" / "journal" / FILES[1]).stat().st_size > 0
    landed = {}
    with Amends.open(folder) as amends:
        amends.journal.close = lambda: None  # type: ignore[method-assign] # or the log would be emptied here
        for report in amends.log(limit=100):
            for life in report.lives:
                landed[life.operation_id] = (folder / "notes" / life.operation.target.partition(":")[2]).exists()
    assert set(landed.values()) == {True, False}
    yield Office(folder, landed)
    shutil.rmtree(folder)


def is_true(office: Office, ran: Ran) -> None:
    """Nothing that is told of a write is otherwise in the folder."""
    if ran.code == 5 or "error" in ran.document:
        return
    for report in ran.document.get("transactions", [ran.document]):
        for write in report.get("writes", []):
            landed = office.landed.get(write["operation_id"])
            assert landed is not None, (write, ran)
            if write["outcome"] == "applied":
                assert landed, (write, ran)
            if write["outcome"] == "failed" and write["evidence"] != "stale":
                assert not landed, (write, ran)


def go_through(office: Office, place: Path, damages: list[Damage]) -> list[int]:
    """Damage a copy of the office at `place`, and use all verbs there; give their exit codes."""
    shutil.copytree(office.folder, place, symlinks=True)
    for name in ("stage", "archive"):  # the inodes of a copy are others: what is settled here is not settled by them
        assert (place / "notes" / ".amends" / name).is_dir()
    journal = place / ".amends" / "journal"
    for damage in damages:
        damage.do(journal)
    before = tree(place)
    looks = [command(place, *words, "--json") for words in ((), ("log",), ("verify",))]
    for name in office.landed:
        looks.append(command(place, "show", name, "--json"))
    for ran in looks:
        assert ran.code in (0, 2, 5), ran
        if ran.words[0] != "verify":
            is_true(office, ran)
    checked = command(place, "check", "--all", "--json")
    assert checked.code in (0, 3, 5), checked
    is_true(office, checked)
    assert tree(place) == before
    new = command(place, "apply", "-", "--yes", "--json", stdin=_change(_create("new.md", "new\n")))
    assert new.code in (0, 1, 3, 5), new
    assert (place / "notes" / "new.md").exists() or new.code != 0, new
    if new.code in (1, 5):
        assert not (place / "notes" / "new.md").exists(), new
    after = tree(place)
    after.pop("notes/new.md", None)
    assert after == before
    return [ran.code for ran in (*looks, checked, new)]


@pytest.mark.proof
@pytest.mark.requirement("fuzz:journal:damage")
def test_no_damage_to_the_journal_is_told_as_an_outcome(office: Office, tmp_path: Path) -> None:
    """Disks flip bits, copies are cut short, and files are restored in halves."""
    started, tried, refused = time.monotonic(), 0, 0

    @examples(DAMAGES)
    @given(st.lists(DAMAGE, min_size=1, max_size=3))
    def damage(damages: list[Damage]) -> None:
        nonlocal tried, refused
        tried += 1
        place = tmp_path / str(tried)
        codes = go_through(office, place, damages)
        shutil.rmtree(place)
        refused += 5 in codes
        event(f"{codes.count(5)} of {len(codes)} refused")

    damage()
    assert refused > 0
    record(
        "journal files damaged",
        tried=tried,
        what="copies of a journal with bytes flipped, cut off, zeroed or swapped",
        seconds=time.monotonic() - started,
        refused=refused,
    )


@pytest.mark.proof
@pytest.mark.requirement("fuzz:journal:bites")
def test_a_journal_that_checks_no_hash_is_caught_by_these_damages(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage that nothing notices would make the test above a mere exercise; here it makes an outcome of another."""
    place = tmp_path / "place"
    shutil.copytree(office.folder, place, symlinks=True)
    assert _rewrite(place, b"b1.md", b"bX.md") > 0
    assert command(place, "log", "--json").code == 5
    monkeypatch.setattr(chain.Row, "event", _trusting)
    told = command(place, "log", "--json")
    assert told.code == 0
    targets = {write["target"] for report in told.document["transactions"] for write in report["writes"]}
    assert "notes:bX.md" in targets


def _rewrite(place: Path, old: bytes, new: bytes) -> int:
    found = 0
    for name in FILES:
        path = place / ".amends" / "journal" / name
        if path.exists():
            content = path.read_bytes()
            found += content.count(old)
            path.write_bytes(content.replace(old, new))
    return found


def _trusting(row: chain.Row) -> Any:
    from amends.contract.lifecycle import Happened
    from amends.ports import Event

    return Event(
        row.subject,
        Happened(row.happened),
        row.at_ms,
        json.loads(row.data),
        row.epoch,
        chain.claims_from(row.claims),
        releases=bool(row.releases),
    )
