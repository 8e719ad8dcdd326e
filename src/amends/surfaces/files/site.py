"""One attempt at its place: the open room, the notes, and what can be said of it when something goes wrong.

The answers made here are the only ones that `landing` and `fence` give, so that the words for one fact are the same
wherever it is found out.
"""

from __future__ import annotations

import errno
import shlex
from dataclasses import dataclass

from amends.contract.operation import Observation, Presence
from amends.contract.outcome import Evidence
from amends.ports import Answer
from amends.surfaces.files.means import Way
from amends.surfaces.files.notes import Notes
from amends.surfaces.files.reason import REFUSALS, why
from amends.surfaces.files.room import Room, descend, opened
from amends.surfaces.files.snapshot import take
from amends.surfaces.files.syscall import Syscalls

SET_ASIDE = "it was set aside before it could land"


def never_sent(reason: str) -> Answer:
    """Nothing landed, and nothing can."""
    return Answer(Evidence.NEVER_SENT, reason=reason)


@dataclass(frozen=True, slots=True)
class Site:
    """What the steps of one attempt work on. `path` and `kept` are whole paths, for people."""

    syscalls: Syscalls
    room: Room
    key: str
    notes: Notes
    target: str
    path: str
    kept: str
    before: Observation
    content: str | None

    def inode(self, folder_fd: int, name: str) -> int | None:
        """Give the inode of an entry, None if there is none. Raises OSError if that can't be told."""
        try:
            return self.syscalls.stat(folder_fd, name).st_ino
        except FileNotFoundError:
            return None

    def is_at_target(self) -> bool:
        """Say whether what was staged is at the target now."""
        try:
            with opened(folder := descend(self.room.root, self.notes.folder)):
                return self.inode(folder, self.notes.entry) == self.notes.staged
        except OSError:
            return False

    def hint(self) -> str:
        """Say how a person can see what became of the attempt."""
        path = shlex.quote(self.path)
        if self.notes.way is Way.ARCHIVE:
            return f"see whether {path} is still there, and whether {shlex.quote(self.kept)} holds it"
        return f"run sha256sum {path} and see whether it shows {(self.content or '').removeprefix('sha256:')}"

    def unproven(self, reason: str, *, is_quiescent: bool) -> Answer:
        """It may have landed."""
        return Answer(Evidence.UNPROVEN, is_quiescent=is_quiescent, reason=reason, hint=self.hint())

    def refused(self, error: OSError, *, is_staged: bool) -> Answer:
        """Judge the first error of the landing step itself, where no earlier try of ours can have caused it."""
        if self.notes.is_network:
            return self.unproven(f"the server answered that {why(error)}, which proves nothing", is_quiescent=False)
        if error.errno == errno.ENOENT and not is_staged:
            return never_sent(SET_ASIDE)
        if error.errno in REFUSALS:
            return Answer(Evidence.REFUSED, reason=why(error))
        return self.unproven(why(error), is_quiescent=False)

    def displaced(self, folder_fd: int, name: str) -> str | None:
        """Compare what was displaced with what was there before, and give the sentence for a difference."""
        seen = take(self.syscalls, folder_fd, name).seen
        if seen.presence is Presence.UNREADABLE:
            return (
                f"What was displaced can't be compared with what was shown ({seen.detail}); it is kept at {self.kept}."
            )
        if seen.presence is Presence.ABSENT:
            return f"What was displaced is no longer at {self.kept}."
        if all(seen.fields[name] == self.before.fields.get(name) for name in ("content", "mode")):
            return None
        return (
            f"Somebody else changed {self.target} in the same moment; "
            f"what they wrote was displaced and is kept at {self.kept}."
        )
