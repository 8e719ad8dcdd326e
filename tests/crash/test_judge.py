"""The judge bites: with each fault on purpose, a campaign of few kills must end in a violation of the right kind."""

from pathlib import Path

import pytest

from tests.crash import breaks, judge
from tests.crash.campaign import Break, Campaign, ViolatedError

KILLS_MAX = 60
SEED = 5

CAUGHT: dict[str, tuple[Break, set[str]]] = {
    "in place": (breaks.writes_in_place, {judge.PARTIAL, judge.BYTES_LOST, judge.FALSE_APPLIED}),
    "hopeful fence": (breaks.takes_no_answer_for_a_failure, {judge.FALSE_FAILED}),
    "recorded first": (breaks.records_the_outcome_first, {judge.FALSE_APPLIED}),
    "sent first": (breaks.sends_before_the_intent, {judge.UNINTENDED, judge.FALSE_FAILED}),
    "nothing kept": (breaks.keeps_nothing_that_it_replaces, {judge.BYTES_LOST, judge.FALSE_APPLIED}),
    "sent twice": (breaks.sends_everything_twice, {judge.DUPLICATE}),
}


@pytest.mark.requirement("crash:judge:bites")
@pytest.mark.parametrize("name", CAUGHT)
def test_a_dishonest_writer_is_caught_within_few_kills(name: str, tmp_path: Path) -> None:
    """A judge that has never found anything may be one that finds nothing."""
    broken, kinds = CAUGHT[name]
    campaign = Campaign(tmp_path, seed=SEED, broken=broken)
    with pytest.raises(ViolatedError) as caught:
        campaign.kill(KILLS_MAX)
    print(f"{name}: caught after {campaign.tally.kills} kills: {caught.value.violations[0]}")
    assert {each.kind for each in caught.value.violations} & kinds
    assert "--seed 5" in str(caught.value)
