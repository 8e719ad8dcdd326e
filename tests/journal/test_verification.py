"""Damage on purpose: what reading and verifying make of it."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from amends.contract.lifecycle import Happened
from amends.contract.operation import Claim, canonical_json
from amends.errors import AmendsError, ClaimHeldError, JournalError
from amends.journal import SqliteJournal, chain
from amends.ports import Event
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import NOTE, operation
from tests.journal.conftest import OpenJournal


def tamper(folder: Path, *statements: str) -> None:
    """What somebody with the file and a SQLite shell can do."""
    database = apsw.Connection(str(folder / "journal.sqlite"))
    for statement in (
        "DROP TRIGGER IF EXISTS events_are_never_changed; DROP TRIGGER IF EXISTS events_are_never_removed;"
        "PRAGMA ignore_check_constraints=ON",
        *statements,
    ):
        list(database.execute(statement))
    database.close()


def filled(open_journal: OpenJournal) -> SqliteJournal:
    """Two processes, one finished write of each, one that is executing, and an open transaction."""
    first, second = open_journal(), open_journal()
    first.commit(
        [Event("tx_1", Happened.OPENED, 0, {"places": ["notes:a.md"]}), *operation("op_1", upto=Happened.DELIVERED)]
    )
    second.commit(operation("op_2", upto=Happened.INTENDED))
    first.commit(operation("op_3", upto=Happened.CONFIRMED))
    second.close()
    return first


@pytest.mark.requirement("journal:read:history")
def test_the_hash_is_taken_over_the_canonical_json() -> None:
    """Whoever checks a journal with other tools must get the same hashes from the words of the docs."""
    event = Event('op_\u2028"\\', Happened.INTENDED, 5, {"b": 1, "a": "ä"}, epoch=1, claims=(NOTE,))
    item = chain.written(event)
    text = canonical_json(
        ["pr_1", 7, event.subject, "intended", 1, 5, {"b": 1, "a": "ä"}, [["notes:a.md", False]], False]
    )
    assert chain.link(b"p" * 32, "pr_1", 7, item) == hashlib.sha256(b"p" * 32 + text.encode()).digest()


@pytest.mark.requirement("journal:verify:sound")
def test_a_sound_journal_has_no_faults(open_journal: OpenJournal) -> None:
    """If a sound one raised alarms, nobody would look at a damaged one's."""
    journal = filled(open_journal)
    found = journal.verify()
    assert (found.events, found.processes, found.blobs, found.faults) == (11, 2, 0, ())
    assert open_journal().verify() == found


DAMAGES = [
    (
        "UPDATE events SET data = replace(data, 'k', 'x') WHERE seq = 4",
        "event 4 of op_1 is not what was written",
        "op_1",
    ),
    ("UPDATE events SET at_ms = 8 WHERE seq = 4", "event 4 of op_1 is not what was written", "op_1"),
    ("UPDATE events SET happened = 'failed' WHERE seq = 5", "event 5 of op_1 is not what was written", "op_1"),
    ("UPDATE events SET happened = 'settled' WHERE seq = 5", "event 5 of op_1 can't be read", "op_1"),
    ("UPDATE events SET data = '{' WHERE seq = 5", "event 5 of op_1 can't be read", "op_1"),
    ("UPDATE events SET releases = 0 WHERE seq = 5", "event 5 of op_1 is not what was written", "op_1"),
    ("UPDATE events SET claims = '[]' WHERE seq = 9", "event 9 of op_2 is not what was written", "op_2"),
    ("UPDATE events SET subject = 'op_9' WHERE seq = 3", "event 3 of op_9 is not what was written", "op_9"),
    ("UPDATE events SET process = 9 WHERE seq = 3", "event 3 belongs to no process", "op_1"),
    ("DELETE FROM events WHERE seq = 5", "event 5 is missing: the next one is 6", "op_1"),
    ("DELETE FROM events WHERE seq = 6", "process pr_000001 has event 5 and then 7", "op_1"),
    ("DELETE FROM events WHERE subject = 'op_2'", "process pr_000003 has no event", None),
    ("UPDATE processes SET process_id = 'pr_9' WHERE process = 2", "is not what was written", "op_2"),
    ("UPDATE processes SET genesis = zeroblob(32) WHERE process = 2", "does not begin where the journal was", None),
    ("UPDATE open_subjects SET epoch = 2 WHERE subject = 'op_2'", "as open of op_2 is not what", "op_2"),
    ("UPDATE open_subjects SET state = 'settled' WHERE subject = 'op_2'", "could not be read to its end", "op_2"),
    ("UPDATE open_subjects SET fingerprint = 'x' WHERE subject = 'op_2'", "as open of op_2 is not what", None),
    ("DELETE FROM open_subjects WHERE subject = 'op_2'", "as open of op_2 is not what", "op_2"),
    (
        "INSERT INTO open_subjects SELECT 'op_1', 1, 'executing', 1, 0, '[]', NULL, NULL, NULL, '[]'",
        "open of op_1",
        "op_1",
    ),
    ("DELETE FROM claims", "the claim of op_2 on notes:a.md is not what", None),
    ("INSERT INTO claims VALUES ('notes:b', 0, 'op_3')", "the claim of op_3 on notes:b is not what", None),
    ("DELETE FROM open_places", "what tx_1 is about is not what its events come to: notes:a.md", None),
    ("UPDATE open_subjects SET places = '[]' WHERE subject = 'tx_1'", "as open of tx_1 is not what", None),
]


@pytest.mark.requirement("journal:verify:damage", "journal:read:damage")
@pytest.mark.parametrize(("statement", "fault", "subject"), DAMAGES, ids=[damage[0] for damage in DAMAGES])
def test_damage_is_named_and_never_read(statement, fault, subject, folder: Path, open_journal: OpenJournal) -> None:
    """A flipped outcome must not be told, wherever it was flipped; and a person needs to know where to look."""
    filled(open_journal).close()
    tamper(folder, statement)
    journal = open_journal()
    faults = journal.verify().faults
    assert any(fault in text for text in faults), faults
    if subject is not None:
        with pytest.raises(JournalError) as raised:
            journal.events(subject)
        assert str(folder / "journal.sqlite") in str(raised.value)
        assert raised.value.hint == "amends verify"


@pytest.mark.requirement("journal:verify:damage")
def test_a_record_forged_with_its_hash_breaks_the_chain(folder: Path, open_journal: OpenJournal) -> None:
    """Whoever rewrites a record and its hash would have to rewrite all that this process wrote after it."""
    filled(open_journal).close()
    database = apsw.Connection(str(folder / "journal.sqlite"))
    ((prev,),) = list(database.execute("SELECT prev FROM events WHERE seq = 5"))
    database.close()
    forged = chain.written(Event("op_1", Happened.APPLIED, 9, {"evidence": "attested"}, epoch=1, releases=True))
    hashed = chain.link(prev, "pr_000001", 5, forged)
    tamper(folder, f"UPDATE events SET data = '{forged.data}', at_ms = 9, hash = x'{hashed.hex()}' WHERE seq = 5")
    faults = open_journal().verify().faults
    assert faults == ("event 6 is not linked to the one before it of process pr_000001",)


@pytest.mark.requirement("journal:read:damage")
def test_a_damaged_history_takes_no_further_event(folder: Path, open_journal: OpenJournal) -> None:
    """What is recorded next would be judged by what is damaged."""
    filled(open_journal).close()
    tamper(folder, "UPDATE events SET data = '[]' WHERE seq = 3")
    with pytest.raises(JournalError, match="is damaged: event 3 of op_1"):
        open_journal().commit([Event("op_1", Happened.UNDONE, 0, epoch=1)])


@pytest.mark.requirement("journal:verify:tail")
def test_a_cut_tail_is_found_by_those_who_know_it(folder: Path, open_journal: OpenJournal) -> None:
    """Whoever is still there knows its own last event; whoever came later holds the hash of the one before."""
    journal = filled(open_journal)
    tamper(folder, "DELETE FROM events WHERE seq > 9", "DELETE FROM open_subjects WHERE subject = 'op_3'")
    assert journal.verify().faults == ("process pr_000001 wrote 8 events; the last of them is not there",)
    journal.commit([Event("tx_2", Happened.OPENED, 0)])
    assert "process pr_000001 has event 6 and then 9" in journal.verify().faults
    journal.close()
    later = open_journal()
    later.commit([Event("tx_3", Happened.OPENED, 0)])
    assert later.verify().faults != ()


@pytest.mark.requirement("journal:verify:tail")
def test_what_a_later_process_built_on_can_not_be_cut(folder: Path, open_journal: OpenJournal) -> None:
    """The first event of each process holds the hash of the journal's last one, so no end before it can go."""
    first = open_journal()
    first.commit([Event("tx_1", Happened.OPENED, 0)])
    first.commit([Event("tx_2", Happened.OPENED, 0)])
    first.close()
    second = open_journal()
    second.commit([Event("tx_3", Happened.OPENED, 0)])
    second.close()
    tamper(
        folder,
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM open_subjects WHERE subject = 'tx_2'",
        "UPDATE events SET seq = 2 WHERE seq = 3",
        "UPDATE open_subjects SET since = 2 WHERE subject = 'tx_3'",
    )
    assert open_journal().verify().faults == ("the chain of process pr_000003 does not begin where the journal was",)


@pytest.mark.requirement("journal:read:damage")
def test_no_flipped_byte_makes_another_outcome(folder: Path, tmp_path: Path, open_journal: OpenJournal) -> None:
    """Wherever the disk flips a byte, a history is read as it was, refused, or gone; never as another one."""
    journal = open_journal()
    names = [f"op_{number}" for number in range(6)]
    for number, name in enumerate(names):
        upto = (Happened.DELIVERED, Happened.APPLIED, Happened.INTENDED)[number % 3]
        journal.commit(operation(name, upto=upto, claims=[Claim(f"notes:{number}")]))
    histories = {name: journal.events(name) for name in names}
    journal.close()
    whole = (folder / "journal.sqlite").read_bytes()
    place = tmp_path / "flipped"
    place.mkdir()
    told = 0
    for position in range(0, len(whole), 211):
        (place / "journal.sqlite").write_bytes(
            whole[:position] + bytes([whole[position] ^ 0x15]) + whole[position + 1 :]
        )
        try:
            flipped = SqliteJournal(place, clock=FakeClock(), ids=FakeIds(first=1_000))
        except JournalError:
            told += 1
            continue
        for name in names:
            try:
                found = flipped.events(name)
            except JournalError:
                told += 1
            else:
                assert found in (histories[name], []), (position, name)
        told += len(flipped.verify().faults)
        flipped.close()
    assert told > 40, "hardly any flip was noticed"


@pytest.mark.requirement("journal:schema:append")
@pytest.mark.parametrize("statement", ["UPDATE events SET at_ms = 1", "DELETE FROM events WHERE seq = 1"])
def test_no_mere_statement_changes_an_event(statement: str, folder: Path, open_journal: OpenJournal) -> None:
    """A slip in a SQLite shell, or in our own code, is stopped by the file itself."""
    filled(open_journal)
    database = apsw.Connection(str(folder / "journal.sqlite"))
    with pytest.raises(apsw.ConstraintError, match="events are never"):
        database.execute(statement)
    database.close()


@pytest.mark.requirement("journal:claims:stored")
def test_two_holders_of_a_name_can_not_be_stored(open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second net under the rule: were the comparison of claims ever wrong, the database would still refuse."""
    journal = open_journal()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    monkeypatch.setattr(SqliteJournal, "claimed", lambda *_: ())
    with pytest.raises(ClaimHeldError, match="operation op_1 still holds notes:a") as raised:
        journal.commit(operation("op_2", upto=Happened.INTENDED))
    assert raised.value.holder == "op_1"
    assert journal.events("op_2") == []
    assert journal.verify().faults == ()


Use = Callable[[SqliteJournal], object]


@pytest.mark.requirement("journal:file:damaged")
@pytest.mark.parametrize(
    "use", [lambda j: j.open(), lambda j: j.commit(operation("op_9")), lambda j: j.matching("op", limit=3)]
)
def test_damage_met_on_the_way_is_said_with_its_place(use: Use, folder: Path, open_journal: OpenJournal) -> None:
    """SQLite finds a torn page only when it needs it, which may be long after the opening."""
    journal = open_journal()
    for number in range(30):
        journal.commit(operation(f"op_{number:02d}", claims=()))
    journal.close()
    path = folder / "journal.sqlite"
    whole = path.read_bytes()
    head = 4096 * 2
    path.write_bytes(whole[:head] + b"\xff" * (len(whole) - head))
    try:
        use(open_journal())
    except AmendsError as error:
        said, hint = str(error), error.hint or ""
    else:
        raise AssertionError("damage was not noticed")
    assert str(path) in said
    assert "amends verify" in hint


FORGOTTEN = [
    ("UPDATE forgotten SET hash = zeroblob(32)", "is not linked to the one before it"),
    ("UPDATE forgotten SET prev = zeroblob(32)", "has event 1 and then"),
    ("UPDATE forgotten SET last_n = last_n + 1", "and then"),
    ("DELETE FROM forgotten", "is missing"),
    ("INSERT INTO forgotten VALUES (2, 9, 9, zeroblob(32), zeroblob(32))", "where its chain does not lead"),
    ("DELETE FROM events WHERE subject = 'op_3'", "and then 9"),
    ("DELETE FROM events WHERE process = 2 AND n = 3", "events are kept or were forgotten"),
]


@pytest.mark.requirement("journal:verify:forgotten")
@pytest.mark.parametrize(("statement", "fault"), FORGOTTEN, ids=[damage[0] for damage in FORGOTTEN])
def test_a_gap_is_only_where_something_was_forgotten(
    statement: str, fault: str, folder: Path, open_journal: OpenJournal
) -> None:
    """Forgetting must not become the way to hide what was removed: each gap is bound to both of its ends."""
    journal = filled(open_journal)
    journal.commit([Event("tx_2", Happened.OPENED, 0)])
    assert journal.forget(["op_1"]) == len(operation("op_1", upto=Happened.DELIVERED))
    assert journal.verify().faults == ()
    journal.close()
    tamper(folder, statement)
    faults = open_journal().verify().faults
    assert any(fault in found for found in faults), faults
