"""How a change can land on a given filesystem, and what may be promised for each way.

Declared from what the filesystem is known to do, without touching it; proved in the private folder before the first
change lands that way. A filesystem that another machine or program answers for is never promised more than racy, and
no error of it counts as a refusal.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from amends.contract.guarantee import Compare, Fence, Guarantee, Receipt, Version
from amends.errors import TargetError
from amends.surfaces.files.room import opened
from amends.surfaces.files.syscall import BTRFS, EXT, F2FS, NETWORK, OVERLAY, TMPFS, XFS, Syscalls, why

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
