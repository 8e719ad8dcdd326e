"""What the kernel's error numbers mean to a person, and which of them are definite.

On a local filesystem, an error of `REFUSALS` that answers the first and only call means that nothing was done. On a
network filesystem no error means that, since the server may have done it and the answer been lost.
"""

from __future__ import annotations

import errno
import os

_WORDS = {
    errno.EEXIST: "something is already there",
    errno.ENOTEMPTY: "something is already there",
    errno.ENOENT: "it is not there",
    errno.EXDEV: "it is on another filesystem",
    errno.EACCES: "permission was denied",
    errno.EPERM: "the system does not permit it",
    errno.EROFS: "the filesystem is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOTDIR: "a part of its path is no folder, or is a symbolic link now",
    errno.ELOOP: "a symbolic link stands in its path",
    errno.EISDIR: "it is a folder",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EMLINK: "it has too many names already",
    errno.EBUSY: "it is in use by the system",
    errno.ETXTBSY: "it is a program that runs",
    errno.ESTALE: "it is another folder than the one that this write was prepared in",
    errno.EIO: "the disk reported an error",
}

REFUSALS = frozenset(_WORDS) - {errno.EIO, errno.ESTALE}


def why(error: OSError) -> str:
    """Say in words why a call failed."""
    number = error.errno or 0
    return _WORDS.get(number) or os.strerror(number).lower()
