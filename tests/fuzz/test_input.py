"""Change documents and settings that nobody would write: taken, or refused with a sentence and nothing done."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.fuzz.command import command, examples, new_folder, tree
from tests.proof import record

TEXT, STRUCTURE, SETTINGS = 40, 40, 30
"""Examples in the quick share."""

PIECES = (
    *("[[write]]", "[write]", "write", "title", "create", "edit", "archive", "move", "rename", "delete", "upload"),
    *("set", "to", "from", "text", "json", "mode", "=", '"', "'", "{", "}", "[", "]", ":", ",", "\n", "\\", "#", "."),
    *('"notes:a.md"', '"notes:../a"', "notes:", "0o644", "1e999", "NaN", "-0", "true", "null", "1979-05-27", "\0"),
    *("\ufeff", "\u202e", "\ud7ff", "𝄞", "é", "e\u0301", "/", "//", "~", "$HOME", '"""', "a" * 300),
)
TARGETS = st.sampled_from(
    [
        *("notes:a.md", "notes:b.md", "notes:new/deep.md", "notes:.", "notes:..", "notes:/etc/passwd", "notes:a.md/b"),
        *("notes:.amends/owner", "notes:a\0b", "notes:" + "x" * 300, "notes:" + "d/" * 200, "other:a.md", ":", "", "a"),
        *("notes:A.MD", "notes:./a.md", "notes:link", "notes:folder", "notes:\u202egnp.md", "notes:a\nb", "notes: "),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = ("create", "edit", "archive", "move", "rename", "delete", "upload")
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=40) | JSON,
        "json": JSON,
        "mode": st.sampled_from(["0644", "644", "0o644", "7777", "99", "", 420, -1, None]),
        "content": st.just("sha256:" + "0" * 64),
        "no such field": JSON,
    },
)
WRITE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(KINDS, TARGETS | JSON)
    | {
        "to": TARGETS | JSON,
        "from": st.sampled_from(["local.bin", "nothing", ".", "/dev/zero", "a\0b", "notes"]) | JSON,
    },
) | st.builds(
    lambda kind, target, to, fields: (
        {kind: target}
        | ({"to": to} if kind in ("move", "rename") else {})
        | ({"from": "local.bin"} if kind == "upload" else {"set": fields})
    ),
    st.sampled_from(KINDS),
    TARGETS,
    TARGETS,
    FIELDS,
)
DOCUMENT = st.fixed_dictionaries(
    {"write": st.lists(WRITE, max_size=4) | JSON}, optional={"title": st.text(max_size=250) | JSON, "writes": JSON}
)
MIXED = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=25).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a few things in it, in which nothing is ever carried out."""
    place = new_folder(tmp_path_factory.mktemp("input"))
    (place / "notes" / "a.md").write_text("a\n")
    (place / "notes" / "folder").mkdir()
    (place / "notes" / "folder" / "in.md").write_text("in\n")
    (place / "notes" / "link").symlink_to("a.md")
    (place / "local.bin").write_bytes(b"local\n")
    yield place
    shutil.rmtree(place)


def is_refused_or_proposed(folder: Path, document: bytes) -> None:
    """Propose it, and look at it as a dry run: it is taken or refused, and nothing is done either way."""
    before = tree(folder)
    dry = command(folder, "apply", "-", "--dry-run", "--json", stdin=document)
    proposed = command(folder, "propose", "-", "--json", stdin=document)
    event(f"dry run {dry.code}, proposed {proposed.code}")
    assert dry.code in (0, 2), dry
    assert proposed.code in (0, 2, 6), proposed
    assert tree(folder) == before
    if proposed.code == 2:
        assert proposed.document["message"], proposed
        assert dry.code == 2, (dry, proposed)


@pytest.mark.proof
@pytest.mark.requirement("fuzz:change:text")
def test_any_text_is_taken_as_a_change_or_refused_with_a_sentence(folder: Path) -> None:
    """A model writes change documents, and models write anything."""
    started, tried = time.monotonic(), 0

    @examples(TEXT)
    @given(MIXED.map(lambda text: text.encode("utf-8", "replace")) | st.binary(max_size=60))
    def take(document: bytes) -> None:
        nonlocal tried
        tried += 1
        is_refused_or_proposed(folder, document)

    take()
    record("change documents, as text", tried=tried, what="made-up texts", seconds=time.monotonic() - started)


@pytest.mark.proof
@pytest.mark.requirement("fuzz:change:text")
def test_any_structure_is_taken_as_a_change_or_refused_with_a_sentence(folder: Path) -> None:
    """Right in form and wrong in meaning is what a program sends that was written from memory."""
    started, tried = time.monotonic(), 0

    @examples(STRUCTURE)
    @given(DOCUMENT)
    def take(document: dict[str, Any]) -> None:
        nonlocal tried
        tried += 1
        is_refused_or_proposed(folder, json.dumps(document).encode("utf-8", "replace"))

    take()
    record("change documents, as JSON", tried=tried, what="made-up documents", seconds=time.monotonic() - started)


SETTING = st.sampled_from(
    [
        *("[surfaces.notes]", "[surfaces.other]", '[surfaces."no name"]', "[policy]", "[journal]", "[nothing]"),
        *('type = "files"', 'type = "tape"', 'root = "notes"', 'root = "gone"', 'root = ""', 'root = "/"', "root = 3"),
        *('root = "a\\u0000b"', 'root = "~nobody-at-all/x"', 'root = "../.."', 'root = "amends.toml"', 'root = "."'),
        *(
            'expires = "15m"',
            'expires = "soon"',
            "expires = 3",
            'folder = "notes/j"',
            'folder = "j"',
            'folder = "/proc/x"',
        ),
        *('folder = "amends.toml"', 'folder = "\\u202e"', "=", "[[", '"""'),
    ]
)


PATH = st.sampled_from(
    [
        *('"notes"', '"gone"', '""', '"/"', '"."', '"../.."', '"amends.toml"', '"~"', '"~nobody-at-all/x"', "3", "[]"),
        *('"a\\u0000b"', '"notes/../notes"', '"\\u202e"', '"j"', '"notes/j"', '"notes/.amends/j"', '"/proc/x"'),
    ]
)
JOURNAL = st.sampled_from(
    [
        *('"j/k"', '"notes/j"', '"notes/.amends/j"', '"notes"', '""', "3", "[]", '"amends.toml"', '"~nobody-at-all/x"'),
        *('"a\\u0000b"', '"/proc/x"', '"amends.toml/j"'),
    ]
)
"""Where a journal would be made is only what lies in the folder of the example."""

WHOLE = st.builds(
    "[surfaces.{}]\ntype = {}\nroot = {}\n[policy]\nexpires = {}\n[journal]\nfolder = {}\n".format,
    st.just("notes") | st.sampled_from(["a", "A", "a.b", '"a b"', "x" * 40]),
    st.just('"files"') | st.sampled_from(['"tape"', "1"]),
    PATH,
    st.just('"15m"') | st.sampled_from(['"never"', '"0s"', '"999999d"', '"1000000d"', '"-1s"', "3"]),
    st.just('"j"') | JOURNAL,
)


@pytest.mark.proof
@pytest.mark.requirement("fuzz:settings:text")
def test_any_settings_work_or_are_said_to_be_wrong(tmp_path: Path) -> None:
    """Settings are written by hand, and the first thing that goes wrong for whoever tries Amends."""
    started, tried = time.monotonic(), 0

    @examples(SETTINGS)
    @given(WHOLE | st.lists(SETTING | MIXED, max_size=8).map("\n".join) | st.binary(max_size=40))
    def use(content: str | bytes) -> None:
        nonlocal tried
        tried += 1
        place = new_folder(tmp_path)
        text = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        (place / "amends.toml").write_bytes(text)
        before = tree(place)
        change = json.dumps({"write": [{"create": "notes:new.md", "set": {"text": "new\n"}}]}).encode()
        inbox = command(place, "--json")
        proposed = command(place, "propose", "-", "--json", stdin=change)
        event(f"inbox {inbox.code}, proposed {proposed.code}")
        assert inbox.code in (0, 5), inbox
        assert proposed.code in (2, 5, 6), proposed
        after = {name: found for name, found in tree(place).items() if "j" not in name.split("/")}  # j: the journal
        assert sorted(after) == sorted(before)
        assert after == before
        shutil.rmtree(place)

    use()
    record("settings", tried=tried, what="made-up settings", seconds=time.monotonic() - started)
