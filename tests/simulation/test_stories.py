"""Short stories, broken off at every step, and once more at every step after that."""

import os
from collections.abc import Iterable
from itertools import islice

import pytest

from tests.simulation.story import STORIES, Story, ended, points, splits, told
from tests.simulation.surface import KINDS

IS_QUICK = os.environ.get("AMENDS_PROOF") == "quick"
EVERY_PAIR = 12 if IS_QUICK else 1  # of the first crashes, and of the second ones after each, which ones are tried
EVERY_INTERLEAVED = 24 if IS_QUICK else 1
KINDS_SHORT = ("ledger", "mailbox")  # the one that proves most, and the one that proves nothing
EVERY_SPLIT_LONG = 5 if IS_QUICK else 1
EVERY_SPLIT = 4  # of the splits, which ones the short form has
EVERY_SHORT, EVERY_LONG = 32, 5  # of the splits of a story with two actors, which ones are crashed in as well
CRASHES_ON_DISK = 4  # of each story: each one opens and closes real files
EVERY_CRASH = 3  # of the crashes, which ones the short form has; each kind of surface begins at another one


def told_on(*, alone: Iterable[str], together: Iterable[str]) -> pytest.MarkDecorator:
    """Every story, on the kinds of surface for stories with one actor and for those with two."""
    cases = [
        pytest.param(story, kind, id=f"{story.name}-{kind}")
        for story in STORIES
        for kind in (alone if story.actors == 1 else together)
    ]
    return pytest.mark.parametrize(("story", "kind"), cases)


@told_on(alone=KINDS_SHORT, together=["ledger"])
@pytest.mark.requirement("simulation:crashes:once", "simulation:seeds:live")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_a_crash_between_steps_is_survived(story: Story, kind: str) -> None:
    """Between any two steps a process can end, and what it leaves must be enough to say the truth."""
    wrong = {}
    for split in islice(splits(story, kind), 0, None, EVERY_SPLIT):
        whole = told(story, kind, split=split)
        first = KINDS_SHORT.index(kind)
        crashes = islice(points(whole), first, None, EVERY_CRASH) if split % EVERY_SHORT == 0 else ()
        for crash in [(), *((point,) for point in crashes)]:
            wrong[split, crash] = ended(story, kind, split=split, crashes=crash).wrong
    assert {where: found for where, found in wrong.items() if found} == {}


@told_on(alone=["ledger"], together=[])
@pytest.mark.requirement("simulation:crashes:disk")
def test_a_crash_between_steps_is_survived_by_the_journal_on_disk(story: Story, kind: str) -> None:
    """What a process or a power cut leaves of a SQLite file is for SQLite to say, and not for a list in memory."""
    crashes = list(points(told(story, kind)))
    for crash in islice(crashes, 0, None, max(1, len(crashes) // CRASHES_ON_DISK)):
        assert ended(story, kind, crashes=(crash,), is_on_disk=True).wrong == [], crash


@pytest.mark.proof
@told_on(alone=["shelf"] if IS_QUICK else KINDS, together=["ledger"])
@pytest.mark.requirement("simulation:crashes:once", "simulation:seeds:live")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_a_crash_at_any_step_is_survived(story: Story, kind: str) -> None:
    """The long form of the same: every step, and every split."""
    wrong = {}
    for split in islice(splits(story, kind), 0, None, EVERY_SPLIT_LONG):
        crashes = points(told(story, kind, split=split)) if split % EVERY_SHORT == 0 else ()
        for crash in [(), *((point,) for point in crashes)]:
            wrong[split, crash] = ended(story, kind, split=split, crashes=crash).wrong
    assert {where: found for where, found in wrong.items() if found} == {}


@pytest.mark.proof
@told_on(alone=["ledger"] if IS_QUICK else KINDS, together=[] if IS_QUICK else KINDS)
@pytest.mark.requirement("simulation:crashes:twice", "simulation:seeds:live")
def test_a_second_crash_at_any_step_is_survived(story: Story, kind: str) -> None:
    """Resuming is where programs crash again: the second crash must find nothing that only the first prepared for."""
    wrong = {}
    for split in list(splits(story, kind))[::EVERY_LONG]:
        for first in islice(points(told(story, kind, split=split)), 0, None, EVERY_PAIR):
            resumed = told(story, kind, split=split, crashes=(first,))
            for second in islice(points(resumed, after=first[0]), 0, None, EVERY_PAIR):
                wrong[split, first, second] = ended(story, kind, split=split, crashes=(first, second)).wrong
    assert {where: found for where, found in wrong.items() if found} == {}


@pytest.mark.proof
@told_on(alone=[], together=["ledger"] if IS_QUICK else KINDS)
@pytest.mark.requirement("simulation:crashes:once")
def test_a_crash_in_any_interleaving_is_survived(story: Story, kind: str) -> None:
    """With two processes at work, what one sees of the other depends on the step at which it looks."""
    wrong = {}
    for split in islice(splits(story, kind), 0, None, EVERY_SPLIT_LONG):
        for crash in islice(points(told(story, kind, split=split)), 0, None, EVERY_INTERLEAVED):
            wrong[split, crash] = ended(story, kind, split=split, crashes=(crash,)).wrong
    assert {where: found for where, found in wrong.items() if found} == {}
