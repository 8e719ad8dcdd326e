"""Requirements of transactions on real files: the budget, its evasions, what stops, and what comes after BLOCKED."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Transactions"

REQUIREMENTS: dict[str, Requirement] = {
    "transaction:budget:fingerprint": Requirement(
        SOURCE, "A write that fails is sent once more by itself, and no more."
    ),
    "transaction:budget:transaction": Requirement(
        SOURCE, "Two writes of a transaction are sent once more by themselves, and a third is not."
    ),
    "transaction:budget:reading": Requirement(SOURCE, "Reading, checking and showing use up nothing."),
    "transaction:evasion:blocked": Requirement(
        SOURCE, "What is BLOCKED is not sent by another name, value, kind, spelling, link, process or proposer."
    ),
    "transaction:evasion:unfinished": Requirement(
        SOURCE, "However the next write about an unfinished one is said, it is that one's recovery and spends it."
    ),
    "transaction:evasion:split": Requirement(SOURCE, "A step in two parts has one recovery, not two."),
    "transaction:evasion:merged": Requirement(
        SOURCE, "A write that failed or may have applied, in one document with a new one, is refused with all of it."
    ),
    "transaction:evasion:folder": Requirement(
        SOURCE, "Another folder finds the same account, and other settings over the same files are refused."
    ),
    "transaction:evasion:restart": Requirement(SOURCE, "A restart between any two steps refreshes nothing."),
    "transaction:evasion:again": Requirement(SOURCE, "Asking for a second write does not get past BLOCKED."),
    "transaction:evasion:race": Requirement(SOURCE, "Two processes that would recover at once recover once."),
    "transaction:stop:no_progress": Requirement(
        SOURCE, "After a recovery that brought nothing nearer, or only another wrong value, nothing more is sent."
    ),
    "transaction:stop:regression": Requirement(
        SOURCE, "After a recovery that left a fact worse, nothing more is sent."
    ),
    "transaction:stop:elsewhere": Requirement(
        SOURCE, "A new mismatch at another target ends it, also where the recovery did what it was to do."
    ),
    "transaction:stop:oscillation": Requirement(SOURCE, "A file that is put back as it was before ends it."),
    "transaction:stop:no_oscillation": Requirement(
        SOURCE, "Equal files that are all gone, a file that goes from text to text, and an undo are no oscillation."
    ),
    "transaction:stop:unreadable": Requirement(
        SOURCE, "A file that can't be read, or changes while it is read, ends it before anything more is sent."
    ),
    "transaction:stop:capability": Requirement(
        SOURCE, "What a real kernel refuses ends it: what was written is kept, and each write is told for itself."
    ),
    "transaction:foreign:helps": Requirement(SOURCE, "What somebody else did meanwhile is not sent again."),
    "transaction:foreign:harms": Requirement(SOURCE, "What somebody else wrote meanwhile is kept, and ends it."),
    "transaction:complete:twice": Requirement(
        SOURCE, "What holds in one reading and not in the next is not complete; what moved between them is told."
    ),
    "transaction:blocked:acts_no_more": Requirement(
        SOURCE, "What is BLOCKED sends nothing any more, and refuses what overlaps, with the one command that helps."
    ),
    "transaction:repeat:goes_on": Requirement(
        SOURCE,
        "The same document again has an unfinished transaction go on, within its budget; proposed, it sends nothing.",
    ),
    "transaction:followup:once": Requirement(
        SOURCE, "What is BLOCKED is taken up once: an undo or a completed follow-up voids every other follow-up of it."
    ),
    "transaction:followup:fresh": Requirement(
        SOURCE, "A follow-up proposes what is still amiss, with a budget of its own; the old verdict stands."
    ),
    "transaction:followup:mended": Requirement(
        SOURCE, "A follow-up where somebody mended everything is complete at once, and sends nothing."
    ),
    "transaction:undo:reversed": Requirement(
        SOURCE, "A transaction is undone last write first, and what can't be restored is listed before."
    ),
    "transaction:gate:frozen": Requirement(SOURCE, "A document that asks for less later does not make less enough."),
    "transaction:case:undo": Requirement(SOURCE, "Reported elsewhere: undos that lost data. Here they lose none."),
    "transaction:case:crash": Requirement(
        SOURCE, "Reported elsewhere: writes that a crash left running or repeated. Here they are settled, and once."
    ),
    "transaction:case:atomic": Requirement(
        SOURCE, "Reported elsewhere: a half-done change that was told as none. Here each write is told."
    ),
    "transaction:case:identity": Requirement(
        SOURCE, "Reported elsewhere: one file by two names, two files by one. Here a file is what it is."
    ),
    "transaction:case:loop": Requirement(SOURCE, "Reported elsewhere: steps repeated for ever. Here they stop."),
}
