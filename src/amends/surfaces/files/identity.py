"""From a spelling to a target: which entry below the root a request means.

The path comes from the real entries: parents are resolved through links, and a name is looked for among the folder's
own names wherever the folder folds spellings. So all spellings of one file give one target, and two files never do
(invariant 19). Nothing is created or changed to find out.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from amends.errors import TargetError
from amends.surfaces.files.syscall import Syscalls, why

NAME_BYTES_MAX = 255  # what Linux filesystems take for one name
PATH_BYTES_MAX = 4096  # PATH_MAX of Linux
LINKS_MAX = 40  # what the kernel follows before it says ELOOP
ROOM = ".amends"


@dataclass(frozen=True, slots=True)
class Entry:
    """A place below the root: its real names, and how many of them, at the end, name nothing yet.

    `link` is the spelling that was a symbolic link to it. `twin` is another entry whose name looks the same.
    """

    parts: tuple[str, ...]
    missing: int
    link: str | None = None
    twin: str | None = None

    @property
    def path(self) -> str:
        """The part of the target after the colon."""
        return "/".join(self.parts)


def fold(name: str) -> str:
    """Give the form in which all spellings that a folding folder takes for one are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def folds(syscalls: Syscalls, folder: str) -> bool:
    """Say whether `folder` takes different spellings for one name, by its flag or by what it answers for real names."""
    flag = syscalls.casefold_flag(folder)
    if flag is not None:
        return flag
    names = set(syscalls.names(folder))
    for name in sorted(names):
        if name.swapcase() != name:
            return name.swapcase() not in names and _is_same(syscalls, folder, name, name.swapcase())
    device = syscalls.lookup(folder, ".").st_dev
    while folder != "/":
        folder, name = os.path.split(folder)
        if syscalls.lookup(folder, ".").st_dev != device:
            return False
        if name.swapcase() != name:
            return name.swapcase() not in syscalls.names(folder) and _is_same(syscalls, folder, name, name.swapcase())
    return False


def folded(syscalls: Syscalls, top: str, names: Sequence[str]) -> str:
    """Write the path of `names` below the folder `top` with one form for each that its folder takes in several.

    A folder that this user may not list is taken for one that tells all spellings apart.
    """
    path = ""
    for depth, name in enumerate(names):
        is_folding = False
        with suppress(PermissionError):
            is_folding = folds(syscalls, "/".join((top.rstrip("/"), *names[:depth])) or "/")
        path += f"/{fold(name) if is_folding else name}"
    return path


def is_listed(syscalls: Syscalls, folder: str, name: str) -> bool:
    """Say whether an entry that is there by `name` has that name; only a folder that knows it by another is listed."""
    others = {name.swapcase(), unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)} - {name}
    return not any(_is_same(syscalls, folder, name, other) for other in others) or name in syscalls.names(folder)


def real_folder(path: str, syscalls: Syscalls) -> str:
    """Give the one real path of an existing folder: no links, and every name as it is listed. Raises OSError."""
    walk = _Walk(path, syscalls, follow=True)
    walk.go([], os.path.realpath(path))
    if walk.missing:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return "/" + "/".join(walk.real)


def identify(spelling: str, *, root: str, syscalls: Syscalls, follow: bool) -> Entry:
    """Find the entry below `root` (a real path) that `spelling` means. `follow`: through a link at the end."""
    _check_spelling(spelling, root)
    walk = _Walk(spelling, syscalls, follow=follow)
    try:
        walk.go(_parts(root), spelling)
    except OSError as error:
        raise TargetError(
            f"{spelling!r} can't be reached: {why(error)}", hint="check the path, and who may read its folders"
        ) from error
    top = _parts(root)
    if walk.real[: len(top)] != top:
        raise TargetError(
            f"{spelling!r} leads out of {root}",
            hint=f"name a file below {root}, or add a surface for the other folder to the settings",
        )
    real = walk.real[len(top) :]
    parts = (*real, *walk.missing)
    if not parts:
        raise TargetError(f"{spelling!r} is the folder {root} itself", hint="name a file in it")
    for depth, name in enumerate(parts):
        folder = "/".join(("", *top, *real[:depth]))
        if name == ROOM or (fold(name) == ROOM and folds(syscalls, folder)):
            raise TargetError(
                f"{spelling!r} lies in {ROOM}, where Amends keeps what it needs for undo",
                hint="name another file; to bring something back from there, undo the write that put it there",
            )
    entry = Entry(parts, len(walk.missing), walk.link, walk.twin)
    _check_real(spelling, entry)
    return entry


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _check_spelling(spelling: str, root: str) -> None:
    if not spelling:
        raise TargetError("an empty name is no file", hint=f"name a file below {root}")
    if "\0" in spelling:
        raise TargetError(f"{spelling!r} holds a NUL character, which no name can", hint="leave it out")
    try:
        spelling.encode()
    except UnicodeEncodeError as error:
        raise TargetError(
            f"{spelling!r} is not valid UTF-8", hint="rename the file to a name in UTF-8 first"
        ) from error
    for name in spelling.split("/"):
        _check_name(spelling, name)
    if len(spelling.encode()) > PATH_BYTES_MAX:
        raise TargetError(f"{spelling[:40]!r}… is longer than {PATH_BYTES_MAX} bytes", hint="choose a shorter path")
    if spelling.startswith("/"):
        raise TargetError(
            f"{spelling!r} is absolute; a target is named from the root of its surface",
            hint=f"leave out the leading part {root}/"
            if spelling.startswith(root + "/")
            else f"name a file below {root}, without a leading slash",
        )


def _check_name(spelling: str, name: str) -> None:
    if (size := len(name.encode())) > NAME_BYTES_MAX:
        raise TargetError(
            f"{spelling[:40]!r}… has a name of {size} bytes; a name has at most {NAME_BYTES_MAX}",
            hint="choose a shorter name",
        )


def _check_real(spelling: str, entry: Entry) -> None:
    """Look at the names that links led to, which the spelling did not show."""
    try:
        size = len(entry.path.encode())
    except UnicodeEncodeError as error:
        raise TargetError(
            f"{spelling!r} lies in {entry.path!r}, which is not valid UTF-8", hint="rename that folder to UTF-8 first"
        ) from error
    if size > PATH_BYTES_MAX:
        raise TargetError(
            f"{spelling!r} leads to a path longer than {PATH_BYTES_MAX} bytes", hint="choose a shorter path"
        )


def _is_same(syscalls: Syscalls, folder: str, name: str, other: str) -> bool:
    try:
        one, two = syscalls.lookup(folder, name), syscalls.lookup(folder, other)
    except OSError:
        return False
    return (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)


class _Walk:
    """One resolution: from `/`, name by name, so that links may lead anywhere and only the end is judged."""

    def __init__(self, spelling: str, syscalls: Syscalls, *, follow: bool) -> None:
        self.spelling = spelling
        self.syscalls = syscalls
        self.follow = follow
        self.real: list[str] = []
        self.missing: list[str] = []
        self.link: str | None = None
        self.twin: str | None = None

    def go(self, start: list[str], path: str) -> None:
        """Resolve `path` from the real folder `start`."""
        self.real = list(start)
        pending = list(reversed(path.split("/")))
        links = 0
        of_link = None  # how many names were pending when a link was entered: those above it are the link's
        while pending:
            name = pending.pop()
            if of_link is not None and len(pending) < of_link:
                of_link = None
            if name in ("", "."):
                continue
            if name == "..":
                trail = self.missing or self.real
                if trail:
                    trail.pop()
                continue
            if self.missing:
                self.missing.append(name)
                continue
            folder = "/" + "/".join(self.real)
            try:
                seen = self.syscalls.lookup(folder, name)
            except FileNotFoundError:
                if of_link is not None:
                    raise TargetError(
                        f"{self.spelling!r} leads through a symbolic link to {os.path.join(folder, name)}, "
                        "which does not exist",
                        hint="name the file itself, or mend the link",
                    ) from None
                self.twin = self._twin(folder, name)
                self.missing.append(name)
                continue
            is_last = not any(part not in ("", ".") for part in pending)
            if stat.S_ISLNK(seen.st_mode):
                aim = self.syscalls.readlink(folder, name)
                if is_last and not self.follow:
                    raise TargetError(
                        f"{self.spelling!r} is a symbolic link to {aim!r}, and links are left as they are",
                        hint="name the real file",
                    )
                links += 1
                if links > LINKS_MAX:
                    raise TargetError(f"{self.spelling!r} leads through symbolic links without end", hint="mend them")
                if is_last:
                    self.link = self.spelling
                of_link = len(pending) if of_link is None else of_link
                if aim.startswith("/"):
                    self.real = []
                pending.extend(reversed(aim.split("/")))
                continue
            if not is_last and not stat.S_ISDIR(seen.st_mode):
                raise TargetError(
                    f"{self.spelling!r} leads through {os.path.join(folder, name)}, which is a file, not a folder",
                    hint="check the path",
                )
            self.real.append(self._real_name(folder, name, seen))

    def _real_name(self, folder: str, name: str, seen: os.stat_result) -> str:
        """Give the folder's own spelling of `name`; only a folder that answers for other spellings is listed."""
        if is_listed(self.syscalls, folder, name):
            return name
        names = self.syscalls.names(folder)
        same = [other for other in names if fold(other) == fold(name) and _is_same(self.syscalls, folder, name, other)]
        if len(same) != 1:
            raise TargetError(
                f"{self.spelling!r} could be any of {sorted(same)!r} in {folder}",
                hint="spell it exactly as it is listed",
            )
        return same[0]

    def _twin(self, folder: str, name: str) -> str | None:
        """Find an entry that looks like the missing `name` but is spelled with other code points."""
        if name.isascii():
            return None
        plain = unicodedata.normalize("NFC", name)
        twins = [other for other in self.syscalls.names(folder) if unicodedata.normalize("NFC", other) == plain]
        if len(twins) > 1:
            raise TargetError(
                f"{self.spelling!r} could mean any of {len(twins)} files in {folder} that look the same: "
                + ", ".join(sorted(map(ascii, twins))),
                hint="spell it with exactly the code points of the one that you mean",
            )
        return twins[0] if twins else None
