"""The schema says what the lifecycle says, and every statement is one that the code asks for."""

import re
from pathlib import Path

import apsw
import pytest

from amends.contract.lifecycle import Happened, State
from amends.journal import database
from tests.spec.suite import ROOT

JOURNAL = ROOT / "src" / "amends" / "journal"
SCRIPTS = "\n".join(script for _, script in database.migrations())


def words_of(constraint: str) -> list[str]:
    """The words that a CHECK constraint lists."""
    match = re.search(rf"CONSTRAINT {constraint} CHECK \(\w+ IN \(([^)]*)\)\)", SCRIPTS)
    assert match is not None
    return re.findall(r"'(\w+)'", match[1])


@pytest.mark.requirement("journal:schema:lifecycle")
def test_the_schema_matches_the_lifecycle_table() -> None:
    """A word that only one of the two knows is a write that can't be recorded, or a state that nobody handles."""
    assert words_of("happened_is_a_known_word") == [happened.value for happened in Happened]
    assert words_of("state_is_a_known_word") == [state.value for state in State]


@pytest.mark.requirement("journal:schema:lifecycle")
def test_the_database_itself_refuses_other_words(tmp_path: Path) -> None:
    """The lists are read from the text above; here the database is asked."""
    connection, _ = database.open_database(tmp_path / "journal.sqlite", new_journal_id=lambda: "jn_1")
    hashed = b"h" * 32
    values = (1, 1, "op_1", "settled", 0, 0, "{}", "[]", 0, hashed, hashed)
    with pytest.raises(apsw.ConstraintError, match="happened_is_a_known_word"):
        connection.execute(database.queries()["insert_event"], values)
    connection.close()


@pytest.mark.requirement("journal:schema:lifecycle")
def test_migrations_are_numbered_without_a_gap() -> None:
    """The file's number says which of them it has had."""
    assert [number for number, _ in database.migrations()] == list(range(1, len(database.migrations()) + 1))


@pytest.mark.requirement("journal:schema:lifecycle")
def test_every_named_statement_is_asked_for(tmp_path: Path) -> None:
    """SQL that nobody runs is SQL that nobody checks; and each has to be valid."""
    code = "\n".join(path.read_text() for path in JOURNAL.glob("*.py"))
    assert [name for name in database.queries() if f'"{name}"' not in code] == []
    connection, _ = database.open_database(tmp_path / "journal.sqlite", new_journal_id=lambda: "jn_1")
    for statement in database.queries().values():
        numbered = {*re.findall(r"\?\d", statement)}
        places = len(numbered) or statement.replace("'?'", "").count("?")
        assert list(connection.execute(f"EXPLAIN {statement}", (None,) * places)) != []
    connection.close()
