"""The tests bite: a governor with a rule taken out, weakened or moved is caught, by an example or by a history."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from amends import Fact, Operation, fingerprint
from amends.recovery import Audit, Case, Complete, Progress, Spent, Tried, aims, budget, governor, places
from amends.recovery.governor import RULES, Decision, Rule
from amends.recovery.mismatch import mismatches, severity
from tests.recovery import test_budget, test_governor, test_mismatch
from tests.recovery.exploration import THREE_WRITES, TWO_WRITES, Plan, explore

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], None]

EXAMPLES = [
    test
    for module in (test_mismatch, test_budget, test_governor)
    for name, test in vars(module).items()
    if name.startswith("test_")
    and not inspect.signature(test).parameters
    and not hasattr(test, "hypothesis")
    and test is not test_governor.test_the_rules_are_told_in_their_order_by_their_docstrings
]
"""What is decided in each story; the one test that only compares the table with itself would catch everything."""


PLANS = {
    Plan(TWO_WRITES, foreign_max=2, touched=("notes:b.md",)): 8_000,
    Plan(THREE_WRITES, foreign_max=0): None,
}
"""What is explored of each mutant, and up to how many histories: each is caught long before."""


def is_caught_by_an_example() -> bool:
    """Say whether a test by sentence fails as things are."""
    return any(_fails(test) for test in EXAMPLES)


def is_caught_by_a_history() -> bool:
    """Say whether the exploration finds a history that is wrong, or can't go on."""
    return any(_fails(partial(explore, plan, histories_max=most)) for plan, most in PLANS.items())


def _fails(check: Callable[[], object]) -> bool:
    try:
        check()
    except (Exception, pytest.fail.Exception):
        return True
    return False


# --- what a hasty hand could do to the governor --------------------------------------------------------------------


def without(name: str) -> Mutation:
    """Take one rule out of the table."""
    return lambda patch: patch.setattr(governor, "RULES", tuple(rule for rule in RULES if rule.__name__ != f"_{name}"))


def with_rule(name: str, instead: Rule) -> Mutation:
    """Put another rule in the place of one."""
    rules = tuple(instead if rule.__name__ == f"_{name}" else rule for rule in RULES)
    return lambda patch: patch.setattr(governor, "RULES", rules)


def summed(patch: Patch) -> None:
    """Judge progress by the sum of severities, where two mended facts hide a new mismatch."""

    def progress(facts: Iterable[Fact], before: Audit, after: Audit) -> Progress:
        change = sum(severity(fact, after[fact.target]) - severity(fact, before[fact.target]) for fact in facts)
        return Progress.BETTER if change < 0 else Progress.UNCHANGED if change == 0 else Progress.WORSE

    patch.setattr(governor, "progress", progress)
    without("worse")(patch)


def last_state_only(patch: Patch) -> None:
    """Take for oscillation what shows the state of the look before, not of one before that."""

    def oscillating(course: Iterable[Audit]) -> str | None:
        before, latest = [{}, *course][-2:]
        changed = before != latest
        return next((target for target, seen in latest.items() if changed and before.get(target) == seen), None)

    patch.setattr(governor, "oscillating", oscillating)


def by_version(patch: Patch) -> None:
    """Compare versions for oscillation, which a surface that never repeats one makes blind."""

    def oscillating(course: Iterable[Audit]) -> str | None:
        looks = [*course]
        for target, latest in looks[-1].items():
            earlier = [look[target] for look in looks[:-1] if target in look]
            left = [not latest.same_as(seen) for seen in earlier]
            if any(seen.same_as(latest) and any(left[place:]) for place, seen in enumerate(earlier)):
                return target
        return None

    patch.setattr(governor, "oscillating", oscillating)


def fingerprint_only(patch: Patch) -> None:
    """Forget the aims, so that the same step in other words is a fresh one."""
    patch.setattr(Spent, "forbids", lambda spent, operation: fingerprint(operation) in spent.fingerprints)


def own_aims_only(patch: Patch) -> None:
    """Spend what was sent, and not what it was a part of."""

    def also(spent: Spent, operation: Operation, _: Iterable[Operation]) -> Spent:
        known = spent.fingerprints | {fingerprint(operation)}
        return Spent(known, spent.aims | aims(operation), spent.count + 1)

    patch.setattr(Spent, "also", also)


def not_counted(patch: Patch) -> None:
    """Don't count what the transaction spends."""
    patch.setattr(Spent, "is_exhausted", property(lambda spent: False))


def nothing_spent(patch: Patch) -> None:
    """Forget every recovery once it is over."""
    patch.setattr(Case, "used", property(lambda case: Spent()))


def journal_only(patch: Patch) -> None:
    """Count only what has a row in the journal."""
    patch.setattr(Case, "used", property(lambda case: case.spent))


def three_recoveries(patch: Patch) -> None:
    """Be generous."""
    patch.setattr(budget, "PER_TRANSACTION_MAX", 3)


def any_state(patch: Patch) -> None:
    """Recover from whatever is there."""
    patch.setattr(Tried, "is_as_it_was", lambda tried, audit: True)


def target_only(patch: Patch) -> None:
    """Look at where a write leads, and not at where it comes from."""

    def is_as_it_was(tried: Tried, audit: Audit) -> bool:
        target = tried.operation.target
        return audit[target].same_as((tried.left or tried.base).get(target))

    patch.setattr(Tried, "is_as_it_was", is_as_it_was)


def found_or_left(patch: Patch) -> None:
    """Take the old state for untouched although the write provably left another one."""

    def is_as_it_was(tried: Tried, audit: Audit) -> bool:
        starts = [start for start in (tried.base, tried.left) if start is not None]
        wanted = places([tried.operation])
        return any(all(audit[place].same_as(start.get(place)) for place in wanted) for start in starts)

    patch.setattr(Tried, "is_as_it_was", is_as_it_was)


def first_only(patch: Patch) -> None:
    """Judge the first mismatch, and leave the others for later."""
    everything = Case.culprits.fget  # type: ignore[attr-defined]
    patch.setattr(Case, "culprits", property(lambda case: everything(case)[:1]))


def nothing_presses(patch: Patch) -> None:
    """Send planned writes past one that failed."""
    patch.setattr(Case, "pressing", property(lambda case: () if case.unsent else case.mismatches))


def _one_look(case: Case) -> Decision | None:
    return None if mismatches(case.gate, case.now) else Complete(is_steady=True)


def _newest_look(case: Case) -> Decision | None:
    return None if case.mismatches or case.without_facts else Complete(is_steady=True)


BOTH_CATCH: dict[str, Mutation] = {
    "no wait for what may land": without("held"),
    "never complete": without("complete"),
    "on after a person broke it off": without("interrupted"),
    "no oscillation": without("oscillation"),
    "no regression": without("worse"),
    "no planned writes": without("planned"),
    "nothing is destructive": without("destructive"),
    "a step again and again": without("spent"),
    "no bound for a transaction": without("budget"),
    "never recover": without("recover"),
    "a sum of severities": summed,
    "oscillation by the last state only": last_state_only,
    "oscillation by version": by_version,
    "the transaction's budget not counted": not_counted,
    "recoveries forgotten": nothing_spent,
    "three recoveries": three_recoveries,
    "from any state": any_state,
    "planned writes past a failed one": nothing_presses,
    "complete by one look": with_rule("complete", _one_look),
}
"""Caught by an example, and on its own by the exploration."""

EXAMPLES_CATCH: dict[str, Mutation] = {
    "on although blind": without("unable"),
    "no progress needed": without("unchanged"),
    "anything is explained": without("unknown"),
    "fingerprints without aims": fingerprint_only,
    "a part spends only itself": own_aims_only,
    "only rows of the journal count": journal_only,
    "a move without its source": target_only,
    "the old state after a proved part": found_or_left,
    "the first mismatch only": first_only,
    "complete by the newest look": with_rule("complete", _newest_look),
}
"""Caught by an example. The small models have no move, no part of a step, no lost row, no mismatch that is nobody's;
and of the first three, another rule stops every history of them as well, so that only the reason is another."""


@pytest.mark.requirement("recovery:proof:mutants")
def test_the_governor_as_it_is_passes_every_example() -> None:
    """Otherwise each mutant below would be caught for a reason that is not its own."""
    assert len(EXAMPLES) > 50
    assert not is_caught_by_an_example()


@pytest.mark.requirement("recovery:proof:mutants")
@pytest.mark.parametrize("name", [*BOTH_CATCH, *EXAMPLES_CATCH])
def test_an_example_catches_each_weakened_governor(name: str, monkeypatch: Patch) -> None:
    """A test that no mistake breaks tests nothing."""
    {**BOTH_CATCH, **EXAMPLES_CATCH}[name](monkeypatch)
    assert is_caught_by_an_example()


@pytest.mark.requirement("recovery:proof:mutants", "recovery:proof:every_history")
@pytest.mark.parametrize("name", BOTH_CATCH)
def test_the_exploration_alone_catches_each_of_these(name: str, monkeypatch: Patch) -> None:
    """Its checks share no code with the governor, so it is a second witness and not an echo."""
    BOTH_CATCH[name](monkeypatch)
    assert is_caught_by_a_history()


COMMUTE = {
    ("_planned", "_unknown"): "one asks that nothing is amiss but what is planned, the other that something is",
}
"""Neighbours whose order makes no difference, and why."""


@pytest.mark.requirement("recovery:proof:mutants", "recovery:rules:order")
@pytest.mark.parametrize("place", range(len(RULES) - 1), ids=[rule.__name__ for rule in RULES[:-1]])
def test_two_neighbours_of_the_table_can_not_change_places(place: int, monkeypatch: Patch) -> None:
    """The order is part of what is promised: the reason that is given first is the one that a person acts on."""
    one, other = RULES[place : place + 2]
    monkeypatch.setattr(governor, "RULES", (*RULES[:place], other, one, *RULES[place + 2 :]))
    commutes = (one.__name__, other.__name__) in COMMUTE
    assert is_caught_by_an_example() is not commutes
