"""What Atlas tells counsel of a write, and how it proposes an undo.

Source: recovery contract (RFD-AGT-002 D-10). The broker owns the control plane: it mints the key, reads the row again
at confirm time, writes once and reports one outcome. Atlas only turns that outcome into sentences that a lawyer can
act on, and on request into a proposal. Pure and offline: no model is asked, and nothing here can write.

The rules are those of `amends`; the sentences are Atlas's own, and no sentence can change an outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

import amends
from amends import (
    Evidence,
    OperationKind,
    OperationResult,
    RecoveryAction,
    RecoveryError,
    RecoveryMessage,
    WriteOutcome,
    WriteProposal,
    build_undo,
    plan_recovery,
    silent_retry_forbidden,
)

__all__ = [
    "COUNSEL",
    "OperationKind",
    "OperationResult",
    "RecoveryAction",
    "RecoveryError",
    "RecoveryMessage",
    "WriteOutcome",
    "WriteProposal",
    "build_undo",
    "plan_recovery",
    "render_outcome",
    "silent_retry_forbidden",
]

_A, _F, _M = WriteOutcome.APPLIED, WriteOutcome.FAILED, WriteOutcome.AMBIGUOUS

COUNSEL: Mapping[tuple[WriteOutcome, Evidence | None], str] = {
    (_A, None): "Done: I {done} {what}.",
    (_A, Evidence.ACKNOWLEDGED): "Done: I {done} {what}, and the system confirmed it.",
    (_A, Evidence.RECEIPT): "Done: I {done} {what}, and I found the record that proves it.",
    (_A, Evidence.OBSERVED): (
        "{target} is now as you asked, and it was not before. I can't prove that it was my change that made it so."
    ),
    (_A, Evidence.ATTESTED): "A colleague states that the change to {target} was made{because}.",
    (_F, None): "I couldn't {do} {what}{because}; nothing was changed.",
    (_F, Evidence.NEVER_SENT): "I couldn't {do} {what}{because}; nothing was changed.",
    (_F, Evidence.REFUSED): "I couldn't {do} {what}, because the system refused it{because}; nothing was changed.",
    (_F, Evidence.STALE): (
        "I couldn't {do} {what}, because it is no longer as you saw it{because}; nothing was changed."
        " Please look at it as it is now, and ask again if you still want this."
    ),
    (_F, Evidence.ALREADY_SO): "{target} is already as asked; there was nothing to submit and nothing was changed.",
    (_F, Evidence.VOIDED): "I couldn't {do} {what}, and withdrew it before it took effect; nothing was changed.",
    (_F, Evidence.WAITED): "I couldn't {do} {what}: it never took effect and no longer can; nothing was changed.",
    (_F, Evidence.ATTESTED): (
        "A colleague states that the change to {target} was not made and that nothing was changed{because}."
    ),
    (_M, None): (
        "The change to {target} may have applied, but I didn't get confirmation — here's how to check: {hint}."
    ),
    (_M, Evidence.UNPROVEN): (
        "The change to {target} may have applied, but I didn't get confirmation — here's how to check: {hint}."
    ),
    (_M, Evidence.PARTIAL): (
        "A part of the change to {target} may have applied, but not all of it is there{because}"
        " — here's how to check: {hint}. Please don't rely on it before that."
    ),
}
"""Atlas's sentences, one per outcome and evidence. The slots are those of `amends.PHRASES`."""


def render_outcome(result: OperationResult) -> RecoveryMessage:
    """Turn `result` into what counsel is told. The page shows it and fetches the real, authorised rows itself."""
    return amends.render_outcome(result, phrases=COUNSEL)
