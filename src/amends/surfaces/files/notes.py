"""What `prepare` writes down with the intent, and all that `send`, `fence` and `tidy` know of an attempt's place.

Inodes tell our bytes from anybody else's: the staged entry keeps its inode wherever it is renamed to, so whoever finds
it knows what became of the attempt. They mean something only in the room that they were taken in.
"""

from __future__ import annotations

from dataclasses import dataclass

from amends.contract.operation import Json
from amends.surfaces.files.means import Way


@dataclass(frozen=True, slots=True)
class Notes:
    """The place and the inodes of one attempt.

    `entry` in the existing folder `folder` is the name that appears, is exchanged or goes. Where folders are made on
    the way, it is the topmost of them and `inside` is the rest of the path. `staged` and `file` are the inodes of the
    staged entry and of the file in it. `room` holds the inodes of the staging folder and the archive.
    """

    way: Way
    folder: tuple[str, ...]
    entry: str
    room: tuple[int, int]
    inside: tuple[str, ...] = ()
    staged: int | None = None
    file: int | None = None
    is_network: bool = False

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
            staged=None if notes["staged"] is None else int(notes["staged"]),
            file=None if notes["file"] is None else int(notes["file"]),
            is_network=bool(notes["is_network"]),
        )
