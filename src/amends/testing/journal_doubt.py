"""What every journal promises of intents whose commit failed, and may or may not have taken effect.

Such an intent is never judged by a read, since the disk may bring it back later: it is recorded as abandoned before
anything else is, unless somebody else took the write or its claims meanwhile (invariants 4 and 5).
"""

from __future__ import annotations

from typing import Literal

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import LostRaceError
from amends.ports import Event

from .journal_bench import AT_MS, JournalBench, fails, operation, state_of


def _an_intent_in_doubt_is_abandoned(bench: JournalBench, when: Literal["before", "after"]) -> None:
    journal, other = bench.open(), bench.open()
    journal.commit(operation("op_1", upto=Happened.APPLIED))
    bench.break_next_commit(journal, when)
    doubtful = [Event("tx_1", Happened.OPENED, AT_MS), *operation("op_2", upto=Happened.INTENDED)]
    fails(journal, doubtful)
    journal.commit(operation("op_3", upto=Happened.INTENDED))
    for reader in (journal, other):
        assert reader.events("op_2")[:-1] == doubtful[1:]
        abandoned = reader.events("op_2")[-1]
        assert (abandoned.happened, abandoned.at_ms) == (Happened.ABANDONED, bench.clock.now_ms())
        assert {row.subject for row in reader.open() if row.claims} == {"op_3"}
        assert state_of(reader, "tx_1") is State.OPEN
        assert reader.verify().faults == ()


def an_intent_that_did_not_take_effect_is_abandoned(bench: JournalBench) -> None:
    """It may come back from the disk, so its end is recorded before anything else; its claims are free."""
    _an_intent_in_doubt_is_abandoned(bench, "before")


def an_intent_that_took_effect_unseen_is_abandoned(bench: JournalBench) -> None:
    """Nothing was sent for it, since its commit failed; its claims are free."""
    _an_intent_in_doubt_is_abandoned(bench, "after")


def doubt_outlives_further_failures(bench: JournalBench) -> None:
    """Each failing commit adds to what is in doubt; the first that succeeds ends all of it."""
    journal = bench.open()
    for number, when in enumerate(("after", "before", "after", "before"), start=1):
        bench.break_next_commit(journal, when)  # type: ignore[arg-type]
        fails(journal, operation(f"op_{number}", upto=Happened.INTENDED, claims=[Claim(f"notes:{number}")]))
    journal.commit([Event("tx_9", Happened.OPENED, AT_MS)])
    assert [row.subject for row in journal.open()] == ["tx_9"]
    for number in range(1, 5):
        assert journal.events(f"op_{number}")[-1].happened is Happened.ABANDONED
    assert journal.verify().faults == ()


def doubt_ends_even_if_the_next_batch_is_refused(bench: JournalBench) -> None:
    """The next batch may be a repeat of the doubtful one: refused, but the claims must not stay held."""
    journal = bench.open()
    bench.break_next_commit(journal, "after")
    fails(journal, operation("op_1", upto=Happened.INTENDED))
    try:
        journal.commit(operation("op_1", upto=Happened.INTENDED)[-1:])
    except LostRaceError:
        pass
    else:
        raise AssertionError("an abandoned write was intended again")
    assert bench.open().open() == []
    assert [event.happened for event in journal.events("op_1")][-2:] == [Happened.INTENDED, Happened.ABANDONED]


def doubt_yields_to_who_took_the_write_meanwhile(bench: JournalBench) -> None:
    """If ours never landed and another process intended the write or took its claims, only that counts."""
    journal, other = bench.open(), bench.open()
    journal.commit(operation("op_1"))
    bench.break_next_commit(journal, "before")
    fails(journal, operation("op_1", upto=Happened.INTENDED)[-1:])
    bench.break_next_commit(journal, "before")
    fails(journal, operation("op_2", upto=Happened.INTENDED, claims=[Claim("notes:b")]))
    taken = [
        *operation("op_1", upto=Happened.INTENDED)[-1:],
        *operation("op_3", upto=Happened.INTENDED, claims=[Claim("notes:b")]),
    ]
    other.commit(taken)
    journal.commit([Event("tx_9", Happened.OPENED, AT_MS)])
    assert state_of(journal, "op_1") is State.EXECUTING
    assert state_of(journal, "op_3") is State.EXECUTING
    assert journal.events("op_2") == []
    assert journal.verify().faults == ()


def an_outcome_in_doubt_is_recorded_once(bench: JournalBench) -> None:
    """Whoever repeats the commit of an outcome wins or is told that it is there; it is never there twice."""
    for number, when in enumerate(("before", "after")):
        journal = bench.open()
        *story, outcome = operation(f"op_{number}", upto=Happened.APPLIED)
        journal.commit(story)
        bench.break_next_commit(journal, when)  # type: ignore[arg-type]
        fails(journal, [outcome])
        try:
            journal.commit([outcome])
        except LostRaceError:
            assert when == "after"
        assert journal.events(f"op_{number}") == [*story, outcome]
        assert journal.verify().faults == ()


def closing_abandons_what_is_in_doubt(bench: JournalBench) -> None:
    """A command that ends right after the failure leaves the target to the next one."""
    journal = bench.open()
    bench.break_next_commit(journal, "after")
    fails(journal, operation("op_1", upto=Happened.INTENDED))
    journal.close()
    successor = bench.open()
    assert successor.open() == []
    assert successor.events("op_1")[-1].happened is Happened.ABANDONED
