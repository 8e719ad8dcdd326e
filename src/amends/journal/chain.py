"""The form in which an event is kept, and the hash chain of a process.

hash = SHA-256(prev || canonical JSON of [process, n, subject, happened, epoch, at_ms, data, claims, releases]). The
first `prev` of a process is its genesis: the hash of the event that the journal ended with when the process first
wrote, so that the chains hold each other. What was flipped or torn is found when it is read (invariant 21); a tail
that was cut off cleanly from the whole journal is not, unless its last hash was kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import cast

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim, canonical_json
from amends.errors import LostRaceError, PayloadError
from amends.ports import Event

from .rule import Standing, step

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""Content is kept as blobs and named by digest, so what is left is far smaller; SQLite itself would refuse 1 GB."""


class DamagedError(Exception):
    """A row is not what was written. Stays inside the journal, which says where it was found."""


@dataclass(frozen=True, slots=True)
class Written:
    """An event with its data and claims in the text that is stored and hashed."""

    event: Event
    data: str
    claims: str


def written(event: Event) -> Written:
    """Bring `event` into the form that is kept, before anything is written.

    Raises ValueError or TypeError for what JSON can't say, half a surrogate pair included, and PayloadError for what
    is too long.
    """
    data, claims = canonical_json(event.data), claims_text(event.claims)
    size = len(f"{event.subject}{data}{claims}".encode())
    if size > EVENT_BYTES_MAX:
        raise PayloadError(f"a record of {size} bytes is more than {EVENT_BYTES_MAX}", hint="send less in one write")
    return Written(event, data, claims)


def claims_text(claims: Sequence[Claim]) -> str:
    """Write claims in the form that is kept."""
    return canonical_json([[claim.name, claim.subtree] for claim in claims]) if claims else "[]"


def claims_from(text: str) -> tuple[Claim, ...]:
    """Read what `claims_text` wrote."""
    return tuple(Claim(name, subtree) for name, subtree in json.loads(text)) if text != "[]" else ()


def link(prev: bytes, process_id: str, n: int, item: Written) -> bytes:
    """Give the hash of the `n`-th event of a process, which comes after the one with hash `prev`.

    The canonical JSON is put together from its parts, since data and claims are in that form already.
    """
    event = item.event
    name, subject, happened = map(encode_basestring, (process_id, event.subject, event.happened))
    releases = "true" if event.releases else "false"
    text = f"[{name},{n},{subject},{happened},{event.epoch},{event.at_ms},{item.data},{item.claims},{releases}]"
    return hashlib.sha256(prev + text.encode()).digest()


def genesis(last_hash: bytes | None, journal_id: str) -> bytes:
    """Give the first `prev` of a process: what the journal ended with, or the journal's id if it was empty."""
    return last_hash if last_hash is not None else hashlib.sha256(journal_id.encode()).digest()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the events table, as it was found. Its columns, in the order of the query."""

    seq: int
    process_id: str
    n: int
    subject: str
    happened: str
    epoch: int
    at_ms: int
    data: str
    claims: str
    releases: int
    prev: bytes
    hash: bytes

    @classmethod
    def of(cls, values: Sequence[object]) -> Row:
        """Name the columns of one found row; the table is STRICT, so their types are what they should be."""
        return cls(*cast("tuple[int, str, int, str, str, int, int, str, str, int, bytes, bytes]", values))

    def event(self) -> Event:
        """Give the event, if the row is what was written; else raise DamagedError."""
        try:
            event = Event(
                self.subject,
                Happened(self.happened),
                self.at_ms,
                json.loads(self.data),
                self.epoch,
                claims_from(self.claims),
                releases=bool(self.releases),
            )
            expected = link(self.prev, self.process_id, self.n, Written(event, self.data, self.claims))
        except (TypeError, ValueError, AttributeError) as error:
            raise DamagedError(f"event {self.seq} of {self.subject} can't be read: {error}") from error
        if expected != self.hash:
            raise DamagedError(f"event {self.seq} of {self.subject} is not what was written")
        return event


def standing_from(values: Sequence[object]) -> Standing:
    """Read where a subject stands from its row in the open table, all but the subject's name."""
    state, epoch, is_delivered, claims, transaction, fingerprint, reverses, since, places = cast(
        "tuple[str, int, int, str, str | None, str | None, str | None, int, str]", values
    )
    about = (transaction, fingerprint, reverses)
    named = tuple(map(str, json.loads(places))) if places != "[]" else ()
    return Standing(State(state), epoch, bool(is_delivered), claims_from(claims), *about, since, named)


def replay(rows: Iterable[Row]) -> tuple[list[Event], Standing | None]:
    """Give the events of one subject and where they lead; raise DamagedError if they can't be its whole history."""
    events: list[Event] = []
    standing: Standing | None = None
    for row in rows:
        event = row.event()
        try:
            following = step(standing, event)
        except (LostRaceError, ValueError) as error:
            raise DamagedError(f"event {row.seq} can't follow the ones before it: {error}") from error
        standing = following if standing else replace(following, since=row.seq)
        events.append(event)
    return events, standing
