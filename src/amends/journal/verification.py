"""`amends verify`: read the whole journal in one transaction, and say every fault in words.

Checked: each row is what was written; places, sequence numbers and links have no gap; each chain begins at the event
before it; the histories are legal; open_subjects, claims and blobs are what the events come to. What this can't see is
a tail that was cut off with everything that hung on it: for that, keep the last hash elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import apsw

from amends.contract.operation import Claim
from amends.errors import LostRaceError
from amends.ports import Event, Verification
from amends.recovery import Aim, Spent

from .blob import BlobFolder
from .chain import DamagedError, Row, genesis, standing_from
from .database import ask, queries, scalar
from .forgetting import Gap, gaps
from .rule import Standing, plus, spending, step

FAULTS_MAX = 100
"""A journal with more is not repaired by reading on."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the chain of a process ends: its number in the file, its last place and hash."""

    process: int
    n: int
    hash: bytes


def verify(database: apsw.Connection, path: Path, blobs: BlobFolder, *, own: tuple[str, Tail | None]) -> Verification:
    """Check everything. `own` is the id of the process that asks, and what it knows of its own chain."""
    reading = _Reading(database, path)
    try:
        ask(database, "BEGIN")
        try:
            reading.read(own)
        finally:
            if database.in_transaction:
                ask(database, "ROLLBACK")
    except (apsw.Error, ValueError, TypeError) as error:
        reading.faults.append(f"{path} could not be read to its end: {error}")
    count, blob_faults = blobs.check()
    faults = (reading.faults + blob_faults)[:FAULTS_MAX]
    return Verification(reading.events, len(reading.chains), count, tuple(faults))


class _Reading:
    """One pass over the file, and what it found."""

    def __init__(self, database: apsw.Connection, path: Path) -> None:
        self._database = database
        self._path = path
        self._sql = queries()
        self.events = 0
        self.faults: list[str] = []
        self.chains: dict[str, Tail] = {}
        self._last: bytes | None = None
        self._last_seq = 0
        self._gaps: dict[int, dict[int, Gap]] = {}
        self._standings: dict[str, Standing] = {}
        self._spent: dict[str, Spent] = {}
        self._broken: set[str] = set()

    def read(self, own: tuple[str, Tail | None]) -> None:
        journal_id = str(scalar(self._database, self._sql["journal_id"]))
        rows = cast("list[tuple[int, str, bytes]]", ask(self._database, self._sql["all_processes"]))
        processes = {process_id: (process, first) for process, process_id, first in rows}
        self._gaps = gaps(lambda name, *values: ask(self._database, self._sql[name], *values))
        own_id, told = own
        is_own_there = told is None
        for row in self._rows():
            self.events += 1
            if told is not None and (row.process_id, row.n, row.hash) == (own_id, told.n, told.hash):
                is_own_there = True
            if row.seq != self.events and not self.faults and not self._gaps:
                self.faults.append(f"event {self.events} is missing: the next one is {row.seq}")
            if row.process_id not in processes:
                self.faults.append(f"event {row.seq} belongs to no process")
            else:
                self._check_place(row, *processes[row.process_id], journal_id=journal_id)
            self._check_content(row)
            self._last, self._last_seq = row.hash, row.seq
        for name, (process, first) in processes.items():
            self._end_chain(name, process, first)
        in_all = self.events + sum(gap.last - gap.first + 1 for each in self._gaps.values() for gap in each.values())
        if self._gaps and self._last_seq != in_all and not self.faults:
            self.faults.append(f"{in_all} events are kept or were forgotten; the last one is event {self._last_seq}")
        if told is not None and not is_own_there:
            self.faults.append(f"process {own_id} wrote {told.n} events; the last of them is not there")
        self._check_open()
        self._check_budgets()
        for (text,) in ask(self._database, "PRAGMA integrity_check(10)"):
            if text != "ok":
                self.faults.append(f"{self._path}: {text}")

    def _rows(self) -> Iterator[Row]:
        for row in self._database.execute(self._sql["all_events"]):
            yield Row.of(row)

    def _check_place(self, row: Row, process: int, first: bytes, *, journal_id: str) -> None:
        tail = self.chains.get(row.process_id)
        if tail is None:
            tail = Tail(process, 0, first)
            is_before_here = row.n == 1 and row.seq == self._last_seq + 1
            if is_before_here and first != genesis(self._last, journal_id):
                self.faults.append(f"the chain of process {row.process_id} does not begin where the journal was")
        tail = self._past_gap(tail)
        if row.n != tail.n + 1:
            self.faults.append(f"process {row.process_id} has event {tail.n} and then {row.n}")
        elif row.prev != tail.hash:
            self.faults.append(f"event {row.seq} is not linked to the one before it of process {row.process_id}")
        self.chains[row.process_id] = Tail(process, row.n, row.hash)

    def _past_gap(self, tail: Tail) -> Tail:
        """Give where the chain goes on after the events that were forgotten next to `tail`, if any were."""
        gap = self._gaps.get(tail.process, {}).get(tail.n + 1)
        return tail if gap is None or gap.prev != tail.hash else Tail(tail.process, gap.last, gap.hash)

    def _end_chain(self, name: str, process: int, first: bytes) -> None:
        """See that a process has events, or had, and that each gap of it lies in its chain."""
        found = self.chains.get(name)
        tail = self._past_gap(found or Tail(process, 0, first))
        if tail.n == 0:
            self.faults.append(f"process {name} has no event")
        if any(gap.last > tail.n for gap in self._gaps.get(process, {}).values()):
            self.faults.append(f"process {name} has events that were forgotten where its chain does not lead")
        self.chains[name] = tail

    def _check_content(self, row: Row) -> None:
        if row.subject in self._broken:
            return
        try:
            event = row.event()
            self._fold(row, event)
        except (DamagedError, LostRaceError, ValueError) as error:
            self._broken.add(row.subject)
            what = str(error) if isinstance(error, DamagedError) else f"event {row.seq} can't be: {error}"
            self.faults.append(what)

    def _fold(self, row: Row, event: Event) -> None:
        before = self._standings.get(row.subject)
        after = step(before, event)
        more = spending(event)
        if more is not None:
            self._spent[row.subject] = plus(self._spent.get(row.subject, Spent()), more)
        self._standings[row.subject] = after if before else replace(after, since=row.seq)

    def _check_budgets(self) -> None:
        """Compare the budget's rows with what the events have used up."""
        names = {str(name) for (name,) in ask(self._database, self._sql["all_spent"])}
        for name in sorted(names | self._spent.keys()):
            ((count,),) = ask(self._database, self._sql["recoveries_of"], name)
            fingerprints = frozenset(
                str(text) for (text,) in ask(self._database, self._sql["spent_fingerprints_of"], name)
            )
            rows = ask(self._database, self._sql["spent_aims_of"], name)
            aims = frozenset(Aim(str(target), str(field)) for target, field in rows)
            found = Spent(fingerprints, aims, cast("int", count))
            if name not in self._broken and found != self._spent.get(name, Spent()):
                self.faults.append(f"the recovery budget of {name} is not what its events have used up")

    def _check_open(self) -> None:
        """Compare the open table and the claims with what the events come to."""
        expected = {subject: standing for subject, standing in self._standings.items() if standing.is_open}
        found = {str(row[0]): standing_from(row[1:]) for row in ask(self._database, self._sql["all_open_subjects"])}
        for subject in sorted(expected.keys() | found.keys()):
            if subject not in self._broken and expected.get(subject) != found.get(subject):
                self.faults.append(f"what is recorded as open of {subject} is not what its events come to")
        named = {(name, subject) for subject, standing in expected.items() for name in standing.places}
        places = {(str(name), str(subject)) for name, subject in ask(self._database, self._sql["all_open_places"])}
        for name, subject in sorted(named ^ places):
            if subject not in self._broken:
                self.faults.append(f"what {subject} is about is not what its events come to: {name}")
        held = {(subject, claim) for subject, standing in expected.items() for claim in standing.claims}
        rows = cast("list[tuple[str, str, int]]", ask(self._database, self._sql["all_claims"]))
        for subject, claim in sorted(
            held ^ {(subject, Claim(name, bool(subtree))) for subject, name, subtree in rows},
            key=lambda item: (item[0], item[1].name),
        ):
            if subject not in self._broken:
                self.faults.append(f"the claim of {subject} on {claim.name} is not what its events come to")
