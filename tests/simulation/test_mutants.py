"""The simulation bites: every mistake that we could think of is found, or the simulation is no proof."""

import re
from time import monotonic

import pytest

from amends.broker import machine
from tests.proof import record
from tests.simulation.hunt import SHARE, hunt, hunt_all, main
from tests.simulation.mutants import MUTANTS, Change, Mutant, planted

MUTANTS_MIN = 60
QUICKLY_CAUGHT = "the intent is not durable"
ALWAYS_AMBIGUOUS = "everything that was sent is told as ambiguous"
"""It breaks no invariant and is of no use: only counting finds it."""


@pytest.mark.proof
@pytest.mark.requirement("simulation:mutants:caught", "simulation:seeds:decisive")
def test_each_mistake_in_the_protocol_is_caught() -> None:
    """A checker that no mistake can make fail checks nothing."""
    started = monotonic()
    catches = list(hunt_all(MUTANTS))
    print("\n".join(map(str, catches)))
    survived = sum(catch.by is None for catch in catches)
    seconds = monotonic() - started
    record(
        "mistakes planted", tried=len(catches), what="mistakes in the protocol", violations=survived, seconds=seconds
    )
    assert len(catches) >= MUTANTS_MIN
    assert [catch.mutant for catch in catches if catch.by is None] == []
    assert [catch.mutant for catch in catches if catch.by == SHARE] == [ALWAYS_AMBIGUOUS]


@pytest.mark.requirement("simulation:mutants:caught")
def test_a_mutant_that_no_longer_fits_says_so() -> None:
    """A mutant whose text is gone would survive for ever without having been tried."""
    gone = Mutant("gone", (Change(machine, "settle", "no such line", "another"),))
    with pytest.raises(LookupError, match="'gone' no longer fits"), planted(gone):
        pass


@pytest.mark.requirement("simulation:mutants:caught")
def test_every_mutant_fits_and_leaves_no_trace() -> None:
    """A mistake that stays planted would make every later test say something about another program."""
    for mutant in MUTANTS:
        with planted(mutant):
            pass
    assert hunt(Mutant("no mistake", (), seeds=20), with_stories=False).by is None


@pytest.mark.requirement("simulation:mutants:caught")
def test_the_list_of_catches_names_who_caught_what(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a checker wants to see which mistakes only that one finds."""
    assert main([QUICKLY_CAUGHT]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^caught    {QUICKLY_CAUGHT}  by \w+  in seed \d+, after \d+ seeds$", printed, re.MULTILINE)
    assert "1 mutants, 0 survived" in printed
    assert main(["no such mutant"]) == 1
