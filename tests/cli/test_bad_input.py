"""Bad input: a clear error that names the thing, the reason and the next step; exit code 2; nothing lost.

Every case is a command as somebody would type it, and afterwards the root and its neighbours are as they were.
"""

import json
import os
from dataclasses import dataclass
from typing import Any

import pytest

from amends.cli.progress import Bar
from amends.document import DOCUMENT_BYTES_MAX
from tests.cli.place import Place


@dataclass(frozen=True)
class Case:
    """One bad input: a write, or a whole document; what its error names; and what the next step says."""

    name: str
    content: dict[str, Any] | str
    names: str
    reason: str
    following: str


def write(name: str, write: dict[str, Any], names: str, reason: str, following: str) -> Case:
    """A document with one write."""
    return Case(name, {"write": [write]}, names, reason, following)


def target(name: str, key: str, names: str, reason: str, following: str) -> Case:
    """A create of one odd target."""
    return write(name, {"create": f"notes:{key}", "set": {"text": "x"}}, names, reason, following)


TARGETS = [
    target("outside", "../secret.md", "'../secret.md'", "leads out of", "name a file below"),
    target("outside_far", "a/../../../etc/passwd", "etc/passwd'", "leads out of", "name a file below"),
    target("through_a_link", "link/x.md", "'link/x.md'", "leads out of", "name a file below"),
    target("absolute", "/etc/passwd", "'/etc/passwd'", "is absolute", "without a leading slash"),
    target("empty", "", "'notes:'", "is no target", "write it as surface:key"),
    target("root_itself", ".", "'.'", "is the folder", "name a file in it"),
    target("nul", "a\0b", r"'a\x00b'", "holds a NUL character", "leave it out"),
    target("long_name", "x" * 256, "'xxxxxxxxxxxxxxxxxxxx", "at most 255", "choose a shorter name"),
    target("long_path", "y/" * 2100 + "z", "y/y/y", "longer than 4096 bytes", "choose a shorter path"),
    target("a_folder", "folder", "notes:folder", "it is a folder", "name a regular file"),
    target("in_the_room", ".amends/stage/x", "'.amends/stage/x'", "where Amends keeps", "name another file"),
    target("half_a_surrogate", "\ud800", r"'\ud800'", "is not valid UTF-8", "rename the file"),
    write("no_surface", {"edit": "mail:1"}, "'mail'", "there is no surface", "known surfaces: notes"),
    write("no_colon", {"edit": "a.md"}, "'a.md'", "is no target", "write it as surface:key"),
    write(
        "nothing_to_edit", {"edit": "notes:gone.md", "set": {"text": ""}}, "notes:gone.md", "nothing is at", "create"
    ),
    write("two_surfaces", {"move": "notes:a", "to": "mail:b"}, "notes:a and mail:b", "different surfaces", "archive"),
    write("no_move", {"move": "notes:there.md", "to": "notes:b.md"}, "notes:b.md", "have the same parent", "a rename"),
]

FIELDS = [
    write("kind", {"remove": "notes:a"}, "write 1: 'remove'", "neither a kind of write", "amends schema"),
    write("two_kinds", {"edit": "notes:a", "create": "notes:a"}, "write 1", "exactly one of create", "amends schema"),
    write("no_kind", {"set": {"text": "x"}}, "write 1", "exactly one of create", "amends schema"),
    write(
        "field", {"create": "notes:a", "set": {"colour": "red"}}, "'colour'", "is no field of create", "allowed fields"
    ),
    write("no_content", {"create": "notes:a"}, "notes:a", "without content", "give 'text' or 'base64'"),
    write(
        "two_contents", {"create": "notes:a", "set": {"text": "", "base64": ""}}, "'text'", "both given", "one of them"
    ),
    write("no_text", {"create": "notes:a", "set": {"text": 3}}, "'text'", "is not a string", "as a JSON string"),
    write("no_base64", {"create": "notes:a", "set": {"base64": "?"}}, "'base64'", "can't be taken", "give bytes"),
    write("half_text", {"create": "notes:a", "set": {"text": "\ud800"}}, "'text'", "can't be taken", "as 'base64'"),
    write("mode", {"create": "notes:a", "set": {"text": "", "mode": 644}}, "'mode' is 644", "'mode'", 'such as "0644"'),
    write("to", {"edit": "notes:a", "to": "notes:b"}, "write 1", "`to` goes with move and rename", "amends schema"),
    write("from", {"edit": "notes:a", "from": "x"}, "write 1", "`from` goes with upload", "amends schema"),
]

DOCUMENTS = [
    Case("neither", "{ this is nothing", "change.json", "is neither TOML nor JSON", "amends schema"),
    Case("binary", "\udcff\udcfe", "change.json", "is not UTF-8 text", "save it as UTF-8"),
    Case("empty", "", "change.json", "there is no write in it", "amends schema"),
    Case("no_writes", '{"title": "x", "write": []}', "change.json", "there is no write in it", "amends schema"),
    Case("a_list", "[]", "change.json", "is neither TOML nor JSON", "amends schema"),
    Case("unknown_part", '{"writes": []}', "'writes'", "is no part of a change", "[[write]]"),
    Case("twice_in_json", '{"title": "a", "title": "b"}', "'title'", "stands twice", "amends schema"),
    Case("twice_in_toml", 'title = "a"\ntitle = "b"\n', "change.json", "Cannot overwrite a value", "amends schema"),
    Case("nan", '{"write": [{"edit": "notes:a", "set": {"text": NaN}}]}', "NaN", "is no JSON number", "amends schema"),
    Case("deep", '{"write": ' + "[" * 100_000, "change.json", "is neither TOML nor JSON", "amends schema"),
    Case("long_title", json.dumps({"title": "x" * 201, "write": []}), "title", "at most 200", "amends schema"),
    Case(
        "duplicate",
        {"write": [{"create": "notes:a", "set": {"text": "1"}}, {"create": "notes:./a", "set": {"text": "1"}}]},
        "writes 1 and 2",
        "both about notes:a",
        "write to each target once",
    ),
    Case(
        "contradictory",
        {"write": [{"edit": "notes:there.md", "set": {"text": "1"}}, {"archive": "notes:folder/../there.md"}]},
        "writes 1 and 2",
        "both about notes:there.md",
        "make two documents",
    ),
    Case(
        "very_many",
        {"write": [{"create": f"notes:{number}", "set": {"text": ""}} for number in range(100_000)]},
        "100000 writes",
        "at most 1000",
        "split it",
    ),
    Case("large", "#" * (DOCUMENT_BYTES_MAX + 1), "change.json", f"more than {DOCUMENT_BYTES_MAX} bytes", "upload it"),
]


@pytest.fixture
def office(place: Place) -> Place:
    """A root with a file, a folder and a link that leads out of it."""
    place.write("there.md", "as it was")
    place.write("folder/inside.md", "as it was")
    (place.folder / "secret.md").write_text("secret")
    (place.folder / "notes" / "link").symlink_to(place.folder)
    return place


def refused(place: Place, case: Case) -> None:
    """Apply the case for real, with --json and as a dry run; see what it says, and that nothing changed."""
    path = place.folder / "change.json"
    if isinstance(case.content, str):
        path.write_text(case.content, errors="surrogateescape")
    else:
        path.write_text(json.dumps(case.content))
    before = {name: content for name, content in place.tree().items() if "journal" not in name}
    code, out, err = place.run("apply", "change.json", "--yes")
    assert (code, out) == (2, ""), err
    error, following = err.splitlines()
    assert error.startswith("Error: ")
    assert case.names in error
    assert case.reason in error
    assert following.startswith("Next: ")
    assert case.following in err
    assert case.reason in place.json("propose", "change.json", expect=2)["message"]
    assert place.run("apply", "change.json", "--dry-run").code == 2
    after = {name: content for name, content in place.tree().items() if "journal" not in name and name != ".amends"}
    assert after == before
    assert place.json("log", expect=0)["transactions"] == []


@pytest.mark.requirement("cli:input:target")
@pytest.mark.parametrize("case", TARGETS, ids=lambda case: case.name)
def test_what_is_no_target_is_refused(office: Place, case: Case) -> None:
    """A target that leads somewhere else is the oldest way to have a program write where it must not."""
    refused(office, case)


@pytest.mark.requirement("cli:input:document")
@pytest.mark.parametrize("case", FIELDS, ids=lambda case: case.name)
def test_a_write_that_makes_no_sense_is_refused(office: Place, case: Case) -> None:
    """An agent learns from the message; one that only says `invalid` makes it guess, and guessing makes writes."""
    refused(office, case)


@pytest.mark.requirement("cli:input:document")
@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case.name)
def test_a_document_that_is_none_is_refused(office: Place, case: Case) -> None:
    """It is read whole and checked whole, so that a fault in its last line does not leave its first one written."""
    refused(office, case)


@pytest.mark.requirement("cli:input:payload")
@pytest.mark.parametrize(
    ("source", "names", "reason"),
    [
        ("missing.pdf", "missing.pdf", "can't be read"),
        ("folder", "folder", "is a folder"),
        ("pipe", "pipe", "is a named pipe"),
        ("huge", "huge", "at most 1073741824 are taken"),
        ("a\0b", "a", "is not an absolute path"),
    ],
    ids=["missing", "folder", "pipe", "huge", "nul"],
)
def test_a_payload_that_can_not_be_taken_is_refused(office: Place, source: str, names: str, reason: str) -> None:
    """An upload is read before anything is promised; a named pipe must not make the command wait for ever."""
    (office.folder / "folder").mkdir()
    os.mkfifo(office.folder / "pipe")
    with (office.folder / "huge").open("wb") as file:
        file.truncate((1 << 30) + 1)
    refused(office, write("upload", {"upload": "notes:a", "from": source}, names, reason, "Next: "))


@pytest.mark.requirement("cli:input:payload")
def test_a_payload_that_changes_while_it_is_read_is_refused(office: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the old file and half of the new one is a file that nobody ever had."""
    source = office.folder / "motion.pdf"
    source.write_bytes(b"%PDF" * (1 << 20))

    def grows(bar: Bar, what: str, done: int, total: int) -> None:
        with source.open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr(Bar, "__call__", grows)
    document = office.change({"upload": "notes:a.pdf", "from": "motion.pdf"})
    code, _, err = office.run("apply", document, "--yes")
    assert code == 2
    assert f"{source} changed while it was read" in err
    assert "Next: wait until whatever writes it is done" in err
    assert office.read("a.pdf") is None


@pytest.mark.requirement("cli:input:document")
def test_a_document_comes_from_a_file_or_a_pipe(office: Place) -> None:
    """`from` starts at the document's folder, and at the current one where it comes from a pipe."""
    assert "gone.toml can't be read: no such file" in office.run("apply", "gone.toml").err
    assert "notes can't be read: is a directory" in office.run("apply", "notes").err
    assert "can't be read" in office.run("apply", "a\0b").err
    (office.folder / "here.txt").write_text("from here")
    document = b'\xef\xbb\xbf[[write]]\nupload = "notes:here.md"\nfrom = "here.txt"\n'
    assert office.json("apply", "-", "--yes", expect=0, stdin=document)["outcome"] == "applied"
    (office.folder / "sub").mkdir()
    (office.folder / "sub" / "there.txt").write_text("from there")
    (office.folder / "sub" / "change.toml").write_bytes(document.replace(b"here", b"there"))
    assert office.run("apply", "sub/change.toml", "--yes").code == 0
    assert office.read("there.md") == "from there"


@pytest.mark.requirement("cli:input:usage")
@pytest.mark.parametrize(
    ("words", "names", "following"),
    [
        (["aply"], "'aply'", "amends --help"),
        (["apply"], "'CHANGE'", "amends apply --help"),
        (["apply", "x", "--force"], "--force", "amends apply --help"),
        (["log", "--limit", "many"], "'--limit'", "amends log --help"),
        (["-C", "nowhere"], "nowhere", "name the folder"),
        (["propose", "there.json", "--as", "\udcff"], r"\udcff", "UTF-8"),
        (["show", "\udcff"], r"\udcff", "UTF-8"),
    ],
    ids=["verb", "argument", "option", "value", "folder", "proposer", "id"],
)
def test_a_slip_of_the_finger_is_answered_with_help(
    office: Place, words: list[str], names: str, following: str
) -> None:
    """The most common error of all deserves the shortest way back."""
    office.create("a.md", "", name="there.json")
    code, out, err = office.run(*words)
    assert (code, out) == (2, "")
    assert names in err
    assert f"Next: {following}" in err or following in err.splitlines()[-1]
    assert office.json(*words, expect=2)["hint"]


@pytest.mark.requirement("cli:error:which")
def test_an_error_of_one_of_several_writes_says_which(place: Place) -> None:
    """In a long document nobody finds a wrong path by its reason alone."""
    place.write("a.md", "one")
    document = place.change(*({"edit": f"notes:{key}", "set": {"text": "x"}} for key in ("a.md", "../secret")))
    code, _, err = place.run("apply", document, "--yes")
    assert (code, place.read("a.md")) == (2, "one")
    assert err.startswith("Error: write 2: ")
    assert "write 1" not in place.run("apply", place.edit("../secret", "x"), "--yes").err
