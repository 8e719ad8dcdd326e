"""The surface of files and folders below one root folder.

How a spelling becomes a target is in `identity`, what a read shows in `snapshot`, what a write excludes in `claim`, the
private folder `.amends` in `room`, the bytes before they land in `stage`, the one step that lands them in `landing`,
the step that rules it out in `fence`, and the port itself in `surface`.
"""

from amends.surfaces.files.content import PAYLOAD_BYTES_MAX
from amends.surfaces.files.surface import Files
from amends.surfaces.files.sweep import Past, Remains
from amends.surfaces.files.syscall import Syscalls

__all__ = ["PAYLOAD_BYTES_MAX", "Files", "Past", "Remains", "Syscalls"]
