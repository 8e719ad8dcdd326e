"""Requirements of the reference agent, which uses the front door and the pure packages only."""

from tests.spec.requirements.requirement import Requirement

AC1 = "RFD-AGT-002 D-10, AC1: on failure an honest message and zero fabricated rows"
AC2 = "RFD-AGT-002 D-10, AC2: undo runs as a fresh write that revalidates"
AC3 = "RFD-AGT-002 D-10, AC3: ambiguous is surfaced with a way to check"

REQUIREMENTS: dict[str, Requirement] = {
    "atlas:names:contract": Requirement(
        "RFD-AGT-002 D-10, Files",
        "Atlas's module `recovery` has every name of the recovery contract.",
    ),
    "atlas:message:failed": Requirement(
        AC1,
        "Of a failed write counsel reads that nothing was changed, and of one that was already as asked, just that.",
    ),
    "atlas:message:applied": Requirement(
        AC1,
        "Only of an applied write does counsel read that it is done, with an undo where there is one.",
    ),
    "atlas:message:rows": Requirement(
        AC1,
        "A message has no field that could bear rows, takes none, and can't be changed.",
    ),
    "atlas:message:success": Requirement(
        AC1,
        "A message that calls a failed or ambiguous write applied can't be made.",
    ),
    "atlas:message:phrasebook": Requirement(
        AC1,
        "Atlas has a sentence of its own for every outcome and evidence, and none says more than the outcome.",
    ),
    "atlas:undo:proposal": Requirement(
        AC2,
        "An undo is a fresh proposal to be confirmed first, which names the operation that it reverses.",
    ),
    "atlas:undo:revalidates": Requirement(
        AC2,
        "Neither the confirmation nor the fresh read of an undo can be turned off.",
    ),
    "atlas:undo:key": Requirement(
        AC2,
        "A proposal that brings an idempotency key is rejected.",
    ),
    "atlas:undo:reversible": Requirement(
        AC2,
        "What an undo proposes is itself reversible and never destructive; an undo of an undo reverses it again.",
    ),
    "atlas:undo:refused": Requirement(
        AC2,
        "An undo of a failed or ambiguous write is refused, with the reason.",
    ),
    "atlas:ambiguous:hint": Requirement(
        AC3,
        "Of an ambiguous write counsel reads that it may have applied and how to check, whether or not a hint came.",
    ),
    "atlas:ambiguous:retry": Requirement(
        AC3,
        "An ambiguous write is an outcome of its own, and Atlas never writes again because of it.",
    ),
}
