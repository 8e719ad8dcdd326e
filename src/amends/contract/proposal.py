"""A write that somebody wants and nobody has confirmed.

Source: recovery contract, AC2. A proposal carries no idempotency key (the broker mints one per attempt), is always
confirmed first and always revalidated before it is applied; the types leave no other way (invariant 13).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .operation import OperationKind
from .outcome import Seen


class WriteProposal(BaseModel):
    """What is proposed: a kind of write on a target, and for an undo, which operation it reverses.

    `restores` is the observation that an undo brings back, `expects` the one that it must find unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: OperationKind
    target: str = Field(min_length=1)
    source: str | None = Field(default=None, min_length=1)
    reverses: str | None = None
    restores: Seen = None
    expects: Seen = None
    confirm_first: Literal[True] = True
    revalidate_before_apply: Literal[True] = True
