"""Requirements of bounded recovery: mismatches, budgets, the governor, and the BLOCKED report."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Bounded recovery"

REQUIREMENTS: dict[str, Requirement] = {
    "recovery:observe:held": Requirement(
        SOURCE,
        "While any write of a transaction may still land, nothing else of it is sent.",
    ),
    "recovery:observe:whole": Requirement(
        SOURCE,
        "It is judged on a fresh reading of everything that the transaction names, a move's source included.",
    ),
    "recovery:gate:complete": Requirement(
        SOURCE,
        "A transaction is complete only when all of its facts hold in two readings, one after the other.",
    ),
    "recovery:gate:steady": Requirement(
        SOURCE,
        "Whether the two readings were of equal versions, or each was seen at its time, is told with it.",
    ),
    "recovery:gate:proved": Requirement(
        SOURCE,
        "A write that no reading can show counts as done only if something else proves it, and is never recovered.",
    ),
    "recovery:planned:first": Requirement(
        SOURCE,
        "The first sending of a planned write is no recovery, and happens only while nothing else is amiss.",
    ),
    "recovery:mismatch:severity": Requirement(
        SOURCE,
        "A fact that differs is nearer to holding than a missing one, and that nearer than an unreadable one.",
    ),
    "recovery:mismatch:told": Requirement(
        SOURCE,
        "A mismatch says what should be and what was seen, and when.",
    ),
    "recovery:mismatch:once": Requirement(
        SOURCE,
        "A fact that is stated twice counts once.",
    ),
    "recovery:budget:fingerprint": Requirement(
        SOURCE,
        "There is one automatic recovery per fingerprint.",
    ),
    "recovery:budget:aims": Requirement(
        SOURCE,
        "Another value, a part, a merger or another kind of write on the same thing is no fresh recovery.",
    ),
    "recovery:budget:transaction": Requirement(
        SOURCE,
        "A transaction has two automatic recoveries, whoever counts them, and a third is never sent.",
    ),
    "recovery:budget:unsent": Requirement(
        SOURCE,
        "A recovery that was decided and could not be sent counts, so that it is not decided for ever.",
    ),
    "recovery:progress:facts": Requirement(
        SOURCE,
        "Progress is judged fact by fact: none may be worse and one must be better.",
    ),
    "recovery:progress:unchanged": Requirement(
        SOURCE,
        "A recovery after which no fact is better ends the transaction.",
    ),
    "recovery:progress:regression": Requirement(
        SOURCE,
        "A fact that is worse than at an earlier look ends the transaction.",
    ),
    "recovery:progress:oscillation": Requirement(
        SOURCE,
        "A target that shows again what it showed before it changed ends the transaction, whatever its version is.",
    ),
    "recovery:progress:no_oscillation": Requirement(
        SOURCE,
        "Going from state to state without a return, and several targets that look alike, are no oscillation.",
    ),
    "recovery:stop:repeated": Requirement(
        SOURCE,
        "A step that was recovered and is still amiss ends the transaction.",
    ),
    "recovery:stop:capability": Requirement(
        SOURCE,
        "A target that can't be read, or a surface that can't do what is left, ends the transaction.",
    ),
    "recovery:stop:destructive": Requirement(
        SOURCE,
        "No recovery deletes, or replaces what is kept nowhere.",
    ),
    "recovery:stop:foreign": Requirement(
        SOURCE,
        "No recovery replaces what somebody else wrote, also where that helped or put the old state back.",
    ),
    "recovery:stop:ambiguous": Requirement(
        SOURCE,
        "What no write was to establish, or a state that nothing explains, ends the transaction.",
    ),
    "recovery:stop:interrupted": Requirement(
        SOURCE,
        "After a person broke it off, nothing goes on by itself.",
    ),
    "recovery:stop:reasons": Requirement(
        SOURCE,
        "Each reason to stop has a word and a sentence of its own, and each can be reached.",
    ),
    "recovery:rules:order": Requirement(
        SOURCE,
        "The rules are one ordered table, and the first that applies decides.",
    ),
    "recovery:rules:pure": Requirement(
        SOURCE,
        "The decision depends on what is handed in and on nothing else.",
    ),
    "recovery:proof:every_history": Requirement(
        SOURCE,
        "Over every history of a small model, with other writers at every step, it ends, within budget and progress.",
    ),
    "recovery:proof:mutants": Requirement(
        SOURCE,
        "A governor with any one rule taken out or weakened is caught by the tests.",
    ),
    "recovery:report:content": Requirement(
        SOURCE,
        "A BLOCKED report lists what was asked, tried, seen and when, what is amiss, what holds, and what is kept.",
    ),
    "recovery:report:next": Requirement(
        SOURCE,
        "A BLOCKED report names one smallest next decision, and what to do before it.",
    ),
    "recovery:report:honest": Requirement(
        SOURCE,
        "Every line of a report is about one target or one write, and claims no more than was recorded or seen.",
    ),
    "recovery:report:hostile": Requirement(
        SOURCE,
        "A report's lines are printable, whatever names, values and reasons are in them.",
    ),
}
