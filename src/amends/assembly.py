"""The one place that joins settings, journal and surfaces with the broker.

Doors and programs use `Amends`; nothing else knows which journal and which surfaces there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, cast

from amends import broker
from amends.broker import Ask, Interrupted, Life, Pruned, Report, Steps, World, drive
from amends.contract.lifecycle import UNSETTLED, State
from amends.contract.operation import OperationKind
from amends.contract.outcome import WriteOutcome
from amends.document import Change, parse_change
from amends.errors import AmendsError, UnknownSurfaceError
from amends.journal import JOURNAL_FILE, DryBlobs, SqliteJournal
from amends.ports import Answer, Attempt, Clock, Ids, Journal, Plan, Surface, Verification, WriteRequest
from amends.settings import Settings, find_settings
from amends.surfaces import Files, Past, Remains
from amends.system import SystemClock, SystemIds

Progress = Callable[[str, int, int], None]
"""Told (what, bytes done, bytes in all) during long work."""


class Amends:
    """The honest write layer over one journal. Use it as a context manager, from one process.

    Every method that may send gives a Report: a transaction as it stands, each of its writes with an outcome.
    """

    def __init__(self, settings: Settings, *, progress: Progress | None = None, returning_tells: bool = True) -> None:
        """Open the journal that `settings` name. Raises JournalError, and OwnershipError over another journal's folder.

        `returning_tells`: whoever called knows an outcome as soon as a method returns it. A door that still has to
        print it says False, and calls `told` when it has.
        """
        self.settings = settings
        clock: Clock = SystemClock()
        ids: Ids = SystemIds()
        self.journal: Journal = SqliteJournal(settings.journal_folder, clock=clock, ids=ids)
        self._returning_tells = returning_tells
        self._sent: list[str] = []
        surfaces = _open_surfaces(settings, self.journal.journal_id, clock, progress, past=self._past)
        try:  # a journal that was lost and made anew knows nothing, and must not say that nothing waits
            for surface in surfaces.values():
                surface.check_owner()
        except BaseException:
            self.journal.close()
            raise
        watched = {name: cast("Surface", _Watched(surface, self._sent)) for name, surface in surfaces.items()}
        self.world = World(self.journal, watched, clock, ids)

    @classmethod
    def open(cls, start: Path | str = ".", *, progress: Progress | None = None, returning_tells: bool = True) -> Self:
        """Open what the nearest `amends.toml` upward from `start` names, else the user's own settings."""
        return cls(find_settings(Path(start)), progress=progress, returning_tells=returning_tells)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal. What was not told is handed over at the next repeat."""
        self.journal.close()

    def propose(
        self,
        change: Change | Mapping[str, Any],
        *,
        folder: Path | None = None,
        proposer: str = "program",
        confirmed_by: str | None = None,
        again: bool = False,
    ) -> Report:
        """Propose `change`; with `confirmed_by`, carry it out at once on that person's or policy's word.

        `folder` is what relative `from` paths start at. Raises MisuseError and UnusableError, and then nothing was
        recorded and nothing sent.
        """
        if not isinstance(change, Change):
            change = parse_change(change)
        ask = Ask(
            proposer,
            title=change.title,
            expires_in_ms=self.settings.policy.expires_in_ms,
            confirmed_by=confirmed_by,
            again=again,
        )
        return self._answer(broker.propose(_known_requests(self.settings, change, folder), ask))

    def confirm(self, subject: str, *, by: str, shown_digest: str | None = None) -> Report:
        """Confirm a proposal for `by`, who saw what has `shown_digest`, and carry it out."""
        return self._answer(broker.confirm(subject, by=by, shown_digest=shown_digest))

    def decline(self, subject: str, *, by: str, reason: str) -> Report:
        """Decline what of a transaction was not sent yet."""
        return self._answer(broker.decline(subject, by=by, reason=reason))

    def check(self, subject: str) -> Report:
        """Settle what is ambiguous, by reading and fencing; a change is never sent."""
        return self._answer(broker.check(subject))

    def undo(self, subject: str, *, proposer: str = "program", confirmed_by: str | None = None) -> Report:
        """Propose the reversal of a write, or of all of a transaction's; with `confirmed_by`, carry it out at once."""
        ask = Ask(proposer, expires_in_ms=self.settings.policy.expires_in_ms, confirmed_by=confirmed_by)
        return self._answer(broker.undo(subject, ask))

    def followup(self, subject: str, *, proposer: str = "program") -> Report:
        """Take up a BLOCKED transaction: propose what is still amiss, as a new transaction for a person to confirm."""
        return self._answer(broker.followup(subject, Ask(proposer, expires_in_ms=self.settings.policy.expires_in_ms)))

    def attest(self, operation_id: str, *, outcome: WriteOutcome, by: str, reason: str) -> Report:
        """Record a person's word on a write that nothing can prove any more."""
        return self._answer(broker.attest(operation_id, outcome=outcome, by=by, reason=reason))

    def find(self, subject: str) -> Report:
        """Give a transaction by its id, by that of a write of it, or by an unmistakable beginning of either."""
        try:
            return drive(self.world, broker.find(subject))
        except Interrupted:
            raise KeyboardInterrupt from None  # nothing was at stake

    def inbox(self) -> list[Report]:
        """Give what waits for somebody: to confirm, to check, to attest, and BLOCKED; oldest first."""
        subjects = {row.transaction or row.subject for row in self.journal.open()}
        reports = [self.find(subject) for subject in sorted(subjects)]
        return [report for report in reports if waits(report)]

    def log(self, *, limit: int, before: str = "") -> list[Report]:
        """Give the newest transactions, newest first; with `before`, a transaction's id, only older ones."""
        return [self.find(subject) for subject in self.journal.matching("tx_", limit=limit, before=before)]

    def preview(self, report: Report) -> list[tuple[Life, str]]:
        """Show what each write of `report` that was not sent yet would change, for a person to read."""
        return [
            (life, self.world.surface_of(life.operation.target).preview(life.plan, self.journal))
            for life in report.waiting(State.PROPOSED, State.CONFIRMED)
        ]

    def prune(self, *, older_than_ms: int, gives_up_undo: bool = False, is_dry: bool = False) -> Pruned:
        """Forget what ended so many milliseconds ago and that nothing needs any more."""
        before_ms = self.world.clock.now_ms() - older_than_ms
        try:
            return drive(self.world, broker.prune(before_ms=before_ms, gives_up_undo=gives_up_undo, is_dry=is_dry))
        except Interrupted:
            raise KeyboardInterrupt from None  # page by page: what was forgotten is, and the rest is kept

    def verify(self) -> Verification:
        """Check the whole journal."""
        return self.journal.verify()

    def told(self, report: Report) -> None:
        """Record that whoever asked knows the outcomes in `report`, so that the same payload again is a new write.

        What can't be recorded is handed over once more at the repeat.
        """
        ids = {life.operation_id for life in report.lives}
        self._sent[:] = [operation_id for operation_id in self._sent if operation_id not in ids]
        with suppress(AmendsError):
            drive(self.world, broker.outcome_told(report))

    @property
    def has_untold(self) -> bool:
        """Say whether this process sent a write of which nobody was told yet. False proves that nothing was sent."""
        return bool(self._sent)

    def untold(self) -> list[Report]:
        """Give the transactions of which that is so, as they are recorded. Raises JournalError."""
        found = {report.transaction: report for report in map(self.find, self._sent)}
        return list(found.values())

    def _past(self, operation_id: str, key: str) -> Remains | Attempt:
        """Say what became of an attempt, for a surface that found something of it."""
        events = self.journal.events(operation_id)
        life = Life.of(events) if events else None
        if life is None or life.key != key:
            return Remains.UNSENT
        if life.state in UNSETTLED or (life.holds_claims and life.state is not State.ABANDONED):
            return Remains.NEEDED
        is_litter_left = life.state is not State.APPLIED or life.operation.kind is OperationKind.DELETE
        return life.attempt if is_litter_left else Remains.OVER

    def _answer(self, machine: Steps[Report]) -> Report:
        try:
            report = drive(self.world, machine)
        except Interrupted as interrupted:
            if self._returning_tells:
                self.told(interrupted.ended)
            raise
        if self._returning_tells:
            self.told(report)
        return report


class _Watched:
    """A surface that notes what was sent by it: only so can a door prove that nothing was."""

    def __init__(self, surface: Surface, sent: list[str]) -> None:
        self._surface = surface
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surface, name)

    def send(self, attempt: Attempt) -> Answer:
        self._sent.append(attempt.operation_id)
        return self._surface.send(attempt)


def dry_run(settings: Settings, change: Change, *, folder: Path | None = None) -> list[tuple[Plan, str]]:
    """Say what `change` would do, each write with a preview, and record nothing: not even a journal is made."""
    clock, ids = SystemClock(), SystemIds()
    journal_id = ""
    if (settings.journal_folder / JOURNAL_FILE).exists():
        journal = SqliteJournal(settings.journal_folder, clock=clock, ids=ids)
        journal_id = journal.journal_id
        journal.close()
    surfaces = _open_surfaces(settings, journal_id, clock, None)
    blobs = DryBlobs()
    world = World(cast("Journal", blobs), surfaces, clock, ids)  # planning asks a journal only for a place for bytes
    plans = drive(world, broker.plan(_known_requests(settings, change, folder)))
    return [(plan, surfaces[plan.operation.surface].preview(plan, blobs)) for plan in plans]


def _known_requests(settings: Settings, change: Change, folder: Path | None) -> list[WriteRequest]:
    requests = change.requests(folder or Path.cwd())
    for place, request in enumerate(requests, start=1):
        if request.surface not in settings.surfaces:
            known = ", ".join(sorted(settings.surfaces)) or "none"
            raise UnknownSurfaceError(
                f"write {place}: there is no surface {request.surface!r} in {settings.path}",
                hint=f"known surfaces: {known}",
            )
    return requests


def _open_surfaces(
    settings: Settings, journal_id: str, clock: Clock, progress: Progress | None, *, past: Past | None = None
) -> dict[str, Files]:
    return {
        name: Files(name, settings.root_of(each), journal_id=journal_id, clock=clock, progress=progress, past=past)
        for name, each in settings.surfaces.items()
    }


def waits(report: Report) -> bool:
    """Say whether somebody has to do something about `report`."""
    if report.state is State.BLOCKED:
        return not report.is_followed_up
    if report.state is State.OPEN:
        return True
    return bool(report.waiting(State.PROPOSED, State.CONFIRMED, State.EXECUTING, State.AMBIGUOUS, State.CLOSED))
