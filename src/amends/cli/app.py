"""The verbs. Each opens what the settings name, asks the assembly, prints, and leaves with an exit code.

A door decides nothing: it makes no outcome, and it takes a person's word only through `cli.person`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from amends.errors import MisuseError

if TYPE_CHECKING:
    from amends.broker import Report

    from .desk import Desk

app = typer.Typer(
    name="amends",
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Folder = Annotated[
    Path, typer.Option("-C", "--folder", metavar="FOLDER", help="Look for amends.toml from here upward.")
]
Version = Annotated[bool, typer.Option("--version", help="Print the version.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs (see: amends schema report).")]
Subject = Annotated[str, typer.Argument(metavar="ID", help="An operation or transaction, or the beginning of its id.")]
Document = Annotated[str, typer.Argument(metavar="CHANGE", help="A change document, TOML or JSON; -: standard input.")]
Yes = Annotated[bool, typer.Option("--yes", help="Confirm this command's own proposal, as the operator.")]
Again = Annotated[bool, typer.Option("--again", help="Ask for a second one where the same is still under way.")]

BY_YES = "operator (--yes)"
ALREADY_WAITS = "This was proposed before, and waits for a person: --yes confirms only what its own command proposes."


@dataclass
class Door:
    """What every verb needs to know: where to look for settings, and whether a program reads the answer."""

    folder: Path = Path()
    is_json: bool = False


door = Door()


@app.callback(invoke_without_command=True)
def root(context: typer.Context, folder: Folder = Path(), as_json: Json = False, version: Version = False) -> None:
    """Write through Amends: each write ends applied, failed or ambiguous, and nothing claims more than it can prove.

    Without a verb: the inbox, everything that waits for you, each with its one command.

    Exit codes of verbs that may send: 0 applied or complete, 1 failed, 2 misuse, 3 ambiguous, 4 BLOCKED / NOT
    COMPLETE, 5 journal or settings unusable and nothing sent, 6 proposed and awaiting a person.

    \b
    To begin:
      amends init notes --name notes      one surface over the files in notes/
      amends apply change.toml --dry-run  what would change, recording nothing
      amends demo                         the main job, played in a new folder
    """
    door.folder = folder
    door.is_json = as_json
    if version:
        from amends import __version__

        typer.echo(f"amends {__version__}")
        raise typer.Exit
    if not folder.is_dir():
        raise MisuseError(f"-C {folder}: there is no such folder", hint="name the folder that holds amends.toml")
    if context.invoked_subcommand is None:
        with _opened(False) as desk:
            desk.show_inbox(desk.amends.inbox())


@app.command()
def apply(
    change: Document,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; record nothing.")] = False,
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Propose a change, have it confirmed, and carry it out.

    At a terminal you are shown the change and asked. Elsewhere it stays proposed (exit code 6) unless --yes is given.
    The same change while it is still under way is joined, and nothing is sent.

    \b
    A change document:
      title = "File motion 42"
      [[write]]
      edit = "notes:42/status.md"
      set = { text = "filed" }
      [[write]]
      upload = "notes:42/motion.pdf"
      from = "motion.pdf"
      [[write]]
      move = "notes:in/letter.md"
      to = "notes:42/letter.md"
      [[write]]
      rename = "notes:42/draft.md"
      to = "notes:42/minutes.md"
      [[write]]
      archive = "notes:42/old.md"
      [[write]]
      delete = "notes:42/tmp"
    """
    from amends.document import read_change

    document, folder = read_change(change)
    if dry_run:
        from .desk import show_dry_run

        show_dry_run(door.folder, document, folder, is_json=door.is_json or as_json)
    with _opened(as_json) as desk:
        by = BY_YES if yes else None
        report = desk.amends.propose(document, folder=folder, proposer="operator", confirmed_by=by, again=again)
        desk.leave(desk.ask(report), remark=ALREADY_WAITS if yes and _waits_for_a_person(report) else None)


@app.command()
def propose(
    change: Document,
    proposer: Annotated[str, typer.Option("--as", metavar="NAME", help="Who proposes; proves nobody.")] = "agent",
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Propose a change for a person to confirm; nothing is sent.

    Exit code 6: it waits for a person. 0: everything is as asked already.
    """
    from amends.document import read_change

    document, folder = read_change(change)
    with _opened(as_json) as desk:
        desk.leave(desk.amends.propose(document, folder=folder, proposer=_plain(proposer), again=again))


@app.command()
def confirm(subject: Subject, as_json: Json = False) -> None:
    """Look at a proposal, confirm it at the terminal, and carry it out.

    A confirmation is used once. Confirming again shows the first outcome, sends nothing, and leaves with exit code 2.
    """
    from amends.contract.lifecycle import State

    with _opened(as_json) as desk:
        report = desk.amends.find(_id(subject))
        if report.waiting(State.PROPOSED):
            by = desk.person(report, "confirm this")
            desk.leave(desk.amends.confirm(report.transaction, by=by, shown_digest=report.digest))
        is_used = not report.waiting(State.CONFIRMED)
        report = desk.amends.confirm(report.transaction, by="whoever confirmed it")
        remark = "It was confirmed before, and a confirmation is used once: nothing was sent now. Its first outcome:"
        desk.leave(report, code=2 if is_used else None, remark=remark if is_used else None)


@app.command()
def decline(
    subject: Subject, reason: Annotated[str, typer.Option("--reason", help="Why not.")] = "", as_json: Json = False
) -> None:
    """Decline a proposal, or what of a transaction was not sent yet; or let a BLOCKED one go.

    The verdict of a BLOCKED one stands, and what it did stays; writes about the same are no longer refused.
    """
    from amends.broker import check_declinable

    with _opened(as_json) as desk:
        report = desk.amends.find(_id(subject))
        check_declinable(report)
        by = desk.person(report, "decline this")
        desk.leave(desk.amends.decline(report.transaction, by=by, reason=_plain(reason)), code=0)


@app.command()
def check(
    subject: Annotated[str | None, typer.Argument(metavar="ID", help="What to settle.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Settle everything that may have applied.")] = False,
    as_json: Json = False,
) -> None:
    """Settle what may have applied, by reading and fencing; a change is never sent.

    Exit code 0: settled, either way. 3: still ambiguous; the message says what to do.
    """
    if every == (subject is not None):
        raise MisuseError("name one operation or transaction, or say --all", hint="amends check --all")
    with _opened(as_json) as desk:
        if subject is not None:
            report = desk.amends.check(desk.amends.find(_id(subject)).transaction)
            desk.leave(report, code=3 if _is_ambiguous(report) else 0)
        reports = [desk.amends.check(each.transaction) for each in desk.amends.inbox() if _is_ambiguous(each)]
        desk.leave_all(reports, code=3 if any(map(_is_ambiguous, reports)) else 0)


@app.command()
def undo(subject: Subject, yes: Yes = False, as_json: Json = False) -> None:
    """Propose the write that reverses an applied one, or the writes that reverse a whole transaction, last first.

    It is confirmed like any other write, and looks first: a target that somebody changed since is left as it is, the
    undo fails as stale, and nothing is lost.
    """
    with _opened(as_json) as desk:
        by = BY_YES if yes else None
        report = desk.amends.undo(_id(subject), proposer="operator", confirmed_by=by)
        desk.leave(desk.ask(report))


@app.command()
def followup(subject: Subject, as_json: Json = False) -> None:
    """Take up a BLOCKED transaction with a fresh look.

    What is still amiss is proposed as a new, linked transaction, for a person to confirm at the terminal. The old
    verdict stands; once the new one is complete, writes about the same are no longer refused.
    """
    with _opened(as_json) as desk:
        desk.leave(desk.ask(desk.amends.followup(_id(subject), proposer="operator")))


@app.command()
def attest(
    subject: Subject,
    reason: Annotated[str, typer.Option("--reason", help="What you saw, and where.")],
    applied: Annotated[bool, typer.Option("--applied", help="It is there.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It is not there and never was.")] = False,
    as_json: Json = False,
) -> None:
    """Say what you found of a write that nothing can prove any more. What can be proved is proved first.

    \b
    After a look at the target:
      amends attest op_1m8qa --failed --reason "not in the archive, and the log has no entry"
    """
    from amends.contract.outcome import WriteOutcome

    if applied == failed:
        raise MisuseError("say one of --applied and --failed", hint="look at the target first")
    if not reason.strip():
        raise MisuseError("an attestation needs a reason", hint='--reason "what you saw, and where"')
    with _opened(as_json) as desk:
        outcome = WriteOutcome.APPLIED if applied else WriteOutcome.FAILED
        by = desk.person(desk.amends.find(_id(subject)), f"attest that it {outcome}")
        report = desk.amends.attest(_id(subject), outcome=outcome, by=by, reason=_plain(reason.strip()))
        desk.leave(report, code=0)


@app.command()
def log(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many transactions.")] = 20,
    before: Annotated[str, typer.Option("--before", metavar="ID", help="Only transactions older than this one.")] = "",
    as_json: Json = False,
) -> None:
    """List the newest writes with their outcomes, or those before a transaction, to page through all of them."""
    with _opened(as_json) as desk:
        older_than = desk.amends.find(_id(before)).transaction if before else ""
        desk.show_log(desk.amends.log(limit=limit, before=older_than))


@app.command()
def show(subject: Subject, as_json: Json = False) -> None:
    """Tell an operation's life line by line, with its evidence.

    Asked, read, recorded, sent, answered, concluded: each line is one recorded event and says no more than it proves.
    """
    with _opened(as_json) as desk:
        desk.show_story(desk.amends.find(_id(subject)))


@app.command()
def verify(as_json: Json = False) -> None:
    """Read the whole journal and check it: chains, states, claims, kept bytes.

    Exit code 0: no fault. 5: the journal is damaged, and each fault is named.
    """
    with _opened(as_json) as desk:
        desk.show_verification(desk.amends.verify())


journal = typer.Typer(help="Look after the journal itself.", no_args_is_help=True)
app.add_typer(journal, name="journal")


@journal.command()
def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Such as 90d; default: `keep` in the settings.")
    ] = "",
    give_up_undo: Annotated[
        bool, typer.Option("--give-up-undo", help="Also what could still be undone; a person must say so.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be forgotten; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Forget what ended long ago and nothing needs any more. What is left still verifies.

    Never forgotten: what is unsettled, not told yet, BLOCKED, or has used up recoveries; and what can be undone, unless
    --give-up-undo is said. It goes page by page, beside commands that write, and can be broken off.

    \b
    See first, then do it:
      amends journal prune --older-than 90d --dry-run
      amends journal prune --older-than 90d
    """
    with _opened(as_json) as desk:
        desk.prune(older_than, gives_up_undo=give_up_undo, is_dry=dry_run)


@app.command()
def init(
    root_folder: Annotated[str, typer.Argument(metavar="ROOT", help="The folder whose files may be written.")] = ".",
    name: Annotated[str, typer.Option("--name", help="What targets call it: NAME:path.")] = "files",
    as_json: Json = False,
) -> None:
    """Make an amends.toml here, with one surface over the files of ROOT.

    An amends.toml that is there already is left as it is.
    """
    from amends.settings import make_settings

    from . import shape, text
    from .fault import print_json, try_to_print

    settings = make_settings(door.folder, root=root_folder, name=name)
    if door.is_json or as_json:
        try_to_print(lambda: print_json(shape.settings_shape(settings).model_dump(mode="json")))
    else:
        try_to_print(lambda: text.tell_settings(settings))


@app.command()
def schema(
    which: Annotated[Literal["change", "report"], typer.Argument(help="Input, or what --json prints.")] = "change",
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of a change document, or of what commands print with --json."""
    from .fault import print_json, try_to_print

    if which == "change":
        from amends.document import Change

        document = Change.model_json_schema()
    else:
        from .shape import Printed

        document = Printed.model_json_schema()
    try_to_print(lambda: print_json(document))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to play it; a new or empty folder.")
    ] = None,
) -> None:
    """Play the main job on real files, in some seconds.

    A write and its undo, a confirmation that came too late, a writer killed in the middle, and what comes of it. It
    leaves its folder, and says how to look at it.
    """
    from amends.demo import play

    play(folder)


def _opened(as_json: bool) -> AbstractContextManager[Desk]:
    from .desk import opened

    return opened(door.folder, is_json=door.is_json or as_json)


def _is_ambiguous(report: Report) -> bool:
    from amends.contract.lifecycle import State

    return bool(report.waiting(State.EXECUTING, State.AMBIGUOUS, State.CLOSED))


def _waits_for_a_person(report: Report) -> bool:
    from amends.contract.lifecycle import State

    return report.is_joined and bool(report.waiting(State.PROPOSED))


def _id(subject: str) -> str:
    """Take an id as it was typed or pasted, the full stop of a sentence included."""
    return _plain(subject).rstrip(".")


def _plain(words: str) -> str:
    """Take words that a journal can keep. Raises MisuseError."""
    try:
        words.encode()
    except UnicodeEncodeError as error:
        raise MisuseError(f"{words!r} is not valid UTF-8", hint="say it in UTF-8") from error
    return words
