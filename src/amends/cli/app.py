"""The verbs. Each opens what the settings name, asks the assembly, prints, and leaves with an exit code.

A door decides nothing: it makes no outcome, and it takes a person's word only through `cli.person`.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from amends.errors import AmendsError, MisuseError, PersonNeededError, UnusableError

app = typer.Typer(
    name="amends",
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = "Interrupted before anything was sent; nothing was recorded and nothing was changed."

Folder = Annotated[
    Path, typer.Option("-C", "--folder", metavar="FOLDER", help="Look for amends.toml from here upward.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs (see: amends schema report).")]
Subject = Annotated[str, typer.Argument(metavar="ID", help="An operation or transaction, or the beginning of its id.")]
Document = Annotated[str, typer.Argument(metavar="CHANGE", help="A change document, TOML or JSON; -: standard input.")]
Yes = Annotated[bool, typer.Option("--yes", help="Confirm this command's own proposal, as the operator.")]
Again = Annotated[bool, typer.Option("--again", help="Ask for a second one where the same is still under way.")]


@dataclass
class Door:
    """What every verb needs to know: where to look for settings, and whether a program reads the answer."""

    folder: Path = Path()
    is_json: bool = False


door = Door()


@app.callback(invoke_without_command=True)
def root(context: typer.Context, folder: Folder = Path(), as_json: Json = False) -> None:
    """Write through Amends: each write ends applied, failed or ambiguous, and nothing claims more than it can prove.

    Without a verb: the inbox, everything that waits for you, each with its one command.

    Exit codes of verbs that may send: 0 applied or complete, 1 failed, 2 misuse, 3 ambiguous, 4 BLOCKED / NOT
    COMPLETE, 5 journal or settings unusable and nothing sent, 6 proposed and awaiting a person.
    """
    door.folder = folder
    door.is_json = as_json
    if context.invoked_subcommand is None:
        _inbox()


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
    """
    from amends.document import read_change

    document, folder = read_change(change)
    if dry_run:
        _dry_run(document, folder, as_json=as_json)
        return
    with _opened(as_json) as desk:
        report = desk.amends.propose(
            document, folder=folder, proposer="operator", confirmed_by="operator (--yes)" if yes else None, again=again
        )
        if not report.is_joined and not desk.is_json:
            report = desk.ask(report)
        desk.leave(report)


@app.command()
def propose(
    change: Document,
    proposer: Annotated[str, typer.Option("--as", metavar="NAME", help="Who proposes; proves nobody.")] = "agent",
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Propose a change for a person to confirm; nothing is sent."""
    from amends.document import read_change

    document, folder = read_change(change)
    with _opened(as_json) as desk:
        desk.leave(desk.amends.propose(document, folder=folder, proposer=proposer, again=again))


@app.command()
def confirm(subject: Subject, as_json: Json = False) -> None:
    """Look at a proposal, confirm it at the terminal, and carry it out."""
    from amends.contract.lifecycle import State

    with _opened(as_json) as desk:
        report = desk.amends.find(subject)
        if report.waiting(State.PROPOSED):
            by = desk.person(report, "confirm this")
            desk.leave(desk.amends.confirm(subject, by=by, shown_digest=report.digest))
        is_used = not report.waiting(State.CONFIRMED)
        report = desk.amends.confirm(subject, by="the person who confirmed it")
        desk.leave(report, code=2 if is_used else None)


@app.command()
def decline(
    subject: Subject, reason: Annotated[str, typer.Option("--reason", help="Why not.")] = "", as_json: Json = False
) -> None:
    """Decline a proposal, or what of a transaction was not sent yet."""
    with _opened(as_json) as desk:
        report = desk.amends.find(subject)
        by = desk.person(report, "decline this")
        desk.leave(desk.amends.decline(subject, by=by, reason=reason), code=0)


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
            report = desk.amends.check(subject)
            desk.leave(report, code=3 if desk.is_open(report) else 0)
        reports = [desk.amends.check(each.transaction) for each in desk.amends.inbox() if desk.is_open(each)]
        desk.leave_all(reports, code=3 if any(desk.is_open(each) for each in reports) else 0)


@app.command()
def undo(subject: Subject, yes: Yes = False, as_json: Json = False) -> None:
    """Propose the write that reverses an applied one; it revalidates first and is confirmed like any other."""
    with _opened(as_json) as desk:
        report = desk.amends.undo(subject, proposer="operator", confirmed_by="operator (--yes)" if yes else None)
        if not report.is_joined and not desk.is_json:
            report = desk.ask(report)
        desk.leave(report)


@app.command()
def attest(
    subject: Subject,
    reason: Annotated[str, typer.Option("--reason", help="What you saw, and where.")],
    applied: Annotated[bool, typer.Option("--applied", help="It is there.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It is not there and never was.")] = False,
    as_json: Json = False,
) -> None:
    """Say what you found of a write that nothing can prove any more. What can be proved is proved first."""
    from amends.contract.outcome import WriteOutcome

    if applied == failed:
        raise MisuseError("say one of --applied and --failed", hint="look at the target first")
    if not reason.strip():
        raise MisuseError("an attestation needs a reason", hint='--reason "what you saw, and where"')
    with _opened(as_json) as desk:
        report = desk.amends.find(subject)
        outcome = WriteOutcome.APPLIED if applied else WriteOutcome.FAILED
        by = desk.person(report, f"attest that it {outcome}")
        desk.leave(desk.amends.attest(subject, outcome=outcome, by=by, reason=reason.strip()), code=0)


@app.command()
def log(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many transactions.")] = 20,
    as_json: Json = False,
) -> None:
    """List the newest writes with their outcomes."""
    with _opened(as_json) as desk:
        reports = desk.amends.log(limit=limit)
        if desk.is_json:
            desk.leave_all(reports, code=0)
        desk.text.tell_log(reports)


@app.command()
def show(subject: Subject, as_json: Json = False) -> None:
    """Tell an operation's life line by line: asked, read, recorded, sent, answered, concluded, with evidence."""
    with _opened(as_json) as desk:
        report = desk.amends.find(subject)
        if desk.is_json:
            desk.leave(report, code=0)
        for life in report.lives:
            desk.text.tell_life(life, desk.located)
        if len(report.lives) > 1:
            desk.text.say(desk.text.styled(report.state, desk.shape.verdict(report)))
        following = desk.shape.next_command(report, desk.located)
        if following and not following.endswith(f" show {report.transaction}"):
            desk.text.say(f"Next: {following}")


@app.command()
def verify(as_json: Json = False) -> None:
    """Read the whole journal and check it: chains, states, claims, kept bytes."""
    with _opened(as_json) as desk:
        found = desk.amends.verify()
        if desk.is_json:
            _print_json(
                {
                    "version": desk.shape.VERSION,
                    "events": found.events,
                    "processes": found.processes,
                    "blobs": found.blobs,
                    "faults": list(found.faults),
                    "exit_code": 5 if found.faults else 0,
                }
            )
        else:
            desk.text.say(f"Read {found.events} events of {found.processes} processes and {found.blobs} kept contents.")
            for fault in found.faults:
                desk.text.say(f"FAULT: {fault}")
            desk.text.say("No fault found." if not found.faults else f"{len(found.faults)} faults found.")
        if found.faults:
            raise typer.Exit(5)


@app.command()
def init(
    root_folder: Annotated[str, typer.Argument(metavar="ROOT", help="The folder whose files may be written.")] = ".",
    name: Annotated[str, typer.Option("--name", help="What targets call it: NAME:path.")] = "files",
) -> None:
    """Make an amends.toml here, with one surface over the files of ROOT."""
    from amends.settings import FILE_NAME, find_settings

    path = door.folder.absolute() / FILE_NAME
    if not (door.folder / root_folder).is_dir():
        raise MisuseError(f"{door.folder / root_folder} is no folder", hint="make it first, or name another")
    document = f"# Which systems Amends may write to. See docs/reference/settings.md.\n\n[surfaces.{name}]\n"
    document += f'type = "files"\nroot = {json.dumps(root_folder)}\n'
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(document)
    except FileExistsError as error:
        raise MisuseError(f"{path} is there already; it was not changed", hint=f"edit {path}") from error
    except OSError as error:
        raise UnusableError(f"{path} can't be written: {error}; nothing was sent") from error
    try:
        settings = find_settings(door.folder)
    except AmendsError:
        path.unlink()
        raise
    from .text import say

    say(f"Wrote {path}: targets are {name}:PATH, files in {(door.folder / root_folder).resolve()}.")
    say(f"The journal will be in {settings.journal_folder}.")


@app.command()
def schema(
    which: Annotated[Literal["change", "report"], typer.Argument(help="Input, or what --json prints.")] = "change",
) -> None:
    """Print the JSON Schema of a change document, or of what commands print with --json."""
    if which == "change":
        from amends.document import Change

        _print_json(Change.model_json_schema())
    else:
        from .shape import ReportShape

        _print_json(ReportShape.model_json_schema())


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to play it; a new or empty folder.")
    ] = None,
) -> None:
    """Play the main job in about 15 seconds, on real files with a real journal."""
    from amends.demo import play

    play(folder)


# --- the parts --------------------------------------------------------------------------------------------------


class Desk:
    """An open journal behind a door, with the means to print what it says."""

    def __init__(self, amends: Any, *, is_json: bool) -> None:
        """Take the open `amends`."""
        from amends.broker import Report

        from . import shape, text

        self.amends = amends
        self.is_json = is_json
        self.shape = shape
        self.text = text
        self.located = shape.Located(shlex.quote(str(amends.settings.folder)))
        self._report_type = Report

    def person(self, report: Any, act: str) -> str:
        """Show `report` and have a person at the terminal say that they want `act`."""
        from .person import require_person
        from .text import is_terminal, tell_proposal

        if is_terminal():
            tell_proposal(report, self.amends.preview(report))
        verb, _, _ = act.partition(" ")
        return require_person(act, instead=f"at a terminal: {self.located.command} {verb} {report.transaction}")

    def ask(self, report: Any) -> Any:
        """Ask for the confirmation of a fresh proposal, where there is a person to ask; else leave it proposed."""
        from amends.contract.lifecycle import State

        from .text import is_terminal

        if not report.waiting(State.PROPOSED) or not is_terminal():
            return report
        try:
            by = self.person(report, "confirm this")
        except PersonNeededError:
            return report
        return self.amends.confirm(report.transaction, by=by, shown_digest=report.digest)

    def is_open(self, report: Any) -> bool:
        """Say whether a write of `report` is still ambiguous."""
        from amends.contract.lifecycle import State

        return bool(report.waiting(State.EXECUTING, State.AMBIGUOUS, State.CLOSED))

    def leave(self, report: Any, *, code: int | None = None) -> NoReturn:
        """Print `report` and leave with `code`, or with that of its outcome."""
        code = self.shape.exit_code(report) if code is None else code
        if self.is_json:
            _print_json(self.shape.report_shape(report, self.located, code=code))
        else:
            self.text.tell(report, self.located)
        raise typer.Exit(code)

    def leave_all(self, reports: list[Any], *, code: int) -> NoReturn:
        """Print several reports and leave with `code`."""
        if self.is_json:
            shapes = [self.shape.report_shape(report, self.located) for report in reports]
            _print_json({"version": self.shape.VERSION, "transactions": shapes, "exit_code": code})
        else:
            for report in reports:
                self.text.tell(report, self.located)
            if not reports:
                self.text.say("Nothing may have applied; there is nothing to check.")
        raise typer.Exit(code)


@contextmanager
def _opened(as_json: bool) -> Iterator[Desk]:
    """Open what the settings name; an outcome that Ctrl-C came upon is told all the same."""
    from amends.assembly import Amends
    from amends.broker import Interrupted, Report

    from .progress import Bar

    door.is_json = door.is_json or as_json
    with Bar() as bar, Amends.open(door.folder, progress=bar) as amends:
        desk = Desk(amends, is_json=door.is_json)
        try:
            yield desk
        except Interrupted as interrupted:
            if not isinstance(interrupted.ended, Report):
                raise
            desk.leave(interrupted.ended)


def _inbox() -> None:
    with _opened(False) as desk:
        reports = desk.amends.inbox()
        if desk.is_json:
            desk.leave_all(reports, code=0)
        desk.text.tell_inbox(reports, desk.located, str(desk.amends.settings.journal_folder))


def _dry_run(document: Any, folder: Path, *, as_json: bool) -> None:
    from amends.assembly import dry_run
    from amends.settings import find_settings

    plans = dry_run(find_settings(door.folder), document, folder=folder)
    if door.is_json or as_json:
        from .shape import VERSION

        writes = [
            {
                "kind": plan.operation.kind,
                "target": plan.operation.target,
                "level": plan.guarantee.level,
                "already_so": plan.operation.holds(plan.shown),
                "undoable": plan.undoable,
                "warnings": list(plan.warnings),
                "preview": preview,
            }
            for plan, preview in plans
        ]
        _print_json({"version": VERSION, "dry_run": True, "writes": writes, "exit_code": 0})
        return
    from .text import tell_plans

    tell_plans(plans)


def _print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def main() -> NoReturn:
    """Run the command line and leave with its exit code; never with a stack trace for what a user can mend."""
    sys.exit(_guarded(lambda: typer.main.get_command(app).main(prog_name="amends", standalone_mode=False)))


def _guarded(run: Callable[[], Any]) -> int:
    try:
        return int(run() or 0)
    except AmendsError as error:
        _fail(str(error), error.hint, error.code, error.exit_code)
        return error.exit_code
    except typer.TyperException as error:
        _fail(error.format_message(), "amends --help", "usage", 2)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _fail(INTERRUPTED, None, "interrupted", 1)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _fail(message: str, hint: str | None, code: str, exit_code: int) -> None:
    if door.is_json or "--json" in sys.argv:
        _print_json({"version": 1, "error": code, "message": message, "hint": hint, "exit_code": exit_code})
        return
    from .text import fail

    fail(message, hint)
