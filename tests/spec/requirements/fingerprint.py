"""Requirements of the fingerprint of an operation, and of the digest that a confirmation is bound to."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The contract"

REQUIREMENTS: dict[str, Requirement] = {
    "fingerprint:operation:covered": Requirement(
        SOURCE,
        "Operations that differ in kind, source, target or a fact have different fingerprints.",
    ),
    "fingerprint:operation:prose": Requirement(
        SOURCE,
        "Names, labels, ids and wording are outside the fingerprint, and its form does not change between releases.",
    ),
    "fingerprint:facts:set": Requirement(
        SOURCE,
        "Neither the order of facts nor a fact said twice changes the fingerprint.",
    ),
    "fingerprint:number:form": Requirement(
        SOURCE,
        "A number has one form however it is written, and values that only look alike stay apart.",
    ),
    "fingerprint:number:big": Requirement(
        SOURCE,
        "Big integers are kept exactly, and nothing written by hand can look like one.",
    ),
    "fingerprint:number:nan": Requirement(
        SOURCE,
        "What is no number (NaN, an infinity) is refused.",
    ),
    "fingerprint:confirmation:bound": Requirement(
        SOURCE,
        "A confirmation is bound to exactly what will be sent and to the state that was shown.",
    ),
}
