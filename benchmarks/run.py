"""What a write costs on this machine, against what the disk and SQLite would take without Amends: `make bench`.

Each figure is the median of several rounds, interleaved with its raw limit so that both see the same disk; the ratio
is what travels from machine to machine, not the microseconds. It works in a temporary folder and leaves nothing.
`--profile` shows instead where the time of a journaled write goes.
"""

import argparse
import cProfile
import os
import pstats
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import apsw

from amends import broker
from amends.assembly import Amends
from amends.broker import Ask, World, drive
from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim, Fact, Observation, Operation, OperationKind, Presence
from amends.contract.outcome import Evidence
from amends.journal import SqliteJournal
from amends.ports import Answer, Attempt, Blobs, Event, Plan, Prepared, WriteRequest
from amends.system import SystemClock, SystemIds

ROUNDS = 9
WRITES = 50
EVENTS_OF_AN_OLD_JOURNAL = 50_000
PROPOSALS_WAITING = 1_000
EVENTS_A_WRITE = 5
RAW_BYTES = 700  # of one row: about what the events of one commit take
ASK = Ask("benchmark", confirmed_by="operator")
ATOMIC = Guarantee(Receipt.SAME_STEP, Compare.ATOMIC, Version.NEVER_REPEATS, Fence.VOID)

Work = Callable[[int], None]
"""Do that many writes."""


# --- a surface that costs nothing --------------------------------------------------------------------------------


class NullSurface:
    """Answers at once and remembers what was written, so that only the broker and the journal are measured."""

    name = "null"

    def __init__(self) -> None:
        self._written: set[str] = set()

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        target = f"null:{request.key}"
        operation = Operation(OperationKind.CREATE, target, (Fact(target, "content", "x"),))
        return Plan(operation, {"content": "x"}, self.read(target), ATOMIC, undoable=True)

    def read(self, target: str) -> Observation:
        if target in self._written:
            return Observation(Presence.PRESENT, version="1", fields={"content": "x"})
        return Observation(Presence.ABSENT)

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        return Prepared({}, (Claim(attempt.operation.target),))

    def send(self, attempt: Attempt) -> Answer:
        self._written.add(attempt.operation.target)
        return Answer(Evidence.ACKNOWLEDGED)

    def fence(self, attempt: Attempt) -> Answer:
        raise AssertionError("nothing is ever lost here")

    def tidy(self, attempt: Attempt) -> None: ...

    def plan_undo(self, *_: Any) -> Plan:
        raise AssertionError("nothing is undone here")

    def preview(self, *_: Any) -> str:
        return ""


# --- what is measured ----------------------------------------------------------------------------------------------


@contextmanager
def raw_commits(folder: Path) -> Iterator[Work]:
    """Two synced commits a write, straight to SQLite: the limit of a journal that syncs intent and outcome."""
    database = apsw.Connection(str(folder / "raw.sqlite"))
    for statement in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE t (n INTEGER PRIMARY KEY, d)",
    ):
        list(database.execute(statement))
    row = "x" * RAW_BYTES

    def work(writes: int) -> None:
        for _ in range(2 * writes):
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO t (d) VALUES (?)", (row,))
            database.execute("COMMIT")

    yield work
    database.close()


@contextmanager
def journaled(folder: Path, *, events: int = 0, proposals: int = 0) -> Iterator[Work]:
    """The whole life of a write to a surface that costs nothing, in a journal that holds so much already."""
    clock, ids = SystemClock(), SystemIds()
    journal = SqliteJournal(folder / f"journal-{events}-{proposals}", clock=clock, ids=ids)
    world = World(journal, {"null": NullSurface()}, clock, ids)
    grow(journal, ids, events)
    numbers = iter(range(10**9))

    def work(writes: int) -> None:
        for _ in range(writes):
            request = WriteRequest(OperationKind.CREATE, "null", f"{next(numbers)}")
            report = drive(world, broker.propose([request], ASK))
            assert report.state is State.COMPLETE
            drive(world, broker.outcome_told(report))

    for _ in range(proposals):
        request = WriteRequest(OperationKind.CREATE, "null", f"{next(numbers)}")
        drive(world, broker.propose([request], Ask("benchmark")))
    yield work
    journal.close()


def grow(journal: SqliteJournal, ids: SystemIds, events: int) -> None:
    """Fill a journal with the histories of writes that are over."""
    batch: list[Event] = []
    for _ in range(events // EVENTS_A_WRITE):
        name, data = ids.new("op"), {"evidence": "acknowledged", "filler": "x" * RAW_BYTES}
        batch += [
            Event(name, Happened.PROPOSED, 1, data),
            Event(name, Happened.CONFIRMED, 1),
            Event(name, Happened.INTENDED, 1, data, epoch=1, claims=(Claim(name),)),
            Event(name, Happened.APPLIED, 1, data, epoch=1, releases=True),
            Event(name, Happened.DELIVERED, 1, epoch=1),
        ]
        if len(batch) >= 100 * EVENTS_A_WRITE:
            journal.commit(batch, durable=False)
            batch = []
    journal.commit(batch)


@contextmanager
def raw_files(folder: Path) -> Iterator[Work]:
    """The limit of a file that appears whole: stage, sync, rename, sync the folder."""
    stage, target = folder / "raw-stage", folder / "raw-target"
    stage.mkdir()
    target.mkdir()
    target_fd = os.open(target, os.O_RDONLY)
    numbers = iter(range(10**9))

    def work(writes: int) -> None:
        for number in (next(numbers) for _ in range(writes)):
            fd = os.open(stage / f"{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(fd, b"a motion\n" * 20)
            os.fsync(fd)
            os.close(fd)
            os.rename(stage / f"{number}", target / f"{number}")
            os.fsync(target_fd)

    yield work
    os.close(target_fd)


@contextmanager
def real_files(folder: Path) -> Iterator[Work]:
    """A small file created through Amends, from the change document on."""
    place = folder / "place"
    (place / "notes").mkdir(parents=True)
    (place / "amends.toml").write_text('[surfaces.notes]\ntype = "files"\nroot = "notes"\n')
    numbers = iter(range(10**9))
    with Amends.open(place) as amends:

        def work(writes: int) -> None:
            for number in (next(numbers) for _ in range(writes)):
                text = f"a motion {number}\n" * 20
                change = {"write": [{"create": f"notes:{number}.md", "set": {"text": text}}]}
                assert amends.propose(change, confirmed_by="operator").state is State.COMPLETE

        yield work


# --- how it is measured --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """Median microseconds of one write: by the clock, and of the processor alone, which a busy disk can't blur."""

    clock: float
    cpu: float


def medians(works: dict[str, Work], *, rounds: int, writes: int) -> dict[str, Cost]:
    """Give the median cost of one write of each, all measured in turn."""
    taken: dict[str, list[Cost]] = {name: [] for name in works}
    for work in works.values():
        work(10)
    for _ in range(rounds):
        for name in random.sample(sorted(works), len(works)):
            clock, cpu = time.perf_counter(), time.process_time()
            works[name](writes)
            spent = (time.perf_counter() - clock, time.process_time() - cpu)
            taken[name].append(Cost(*(seconds / writes * 1e6 for seconds in spent)))
    return {
        name: Cost(statistics.median(cost.clock for cost in costs), statistics.median(cost.cpu for cost in costs))
        for name, costs in taken.items()
    }


class CountingVFS(apsw.VFS):
    """SQLite's own access to files, with every sync counted. Registered as the default for the time of a count."""

    def __init__(self) -> None:
        self.syncs = 0
        self._real = apsw.vfs_names()[0]
        super().__init__("counting", self._real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's word
        vfs = self

        class Counting(apsw.VFSFile):
            def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's word
                vfs.syncs += 1
                super().xSync(flags)

        return Counting(vfs._real, name, flags)


def syncs_a_write(opened: Callable[[Path], Any], folder: Path, *, writes: int = 100) -> tuple[float, float]:
    """Count syncs of the journal's file and of other files, for one write."""
    vfs, real, others = CountingVFS(), os.fsync, [0]

    def counted(fd: int) -> None:
        others[0] += 1
        real(fd)

    os.fsync = cast(Any, counted)
    try:
        with opened(folder) as work:
            work(10)
            vfs.syncs = others[0] = 0
            work(writes)
            return vfs.syncs / writes, others[0] / writes
    finally:
        os.fsync = real
        vfs.unregister()


def row(what: str, cost: Cost, limit: Cost | None = None, note: str = "") -> None:
    ratios = "" if limit is None else f"{cost.clock / limit.clock:9.2f}{cost.cpu / limit.cpu:9.2f}"
    print(f"{what:<44}{cost.clock:>9.0f}{cost.cpu:>9.0f}{ratios:>18}  {note}")


def measure(folder: Path, *, rounds: int, writes: int) -> None:
    """Measure everything and print the table."""
    with ExitStack() as stack:
        works: dict[str, Work] = {
            "raw": stack.enter_context(raw_commits(folder)),
            "new": stack.enter_context(journaled(folder)),
            "old": stack.enter_context(journaled(folder, events=EVENTS_OF_AN_OLD_JOURNAL)),
            "crowded": stack.enter_context(journaled(folder, proposals=PROPOSALS_WAITING)),
            "raw file": stack.enter_context(raw_files(folder)),
            "file": stack.enter_context(real_files(folder)),
        }
        found = medians(works, rounds=rounds, writes=writes)
    print(f"one write: medians of {rounds} interleaved rounds of {writes} writes, in {folder.parent}\n")
    print(f"{'':<44}{'µs':>9}{'CPU µs':>9}{'÷ raw':>9}{'CPU ÷':>9}")
    row("raw: two synced commits", found["raw"])
    row("journaled, null surface, new journal", found["new"], found["raw"])
    for name, what in (
        ("old", f"… after {EVENTS_OF_AN_OLD_JOURNAL:,} events"),
        ("crowded", f"… beside {PROPOSALS_WAITING:,} open proposals"),
    ):
        row(what, found[name], found["raw"], f"CPU {found[name].cpu / found['new'].cpu:.2f} of a new journal")
    row("raw: stage, sync, rename, sync the folder", found["raw file"])
    row("file created through Amends", found["file"], found["raw file"])
    print("\nsyncs a write (journal + other files)")
    for what, opened in (("journaled write, null surface", journaled), ("file created through Amends", real_files)):
        sub = folder / what
        sub.mkdir()
        in_journal, elsewhere = syncs_a_write(opened, sub)
        print(f"{what:<44}{in_journal:>9.2f} + {elsewhere:.2f}")


def profile(folder: Path, *, writes: int) -> None:
    """Show where the time of a journaled write goes."""
    with journaled(folder) as work:
        work(10)
        profiler = cProfile.Profile()
        profiler.runcall(work, writes)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(40)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description="What a write costs on this machine.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--writes", type=int, default=WRITES)
    parser.add_argument("--profile", action="store_true", help="show where the time of a journaled write goes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="amends-bench-") as name:
        if asked.profile:
            profile(Path(name), writes=asked.writes)
        else:
            measure(Path(name), rounds=asked.rounds, writes=asked.writes)


if __name__ == "__main__":
    main()
