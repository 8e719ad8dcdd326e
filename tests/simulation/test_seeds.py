"""Random runs: whatever goes wrong, nothing that was told is a lie, and in the end nothing is left in doubt."""

import os
import random
import re
from itertools import chain
from time import monotonic

import pytest

from tests.proof import record
from tests.simulation.mutants import MUTANTS, planted
from tests.simulation.run import (
    EVERY_ON_DISK,
    KEPT,
    PROCESSES,
    Less,
    Outcome,
    Play,
    Tally,
    again,
    kept_seeds,
    main,
    simulate,
    simulate_many,
)
from tests.simulation.shrink import checkers_of, shrink, told

IS_QUICK = os.environ.get("AMENDS_PROOF") == "quick"
FIXED = range(10_000) if IS_QUICK else range(100_000)
FRESH = 5_000  # of those that nobody has seen before
FRESH_FIRST, FRESH_LAST = 1_000_000, 1_000_000_000  # none of the fixed ones


def judged(outcomes: list[Outcome]) -> tuple[list[str], Tally]:
    """Name what went wrong, with the command that repeats it, and count the rest."""
    tally = Tally()
    for outcome in outcomes:
        tally.add(outcome)
    print("\n".join(tally.lines()))
    return [f"{again(outcome.seed)}: {outcome.wrong}" for outcome in outcomes if outcome.wrong], tally


def _try(name: str, seeds: range) -> None:
    started = monotonic()
    bad, tally = judged(list(simulate_many(seeds, processes=PROCESSES)))
    seconds = monotonic() - started
    record(name, tried=len(seeds), what="seeds", violations=len(bad), seconds=seconds, first=seeds.start)
    assert bad == []
    assert tally.is_decisive


@pytest.mark.requirement("simulation:seeds:safe", "simulation:seeds:live", "simulation:seeds:decisive")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_a_hundred_random_runs_break_no_invariant() -> None:
    """The short form, before every commit: most mistakes in the protocol show within a few dozen seeds."""
    bad, tally = judged(list(simulate_many(chain(kept_seeds(), range(160)))))
    assert bad == []
    assert tally.is_decisive


@pytest.mark.proof
@pytest.mark.requirement("simulation:seeds:safe", "simulation:seeds:live", "simulation:seeds:decisive")
@pytest.mark.requirement("simulation:recovery:bounded", "simulation:recovery:looked", "simulation:recovery:over")
def test_thousands_of_random_runs_break_no_invariant() -> None:
    """The long form: what needs three accidents in a row is found by patience only."""
    _try("simulated runs", FIXED)


@pytest.mark.proof
@pytest.mark.requirement("simulation:seeds:safe", "simulation:seeds:live", "simulation:seeds:decisive")
def test_thousands_of_runs_that_nobody_has_seen_break_no_invariant() -> None:
    """The same seeds every day find the same nothing; what fails here is printed, mended, and kept."""
    first = random.SystemRandom().randrange(FRESH_FIRST, FRESH_LAST)
    print(f"fresh seeds from {first}")
    _try("simulated runs that nobody has seen", range(first, first + FRESH))


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
        assert main(["--first", "0", "--seeds", "60"]) == 1
    printed = capsys.readouterr().out
    [first, *_] = [line for line in printed.splitlines() if line.startswith("seed ")]
    seed = first.split()[1]
    assert re.search(rf" at \S+: python -m tests\.simulation\.run --first {seed} --seeds 1$", first)
    assert f"python -m tests.simulation.shrink {seed}" in printed
    assert main(["--first", seed, "--seeds", "1"]) == 0


@pytest.mark.requirement("simulation:seeds:short")
def test_a_failing_seed_is_told_as_a_short_story() -> None:
    """Nobody reads two hundred steps; what the failure does not need is left out, and it still fails."""
    with planted(MUTANTS[0]):
        seed = next(seed for seed in range(60) if simulate(seed).wrong)
        whole, less = simulate(seed), shrink(seed)
        rest = simulate(seed, less)
        assert less.calls
        assert checkers_of(rest) & checkers_of(whole)
        story = list(told(seed, less))
    assert len(story) < len(list(told(seed, Less())))
    assert story[-1].strip().partition(":")[0] in checkers_of(rest)


@pytest.mark.requirement("simulation:seeds:disk")
def test_a_run_on_disk_comes_to_what_it_comes_to_in_memory() -> None:
    """The journal in memory stands for the real one in most seeds, so both must lead to the same end."""
    is_compared = False
    for seed in range(0, 10 * EVERY_ON_DISK, EVERY_ON_DISK):
        play = Play(seed)
        try:
            on_disk = play.to_the_end()
            faults = {fault for _, fault in play.world.history.faults}
        finally:
            play.world.forget()
        assert play.world.is_on_disk
        if "journal" in faults:
            continue  # a commit that failed may show after another crash than in memory
        is_compared = True
        in_memory = simulate(seed, is_on_disk=False)
        assert (on_disk.states, on_disk.told, on_disk.ends) == (in_memory.states, in_memory.told, in_memory.ends)
    assert is_compared


@pytest.mark.requirement("simulation:seeds:kept")
def test_every_seed_that_failed_once_is_kept_with_a_reason() -> None:
    """A number alone tells nobody why it is there."""
    lines = [line for line in KEPT.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(kept_seeds()) == len(lines)
    assert all(re.fullmatch(r"\d+ +# .{10,}", line) for line in lines)
