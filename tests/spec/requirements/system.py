"""Requirements of the clock and the ids."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Clock and ids"

REQUIREMENTS: dict[str, Requirement] = {
    "system:clock:bounds": Requirement(
        SOURCE, "Bounds are taken on a clock that all processes share and that never goes back."
    ),
    "system:clock:boot": Requirement(
        SOURCE, "A boot is told from another, also where the kernel does not say which it is."
    ),
    "system:ids:sorted": Requirement(SOURCE, "Ids sort by the time of their making."),
    "system:ids:unique": Requirement(SOURCE, "No two ids are the same, also of one moment."),
}
