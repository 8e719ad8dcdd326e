"""Requirements of input, files and histories that were made up at random."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Made up at random"

REQUIREMENTS: dict[str, Requirement] = {
    "fuzz:change:text": Requirement(
        SOURCE, "Whatever is given as a change document is either taken, or refused with a sentence and nothing done."
    ),
    "fuzz:settings:text": Requirement(
        SOURCE, "Whatever stands in the settings, a command either works or says what is wrong with them."
    ),
    "fuzz:journal:damage": Requirement(
        SOURCE,
        "With any bytes of the journal's files flipped, cut off or zeroed, no verb shows an outcome that was not"
        " recorded, and none breaks off without a sentence.",
    ),
    "fuzz:journal:bites": Requirement(SOURCE, "A journal that does not check its records is caught by these damages."),
    "fuzz:verbs:history": Requirement(
        SOURCE,
        "Whatever verbs are used in whatever order, with foreign edits between, no bytes are lost, screen and log"
        " agree, and verifying finds no fault.",
    ),
}
