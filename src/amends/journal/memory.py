"""A journal in memory, with the semantics of the real ones, for tests and simulations.

One store, any number of processes over it: `reopened` is another opening, `kill` ends one without a word, `lose_power`
ends all and takes what was not durable. `fail_next_commit` makes a commit fail before or after it took effect, or so
that it shows only after the power was lost, as a failed sync can.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import BinaryIO, Literal

from amends.contract.lifecycle import Happened
from amends.contract.operation import Claim
from amends.errors import ConflictError, JournalError
from amends.ports import Clock, Event, Ids, OpenSubject, Verification
from amends.recovery import Spent

from .blob import DIGEST, chunks
from .chain import Written, written
from .rule import Standing, has_intent, judge, settle_doubt, spent_by, step


@dataclass(frozen=True, slots=True)
class _Kept:
    process_id: str
    item: Written
    is_durable: bool

    def event(self) -> Event:
        """Give a copy that nobody else holds."""
        return replace(self.item.event, data=json.loads(self.item.data))


@dataclass(slots=True)
class _Store:
    """What outlives a process."""

    journal_id: str
    kept: list[_Kept] = field(default_factory=list)
    by_subject: dict[str, list[_Kept]] = field(default_factory=dict)
    standings: dict[str, Standing] = field(default_factory=dict)
    open: dict[str, Standing] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    lingering: tuple[str, list[Written]] | None = None
    lock: RLock = field(default_factory=RLock)

    def standing(self, subject: str) -> Standing | None:
        """Give where `subject` stands."""
        return self.standings.get(subject)

    def spent(self, transaction: str) -> Spent:
        """Give what the recoveries of `transaction` have used up."""
        return spent_by(kept.item.event for kept in self.by_subject.get(transaction, []))

    def claimed(self, claims: Sequence[Claim]) -> Iterator[tuple[str, Claim]]:
        """Give all held claims: there are few, and the rule compares them."""
        del claims
        return ((subject, claim) for subject, standing in self.open.items() for claim in standing.claims)

    def append(self, process_id: str, batch: Sequence[Written], *, is_durable: bool) -> None:
        """Judge and keep `batch`."""
        changes = judge([item.event for item in batch], self)
        since: dict[str, int] = {}
        for item in batch:
            kept = _Kept(process_id, item, is_durable)
            self.kept.append(kept)
            self.by_subject.setdefault(item.event.subject, []).append(kept)
            since.setdefault(item.event.subject, len(self.kept))
        for subject, change in changes.items():
            standing = change.after if change.before else replace(change.after, since=since[subject])
            self.standings[subject] = standing
            if standing.is_open:
                self.open[subject] = standing
            else:
                self.open.pop(subject, None)


class MemoryJournal:
    """A Journal in memory."""

    def __init__(self, *, clock: Clock, ids: Ids, store: _Store | None = None) -> None:
        """Make an empty journal; `reopened` gives further openings of it."""
        self._clock = clock
        self._ids = ids
        self._store = store or _Store(ids.new("jn"))
        self._process_id = ids.new("pr")
        self._store.alive.add(self._process_id)
        self._doubtful: list[tuple[Event, ...]] = []
        self.fail_next_commit: Literal["before", "after", "lingering"] | None = None

    @property
    def journal_id(self) -> str:
        """The id that binds surfaces to this journal."""
        return self._store.journal_id

    @property
    def process_id(self) -> str:
        """The id of this opening."""
        return self._process_id

    # --- what happens to processes ---------------------------------------------------------------------------------

    def reopened(self) -> MemoryJournal:
        """Open the same journal once more, as another process."""
        return MemoryJournal(clock=self._clock, ids=self._ids, store=self._store)

    def kill(self) -> None:
        """End this process without a word; what it still has in doubt is not abandoned."""
        self._store.alive.discard(self._process_id)

    def lose_power(self) -> None:
        """End all processes, lose what no durable commit followed, and let a commit that lingers show."""
        store = self._store
        durable = max((at for at, kept in enumerate(store.kept, start=1) if kept.is_durable), default=0)
        rest, lingering = store.kept[:durable], store.lingering if durable == len(store.kept) else None
        for emptied in (store.by_subject, store.standings, store.open):
            emptied.clear()
        store.kept = []
        for kept in rest:
            store.append(kept.process_id, [kept.item], is_durable=True)
        if lingering is not None:
            store.append(lingering[0], lingering[1], is_durable=True)
        store.lingering = None
        store.alive.clear()

    # --- the port --------------------------------------------------------------------------------------------------

    def commit(self, events: Sequence[Event], *, durable: bool = True) -> None:
        """Append `events`, all or none; see the port. Doubtful intents of earlier commits are abandoned first."""
        batch = [written(event) for event in events]
        if not batch:
            return
        with self._store.lock:
            self._refuse_dead()
            try:
                if self._doubtful:
                    self._end_transaction(self._settle_doubt)
                    self._doubtful.clear()
                self._end_transaction(lambda: self._append(batch, is_durable=durable), batch)
            except (ConflictError, ValueError):
                raise
            except BaseException:
                if has_intent(events):
                    self._doubtful.append(tuple(events))
                raise

    def _end_transaction(self, write: Callable[[], None], batch: Sequence[Written] = ()) -> None:
        fault, self.fail_next_commit = self.fail_next_commit, None
        if fault in (None, "after"):
            write()
            self._store.lingering = None
        else:
            judge([item.event for item in batch], self._store)
        if fault == "lingering":
            self._store.lingering = (self._process_id, list(batch))
        if fault is not None:
            raise JournalError("the journal in memory can't be used: its commit was made to fail")

    def _append(self, batch: Sequence[Written], *, is_durable: bool) -> None:
        self._store.append(self._process_id, batch, is_durable=is_durable)

    def _settle_doubt(self) -> None:
        for events in self._doubtful:
            settle_doubt(
                events,
                self._store,
                append=lambda again: self._append([written(event) for event in again], is_durable=True),
                is_own_intent=self._is_own_intent,
                at_ms=self._clock.now_ms(),
            )

    def _is_own_intent(self, subject: str) -> bool:
        kept = self._store.by_subject.get(subject, [])
        return any((k.process_id, k.item.event.happened) == (self._process_id, Happened.INTENDED) for k in kept)

    def events(self, subject: str) -> list[Event]:
        """Give all events of `subject` in order."""
        with self._store.lock:
            self._refuse_dead()
            return [kept.event() for kept in self._store.by_subject.get(subject, [])]

    def row(self, subject: str) -> OpenSubject | None:
        """Give where `subject` stands; None if it is over."""
        with self._store.lock:
            self._refuse_dead()
            standing = self._store.open.get(subject)
            return None if standing is None else standing.shown(subject)

    def open(self) -> list[OpenSubject]:
        """Give everything that is not over, oldest first."""
        with self._store.lock:
            self._refuse_dead()
            found = sorted(self._store.open.items(), key=lambda item: item[1].since)
            return [standing.shown(subject) for subject, standing in found]

    def touching(self, *, fingerprints: Collection[str], places: Collection[str]) -> list[OpenSubject]:
        """Give the open writes that do one of `fingerprints`, then the open transactions about one of `places`."""
        wanted = [Claim(name, subtree=True) for name in places]
        with self._store.lock:
            self._refuse_dead()
            found = sorted(self._store.open.items(), key=lambda item: item[1].since)
            writes = [standing.shown(subject) for subject, standing in found if standing.fingerprint in fingerprints]
            return writes + [
                standing.shown(subject)
                for subject, standing in found
                if any(Claim(name, subtree=True).overlaps(each) for name in standing.places for each in wanted)
            ]

    def matching(self, prefix: str, *, limit: int, before: str = "") -> list[str]:
        """Give subjects whose id begins with `prefix`, newest first; with `before`, only older ones than that."""
        with self._store.lock:
            self._refuse_dead()
            found = (s for s in self._store.by_subject if s.startswith(prefix) and (not before or s < before))
            return sorted(found, reverse=True)[:limit]

    def listing(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Give subjects whose id begins with `prefix` and comes after `after`, oldest first."""
        with self._store.lock:
            self._refuse_dead()
            return sorted(s for s in self._store.by_subject if s.startswith(prefix) and s > after)[:limit]

    def forget(self, subjects: Sequence[str]) -> int:
        """Remove all events of `subjects`, all or none."""
        store = self._store
        with store.lock:
            self._refuse_dead()
            for subject in subjects:
                if subject in store.open or store.spent(subject).count:
                    raise ConflictError(f"{subject} is not over")
            if any(standing.reverses in subjects for standing in store.open.values()):
                raise ConflictError("an undo of it is under way")
            if store.kept and store.kept[-1].item.event.subject in subjects:
                raise ConflictError("the last event of a journal is never forgotten")
            for subject in subjects:
                store.by_subject.pop(subject, None)
                store.standings.pop(subject, None)
            rest = [kept for kept in store.kept if kept.item.event.subject not in subjects]
            gone, store.kept[:] = len(store.kept) - len(rest), rest
            return gone

    def sweep_blobs(self, *, before_ms: int) -> int:
        """Remove kept bytes that no event names; a journal in memory does not know how old they are."""
        del before_ms
        with self._store.lock:
            named = {found for kept in self._store.kept for found in DIGEST.findall(kept.item.data)}
            unnamed = [digest for digest in self._store.blobs if digest.removeprefix("sha256:") not in named]
            for digest in unnamed:
                del self._store.blobs[digest]
            return len(unnamed)

    def is_alive(self, process_id: str) -> bool:
        """Say whether that process still has the journal open."""
        self._refuse_dead()
        return process_id in self._store.alive

    def put_blob(
        self, content: BinaryIO, *, bytes_max: int, progress: Callable[[int], None] | None = None
    ) -> tuple[str, int]:
        """Keep bytes under their digest and give (`sha256:<hex>`, size)."""
        self._refuse_dead()
        kept = bytearray()
        for chunk in chunks(content, bytes_max=bytes_max):
            kept += chunk
            if progress is not None:
                progress(len(kept))
        digest = f"sha256:{hashlib.sha256(kept).hexdigest()}"
        self._store.blobs[digest] = bytes(kept)
        return digest, len(kept)

    def open_blob(self, digest: str) -> BinaryIO:
        """Open kept bytes for reading."""
        self._refuse_dead()
        if digest not in self._store.blobs:
            raise JournalError(f"the kept bytes {digest} are gone", hint="amends verify")
        return io.BytesIO(self._store.blobs[digest])

    def verify(self) -> Verification:
        """Fold everything again and compare; there are no rows that could be torn."""
        with self._store.lock:
            self._refuse_dead()
            faults = []
            for subject, kept in self._store.by_subject.items():
                standing: Standing | None = None
                for item in kept:
                    standing = step(standing, item.item.event)
                found = self._store.standings[subject]
                if standing is None or replace(standing, since=found.since) != found:
                    faults.append(f"what is recorded of {subject} is not what its events come to")
            processes = {kept.process_id for kept in self._store.kept}
            return Verification(len(self._store.kept), len(processes), len(self._store.blobs), tuple(faults))

    def close(self) -> None:
        """Abandon what is in doubt, and give up the process's place."""
        if self._process_id in self._store.alive:
            if self._doubtful:
                with suppress(JournalError):
                    self._end_transaction(self._settle_doubt)
            self.kill()

    def _refuse_dead(self) -> None:
        if self._process_id not in self._store.alive:
            raise JournalError("this journal was closed", hint="open it again")
