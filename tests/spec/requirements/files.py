"""Requirements of the surface of files and folders."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Files"

REQUIREMENTS: dict[str, Requirement] = {
    "files:claims:one": Requirement(SOURCE, "x."),
    "files:claims:two": Requirement(SOURCE, "x."),
    "files:fence:proves": Requirement(SOURCE, "x."),
    "files:guarantee:honoured": Requirement(SOURCE, "x."),
    "files:identity:distinct": Requirement(SOURCE, "x."),
    "files:identity:folding": Requirement(SOURCE, "x."),
    "files:identity:link": Requirement(SOURCE, "x."),
    "files:identity:spelling": Requirement(SOURCE, "x."),
    "files:identity:twins": Requirement(SOURCE, "x."),
    "files:mode:asked": Requirement(SOURCE, "x."),
    "files:mode:kept": Requirement(SOURCE, "x."),
    "files:mode:umask": Requirement(SOURCE, "x."),
    "files:owner:one": Requirement(SOURCE, "x."),
    "files:owner:private": Requirement(SOURCE, "x."),
    "files:owner:unclear": Requirement(SOURCE, "x."),
    "files:payload:altered": Requirement(SOURCE, "x."),
    "files:payload:document": Requirement(SOURCE, "x."),
    "files:plan:traceless": Requirement(SOURCE, "x."),
    "files:read:absent": Requirement(SOURCE, "x."),
    "files:read:fields": Requirement(SOURCE, "x."),
    "files:read:targets": Requirement(SOURCE, "x."),
    "files:read:torn": Requirement(SOURCE, "x."),
    "files:read:unreadable": Requirement(SOURCE, "x."),
    "files:send:acknowledged": Requirement(SOURCE, "x."),
    "files:stage:durable": Requirement(SOURCE, "x."),
    "files:target:filesystem": Requirement(SOURCE, "x."),
    "files:target:kinds": Requirement(SOURCE, "x."),
    "files:target:names": Requirement(SOURCE, "x."),
    "files:target:refused": Requirement(SOURCE, "x."),
    "files:undo:restores": Requirement(SOURCE, "x."),
    "files:upload:flat": Requirement(SOURCE, "x."),
    "files:upload:refused": Requirement(SOURCE, "x."),
    "files:upload:whole": Requirement(SOURCE, "x."),
}
