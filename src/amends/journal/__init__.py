"""The journals: what is durable, and what is not over.

`SqliteJournal` is the journal of one machine, a folder with a SQLite file and kept blobs; `MemoryJournal` has the same
semantics for tests and simulations. Both write only what the one rule in `rule` allows, and both pass the conformance
suite in `amends.testing.journal_conformance`.
"""

from .database import JOURNAL_FILE
from .dry import DryBlobs
from .memory import MemoryJournal
from .sqlite import SqliteJournal

__all__ = ["JOURNAL_FILE", "DryBlobs", "MemoryJournal", "SqliteJournal"]
