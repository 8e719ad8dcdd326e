"""System calls that answer otherwise: older kernels, network servers, folding folders, and calls that end or fail."""

import errno
import os
from collections.abc import Callable
from typing import Any

from amends.surfaces.files import Syscalls
from amends.surfaces.files.identity import fold

NFS = 0x6969
OVERLAY_NUMBER = 0x794C7630
CHANGING = ("rename_noreplace", "rename_exchange", "rename", "link", "unlink", "mkdir", "rmdir", "fsync")


class WithoutFlags(Syscalls):
    """A kernel, or a filesystem, that knows no renameat2."""

    def _renameat2(self, source_fd: int, source: str, target_fd: int, target: str, flags: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


class Network(WithoutFlags):
    """A filesystem that calls itself NFS."""

    def filesystem(self, fd: int) -> int:
        return NFS


class Folding(Syscalls):
    """Folders that take all spellings of a name for one, and have no flag that says so.

    Renaming an entry to another spelling of its name is answered as Linux does: as taken, or with success and nothing
    done.
    """

    def _listed(self, folder_fd: int, name: str) -> str:
        return next((real for real in os.listdir(folder_fd) if fold(real) == fold(name)), name)

    def stat(self, folder_fd: int, name: str) -> os.stat_result:
        return super().stat(folder_fd, self._listed(folder_fd, name))

    def born_ns(self, folder_fd: int, name: str) -> int | None:
        return super().born_ns(folder_fd, self._listed(folder_fd, name))

    def open(self, folder_fd: int, name: str) -> int:
        return super().open(folder_fd, self._listed(folder_fd, name))

    def rename_noreplace(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        source, target = self._listed(source_fd, source), self._listed(target_fd, target)
        super().rename_noreplace(source_fd, source, target_fd, target)

    def rename(self, source_fd: int, source: str, target_fd: int, target: str) -> None:
        super().rename(source_fd, self._listed(source_fd, source), target_fd, self._listed(target_fd, target))

    def casefold_flag(self, folder: str) -> bool | None:
        return None

    def lookup(self, folder: str, name: str) -> os.stat_result:
        for real in os.listdir(folder):
            if fold(real) == fold(name):
                return os.lstat(os.path.join(folder, real))
        return super().lookup(folder, name)


def watched(syscalls: Syscalls, watch: Callable[[str, Callable[[], Any]], Any], *names: str) -> Syscalls:
    """Let `watch` decide about each changing call: it gets the call's name, and what would carry it out."""
    for name in names or CHANGING:
        real = getattr(syscalls, name)

        def call(*given: Any, name: str = name, real: Callable[..., Any] = real) -> Any:
            return watch(name, lambda: real(*given))

        setattr(syscalls, name, call)
    return syscalls


def failing(syscalls: Syscalls, number: int, *names: str, after_doing_it: bool = False) -> Syscalls:
    """Let the named calls answer with an error, without or after carrying them out."""

    def fail(name: str, carry_out: Callable[[], Any]) -> None:
        if after_doing_it:
            carry_out()
        raise OSError(number, os.strerror(number))

    return watched(syscalls, fail, *names)
