"""What is written in a round: one change, or one undo, with the bytes that must come of it.

A story is made before its round and told to the record; a child then carries it out through `Amends`, as a program
would. It can be asked for again: what it leads to must be the same, once, whatever happened to it before.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from amends.assembly import Amends
from amends.broker import Report
from amends.contract.lifecycle import State
from amends.contract.message import render_outcome
from amends.errors import BlockedError, MisuseError
from tests.crash.place import Place, digest_of
from tests.crash.process import asked

OPERATOR = "operator (--yes)"
UPLOAD_BYTES_MAX = 3 << 20
TEXT_BYTES_MAX = 40_000
REPEATS_MAX = 4

Make = Callable[[Place, random.Random, str], "Story"]
"""make(place, rng, name): prepare the place for a story, and give it."""


@dataclass(frozen=True)
class Story:
    """One round's wish. `ends` says what must be at each path when it is fulfilled (None: nothing)."""

    kind: str
    ends: dict[str, str | None]
    change: dict[str, Any] = field(default_factory=dict)
    reverses: str | None = None

    def ask(self, amends: Amends, place: Place) -> Report:
        """Ask for it, with the operator's confirmation."""
        if self.reverses is not None:
            return amends.undo(self.reverses, confirmed_by=OPERATOR)
        return amends.propose(self.change, folder=place.folder, confirmed_by=OPERATOR)

    def carry_out(self, amends: Amends, place: Place) -> list[dict[str, Any]]:
        """Ask for it, and give what is told; a refusal before anything was recorded is an answer too."""
        try:
            return outcomes(self.ask(amends, place))
        except (MisuseError, BlockedError) as error:
            return [{"refused": str(error)}]

    def repeat(self, amends: Amends, place: Place) -> list[dict[str, Any]]:
        """Ask for it again, as somebody would who was told nothing: until the answer is not an earlier one."""
        told = []
        for _ in range(REPEATS_MAX):
            try:
                report = self.ask(amends, place)
            except (MisuseError, BlockedError) as error:  # undone already, taken away by somebody, or stopped for good
                told.append({"refused": str(error)})
                break
            if report.waiting(State.CONFIRMED):
                report = amends.confirm(report.transaction, by=OPERATOR)
            told += outcomes(report)
            if not report.is_joined:
                break
        return told


def outcomes(report: Report) -> list[dict[str, Any]]:
    """Give what a report tells of each write."""
    return [
        {
            "operation": life.operation_id,
            "outcome": life.result.outcome if life.result else None,
            "evidence": life.evidence,
            "is_joined": report.is_joined,
            "text": render_outcome(life.result).text if life.result else None,
        }
        for life in report.lives
    ]


# --- the kinds of story --------------------------------------------------------------------------------------------


def _text(place: Place, rng: random.Random, name: str) -> tuple[dict[str, str], bytes]:
    content = place.content(rng, name, size=rng.choice((100, 5_000, TEXT_BYTES_MAX)))
    return {"text": content.decode()}, content


def create(place: Place, rng: random.Random, name: str) -> Story:
    """A new file in a folder that is there."""
    fields, content = _text(place, rng, name)
    path = f"{name}.md"
    digest = place.record.expect(path, content, name)
    return Story("create", {path: digest}, {"write": [{"create": f"notes:{path}", "set": fields}]})


def create_deep(place: Place, rng: random.Random, name: str) -> Story:
    """A new file whose folders are missing."""
    fields, content = _text(place, rng, name)
    path = f"{name}/deep/in/it.md"
    digest = place.record.expect(path, content, name)
    return Story("create_deep", {path: digest}, {"write": [{"create": f"notes:{path}", "set": fields}]})


def edit(place: Place, rng: random.Random, name: str) -> Story:
    """New content for a file that is there."""
    path = f"{name}.md"
    place.put(path, place.content(rng, f"{name} before"), f"{name} before")
    fields, content = _text(place, rng, name)
    digest = place.record.expect(path, content, name)
    return Story("edit", {path: digest}, {"write": [{"edit": f"notes:{path}", "set": fields}]})


def archive(place: Place, rng: random.Random, name: str) -> Story:
    """A file that is to go."""
    path = f"{name}.md"
    place.put(path, place.content(rng, f"{name} before"), f"{name} before")
    return Story("archive", {path: None}, {"write": [{"archive": f"notes:{path}"}]})


def upload(place: Place, rng: random.Random, name: str) -> Story:
    """A file of up to a few MiB, new or over another one."""
    path = f"{name}.bin"
    if rng.random() < 0.5:
        place.put(path, place.content(rng, f"{name} before"), f"{name} before")
    content = place.content(rng, name, size=rng.randrange(1 << 20, UPLOAD_BYTES_MAX))
    (place.incoming / path).write_bytes(content)
    digest = place.record.expect(path, content, name)
    change = {"write": [{"upload": f"notes:{path}", "from": f"incoming/{path}"}]}
    return Story("upload", {path: digest}, change)


def document(place: Place, rng: random.Random, name: str) -> Story:
    """Three writes that belong together."""
    parts = (
        create(place, rng, f"{name}-one"),
        edit(place, rng, f"{name}-two"),
        rng.choice((archive, upload, create_deep))(place, rng, f"{name}-three"),
    )
    ends = {path: digest for part in parts for path, digest in part.ends.items()}
    return Story("document", ends, {"write": [write for part in parts for write in part.change["write"]]})


def undo(place: Place, rng: random.Random, name: str) -> Story:
    """The reversal of a write that was applied in peace."""
    return undo_of(rng.choice((create, edit, archive, upload)))(place, rng, name)


def undo_of(kind: Make) -> Make:
    """The reversal of a write of that kind."""

    def make(place: Place, rng: random.Random, name: str) -> Story:
        first = kind(place, rng, name)
        before = shown(place, first.ends)

        def carry_out(_: object) -> str:
            with Amends.open(place.folder) as amends:
                (life,) = first.ask(amends, place).lives
                return life.operation_id

        return Story("undo", before, reverses=asked(carry_out))

    return make


def shown(place: Place, paths: Iterable[str]) -> dict[str, str | None]:
    """Give what is at each path now, by its digest; None: nothing."""
    files = {path: place.root / path for path in paths}
    return {path: digest_of(file.read_bytes()) if file.exists() else None for path, file in files.items()}


def _tree(place: Place, rng: random.Random, name: str, *, to: str | None = None) -> dict[str, str | None]:
    """Put a folder with two files there; give what must be at each path when it is gone, or is at `to`."""
    ends: dict[str, str | None] = {}
    for below in ("one.md", "deeper/two.md"):
        content = place.content(rng, f"{name} {below}")
        place.put(f"{name}/{below}", content, f"{name} {below}")
        ends[f"{name}/{below}"] = None
        if to is not None:
            ends[f"{to}/{below}"] = place.record.expect(f"{to}/{below}", content, f"{name} {below}")
    return ends


def archive_tree(place: Place, rng: random.Random, name: str) -> Story:
    """A whole folder that is to go."""
    return Story("archive_tree", _tree(place, rng, name), {"write": [{"archive": f"notes:{name}"}]})


def move_tree(place: Place, rng: random.Random, name: str) -> Story:
    """A whole folder that is to be elsewhere."""
    (place.root / f"{name}-into").mkdir()
    ends = _tree(place, rng, name, to=f"{name}-into/{name}")
    return Story("move_tree", ends, {"write": [{"move": f"notes:{name}", "to": f"notes:{name}-into/{name}"}]})


def _renamed(place: Place, rng: random.Random, name: str, verb: str, to: str) -> Story:
    content = place.content(rng, name)
    digest = place.put(f"{name}.md", content, name)
    place.record.expect(to, content, name)
    ends = {f"{name}.md": None, to: digest}
    return Story(verb, ends, {"write": [{verb: f"notes:{name}.md", "to": f"notes:{to}"}]})


def move(place: Place, rng: random.Random, name: str) -> Story:
    """A file that is to be in another folder."""
    (place.root / f"{name}-into").mkdir()
    return _renamed(place, rng, name, "move", f"{name}-into/{name}.md")


def rename(place: Place, rng: random.Random, name: str) -> Story:
    """A file that is to have another name."""
    return _renamed(place, rng, name, "rename", f"{name}-renamed.md")


def delete(place: Place, rng: random.Random, name: str) -> Story:
    """A file that nobody wants back."""
    path = f"{name}.md"
    place.record.doomed.add(place.put(path, place.content(rng, f"{name} before"), f"{name} before"))
    return Story("delete", {path: None}, {"write": [{"delete": f"notes:{path}"}]})


def delete_tree(place: Place, rng: random.Random, name: str) -> Story:
    """A whole folder that nobody wants back."""
    ends = _tree(place, rng, name)
    place.record.doomed |= {digest for path, digest in shown(place, ends).items() if digest is not None}
    return Story("delete_tree", ends, {"write": [{"delete": f"notes:{name}"}]})


KINDS: dict[str, Make] = {
    "create": create,
    "create_deep": create_deep,
    "edit": edit,
    "archive": archive,
    "upload": upload,
    "document": document,
    "undo": undo,
}
"""What writers are killed in at random."""

EVERY_KIND: dict[str, Make] = {
    "create": create,
    "create_deep": create_deep,
    "edit": edit,
    "archive": archive,
    "archive_tree": archive_tree,
    "upload": upload,
    "move": move,
    "move_tree": move_tree,
    "rename": rename,
    "delete": delete,
    "delete_tree": delete_tree,
}
EVERY_KIND["document"] = document
NO_UNDO = frozenset({"delete", "delete_tree", "document"})
EVERY_KIND |= {f"undo_{name}": undo_of(make) for name, make in EVERY_KIND.items() if name not in NO_UNDO}
"""Each kind of write of files, of one file and of one folder, the undo of each, and a document of three writes."""


def rival(place: Place, rng: random.Random, story: Story, name: str) -> Story | None:
    """Another write of the same target with another content, or None where there is nothing to fight about."""
    if story.reverses is not None or story.kind == "document":
        return None
    (path,) = story.ends
    fields, content = _text(place, rng, f"{name} rival")
    digest = place.record.expect(path, content, f"{name} rival")
    verb = "create" if story.kind in ("create", "create_deep") else "edit"
    return Story("rival", {path: digest}, {"write": [{verb: f"notes:{path}", "set": fields}]})
