"""What every journal promises, as functions that a test calls with a bench.

    @pytest.mark.parametrize("promise", [p for group in PROMISES.values() for p in group])
    def test_my_journal_keeps_its_promises(promise): promise(JournalBench(open=..., ...))

Each function is one promise and gets a fresh bench. Plain asserts, no test library.
"""

from __future__ import annotations

import io
from threading import Barrier, Thread

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import ClaimHeldError, ConflictError, JournalError, LostRaceError, PayloadError
from amends.ports import Event, Journal, OpenSubject

from .journal_bench import AT_MS, NOTE, JournalBench, Promise, operation, refused, state_of
from .journal_doubt import (
    an_intent_that_did_not_take_effect_is_abandoned,
    an_intent_that_took_effect_unseen_is_abandoned,
    an_outcome_in_doubt_is_recorded_once,
    closing_abandons_what_is_in_doubt,
    doubt_ends_even_if_the_next_batch_is_refused,
    doubt_outlives_further_failures,
    doubt_yields_to_who_took_the_write_meanwhile,
)
from .journal_forgetting import (
    bytes_that_nothing_names_are_swept,
    what_is_needed_is_not_forgotten,
    what_is_over_can_be_forgotten,
)

# --- whole batches -------------------------------------------------------------------------------------------------


def what_was_committed_is_read_back(bench: JournalBench) -> None:
    """Events come back in order and in full, to every process, whatever JSON they carry."""
    journal = bench.open()
    data = {"text": "ä\u2028\x00", "list": [1, 2.5, None, True], "deep": {"b": 1, "a": {}}, "big": 2**60}
    claims = (Claim("notes:x", subtree=True), NOTE)
    events = [Event("op_1", Happened.PROPOSED, AT_MS, data), *operation("op_1", claims=claims)[1:]]
    journal.commit(events)
    assert journal.events("op_1") == events
    assert bench.open().events("op_1") == events
    assert journal.events("op_2") == []


def what_was_read_is_a_copy(bench: JournalBench) -> None:
    """Nobody who changes what they read or wrote can change what is recorded."""
    journal = bench.open()
    given = {"list": [1]}
    journal.commit([Event("op_1", Happened.PROPOSED, AT_MS, given)])
    given["list"].append(2)
    journal.events("op_1")[0].data["list"].append(3)
    assert journal.events("op_1")[0].data == {"list": [1]}


def a_batch_with_one_bad_event_leaves_nothing(bench: JournalBench) -> None:
    """The good events before the bad one are not recorded either, and the next batch is not disturbed."""
    journal = bench.open()
    refused(LostRaceError, journal, *operation("op_1"), Event("op_2", Happened.CONFIRMED, AT_MS))
    journal.commit(operation("op_1"))
    assert state_of(journal, "op_1") is State.CONFIRMED
    assert journal.verify().faults == ()


def what_json_can_not_say_is_refused(bench: JournalBench) -> None:
    """NaN and half a surrogate pair have no canonical form, so no digest could be trusted."""
    journal = bench.open()
    refused(ValueError, journal, Event("op_1", Happened.PROPOSED, AT_MS, {"x": float("nan")}))
    refused(ValueError, journal, Event("op_1", Happened.PROPOSED, AT_MS, {"x": "\ud800"}))


def what_no_row_can_hold_is_refused(bench: JournalBench) -> None:
    """A record without a limit could fill the disk; a fingerprint that is no text could never be found again."""
    journal = bench.open()
    refused(PayloadError, journal, Event("op_1", Happened.PROPOSED, AT_MS, {"x": "x" * 17 * 1024 * 1024}))
    refused(ValueError, journal, Event("op_1", Happened.PROPOSED, AT_MS, {"fingerprint": 5}))
    refused(ValueError, journal, Event("op_\ud800", Happened.PROPOSED, AT_MS))


def an_empty_batch_is_nothing(bench: JournalBench) -> None:
    """A caller with nothing to say leaves no trace."""
    journal = bench.open()
    journal.commit([])
    assert journal.verify().processes == 0


def what_the_lifecycle_forbids_is_refused(bench: JournalBench) -> None:
    """No history holds a step that the one table doesn't have: nothing twice, nothing backwards."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.APPLIED))
    for happened in (Happened.PROPOSED, Happened.CONFIRMED, Happened.FAILED, Happened.APPLIED, Happened.ABANDONED):
        refused(LostRaceError, journal, Event("op_1", happened, AT_MS, epoch=1))
    refused(LostRaceError, journal, Event("op_2", Happened.APPLIED, AT_MS))


# --- epochs and races ----------------------------------------------------------------------------------------------


def only_the_current_epoch_may_write(bench: JournalBench) -> None:
    """A process that was paused while another took over can't record its outcome any more."""
    sender, successor = bench.open(), bench.open()
    sender.commit(operation("op_1", upto=Happened.INTENDED))
    refused(LostRaceError, successor, Event("op_1", Happened.TAKEN_OVER, AT_MS, epoch=1))
    refused(LostRaceError, successor, Event("op_1", Happened.TAKEN_OVER, AT_MS, epoch=3))
    successor.commit([Event("op_1", Happened.TAKEN_OVER, AT_MS, epoch=2)])
    refused(LostRaceError, sender, Event("op_1", Happened.APPLIED, AT_MS, epoch=1, releases=True))
    refused(LostRaceError, sender, Event("op_1", Happened.TAKEN_OVER, AT_MS, epoch=2))
    assert [(row.state, row.epoch) for row in sender.open()] == [(State.AMBIGUOUS, 2)]


def an_intent_begins_the_first_epoch(bench: JournalBench) -> None:
    """The epoch counts from the intent; before it there is nothing to take over."""
    journal = bench.open()
    journal.commit(operation("op_1"))
    for epoch in (0, 2):
        refused(LostRaceError, journal, Event("op_1", Happened.INTENDED, AT_MS, epoch=epoch))
    refused(LostRaceError, journal, Event("op_2", Happened.PROPOSED, AT_MS, epoch=1))


def one_of_many_wins_the_race_for_a_subject(bench: JournalBench) -> None:
    """However many processes intend one confirmed write at once, one does: it is sent at most once."""
    journals = [bench.open() for _ in range(4)]
    journals[0].commit(operation("op_1"))
    barrier, outcomes = Barrier(len(journals)), []

    def run(journal: Journal) -> None:
        barrier.wait()
        try:
            journal.commit(operation("op_1", upto=Happened.INTENDED)[-1:])
            outcomes.append("won")
        except ConflictError:
            outcomes.append("lost")

    threads = [Thread(target=run, args=(journal,)) for journal in journals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost", "lost", "lost", "won"]
    assert [event.happened for event in journals[1].events("op_1")].count(Happened.INTENDED) == 1
    assert journals[2].verify().faults == ()


# --- claims --------------------------------------------------------------------------------------------------------


def claims_that_overlap_are_refused(bench: JournalBench) -> None:
    """While an attempt may land, nobody else gets at its target: not by its name, from above or from below."""
    journal, other = bench.open(), bench.open()
    held = (Claim("notes:a/b"), Claim("notes:dir", subtree=True))
    journal.commit(operation("op_1", upto=Happened.INTENDED, claims=held))
    other.commit(operation("op_2"))
    for wanted, name in (
        (Claim("notes:a/b"), "notes:a/b"),
        (Claim("notes:a", subtree=True), "notes:a/b"),
        (Claim("notes:dir/x/y"), "notes:dir"),
        (Claim("notes:dir"), "notes:dir"),
    ):
        intended = Event("op_2", Happened.INTENDED, AT_MS, epoch=1, claims=(Claim("notes:free"), wanted))
        refusal = refused(ClaimHeldError, other, intended)
        assert isinstance(refusal, ClaimHeldError)
        assert refusal.holder == "op_1"
        assert name in str(refusal)


def claims_that_only_look_alike_are_not_refused(bench: JournalBench) -> None:
    """Two targets are two targets, however alike their names are."""
    journal = bench.open()
    held = (Claim("notes:a/b"), Claim("notes:dir", subtree=True))
    journal.commit(operation("op_1", upto=Happened.INTENDED, claims=held))
    free = [Claim("notes:a"), Claim("notes:a/b/c"), Claim("notes:dir2"), Claim("notes:dir.md"), Claim("Notes:a/b")]
    journal.commit(operation("op_2", upto=Happened.INTENDED, claims=[*free, Claim("notes:a/bc", subtree=True)]))
    assert [len(row.claims) for row in journal.open()] == [2, 6]


def claims_of_one_batch_are_compared_too(bench: JournalBench) -> None:
    """Two writes of one batch are two writes."""
    journal = bench.open()
    first, second = (operation(name, upto=Happened.INTENDED) for name in ("op_1", "op_2"))
    refused(ClaimHeldError, journal, *first, *second)
    journal.commit([*first, operation("op_1", upto=Happened.APPLIED)[-1], *second])
    assert [(row.subject, row.claims) for row in journal.open() if row.claims] == [("op_2", (NOTE,))]


def claims_can_change_hands_in_one_batch(bench: JournalBench) -> None:
    """What a batch frees is free for its next event, be it of another subject or of the same one."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    journal.commit([operation("op_1", upto=Happened.APPLIED)[-1], *operation("op_2", upto=Happened.INTENDED)])
    wider = (Claim("notes:a.md", subtree=True), Claim("notes:a.md"))
    journal.commit([Event("op_2", Happened.APPLIED, AT_MS, epoch=1, claims=wider, releases=True)])
    assert [row.claims for row in journal.open()] == [(), wider[:1]]
    assert journal.verify().faults == ()


def a_subject_takes_claims_once(bench: JournalBench) -> None:
    """A second set would silently replace the first, which the attempt still needs."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    more = Event("op_1", Happened.ANSWER_LOST, AT_MS, epoch=1, claims=(Claim("notes:b"),))
    refused(ClaimHeldError, journal, more)


def released_claims_are_free(bench: JournalBench) -> None:
    """An outcome alone frees nothing; the event that releases does, for every process."""
    journal, other = bench.open(), bench.open()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    journal.commit([Event("op_1", Happened.APPLIED, AT_MS, epoch=1)])
    other.commit(operation("op_2"))
    intended = operation("op_2", upto=Happened.INTENDED)[-1]
    refused(ClaimHeldError, other, intended)
    journal.commit([Event("op_1", Happened.QUIESCED, AT_MS, epoch=1, releases=True)])
    other.commit([intended])
    assert state_of(journal, "op_2") is State.EXECUTING


def claims_stay_while_the_attempt_may_land(bench: JournalBench) -> None:
    """A broker that frees claims too early is wrong, and is told so before anything is recorded."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    refused(ValueError, journal, Event("op_1", Happened.ANSWER_LOST, AT_MS, epoch=1, releases=True))
    refused(ValueError, journal, Event("op_1", Happened.TAKEN_OVER, AT_MS, epoch=2, releases=True))


# --- what is open --------------------------------------------------------------------------------------------------


def a_write_is_open_until_it_is_told(bench: JournalBench) -> None:
    """From the proposal to the delivery of its outcome a write is listed with what is known of it."""
    journal = bench.open()
    for event in operation("op_1", upto=Happened.APPLIED):
        journal.commit([event])
        assert [(row.subject, row.fingerprint) for row in journal.open()] == [("op_1", "print of op_1")]
    assert journal.open() == [OpenSubject("op_1", State.APPLIED, 1, "tx_1", "print of op_1")]
    journal.commit([Event("op_1", Happened.DELIVERED, AT_MS, epoch=1)])
    assert journal.open() == []
    journal.commit([Event("op_1", Happened.UNDONE, AT_MS, epoch=1)])
    assert journal.open() == []


def a_told_write_is_open_while_it_holds_claims(bench: JournalBench) -> None:
    """Quiescence is not the outcome: a late landing of a decided write may still come."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.INTENDED))
    told = [Event("op_1", h, AT_MS, epoch=1) for h in (Happened.APPLIED, Happened.DELIVERED)]
    journal.commit(told)
    assert [(row.state, row.claims) for row in journal.open()] == [(State.APPLIED, (NOTE,))]
    journal.commit([Event("op_1", Happened.QUIESCED, AT_MS, epoch=1, releases=True)])
    assert journal.open() == []


def what_is_over_is_not_open(bench: JournalBench) -> None:
    """Declined, superseded, expired and abandoned writes, and finished transactions, ask for nothing."""
    journal = bench.open()
    for number, end in enumerate((Happened.DECLINED, Happened.SUPERSEDED, Happened.EXPIRED)):
        name = f"op_{number}"
        journal.commit([*operation(name, upto=Happened.PROPOSED), Event(name, end, AT_MS)])
    for number, end in enumerate((Happened.COMPLETED, Happened.BLOCKED, Happened.WITHDRAWN)):
        name = f"tx_{number}"
        journal.commit([Event(name, Happened.OPENED, AT_MS), Event(name, end, AT_MS)])
    assert journal.open() == [OpenSubject("tx_1", State.BLOCKED, 0)]


def the_oldest_is_listed_first(bench: JournalBench) -> None:
    """What waits longest is what a person should see first, whatever happened to it since."""
    journal = bench.open()
    for name in ("op_5", "op_1", "op_3"):
        journal.commit(operation(name))
    journal.commit(operation("op_5", upto=Happened.INTENDED)[-1:])
    assert [row.subject for row in journal.open()] == ["op_5", "op_1", "op_3"]
    journal.commit(
        [Event("op_5", happened, AT_MS, epoch=1, releases=True) for happened in (Happened.APPLIED, Happened.DELIVERED)]
    )
    journal.commit([Event("op_5", Happened.UNDONE, AT_MS, epoch=1, claims=(NOTE,))])
    assert [row.subject for row in journal.open()] == ["op_5", "op_1", "op_3"]


def what_touches_a_write_is_found(bench: JournalBench) -> None:
    """Whoever is about to write must find what does the same, and whose matter it is, however much else is open."""
    journal = bench.open()
    journal.commit(operation("op_1", upto=Happened.PROPOSED))
    for name, places in (("tx_1", ["notes:a", "notes:b/c"]), ("tx_2", ["notes:b"]), ("tx_3", ["notes:bc"])):
        journal.commit([Event(name, Happened.OPENED, AT_MS, {"places": places})])
    journal.commit([Event("tx_3", Happened.RECOVERING, AT_MS, {"operation": "op_9", "places": ["notes:z"]}, epoch=1)])

    def found(*places: str, fingerprints: tuple[str, ...] = ()) -> list[str]:
        return [row.subject for row in bench.open().touching(fingerprints=fingerprints, places=places)]

    assert found("notes:a", fingerprints=("print of op_1", "print of op_2")) == ["op_1", "tx_1"]
    assert found("notes:b") == found("notes:b/c") == ["tx_1", "tx_2"]
    assert (found("notes:b/d"), found("notes:bc/d"), found("notes:z")) == (["tx_2"], ["tx_3"], ["tx_3"])
    assert found("notes:c", "notes") == found() == []
    journal.commit([Event("tx_1", Happened.COMPLETED, AT_MS), Event("tx_2", Happened.BLOCKED, AT_MS)])
    assert (found("notes:b", "notes:a"), journal.verify().faults) == (["tx_2"], ())


def subjects_are_found_by_the_beginning_of_their_id(bench: JournalBench) -> None:
    """A person types the first letters of an id, and means the newest."""
    journal = bench.open()
    for name in ("op_11", "op_12", "op_2", "tx_11", "op_%"):
        journal.commit(operation(name))
    assert journal.matching("op_1", limit=9) == ["op_12", "op_11"]
    assert journal.matching("op_", limit=2) == ["op_2", "op_12"]
    assert journal.matching("op_%", limit=9) == ["op_%"]
    assert journal.matching("zz", limit=9) == []
    assert journal.matching("op_", limit=2, before="op_2") == ["op_12", "op_11"]
    assert journal.matching("op_", limit=9, before="op_%") == []
    assert journal.matching("op_", limit=1, before="tx_11") == ["op_2"]


# --- processes -----------------------------------------------------------------------------------------------------


def a_process_is_alive_until_it_ends(bench: JournalBench) -> None:
    """Who is alive may still be working on a write; who is not never comes back under that id."""
    journal, other, third = bench.open(), bench.open(), bench.open()
    assert len({journal.process_id, other.process_id, third.process_id}) == 3  # noqa: PLR2004
    assert journal.journal_id == other.journal_id
    assert all(journal.is_alive(process) for process in (journal.process_id, other.process_id, third.process_id))
    other.close()
    bench.kill(third)
    assert [journal.is_alive(process) for process in (other.process_id, third.process_id, "pr_unknown")] == [False] * 3
    assert not bench.open().is_alive(third.process_id)


def a_closed_journal_refuses(bench: JournalBench) -> None:
    """After close nothing may follow, and closing twice is no mistake."""
    journal = bench.open()
    journal.close()
    journal.close()
    for use in (
        lambda: journal.commit(operation("op_1")),
        lambda: journal.events("op_1"),
        journal.open,
        journal.verify,
        lambda: journal.put_blob(io.BytesIO(b""), bytes_max=1),
    ):
        try:
            use()
        except JournalError:
            continue
        raise AssertionError("a closed journal was used")


# --- blobs ---------------------------------------------------------------------------------------------------------


def kept_bytes_are_named_by_their_digest(bench: JournalBench) -> None:
    """The same bytes have the same name in every journal, and every process can open them."""
    journal = bench.open()
    name, size = journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6)
    assert (name, size) == ("sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", 6)
    assert journal.put_blob(io.BytesIO(b"hello\n"), bytes_max=6) == (name, size)
    with bench.open().open_blob(name) as kept:
        assert kept.read() == b"hello\n"
    found = journal.verify()
    assert (found.blobs, found.faults) == (1, ())


def too_many_bytes_are_refused(bench: JournalBench) -> None:
    """The bound is checked while reading, so that an endless source can't fill the disk."""
    journal = bench.open()
    try:
        journal.put_blob(io.BytesIO(b"1234567"), bytes_max=6)
    except PayloadError:
        pass
    else:
        raise AssertionError("too many bytes were kept")
    assert journal.verify().blobs == 0


def missing_bytes_are_said_to_be_gone(bench: JournalBench) -> None:
    """An undo that can't be given must say so, and not restore something else."""
    journal = bench.open()
    for digest in ("sha256:" + "0" * 64, "sha256:../../x", "x"):
        try:
            journal.open_blob(digest)
        except JournalError:
            continue
        raise AssertionError(f"{digest} was opened")


PROMISES: dict[str, tuple[Promise, ...]] = {
    "read": (what_was_committed_is_read_back, what_was_read_is_a_copy),
    "whole": (
        a_batch_with_one_bad_event_leaves_nothing,
        what_json_can_not_say_is_refused,
        what_no_row_can_hold_is_refused,
        an_empty_batch_is_nothing,
    ),
    "lifecycle": (what_the_lifecycle_forbids_is_refused,),
    "epoch": (only_the_current_epoch_may_write, an_intent_begins_the_first_epoch),
    "race": (one_of_many_wins_the_race_for_a_subject,),
    "overlap": (
        claims_that_overlap_are_refused,
        claims_that_only_look_alike_are_not_refused,
        claims_of_one_batch_are_compared_too,
        claims_can_change_hands_in_one_batch,
        a_subject_takes_claims_once,
    ),
    "released": (released_claims_are_free, claims_stay_while_the_attempt_may_land),
    "doubt": (
        an_intent_that_did_not_take_effect_is_abandoned,
        an_intent_that_took_effect_unseen_is_abandoned,
        doubt_outlives_further_failures,
        doubt_ends_even_if_the_next_batch_is_refused,
        doubt_yields_to_who_took_the_write_meanwhile,
        closing_abandons_what_is_in_doubt,
    ),
    "replay": (an_outcome_in_doubt_is_recorded_once,),
    "open": (
        a_write_is_open_until_it_is_told,
        a_told_write_is_open_while_it_holds_claims,
        what_is_over_is_not_open,
        the_oldest_is_listed_first,
        what_touches_a_write_is_found,
    ),
    "prefix": (subjects_are_found_by_the_beginning_of_their_id,),
    "forget": (
        what_is_over_can_be_forgotten,
        what_is_needed_is_not_forgotten,
        bytes_that_nothing_names_are_swept,
    ),
    "alive": (a_process_is_alive_until_it_ends,),
    "closed": (a_closed_journal_refuses,),
    "blob": (kept_bytes_are_named_by_their_digest, missing_bytes_are_said_to_be_gone),
    "limit": (too_many_bytes_are_refused,),
}
"""Every promise, by what it is about."""
