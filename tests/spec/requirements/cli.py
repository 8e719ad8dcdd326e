"""Requirements of the commands, their exit codes and what they print."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "The command line"

REQUIREMENTS: dict[str, Requirement] = {
    "cli:exit:codes": Requirement(
        SOURCE,
        "The exit code says how it ended: 0 as asked, 1 failed, 2 misuse, 3 ambiguous, 4 BLOCKED, 5 unusable, 6 waits.",
    ),
    "cli:apply:complete": Requirement(SOURCE, "A document with several writes is COMPLETE when all are as asked."),
    "cli:apply:blocked": Requirement(SOURCE, "It stops at the first write that is not applied or already so: BLOCKED."),
    "cli:apply:already": Requirement(SOURCE, "A document whose facts already hold is complete and asks nobody."),
    "cli:apply:dry_run": Requirement(SOURCE, "A dry run shows what would change and leaves no trace."),
    "cli:error:which": Requirement(SOURCE, "An error of one of several writes says which one it is."),
    "cli:apply:yes": Requirement(SOURCE, "--yes confirms only the proposal of its own command, as the operator."),
    "cli:apply:joined": Requirement(SOURCE, "The same change while it is not over is joined, and nothing is sent."),
    "cli:apply:merged": Requirement(
        SOURCE,
        "A document is joined only to its very own writes, and what may have applied is not sent in another packing.",
    ),
    "cli:apply:again": Requirement(SOURCE, "--again asks for a second one."),
    "cli:person:terminal": Requirement(SOURCE, "Nobody but a person at a terminal can confirm, decline or attest."),
    "cli:person:code": Requirement(SOURCE, "A person sees the change and types a code; anything else does nothing."),
    "cli:person:json": Requirement(SOURCE, "With --json a person is asked on standard error."),
    "cli:confirm:used": Requirement(SOURCE, "Confirming again shows the first outcome and sends nothing."),
    "cli:confirm:refused": Requirement(SOURCE, "What is unknown, declined, superseded or expired can't be confirmed."),
    "cli:confirm:altered": Requirement(SOURCE, "A proposal that was altered in the journal is refused."),
    "cli:confirm:stale": Requirement(SOURCE, "A confirmation is for what was shown; what changed since is left alone."),
    "cli:confirm:race": Requirement(SOURCE, "Two who confirm one proposal at once make one effect, and both are told."),
    "cli:prune:policy": Requirement(
        SOURCE, "`journal prune` takes its age from the command or the settings, or refuses."
    ),
    "cli:prune:person": Requirement(SOURCE, "Only a person at a terminal gives up undo."),
    "cli:decline:blocked": Requirement(
        SOURCE, "A person can let go of what is BLOCKED; its verdict stands, and writes about the same go on."
    ),
    "cli:decline:reason": Requirement(
        SOURCE, "A declined proposal keeps the reason, and what was sent can't be declined."
    ),
    "cli:process:each": Requirement(SOURCE, "Every verb works as a process of its own."),
    "cli:check:settles": Requirement(
        SOURCE,
        "A check tells what landed from what did not, one write or all, and never sends a change.",
    ),
    "cli:check:open": Requirement(
        SOURCE,
        "What a check can't settle stays ambiguous, and a writer that is still at work is left alone.",
    ),
    "cli:attest:word": Requirement(
        SOURCE,
        "A person's word settles what nothing can prove, is marked as such, and comes after proof.",
    ),
    "cli:attest:reason": Requirement(SOURCE, "An attestation needs one outcome and a reason."),
    "cli:undo:restores": Requirement(
        SOURCE,
        "An undo restores what was there before, is confirmed like any other write, and can be undone.",
    ),
    "cli:undo:stale": Requirement(
        SOURCE,
        "An undo that would lose what somebody wrote since is refused, and nothing is lost.",
    ),
    "cli:undo:refused": Requirement(SOURCE, "What failed, may have applied, was undone or never sent can't be undone."),
    "cli:inbox:waits": Requirement(
        SOURCE,
        "Bare amends lists what waits for somebody, each with the one command that goes on.",
    ),
    "cli:show:lines": Requirement(
        SOURCE,
        "show tells a write's life line by line: asked, read, recorded, sent, answered, concluded.",
    ),
    "cli:log:newest": Requirement(SOURCE, "log lists the newest writes first, each with its state and evidence."),
    "cli:verify:found": Requirement(
        SOURCE,
        "verify says what it read, and leaves with exit code 5 where the journal is damaged.",
    ),
    "cli:init:once": Requirement(SOURCE, "init makes settings that work, and never touches settings that are there."),
    "cli:command:anywhere": Requirement(
        SOURCE,
        "A command that is printed works from any folder, whatever the folder is called.",
    ),
    "cli:command:prefix": Requirement(SOURCE, "An id may be shortened to any beginning that no other id has."),
    "cli:json:schema": Requirement(
        SOURCE,
        "Whatever is printed with --json is one document of the published, versioned shape.",
    ),
    "cli:json:fields": Requirement(
        SOURCE,
        "The fields that are documented say of every outcome what they are documented to say.",
    ),
    "cli:json:errors": Requirement(SOURCE, "With --json an error is a document on standard output too."),
    "cli:help:teaches": Requirement(
        SOURCE,
        "The help of amends and of every verb says what it does, its options and its exit codes.",
    ),
    "cli:terminal:colours": Requirement(
        SOURCE,
        "There are colours on a terminal and nowhere else, and a bar only while something is long.",
    ),
    "cli:terminal:hostile": Requirement(
        SOURCE,
        "No name or text from outside reaches the terminal with a control character in it.",
    ),
    "cli:terminal:encoding": Requirement(
        SOURCE,
        "Names that the terminal can't show are shown as escapes, and closed streams are no fault.",
    ),
    "cli:pipe:broken": Requirement(
        SOURCE,
        "A reader that went away, or a full disk behind the pipe, changes neither outcome nor exit code.",
    ),
    "cli:interrupt:anywhere": Requirement(
        SOURCE,
        "Ctrl-C at any moment leaves an ambiguous write or a failed one by proof, and no stack trace.",
    ),
    "cli:interrupt:told": Requirement(SOURCE, "An outcome that Ctrl-C came upon is told all the same."),
    "cli:fault:said": Requirement(
        SOURCE,
        "A fault in Amends itself is said as one, with exit code 5 only where nothing was sent, else 3.",
    ),
    "cli:unusable:journal": Requirement(
        SOURCE,
        "A journal that is newer, damaged, full or read-only: exit code 5, and nothing was sent.",
    ),
    "cli:unusable:settings": Requirement(
        SOURCE,
        "Without usable settings: exit code 5, with the file, the reason and the next step.",
    ),
    "cli:unusable:lost": Requirement(
        SOURCE, "A journal that was lost and made anew is refused over a folder of the old one, by every command."
    ),
    "cli:unusable:midway": Requirement(
        SOURCE,
        "A journal that fails after a write was sent never makes that write look unsent.",
    ),
    "cli:input:target": Requirement(
        SOURCE,
        "A target that can't be written to is refused with the reason and the next step.",
    ),
    "cli:input:document": Requirement(
        SOURCE,
        "A document that can't be taken is refused with the place of its first fault.",
    ),
    "cli:input:payload": Requirement(SOURCE, "A payload that is missing, too large or changing is refused."),
    "cli:input:usage": Requirement(SOURCE, "A misspelt command or option is refused with the way to its help."),
    "cli:spelling:once": Requirement(
        SOURCE,
        "Two processes that write one target under two spellings make one effect.",
    ),
    "cli:demo:whole": Requirement(
        SOURCE,
        "The demo plays the main job on real files in some seconds and says what became of each write.",
    ),
    "cli:demo:place": Requirement(
        SOURCE,
        "The demo runs for an ordinary user, in a folder with any name, and leaves no process behind.",
    ),
    "cli:memory:flat": Requirement(
        SOURCE,
        "A large upload shows its progress and takes no more memory than a small one.",
    ),
}
