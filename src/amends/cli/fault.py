"""What goes wrong, said: a sentence, a next step and an exit code; with `--json` one object on standard output.

Never a stack trace, and never more than is known. Whatever arrives here was sent by nobody: an open desk keeps back
what was sent (see `desk.leave_broken`). That the answer can't be printed does not change what the exit code says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import typer

from amends.errors import AmendsError, UnusableError

INTERRUPTED = "interrupted; nothing was sent"
PASSED_ON_S = 0.01
REPORT_IT = "it is not your mistake; please report it with the command and this message"


def run(arguments: Sequence[str]) -> int:
    """Carry out one command and give its exit code."""
    is_json = "--json" in arguments
    try:
        from .app import app

        command = typer.main.get_command(app)
        with command.make_context("amends", list(arguments)) as context:
            command.invoke(context)
        return 0 if try_to_print(lambda: None) else 1
    except typer.Exit as left:
        return left.exit_code
    except AmendsError as error:
        message = str(error)
        if isinstance(error, UnusableError) and "nothing was sent" not in message:
            message += "; nothing was sent"
        return say_error(error.code, message, error.hint, error.exit_code, is_json=is_json)
    except typer.TyperException as error:
        asked = getattr(error, "ctx", None)
        hint = f"{asked.command_path if asked else 'amends'} --help"
        return say_error("usage", error.format_message(), hint, 2, is_json=is_json)
    except (KeyboardInterrupt, typer.Abort):
        return say_error("interrupted", INTERRUPTED, None, 1, is_json=is_json)
    except BrokenPipeError as error:  # of the help, which the library prints; all else is printed by try_to_print
        _tell_unprinted(error)
        return 1
    except Exception as error:
        return say_error("fault", f"{described(error)}; nothing was sent", REPORT_IT, 5, is_json=is_json)


def described(error: BaseException) -> str:
    """Say what `error` is; what nobody foresaw is called by its name, with the place."""
    if isinstance(error, AmendsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {'/'.join(frames[-1].filename.split('/')[-2:])}:{frames[-1].lineno}" if frames else ""
    return f"a fault in Amends itself ({type(error).__name__}{place}: {error})"


def say_error(code: str, message: str, hint: str | None, exit_code: int, *, is_json: bool) -> int:
    """Say what went wrong and give `exit_code`."""
    if is_json:
        document = {"version": 1, "error": code, "message": message, "hint": hint, "exit_code": exit_code}
        try_to_print(lambda: print_json(document))
    else:
        from .terminal import fail

        with suppress(OSError):
            fail(message, hint)
    return exit_code


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` on standard output."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=not is_unicode) + "\n")


def try_to_print(tell: Callable[[], None]) -> bool:
    """Print by `tell`; where the reader went away or the disk is full, say so on standard error and give False."""
    try:
        tell()
        sys.stdout.flush()
    except OSError as error:
        _tell_unprinted(error)
        return False
    return True


def _tell_unprinted(error: OSError) -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter tries again at its end
    with suppress(OSError):
        why = (error.strerror or str(error)).lower()
        sys.stderr.write(f"Not everything could be printed ({why}); what is recorded stays: amends log\n")


def steady_streams() -> None:
    """Make standard streams that were closed lead nowhere, and let names that can't be encoded pass as escapes."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - a journal must never get such a number
        pass
    os.close(fd)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.unraisablehook = _pass_interrupt_on


def _pass_interrupt_on(unraisable: sys.UnraisableHookArgs) -> None:
    """Let Ctrl-C count that fell into a finalizer, where Python only prints a trace."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        main = threading.main_thread().ident
        assert main is not None
        threading.Timer(PASSED_ON_S, signal.pthread_kill, (main, signal.SIGINT)).start()  # once this hook is left
    else:
        sys.__unraisablehook__(unraisable)
