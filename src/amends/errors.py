"""Every exception that Amends raises, and nothing else.

An exception here means misuse or a broken world. What became of a write is never an exception: it is a value
(applied, failed or ambiguous) with its evidence. The tree:

    AmendsError
    ├── MisuseError                   exit 2: the request itself is wrong; nothing was sent
    │   ├── DocumentError             a change document that can't be read as one
    │   ├── TargetError               a target that is no target: outside its root, a folder, too long, ...
    │   ├── PayloadError              bytes to send that are missing, too many, or changed while they were read
    │   ├── UnknownSurfaceError       no surface of that name in the settings
    │   ├── UnknownSubjectError       no operation or transaction of that id, or several
    │   ├── ProposalError             a confirmation that can't be taken: expired, used, superseded, altered
    │   ├── PersonNeededError         an act that only a person at a terminal may do
    │   └── RecoveryError             an undo or an attestation that the recorded outcome rules out
    ├── UnusableError                 exit 5: the journal, the settings or a surface's ownership; nothing was sent
    │   ├── SettingsError
    │   ├── JournalError
    │   └── OwnershipError            the folder belongs to another journal
    ├── BlockedError                  exit 4: a BLOCKED transaction is about the same; nothing was sent
    └── ConflictError                 what another process did first; the broker turns it into an outcome
        ├── ClaimHeldError            another operation holds what this one needs
        └── LostRaceError             the recorded state or epoch is not the expected one
            └── BudgetSpentError      the recovery, or one with its aims, was made already

The docstring of a class is its default message; `hint` is the next step for whoever reads it.
"""

from __future__ import annotations

import inspect
from typing import ClassVar


class AmendsError(Exception):
    """Something is wrong."""

    code: ClassVar[str] = "amends_error"
    exit_code: ClassVar[int] = 2

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        """Take `message` (default: the class's docstring) and `hint`, the next step."""
        super().__init__(message or inspect.getdoc(type(self)) or type(self).__name__)
        self.hint = hint


class MisuseError(AmendsError):
    """The request can't be carried out as it stands; nothing was sent."""

    code = "misuse"


class DocumentError(MisuseError):
    """The change document can't be read."""

    code = "document"


class TargetError(MisuseError):
    """That is not a target that can be written to."""

    code = "target"


class PayloadError(MisuseError):
    """The bytes to send can't be taken."""

    code = "payload"


class UnknownSurfaceError(MisuseError):
    """No surface of that name is in the settings."""

    code = "unknown_surface"


class UnknownSubjectError(MisuseError):
    """No operation or transaction has that id."""

    code = "unknown_subject"


class ProposalError(MisuseError):
    """The proposal can't be confirmed."""

    code = "proposal"


class PersonNeededError(MisuseError):
    """Only a person at a terminal may do that."""

    code = "person_needed"


class RecoveryError(MisuseError):
    """What is recorded of the write rules that out."""

    code = "recovery"


class UnusableError(AmendsError):
    """Amends can't work here; nothing was sent."""

    code = "unusable"
    exit_code = 5


class SettingsError(UnusableError):
    """The settings can't be used; nothing was sent."""

    code = "settings"


class JournalError(UnusableError):
    """The journal can't be used; nothing was sent."""

    code = "journal"


class OwnershipError(UnusableError):
    """The folder belongs to another journal; nothing was sent."""

    code = "ownership"


class BlockedError(AmendsError):
    """A BLOCKED transaction is about the same; nothing was sent."""

    code = "blocked"
    exit_code = 4


class ConflictError(AmendsError):
    """Another process was first."""

    code = "conflict"
    exit_code = 1


class ClaimHeldError(ConflictError):
    """Another operation holds what this one needs."""

    code = "claim_held"

    def __init__(self, holder: str, name: str) -> None:
        """Name the `holder` (an operation id) and the claim."""
        super().__init__(f"operation {holder} still holds {name}")
        self.holder = holder


class LostRaceError(ConflictError):
    """The recorded state or epoch is not the expected one."""

    code = "lost_race"


class BudgetSpentError(LostRaceError):
    """The recovery, or one with its aims, was made already."""

    code = "budget_spent"
