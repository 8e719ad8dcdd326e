"""Transactions to tell stories about: notes that are edited from old to new, unless a test says otherwise."""

from typing import Any

from amends import Fact, Observation, Operation, OperationKind, Presence
from amends.recovery import Audit, Blocked, Case, Spent, Standing, Stop, Tried, decide, places

A, B, C = "notes:a.md", "notes:b.md", "notes:c.md"
ABSENT_NOTE = Observation(Presence.ABSENT)


def note(
    text: str | None = "old", /, *, version: str | None = None, at_ms: int | None = None, **more: Any
) -> Observation:
    """A note that can be read; with `text=None` it has no text."""
    fields = more if text is None else {"text": text, **more}
    return Observation(Presence.PRESENT, version, fields, at_ms=at_ms)


def unreadable(detail: str = "permission denied") -> Observation:
    """A note that can't be read."""
    return Observation(Presence.UNREADABLE, detail=detail)


def edit(target: str, text: str = "new", **more: Any) -> Operation:
    """A write that sets the text of a note, and more fields of it."""
    return write(OperationKind.EDIT, target, text=text, **more)


def write(kind: OperationKind, target: str, /, *, source: str | None = None, **values: Any) -> Operation:
    """A write of any kind whose facts are all about its target."""
    return Operation(kind, target, tuple(Fact(target, name, value) for name, value in values.items()), source)


def tried(operation: Operation, standing: Standing, *, base: Audit | None = None, **more: Any) -> Tried:
    """A write as it stands. It was confirmed from the old text, and keeps what it replaces."""
    start = dict.fromkeys(places([operation]), note()) if base is None else base
    known: dict[str, Any] = {"operation": operation, "standing": standing, "base": start, "undoable": True}
    return Tried(**known | more)


def applied(operation: Operation, **more: Any) -> Tried:
    return tried(operation, Standing.APPLIED, **more)


def failed(operation: Operation, **more: Any) -> Tried:
    return tried(operation, Standing.FAILED, **more)


def closed(operation: Operation, **more: Any) -> Tried:
    return tried(operation, Standing.CLOSED, **more)


def held(operation: Operation, **more: Any) -> Tried:
    return tried(operation, Standing.HELD, **more)


def unsent(operation: Operation, **more: Any) -> Tried:
    return tried(operation, Standing.UNSENT, **more)


def recovery(operation: Operation, standing: Standing, base: Audit, **more: Any) -> Tried:
    """A recovery that was decided on the reading `base`."""
    return tried(operation, standing, base=base, is_recovery=True, **more)


def case(*writes: Tried, now: Audit, **more: Any) -> Case:
    """A case whose gate is what its planned writes were to establish, and whose first look showed old texts."""
    planned = [each.operation for each in writes if not each.is_recovery]
    known: dict[str, Any] = {
        "gate": tuple(fact for operation in planned for fact in operation.postcondition),
        "spent": Spent(),
        "history": (dict.fromkeys(now, note()),),
    }
    return Case(**{"tried": writes, "now": now} | known | more)


def stop_of(given: Case) -> Stop | None:
    """Why the governor stops; None where it goes on."""
    decision = decide(given)
    return decision.stop if isinstance(decision, Blocked) else None
