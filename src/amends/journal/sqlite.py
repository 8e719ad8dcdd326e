"""The journal of one machine: a SQLite file, kept blobs beside it, and a lock for each process that has it open.

A commit is one BEGIN IMMEDIATE … COMMIT: what is recorded is read, judged by the shared rule, and written, while
nobody else can write. Threads that wait for one that commits share the next commit, and its one sync. Durable means
synced when `commit` returns. An intent whose commit failed is never judged by reading: it is written again and
abandoned, in a transaction of its own, before anything else (invariants 4 and 5).
A forked child can't use its parent's journal.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from weakref import WeakSet

import apsw

from amends.contract.operation import Claim, canonical_json
from amends.errors import AmendsError, BudgetSpentError, ClaimHeldError, ConflictError, JournalError
from amends.ports import Clock, Event, Ids, OpenSubject, Verification
from amends.recovery import Aim, Spent

from .blob import DIGEST, BlobFolder, sync_folder
from .chain import DamagedError, Row, Written, claims_text, genesis, link, replay, standing_from, written
from .database import JOURNAL_FILE, SYNCHRONOUS_FULL, SYNCHRONOUS_NORMAL, ask, open_database, queries, set_synchronous
from .forgetting import forget
from .owner import Owner, opening, sweep
from .rule import Change, Standing, has_intent, judge, settle_doubt, spending
from .trouble import damaged, unusable
from .verification import Tail, verify

_END = chr(0x10FFFF)  # comes after every other character

_LIVE: WeakSet[SqliteJournal] = WeakSet()
_LEFT_TO_PARENT: list[apsw.Connection] = []  # never closed: SQLite would think that the parent's file is its own


@dataclass(slots=True, eq=False)
class _Ticket:
    """What one caller of `commit` brought, and what became of it."""

    events: tuple[Event, ...]
    batch: list[Written]
    durable: bool
    is_done: bool = False
    error: Exception | None = None


class SqliteJournal:
    """A Journal in a folder."""

    def __init__(self, folder: Path, *, clock: Clock, ids: Ids) -> None:
        """Open the journal in `folder`, making it if there is none. Raises JournalError if that can't be done."""
        self._path = folder / JOURNAL_FILE
        self._clock = clock
        self._sql = queries()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._process_id = ids.new("pr")
        self._tail: Tail | None = None
        self._last_told: Tail | None = None
        self._doubtful: list[tuple[Event, ...]] = []
        self._waiting: deque[_Ticket] = deque()
        self._synchronous = SYNCHRONOUS_FULL
        try:
            _make_folder(folder)
            with opening(folder / "owners"):
                sweep(folder / "owners")
                self._owner = Owner(folder / "owners", self._process_id)
                try:
                    self._blobs = BlobFolder(folder / "blobs", owner=self._process_id)
                    self._blobs.sweep(self._owner.is_alive)
                    database, self._journal_id = open_database(self._path, new_journal_id=lambda: ids.new("jn"))
                except BaseException:
                    self._owner.close()
                    raise
            self._database: apsw.Connection | None = database
        except UnicodeDecodeError as error:
            raise damaged(self._path, f"a text in it is none: {error}") from error
        except (apsw.Error, OSError) as error:
            raise unusable(self._path, error) from error
        _LIVE.add(self)

    @property
    def journal_id(self) -> str:
        """The id that binds surfaces to this journal."""
        return self._journal_id

    @property
    def process_id(self) -> str:
        """The id of this opening's chain."""
        return self._process_id

    # --- writing ---------------------------------------------------------------------------------------------------

    def commit(self, events: Sequence[Event], *, durable: bool = True) -> None:
        """Append `events`, all or none; see the port. Doubtful intents of earlier commits are abandoned first."""
        ticket = _Ticket(tuple(events), [written(event) for event in events], durable)
        if not ticket.batch:
            return
        self._refuse_strangers()
        self._waiting.append(ticket)
        try:
            with self._usable():
                if not ticket.is_done:
                    self._commit_waiting()
        except BaseException:  # broken off while it waited
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            elif ticket.error is None and has_intent(events):
                self._doubtful.append(ticket.events)
            raise
        if ticket.error is not None:
            raise ticket.error

    def _commit_waiting(self) -> None:
        """Commit, for all who wait, what each of them brought: one sync for them together, and each its own answer."""
        tickets = [self._waiting.popleft() for _ in range(len(self._waiting))]
        synchronous = SYNCHRONOUS_FULL if any(ticket.durable for ticket in tickets) else SYNCHRONOUS_NORMAL
        try:
            if self._doubtful:
                self._transact(self._settle_doubt, synchronous=SYNCHRONOUS_FULL)
                self._doubtful.clear()
            self._transact(lambda: self._append_each(tickets), synchronous=synchronous)
        except BaseException as error:
            for ticket in tickets:
                if ticket.error is None:
                    ticket.error = self._told(error)
                    if has_intent(ticket.events) and not isinstance(error, ConflictError | ValueError):
                        self._doubtful.append(ticket.events)
            if not isinstance(error, Exception):
                raise
        finally:
            for ticket in tickets:
                ticket.is_done = True

    def _append_each(self, tickets: Sequence[_Ticket]) -> None:
        """Write what each brought; one that is refused leaves nothing behind and takes nobody with it."""
        if len(tickets) == 1:
            self._append(tickets[0].batch)
            return
        assert self._database is not None
        for ticket in tickets:
            try:
                with self._database:  # a savepoint
                    self._append(ticket.batch)
            except (ConflictError, ValueError) as refusal:
                ticket.error = refusal

    def _told(self, error: BaseException) -> Exception:
        """Give what one of those who waited for a commit that failed is told."""
        if isinstance(error, apsw.Error | OSError):
            told = unusable(self._path, error)
            told.__cause__ = error
            return told
        if isinstance(error, Exception):
            return error
        return JournalError(f"{self._path}: a commit was broken off", hint="amends verify")

    def _transact(self, write: Callable[[], None], *, synchronous: int) -> None:
        assert self._database is not None
        database = self._database
        if synchronous != self._synchronous:
            self._synchronous = 0  # unknown, until it is seen to be what was asked for
            set_synchronous(database, synchronous)
            self._synchronous = synchronous
        try:
            ask(database, "BEGIN IMMEDIATE")
            write()
            self._end_transaction()
        except BaseException:
            self._tail = None
            if database.in_transaction:
                with suppress(apsw.Error):
                    ask(database, "ROLLBACK")
            raise

    def _end_transaction(self) -> None:
        """Commit. The seam at which tests make a commit fail before or after it took effect."""
        assert self._database is not None
        ask(self._database, "COMMIT")
        self._last_told = self._tail

    def _settle_doubt(self) -> None:
        for events in self._doubtful:
            settle_doubt(
                events,
                self,
                append=self._append_again,
                is_own_intent=self._is_own_intent,
                at_ms=self._clock.now_ms(),
            )

    def _append_again(self, events: Sequence[Event]) -> None:
        assert self._database is not None
        with self._database:  # a savepoint: what is refused here leaves nothing behind in the transaction around it
            self._append([written(event) for event in events])

    def _append(self, batch: Sequence[Written]) -> None:
        """Judge and write `batch` inside the running transaction."""
        changes = judge([item.event for item in batch], self)
        tail = self._tail or self._read_tail() or self._register()
        process, n, prev = tail.process, tail.n, tail.hash
        first: dict[str, int] = {}
        assert self._database is not None
        for item in batch:
            event, n = item.event, n + 1
            current = link(prev, self._process_id, n, item)
            row = (event.subject, event.happened.value, event.epoch, event.at_ms, item.data, item.claims)
            self._run("insert_event", process, n, *row, int(event.releases), prev, current)
            first.setdefault(event.subject, self._database.last_insert_rowid())
            prev = current
            more = spending(event)
            if more is not None:
                self._spend(event.subject, more)
        for subject, change in changes.items():
            self._free(subject, change)
        for subject, change in changes.items():
            self._save(subject, change, since=first[subject])
        self._tail = Tail(process, n, prev)

    def _free(self, subject: str, change: Change) -> None:
        if change.before is not None and change.before.claims != change.after.claims:
            for claim in change.before.claims:
                self._run("delete_claim", claim.name, subject)

    def _save(self, subject: str, change: Change, *, since: int) -> None:
        before, after = change.before, change.after
        if after.claims != (before.claims if before else ()):
            for claim in after.claims:
                self._take(subject, claim)
        if after.is_open:
            state = (after.state.value, after.epoch, int(after.is_delivered), claims_text(after.claims))
            about = (after.transaction, after.fingerprint, after.reverses)
            begun = before.since if before else since
            self._run("save_open_subject", subject, *state, *about, begun, canonical_json(after.places))
        elif before is not None and before.is_open:
            self._run("delete_open_subject", subject)
        was = before.places if before and before.is_open else ()
        now = after.places if after.is_open else ()
        if was != now:  # they only grow, until it is over
            for name in sorted({*now} - {*was}):
                self._run("insert_open_place", name, subject)
            if not now:
                self._run("delete_open_places", canonical_json(was), subject)

    def _spend(self, transaction: str, more: Spent) -> None:
        """Write the budget's rows. Their constraints say again what the rule has said."""
        try:
            ((count,),) = self._run("recoveries_of", transaction)
            self._run("insert_recovery", transaction, cast("int", count) + 1)
            for name in sorted(more.fingerprints):
                self._run("insert_spent_fingerprint", transaction, name)
            for aim in sorted(more.aims, key=lambda each: (each.target, each.field)):
                self._run("insert_spent_aim", transaction, aim.target, aim.field)
        except apsw.ConstraintError as error:
            raise BudgetSpentError from error

    def _take(self, subject: str, claim: Claim) -> None:
        try:
            self._run("insert_claim", claim.name, int(claim.subtree), subject)
        except apsw.ConstraintError as error:
            (holder, name, _), *_ = self._run("claims_named", canonical_json([claim.name]))
            raise ClaimHeldError(str(holder), str(name)) from error

    def _read_tail(self) -> Tail | None:
        """Find where this process's chain ends, after a failure or before its first commit."""
        known = self._run("process_named", self._process_id)
        if not known:
            return None
        process, first = cast("tuple[int, bytes]", known[0])
        last = self._run("last_of_process", process)
        n, current = cast("tuple[int, bytes]", last[0]) if last else (0, first)
        return Tail(process, n, current)

    def _register(self) -> Tail:
        last = self._run("last_hash")
        first = genesis(cast("bytes", last[0][0]) if last else None, self._journal_id)
        self._run("insert_process", self._process_id, self._clock.now_ms(), first)
        assert self._database is not None
        return Tail(self._database.last_insert_rowid(), 0, first)

    # --- what is recorded, for the rule ----------------------------------------------------------------------------

    def standing(self, subject: str) -> Standing | None:
        """Give where `subject` stands, as the rule asks inside a commit."""
        rows = self._run("open_subject", subject)
        if rows:
            return self._standing_from(rows[0])
        return self._history(subject)[1] if self._run("is_known", subject) else None

    def spent(self, transaction: str) -> Spent:
        """Give what the recoveries of `transaction` have used up."""
        ((count,),) = self._run("recoveries_of", transaction)
        if not count:
            return Spent()
        fingerprints = frozenset(str(name) for (name,) in self._run("spent_fingerprints_of", transaction))
        aims = frozenset(Aim(str(target), str(field)) for target, field in self._run("spent_aims_of", transaction))
        return Spent(fingerprints, aims, cast("int", count))

    def claimed(self, claims: Sequence[Claim]) -> Iterator[tuple[str, Claim]]:
        """Give the held claims that may overlap: those of the same names, above them, and below subtrees."""
        found = self._run("claims_named", _and_above(claim.name for claim in claims))
        for claim in claims:
            if claim.subtree:
                found += self._run("claims_between", claim.name + "/", claim.name + "0")  # `0` comes after `/`
        for holder, name, subtree in found:
            yield str(holder), Claim(str(name), bool(subtree))

    def _standing_from(self, row: Sequence[apsw.SQLiteValue]) -> Standing:
        try:
            return standing_from(row)
        except (TypeError, ValueError) as error:
            raise damaged(self._path, f"a row of what is open can't be read: {error}") from error

    def _is_own_intent(self, subject: str) -> bool:
        return bool(self._run("is_own_intent", subject, self._process_id))

    def _history(self, subject: str) -> tuple[list[Event], Standing | None]:
        """Read the events of `subject`, each against its hash, and all against what is recorded as open."""
        rows = self._run("events_of", subject)
        try:
            events, standing = replay(Row.of(row[:12]) for row in rows)
        except DamagedError as error:
            raise damaged(self._path, error) from error
        if standing is not None:
            expected = (standing.state, standing.epoch) if standing.is_open else (None, None)
            if rows[-1][12:] != expected:
                raise damaged(self._path, f"the events of {subject} are not all there")
        return events, standing

    # --- reading ---------------------------------------------------------------------------------------------------

    def events(self, subject: str) -> list[Event]:
        """Give all events of `subject` in order, each checked against its hash."""
        with self._usable():
            return self._history(subject)[0]

    def row(self, subject: str) -> OpenSubject | None:
        """Give where `subject` stands; None if it is over."""
        with self._usable():
            rows = self._run("open_subject", subject)
            return self._standing_from(rows[0]).shown(subject) if rows else None

    def open(self) -> list[OpenSubject]:
        """Give everything that is not over, oldest first."""
        with self._usable():
            return [self._standing_from(row).shown(str(subject)) for subject, *row in self._run("all_open_subjects")]

    def touching(self, *, fingerprints: Collection[str], places: Collection[str]) -> list[OpenSubject]:
        """Give the open writes that do one of `fingerprints`, then the open transactions about one of `places`."""
        with self._usable():
            rows = self._run("open_with_fingerprints", canonical_json(sorted(fingerprints))) if fingerprints else []
            if places:
                rows += self._run("open_at_places", _and_above(places), canonical_json(sorted(places)))
            return [self._standing_from(row).shown(str(subject)) for subject, *row in rows]

    def matching(self, prefix: str, *, limit: int, before: str = "") -> list[str]:
        """Give subjects whose id begins with `prefix`, newest first; with `before`, only older ones than that."""
        with self._usable():
            rows = self._run("subjects_between", prefix, min(before or prefix + _END, prefix + _END), limit)
            return [str(subject) for (subject,) in rows]

    def listing(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Give subjects whose id begins with `prefix` and comes after `after`, oldest first."""
        with self._usable():
            rows = self._run("subjects_after", max(prefix, after), prefix + _END, limit)
            return [str(subject) for (subject,) in rows]

    def forget(self, subjects: Sequence[str]) -> int:
        """Remove all events of `subjects`, all or none."""
        gone = 0

        def remove() -> None:
            nonlocal gone
            gone = forget(subjects, self._run)

        with self._usable():
            self._transact(remove, synchronous=SYNCHRONOUS_FULL)
            return gone

    def sweep_blobs(self, *, before_ms: int) -> int:
        """Remove kept bytes that no event names and nobody kept again since `before_ms`."""
        with self._usable():
            named = {found for (data,) in self._each("all_data") for found in DIGEST.findall(str(data))}
            return self._blobs.forget(lambda name: name not in named, before_ms=before_ms)

    def is_alive(self, process_id: str) -> bool:
        """Say whether that process still has the journal open."""
        with self._usable():
            return self._owner.is_alive(process_id)

    def verify(self) -> Verification:
        """Read everything in one transaction and check it. Damage is reported, not raised."""
        with self._usable():
            assert self._database is not None
            return verify(self._database, self._path, self._blobs, own=(self._process_id, self._last_told))

    # --- blobs -----------------------------------------------------------------------------------------------------

    def put_blob(
        self, content: BinaryIO, *, bytes_max: int, progress: Callable[[int], None] | None = None
    ) -> tuple[str, int]:
        """Keep bytes under their digest and give (`sha256:<hex>`, size), durably."""
        self._refuse_strangers()
        return self._blobs.put(content, bytes_max=bytes_max, progress=progress)

    def open_blob(self, digest: str) -> BinaryIO:
        """Open kept bytes for reading."""
        self._refuse_strangers()
        return self._blobs.open(digest)

    # --- the end ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Abandon what is in doubt, if that can be done now, and give up the process's place."""
        if self._pid != os.getpid() or self._database is None:
            return
        with self._lock:
            if self._doubtful:
                with suppress(AmendsError, apsw.Error, OSError):
                    self._transact(self._settle_doubt, synchronous=SYNCHRONOUS_FULL)
                self._doubtful.clear()
            database, self._database = self._database, None
            if database is not None:
                with suppress(apsw.Error):  # what was committed is in the synced log; the next opening checkpoints it
                    database.close()
            self._owner.close()

    def _refuse_strangers(self) -> None:
        if self._pid != os.getpid():
            raise JournalError("a forked process can't use its parent's journal", hint="open it again in the child")
        if self._database is None:
            raise JournalError("this journal was closed", hint="open it again")

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Let one thread at a time in, and translate whatever SQLite or the disk says."""
        self._refuse_strangers()  # before the lock, which a thread of the parent may hold for ever
        with self._lock:
            self._refuse_strangers()
            try:
                yield
            except UnicodeDecodeError as error:  # SQLite hands on any bytes as text
                raise damaged(self._path, f"a text in it is none: {error}") from error
            except (apsw.Error, OSError) as error:
                raise unusable(self._path, error) from error

    def _run(self, name: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
        assert self._database is not None
        return list(self._database.execute(self._sql[name], values))

    def _each(self, name: str) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
        assert self._database is not None
        return self._database.execute(self._sql[name])

    def leave_to_parent(self) -> None:
        """In a forked child: let go of the lock and the file without touching what is the parent's."""
        if self._database is not None:
            _LEFT_TO_PARENT.append(self._database)
            self._owner.leave_to_parent()


def _and_above(names: Iterable[str]) -> str:
    """Give `names` and what they are in, as JSON."""
    named = set(names)
    return canonical_json(sorted(named | {name[:at] for name in named for at, it in enumerate(name) if it == "/"}))


def _make_folder(folder: Path) -> None:
    """Make `folder` so that its name survives a power cut, as what is committed in it does."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def _in_forked_child() -> None:
    for journal in list(_LIVE):
        journal.leave_to_parent()


os.register_at_fork(after_in_child=_in_forked_child)
