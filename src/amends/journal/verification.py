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
        self._standings: dict[str, Standing] = {}
        self._spent: dict[str, Spent] = {}
        self._broken: set[str] = set()

    def read(self, own: tuple[str, Tail | None]) -> None:
        journal_id = str(scalar(self._database, self._sql["journal_id"]))
        rows = cast("list[tuple[int, str, bytes]]", ask(self._database, self._sql["all_processes"]))
        processes = {process_id: (process, first) for process, process_id, first in rows}
        own_id, told = own
        is_own_there = told is None
        for row in self._rows():
            self.events += 1
            if told is not None and (row.process_id, row.n, row.hash) == (own_id, told.n, told.hash):
                is_own_there = True
            if row.seq != self.events and not self.faults:
                self.faults.append(f"event {self.events} is missing: the next one is {row.seq}")
            if row.process_id not in processes:
                self.faults.append(f"event {row.seq} belongs to no process")
            else:
                self._check_place(row, *processes[row.process_id], journal_id=journal_id)
            self._check_content(row)
            self._last = row.hash
        self.faults += [f"process {name} has no event" for name in processes if name not in self.chains]
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
            if first != genesis(self._last, journal_id):
                self.faults.append(f"the chain of process {row.process_id} does not begin where the journal was")
        if row.n != tail.n + 1:
            self.faults.append(f"process {row.process_id} has event {tail.n} and then {row.n}")
        elif row.prev != tail.hash:
            self.faults.append(f"event {row.seq} is not linked to the one before it of process {row.process_id}")
        self.chains[row.process_id] = Tail(process, row.n, row.hash)

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
