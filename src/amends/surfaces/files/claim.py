"""What a write claims, so that no other one is under way that it could meet (invariant 19).

    place:/real/path    the name that is written to, spelled as the folders list it; with all names below it where it is
                        a folder, or brings folders along
    inode:DEV:NUMBER    the file or folder that has that name now, under all its names

The place is what a landing acts on, so two spellings, and two surfaces whose roots lie in each other, meet there, and a
write below a folder meets one that moves the folder. Hard links, and two mounts of one place, meet at the inode (but
not for a name that is still free, where the landing itself lets one win). Two different files share neither.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from amends.contract.operation import Claim
from amends.surfaces.files.identity import fold, folds
from amends.surfaces.files.syscall import Syscalls


def claims(
    syscalls: Syscalls, root: str, parts: Sequence[str], found: os.stat_result | None, *, is_tree: bool
) -> tuple[Claim, ...]:
    """Name the claims on the entry at `parts` below the real path `root`. `found` is what has that name now."""
    place = [Claim(f"place:{folded(syscalls, root, parts)}", subtree=is_tree)]
    return (*place, Claim(f"inode:{found.st_dev}:{found.st_ino}")) if found is not None else tuple(place)


def folded(syscalls: Syscalls, root: str, parts: Sequence[str]) -> str:
    """Write a whole path with one form for each name that its folder takes in several."""
    names = [*filter(None, root.split("/")), *parts]
    folders = ["/".join(("", *names[:depth])) or "/" for depth in range(len(names))]
    pairs = zip(folders, names, strict=True)
    return "/" + "/".join(fold(name) if folds(syscalls, folder) else name for folder, name in pairs)
