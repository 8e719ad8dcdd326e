"""An open journal behind a door, with the means to print what it says and to leave with an exit code.

Whatever interrupts a command, one question is asked here before it leaves: did this process send a write of which
nobody was told yet? Then that is told, with the exit code of its outcome; otherwise it is proved that nothing was sent.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import typer

from amends.assembly import Amends, dry_run
from amends.broker import Interrupted, Report
from amends.contract.lifecycle import State
from amends.document import Change
from amends.errors import AmendsError, MisuseError, PersonNeededError
from amends.ports import Verification
from amends.settings import Settings, duration_ms, find_settings

from . import shape, text
from .command import Located
from .fault import described, print_json, say_error, try_to_print
from .person import require_person
from .progress import Bar
from .terminal import err, fail, is_terminal, out
from .verdict import exit_code

PRUNE_AGE_MIN_MS = 3_600_000
"""Bytes are kept before the event that names them; an hour is far more than lies between."""


class Desk:
    """Prints for a person or, with `is_json`, for a program."""

    def __init__(self, amends: Amends, bar: Bar, *, is_json: bool) -> None:
        """Take the open `amends` and the progress bar that it moves."""
        self.amends = amends
        self.is_json = is_json
        self.located = Located(str(amends.settings.folder))
        self._bar = bar

    def person(self, report: Report, act: str) -> str:
        """Show `report` and have a person at the terminal say that they want `act`, whose first word is the verb."""
        self._bar.clear()
        if is_terminal(shows_on_stderr=self.is_json):
            console = err if self.is_json else out
            previews = self.amends.preview(report)
            if previews:
                text.tell_proposal(report, previews, console=console)
            else:
                text.tell(report, self.located, console=console)
        verb, _, _ = act.partition(" ")
        more = ' --applied (or --failed) --reason "…"' if verb == "attest" else ""
        instead = f"at a terminal: {self.located(verb, report.transaction)}{more}"
        return require_person(act, instead=instead, shows_on_stderr=self.is_json)

    def ask(self, report: Report) -> Report:
        """Ask for the confirmation of a fresh proposal, where there is a person to ask; else leave it proposed."""
        if report.is_joined or not report.waiting(State.PROPOSED) or self.is_json or not is_terminal():
            return report
        try:
            by = self.person(report, "confirm this")
        except PersonNeededError:
            return report
        return self.amends.confirm(report.transaction, by=by, shown_digest=report.digest)

    def print(self, tell: Callable[[], None], answer: Callable[[], shape.Shape]) -> bool:
        """Print `answer` for a program or `tell` it to a person; False if that could not be done."""
        self._bar.clear()
        return try_to_print((lambda: print_json(answer().model_dump(mode="json"))) if self.is_json else tell)

    def leave(self, report: Report, *, code: int | None = None, remark: str | None = None) -> NoReturn:
        """Tell `report` to whoever asked, and leave with `code`, or with that of its outcome."""
        _deafen()
        code = exit_code(report) if code is None else code
        if self.print(
            lambda: text.tell(report, self.located, remark=remark),
            lambda: shape.report_shape(report, self.located, code=code),
        ):
            self.amends.told(report)
        raise typer.Exit(code)

    def leave_all(self, reports: list[Report], *, code: int) -> NoReturn:
        """Tell several reports to whoever asked, and leave with `code`."""
        _deafen()
        if self.print(
            lambda: text.tell_all(reports, self.located), lambda: shape.list_shape(reports, self.located, code=code)
        ):
            for report in reports:
                self.amends.told(report)
        raise typer.Exit(code)

    def show_inbox(self, reports: list[Report]) -> NoReturn:
        """Show what waits for somebody. Looking at it tells no outcome to whoever asked for a write."""
        journal = str(self.amends.settings.journal_folder)
        self._show(
            lambda: text.tell_inbox(reports, self.located, journal),
            lambda: shape.list_shape(reports, self.located, code=0),
        )

    def show_log(self, reports: list[Report]) -> NoReturn:
        """Show the newest transactions."""
        self._show(lambda: text.tell_log(reports), lambda: shape.list_shape(reports, self.located, code=0))

    def show_story(self, report: Report) -> NoReturn:
        """Show the life of each write line by line."""
        self._show(
            lambda: text.tell_story(report, self.located),
            lambda: shape.report_shape(report, self.located, code=0, is_told=True),
        )

    def show_verification(self, found: Verification) -> NoReturn:
        """Show what was read of the journal, and every fault."""
        code = 5 if found.faults else 0
        self._show(lambda: text.tell_verification(found), lambda: shape.verification_shape(found), code=code)

    def prune(self, age: str, *, gives_up_undo: bool, is_dry: bool) -> NoReturn:
        """Forget what ended so long ago, and show what was forgotten. Raises MisuseError for an age that is none."""
        age = age or self.amends.settings.policy.keep
        older_than_ms = duration_ms(age)
        if older_than_ms is None or older_than_ms < PRUNE_AGE_MIN_MS:
            raise MisuseError(
                f"{age!r} is no age to prune by", hint="write a number and h or d, at least 1h: --older-than 90d"
            )
        if gives_up_undo and not is_dry:
            instead = f"at a terminal: {self.located.command} journal prune --older-than {age} --give-up-undo"
            require_person("give up undo", instead=instead, shows_on_stderr=self.is_json)
        pruned = self.amends.prune(older_than_ms=older_than_ms, gives_up_undo=gives_up_undo, is_dry=is_dry)
        self._show(lambda: text.tell_pruned(pruned, is_dry), lambda: shape.pruned_shape(pruned, is_dry=is_dry))

    def _show(self, tell: Callable[[], None], answer: Callable[[], shape.Shape], *, code: int = 0) -> NoReturn:
        is_shown = self.print(tell, answer)
        raise typer.Exit(code or (0 if is_shown else 1))

    def leave_broken(self, error: BaseException) -> NoReturn:
        """Leave because of `error`, with what became of whatever this process sent and told nobody of.

        Raises `error` itself where nothing was sent.
        """
        _deafen()
        self._bar.clear()
        if not isinstance(error, Interrupted) and not self.amends.has_untold:
            raise error
        try:
            if isinstance(error, Interrupted):
                self.leave(error.ended)
            reports = self.amends.untold()
            with suppress(OSError):
                fail(described(error), None)
            if len(reports) == 1:
                self.leave(reports[0])
            self.leave_all(reports, code=max(map(exit_code, reports)))
        except Exception as worse:
            if isinstance(worse, typer.Exit):
                raise
            message = (
                f"{described(error)}; a write may have applied, and how it ended can't be told: {described(worse)}"
            )
            hint = f"see how it stands: {self.located.command}"
            raise typer.Exit(say_error("unsettled", message, hint, 3, is_json=self.is_json)) from error


@contextmanager
def opened(folder: Path, *, is_json: bool) -> Iterator[Desk]:
    """Open what the nearest settings name. However the block ends, what was sent is told."""
    settings = find_settings(folder)
    with Bar() as bar, _located_hints(settings):
        amends = Amends(settings, progress=bar, returning_tells=False)
        desk = Desk(amends, bar, is_json=is_json)
        try:
            yield desk
        except typer.Exit:
            raise
        except BaseException as error:
            desk.leave_broken(error)
        finally:
            with suppress(Exception):  # the end of the process closes it too, and the outcome is told
                amends.close()


def show_dry_run(start: Path, change: Change, folder: Path, *, is_json: bool) -> NoReturn:
    """Show what `change`, a document in `folder`, would do."""
    settings = find_settings(start)
    with _located_hints(settings):
        plans = dry_run(settings, change, folder=folder)
    if is_json:
        is_shown = try_to_print(lambda: print_json(shape.dry_run_shape(plans).model_dump(mode="json")))
    else:
        is_shown = try_to_print(lambda: text.tell_plans(plans))
    raise typer.Exit(0 if is_shown else 1)


@contextmanager
def _located_hints(settings: Settings) -> Iterator[None]:
    """Let the commands in the hints of errors work from any folder."""
    try:
        yield
    except AmendsError as error:
        if error.hint:
            error.hint = Located(str(settings.folder)).within(error.hint)
        raise


def _deafen() -> None:
    """Ignore Ctrl-C from here on: the command is over but for telling how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
