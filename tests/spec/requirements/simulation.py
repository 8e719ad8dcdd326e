"""Requirements of the seeded simulator, its crashes and its checkers."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The simulator"

REQUIREMENTS: dict[str, Requirement] = {
    "simulation:seeds:safe": Requirement(
        SOURCE,
        "Random runs with lost answers, late landings, crashes, power cuts and foreign writers break no invariant.",
    ),
    "simulation:seeds:live": Requirement(
        SOURCE,
        "As soon as nothing goes wrong any more, checking decides or closes whatever was sent.",
    ),
    "simulation:seeds:decisive": Requirement(
        SOURCE,
        "On an atomic surface fewer than one write in twenty ends ambiguous, whatever goes wrong.",
    ),
    "simulation:seeds:repeatable": Requirement(
        SOURCE,
        "A seed always gives the same run, and one that fails is printed with the command that repeats it.",
    ),
    "simulation:seeds:short": Requirement(
        SOURCE,
        "A seed that fails is made a short story: whatever the failure does not need is left out.",
    ),
    "simulation:seeds:disk": Requirement(
        SOURCE,
        "A share of the random runs keeps its journal on disk, and each comes to what it comes to in memory.",
    ),
    "simulation:seeds:kept": Requirement(
        SOURCE,
        "Seeds that failed once are kept, each with what was wrong, and are run first.",
    ),
    "simulation:crashes:once": Requirement(
        SOURCE,
        "A crash at any step of a write, an undo or a decision is survived, with one process or two at work.",
    ),
    "simulation:crashes:twice": Requirement(
        SOURCE,
        "A second crash, at any step of what follows the first, is survived too.",
    ),
    "simulation:crashes:disk": Requirement(
        SOURCE,
        "A crash or a power cut between the steps of a story is survived with the journal on disk as well.",
    ),
    "simulation:recovery:bounded": Requirement(
        SOURCE,
        "Counted at the target, a transaction sends at most two recoveries, one of each step or aim, ever.",
    ),
    "simulation:recovery:looked": Requirement(
        SOURCE,
        "Each recovery follows a fresh reading of all that is named, and one that did not help is the last.",
    ),
    "simulation:recovery:over": Requirement(
        SOURCE,
        "What is BLOCKED or COMPLETE sends nothing more, and no other title, part or merger goes round it.",
    ),
    "simulation:mutants:caught": Requirement(
        SOURCE,
        "Each of a list of mistakes, planted into the protocol, is found by the simulation.",
    ),
}
