"""The folder that a surface stands for, what its filesystem can do, and the way from a spelling to what is there now.

Everything here only looks, but for trying the landing step on empty files in the private folder before the first
change lands that way. A target is always `name:path` with the real path below the root (invariant 19). What may be
promised is declared from what the filesystem is known to do; one that another machine or program answers for is never
promised more than racy, and no error of it counts as a refusal.

A write claims, so that no other is under way that it could meet:

    place:/real/path    the name that is written to, spelled as the folders list it; with all names below it where it
                        is a folder, or brings folders along
    inode:NUMBER@WHERE  the file or folder that has that name now, under all its names; where: by the root's path, and
                        by the device in this boot
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.contract.operation import Claim
from amends.errors import TargetError
from amends.ports import Clock
from amends.surfaces.files.content import Progress
from amends.surfaces.files.identity import ROOM, Entry, folded, identify, is_listed, real_folder
from amends.surfaces.files.room import check_owner, descend, descend_far, open_root, opened
from amends.surfaces.files.snapshot import Snapshot, absent, take, unreadable
from amends.surfaces.files.syscall import (
    AT_FDCWD,
    BTRFS,
    EXT,
    F2FS,
    NETWORK,
    OVERLAY,
    TMPFS,
    XFS,
    Syscalls,
    is_mount,
    why,
)

_KNOWS_BOTH_FLAGS = frozenset({EXT, XFS, BTRFS, TMPFS, F2FS, OVERLAY})

_MARKS_A_RENAME = _KNOWS_BOTH_FLAGS - {OVERLAY}
"""Where a renamed entry keeps its inode and gets a new ctime. An overlay may copy it first, to a new inode."""

PROBE_S_MAX = 0.05
"""Some ticks of the slowest clock that kernels stamp files by (100 a second)."""


class Way(StrEnum):
    """The step that lands a change. `stage` is the attempt's staged entry."""

    NOREPLACE = "noreplace"
    """The staged entry is renamed to a name that must be free."""
    LINK = "link"
    """The staged file gets the target as a second name, which must be free."""
    EXCHANGE = "exchange"
    """The staged file and the target swap names."""
    REPLACE = "replace"
    """The target gets a second name in the archive, then the staged file is renamed over it."""
    ARCHIVE = "archive"
    """The target is renamed into a folder that was made for it."""
    REMOVE = "remove"
    """As archive; and what was carried off, if it is what was confirmed, is removed."""
    MOVE = "move"
    """The source itself is renamed to a name that must be free."""
    RESPELL = "respell"
    """The source is renamed to another spelling that its folder takes for the same name, by way of the stage."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a root's filesystem offers. `network` names its kind where another machine answers.

    `marks_a_rename`: a renamed entry can be told from one that was never touched, and from a later one in its place.
    """

    has_flags: bool
    network: str | None = None
    marks_a_rename: bool = False

    def appearing(self) -> Way:
        """Give the way in which something new lands."""
        return Way.NOREPLACE if self.has_flags else Way.LINK

    def replacing(self) -> Way:
        """Give the way in which something is replaced."""
        return Way.EXCHANGE if self.has_flags else Way.REPLACE

    def guarantee(self, way: Way) -> Guarantee:
        """Say what may be promised."""
        if self.network is not None:
            return Guarantee(Receipt.SEPARATE, Compare.RACY, Version.CAN_REPEAT, Fence.VOID)
        if way in (Way.MOVE, Way.RESPELL):
            receipt = Receipt.SAME_STEP if self.marks_a_rename else Receipt.NONE
            return Guarantee(receipt, Compare.RACY, Version.CAN_REPEAT, Fence.KILL)
        compare = Compare.ATOMIC if way in (Way.NOREPLACE, Way.LINK) else Compare.RACY
        receipt = Receipt.SEPARATE if way is Way.LINK else Receipt.SAME_STEP
        return Guarantee(receipt, compare, Version.CAN_REPEAT, Fence.VOID)


def means_of(syscalls: Syscalls, root_fd: int) -> Means:
    """Say what the filesystem of an open root offers, changing nothing."""
    number = syscalls.filesystem(root_fd)
    if number in NETWORK:
        return Means(has_flags=False, network=NETWORK[number])
    has_flags = number in _KNOWS_BOTH_FLAGS and _has_renameat2(syscalls, root_fd)
    marks_a_rename = has_flags and number in _MARKS_A_RENAME and syscalls.born_ns(root_fd, ".") is not None
    return Means(has_flags, marks_a_rename=marks_a_rename)


def _has_renameat2(syscalls: Syscalls, root_fd: int) -> bool:
    """Ask for a rename of `.`, which every kernel that knows the call and its flag refuses as busy or existing."""
    try:
        syscalls.rename_noreplace(root_fd, ".", root_fd, ".")
    except OSError as error:
        return error.errno in (errno.EBUSY, errno.EEXIST)
    return False


def prove(syscalls: Syscalls, stage_fd: int, way: Way, means: Means, *, key: str) -> None:
    """Try `way` on two empty files in the staging folder, named after `key`.

    Raises TargetError if it does not do what it must.
    """
    one, two, three = (f"probe.{key}.{number}" for number in range(3))
    try:
        try:
            for name in (one, two):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with opened(os.open(name, flags, 0o600, dir_fd=stage_fd)):
                    pass
            holds = _tried(syscalls, stage_fd, way, (one, two, three))
            if way in (Way.MOVE, Way.RESPELL) and means.marks_a_rename:
                holds = holds and _marked(syscalls, stage_fd, three, one)
        except OSError as error:
            raise TargetError(
                f"nothing can be written to this folder safely: {why(error)}",
                hint="use a folder on a local filesystem, such as ext4, XFS or Btrfs",
            ) from error
        if not holds:
            raise TargetError(
                f"the filesystem of this folder does not do what {way} needs; nothing could be proved of a write to it",
                hint="use a folder on a local filesystem, such as ext4, XFS or Btrfs",
            )
    finally:
        for name in (one, two, three):
            with suppress(OSError):
                syscalls.unlink(stage_fd, name)


def _tried(syscalls: Syscalls, fd: int, way: Way, names: tuple[str, str, str]) -> bool:
    one, two, free = names
    first, second = (syscalls.stat(fd, name).st_ino for name in (one, two))
    if way is Way.EXCHANGE:
        syscalls.rename_exchange(fd, one, fd, two)
        return (syscalls.stat(fd, one).st_ino, syscalls.stat(fd, two).st_ino) == (second, first)
    if way in (Way.ARCHIVE, Way.REMOVE):
        syscalls.rename(fd, one, fd, free)
        return syscalls.stat(fd, free).st_ino == first
    step = syscalls.link if way in (Way.LINK, Way.REPLACE) else syscalls.rename_noreplace
    with suppress(FileExistsError):
        step(fd, one, fd, two)
        return False
    step(fd, one, fd, free)
    if way is Way.REPLACE:
        syscalls.rename(fd, one, fd, two)
        return syscalls.stat(fd, two).st_ino == first == syscalls.stat(fd, free).st_ino
    return syscalls.stat(fd, free).st_ino == first


def _marked(syscalls: Syscalls, fd: int, name: str, free: str) -> bool:
    """Rename to and fro until the ctime shows it, which may take a tick; inode and birth must stay the same."""
    first, born = syscalls.stat(fd, name), syscalls.born_ns(fd, name)
    deadline = time.monotonic() + PROBE_S_MAX
    while born is not None:
        syscalls.rename_noreplace(fd, name, fd, free)
        name, free = free, name
        now = syscalls.stat(fd, name)
        if now.st_ino != first.st_ino or syscalls.born_ns(fd, name) != born:
            return False
        if now.st_ctime_ns != first.st_ctime_ns:
            return True
        if time.monotonic() > deadline:
            return False
    return False


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
            if device is not None and (found.st_dev != device or is_mount(AT_FDCWD, self.whole(parts[:number]))):
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


def claims(root: Root, parts: Sequence[str], found: os.stat_result | None, *, is_tree: bool) -> tuple[Claim, ...]:
    """Name the claims on the entry at `parts`, whose folder exists. `found` is what has that name now.

    The place is what a landing acts on, so two spellings, and two surfaces whose roots lie in each other, meet there,
    and a write below a folder meets one that moves it. Hard links, and two mounts of one place, meet at the inode (but
    not for a name that is still free, where the landing lets one win). A device's number is given anew at each boot,
    and a claim may be held over one: then the root tells the inode, since what is claimed in it has one filesystem.
    """
    place = Claim(f"place:{root.place}{folded(root.syscalls, root.path, parts)}", subtree=is_tree)
    if found is None:
        return (place,)
    where = (root.place or "/", f"{root.clock.boot_id()}:{found.st_dev}")
    return (place, *(Claim(f"inode:{found.st_ino}@{each}") for each in where))
