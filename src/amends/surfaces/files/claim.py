"""What a write claims, so that no other one is under way that it could meet (invariant 19).

    place:/real/path    the name that is written to, spelled as the folders list it; with all names below it where it is
                        a folder, or brings folders along
    inode:NUMBER@/real/root, inode:NUMBER@BOOT:DEV
                        the file or folder that has that name now, under all its names

The place is what a landing acts on, so two spellings, and two surfaces whose roots lie in each other, meet there, and a
write below a folder meets one that moves the folder. Hard links, and two mounts of one place, meet at the inode (but
not for a name that is still free, where the landing itself lets one win). Two different files share neither.

A device's number is given anew at each boot, and a claim may be held over one: then the root tells the inode, which
has one filesystem, and only a hard link that leads into another root is not known again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from amends.contract.operation import Claim
from amends.surfaces.files.identity import folded
from amends.surfaces.files.root import Root


def claims(root: Root, parts: Sequence[str], found: os.stat_result | None, *, is_tree: bool) -> tuple[Claim, ...]:
    """Name the claims on the entry at `parts`, whose folder exists. `found` is what has that name now."""
    place = Claim(f"place:{root.place}{folded(root.syscalls, root.path, parts)}", subtree=is_tree)
    if found is None:
        return (place,)
    where = (root.place or "/", f"{root.clock.boot_id()}:{found.st_dev}")
    return (place, *(Claim(f"inode:{found.st_ino}@{each}") for each in where))
