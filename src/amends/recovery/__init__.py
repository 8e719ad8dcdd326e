"""What decides about recovery, pure: fingerprints, mismatches, budgets, the governor with its one rule table, reports.

Source: persistent-work discipline. Nothing here does I/O, reads a clock or draws a random number.
"""

from .budget import PER_FINGERPRINT_MAX, PER_TRANSACTION_MAX, Aim, Spent, aims, overlap
from .fingerprint import confirmation_digest, digest, fingerprint
from .governor import (
    RULES,
    Blocked,
    Case,
    Complete,
    Decision,
    LookAgain,
    Proceed,
    Recover,
    Standing,
    Stop,
    Tried,
    Wait,
    decide,
    rule_table,
)
from .mismatch import Audit, Mismatch, Progress, Severity, mismatches, oscillating, places, progress
from .report import BlockedReport, Next, Verb, blocked_report

__all__ = [
    "PER_FINGERPRINT_MAX",
    "PER_TRANSACTION_MAX",
    "RULES",
    "Aim",
    "Audit",
    "Blocked",
    "BlockedReport",
    "Case",
    "Complete",
    "Decision",
    "LookAgain",
    "Mismatch",
    "Next",
    "Proceed",
    "Progress",
    "Recover",
    "Severity",
    "Spent",
    "Standing",
    "Stop",
    "Tried",
    "Verb",
    "Wait",
    "aims",
    "blocked_report",
    "confirmation_digest",
    "decide",
    "digest",
    "fingerprint",
    "mismatches",
    "oscillating",
    "overlap",
    "places",
    "progress",
    "rule_table",
]
