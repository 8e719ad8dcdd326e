"""Blobs for a dry run: digests are taken, small contents are held in memory for a preview, nothing is kept.

Planning asks a journal only for a place for bytes, so this is all that a rehearsal needs: it leaves no file behind.
"""

from __future__ import annotations

import hashlib
import io
from typing import BinaryIO

from amends.errors import JournalError, PayloadError

HELD_BYTES_MAX = 1 << 20
"""No preview shows more; what is larger is only hashed."""

_CHUNK_BYTES = 1 << 20


class DryBlobs:
    """A place for bytes that forgets them."""

    def __init__(self) -> None:
        """Begin empty."""
        self._held: dict[str, bytes] = {}

    def put_blob(self, content: BinaryIO, *, bytes_max: int) -> tuple[str, int]:
        """Give the digest and size of `content`. Raises PayloadError past `bytes_max`."""
        hashed, size, head = hashlib.sha256(), 0, b""
        while chunk := content.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > bytes_max:
                raise PayloadError(f"the content has more than {bytes_max} bytes")
            hashed.update(chunk)
            head = head + chunk if size <= HELD_BYTES_MAX else b""
        digest = f"sha256:{hashed.hexdigest()}"
        if size <= HELD_BYTES_MAX:
            self._held[digest] = head
        return digest, size

    def open_blob(self, digest: str) -> BinaryIO:
        """Open bytes that were small enough to hold. Raises JournalError for others."""
        if digest not in self._held:
            raise JournalError(f"a dry run does not hold {digest}")
        return io.BytesIO(self._held[digest])
