"""Requirements of what is durable, when, and what a damaged or full disk can't make it say."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The journal"

REQUIREMENTS: dict[str, Requirement] = {
    "journal:commit:whole": Requirement(
        SOURCE, "Events that belong together are recorded together, or none of them is."
    ),
    "journal:commit:lifecycle": Requirement(
        SOURCE, "What the lifecycle does not allow is refused by every journal alike, and changes nothing."
    ),
    "journal:commit:epoch": Requirement(
        SOURCE, "A process whose work was taken over can't record anything for it any more."
    ),
    "journal:commit:race": Requirement(
        SOURCE, "Of all processes that want to begin one write at the same moment, one does."
    ),
    "journal:commit:durable": Requirement(
        SOURCE, "What is recorded is on the disk when the call returns, unless the caller said that it may be lost."
    ),
    "journal:commit:lazy": Requirement(
        SOURCE, "A power cut can take what was recorded as allowed to be lost, and nothing from before it."
    ),
    "journal:claims:overlap": Requirement(
        SOURCE, "While a write may still land, no other one gets at its target, by any name, from above or from below."
    ),
    "journal:claims:released": Requirement(
        SOURCE, "A target is free again when the write can't land any more, and not before."
    ),
    "journal:claims:stored": Requirement(SOURCE, "Two holders of one name can't even be stored."),
    "journal:doubt:abandoned": Requirement(
        SOURCE,
        "A write whose beginning could not be recorded for certain is recorded as abandoned before anything else is.",
    ),
    "journal:doubt:sync": Requirement(
        SOURCE, "A record that comes back from the disk after a failed sync is never taken for a write that was sent."
    ),
    "journal:doubt:replay": Requirement(SOURCE, "Recording the same thing again records nothing twice."),
    "journal:forget:whole": Requirement(
        SOURCE, "What is over can be forgotten, all or none of it, and what is open, spent or about to be undone can't."
    ),
    "journal:forget:blobs": Requirement(SOURCE, "Kept bytes go once nothing names them and they were not kept again."),
    "journal:verify:forgotten": Requirement(
        SOURCE, "What was forgotten leaves the hashes of its ends, and any other gap is found."
    ),
    "journal:group:sync": Requirement(SOURCE, "Threads that write at the same moment share one sync."),
    "journal:group:refused": Requirement(
        SOURCE, "Of those who share a commit, one that is refused takes nobody with it."
    ),
    "journal:group:failed": Requirement(SOURCE, "When a shared commit fails, each of its intents is abandoned."),
    "journal:group:write": Requirement(
        SOURCE, "A write syncs the journal twice, and once where the target keeps the proof that it applied."
    ),
    "journal:open:rows": Requirement(
        SOURCE,
        "Everything that is unsettled, still holds its target, was not told yet or is BLOCKED is listed as open.",
    ),
    "journal:read:history": Requirement(
        SOURCE, "What was recorded is read back in full and in order, by every process."
    ),
    "journal:read:prefix": Requirement(
        SOURCE, "A write or transaction is found by the first letters of its id, the newest first."
    ),
    "journal:read:damage": Requirement(
        SOURCE, "A record that is not what was written is refused when it is read, and never taken for an outcome."
    ),
    "journal:verify:sound": Requirement(
        SOURCE, "Verifying a sound journal finds nothing to complain about, however many processes wrote it."
    ),
    "journal:verify:damage": Requirement(
        SOURCE, "Verifying names every record that was changed, removed or moved, and every table that does not match."
    ),
    "journal:verify:tail": Requirement(
        SOURCE, "A cut-off end is found if its own process asks or another one wrote after it."
    ),
    "journal:process:alive": Requirement(
        SOURCE, "Whether a process still has the journal open is known for certain, also after it was killed."
    ),
    "journal:process:fork": Requirement(
        SOURCE, "A forked process can't use its parent's journal, and does not keep a dead parent looking alive."
    ),
    "journal:process:closed": Requirement(SOURCE, "Nothing can be recorded or read through a journal that was closed."),
    "journal:process:opening": Requirement(
        SOURCE, "A command that is stopped while it opens the journal does not make others wait for ever."
    ),
    "journal:file:private": Requirement(SOURCE, "Only the user who owns the journal can read it or what it keeps."),
    "journal:file:foreign": Requirement(
        SOURCE, "A file that is not our journal is left as it is, and the message says what to do."
    ),
    "journal:file:newer": Requirement(
        SOURCE, "A journal of a newer version is left as it is, and the message names both versions."
    ),
    "journal:file:damaged": Requirement(
        SOURCE, "A torn or overwritten journal file is reported with its path and the next step."
    ),
    "journal:file:full": Requirement(
        SOURCE, "A full disk is reported as such; nothing is half recorded, and work goes on when there is room."
    ),
    "journal:file:errors": Requirement(
        SOURCE, "Every error that SQLite can raise has words of its own for what it means and what to do."
    ),
    "journal:file:sqlite": Requirement(SOURCE, "A SQLite that can damage journals is refused."),
    "journal:schema:lifecycle": Requirement(
        SOURCE, "The words that the database accepts are exactly those of the lifecycle."
    ),
    "journal:schema:append": Requirement(SOURCE, "Recorded events can't be changed or removed by a mere statement."),
    "journal:blob:kept": Requirement(
        SOURCE, "Kept bytes are found by their digest, and missing ones are said to be gone."
    ),
    "journal:blob:limit": Requirement(SOURCE, "Bytes past the limit are refused and leave nothing behind."),
    "journal:blob:damaged": Requirement(
        SOURCE,
        "Kept bytes that are not what their name says are found by verifying, and replaced when they come again.",
    ),
    "journal:blob:memory": Requirement(SOURCE, "Keeping a large file takes no more memory than keeping a small one."),
    "journal:same:both": Requirement(SOURCE, "The journal in memory and the one on disk answer every history alike."),
    "journal:fault:any": Requirement(
        SOURCE,
        "Whichever call that changes the journal's files fails, before or after it was done, nothing recorded is lost.",
    ),
    "journal:fault:power": Requirement(
        SOURCE, "The same holds if the power is lost right after that failure, and what was in doubt is then abandoned."
    ),
}
