"""Requirements of the pure core: operation, outcome and evidence, proposal, message, undo, bounded recovery."""

from tests.spec.requirements.requirement import Requirement

CONTRACT = "The contract"
SAID = "What is said"

REQUIREMENTS: dict[str, Requirement] = {
    "contract:outcome:vocabulary": Requirement(
        CONTRACT,
        "A write ends applied, failed or ambiguous, and each of the three has one recovery action of its own.",
    ),
    "contract:outcome:evidence": Requirement(
        CONTRACT,
        "An outcome is taken only with evidence that proves it, and evidence proves one outcome, but a person's word.",
    ),
    "contract:outcome:retry": Requirement(
        CONTRACT,
        "After an ambiguous write, and only then, a silent retry is forbidden; a misspelt outcome gives no leave.",
    ),
    "contract:result:fields": Requirement(
        CONTRACT,
        "Operation id, kind, target and outcome are enough for a result; it can't be changed or extended.",
    ),
    "contract:result:seen": Requirement(
        CONTRACT,
        "A bare row stands for a present target, the word absent for one that is not there; the rest is rejected.",
    ),
    "contract:proposal:confirmed": Requirement(
        CONTRACT,
        "Every proposal is confirmed first and read again before it is applied; no flag turns that off.",
    ),
    "contract:proposal:key": Requirement(
        CONTRACT,
        "A proposal that brings an idempotency key, or anything else that is not asked for, is rejected.",
    ),
    "contract:undo:fresh": Requirement(
        CONTRACT,
        "An undo is a new proposal that says what it reverses, what it restores and what it expects to find.",
    ),
    "contract:undo:kinds": Requirement(
        CONTRACT,
        "A create is undone by an archive, an archive and an edit by an edit; what was there before decides.",
    ),
    "contract:undo:upload": Requirement(
        CONTRACT,
        "An upload is undone by what was there before it, and not at all where that is unknown.",
    ),
    "contract:undo:move": Requirement(
        CONTRACT,
        "A move or rename is undone by moving back, and not at all where its source is unknown.",
    ),
    "contract:undo:refused": Requirement(
        CONTRACT,
        "No undo of a failed or ambiguous write, of a delete, or where nothing was kept; no undo is destructive.",
    ),
    "contract:undo:chain": Requirement(
        CONTRACT,
        "An undo of an undo restores what the write had made.",
    ),
    "contract:guarantee:level": Requirement(
        CONTRACT,
        "The level of a surface is derived from what it declares: atomic, conditional, racy or blind.",
    ),
    "contract:observation:same": Requirement(
        CONTRACT,
        "Two observations show the same only if versions or fields say so; an unreadable target never does.",
    ),
    "contract:fact:holds": Requirement(
        CONTRACT,
        "A fact holds only where a read shows it; that a target is absent is a fact too.",
    ),
    "contract:claim:overlap": Requirement(
        CONTRACT,
        "Claims overlap in one name or below a subtree, and names that only look alike do not.",
    ),
    "contract:json:canonical": Requirement(
        CONTRACT,
        "Every JSON value has one canonical form, and what is no JSON has none.",
    ),
    "contract:message:phrasebook": Requirement(
        SAID,
        "Every outcome has a whole sentence for each evidence that it may have, with no placeholder left in it.",
    ),
    "contract:message:applied": Requirement(
        SAID,
        "A message says applied exactly when the outcome is, and only that it holds where only the effect is known.",
    ),
    "contract:message:failed": Requirement(
        SAID,
        "Of every failed write it is said that nothing was changed, and why, where that is known.",
    ),
    "contract:message:ambiguous": Requirement(
        SAID,
        "Of every ambiguous write it is said that it may have applied and how to check, with or without a hint given.",
    ),
    "contract:message:move": Requirement(
        SAID,
        "Of a move both places are named: in what was done or not, and in the hint where none was given.",
    ),
    "contract:message:structure": Requirement(
        SAID,
        "A message has no place for rows, can't be changed, and can't be made to contradict its outcome.",
    ),
    "contract:message:hostile": Requirement(
        SAID,
        "A message is one printable line, whatever names, reasons and hints are in it.",
    ),
    "contract:message:racy": Requirement(
        SAID,
        "An applied write that nothing could protect from another writer says so, and no other message does.",
    ),
    "contract:message:undo": Requirement(
        SAID,
        "An undo is offered exactly when it can be built.",
    ),
    "contract:message:wording": Requirement(
        SAID,
        "A caller may replace sentences, and nothing else of a message changes with them.",
    ),
}
