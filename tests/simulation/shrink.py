"""Makes a failing seed a short story: leaves out calls and strikes as long as the same checker still fails.

`python -m tests.simulation.shrink SEED` prints what is left, step by step; `--mutant NAME` does so with a mistake
planted. Calls and strikes draw from streams of their own, so that what is left happens as it did.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

from amends.broker import Life
from amends.contract import Happened
from tests.simulation.history import History, Request
from tests.simulation.mutants import MUTANTS, planted
from tests.simulation.run import WHOLE, Less, Outcome, Play, again, commit, simulate

ROUNDS_MAX = 4
"""Leaving out one thing can make another one needless; after a few rounds nothing more goes."""


def checkers_of(outcome: Outcome) -> set[str]:
    """Name the checkers that found something."""
    return {line.partition(":")[0] for line in outcome.wrong}


def shrink(seed: int) -> Less:
    """Give what can be left out of `seed` so that the first checker that failed still fails. It must fail at first."""
    checker = simulate(seed).wrong[0].partition(":")[0]
    less = WHOLE
    for _ in range(ROUNDS_MAX):
        before = less
        for part in ("calls", "strikes"):
            less = _shortened(seed, less, part, checker)
        if less == before:
            break
    return less


def _shortened(seed: int, less: Less, part: str, checker: str) -> Less:
    """Leave out all of one part, then halves, quarters, … of it, then single ones."""
    at_a_time = _count(seed, less, part)
    while at_a_time >= 1:
        number = 0
        while number < _count(seed, less, part):
            left_out: frozenset[int] = getattr(less, part)
            shorter = replace(less, **{part: left_out | set(range(number, number + at_a_time))})
            if shorter != less and checker in checkers_of(simulate(seed, shorter)):
                less = shorter
            number += at_a_time
        at_a_time //= 2
    return less


def _count(seed: int, less: Less, part: str) -> int:
    """Say how many calls or strikes there are, those left out included."""
    play = Play(seed, less)
    try:
        play.to_the_end()
        return play.workload.calls if part == "calls" else play.nemesis.strikes_made
    finally:
        play.world.forget()


def told(seed: int, less: Less) -> Iterator[str]:
    """Tell what happens in what is left of a seed, a line for each thing, and what is wrong with it."""
    play = Play(seed, less)
    try:
        outcome = play.to_the_end()
        yield f"On a {play.world.kind}{', with the journal on disk' if play.world.is_on_disk else ''}:"
        yield from (f"{tick:5}  {line}" for tick, line in sorted(_happened(play.world.history), key=lambda it: it[0]))
        yield from (f"    {line}" for line in outcome.wrong)
    finally:
        play.world.forget()


def _happened(history: History) -> Iterator[tuple[int, str]]:
    for task in history.tasks:
        yield task.started_at, f"task {task.number} begins: {task.name} (in {task.process_id})"
    for tick, fault in history.faults:
        yield tick, f"fault: {fault}"
    for request in (*history.requests, *history.copies):
        attempt = request.attempt
        yield request.tick, f"task {request.task} sends {attempt.operation.kind} {_named(request)}"
        if request.landed_at is not None:
            yield request.landed_at, f"{_named(request)} lands, and leaves {request.after}"
    for fence in history.fences:
        yield fence.tick, f"task {fence.task} fences {fence.key} of {fence.operation_id}"
    for item in history.recorded:
        event = item.event
        what = ""
        if event.happened is Happened.PROPOSED:
            operation = Life.of([event]).operation
            what = f": {operation.kind} {operation.source or ''} {operation.target} in {event.data['transaction']}"
        if event.happened is Happened.BLOCKED:
            what = f": {event.data['stop']}"
        if "evidence" in event.data:
            what = f": {event.data['evidence']} {event.data.get('reason') or ''}"
        yield item.tick, f"task {item.task} records {event.subject} {event.happened}{what}"
    for told_ in history.told:
        yield told_.tick, f"task {told_.task} tells {told_.life.operation_id} as {told_.outcome or told_.life.state}"
    for refused in history.refused:
        yield refused.tick, f"task {refused.task} ends with {type(refused.error).__name__}: {refused.error}"


def _named(request: Request) -> str:
    return f"{request.key} of {request.operation_id} to {request.attempt.operation.target}"


def main(arguments: list[str] | None = None) -> int:
    """Shrink a seed and tell it."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.shrink", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--mutant", help="plant this mistake first")
    options = parser.parse_args(arguments)
    mutant = next((each for each in MUTANTS if each.name == options.mutant), None)
    with planted(mutant) if mutant is not None else nullcontext():
        if not simulate(options.seed).wrong:
            print(f"seed {options.seed} does not fail at {commit()}")
            return 1
        less = shrink(options.seed)
        print("\n".join(told(options.seed, less)))
    print(f"Left out: {len(less.calls)} calls and {len(less.strikes)} strikes. The whole of it: {again(options.seed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
