"""The folder of one campaign, and the record of it that is kept apart from the journal.

Every content that is written, by anybody, is unlike every other, so that the bytes found anywhere say which write
they come from. A foreign writer never destroys anything: it swaps its file in and keeps what was there, as editors do
that save by rename. So no content is ever lost by anybody but Amends, and the record can count each of them.
"""

import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from amends.surfaces.files.syscall import Syscalls
from tests.crash.process import Mark

SETTINGS = '[surfaces.notes]\ntype = "files"\nroot = "notes"\n'


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@dataclass
class Record:
    """What was asked for and put there, known without the journal.

    `placed` counts the copies of each content that others than Amends put into the root. `allowed` says which contents
    may ever be seen under which path. `own` has the inode that the attempt with a given key staged (None: an archive
    stages none), as the writer told it when it had. `doomed` are the contents that a delete may remove for good.
    """

    labels: dict[str, str] = field(default_factory=dict)
    placed: Counter[str] = field(default_factory=Counter)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    own: dict[str, int | None] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)

    def expect(self, path: str, content: bytes, label: str) -> str:
        """Note that `content` may come to `path`."""
        digest = digest_of(content)
        self.labels[digest] = label
        self.allowed.setdefault(path, set()).add(digest)
        return digest

    def learn(self, marks: Iterable[Mark]) -> None:
        """Take in what a writer told of its attempts."""
        for mark in marks:
            if mark.word == "prepared":
                self.own[mark.values["key"]] = mark.values["staged"]

    def name(self, digest: str) -> str:
        """Give the label of a content, for messages."""
        return self.labels.get(digest, f"unknown content {digest[:20]}")


class Place:
    """A new folder with settings, an empty root, and a foreign writer's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "notes"
        self.incoming = folder / "incoming"
        self.foreign = folder / "foreign"
        for each in (self.root, self.incoming, self.foreign):
            each.mkdir(parents=True)
        (folder / "amends.toml").write_text(SETTINGS)
        self.record = Record()
        self._swaps = 0

    def content(self, rng: random.Random, label: str, *, size: int = 200) -> bytes:
        """Make a content that there is only once: text with `label` in it and at its end."""
        filler = rng.randbytes(size // 2).hex()
        return f"{label}\n{filler}\n{label}: the end\n".encode()

    def put(self, path: str, content: bytes, label: str) -> str:
        """Put a file into the root as somebody else would, before anything else happens."""
        digest = self.record.expect(path, content, label)
        self.record.placed[digest] += 1
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return digest

    def intrude(self, path: str, content: bytes, label: str) -> None:
        """Swap `content` in at `path` in one step, or make it there, as a foreign writer; what was there is kept."""
        self._swaps += 1
        draft = self.foreign / f"{self._swaps}"
        draft.write_bytes(content)
        digest = self.record.expect(path, content, label)
        here, there = os.open(self.foreign, os.O_RDONLY), os.open(self.root, os.O_RDONLY)
        try:
            try:
                Syscalls().rename_exchange(here, draft.name, there, path)
            except FileNotFoundError:
                Syscalls().rename_noreplace(here, draft.name, there, path)
            self.record.placed[digest] += 1
        except OSError:
            draft.unlink()
        finally:
            os.close(here)
            os.close(there)

    def keep_record(self, why: str) -> None:
        """Write the record down beside everything else, for whoever looks at a failure."""
        record = {
            "why": why,
            "labels": self.record.labels,
            "placed": self.record.placed,
            "allowed": {path: sorted(digests) for path, digests in self.record.allowed.items()},
            "own": self.record.own,
        }
        (self.folder / "record.json").write_text(json.dumps(record, indent=1))
