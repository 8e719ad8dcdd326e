"""The recovery contract: outcomes, evidence, proposals, messages and undo, pure and offline.

Source: RFD-AGT-002 D-10. Nothing in this package does I/O, reads a clock or draws a random number; a brain in any
process can use it with four fields of a result in hand.
"""

from .guarantee import Compare, Fence, Guarantee, Level, Receipt, Version
from .lifecycle import Happened, State
from .message import PHRASES, RecoveryMessage, render_outcome
from .operation import ABSENT, Claim, Fact, Observation, Operation, OperationKind, Presence
from .outcome import (
    ALLOWED,
    Evidence,
    OperationResult,
    RecoveryAction,
    WriteOutcome,
    plan_recovery,
    silent_retry_forbidden,
)
from .proposal import WriteProposal
from .undo import build_undo

__all__ = [
    "ABSENT",
    "ALLOWED",
    "PHRASES",
    "Claim",
    "Compare",
    "Evidence",
    "Fact",
    "Fence",
    "Guarantee",
    "Happened",
    "Level",
    "Observation",
    "Operation",
    "OperationKind",
    "OperationResult",
    "Presence",
    "Receipt",
    "RecoveryAction",
    "RecoveryMessage",
    "State",
    "Version",
    "WriteOutcome",
    "WriteProposal",
    "build_undo",
    "plan_recovery",
    "render_outcome",
    "silent_retry_forbidden",
]
