"""The surface of files and folders below one root folder, from the lowest module to the port itself.

syscall    identity    what the kernel does; which entry a spelling means
room       snapshot    the private folder `.amends`; what one look at a file or folder shows
content    root        the bytes of a write; the folder, what its filesystem can do, what a write claims
planning   move undo   from a request to a plan
landing    fence       the one step that lands an attempt, and the one that rules it out
removal                deletes, which look before they remove
place      surface     one filesystem of a surface; the port
"""

from amends.surfaces.files.content import PAYLOAD_BYTES_MAX
from amends.surfaces.files.room import Past, Remains
from amends.surfaces.files.surface import Files
from amends.surfaces.files.syscall import Syscalls

__all__ = ["PAYLOAD_BYTES_MAX", "Files", "Past", "Remains", "Syscalls"]
