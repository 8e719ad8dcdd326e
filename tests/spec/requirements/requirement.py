"""The four fields of a requirement.

An id is `area:feature:variant` in lower-case words; the area is the name of the module that lists it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise that tests must prove.

    source      a heading of docs/concepts/guarantees.md, the link of an RFC or a specification, or `issue:#12`
    sentence    what holds, for a reader who has not seen the code
    divergence  where what we do differs from the source, and why; None where it doesn't
    deferral    why no test proves it yet; None as soon as one does (the manifest's test insists on it)
    """

    source: str
    sentence: str
    divergence: str | None = None
    deferral: str | None = None
