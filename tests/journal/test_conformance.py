"""Both journals keep every promise of the conformance suite."""

from collections.abc import Callable

import pytest

from amends.testing.journal_bench import JournalBench, Promise
from amends.testing.journal_conformance import PROMISES


def promises(group: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test once for each promise of `group`."""
    return pytest.mark.parametrize("promise", [pytest.param(p, id=p.__name__) for p in PROMISES[group]])


@promises("read")
@pytest.mark.requirement("journal:read:history")
def test_events_are_read_back_as_they_were_written(promise: Promise, bench: JournalBench) -> None:
    """Everything that is ever said of a write is folded from what is read here."""
    promise(bench)


@promises("whole")
@pytest.mark.requirement("journal:commit:whole")
def test_a_batch_is_recorded_whole_or_not_at_all(promise: Promise, bench: JournalBench) -> None:
    """Half a batch would be an intent without claims, or an outcome without its confirmation."""
    promise(bench)


@promises("lifecycle")
@pytest.mark.requirement("journal:commit:lifecycle")
def test_no_journal_records_what_the_lifecycle_forbids(promise: Promise, bench: JournalBench) -> None:
    """Terminal outcomes never change, whoever asks."""
    promise(bench)


@promises("epoch")
@pytest.mark.requirement("journal:commit:epoch")
def test_only_the_current_epoch_may_record(promise: Promise, bench: JournalBench) -> None:
    """Two processes at work on one write must not both tell its outcome."""
    promise(bench)


@promises("race")
@pytest.mark.requirement("journal:commit:race")
def test_one_process_wins_the_race_for_an_intent(promise: Promise, bench: JournalBench) -> None:
    """Two intents would be two sends."""
    promise(bench)


@promises("overlap")
@pytest.mark.requirement("journal:claims:overlap")
def test_claims_that_overlap_have_one_holder(promise: Promise, bench: JournalBench) -> None:
    """A second write to a target whose first may still land would be destroyed by it, or destroy it."""
    promise(bench)


@promises("released")
@pytest.mark.requirement("journal:claims:released")
def test_claims_are_freed_by_quiescence_alone(promise: Promise, bench: JournalBench) -> None:
    """An outcome may be known while the attempt can still land."""
    promise(bench)


@promises("doubt")
@pytest.mark.requirement("journal:doubt:abandoned")
def test_an_intent_whose_commit_failed_is_abandoned(promise: Promise, bench: JournalBench) -> None:
    """It may come back after a crash, and would then look like a write that may have been sent."""
    promise(bench)


@promises("replay")
@pytest.mark.requirement("journal:doubt:replay")
def test_a_repeated_commit_records_nothing_twice(promise: Promise, bench: JournalBench) -> None:
    """A caller that doesn't know whether its commit took effect has to be able to repeat it."""
    promise(bench)


@promises("open")
@pytest.mark.requirement("journal:open:rows")
def test_what_is_not_over_is_listed_as_open(promise: Promise, bench: JournalBench) -> None:
    """What is not listed is forgotten by everybody."""
    promise(bench)


@promises("forget")
@pytest.mark.requirement("journal:forget:whole")
def test_only_what_is_over_is_forgotten(promise: Promise, bench: JournalBench) -> None:
    """A journal must not grow for ever, and must not lose what somebody still has to settle, undo or be told."""
    promise(bench)


@promises("prefix")
@pytest.mark.requirement("journal:read:prefix")
def test_a_subject_is_found_by_its_first_letters(promise: Promise, bench: JournalBench) -> None:
    """Nobody types a whole id."""
    promise(bench)


@promises("alive")
@pytest.mark.requirement("journal:process:alive")
def test_the_living_and_the_dead_are_told_apart(promise: Promise, bench: JournalBench) -> None:
    """A write of a living process is left alone, one of a dead process is settled at once."""
    promise(bench)


@promises("closed")
@pytest.mark.requirement("journal:process:closed")
def test_nothing_follows_the_closing_of_a_journal(promise: Promise, bench: JournalBench) -> None:
    """Others count a closed process as dead, and may have taken its work over."""
    promise(bench)


@promises("blob")
@pytest.mark.requirement("journal:blob:kept")
def test_kept_bytes_are_found_by_their_digest(promise: Promise, bench: JournalBench) -> None:
    """What is sent is what was confirmed, and what an undo restores is what was there."""
    promise(bench)


@promises("limit")
@pytest.mark.requirement("journal:blob:limit")
def test_more_bytes_than_allowed_are_refused(promise: Promise, bench: JournalBench) -> None:
    """There is a limit on everything."""
    promise(bench)


@pytest.mark.requirement("journal:same:both")
def test_every_promise_of_the_suite_is_run_here() -> None:
    """A promise that is added to the suite must not wait for somebody to call it."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    assert [group for group in PROMISES if f'@promises("{group}")' not in text] == []
