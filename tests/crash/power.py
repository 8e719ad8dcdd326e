"""What a disk may hold after the power was lost, made from a trace, and the folder made from that once more.

What is assumed of the filesystem, which by what their makers say ext4, XFS and Btrfs keep, and more:

- A call survives whole or not at all: a rename is never half there.
- A call on names is certain to survive once every folder in which it changed a name was synced after it. Until then it
  may be lost, and what came after it may survive all the same: syncing a folder says nothing of another folder, and
  syncing a file says nothing of its name. A removed name may so come back.
- What happened to one name, and to one inode, reaches the disk in its order; and a folder is gone only after what was
  taken out of it is.
- The bytes of a file are certain once it was synced. Until then half of them may be NUL, whatever names the file has.
- A COMMIT of the journal is on the disk when it returns, unless it was allowed to be lost (`tests/journal` proves that
  of SQLite); of those, the last ones may be missing.

So the states after each call are those of every subset of what was not certain yet: all of them where there are few,
else each alone, each missing, every beginning, and a sample.
"""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from amends.surfaces.files.syscall import Syscalls
from tests.crash.trace import Committed, Filled, Named, Node, Slot, Synced, Told, Trace

ALL_SUBSETS_UP_TO = 8
"""So many uncertain effects have 256 subsets; from there on a sample has to do."""

SAMPLE = 48

NEW_INODE = 1 << 40
"""Added to the numbers of inodes that the trace does not know, so that none of them looks like one that it does."""

Effect = tuple[str, int]
"""What may be lost: ("call", its place in the trace), or ("bytes", a node)."""


@dataclass(frozen=True)
class State:
    """One disk. `names` is what can be reached; `torn` are the files whose bytes are not all there."""

    names: tuple[tuple[Slot, int], ...]
    changed_ns: tuple[tuple[int, int], ...]
    torn: frozenset[int]
    contents: tuple[tuple[int, tuple[bytes, int]], ...]
    journal: Path | None
    told: tuple[tuple[str, str], ...]

    def key(self, trace: Trace) -> Any:
        """Give what tells it from others for whoever looks: of files made meanwhile the ctime tells nothing."""
        old = tuple((node, at) for node, at in self.changed_ns if node in trace.old)
        return self.names, old, self.torn, self.journal, self.told


def states(trace: Trace, rng: random.Random, *, first: int = 0) -> Iterator[tuple[str, State]]:
    """Give every state in which the power may be lost at or after entry `first`, each once, with how it came about."""
    seen = set()
    for upto in range(first, len(trace.entries) + 1):
        uncertain = _uncertain(trace, upto)
        for lost in _losses(trace, uncertain, rng):
            for journal in _journals(trace, upto):
                state = _state(trace, upto, lost, journal)
                if (key := state.key(trace)) not in seen:
                    seen.add(key)
                    yield f"power lost after {upto} entries, with {sorted(lost) or 'nothing'} lost", state


def _uncertain(trace: Trace, upto: int) -> list[Effect]:
    synced: dict[int, int] = {}
    filled: dict[int, int] = {}
    for place, entry in enumerate(trace.entries[:upto]):
        if isinstance(entry, Synced):
            synced[entry.node] = place
        elif isinstance(entry, Filled):
            filled[entry.node] = place
    calls = [
        ("call", place)
        for place, entry in enumerate(trace.entries[:upto])
        if isinstance(entry, Named) and any(synced.get(above, -1) < place for above, _ in entry.names)
    ]
    return calls + [("bytes", node) for node, place in filled.items() if synced.get(node, -1) < place]


def _needs(trace: Trace, later: int, earlier: int) -> bool:
    """Say whether call `later` can't be on the disk without call `earlier`."""
    one, two = cast(Named, trace.entries[earlier]), cast(Named, trace.entries[later])
    if one.names.keys() & two.names.keys():
        return True
    numbers = {trace.nodes[node].number for node in one.changed_ns}
    if numbers & {trace.nodes[node].number for node in two.changed_ns}:
        return True
    return two.call == "rmdir" and any(above in two.changed_ns for above, _ in one.names)


def _losses(trace: Trace, uncertain: list[Effect], rng: random.Random) -> Iterator[frozenset[Effect]]:
    """Give the sets of effects that may be lost together."""
    needs = {
        later: {earlier for earlier in uncertain if _precedes(earlier, later) and _needs(trace, later[1], earlier[1])}
        for later in uncertain
    }

    def closed(lost: frozenset[Effect]) -> frozenset[Effect]:
        more = set(lost)
        for each in uncertain:
            if needs[each] & more:
                more.add(each)
        return frozenset(more)

    whole = frozenset(uncertain)
    found: dict[frozenset[Effect], None] = {frozenset(): None, whole: None}
    if len(uncertain) <= ALL_SUBSETS_UP_TO:
        for count in range(len(uncertain) + 1):
            found |= {closed(frozenset(lost)): None for lost in combinations(uncertain, count)}
    else:
        for at, each in enumerate(uncertain):
            found[closed(frozenset({each}))] = None
            found[closed(whole - {each} - needs[each])] = None
            found[closed(frozenset(uncertain[at:]))] = None
        for _ in range(SAMPLE):
            share = rng.random()
            found[closed(frozenset(each for each in uncertain if rng.random() < share))] = None
    yield from found


def _precedes(earlier: Effect, later: Effect) -> bool:
    return earlier[0] == later[0] == "call" and earlier[1] < later[1]


def _journals(trace: Trace, upto: int) -> list[Path | None]:
    found: list[Path | None] = [trace.journal]
    for entry in trace.entries[:upto]:
        if isinstance(entry, Committed):
            found = [entry.place] if entry.is_durable else [*found, entry.place]
    return found


def _state(trace: Trace, upto: int, lost: frozenset[Effect], journal: Path | None) -> State:
    names = dict(trace.names)
    changed_ns = {node: each.changed_ns for node, each in trace.nodes.items()}
    contents = {node: (each.content, each.mode) for node, each in trace.nodes.items()}
    told: dict[str, str] = {}
    for place, entry in enumerate(trace.entries[:upto]):
        match entry:
            case Named() if ("call", place) not in lost:
                for slot, node in entry.names.items():
                    if node is None:
                        names.pop(slot, None)
                    else:
                        names[slot] = node
                changed_ns |= entry.changed_ns
            case Filled(node, more, mode):
                content, old_mode = contents[node]
                contents[node] = (content + more, old_mode if mode is None else mode)
            case Told(outcomes):
                told |= outcomes
            case _:
                pass
    reached, open_ = {trace.root}, [trace.root]
    while open_:
        above = open_.pop()
        below = [node for (folder, _), node in names.items() if folder == above and node not in reached]
        reached.update(below)
        open_ += below
    kept = tuple(sorted((slot, node) for slot, node in names.items() if slot[0] in reached))
    torn = frozenset(node for kind, node in lost if kind == "bytes" and node in reached)
    return State(
        kept,
        tuple((node, changed_ns[node]) for node in sorted(reached)),
        torn,
        tuple((node, contents[node]) for node in sorted(reached)),
        journal,
        tuple(sorted(told.items())),
    )


# --- the folder ----------------------------------------------------------------------------------------------------


@dataclass
class _Shown:
    """An inode of the new folder, and what it is shown as."""

    node: Node
    changed_ns: int
    real_changed_ns: int


class Disk:
    """The folder as it is after the power came back, at its old path, with the inodes that it had."""

    def __init__(self, trace: Trace, root: Path, journal: Path) -> None:
        self._trace, self._root, self._journal = trace, root, journal
        self._shown: dict[int, _Shown] = {}
        self._device = root.parent.stat().st_dev

    def restore(self, state: State) -> None:
        """Make the folder and the journal anew."""
        for place in (self._root, self._journal):
            if place.exists():
                shutil.rmtree(place)
        if state.journal is not None:
            shutil.copytree(state.journal, self._journal)
        contents, places = dict(state.contents), dict[int, Path]()
        below: dict[int, list[tuple[str, int]]] = {}
        for (above, name), node in state.names:
            below.setdefault(above, []).append((name, node))
        self._make(self._trace.root, self._root, state, contents=contents, below=below, places=places)
        changed_ns = dict(state.changed_ns)
        self._shown = {}
        for node, place in places.items():
            if self._trace.nodes[node].is_folder:
                place.chmod(contents[node][1])
        for node, place in places.items():
            seen = place.lstat()
            self._shown[seen.st_ino] = _Shown(self._trace.nodes[node], changed_ns[node], seen.st_ctime_ns)

    def _make(
        self,
        node: int,
        place: Path,
        state: State,
        *,
        contents: dict[int, tuple[bytes, int]],
        below: dict[int, list[tuple[str, int]]],
        places: dict[int, Path],
    ) -> None:
        if node in places:
            assert not self._trace.nodes[node].is_folder, f"a folder with two names: {place}"
            os.link(places[node], place)
            return
        places[node] = place
        content, mode = contents[node]
        if self._trace.nodes[node].is_folder:
            place.mkdir(mode=0o700)
            for name, under in below.get(node, []):
                self._make(under, place / name, state, contents=contents, below=below, places=places)
            return
        half = len(content) // 2
        place.write_bytes(content[:half] + bytes(len(content) - half) if node in state.torn else content)
        place.chmod(mode)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show each inode with the number, birth and ctime that it had; a ctime that was set since, as it is."""
        calls = {name: getattr(os, name) for name in ("stat", "lstat", "fstat")}
        born_ns = Syscalls.born_ns

        def seen(name: str) -> Any:
            def call(*given: Any, **more: Any) -> os.stat_result:
                return self._as_shown(calls[name](*given, **more))

            return call

        def born(syscalls: Syscalls, folder_fd: int, name: str) -> int | None:
            try:
                known = self._shown.get(calls["stat"](name, dir_fd=folder_fd, follow_symlinks=False).st_ino)
            except OSError:
                known = None
            return born_ns(syscalls, folder_fd, name) if known is None else known.node.born_ns

        patched, surface = cast(Any, os), cast(Any, Syscalls)
        for name in calls:
            setattr(patched, name, seen(name))
        surface.born_ns = born
        try:
            yield
        finally:
            for name, call in calls.items():
                setattr(patched, name, call)
            surface.born_ns = born_ns

    def _as_shown(self, real: os.stat_result) -> os.stat_result:
        if real.st_dev != self._device:
            return real
        known = self._shown.get(real.st_ino)
        number = known.node.number if known else real.st_ino + NEW_INODE
        changed_ns = real.st_ctime_ns
        if known is not None and real.st_ctime_ns == known.real_changed_ns:
            changed_ns = known.changed_ns
        kind, (fields, more) = cast(Any, real.__reduce__())
        shown: os.stat_result = kind((fields[0], number, *fields[2:]), more | {"st_ctime_ns": changed_ns})
        return shown
