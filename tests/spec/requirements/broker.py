"""Requirements of the life of a write: propose, confirm, read, record, send, classify, settle."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The life of a write"

REQUIREMENTS: dict[str, Requirement] = {
    "broker:confirm:applied": Requirement(
        SOURCE,
        "A write is sent only after its confirmation, once, and is then told.",
    ),
    "broker:confirm:once": Requirement(
        SOURCE,
        "Confirming twice, also by two processes at once, sends once and gives the first outcome.",
    ),
    "broker:confirm:exact": Requirement(
        SOURCE,
        "What is sent is exactly what was confirmed, and it is recorded with its key before it leaves.",
    ),
    "broker:confirm:stale": Requirement(
        SOURCE,
        "What differs at confirm time from what was shown is not sent, and the difference is told.",
    ),
    "broker:confirm:already_so": Requirement(
        SOURCE,
        "What holds already is not sent; a transaction that holds already needs no confirmation.",
    ),
    "broker:confirm:fits": Requirement(
        SOURCE,
        "A kind of write that does not fit what is at the target, or a target that can't be read, is not sent.",
    ),
    "broker:confirm:expired": Requirement(
        SOURCE,
        "A proposal that expired can't be confirmed or joined, and does not count as declined.",
    ),
    "broker:confirm:declined": Requirement(
        SOURCE,
        "A declined proposal is over; of a confirmation and a decline at once, the first one counts.",
    ),
    "broker:confirm:superseded": Requirement(
        SOURCE,
        "A proposal whose target moved is replaced when it is proposed again, unless somebody confirmed it meanwhile.",
    ),
    "broker:confirm:altered": Requirement(
        SOURCE,
        "A proposal that was altered, or is not what the person saw, can't be confirmed.",
    ),
    "broker:join:unsettled": Requirement(
        SOURCE,
        "The same payload again, while the first is not settled, is told of the first and sends nothing.",
    ),
    "broker:join:undelivered": Requirement(
        SOURCE,
        "An outcome that nobody was told is handed over at the repeat; only the next one is a new write.",
    ),
    "broker:join:whole": Requirement(
        SOURCE,
        "A request is answered only by exactly its own writes, and refused while one of them may have applied already.",
    ),
    "broker:join:race": Requirement(
        SOURCE, "Two that ask for the same at the same moment share one outcome, or find it as asked."
    ),
    "broker:prune:gone": Requirement(SOURCE, "What is over for good can be forgotten; what it did stays."),
    "broker:prune:kept": Requirement(
        SOURCE, "What is unsettled, untold, BLOCKED, has recoveries, or can be undone is kept, and the reason is said."
    ),
    "broker:prune:race": Requirement(SOURCE, "Pruning beside an undo never leaves an undo of what is not recorded."),
    "broker:outcome:lazy": Requirement(
        SOURCE, "Only `applied` whose receipt the target keeps may be lost to a power cut, and it settles to the same."
    ),
    "broker:blocked:both": Requirement(
        SOURCE, "Two transactions that failed about the same can each be taken up; whoever does is told of the other."
    ),
    "broker:blocked:race": Requirement(
        SOURCE, "What was asked for just before another transaction about the same failed is not sent after that."
    ),
    "broker:join:again": Requirement(
        SOURCE,
        "A second identical write happens where it is asked for with `again`.",
    ),
    "broker:claims:refused": Requirement(
        SOURCE,
        "A different write to a target that is held is refused with the holder's id; lookalikes are not held.",
    ),
    "broker:transaction:stops": Requirement(
        SOURCE,
        "A transaction stops at its first write that did not apply, and goes on only when it is confirmed again.",
    ),
    "broker:transaction:one_target": Requirement(
        SOURCE,
        "Two writes of one transaction are never about the same target.",
    ),
    "broker:find:prefix": Requirement(
        SOURCE,
        "A beginning that only one id has is enough to name a write or a transaction.",
    ),
    "broker:doubt:settled": Requirement(
        SOURCE,
        "A lost answer is told as ambiguous with the way to check it, and checking settles it without another send.",
    ),
    "broker:doubt:held": Requirement(
        SOURCE,
        "What may still land keeps its target, and what is written there later is safe from it.",
    ),
    "broker:doubt:takeover": Requirement(
        SOURCE,
        "The write of a dead or sleeping process is settled by another one, and never sent by either after that.",
    ),
    "broker:doubt:observed": Requirement(
        SOURCE,
        "Without a receipt it is told that the target holds it now, not that we did it.",
    ),
    "broker:doubt:closed": Requirement(
        SOURCE,
        "What can't land any more and can't be proved stays ambiguous and frees its target.",
    ),
    "broker:doubt:partial": Requirement(
        SOURCE,
        "A write of which a part landed is told as neither applied nor failed.",
    ),
    "broker:attest:closed": Requirement(
        SOURCE,
        "A person may say what nothing can prove, with a reason; it is told as their word and never changes.",
    ),
    "broker:attest:proof": Requirement(
        SOURCE,
        "Proof goes before the word of a person, and only an outcome can be attested.",
    ),
    "broker:attest:held": Requirement(
        SOURCE,
        "An attested write keeps its target until it can't land any more.",
    ),
    "broker:undo:restores": Requirement(
        SOURCE,
        "An undo restores exactly what was there before, and deletes nothing.",
    ),
    "broker:undo:undo": Requirement(
        SOURCE,
        "An undo can be undone.",
    ),
    "broker:undo:stale": Requirement(
        SOURCE,
        "An undo of what somebody changed since is refused with the difference.",
    ),
    "broker:undo:again": Requirement(
        SOURCE, "What an undo took away and an undo of that brought back can be undone again, once at a time."
    ),
    "broker:undo:once": Requirement(
        SOURCE,
        "A write is undone at most once, whoever asks and however often.",
    ),
    "broker:undo:refused": Requirement(
        SOURCE,
        "What did not apply, may not have applied, or is not kept can't be undone, and the refusal says what to do.",
    ),
    "broker:journal:intent": Requirement(
        SOURCE,
        "Without a durable intent nothing is sent, and an intent whose commit failed never becomes a write.",
    ),
    "broker:journal:outcome": Requirement(
        SOURCE,
        "A journal that fails after the send makes the write ambiguous; nobody is told that nothing was sent.",
    ),
    "broker:journal:midway": Requirement(
        SOURCE,
        "A journal or a surface that fails between two writes hides nothing of the first one.",
    ),
    "broker:surface:raises": Requirement(
        SOURCE,
        "Whatever a surface raises after it was asked to send proves nothing.",
    ),
    "broker:surface:out_of_turn": Requirement(
        SOURCE,
        "Evidence that a surface can't have at that moment proves nothing.",
    ),
    "broker:interrupt:before": Requirement(
        SOURCE,
        "Ctrl-C before the intent sends nothing, and that is told.",
    ),
    "broker:interrupt:held": Requirement(
        SOURCE,
        "Ctrl-C during a send or a commit waits until its outcome is recorded, and comes with that outcome.",
    ),
    "broker:async:cancelled": Requirement(
        SOURCE,
        "Cancelling a task does not cancel the write that it waits for.",
    ),
    "broker:async:same": Requirement(
        SOURCE,
        "Both drivers perform the same steps and raise the same errors.",
    ),
}
