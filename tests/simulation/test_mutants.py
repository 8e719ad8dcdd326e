"""The simulation bites: every mistake that we could think of is found, or the simulation is no proof."""

import pytest

from amends.broker import machine
from tests.simulation.mutants import MUTANTS, Change, Mutant, planted
from tests.simulation.run import simulate
from tests.simulation.story import STORIES, ended, splits
from tests.simulation.surface import KINDS


def found_in(mutant: Mutant) -> str | None:
    """Say where the mistake is found first: in a seed, or in a story in which nothing crashes."""
    with planted(mutant):
        for seed in range(mutant.seeds):
            if simulate(seed).wrong:
                return f"seed {seed}"
        for story in STORIES if not mutant.seeds else ():
            for kind in KINDS:
                for split in splits(story, kind):
                    if ended(story, kind, split=split).wrong:
                        return f"the story '{story.name}' on a {kind}"
    return None


@pytest.mark.proof
@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS])
@pytest.mark.requirement("simulation:mutants:caught")
def test_a_mistake_in_the_protocol_is_caught(mutant: Mutant) -> None:
    """A checker that no mistake can make fail checks nothing."""
    place = found_in(mutant)
    print(f"{mutant.name}: {place}")
    assert place is not None


@pytest.mark.requirement("simulation:mutants:caught")
def test_a_mutant_that_no_longer_fits_says_so() -> None:
    """A mutant whose text is gone would survive for ever without having been tried."""
    gone = Mutant("gone", (Change(machine, "settle", "no such line", "another"),))
    with pytest.raises(LookupError, match="'gone' no longer fits"), planted(gone):
        pass
