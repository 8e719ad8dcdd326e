"""Requirements of real processes that are killed and stopped in the middle of real writes."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Killed for real"

REQUIREMENTS: dict[str, Requirement] = {
    "crash:kill:truth": Requirement(
        SOURCE,
        "A writer killed at a random moment leaves no partial file, no lost intent, no false outcome and no duplicate.",
    ),
    "crash:kill:whole": Requirement(SOURCE, "The same holds for the whole command as a user starts it."),
    "crash:step:once": Requirement(
        SOURCE, "After a crash between any two steps of a write its outcome is found, and the repeat has one effect."
    ),
    "crash:step:call": Requirement(
        SOURCE, "The same holds between any two system calls that change a folder, and around each commit."
    ),
    "crash:step:twice": Requirement(
        SOURCE, "A second crash, at any step of the resume, changes nothing of what is found in the end."
    ),
    "crash:pause:fenced": Requirement(
        SOURCE, "A writer that was stopped, taken over and woken lands nothing and reports the recorded outcome."
    ),
    "crash:pause:landed": Requirement(
        SOURCE, "A write that landed before its writer was stopped is found to have applied, once."
    ),
    "crash:pause:alive": Requirement(SOURCE, "A living writer keeps its write to itself while its lease runs."),
    "crash:pause:overtaken": Requirement(
        SOURCE, "What was written after a takeover stays as it is when the old writer wakes up."
    ),
    "crash:race:confirm": Requirement(
        SOURCE, "Two processes that confirm one proposal at the same moment have one effect and one operation."
    ),
    "crash:race:spellings": Requirement(
        SOURCE, "Two processes that create one target under two spellings have one effect, and the loser is told why."
    ),
    "crash:judge:bites": Requirement(
        SOURCE, "The judge of these tests finds each of six dishonest writers within few kills."
    ),
    "crash:transaction:budget": Requirement(
        SOURCE, "Kills inside transactions and recoveries refresh no budget, counted at the target, and end it truly."
    ),
    "crash:power:truth": Requirement(
        SOURCE,
        "A power loss at any call of a write, with any part lost that was not synced, leaves the truth to be found.",
    ),
    "crash:power:killed": Requirement(
        SOURCE, "The same holds for a writer that was killed, and for the process that settles what it left."
    ),
    "crash:power:bites": Requirement(
        SOURCE, "A writer that leaves out any one sync that a write needs is caught by these power losses."
    ),
}
