"""Hunts the mutants: plants each, runs seeds and then the stories, and says who caught it and after how many.

`python -m tests.simulation.hunt [NAME …]` prints the whole list and fails if one survives; names may be shortened.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tests.simulation.mutants import MUTANTS, Mutant, planted
from tests.simulation.run import PROCESSES, Outcome, Tally, conclude, simulate
from tests.simulation.story import SPLIT_MAX, STORIES, told
from tests.simulation.surface import KINDS

SHARE = "the share of ambiguous writes"
RUNS_TO_WEIGH = 300
"""So many runs say something about a share; a mutant that breaks no invariant is weighed after each so many."""


@dataclass(frozen=True, slots=True)
class Catch:
    """Who caught a mutant, where, and after how many runs of seeds and of stories. Nobody: it survived."""

    mutant: str
    by: str | None
    where: str = ""
    seeds: int = 0
    stories: int = 0

    def __str__(self) -> str:
        """Give a line of the list."""
        if self.by is None:
            return f"SURVIVED  {self.mutant}  ({self.seeds} seeds, {self.stories} stories)"
        tried = f"after {self.seeds} seeds" if not self.stories else f"after {self.seeds} seeds, {self.stories} stories"
        return f"caught    {self.mutant}  by {self.by}  in {self.where}, {tried}"


def hunt(mutant: Mutant, *, with_stories: bool = True) -> Catch:
    """Look for `mutant` in as many seeds as it is given; then in its story, or in all, on every named kind."""
    tried = 0
    with planted(mutant):
        tally = Tally()
        for seed in range(mutant.seeds):
            outcome = simulate(seed)
            if outcome.wrong:
                return Catch(mutant.name, _who(outcome), f"seed {seed}", seed + 1)
            tally.add(outcome)
            if (seed + 1) % RUNS_TO_WEIGH == 0 and not tally.is_decisive:
                return Catch(mutant.name, SHARE, f"seeds up to {seed}", seed + 1)
        for tried, (where, outcome) in enumerate(_stories(mutant.story) if with_stories else (), start=1):
            if outcome.wrong:
                return Catch(mutant.name, _who(outcome), where, mutant.seeds, tried)
    return Catch(mutant.name, None, "", mutant.seeds, tried)


def hunt_all(mutants: Sequence[Mutant]) -> Iterator[Catch]:
    """Hunt each of `mutants`, in as many processes as there are cores to count on."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        yield from pool.map(_hunt_named, [each.name for each in mutants])


def _hunt_named(name: str) -> Catch:
    return hunt(next(each for each in MUTANTS if each.name == name))


def _stories(name: str | None) -> Iterator[tuple[str, Outcome]]:
    for story in STORIES if name is None else (each for each in STORIES if each.name == name):
        for kind in KINDS:
            for split in range(SPLIT_MAX if story.actors > 1 else 1):
                world = told(story, kind, split=split)
                yield f"the story '{story.name}' on a {kind}", conclude(world)
                if world.is_split_past_the_end:
                    break


def _who(outcome: Outcome) -> str:
    return outcome.wrong[0].partition(":")[0]


def main(arguments: list[str] | None = None) -> int:
    """Hunt all mutants, or those named; print the list and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.hunt", description=__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args(arguments).names
    wanted = [each for each in MUTANTS if not names or any(name in each.name for name in names)]
    survivors = 0
    for catch in hunt_all(wanted):
        print(catch, flush=True)
        survivors += catch.by is None
    print(f"{len(wanted)} mutants, {survivors} survived")
    return 1 if survivors or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
