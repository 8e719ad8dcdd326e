"""The calls of a real write in their order: what each did to which name and which file, and what the journal held then.

A `Recorder` stands beside the real surface and the real journal of the process that it is made in (a forked child):
every call that changes the root is carried out, and then written down as what it did to names and inodes. The system
calls of the surface go through its `Syscalls`; what it does with `os` itself (a staged file is made, filled and given
its mode) is seen there. After each COMMIT the journal's folder is copied, so that it can be had back as it stood.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from amends.assembly import Amends
from amends.journal import SqliteJournal
from amends.journal.database import SYNCHRONOUS_FULL
from amends.surfaces import Files
from amends.surfaces.files.root import Way
from amends.surfaces.files.syscall import Syscalls

Slot = tuple[int, str]
"""A name in a folder: the folder's node, and the name."""


class Killed(BaseException):
    """The process ends here, as by SIGKILL: nothing that it would still have done is done."""


@dataclass
class Node:
    """A file or folder. Its `number` is its inode's; nodes that had one number one after the other are different."""

    number: int
    is_folder: bool
    mode: int
    born_ns: int | None
    changed_ns: int
    content: bytes = b""


@dataclass(frozen=True)
class Named:
    """Names were set, each to a node or to nothing, in one call. `changed_ns`: the ctimes of the nodes it touched."""

    call: str
    names: dict[Slot, int | None]
    changed_ns: dict[int, int]


@dataclass(frozen=True)
class Filled:
    """A node got more bytes, or another mode."""

    node: int
    more: bytes = b""
    mode: int | None = None


@dataclass(frozen=True)
class Synced:
    """A node was synced: the bytes of a file, or the names in a folder."""

    node: int


@dataclass(frozen=True)
class Committed:
    """The journal has committed, and is kept at `place` as it is now."""

    place: Path
    is_durable: bool
    happened: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """Whoever asked was told these outcomes, by operation."""

    outcomes: dict[str, str]


Entry = Named | Filled | Synced | Committed | Told


@dataclass
class Trace:
    """What was there, all of it durable, and what was done then."""

    root: int
    nodes: dict[int, Node]
    names: dict[Slot, int]
    journal: Path | None
    old: frozenset[int] = frozenset()
    entries: list[Entry] = field(default_factory=list)

    def without(self, at: int) -> "Trace":
        """Give the trace of a writer that leaves out entry `at`."""
        return replace(self, entries=[entry for place, entry in enumerate(self.entries) if place != at])


class Recorder:
    """Writes down what happens below `root`, and copies of the journal into `copies`.

    `kill_after`: how many entries are written down before the process is killed, once.
    """

    def __init__(self, root: Path, journal: Path, copies: Path, *, kill_after: int | None = None) -> None:
        self._root, self._journal, self._copies = root, journal, copies
        self._kill_after = kill_after
        self._device = root.stat().st_dev
        self._live: dict[int, int] = {}
        self._copied = 0
        copies.mkdir()
        self.trace = Trace(0, {}, {}, self._copy() if journal.exists() else None)
        self._take(root, None)
        self._names = dict(self.trace.names)
        self.trace.old = frozenset(self.trace.nodes)

    # --- what was there ----------------------------------------------------------------------------------------------

    def _take(self, path: Path, slot: Slot | None) -> None:
        seen = path.lstat()
        node = self._live.get(seen.st_ino)
        if node is None:
            content = b"" if path.is_dir() else path.read_bytes()
            node = self._new(seen, _born_ns(path), content=content)
        if slot is not None:
            self.trace.names[slot] = node
        if path.is_dir():
            for below in sorted(path.iterdir()):
                self._take(below, (node, below.name))

    def _new(self, seen: os.stat_result, born_ns: int | None, *, content: bytes = b"") -> int:
        node = len(self.trace.nodes)
        mode, is_folder = stat.S_IMODE(seen.st_mode), stat.S_ISDIR(seen.st_mode)
        self.trace.nodes[node] = Node(seen.st_ino, is_folder, mode, born_ns, seen.st_ctime_ns, content)
        self._live[seen.st_ino] = node
        return node

    def _copy(self) -> Path:
        place = self._copies / str(self._copied)
        self._copied += 1
        shutil.copytree(self._journal, place, ignore=shutil.ignore_patterns("owners", "*-shm"))
        return place

    # --- what is done ------------------------------------------------------------------------------------------------

    def write_down(self, entry: Entry) -> None:
        """Write one entry down; be killed after it, if it is time."""
        self.trace.entries.append(entry)
        if len(self.trace.entries) == self._kill_after:
            self._kill_after = None
            raise Killed

    def folder(self, fd: int) -> int | None:
        """Give the node of an open folder or file; None if it is none of the root's."""
        seen = os.fstat(fd)
        return self._live.get(seen.st_ino) if seen.st_dev == self._device else None

    def made(self, fd: int, name: str, call: str) -> None:
        """A new entry has the name."""
        above = self.folder(fd)
        assert above is not None, name
        born_ns = Syscalls().born_ns(fd, name)
        node = self._new(os.stat(name, dir_fd=fd, follow_symlinks=False), born_ns)
        self._set(call, {(above, name): node}, [node])

    def renamed(self, call: str, source_fd: int, source: str, target_fd: int, target: str) -> None:
        """`source` became `target`; or, in an exchange, the two swapped."""
        old, new = self._slot(source_fd, source), self._slot(target_fd, target)
        moved, other = self._names[old], self._names.get(new)
        left = other if call == "rename_exchange" else None
        touched = [moved] if other is None else [moved, other]
        self._set(call, {old: left, new: moved} if call != "link" else {new: moved}, touched)

    def taken_away(self, call: str, fd: int, name: str) -> None:
        """The name is gone."""
        slot = self._slot(fd, name)
        self._set(call, {slot: None}, [self._names[slot]])

    def _slot(self, fd: int, name: str) -> Slot:
        above = self.folder(fd)
        assert above is not None, name
        return above, name

    def _set(self, call: str, names: dict[Slot, int | None], touched: list[int]) -> None:
        for slot, node in names.items():
            if node is None:
                self._names.pop(slot, None)
            else:
                self._names[slot] = node
        changed_ns = {}
        for node in touched:
            path = self._path(node)
            changed_ns[node] = self.trace.nodes[node].changed_ns if path is None else os.lstat(path).st_ctime_ns
        self.write_down(Named(call, names, changed_ns))

    def _path(self, node: int) -> Path | None:
        """Find a path of `node` now; None if it has no name any more."""
        if node == self.trace.root:
            return self._root
        for (above, name), found in self._names.items():
            if found == node:
                place = self._path(above)
                return None if place is None else place / name
        return None

    # --- where it is seen --------------------------------------------------------------------------------------------

    @contextmanager
    def recording(self) -> Iterator[None]:
        """See what the process does with `os` itself, while the block runs."""
        real_open, real_write, real_fchmod = os.open, os.write, os.fchmod

        def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            fd = real_open(path, flags, mode, dir_fd=dir_fd)
            if flags & os.O_CREAT and dir_fd is not None:
                self.made(dir_fd, path, "create")
            return fd

        def write(fd: int, data: Any) -> int:
            count = real_write(fd, data)
            node = self.folder(fd)
            if node is not None:
                self.write_down(Filled(node, bytes(data[:count])))
            return count

        def fchmod(fd: int, mode: int) -> None:
            real_fchmod(fd, mode)
            node = self.folder(fd)
            if node is not None:
                self.write_down(Filled(node, mode=mode))

        patched = cast(Any, os)
        patched.open, patched.write, patched.fchmod = open_, write, fchmod
        try:
            yield
        finally:
            patched.open, patched.write, patched.fchmod = real_open, real_write, real_fchmod

    def watch(self, amends: Amends, syscalls: type[Syscalls] = Syscalls, *, proven: bool = True) -> None:
        """Write down whatever `amends` does; `proven`: its filesystem was tried already."""
        surfaces = {}
        for name, settings in amends.settings.surfaces.items():
            files = Files(
                name,
                amends.settings.root_of(settings),
                journal_id=amends.journal.journal_id,
                clock=amends.world.clock,
                past=amends._past,
                syscalls=_seen(self, syscalls()),
            )
            files._place(())._proven = set(Way) if proven else set()
            surfaces[name] = files
        amends.world = replace(amends.world, surfaces=surfaces)
        journal = cast(SqliteJournal, amends.journal)
        end, append = journal._end_transaction, journal._append
        happened: list[str] = []

        def appended(batch: Any) -> None:
            append(batch)
            happened.extend(str(item.event.happened) for item in batch)

        def ended() -> None:
            end()
            words = tuple(happened)
            happened.clear()
            is_durable = journal._synchronous == SYNCHRONOUS_FULL
            self.write_down(Committed(self._copy(), is_durable, words))

        patched = cast(Any, journal)
        patched._end_transaction, patched._append = ended, appended


def _born_ns(path: Path) -> int | None:
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        return Syscalls().born_ns(fd, path.name)
    finally:
        os.close(fd)


def _seen(recorder: Recorder, syscalls: Syscalls) -> Syscalls:
    """Let `recorder` see each changing call of `syscalls` that did something."""
    real: dict[str, Any] = {}

    def renaming(name: str) -> Any:
        def call(*given: Any) -> None:
            real[name](*given)
            recorder.renamed(name, *given)

        return call

    def removing(name: str) -> Any:
        def call(fd: int, entry: str) -> None:
            real[name](fd, entry)
            recorder.taken_away(name, fd, entry)

        return call

    def mkdir(fd: int, name: str, mode: int) -> None:
        real["mkdir"](fd, name, mode)
        recorder.made(fd, name, "mkdir")

    def fsync(fd: int) -> None:
        real["fsync"](fd)
        node = recorder.folder(fd)
        assert node is not None
        recorder.write_down(Synced(node))

    calls = {name: renaming(name) for name in ("rename_noreplace", "rename_exchange", "rename", "link")}
    calls |= {name: removing(name) for name in ("unlink", "rmdir")} | {"mkdir": mkdir, "fsync": fsync}
    for name, call in calls.items():
        real[name] = getattr(syscalls, name)
        setattr(syscalls, name, call)
    return syscalls
