"""What decides about recovery, pure: fingerprints, mismatches, budgets, and the governor with its one rule table.

Source: persistent-work discipline. Nothing here does I/O, reads a clock or draws a random number.
"""

from .budget import PER_FINGERPRINT_MAX, PER_TRANSACTION_MAX, Aim, Spent, aims
from .fingerprint import confirmation_digest, digest, fingerprint
from .governor import RULES, Blocked, Case, Complete, Decision, Proceed, Recover, Standing, Stop, Tried, Wait, decide
from .mismatch import Audit, Mismatch, Progress, Severity, mismatches, oscillates, progress

__all__ = [
    "PER_FINGERPRINT_MAX",
    "PER_TRANSACTION_MAX",
    "RULES",
    "Aim",
    "Audit",
    "Blocked",
    "Case",
    "Complete",
    "Decision",
    "Mismatch",
    "Proceed",
    "Progress",
    "Recover",
    "Severity",
    "Spent",
    "Standing",
    "Stop",
    "Tried",
    "Wait",
    "aims",
    "confirmation_digest",
    "decide",
    "digest",
    "fingerprint",
    "mismatches",
    "oscillates",
    "progress",
]
