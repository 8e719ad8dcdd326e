"""The one step that lands a change, for each way of landing, and what its answer proves.

Each landing is a single rename or link, so it happens whole or not at all, and leaves a trace that `fence` reads: the
staged entry is gone, or the moved one has another ctime. Only a new spelling takes two renames. `acknowledged` is said
only when the kernel has answered and all names are durable (invariant 2); an fsync that fails is not tried again,
since a second one may succeed falsely.
"""

from __future__ import annotations

from contextlib import suppress

from amends.contract.outcome import Evidence
from amends.ports import Answer
from amends.surfaces.files.means import Way
from amends.surfaces.files.room import descend, opened
from amends.surfaces.files.site import SET_ASIDE, Site, never_sent
from amends.surfaces.files.syscall import why

KEPT = "kept"
"""The folder in `archive/KEY` that an archived file is renamed into."""


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
            case Way.ARCHIVE:
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
    return Answer(Evidence.ACKNOWLEDGED, note=note)


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
