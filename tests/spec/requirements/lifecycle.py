"""Requirements of the one transition table, and what derives from it."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The contract"

REQUIREMENTS: dict[str, Requirement] = {
    "lifecycle:table:closed": Requirement(
        SOURCE,
        "What can happen to a write or a transaction is in one table; everything else raises and changes nothing.",
    ),
    "lifecycle:outcome:final": Requirement(
        SOURCE,
        "Applied and failed are final, as is every other end, and every write can come to an end.",
    ),
    "lifecycle:send:once": Requirement(
        SOURCE,
        "A write is sent only from confirmed, and nothing leads back to there from where it may have been sent.",
    ),
    "lifecycle:send:takeover": Requirement(
        SOURCE,
        "A takeover by another process leads to ambiguous, never to a send.",
    ),
    "lifecycle:claims:held": Requirement(
        SOURCE,
        "A write that may still land holds its claims, and the same write again is joined to it.",
    ),
    "lifecycle:history:fold": Requirement(
        SOURCE,
        "The state of a write is what its history leads to, and a history with an illegal event has none.",
    ),
    "lifecycle:diagram:drawn": Requirement(
        SOURCE,
        "The diagram in the documentation is drawn from the table.",
    ),
}
