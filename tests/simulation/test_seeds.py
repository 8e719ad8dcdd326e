"""Random runs: whatever goes wrong, nothing that was told is a lie, and in the end nothing is left in doubt."""

import os
from collections import Counter

import pytest

from amends.contract import State
from tests.simulation.mutants import MUTANTS, planted
from tests.simulation.run import Outcome, again, main, simulate, simulate_many

IS_QUICK = os.environ.get("AMENDS_PROOF") == "quick"
SEEDS = 1_000 if IS_QUICK else 20_000
FIRST = 1_000  # others than the short test has
AMBIGUOUS_SHARE_MAX = 0.05  # where receipts come in the same step, doubt has no excuse; the prototype ended at 2.9 %
APPLIED_SHARE_MIN = 0.3  # a broker that refuses everything would pass the rest


def bad(outcomes: list[Outcome]) -> list[str]:
    """Name what went wrong, with the command that repeats it."""
    return [f"{again(outcome.seed)}: {outcome.wrong}" for outcome in outcomes if outcome.wrong]


def states(outcomes: list[Outcome], kind: str) -> Counter[State]:
    """Count how the writes on surfaces of one kind ended."""
    return sum((outcome.states for outcome in outcomes if outcome.kind == kind), Counter())


def is_decisive(outcomes: list[Outcome]) -> bool:
    """Say whether an atomic surface is told of rarely as ambiguous and often enough as applied; print the shares."""
    ended = states(outcomes, "ledger")
    doubt = (ended[State.AMBIGUOUS] + ended[State.CLOSED]) / ended.total()
    done = ended[State.APPLIED] / ended.total()
    print(f"at atomic {doubt:.1%} of {ended.total()} writes ended ambiguous, {done:.1%} applied")
    has_recovered = any(outcome.recoveries for outcome in outcomes)
    return doubt < AMBIGUOUS_SHARE_MAX and done > APPLIED_SHARE_MIN and has_recovered


@pytest.mark.requirement("simulation:seeds:safe", "simulation:seeds:live", "simulation:seeds:decisive")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_a_hundred_random_runs_break_no_invariant() -> None:
    """The short form, before every commit: most mistakes in the protocol show within a few dozen seeds."""
    outcomes = list(simulate_many(0, 120))
    assert bad(outcomes) == []
    assert is_decisive(outcomes)


@pytest.mark.proof
@pytest.mark.requirement("simulation:seeds:safe", "simulation:seeds:live", "simulation:seeds:decisive")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_thousands_of_random_runs_break_no_invariant() -> None:
    """The long form: what needs three accidents in a row is found by patience only."""
    outcomes = list(simulate_many(FIRST, SEEDS))
    assert bad(outcomes) == []
    assert is_decisive(outcomes)


@pytest.mark.requirement("simulation:seeds:repeatable")
def test_a_seed_gives_the_same_run_twice() -> None:
    """A failure that can't be repeated can't be mended."""
    for seed in range(8):
        one, other = simulate(seed), simulate(seed)
        assert (one.told, one.states, one.wrong) == (other.told, other.states, other.wrong)


@pytest.mark.requirement("simulation:seeds:repeatable")
def test_a_failing_seed_is_printed_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever sees the failure should be able to paste one line, and get it."""
    with planted(MUTANTS[0]):
        assert main(["--first", "0", "--seeds", "30"]) == 1
    printed = capsys.readouterr().out
    [first, *_] = [line for line in printed.splitlines() if line.startswith("seed ")]
    seed = first.split()[1]
    assert first.endswith(f"python -m tests.simulation.run --first {seed} --seeds 1")
    assert main(["--first", seed, "--seeds", "1"]) == 0
