"""The broker: it owns all safety machinery, as machines that yield steps and drivers that perform them.

It knows ports, never an implementation of one; `amends.assembly` joins them.
"""

from .driver import Interrupted, drive, drive_async
from .life import Life
from .proposal import Ask, check_declinable, confirm, decline, outcome_told, plan, propose
from .report import Report, find
from .retention import Pruned, prune
from .sequel import followup, undo
from .step import Step, Steps, World
from .transaction import attest, check

__all__ = [
    "Ask",
    "Interrupted",
    "Life",
    "Pruned",
    "Report",
    "Step",
    "Steps",
    "World",
    "attest",
    "check",
    "check_declinable",
    "confirm",
    "decline",
    "drive",
    "drive_async",
    "find",
    "followup",
    "outcome_told",
    "plan",
    "propose",
    "prune",
    "undo",
]
