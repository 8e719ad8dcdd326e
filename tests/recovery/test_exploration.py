"""Every history of a small model, followed to its end: the discipline holds in all of them, not only in examples."""

import os

import pytest

from amends.recovery import Stop
from tests.recovery.exploration import THREE_WRITES, TWO_WRITES, Plan, Tally, Violation, explore, start

QUICK_HISTORIES_MAX = 60_000
"""Of each longer exploration, in the quick proof; the full one follows all."""


def told(plan: Plan, tally: Tally) -> None:
    """Say what was explored, so that a number is never only believed."""
    ends = ", ".join(f"{end} {count}" for end, count in sorted(tally.ends.items()))
    print(f"{len(plan.writes)} writes, {plan.foreign_max} foreign acts: {tally.histories} histories: {ends}")


@pytest.fixture(scope="module")
def tallies() -> list[Tally]:
    """Both small models explored whole: no history that breaks a rule was found, or this raises Violation."""
    plans = [Plan(TWO_WRITES, foreign_max=1), Plan(THREE_WRITES, foreign_max=0)]
    explored = [explore(plan) for plan in plans]
    for plan, tally in zip(plans, explored, strict=True):
        told(plan, tally)
    return explored


@pytest.mark.requirement("recovery:proof:every_history")
def test_every_history_of_the_small_model_keeps_the_discipline(tallies: list[Tally]) -> None:
    """It ends; two recoveries at most, one per step; each helps or is the last; nobody else's state is replaced."""
    assert sum(tally.histories for tally in tallies) > 50_000
    assert all({*tally.recoveries} == {0, 1, 2} for tally in tallies)


@pytest.mark.requirement("recovery:proof:every_history", "recovery:stop:reasons")
def test_every_way_to_end_is_reached_by_some_history(tallies: list[Tally]) -> None:
    """A model in which something never happens proves nothing about it."""
    assert {end for tally in tallies for end in tally.ends} == {"complete", *Stop}


@pytest.mark.requirement("recovery:proof:every_history")
def test_the_undisturbed_model_often_completes(tallies: list[Tally]) -> None:
    """A governor that always stops is safe and useless; with nobody else about, a third of the ends are complete."""
    _, undisturbed = tallies
    assert undisturbed.ends["complete"] / undisturbed.histories > 1 / 3


@pytest.mark.requirement("recovery:proof:every_history")
def test_a_violation_tells_the_history_that_led_to_it() -> None:
    """Whoever breaks a rule should read the shortest story of it, not a stack trace."""
    begun = start(Plan(TWO_WRITES, foreign_max=0)).then("refused").then("read")
    assert isinstance(begun.violation("it went on"), Violation)
    assert str(begun.violation("it went on")) == "it went on: refused | read"


@pytest.mark.proof
@pytest.mark.requirement("recovery:proof:every_history")
@pytest.mark.parametrize("remembers", [True, False], ids=["one process", "a restart before each decision"])
@pytest.mark.parametrize("repeats", [False, True], ids=["versions", "no versions"])
@pytest.mark.parametrize(
    ("writes", "foreign_max"), [(TWO_WRITES, 2), (THREE_WRITES, 1)], ids=["two writes", "three writes"]
)
def test_every_history_with_more_foreign_acts_keeps_the_discipline(
    writes: tuple, foreign_max: int, *, remembers: bool, repeats: bool
) -> None:
    """Two disturbances can do together what none does alone: harm and revert, help and harm."""
    plan = Plan(writes, foreign_max=foreign_max, remembers=remembers, repeats=repeats)
    is_full = os.environ.get("AMENDS_PROOF") == "full"
    told(plan, explore(plan, histories_max=None if is_full else QUICK_HISTORIES_MAX))
