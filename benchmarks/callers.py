"""What many callers at once get, against a raw writer that shares its commits: `python benchmarks/callers.py`.

Each figure is a ratio to the raw limit in the same run, disk as it is and with every sync stretched to a millisecond,
as disks take that promise something. One caller is compared with a loop of two synced commits a write; several with a
writer of rows that commits for all who wait. Medians of interleaved rounds; the surface costs nothing.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
from run import ASK, RAW_BYTES, NullSurface

from amends import broker
from amends.broker import World, drive
from amends.contract.lifecycle import State
from amends.contract.message import render_outcome
from amends.contract.operation import OperationKind
from amends.journal import SqliteJournal
from amends.ports import Blobs, Plan, WriteRequest
from amends.system import SystemClock, SystemIds

ROUNDS = 5
WRITES = 640
CALLERS = (1, 8, 64)
SLOW_SYNC_S = 0.001

Caller = Callable[[str], None]
"""Does one write under that name."""


class SyncingVfs(apsw.VFS):
    """SQLite's own access to files, with every sync counted and, if asked, stretched."""

    def __init__(self, stretch_s: float) -> None:
        self.syncs = 0
        self.stretch_s = stretch_s
        self._real = apsw.vfs_names()[0]
        super().__init__("syncing", self._real, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's word
        vfs = self

        class Syncing(apsw.VFSFile):
            def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's word
                vfs.syncs += 1
                until = time.perf_counter() + vfs.stretch_s
                super().xSync(flags)
                time.sleep(max(0.0, until - time.perf_counter()))

        return Syncing(vfs._real, name, flags)


class KeepingSurface(NullSurface):
    """One whose receipts last, so that `applied` needs no sync of its own."""

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        return replace(super().plan(request, blobs), keeps_receipt=True)


class RawWriter:
    """Two synced commits a write, shared by all who wait at that moment: the limit of a journal for many callers."""

    def __init__(self, folder: Path) -> None:
        self._database = apsw.Connection(str(folder / "raw.sqlite"))
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, d)",
        ):
            list(self._database.execute(statement))
        self._row = "x" * RAW_BYTES
        self._waiting: deque[list[bool]] = deque()
        self._lock = threading.Lock()

    def write(self, name: str) -> None:
        del name
        for _ in range(2):
            mine = [False]
            self._waiting.append(mine)
            with self._lock:
                if not mine[0]:
                    self._commit()

    def _commit(self) -> None:
        those = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self._database.execute("BEGIN IMMEDIATE")
        for each in those:
            self._database.execute("INSERT INTO t (d) VALUES (?)", (self._row,))
            each[0] = True
        self._database.execute("COMMIT")


@contextmanager
def journaled(folder: Path, surface: NullSurface) -> Iterator[Caller]:
    """The whole life of a write, from a request that is confirmed already to the message."""
    clock, ids = SystemClock(), SystemIds()
    journal = SqliteJournal(folder, clock=clock, ids=ids)
    world = World(journal, {"null": surface}, clock, ids)

    def write(name: str) -> None:
        report = drive(world, broker.propose([WriteRequest(OperationKind.CREATE, "null", name)], ASK))
        assert report.state is State.COMPLETE
        assert report.lives[0].result is not None
        render_outcome(report.lives[0].result)
        drive(world, broker.outcome_told(report))

    yield write
    journal.close()


def rate(write: Caller, label: str, *, callers: int, writes: int) -> tuple[float, float]:
    """Give writes a second, and microseconds of CPU a write."""

    def call(who: int) -> None:
        for number in range(writes // callers):
            write(f"{label}-{who}-{number}")

    threads = [threading.Thread(target=call, args=(who,)) for who in range(callers)]
    cpu, clock = time.process_time(), time.perf_counter()
    if callers == 1:
        call(0)
    else:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    took, spent = time.perf_counter() - clock, time.process_time() - cpu
    return writes / took, spent / writes * 1e6


def measure(folder: Path, *, rounds: int, writes: int, stretch_s: float) -> list[dict[str, Any]]:
    """Give a row for each kind of writer and number of callers."""
    vfs = SyncingVfs(stretch_s)
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    try:
        with ExitStack() as stack:
            kinds: dict[str, Caller] = {
                "raw": RawWriter(folder).write,
                "durable": stack.enter_context(journaled(folder / "durable", NullSurface())),
                "lazy": stack.enter_context(journaled(folder / "lazy", KeepingSurface())),
            }
            for kind, write in kinds.items():
                rate(write, f"warm-{kind}", callers=1, writes=64)
            for turn in range(rounds):
                for callers in CALLERS:
                    for kind, write in kinds.items():
                        vfs.syncs = 0
                        per_second, cpu = rate(write, f"{turn}-{callers}", callers=callers, writes=writes)
                        found.setdefault((kind, callers), []).append((per_second, cpu, vfs.syncs / writes))
    finally:
        vfs.unregister()
    rows = []
    for (kind, callers), runs in found.items():
        per_second, cpu, syncs = (statistics.median(column) for column in zip(*runs, strict=True))
        rows.append(
            {"kind": kind, "callers": callers, "writes_a_second": per_second, "cpu_us": cpu, "syncs_a_write": syncs}
        )
    return rows


def show(rows: list[dict[str, Any]], title: str) -> None:
    """Print the table."""
    raw = {row["callers"]: row["writes_a_second"] for row in rows if row["kind"] == "raw"}
    one = {row["kind"]: row["writes_a_second"] for row in rows if row["callers"] == 1}
    print(f"\n{title}\n{'':<10}{'callers':>8}{'writes/s':>10}{'÷ raw':>8}{'× one':>8}{'CPU µs':>8}{'syncs':>7}")
    for row in sorted(rows, key=lambda each: (each["callers"], each["kind"] != "raw", each["kind"])):
        print(
            f"{row['kind']:<10}{row['callers']:>8}{row['writes_a_second']:>10.0f}"
            f"{row['writes_a_second'] / raw[row['callers']]:>8.2f}{row['writes_a_second'] / one[row['kind']]:>8.1f}"
            f"{row['cpu_us']:>8.0f}{row['syncs_a_write']:>7.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/callers.py", description="What many callers at once get.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--writes", type=int, default=WRITES)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    asked = parser.parse_args()
    figures = {}
    for title, stretch_s in (("disk as it is", 0.0), ("every sync stretched to 1 ms", SLOW_SYNC_S)):
        with tempfile.TemporaryDirectory(prefix="amends-bench-") as name:
            rows = measure(Path(name), rounds=asked.rounds, writes=asked.writes, stretch_s=stretch_s)
        figures[title] = rows
        if not asked.json:
            show(rows, title)
    if asked.json:
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
