"""Writes the generated blocks of the documentation; with `--check` it only says which files are stale.

A block stands in a Markdown file between two markers, and everything between them is replaced:

    <!-- generated: lifecycle -->
    ...
    <!-- end -->

To add a block: write a function that gives its Markdown and enter it in `BLOCKS` under its name.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from amends import ALLOWED, Evidence, OperationResult, WriteOutcome, render_outcome
from amends.cli import shape
from amends.cli.app import app
from amends.contract.lifecycle import diagram
from amends.contract.outcome import ACTIONS
from amends.document import Change, Write
from amends.recovery import rule_table
from amends.recovery.report import PHRASES as STOP_PHRASES
from amends.settings import FilesSettings, JournalSettings, PolicySettings

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"(?P<start>^<!-- generated: (?P<name>\S+) -->\n)(?P<body>.*?)(?P<end>^<!-- end -->$)", re.MULTILINE | re.DOTALL
)
MARKER = re.compile(r"^<!-- (?:generated:.*|end) -->$", re.MULTILINE)

REASONS = {
    (WriteOutcome.FAILED, Evidence.NEVER_SENT): "the folder is read-only",
    (WriteOutcome.FAILED, Evidence.REFUSED): "the title is too long",
    (WriteOutcome.FAILED, Evidence.STALE): "its version is 8, and 7 was shown",
    (WriteOutcome.APPLIED, Evidence.ATTESTED): "I see it in the archive",
    (WriteOutcome.FAILED, Evidence.ATTESTED): "the server was off all day",
    (WriteOutcome.AMBIGUOUS, Evidence.PARTIAL): "the title is there, the body is not",
}
"""Reasons that make the worked sentences of the evidence table read as in life."""


PROOF = ROOT / "docs" / "proof.json"
PROOF_FIELDS = frozenset({"what", "tried", "violations", "seconds", "share", "date", "commit"})
HELP_COLUMNS = 100
ENUM_SHOWN_MAX = 8
PLAIN: dict[Any, str] = {str: "text", int: "number", bool: "true, false", NoneType: "null", Any: "value"}
VERBS = [verb.callback.__name__ for verb in app.registered_commands if verb.callback]
SHAPES: dict[str, type[BaseModel]] = {
    "report": shape.ReportShape,
    "write": shape.WriteShape,
    "line": shape.LineShape,
    "list": shape.ListShape,
    "dry_run": shape.DryRunShape,
    "planned": shape.PlannedShape,
    "verification": shape.VerificationShape,
    "init": shape.InitShape,
    "error": shape.ErrorShape,
}


def lifecycle() -> str:
    """The one transition table as a diagram."""
    return f"```mermaid\n{diagram()}\n```"


def evidence() -> str:
    """What is said for every allowed pair, on the example of one edit."""
    pairs = [(outcome, kind) for kind in Evidence for outcome in WriteOutcome if (outcome, kind) in ALLOWED]
    rows = [f"| `{kind}` | {outcome} | {_said(outcome, kind)} |" for outcome, kind in pairs]
    return "\n".join(["| evidence | outcome | what is said |", "|---|---|---|", *rows])


def _said(outcome: WriteOutcome, kind: Evidence) -> str:
    result = OperationResult.model_validate(
        {
            "operation_id": "op_7",
            "kind": "edit",
            "target": "notes:plan.md",
            "outcome": outcome,
            "evidence": kind,
            "reason": REASONS.get((outcome, kind)),
        }
    )
    return render_outcome(result).text


def actions() -> str:
    """What each outcome calls for."""
    lines = ["| outcome | action |", "|---|---|"]
    return "\n".join([*lines, *(f"| {outcome} | `{action}` |" for outcome, action in ACTIONS.items())])


def command_help(*words: str) -> str:
    """What `amends VERB --help` prints."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("amends", [], resilient_parsing=True, terminal_width=HELP_COLUMNS)
    for word in words:
        command = command.get_command(context, word)
        context = command.make_context(word, [], parent=context, resilient_parsing=True, terminal_width=HELP_COLUMNS)
    return f"```text\n{command.get_help(context).rstrip()}\n```"


def fields(model: type[BaseModel], *, above: str = "") -> str:
    """A table of a model's fields: the name as it is written, what it may be, and what it means."""
    rows = [
        f"| `{above}{field.alias or name}` | {_values(field)} | {field.description} |"
        for name, field in model.model_fields.items()
    ]
    return "\n".join(["| field | value | meaning |", "|---|---|---|", *rows])


def _values(field: FieldInfo) -> str:
    """Say what values a field takes; null is worth saying only where it is printed, not where it may be left out."""
    kind = _kind(field.annotation)
    return kind.removesuffix(" or null") if field.default is None else kind


def _kind(annotation: Any) -> str:
    """Say in words what values a field takes."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{json.dumps(value)}`" for value in get_args(annotation))
    if get_origin(annotation) in (list, tuple):
        return f"list of {_kind(get_args(annotation)[0])}s"
    if get_origin(annotation) is dict:
        return "table"
    if get_args(annotation):
        return " or ".join(_kind(part) for part in get_args(annotation))
    if issubclass(annotation, StrEnum):
        return ", ".join(f"`{member}`" for member in annotation) if len(annotation) < ENUM_SHOWN_MAX else "a word"
    name: str = annotation.__name__
    return name.removesuffix("Shape").lower()


def governor() -> str:
    """The governor's rules, in their order."""
    rows = [f"| {place} | {name} | {sentence} |" for place, (name, sentence) in enumerate(rule_table(), start=1)]
    return "\n".join(["| | rule | what it says |", "|---|---|---|", *rows])


def stops() -> str:
    """What is said of each reason to stop, and what comes next."""
    slots = {"target": "notes:plan.md", "because": ": the folder is read-only"}
    rows = [
        f"| `{stop}` | {phrase.why.format(**slots)} | {phrase.first.format(**slots)} | `{phrase.verb}` |"
        for stop, phrase in STOP_PHRASES.items()
    ]
    return "\n".join(["| stop | what is said | what to do first | and then |", "|---|---|---|---|", *rows])


def proof() -> str:
    """What the long tests tried at their last recorded run (see tests/proof.py)."""
    kept: dict[str, dict[str, Any]] = json.loads(PROOF.read_text(encoding="utf-8"))
    lines = ["| proof | tried | violations | seconds | when, and on which commit |", "|---|---|---|---|---|"]
    for name, figures in kept.items():
        more = [_more(word, value) for word, value in figures.items() if word not in PROOF_FIELDS]
        tried = "; ".join([f"{figures['tried']:,} {figures['what']}", *more])
        when = f"{figures['date']}, {figures['share']}, `{figures['commit']}`"
        lines.append(f"| {name} | {tried} | {figures['violations']} | {figures['seconds']:,.0f} | {when} |")
    return "\n".join(lines)


def _more(word: str, value: Any) -> str:
    told = ", ".join(f"{count:,} {what}" for what, count in value.items()) if isinstance(value, dict) else f"{value:,}"
    return f"{word.replace('_', ' ')}: {told}"


BLOCKS: dict[str, Callable[[], str]] = {
    "actions": actions,
    "evidence": evidence,
    "governor": governor,
    "lifecycle": lifecycle,
    "cli": command_help,
    **{f"cli-{verb}": partial(command_help, verb) for verb in VERBS},
    "change": partial(fields, Change),
    "change-write": partial(fields, Write, above="write."),
    "settings-surfaces": partial(fields, FilesSettings, above="surfaces.NAME."),
    "settings-policy": partial(fields, PolicySettings, above="policy."),
    "settings-journal": partial(fields, JournalSettings, above="journal."),
    **{f"json-{name}": partial(fields, model) for name, model in SHAPES.items()},
    "proof": proof,
    "stops": stops,
}


def regenerate(text: str) -> str:
    """Give `text` with every block as it should be. Raises ValueError for an unknown block or a marker left alone."""
    blocks = list(BLOCK.finditer(text))
    if len(MARKER.findall(text)) != 2 * len(blocks):
        raise ValueError("a marker stands alone: every `<!-- generated: name -->` needs its `<!-- end -->`")
    unknown = [block["name"] for block in blocks if block["name"] not in BLOCKS]
    if unknown:
        raise ValueError(f"no block is called {', '.join(unknown)}; docs/generate.py knows {', '.join(sorted(BLOCKS))}")
    return BLOCK.sub(lambda block: f"{block['start']}{BLOCKS[block['name']]()}\n{block['end']}", text)


def pages(root: Path) -> list[Path]:
    """The files that may hold blocks: all of docs/ and skills/, and the Markdown beside them."""
    return sorted(path for top in ("*.md", "docs/**/*.md", "skills/**/*.md") for path in root.glob(top))


def main() -> int:
    """Bring all pages up to date, or with `--check` say which are not. Exit 1: stale or wrong, with the file's name."""
    parser = argparse.ArgumentParser(description="Write the generated blocks of the documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args()
    faults = 0
    for page in pages(options.root):
        name = page.relative_to(options.root).as_posix()
        text = page.read_text(encoding="utf-8")
        try:
            fresh = regenerate(text)
        except ValueError as fault:
            print(f"{name}: {fault}", file=sys.stderr)
            faults += 1
            continue
        if fresh == text:
            continue
        if options.check:
            print(f"{name} is stale: run `make docs`", file=sys.stderr)
            faults += 1
        else:
            page.write_text(fresh, encoding="utf-8")
            print(f"{name} written")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
