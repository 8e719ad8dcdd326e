"""What decides about recovery: fingerprints so far; budgets, progress and the governor belong here too.

Source: the persistent-work discipline. Pure like the contract below it: no I/O, clock or randomness, and values in,
values out.
"""

from .fingerprint import confirmation_digest, fingerprint

__all__ = ["confirmation_digest", "fingerprint"]
