"""Every history of a small world: notes with facts, planned writes, other writers, and a governor that decides.

The world knows what really happened: who set each field, and when. The checks are made on that, with none of the
governor's own code for severity, progress, oscillation or overlap, so that a mistake there is not made twice. Wherever
something could go one way or another (how a send ends, what somebody else does between two steps), every way is
followed to its end, depth first; each end is one history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from amends import Fact, Observation, Operation, OperationKind, Presence
from amends.recovery import (
    Audit,
    Blocked,
    Case,
    Complete,
    Decision,
    LookAgain,
    Proceed,
    Recover,
    Spent,
    Standing,
    Tried,
    Wait,
    decide,
    fingerprint,
    places,
)

WANTED, OLD, ALIEN, NOTHING = "wanted", "old", "alien", None
STEPS_MAX = 40
"""Far more than any history has; one that gets here does not end."""

FINAL_EVERY = 8
"""Of so many ends, one is asked about again: each costs as much as all other decisions of its history."""


class Violation(AssertionError):
    """A history in which a rule of the discipline was broken; the text is which one and how it came to that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One transaction to explore: its writes, and how much other writers may do in one history.

    `remembers` is whether whoever decides knows every earlier reading, or, as after a restart before each decision,
    only what the journal must have: the first one and those that recoveries were decided on. `repeats` is whether the
    surface has no version of its own, so that what was changed and changed back looks unchanged. `touched` are the
    targets that others write to.
    """

    writes: tuple[Operation, ...]
    foreign_max: int
    remembers: bool = True
    repeats: bool = False
    touched: tuple[str, ...] = ("notes:a.md", "notes:b.md", "notes:c.md")

    @property
    def gate(self) -> tuple[Fact, ...]:
        return tuple(fact for each in self.writes for fact in each.postcondition)


def step(target: str, *names: str) -> Operation:
    """A write that sets fields of a note to what is wanted."""
    return Operation(OperationKind.EDIT, target, tuple(Fact(target, name, WANTED) for name in names))


@dataclass(frozen=True, slots=True)
class Place:
    """What is really at a target. `version` never repeats; `is_foreign` is whether somebody else ever changed it."""

    fields: tuple[tuple[str, str], ...]
    version: int = 0
    is_foreign: bool = False
    is_readable: bool = True

    def with_fields(self, changed: dict[str, str | None], *, by_us: bool) -> Place:
        merged = {**dict(self.fields), **changed}
        kept = tuple((name, value) for name, value in merged.items() if value is not None)
        return replace(self, fields=kept, version=self.version + 1, is_foreign=self.is_foreign or not by_us)

    def seen(self, at: int, *, repeats: bool) -> Observation:
        if not self.is_readable:
            return Observation(Presence.UNREADABLE, at_ms=at, detail="locked")
        return Observation(Presence.PRESENT, None if repeats else str(self.version), dict(self.fields), at_ms=at)


World = dict[str, Place]


@dataclass(frozen=True, slots=True)
class State:
    """One moment of one history."""

    plan: Plan
    world: World
    tried: tuple[Tried, ...]
    looks: tuple[Audit, ...]
    spent: Spent = field(default_factory=Spent)
    foreign: int = 0
    at: int = 1
    mutated_at: int = 0
    is_recovering: bool = False
    path: tuple[str, ...] = ()

    def then(self, said: str, **changes: Any) -> State:
        if len(self.path) >= STEPS_MAX:
            raise self.violation("it does not end")
        return replace(self, at=self.at + 1, path=(*self.path, said), **changes)

    def violation(self, what: str) -> Violation:
        return Violation(f"{what}: {' | '.join(self.path)}")


def start(plan: Plan) -> State:
    """The beginning: every field is old, and every write is planned from there."""
    world: World = {}
    for fact in plan.gate:
        known = dict(world[fact.target].fields) if fact.target in world else {}
        world[fact.target] = Place(tuple({**known, fact.field: OLD}.items()))
    first = reading(plan, world, 0)
    tried = tuple(
        Tried(
            operation=each,
            standing=Standing.UNSENT,
            base={place: first[place] for place in places([each])},
            undoable=True,
        )
        for each in plan.writes
    )
    return State(plan, world, tried, (first,))


def reading(plan: Plan, world: World, at: int) -> Audit:
    return {target: place.seen(at, repeats=plan.repeats) for target, place in world.items()}


# --- what the world does -------------------------------------------------------------------------------------------


def disturbed(state: State) -> Iterator[State]:
    """The state as it is, and as each single act of somebody else would make it."""
    yield state
    if state.foreign >= state.plan.foreign_max:
        return
    for target in (each for each in state.plan.touched if each in state.world):
        place = state.world[target]
        fields = dict(place.fields)
        changes = {
            f"{target}.{fact.field}:={value}": place.with_fields({fact.field: value}, by_us=False)
            for fact in state.plan.gate
            if fact.target == target
            for value in (WANTED, OLD, ALIEN, NOTHING)
            if fields.get(fact.field) != value
        }
        changes[f"{target} {'locked' if place.is_readable else 'unlocked'}"] = replace(
            place, is_readable=not place.is_readable
        )
        for said, after in changes.items():
            yield state.then(said, world={**state.world, target: after}, foreign=state.foreign + 1)


def ends_of(state: State, place: int, base: Audit) -> Iterator[State]:
    """Every way in which sending the write at `place` can end, from `base`, the state that it was decided on."""
    write = state.tried[place]
    target = write.operation.target
    here = state.world[target]

    def ended(said: str, standing: Standing, world: World | None = None, **more: Any) -> State:
        tried = (*state.tried[:place], replace(write, standing=standing, **more), *state.tried[place + 1 :])
        return state.then(said, tried=tried, world=world or state.world, mutated_at=state.at)

    yield ended("refused", Standing.FAILED)
    yield ended("interrupted", Standing.FAILED, was_interrupted=True)
    if not here.seen(state.at, repeats=state.plan.repeats).same_as(base[target]):
        return  # the last read before sending finds it, or the condition of the write does: stale
    wanted = {fact.field: WANTED for fact in write.operation.postcondition}
    landed = {**state.world, target: here.with_fields(dict(wanted), by_us=True)}
    yield ended("landed", Standing.APPLIED, landed)
    yield ended("lied about", Standing.APPLIED)
    yield ended("lost, did not land", Standing.CLOSED)
    yield ended("lost, landed", Standing.CLOSED, landed)
    yield ended("held", Standing.HELD)
    if len(wanted) > 1:
        first = dict(list(wanted.items())[:1])
        part = {**state.world, target: here.with_fields(dict(first), by_us=True)}
        yield ended("landed in part", Standing.CLOSED, part)
        left = {target: part[target].seen(state.at, repeats=state.plan.repeats)}
        yield ended("landed in part, with proof", Standing.CLOSED, part, left=left)


def late_ends_of(state: State) -> Iterator[State]:
    """Every way in which what was held ends: like a send, but that it can't be held for ever."""
    place = next(number for number, each in enumerate(state.tried) if each.standing is Standing.HELD)
    base = state.tried[place].base
    return (each for each in ends_of(state, place, base) if each.path[-1] not in ("held", "interrupted"))


# --- what is checked -----------------------------------------------------------------------------------------------


def distance(fact: Fact, audit: Audit) -> int:
    seen = audit[fact.target]
    if seen.presence is Presence.UNREADABLE:
        return 3
    if fact.field not in seen.fields:
        return 2
    return int(seen.fields[fact.field] != fact.value)


def distances(state: State, audit: Audit) -> list[int]:
    return [distance(fact, audit) for fact in state.plan.gate]


def check_send(state: State, case: Case) -> None:
    """What must be true of every sending, a first one or a recovery."""
    latest = case.again or case.now
    if any(each.standing is Standing.HELD for each in state.tried):
        raise state.violation("sent while an attempt may land")
    if any(each.was_interrupted for each in state.tried):
        raise state.violation("sent after a person broke it off")
    if min(seen.at_ms or 0 for seen in latest.values()) <= state.mutated_at:
        raise state.violation("sent on a reading that is older than the last mutation")
    if any(seen.presence is Presence.UNREADABLE for seen in latest.values()):
        raise state.violation("sent while a target can't be read")
    known = case.course if state.plan.remembers else (*state.looks[:1], *(t.base for t in state.tried if t.is_recovery))
    for before, after in zip(known, [*known[1:], latest], strict=True):
        if any(b > a for a, b in zip(distances(state, before), distances(state, after), strict=True)):
            raise state.violation("sent after something got worse")
    for target in latest:
        shown = [look[target].fields for look in (*known, latest) if look[target].presence is Presence.PRESENT]
        turns = [fields for number, fields in enumerate(shown) if number == 0 or fields != shown[number - 1]]
        if len({str(sorted(fields.items())) for fields in turns}) < len(turns):
            raise state.violation("sent although a target came back to what it was")


def check_order(state: State, case: Case, operation: Operation) -> None:
    """What must be true of every first sending: it is the next one, and all before it hold."""
    place = next(number for number, each in enumerate(state.tried) if each.standing is Standing.UNSENT)
    if state.tried[place].operation != operation:
        raise state.violation("a planned write was passed over")
    earlier = [fact for each in state.tried[:place] for fact in each.operation.postcondition]
    if any(distance(fact, case.latest) for fact in earlier):
        raise state.violation("a planned write past one that is amiss")


def check_recovery(state: State, case: Case, operation: Operation) -> None:
    """What must be true of every recovery."""
    check_send(state, case)
    made = [each.operation for each in state.tried if each.is_recovery]
    if len(made) >= 2:
        raise state.violation("a third recovery")
    if fingerprint(operation) in {fingerprint(each) for each in made}:
        raise state.violation("a second recovery of one fingerprint")
    fields = {(fact.target, fact.field) for fact in operation.postcondition}
    for each in made:
        if fields & {(fact.target, fact.field) for fact in each.postcondition}:
            raise state.violation("a second recovery with the same aim")
    if operation.kind is OperationKind.DELETE:
        raise state.violation("a destructive recovery")
    here = state.world[operation.target]
    known = [each.left or each.base for each in state.tried if each.operation == operation]
    if here.is_foreign and not state.plan.repeats:
        raise state.violation("a recovery over what somebody else wrote")
    if dict(here.fields) not in [audit[operation.target].fields for audit in known]:
        raise state.violation("a recovery from a state that nobody confirmed")


def check_progress(state: State, case: Case) -> None:
    """What must be true at the first decision after a recovery that goes on in any way."""
    recovery = next(each for each in reversed(state.tried) if each.is_recovery)
    before, after = distances(state, recovery.base), distances(state, case.again or case.now)
    steps = [b - a for a, b in zip(before, after, strict=True)]
    if max(steps) > 0 or min(steps) >= 0:
        raise state.violation("went on after a recovery that made nothing better, or something worse")


def check_end(state: State, case: Case, decision: Decision) -> None:
    """What must be true of every end."""
    if isinstance(decision, Complete):
        if case.again is None or any(distances(state, case.now)) or any(distances(state, case.again)):
            raise state.violation("complete, but not in both readings")
        return
    if not any(distances(state, case.latest)):
        raise state.violation("BLOCKED although everything holds")


def check_final(state: State, case: Case) -> None:
    """What must be true where it was BLOCKED, and somebody asks again while nothing changed."""
    if not isinstance(decide(replace(case, history=case.course, now=case.latest, again=None)), Blocked):
        raise state.violation("BLOCKED went on by itself")


# --- the exploration -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """How many histories ended in what way."""

    ends: Counter[str] = field(default_factory=Counter)
    recoveries: Counter[int] = field(default_factory=Counter)

    @property
    def histories(self) -> int:
        return self.ends.total()


def explore(plan: Plan, *, histories_max: int | None = None) -> Tally:
    """Follow every history of `plan` to its end and count them. Raises Violation at the first that is wrong."""
    tally = Tally()
    begun = start(plan)
    stack: list[State] = []
    for state in disturbed(begun):
        stack += _sent(state, 0, begun.looks[0])
    while stack:
        stack += _judged(stack.pop(), tally)
        if histories_max is not None and tally.histories >= histories_max:
            break
    return tally


def _sent(state: State, place: int, base: Audit) -> list[State]:
    """Every state in which somebody reads next: the send ended in any way, and anybody may have done anything."""
    return [after for end in ends_of(state, place, base) for after in disturbed(end)]


def _judged(state: State, tally: Tally) -> list[State]:
    """Read, ask the governor, and give every state that follows; at an end, count it."""
    now = reading(state.plan, state.world, state.at)
    state = state.then("read")
    case = _case(state, now)
    decision = decide(case)
    if isinstance(decision, LookAgain):
        found = []
        for later in disturbed(state):
            again = reading(later.plan, later.world, later.at)
            looked = later.then("read again")
            second = replace(case, again=again)
            found += _followed(looked, second, decide(second), tally)
        return found
    return _followed(state, case, decision, tally)


def _case(state: State, now: Audit) -> Case:
    known = state.looks
    if not state.plan.remembers:
        known = (*state.looks[:1], *(each.base for each in state.tried if each.is_recovery))
    return Case(state.plan.gate, state.tried, state.spent, known, now)


def _followed(state: State, case: Case, decision: Decision, tally: Tally) -> list[State]:
    state = replace(
        state, looks=(*state.looks, case.now) if case.again is None else (*state.looks, case.now, case.again)
    )
    if state.is_recovering and isinstance(decision, Proceed | Recover):
        check_progress(state, case)
    match decision:
        case Wait():
            waiting = state.then("wait")
            if all(each.standing is not Standing.HELD for each in waiting.tried):
                raise waiting.violation("waits for nothing")
            return [after for end in late_ends_of(waiting) for after in disturbed(end)]
        case Proceed(operation):
            check_send(state, case)
            check_order(state, case, operation)
            place = next(number for number, each in enumerate(state.tried) if each.standing is Standing.UNSENT)
            sending = state.then("proceed", is_recovering=False)
            base = state.tried[place].base
            return [after for moment in disturbed(sending) for after in _sent(moment, place, base)]
        case Recover(operation):
            check_recovery(state, case, operation)
            planned = [each.operation for each in state.tried if not each.is_recovery]
            write = Tried(
                operation=operation, standing=Standing.HELD, base=case.latest, undoable=True, is_recovery=True
            )
            sending = state.then(
                "recover",
                tried=(*state.tried, write),
                spent=state.spent.also(operation, planned),
                is_recovering=True,
            )
            place = len(state.tried)
            return [after for moment in disturbed(sending) for after in _sent(moment, place, case.latest)]
        case Complete() | Blocked():
            check_end(state, case, decision)
            if isinstance(decision, Blocked) and tally.histories % FINAL_EVERY == 0:
                check_final(state, case)
            said = "complete" if isinstance(decision, Complete) else str(decision.stop)
            tally.ends[said] += 1
            tally.recoveries[sum(each.is_recovery for each in state.tried)] += 1
            return []
        case LookAgain():
            raise state.violation("looks for ever")


TWO_WRITES = (step("notes:a.md", "text", "mode"), step("notes:b.md", "text"))
"""Three facts over two targets; the first write can land in part."""

THREE_WRITES = (step("notes:a.md", "text"), step("notes:b.md", "text"), step("notes:c.md", "text"))
"""Three facts over three targets: one write more than there are recoveries."""
