"""Amends, the honest write layer for agents and automations: the front door.

Every write ends in one of three truths, applied, failed or ambiguous (it may have applied), and nothing that Amends
says claims more than it can prove. All public names are here and nothing else is public.

Names are loaded when they are first asked for, so that `import amends` loads no library. To add one: list it in
`__all__`, import it for type checkers, and give it its module in `_HOMES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amends.assembly import Amends
    from amends.broker import Interrupted, Life, Report, drive_async
    from amends.contract import (
        ABSENT,
        ALLOWED,
        PHRASES,
        Claim,
        Compare,
        Evidence,
        Fact,
        Fence,
        Guarantee,
        Happened,
        Level,
        Observation,
        Operation,
        OperationKind,
        OperationResult,
        Presence,
        Receipt,
        RecoveryAction,
        RecoveryMessage,
        State,
        Version,
        WriteOutcome,
        WriteProposal,
        build_undo,
        plan_recovery,
        render_outcome,
        silent_retry_forbidden,
    )
    from amends.errors import (
        AmendsError,
        ClaimHeldError,
        ConflictError,
        DocumentError,
        JournalError,
        LostRaceError,
        MisuseError,
        OwnershipError,
        PayloadError,
        PersonNeededError,
        ProposalError,
        RecoveryError,
        SettingsError,
        TargetError,
        UnknownSubjectError,
        UnknownSurfaceError,
        UnusableError,
    )
    from amends.recovery import fingerprint

    __version__: str

__all__ = [
    "ABSENT",
    "ALLOWED",
    "Amends",
    "AmendsError",
    "Claim",
    "ClaimHeldError",
    "Compare",
    "ConflictError",
    "DocumentError",
    "Evidence",
    "Fact",
    "Fence",
    "Guarantee",
    "Happened",
    "Interrupted",
    "JournalError",
    "Level",
    "Life",
    "LostRaceError",
    "MisuseError",
    "Observation",
    "Operation",
    "OperationKind",
    "OperationResult",
    "OwnershipError",
    "PHRASES",
    "PayloadError",
    "PersonNeededError",
    "Presence",
    "ProposalError",
    "Receipt",
    "RecoveryAction",
    "RecoveryError",
    "RecoveryMessage",
    "Report",
    "SettingsError",
    "State",
    "TargetError",
    "UnknownSubjectError",
    "UnknownSurfaceError",
    "UnusableError",
    "Version",
    "WriteOutcome",
    "WriteProposal",
    "build_undo",
    "drive_async",
    "fingerprint",
    "plan_recovery",
    "render_outcome",
    "silent_retry_forbidden",
]

_HOMES = {
    "amends.assembly": frozenset({"Amends"}),
    "amends.broker": frozenset({"Interrupted", "Life", "Report", "drive_async"}),
    "amends.recovery": frozenset({"fingerprint"}),
    "amends.errors": frozenset(name for name in __all__ if name.endswith("Error")),
}
"""Module → the names that live there; what is listed nowhere here lives in `amends.contract`."""

if not TYPE_CHECKING:  # a type checker would take any misspelt name for one that __getattr__ gives

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("amends")
        elif name in __all__:
            home = next((module for module, names in _HOMES.items() if name in names), "amends.contract")
            value = getattr(import_module(home), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
