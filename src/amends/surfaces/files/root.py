"""The folder that a surface stands for, and the way from a spelling, or a recorded target, to what is there now.

Everything here only looks. A target is always `name:path` with the real path below the root (invariant 19); whose
journal may write there is checked with every look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from amends.errors import TargetError
from amends.ports import Clock
from amends.surfaces.files.content import Progress
from amends.surfaces.files.identity import ROOM, Entry, folded, identify, is_listed, real_folder
from amends.surfaces.files.means import Means, means_of
from amends.surfaces.files.room import check_owner, descend, descend_far, open_root, opened
from amends.surfaces.files.snapshot import Snapshot, absent, take, unreadable
from amends.surfaces.files.syscall import Syscalls, why

NAMES_MAX = 1_000
"""So many names are looked at for a file that is not where it was: a courtesy, which must not take long."""


@dataclass(frozen=True)
class Root:
    """A surface's name, folder and journal, and what it works with.

    `base` leads from the surface's root to `folder`, where that is the top of another filesystem below it.
    """

    surface: str
    folder: Path
    journal_id: str
    clock: Clock
    syscalls: Syscalls
    progress: Progress | None
    base: tuple[str, ...] = ()

    @cached_property
    def path(self) -> str:
        """The real path of the folder."""
        try:
            return real_folder(os.path.abspath(self.folder), self.syscalls)
        except OSError as error:
            raise TargetError(
                f"the folder {self.folder} of surface {self.surface} can't be opened: {why(error)}",
                hint=f"make it, or correct the settings of {self.surface}",
            ) from error

    @cached_property
    def place(self) -> str:
        """The real path, with one form for each name that its folder takes in several; empty for `/`."""
        return folded(self.syscalls, "/", [name for name in self.path.split("/") if name])

    def find(self, spelling: str, *, follow: bool) -> Entry:
        """Say which entry `spelling` means. Raises TargetError or OwnershipError."""
        entry = identify(spelling, root=self.path, syscalls=self.syscalls, follow=follow)
        check_owner(self.path, entry.parts, journal_id=self.journal_id)
        return entry

    def target(self, parts: Sequence[str]) -> str:
        """Write the target of an entry."""
        return f"{self.surface}:{'/'.join((*self.base, *parts))}"

    def parts(self, target: str) -> tuple[str, ...]:
        """Take a target apart again. Raises TargetError for what `target` did not write."""
        surface, _, path = target.partition(":")
        parts = tuple(path.split("/"))
        is_below = parts[: len(self.base)] == self.base
        if surface != self.surface or not is_below or "\0" in path or not {"", ".", "..", ROOM}.isdisjoint(parts):
            raise TargetError(
                f"{target!r} is no target of surface {self.surface}", hint="take it from a plan, unchanged"
            )
        return parts[len(self.base) :]

    def whole(self, parts: Sequence[str]) -> str:
        """Write the whole path of something below the root, for people and for looking."""
        return "/".join((self.path.rstrip("/"), *parts))

    def take(self, parts: Sequence[str], *, takes_folders: bool = True) -> Snapshot:
        """Read what is at `parts` afresh, without following any link. `takes_folders`: also as a whole folder.

        Where a folder takes spellings for one name, only the one that it lists is there.
        """
        at_ms = self.clock.now_ms()
        below, rest = self.beneath(parts)
        if below is not self:
            return below.take(rest, takes_folders=takes_folders)
        try:
            with opened(root_fd := open_root(self.path)):
                folder, depth = descend_far(root_fd, parts[:-1])
        except OSError as error:
            return Snapshot(unreadable(why(error), at_ms))
        with opened(folder):
            if depth < len(parts) - 1:
                return Snapshot(absent(at_ms))
            taken = take(self.syscalls, folder, parts[-1], at_ms=at_ms, takes_folders=takes_folders)
        if taken.stat is not None and not is_listed(self.syscalls, self.whole(parts[:-1]), parts[-1]):
            return Snapshot(absent(at_ms))
        return taken

    def beneath(self, parts: Sequence[str]) -> tuple[Root, tuple[str, ...]]:
        """Give the top of the filesystem that holds the folder of `parts`, as a root, and the way on from there."""
        depth, device = 0, None
        for number in range(len(parts)):
            try:
                found = os.lstat(self.whole(parts[:number]))
            except OSError:
                break
            if device is not None and found.st_dev != device:
                depth = number
            device = found.st_dev
        return self.at(parts[:depth]), tuple(parts[depth:])

    def at(self, base: Sequence[str]) -> Root:
        """Give the folder at `base` as a root of its own."""
        return replace(self, folder=Path(self.whole(base)), base=(*self.base, *base)) if base else self

    def check_filesystem(self, parts: Sequence[str]) -> None:
        """Refuse a target on another filesystem, where nothing can be renamed to from here."""
        if self.beneath(parts)[0] is not self:
            raise TargetError(
                f"{self.target(parts)} is on another filesystem than {self.path}",
                hint="make the folder that the other filesystem is mounted on a surface of its own",
            )

    def name_of(self, parts: Sequence[str], inode: int | None) -> str | None:
        """Say which entry of the folder at `parts` has `inode`, if one of the first `NAMES_MAX` has."""
        with suppress(OSError), opened(root_fd := open_root(self.path)), opened(fd := descend(root_fd, parts)):
            for name in self.syscalls.names(fd)[:NAMES_MAX]:
                with suppress(FileNotFoundError):
                    if self.syscalls.stat(fd, name).st_ino == inode:
                        return name
        return None

    def has_folder(self, parts: Sequence[str]) -> bool:
        """Say whether there is a folder at `parts` that can be opened."""
        try:
            with opened(root_fd := open_root(self.path)), opened(descend(root_fd, parts)):
                return True
        except OSError:
            return False

    @contextmanager
    def reading(self, parts: Sequence[str]) -> Iterator[int]:
        """Open the file at `parts`, which may also be one in `.amends`. Raises OSError."""
        with (
            opened(root_fd := open_root(self.path)),
            opened(folder := descend(root_fd, parts[:-1])),
            opened(fd := self.syscalls.open(folder, parts[-1])),
        ):
            yield fd

    def means(self) -> Means:
        """Say what the filesystem of the root offers."""
        try:
            with opened(root_fd := open_root(self.path)):
                return means_of(self.syscalls, root_fd)
        except OSError as error:
            raise TargetError(
                f"the folder {self.path} can't be opened: {why(error)}",
                hint=f"check it, or correct the settings of {self.surface}",
            ) from error
