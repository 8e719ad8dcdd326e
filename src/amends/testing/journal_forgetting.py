"""What every journal promises of forgetting: what is over may go, what is needed stays, and the rest still verifies.

Part of `amends.testing.journal_conformance`, whose list of promises names these.
"""

from __future__ import annotations

import io

from amends.contract.lifecycle import Happened
from amends.errors import ConflictError, JournalError, LostRaceError
from amends.ports import Event, Journal

from .journal_bench import AT_MS, JournalBench, operation, refused


def what_is_over_can_be_forgotten(bench: JournalBench) -> None:
    """Nothing of it is left, the rest is as it was, and everything that is left verifies, however often it is done."""
    journal, other = bench.open(), bench.open()
    for number in range(6):
        (journal, other)[number % 2].commit(operation(f"op_{number}", upto=Happened.DELIVERED))
    journal.commit([Event("tx_9", Happened.OPENED, AT_MS)])
    assert journal.listing("op_", after="", limit=9) == [f"op_{number}" for number in range(6)]
    assert journal.listing("op_", after="op_1", limit=2) == ["op_2", "op_3"]
    kept = journal.events("op_3")
    story = len(kept)
    assert journal.forget(["op_2", "op_4"]) == 2 * story
    assert other.forget(["op_1"]) == story
    assert bench.open().forget(["op_0"]) == story
    assert [journal.events(name) for name in ("op_0", "op_1", "op_2", "op_4")] == [[]] * 4
    assert (journal.events("op_3"), journal.listing("op_", after="", limit=9)) == (kept, ["op_3", "op_5"])
    assert journal.verify().faults == ()
    other.commit(operation("op_7", upto=Happened.DELIVERED))
    journal.commit(operation("op_8", upto=Happened.DELIVERED))
    late = bench.open()
    late.commit(operation("op_6", upto=Happened.DELIVERED))
    assert (late.verify().faults, late.verify().processes) == ((), 3)


def what_is_needed_is_not_forgotten(bench: JournalBench) -> None:
    """What is open, what was spent, what is about to be undone, and the end of the journal; with them goes nothing."""
    journal = bench.open()
    done, spending = operation("op_1", upto=Happened.DELIVERED), {"fingerprints": ["f"], "aims": []}
    journal.commit([*done, *operation("op_2", upto=Happened.APPLIED)])
    journal.commit([Event("tx_1", Happened.OPENED, AT_MS)])
    journal.commit([Event("tx_1", Happened.RECOVERING, AT_MS, {"operation": "op_9", "spends": spending}, epoch=1)])
    journal.commit([Event("tx_1", Happened.COMPLETED, AT_MS, epoch=1)])
    journal.commit(operation("op_3", upto=Happened.DELIVERED))
    undoing = {"fingerprint": "u", "transaction": "tx_2", "reverses": "op_3"}
    journal.commit([Event("op_4", Happened.PROPOSED, AT_MS, undoing)])
    for needed in ("op_2", "tx_1", "op_3", "op_4"):
        before = [journal.events(name) for name in ("op_1", needed)]
        assert _refuses_to_forget(journal, "op_1", needed), needed
        assert [journal.events(name) for name in ("op_1", needed)] == before
    journal.commit([Event("op_4", Happened.EXPIRED, AT_MS)])
    assert _refuses_to_forget(journal, "op_4"), "the last event was forgotten"
    journal.commit([Event("tx_3", Happened.OPENED, AT_MS)])
    assert journal.forget(["op_1", "op_3", "op_4"]) == 2 * len(done) + 2
    gone = {"fingerprint": "v", "transaction": "tx_2", "reverses": "op_3"}
    refused(LostRaceError, journal, Event("op_5", Happened.PROPOSED, AT_MS, gone))
    assert journal.verify().faults == ()


def bytes_that_nothing_names_are_swept(bench: JournalBench) -> None:
    """What an event names stays, and so does what was kept since."""
    journal = bench.open()
    named, _ = journal.put_blob(io.BytesIO(b"named"), bytes_max=9)
    about = {"fingerprint": "f", "transaction": "tx_1", "reverses": None, "payload": {"blob": named}}
    journal.commit([Event("op_1", Happened.PROPOSED, AT_MS, about)])
    loose, _ = journal.put_blob(io.BytesIO(b"loose"), bytes_max=9)
    assert journal.sweep_blobs(before_ms=2**42) == 1
    with journal.open_blob(named) as kept:
        assert kept.read() == b"named"
    try:
        journal.open_blob(loose)
    except JournalError:
        return
    raise AssertionError("bytes that nothing names are still there")


def _refuses_to_forget(journal: Journal, *subjects: str) -> bool:
    try:
        journal.forget(subjects)
    except ConflictError:
        return True
    return False
