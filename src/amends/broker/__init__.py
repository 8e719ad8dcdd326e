"""The broker: it owns all safety machinery, as machines that yield steps and drivers that perform them.

It knows ports, never an implementation of one; `amends.assembly` joins them.
"""

from .driver import Interrupted, drive, drive_async
from .life import Life
from .step import Step, Steps, World
from .transaction import Ask, Report, attest, check, confirm, decline, find, outcome_told, plan, propose, undo

__all__ = [
    "Ask",
    "Interrupted",
    "Life",
    "Report",
    "Step",
    "Steps",
    "World",
    "attest",
    "check",
    "confirm",
    "decline",
    "drive",
    "drive_async",
    "find",
    "outcome_told",
    "plan",
    "propose",
    "undo",
]
