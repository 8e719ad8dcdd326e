"""One attempt at its place, and the one step that lands it, for each way of landing, with what its answer proves.

Each landing is a single rename or link, so it happens whole or not at all, and leaves a trace that `fence` reads: the
staged entry is gone, or the moved one has another ctime. Only a new spelling takes two renames. `acknowledged` is said
only when the kernel has answered and all names are durable (invariant 2); an fsync that fails is not tried again,
since a second one may succeed falsely. The answers made here are the only ones that `fence` and `removal` give too, so
that the words for one fact are the same wherever it is found out.
"""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass

from amends.contract.operation import Json, Presence
from amends.contract.outcome import Evidence
from amends.ports import Answer, Attempt
from amends.surfaces.files.room import KEPT, Room, descend, opened
from amends.surfaces.files.root import Way
from amends.surfaces.files.snapshot import take
from amends.surfaces.files.syscall import REFUSALS, Syscalls, why

SET_ASIDE = "it was set aside before it could land"


def never_sent(reason: str) -> Answer:
    """Nothing landed, and nothing can."""
    return Answer(Evidence.NEVER_SENT, reason=reason)


@dataclass(frozen=True, slots=True)
class Notes:
    """What `prepare` writes down with the intent, and all that `send`, `fence` and `tidy` know of an attempt's place.

    `entry` in the existing folder `folder` is the name that appears, is exchanged or goes. Where folders are made on
    the way, it is the topmost of them and `inside` is the rest of the path. `staged` is the inode of what lands, which
    it keeps wherever it is renamed to, and `file` that of the file in it. `room` holds the inodes of the staging folder
    and the archive, outside of which the others mean nothing. `born_ns` tells `staged` from a later inode of that
    number, where the filesystem keeps it. Of a move, `staged` is what moves, `source` where it is, from the root, and
    `changed_ns` its ctime, which a rename sets.
    """

    way: Way
    folder: tuple[str, ...]
    entry: str
    room: tuple[int, int]
    inside: tuple[str, ...] = ()
    staged: int | None = None
    file: int | None = None
    is_network: bool = False
    source: tuple[str, ...] = ()
    born_ns: int | None = None
    changed_ns: int | None = None

    def kept_place(self, key: str) -> list[str]:
        """Say where in `.amends` the bytes are that the attempt displaced, archived or has under way."""
        match self.way:
            case Way.ARCHIVE | Way.REMOVE:
                return ["archive", key, KEPT, self.entry]
            case Way.RESPELL:
                return ["stage", key]
            case _:
                return ["archive", key]

    def to_json(self) -> dict[str, Json]:
        """Write them for the journal."""
        return {
            "way": str(self.way),
            "folder": list(self.folder),
            "entry": self.entry,
            "inside": list(self.inside),
            "room": list(self.room),
            "staged": self.staged,
            "file": self.file,
            "is_network": self.is_network,
            "source": list(self.source),
            "born_ns": self.born_ns,
            "changed_ns": self.changed_ns,
        }

    @classmethod
    def from_json(cls, notes: dict[str, Json]) -> Notes:
        """Read them back. Raises KeyError, TypeError or ValueError for what `to_json` did not write."""
        stage, archive = (int(inode) for inode in notes["room"])
        return cls(
            way=Way(notes["way"]),
            folder=tuple(map(str, notes["folder"])),
            entry=str(notes["entry"]),
            inside=tuple(map(str, notes["inside"])),
            room=(stage, archive),
            staged=_number(notes["staged"]),
            file=_number(notes["file"]),
            is_network=bool(notes["is_network"]),
            source=tuple(map(str, notes["source"])),
            born_ns=_number(notes["born_ns"]),
            changed_ns=_number(notes["changed_ns"]),
        )


def _number(value: Json) -> int | None:
    return None if value is None else int(value)


@dataclass(frozen=True, slots=True)
class Site:
    """What the steps of one attempt work on. `path`, `source_path` and `kept` are whole paths, for people."""

    syscalls: Syscalls
    room: Room
    attempt: Attempt
    notes: Notes
    path: str
    source_path: str
    kept: str

    @property
    def key(self) -> str:
        """The idempotency key, which names what is in the room."""
        return self.attempt.key

    @property
    def going(self) -> str:
        """Where what a delete carried off is while it is removed; a whole path, for people."""
        return f"{self.kept.rsplit('/', 2)[0]}/going"

    def has(self, folder_fd: int, name: str) -> bool:
        """Say whether there is an entry. Raises OSError if that can't be told."""
        return self.inode(folder_fd, name) is not None

    def inode(self, folder_fd: int, name: str) -> int | None:
        """Give the inode of an entry, None if there is none. Raises OSError if that can't be told."""
        try:
            return self.syscalls.stat(folder_fd, name).st_ino
        except FileNotFoundError:
            return None

    def is_staged(self, folder_fd: int, name: str) -> bool:
        """Say whether an entry is what was staged: that inode, made when it was, and not a later one of its number."""
        if self.inode(folder_fd, name) != self.notes.staged:
            return False
        return self.notes.born_ns is None or self.syscalls.born_ns(folder_fd, name) == self.notes.born_ns

    def is_at_target(self) -> bool:
        """Say whether what was staged is at the target now."""
        try:
            with opened(folder := descend(self.room.root, self.notes.folder)):
                return self.is_staged(folder, self.notes.entry)
        except OSError:
            return False

    def hint(self) -> str:
        """Say how a person can see what became of the attempt."""
        path = shlex.quote(self.path)
        if self.notes.way is Way.ARCHIVE:
            return f"see whether {path} is still there, and whether {shlex.quote(self.kept)} holds it"
        if self.notes.way is Way.REMOVE:
            return f"see whether {path} is still there, and what {shlex.quote(os.path.dirname(self.going))} holds"
        if self.notes.way in (Way.MOVE, Way.RESPELL):
            return f"see whether {shlex.quote(self.source_path)} is still there, or {path} instead"
        content = str(self.attempt.payload.get("content", ""))
        return f"run sha256sum {path} and see whether it shows {content.removeprefix('sha256:')}"

    def partial(self, reason: str) -> Answer:
        """Not all that was asked for is so, and waiting will not make it so."""
        return Answer(Evidence.PARTIAL, reason=reason, hint=self.hint())

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
        if seen.same_as(self.attempt.before):
            return None
        return (
            f"Somebody else changed {self.attempt.operation.target} in the same moment; "
            f"what they wrote was displaced and is kept at {self.kept}."
        )

    def moved(self, folder_fd: int) -> str | None:
        """Compare what was moved with what was to be at the target, and give the sentence for a difference."""
        seen = take(self.syscalls, folder_fd, self.notes.entry).seen
        operation = self.attempt.operation
        if all(fact.holds(seen) for fact in operation.postcondition if fact.target == operation.target):
            return None
        return (
            f"Somebody else changed it in the same moment; what they wrote was moved too and is at {operation.target}."
        )


def send(site: Site) -> Answer:
    """Land it. Never raises OSError."""
    try:
        folder = descend(site.room.root, site.notes.folder)
    except OSError as error:
        return never_sent(why(error))
    with opened(folder):
        match site.notes.way:
            case Way.NOREPLACE:
                return _appear(site, folder)
            case Way.LINK:
                return _appear_by_link(site, folder)
            case Way.EXCHANGE:
                return _exchange(site, folder)
            case Way.REPLACE:
                return _replace(site, folder)
            case Way.ARCHIVE | Way.REMOVE:
                return _archive(site, folder)
            case Way.MOVE | Way.RESPELL:
                return _move(site, folder)


def sending(key: str) -> str:
    """Name the staged file while it may be getting its second name."""
    return f"{key}.sending"


def put_away(site: Site) -> None:
    """Rename whatever lies at the staged name into the archive: our bytes before the landing, else the displaced."""
    with suppress(FileNotFoundError):  # the fence, or the sender, was first
        site.syscalls.rename_noreplace(site.room.stage, site.key, site.room.archive, site.key)


def _is_staged(site: Site, name: str) -> bool:
    try:
        return site.inode(site.room.stage, name) is not None
    except OSError:
        return True


def _durable(site: Site, *folders: int, note: str | None = None) -> Answer:
    try:
        for fd in folders:
            site.syscalls.fsync(fd)
    except OSError as error:
        return site.unproven(f"it landed, but may not survive a power cut: {why(error)}", is_quiescent=True)
    return Answer(Evidence.ACKNOWLEDGED, note=note, is_undoable=note is None)


def _appear(site: Site, folder: int) -> Answer:
    try:
        site.syscalls.rename_noreplace(site.room.stage, site.key, folder, site.notes.entry)
    except OSError as error:
        return site.refused(error, is_staged=_is_staged(site, site.key))
    return _durable(site, folder, site.room.stage)


def _appear_by_link(site: Site, folder: int) -> Answer:
    stage, name = site.room.stage, sending(site.key)
    try:
        site.syscalls.rename(stage, site.key, stage, name)
        site.syscalls.fsync(stage)  # or the old name might come back beside the target, and look like never sent
    except OSError as error:
        return never_sent(SET_ASIDE if isinstance(error, FileNotFoundError) else why(error))
    try:
        site.syscalls.link(stage, name, folder, site.notes.entry)
    except OSError as error:
        return site.refused(error, is_staged=_is_staged(site, name))
    answer = _durable(site, folder)
    try:
        with suppress(FileNotFoundError):
            site.syscalls.unlink(stage, name)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=False)
    return answer if answer.evidence is not Evidence.ACKNOWLEDGED else _durable(site, stage)


def _exchange(site: Site, folder: int) -> Answer:
    try:
        site.syscalls.rename_exchange(site.room.stage, site.key, folder, site.notes.entry)
    except OSError as error:
        return site.refused(error, is_staged=_is_staged(site, site.key))
    answer = _durable(site, folder)
    try:
        put_away(site)
    except OSError as error:
        return site.unproven(why(error), is_quiescent=False)
    if answer.evidence is not Evidence.ACKNOWLEDGED:
        return answer
    return _durable(site, site.room.archive, site.room.stage, note=site.displaced(site.room.archive, site.key))


def _replace(site: Site, folder: int) -> Answer:
    """Keep the target under a second name, then rename over it; what comes in between is lost, and so declared."""
    archive, entry = site.room.archive, site.notes.entry
    try:
        site.syscalls.link(folder, entry, archive, site.key)
        if site.inode(folder, entry) != site.inode(archive, site.key):
            return never_sent("it was replaced in this moment")
        if site.displaced(archive, site.key) is not None:
            drop_second_name(site, folder)
            return never_sent("it was changed in this moment")
        site.syscalls.fsync(archive)
    except OSError as error:
        drop_second_name(site, folder)
        return never_sent(why(error))
    try:
        site.syscalls.rename(site.room.stage, site.key, folder, entry)
    except OSError as error:
        answer = site.refused(error, is_staged=_is_staged(site, site.key))
        if answer.evidence is not Evidence.UNPROVEN:
            drop_second_name(site, folder)
        return answer
    return _durable(site, folder, site.room.stage, note=site.displaced(archive, site.key))


def drop_second_name(site: Site, folder: int) -> None:
    """Take back the name that the target got in the archive, before its failure is recorded.

    Nothing would take it back after a crash, and a file with two names is never replaced.
    """
    with suppress(OSError):
        kept = site.inode(site.room.archive, site.key)
        if kept is not None and kept == site.inode(folder, site.notes.entry):
            site.syscalls.unlink(site.room.archive, site.key)
            site.syscalls.fsync(site.room.archive)


def _archive(site: Site, folder: int) -> Answer:
    """Rename into a folder that the fence removes: into a removed one nothing can be renamed, even through this fd."""
    try:
        inner = descend(site.room.archive, (site.key, KEPT))
    except OSError as error:
        return never_sent(SET_ASIDE if isinstance(error, FileNotFoundError) else why(error))
    with opened(inner):
        try:
            site.syscalls.rename(folder, site.notes.entry, inner, site.notes.entry)
        except OSError as error:
            return site.refused(error, is_staged=_has_inner(site))
        if site.notes.way is Way.REMOVE:  # what was carried off is looked at, and synced, by whoever removes it
            return Answer(Evidence.ACKNOWLEDGED)
        return _durable(site, inner, folder, note=site.displaced(inner, site.notes.entry))


def _has_inner(site: Site) -> bool:
    try:
        with opened(descend(site.room.archive, (site.key, KEPT))):
            return True
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _move(site: Site, folder: int) -> Answer:
    notes, stage = site.notes, site.room.stage
    try:
        source = descend(site.room.root, notes.source[:-1])
    except OSError as error:
        return never_sent(why(error))
    with opened(source):
        into, name = (stage, site.key) if notes.way is Way.RESPELL else (folder, notes.entry)
        try:
            site.syscalls.rename_noreplace(source, notes.source[-1], into, name)
        except OSError as error:
            return site.refused(error, is_staged=True)
        if notes.way is Way.RESPELL:
            # In one step it would be refused, or be answered with success and do nothing.
            try:
                site.syscalls.rename_noreplace(stage, site.key, folder, notes.entry)
            except OSError as error:
                return site.unproven(why(error), is_quiescent=False)
        return _durable(site, folder, source, note=site.moved(folder))
