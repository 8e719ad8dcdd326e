"""What the broker needs from the world: a journal, surfaces, a clock and ids, and the values that pass between them.

Protocols and plain values only. Whatever implements one of them is tested by a conformance suite in
`amends.testing`; both sides of each port check what crosses it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from .contract.guarantee import Guarantee
from .contract.lifecycle import Happened, State
from .contract.operation import Claim, Json, Observation, Operation, OperationKind
from .contract.outcome import Evidence
from .contract.proposal import WriteProposal

# --- the journal -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one subject (an operation or a transaction). Never changed, never removed.

    `epoch` is the one under which the writer works: 0 before the intent, 1 with it, one more with each `taken_over`.
    `claims` are taken with the event, all or none; `releases` frees what the subject holds.
    """

    subject: str
    happened: Happened
    at_ms: int
    data: dict[str, Json] = field(default_factory=dict)
    epoch: int = 0
    claims: tuple[Claim, ...] = ()
    releases: bool = False


@dataclass(frozen=True, slots=True)
class OpenSubject:
    """A row of the table of what is not over: unsettled, holding claims, undelivered, or BLOCKED.

    `fingerprint`, `transaction` and `reverses` are those of the `proposed` event's data; None for a transaction.
    """

    subject: str
    state: State
    epoch: int
    transaction: str | None = None
    fingerprint: str | None = None
    reverses: str | None = None
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found: how much was read, and every fault in words. No faults, no doubt about what was read."""

    events: int
    processes: int
    blobs: int
    faults: tuple[str, ...]


class Blobs(Protocol):
    """Bytes kept under their digest: payloads to send, and what an undo brings back."""

    def put_blob(self, content: BinaryIO, *, bytes_max: int) -> tuple[str, int]:
        """Keep bytes under their digest and give (`sha256:<hex>`, size). Raises PayloadError past `bytes_max`."""

    def open_blob(self, digest: str) -> BinaryIO:
        """Open kept bytes for reading. Raises JournalError if they are gone."""


class Journal(Blobs, Protocol):
    """Append-only events, and a table of what is open. All methods may raise JournalError.

    A batch is committed whole or not at all. The state of a subject is the fold of its events through the lifecycle
    table, so an illegal event is refused by every implementation alike.
    """

    @property
    def journal_id(self) -> str:
        """The id that binds surfaces to this journal."""

    @property
    def process_id(self) -> str:
        """The id of this process's chain: fresh for each opening, never a host name or pid."""

    def commit(self, events: Sequence[Event], *, durable: bool = True) -> None:
        """Append `events` in order and bring the open table up to date, in one step.

        Before the first claim or event is written every event is checked: the lifecycle allows it, and its epoch is
        the subject's (one more for `taken_over`, 1 for `intended`). Raises LostRaceError or ClaimHeldError, which
        leave nothing behind, and JournalError, after which nothing is known: if the batch held an `intended` event,
        it may come back, and the next commit first records it as abandoned. `durable=False` may lose the batch, and
        only it, to a power cut.
        """

    def events(self, subject: str) -> list[Event]:
        """Give all events of `subject` in order; an empty list if there is none. Damaged ones raise JournalError."""

    def row(self, subject: str) -> OpenSubject | None:
        """Give where `subject` stands; None if it is over, or has no event."""

    def open(self) -> list[OpenSubject]:
        """Give everything that is not over, oldest first."""

    def touching(self, *, fingerprints: Collection[str], places: Collection[str]) -> list[OpenSubject]:
        """Give the open writes that do one of `fingerprints`, then the open transactions about one of `places`.

        A place is a target, and stands for all below it too. Each part oldest first. What a transaction is about is
        in the data of its `opened` and `recovering` events, as `places`.
        """

    def matching(self, prefix: str, *, limit: int, before: str = "") -> list[str]:
        """Give subjects whose id begins with `prefix`, newest first; with `before`, only older ones than that."""

    def listing(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Give subjects whose id begins with `prefix` and comes after `after`, oldest first."""

    def forget(self, subjects: Sequence[str]) -> int:
        """Remove all events of `subjects`, all or none; give how many there were. The chains still verify.

        Raises ConflictError for a subject that is open, has used up recoveries, or wrote the journal's last event.
        """

    def sweep_blobs(self, *, before_ms: int) -> int:
        """Remove kept bytes that no event names and nobody kept again since `before_ms`; give how many."""

    def is_alive(self, process_id: str) -> bool:
        """Say whether that process still has the journal open."""

    def verify(self) -> Verification:
        """Read everything and check it: chains, states, open table, blobs."""

    def close(self) -> None:
        """Give up the process's place; nothing may follow."""


# --- a surface -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A write as somebody asked for it: spellings, not yet targets. `local_file` is an absolute path (upload)."""

    kind: OperationKind
    surface: str
    key: str
    source_key: str | None = None
    fields: dict[str, Json] = field(default_factory=dict)
    local_file: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A write with everything materialised: what will be sent, and what was seen when it was planned.

    `payload` is JSON and names blobs by digest; nothing in it changes any more. `shown_source` is what was seen at the
    source of a move or rename. `warnings` are sentences to show before confirming. `undoable` says whether the surface
    could reverse it. `keeps_receipt` says that the receipt of its landing is found by `fence`, outlives whatever
    overwrites the target, is at least as durable as the journal, and is not pruned before the journal's next sync: then
    the record of `applied` may be lost to a power cut, since the receipt settles it again.
    """

    operation: Operation
    payload: dict[str, Json]
    shown: Observation
    guarantee: Guarantee
    undoable: bool
    warnings: tuple[str, ...] = ()
    shown_source: Observation | None = None
    keeps_receipt: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending. `key` is the idempotency key that the broker minted; `prepared` is what `prepare` gave."""

    operation_id: str
    key: str
    operation: Operation
    payload: dict[str, Json]
    before: Observation
    prepared: dict[str, Json] = field(default_factory=dict)
    before_source: Observation | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is recorded with the intent: the surface's own notes (JSON), and the claims that the attempt takes."""

    notes: dict[str, Json]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a surface can prove of an attempt: the evidence, from which the outcome follows.

    `is_quiescent` says that the attempt can't land any more. `reason` continues "I couldn't … : "; `note` is a whole
    further sentence; `hint` is how a person can check. `is_undoable` is False where what it displaced is not what was
    shown before, so that an undo would bring back something else.
    """

    evidence: Evidence
    is_quiescent: bool = True
    reason: str | None = None
    note: str | None = None
    hint: str | None = None
    is_undoable: bool = True


class Surface(Protocol):
    """One persistent system that can be written to. Nothing here is called twice for one attempt but `fence`.

    Methods raise TargetError, PayloadError or OwnershipError for what can't be asked of the surface. Whatever else
    `send` or `fence` raises counts as "nothing is known".
    """

    @property
    def name(self) -> str:
        """The name in the settings, the part of a target before the colon."""

    def plan(self, request: WriteRequest, blobs: Blobs) -> Plan:
        """Identify the target, read it, and keep the payload's bytes in `blobs`. Changes nothing."""

    def replan(self, plan: Plan, blobs: Blobs) -> Plan:
        """Plan what `plan` wants once more, against what is there now. Raises what `plan` raises."""

    def plan_undo(self, proposal: WriteProposal, reversed_attempt: Attempt, blobs: Blobs) -> Plan:
        """Plan the write that restores `proposal.restores`. `shown` is `proposal.expects`.

        Raises RecoveryError if what is to be restored is not kept unharmed.
        """

    def preview(self, plan: Plan, blobs: Blobs) -> str:
        """Show what would change, for a person to read: a diff where both sides are text, else a sentence."""

    def read(self, target: str) -> Observation:
        """Read `target` afresh. A target that can't be read gives an unreadable observation, not an exception."""

    def prepare(self, attempt: Attempt, blobs: Blobs) -> Prepared:
        """Do all that can be done before the intent, without an effect on the target."""

    def send(self, attempt: Attempt) -> Answer:
        """Send it: once, conditionally where the surface can."""

    def fence(self, attempt: Attempt, *, is_sender_gone: bool) -> Answer:
        """Make a late landing impossible, and say whether it landed. May be repeated, also by another process.

        `is_sender_gone` says that the sender provably can't send any more; where only that rules out a late landing,
        the answer is not quiescent without it.
        """

    def tidy(self, attempt: Attempt) -> None:
        """Drop what only the proof needed, now that the outcome is durable: what a failed attempt prepared, or the
        marks of a delete."""


# --- time and names --------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Time. Bounds use the monotonic clock and the boot's id, since wall clocks may jump either way."""

    def now_ms(self) -> int:
        """Unix time in milliseconds, for people."""

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment of this boot, the same for all processes."""

    def boot_id(self) -> str:
        """What tells this boot from another."""


class Ids(Protocol):
    """Names that are never given twice."""

    def new(self, prefix: str) -> str:
        """Make an id that begins with `prefix` and sorts by the time of making."""
