"""A folder, a journal's store and the steps that the broker takes, so that a test reads as its story."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from amends.contract.operation import Claim, Observation, OperationKind
from amends.contract.outcome import OperationResult, WriteOutcome
from amends.contract.undo import build_undo
from amends.journal import MemoryJournal
from amends.ports import Answer, Attempt, Plan, WriteRequest
from amends.surfaces.files import Files, Syscalls
from amends.testing import FakeClock, FakeIds

CREATE, EDIT, ARCHIVE, UPLOAD = OperationKind.CREATE, OperationKind.EDIT, OperationKind.ARCHIVE, OperationKind.UPLOAD
MOVE, RENAME, DELETE = OperationKind.MOVE, OperationKind.RENAME, OperationKind.DELETE


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tree(folder: Path) -> dict[str, object]:
    """Everything below `folder` that a trace could show in: kinds, links, bytes, modes and times."""
    seen: dict[str, object] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        info = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        link = os.readlink(path) if path.is_symlink() else None
        seen[str(path.relative_to(folder))] = (info.st_mode, info.st_ino, info.st_mtime_ns, content, link)
    return seen


@dataclass
class Desk:
    """`files` opens the surface `notes` on `root`, each time as another process would."""

    root: Path
    clock: FakeClock = field(default_factory=FakeClock)
    ids: FakeIds = field(default_factory=FakeIds)

    def __post_init__(self) -> None:
        self.blobs = MemoryJournal(clock=self.clock, ids=self.ids)

    def files(self, syscalls: Syscalls | None = None, *, root: Path | None = None, **options: Any) -> Files:
        given = {"journal_id": "journal_1", **options}
        return Files("notes", root or self.root, clock=self.clock, syscalls=syscalls, **given)

    def plan(self, kind: OperationKind, key: str, *, files: Files | None = None, **request: Any) -> Plan:
        """`text="..."` and the like are fields; `local_file` and `source` are not."""
        local_file, source = request.pop("local_file", None), request.pop("source", None)
        asked = WriteRequest(kind, "notes", key, source_key=source, fields=request, local_file=local_file)
        return (files or self.files()).plan(asked, self.blobs)

    def attempt(self, plan: Plan, *, files: Files | None = None, before: Observation | None = None) -> Attempt:
        files, operation = files or self.files(), plan.operation
        before = before or files.read(operation.target)
        source = None if operation.source is None else files.read(operation.source)
        return Attempt(self.ids.new("op"), self.ids.new("key"), operation, plan.payload, before, before_source=source)

    def prepare(self, plan: Plan, *, files: Files | None = None, before: Observation | None = None) -> Attempt:
        attempt = self.attempt(plan, files=files, before=before)
        return replace(attempt, prepared=(files or self.files()).prepare(attempt, self.blobs).notes)

    def claims(self, plan: Plan, *, files: Files | None = None) -> tuple[Claim, ...]:
        return (files or self.files()).prepare(self.attempt(plan, files=files), self.blobs).claims

    def prepared(self, kind: OperationKind, key: str, *, files: Files | None = None, **request: Any) -> Attempt:
        return self.prepare(self.plan(kind, key, files=files, **request), files=files)

    def write(
        self, kind: OperationKind, key: str, *, files: Files | None = None, **request: Any
    ) -> tuple[Attempt, Answer]:
        attempt = self.prepared(kind, key, files=files, **request)
        return attempt, (files or self.files()).send(attempt)

    def undo_plan(self, attempt: Attempt, *, files: Files | None = None) -> Plan:
        files = files or self.files()
        operation = attempt.operation
        result = OperationResult(
            operation_id=attempt.operation_id,
            kind=operation.kind,
            target=operation.target,
            source=operation.source,
            outcome=WriteOutcome.APPLIED,
            before=attempt.before,
            after=files.read(operation.target),
        )
        return files.plan_undo(build_undo(result), attempt, self.blobs)

    def path(self, name: str, content: str | bytes = b"old\n") -> Path:
        """Put a file into the root, with its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def kept(self, attempt: Attempt) -> Path:
        """Where the attempt's displaced or archived bytes are."""
        place = self.root / ".amends" / "archive" / attempt.key
        return (
            place
            if place.is_file()
            else place / "kept" / attempt.operation.target.rpartition("/")[2].rpartition(":")[2]
        )


def replaced_by_rename(path: Path, content: bytes) -> None:
    """Another program saves the file as careful editors do: a new inode takes the name."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    draft.rename(path)


def in_child(act: Callable[[], int]) -> int:
    """Run `act` in a forked process and give the child's id; what it returns is the exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = act()
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for a child and give its exit code; negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
