"""Change documents: both spellings mean the same, `from` starts at the document, and the first fault has its place."""

import io
import json
import sys
from pathlib import Path

import pytest

from amends.contract.operation import OperationKind
from amends.document import DOCUMENT_BYTES_MAX, WRITES_MAX, parse_change, read_change
from amends.errors import DocumentError, TargetError
from amends.ports import WriteRequest

TOML = """
title = "File motion 42"
[[write]]
edit = "notes:42/status.md"
set = { text = "filed", mode = "0600" }
[[write]]
upload = "notes:42/motion.pdf"
from = "motion.pdf"
[[write]]
move = "notes:a.md"
to = "notes:b/a.md"
"""

JSON = {
    "title": "File motion 42",
    "write": [
        {"edit": "notes:42/status.md", "set": {"text": "filed", "mode": "0600"}},
        {"upload": "notes:42/motion.pdf", "from": "motion.pdf"},
        {"move": "notes:a.md", "to": "notes:b/a.md"},
    ],
}


@pytest.mark.requirement("document:form:both")
def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    """People write TOML, programs JSON; a reviewer of the one must not wonder about the other."""
    (tmp_path / "a.toml").write_text(TOML)
    (tmp_path / "a.json").write_text(json.dumps(JSON))
    (tmp_path / "bom.json").write_text("\ufeff" + json.dumps(JSON))
    one, folder = read_change(str(tmp_path / "a.toml"))
    assert folder == tmp_path
    assert one == read_change(str(tmp_path / "a.json"))[0] == read_change(str(tmp_path / "bom.json"))[0]
    assert one == parse_change(JSON)


@pytest.mark.requirement("document:form:requests")
def test_each_write_becomes_a_request_in_order(tmp_path: Path) -> None:
    """What is planned is exactly what was written, with the local file found beside the document."""
    edit, upload, move = parse_change(JSON).requests(tmp_path)
    assert edit == WriteRequest(OperationKind.EDIT, "notes", "42/status.md", fields={"text": "filed", "mode": "0600"})
    assert (upload.kind, upload.local_file) == (OperationKind.UPLOAD, str(tmp_path / "motion.pdf"))
    assert (move.key, move.source_key, move.surface) == ("b/a.md", "a.md", "notes")
    absolute = parse_change({"write": [{"upload": "notes:a", "from": "/srv/a"}]})
    assert absolute.requests(tmp_path)[0].local_file == "/srv/a"


@pytest.mark.requirement("document:form:requests")
def test_a_document_from_a_pipe_starts_at_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe stands in no folder; the one that the command was started in is what the user sees."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TOML.encode())))
    assert read_change("-") == (parse_change(JSON), tmp_path)


@pytest.mark.requirement("document:form:requests")
def test_a_colon_may_be_in_a_key() -> None:
    """Only the first colon parts the surface from the key; the rest is the surface's business."""
    (request,) = parse_change({"write": [{"archive": "notes:12:30 call.md"}]}).requests(Path("/"))
    assert (request.surface, request.key) == ("notes", "12:30 call.md")
    for target in ("notes", ":a.md", "notes:", ""):
        with pytest.raises(TargetError, match="is no target"):
            parse_change({"write": [{"archive": target}]}).requests(Path("/"))


@pytest.mark.requirement("document:fault:place")
@pytest.mark.parametrize(
    ("write", "fault"),
    [
        ({"edit": "notes:b", "colour": 1}, "write 2: 'colour' is neither a kind of write"),
        ({"edit": 3}, "write 2 edit: "),
        ({"edit": "notes:b", "archive": "notes:b"}, "write 2: a write has exactly one of"),
        ({"upload": "notes:b"}, "write 2: `from` goes with upload"),
        ({"rename": "notes:b"}, "write 2: `to` goes with move and rename"),
        ("edit", "write 2: "),
    ],
    ids=["field", "type", "kinds", "from", "to", "table"],
)
def test_the_first_fault_is_told_with_its_place(write: object, fault: str) -> None:
    """In a document of many writes, which one is wrong is half of the answer."""
    with pytest.raises(DocumentError) as raised:
        parse_change({"write": [{"edit": "notes:a"}, write]}, name="motion.toml")
    assert str(raised.value).startswith(f"motion.toml: {fault}")
    assert raised.value.hint == "see what a change may hold: amends schema"


@pytest.mark.requirement("document:fault:place")
def test_a_misspelt_part_is_named_before_what_it_causes() -> None:
    """`writes` for `write` is two faults to a checker and one to a person: the misspelt word."""
    with pytest.raises(DocumentError, match="'writes' is no part of a change"):
        parse_change({"writes": [{"edit": "notes:a"}]})


@pytest.mark.requirement("document:limit:bounded")
def test_documents_have_a_limit_that_is_told(tmp_path: Path) -> None:
    """What is read into memory whole must end somewhere, and say where before it is parsed."""
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(DOCUMENT_BYTES_MAX + 1)
    with pytest.raises(DocumentError, match=f"more than {DOCUMENT_BYTES_MAX} bytes") as raised:
        read_change(str(path))
    assert "upload it" in str(raised.value.hint)
    most = [{"edit": f"notes:{number}"} for number in range(WRITES_MAX + 1)]
    assert len(parse_change({"write": most[:-1]}).write) == WRITES_MAX
    with pytest.raises(DocumentError, match=f"{WRITES_MAX + 1} writes; a change has at most {WRITES_MAX}"):
        parse_change({"write": most})
