"""Requirements of the surface of files and folders."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Files"

REQUIREMENTS: dict[str, Requirement] = {
    "files:identity:spelling": Requirement(
        SOURCE, "All spellings of one path, through dots, double slashes and linked folders, are one target."
    ),
    "files:identity:distinct": Requirement(
        SOURCE, "Names that differ in a byte are different files, unless their folder takes them for one."
    ),
    "files:identity:folding": Requirement(
        SOURCE,
        "Where a folder takes spellings for one name, they are one target and one claim, also for a new file.",
    ),
    "files:identity:twins": Requirement(
        SOURCE, "A name that could mean two files that look the same is refused; a missing one tells of its look-alike."
    ),
    "files:identity:link": Requirement(
        SOURCE,
        "A write through a symbolic link changes the real file and keeps the link; a link itself is never archived.",
    ),
    "files:target:refused": Requirement(
        SOURCE, "What is no file below the root is refused with the reason and the next step, and leaves no trace."
    ),
    "files:target:filesystem": Requirement(
        SOURCE, "A target on another filesystem than its root is refused, but a move."
    ),
    "files:target:names": Requirement(
        SOURCE, "A file with several names is not replaced under one of them; archiving one says that the others stay."
    ),
    "files:owner:one": Requirement(
        SOURCE,
        "A folder belongs to one journal; another one is refused, wherever above or below the root that folder begins.",
    ),
    "files:owner:private": Requirement(SOURCE, "What a journal keeps in the private folder is left alone."),
    "files:owner:unclear": Requirement(
        SOURCE, "A folder whose owner can't be told is refused, and nothing is guessed."
    ),
    "files:claims:one": Requirement(
        SOURCE, "Two names of one file, and two surfaces that both reach it, can't be written to at the same time."
    ),
    "files:claims:below": Requirement(
        SOURCE, "A write below a folder waits for what moves, archives or deletes the folder, and the reverse."
    ),
    "files:claims:two": Requirement(SOURCE, "Two different files never wait for each other."),
    "files:plan:traceless": Requirement(
        SOURCE, "Planning, previewing and reading change nothing, and show what is there."
    ),
    "files:plan:again": Requirement(SOURCE, "What is planned once more is planned against what is there by then."),
    "files:preview:shown": Requirement(
        SOURCE, "A preview shows a change as lines of text where it can, else in words, and can't move the cursor."
    ),
    "files:read:fields": Requirement(
        SOURCE, "A read shows digest, mode and size; its version is made of digest and mode, so it can repeat."
    ),
    "files:read:absent": Requirement(SOURCE, "A missing file, or a file in a missing folder, reads as absent."),
    "files:read:unreadable": Requirement(
        SOURCE,
        "What can't be read, or is no regular file any more, reads as unreadable with the reason, never as absent.",
    ),
    "files:read:torn": Requirement(
        SOURCE,
        "A file that changes while it is read is read again, a bounded number of times, and never shown as a mixture.",
    ),
    "files:read:targets": Requirement(SOURCE, "Only a target that came from a plan is read."),
    "files:tree:read": Requirement(
        SOURCE,
        "A folder is read as one digest over names, kinds, modes, bytes and the aims of links; no link is followed.",
    ),
    "files:tree:limits": Requirement(
        SOURCE,
        "A folder that is too large, not wholly readable, or holds a private folder is refused, with the reason.",
    ),
    "files:tree:whole": Requirement(
        SOURCE, "A folder is archived, moved and brought back as one thing, and stays the same to the last attribute."
    ),
    "files:payload:document": Requirement(
        SOURCE, "A document gives text or base64 and a mode; any other field is refused by its name."
    ),
    "files:payload:altered": Requirement(SOURCE, "Kept bytes that no longer have the confirmed digest are not sent."),
    "files:mode:asked": Requirement(SOURCE, "A mode may be asked for, also alone, and is then part of what must hold."),
    "files:mode:kept": Requirement(
        SOURCE, "An edit keeps mode, owner, ACL and user attributes of the file, as far as this process may set them."
    ),
    "files:mode:umask": Requirement(
        SOURCE, "New files and folders get what the umask leaves, and the group of a folder that hands it on."
    ),
    "files:upload:whole": Requirement(SOURCE, "An upload creates or replaces a file from a whole local file."),
    "files:upload:refused": Requirement(
        SOURCE, "A local file that is missing, no regular file, too large or changing is refused."
    ),
    "files:upload:flat": Requirement(
        SOURCE, "Memory stays flat whatever the size of an upload, and its progress is told."
    ),
    "files:stage:durable": Requirement(
        SOURCE,
        "Bytes are on the disk before they get their name, and the name is on the disk before it is acknowledged.",
    ),
    "files:create:never_replaces": Requirement(
        SOURCE, "A create never replaces anything, whatever appeared since it was planned."
    ),
    "files:create:folders": Requirement(
        SOURCE, "Missing folders appear in one step with the file in them, or not at all."
    ),
    "files:edit:displaced": Requirement(
        SOURCE,
        "What an edit or archive displaced is kept; if it is not what was shown, the message says so, and where it is.",
    ),
    "files:move:parents": Requirement(
        SOURCE, "A rename stays under its parent and a move leaves it; what does not fit is refused with the way."
    ),
    "files:move:whole": Requirement(SOURCE, "A move or rename takes the file itself, not a copy; other names stay."),
    "files:move:never_replaces": Requirement(
        SOURCE, "A move or rename never replaces or joins anything, and never succeeds without effect."
    ),
    "files:move:changed": Requirement(
        SOURCE, "What somebody else wrote to the source in the same moment is moved too, and told."
    ),
    "files:move:proof": Requirement(
        SOURCE,
        "Whether a move landed is told by the moved inode: where it is, when it was made, and whether it was touched.",
    ),
    "files:carry:bound": Requirement(
        SOURCE, "What is mounted within the root from elsewhere is outside it, also where the device is the same."
    ),
    "files:carry:copied": Requirement(
        SOURCE, "A move to another filesystem below the root copies, reads the copy back, and then archives the source."
    ),
    "files:carry:part": Requirement(
        SOURCE, "A move that stops between copy and archive is told as a part; no half of it loses the only good copy."
    ),
    "files:move:repeated": Requirement(
        SOURCE,
        "A repeated move is refused, with what is at both places and how to find the earlier one.",
    ),
    "files:move:respelled": Requirement(
        SOURCE,
        "Where a folder takes two spellings for one name, a rename to the other one takes effect, or loses nothing.",
    ),
    "files:move:undone": Requirement(SOURCE, "An undo moves it back, and the undo of that moves it forth."),
    "files:delete:nothing": Requirement(
        SOURCE, "A delete says first that it keeps nothing, and keeps nothing; it has no undo."
    ),
    "files:delete:foreign": Requirement(
        SOURCE, "A delete removes what was confirmed, entry by entry; all else is brought back, or kept and told."
    ),
    "files:delete:removed": Requirement(
        SOURCE, "What a delete took away is gone before its outcome is recorded, and its marks after it."
    ),
    "files:send:acknowledged": Requirement(
        SOURCE, "Preparing has no effect on the target, and an acknowledged write is there."
    ),
    "files:send:refused": Requirement(
        SOURCE, "On a local filesystem, a definite error of the landing step means that nothing was changed."
    ),
    "files:send:unproven": Requirement(
        SOURCE, "Any other error, and a landing that can't be synced, is not called applied or failed without proof."
    ),
    "files:send:network": Requirement(SOURCE, "No error of a network filesystem counts as a refusal."),
    "files:send:confined": Requirement(
        SOURCE,
        "No link that is swapped into a path, and no private folder from a backup, leads a write or its proof astray.",
    ),
    "files:fence:proves": Requirement(
        SOURCE, "A fence keeps a late landing out for good, and says whether the write landed, as often as it is asked."
    ),
    "files:fence:killed": Requirement(
        SOURCE, "A writer that is killed between any two system calls is judged by the next process as it really was."
    ),
    "files:fence:repeated": Requirement(
        SOURCE, "A fence that is killed between any two system calls is finished by the next one."
    ),
    "files:fence:paused": Requirement(
        SOURCE, "A writer that was stopped and goes on after the fence changes nothing any more."
    ),
    "files:fence:alive": Requirement(
        SOURCE, "A move is not judged while its sender may still live, and the hint says what to wait for."
    ),
    "files:fence:foreign": Requirement(
        SOURCE,
        "Another program that replaces the target meanwhile never turns a landing into a failure, or the reverse.",
    ),
    "files:guarantee:declared": Requirement(
        SOURCE,
        "A create is atomic, all else racy; without renameat2, or on a network, it is declared as less or refused.",
    ),
    "files:guarantee:honoured": Requirement(
        SOURCE, "What is declared holds: a create refuses a file that appeared, a racy edit tells what it displaced."
    ),
    "files:guarantee:measured": Requirement(
        SOURCE,
        "The landing step is tried out before the first intent, and a filesystem that does not keep it is refused.",
    ),
    "files:race:create": Requirement(SOURCE, "Of all processes that create one file at once, one does."),
    "files:race:edit": Requirement(
        SOURCE, "Of all processes that edit one file at once, none loses the bytes of another."
    ),
    "files:race:reader": Requirement(SOURCE, "A reader sees a whole version of the file at any time."),
    "files:sweep:died": Requirement(
        SOURCE, "What a process that died left in the private folder goes before the next write, and git never sees it."
    ),
    "files:sweep:needed": Requirement(
        SOURCE, "A sweep leaves alone what a living process, or a write that is not over, may still need."
    ),
    "files:sweep:bounded": Requirement(SOURCE, "A sweep looks at a bounded number of attempts."),
    "files:tidy:own": Requirement(
        SOURCE, "Tidying removes what a failed write staged, and never displaced or archived bytes."
    ),
    "files:undo:restores": Requirement(
        SOURCE, "An undo brings back bytes and mode, and an undo of the undo brings back what the write had made."
    ),
    "files:undo:gone": Requirement(
        SOURCE, "That nothing is there any more is no undo: it is stale, and tells where in its folder the file is now."
    ),
    "files:undo:offered": Requirement(SOURCE, "An undo is offered exactly where it can be had."),
    "files:undo:refused": Requirement(
        SOURCE, "An undo is refused where what it would restore is gone, was changed, or was never kept."
    ),
}
