"""The system calls that change the world or tell what it can do, one method each, and what their errors mean.

Everything that lands, fences or removes goes through one `Syscalls` object, so that a test can kill, stop or fail the
process at any of them. Nothing is decided here and nothing is tried twice: what the kernel answers is raised as it is.
All names are relative to open folders, so that no link swapped into a path can lead a change out of the root.
"""

from __future__ import annotations

import array
import ctypes
import errno
import os
import sys

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
_FS_IOC_GETFLAGS = 0x80086601  # _IOR('f', 1, long) where a long has 8 bytes
_FS_CASEFOLD_FL = 0x40000000
_STATFS_BYTES = 512  # more than any struct statfs; only its first field is read

EXT = 0xEF53
XFS = 0x58465342
BTRFS = 0x9123683E
TMPFS = 0x01021994
F2FS = 0xF2F52010
OVERLAY = 0x794C7630
NETWORK = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFE534D42: "SMB",
    0xFF534D42: "SMB",
    0x65735546: "FUSE",
    0x01021997: "9p",
    0x00C36400: "Ceph",
    0x5346414F: "AFS",
    0x6B414653: "AFS",
    0x73757245: "Coda",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
    0x786F4256: "vboxsf",
    0xBACBACBC: "vmhgfs",
}
"""Filesystems that another machine, or another program, answers for; by the first field of statfs."""

_FOLDS_BY_FLAG = frozenset({EXT, BTRFS, TMPFS, F2FS})
"""Filesystems on which a folder without the casefold flag certainly tells apart all spellings."""

_STATX_BYTES = 256
_STATX_BTIME = 0x800
_STATX_BTIME_AT = 80  # seconds in eight bytes, then nanoseconds in four
_STATX_ATTRIBUTES_AT = 8
_STATX_ATTR_MOUNT_ROOT = 0x2000
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_EMPTY_PATH = 0x1000
AT_FDCWD = -100
"""In the place of an open folder: a path is taken as it stands."""

_LIBC = ctypes.CDLL(None, use_errno=True)

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
"""On a local filesystem, such an answer to the first and only call means that nothing was done. On a network filesystem
no error means that, since the server may have done it and the answer been lost."""


def why(error: OSError) -> str:
    """Say in words why a call failed."""
    number = error.errno or 0
    return _WORDS.get(number) or os.strerror(number).lower()


def is_mount(folder_fd: int, name: str = "") -> bool:
    """Say whether something is mounted on an entry of an open folder, or, without `name`, on that folder itself.

    A device number tells that of other filesystems only: what is bound from elsewhere on the same one is outside too.
    """
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    call = getattr(_LIBC, "statx", None)
    flags = _AT_SYMLINK_NOFOLLOW | (0 if name else _AT_EMPTY_PATH)
    if call is None or call(folder_fd, os.fsencode(name), flags, 0, buffer) != 0:
        return False
    attributes = int.from_bytes(buffer.raw[_STATX_ATTRIBUTES_AT : _STATX_ATTRIBUTES_AT + 8], sys.byteorder)
    return bool(attributes & _STATX_ATTR_MOUNT_ROOT)


class Syscalls:
    """The real ones. Replace single methods to see what Amends does when the world answers otherwise."""

    def rename_noreplace(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        """Rename unless `target` exists, in one step."""
        self._renameat2(source_fd, source, target_fd, target, RENAME_NOREPLACE)

    def rename_exchange(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        """Let two existing names swap what they name, in one step."""
        self._renameat2(source_fd, source, target_fd, target, RENAME_EXCHANGE)

    def _renameat2(self, source_fd: int, source: str, target_fd: int, target: str, flags: int) -> None:
        call = getattr(_LIBC, "renameat2", None)
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if call(source_fd, os.fsencode(source), target_fd, os.fsencode(target), ctypes.c_uint(flags)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), source, None, target)

    def rename(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        """Rename; what `target` named before is gone."""
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)

    def link(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        """Give the file a second name unless `target` exists, in one step."""
        os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)

    def unlink(self, folder_fd: int, name: str) -> None:
        """Take a name away from a file."""
        os.unlink(name, dir_fd=folder_fd)

    def mkdir(self, folder_fd: int, name: str, mode: int) -> None:
        """Make a folder; the process's umask applies."""
        os.mkdir(name, mode, dir_fd=folder_fd)

    def rmdir(self, folder_fd: int, name: str) -> None:
        """Remove an empty folder; nothing can be put into it afterwards, not even through an open descriptor."""
        os.rmdir(name, dir_fd=folder_fd)

    def fsync(self, fd: int) -> None:
        """Make a file's bytes or a folder's names durable."""
        os.fsync(fd)

    def open(self, folder_fd: int, name: str) -> int:
        """Open a file for reading: not through a link, and without waiting for the other end of a pipe."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=folder_fd)

    def stat(self, folder_fd: int, name: str) -> os.stat_result:
        """Look at an entry, not through it."""
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)

    def lookup(self, folder: str, name: str) -> os.stat_result:
        """Look at an entry of a folder as the filesystem finds it, whatever the spelling; not through a link."""
        return os.lstat(os.path.join(folder, name))

    def born_ns(self, folder_fd: int, name: str) -> int | None:
        """Say when an entry's inode was made; with its number, that is what no later file has. None if not kept."""
        buffer = ctypes.create_string_buffer(_STATX_BYTES)
        call = getattr(_LIBC, "statx", None)
        if call is None or call(folder_fd, os.fsencode(name), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, buffer) != 0:
            return None
        mask, seconds, nanoseconds = (
            int.from_bytes(buffer.raw[at : at + size], sys.byteorder)
            for at, size in ((0, 4), (_STATX_BTIME_AT, 8), (_STATX_BTIME_AT + 8, 4))
        )
        return seconds * 1_000_000_000 + nanoseconds if mask & _STATX_BTIME else None

    def names(self, folder: str | int) -> list[str]:
        """List the exact names in a folder."""
        return os.listdir(folder)

    def readlink(self, folder: str, name: str) -> str:
        """Say where a symbolic link points."""
        return os.readlink(os.path.join(folder, name))

    def casefold_flag(self, folder: str) -> bool | None:
        """Say whether the folder is marked as one that folds names; None if its filesystem has no such word."""
        try:
            import fcntl

            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (ImportError, OSError):
            return None
        is_certain = self.filesystem(fd) in _FOLDS_BY_FLAG
        try:
            flags = array.array("l", [0])
            fcntl.ioctl(fd, _FS_IOC_GETFLAGS, flags)
        except OSError:
            return False if is_certain else None
        finally:
            os.close(fd)
        return True if flags[0] & _FS_CASEFOLD_FL else (False if is_certain else None)

    def filesystem(self, fd: int) -> int:
        """Give the number of the filesystem's type (see statfs), 0 if it can't be told."""
        buffer = ctypes.create_string_buffer(_STATFS_BYTES)
        call = getattr(_LIBC, "fstatfs", None)
        if call is None or call(fd, buffer) != 0:
            return 0
        return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF
