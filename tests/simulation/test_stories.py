"""Short stories, broken off at every step, and once more at every step after that."""

import os
from collections.abc import Iterable

import pytest

from tests.simulation.story import STORIES, Story, ended, points, splits, told
from tests.simulation.surface import KINDS

IS_QUICK = os.environ.get("AMENDS_PROOF") == "quick"
EVERY_SHORT, EVERY_LONG = 16, 5  # of the splits of a story with two actors, which ones are crashed in as well


def told_on(*, alone: Iterable[str], together: Iterable[str]) -> pytest.MarkDecorator:
    """Every story, on the kinds of surface for stories with one actor and for those with two."""
    cases = [
        pytest.param(story, kind, id=f"{story.name}-{kind}")
        for story in STORIES
        for kind in (alone if story.actors == 1 else together)
    ]
    return pytest.mark.parametrize(("story", "kind"), cases)


@told_on(alone=KINDS, together=["ledger"])
@pytest.mark.requirement("simulation:crashes:once", "simulation:seeds:live")
def test_a_crash_at_any_step_is_survived(story: Story, kind: str) -> None:
    """Between any two steps a process can end, and what it leaves must be enough to say the truth."""
    wrong = {}
    for split in splits(story, kind):
        whole = told(story, kind, split=split)
        crashes = points(whole) if split % EVERY_SHORT == 0 else ()
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
        for first in points(told(story, kind, split=split)):
            resumed = told(story, kind, split=split, crashes=(first,))
            for second in points(resumed, after=first[0]):
                wrong[split, first, second] = ended(story, kind, split=split, crashes=(first, second)).wrong
    assert {where: found for where, found in wrong.items() if found} == {}


@pytest.mark.proof
@told_on(alone=[], together=["ledger", "mailbox"] if IS_QUICK else KINDS)
@pytest.mark.requirement("simulation:crashes:once")
def test_a_crash_in_any_interleaving_is_survived(story: Story, kind: str) -> None:
    """With two processes at work, what one sees of the other depends on the step at which it looks."""
    wrong = {}
    for split in splits(story, kind):
        for crash in points(told(story, kind, split=split)):
            wrong[split, crash] = ended(story, kind, split=split, crashes=(crash,)).wrong
    assert {where: found for where, found in wrong.items() if found} == {}
