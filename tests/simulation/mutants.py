"""Mistakes that somebody could make in the protocol, each as a change to the text of the machines.

A mutant says where, what stands there, and what it makes of it, so that it reads like a diff. The simulation has to
catch every one of them; what it lets through is a promise that nothing keeps. If the text of a machine changes, the
mutant that no longer fits says so, and is rewritten with it.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from amends.broker import life, machine, proposal, sequel, step, transaction
from amends.journal import rule
from amends.recovery import budget, governor, mismatch


@dataclass(frozen=True, slots=True)
class Change:
    """One change of text in a function (`machine.settle`) or a method (`step.Send.perform`)."""

    module: ModuleType
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake, in words and as changes. `seeds` is how many may be needed to find it; none: the stories find it."""

    name: str
    changes: tuple[Change, ...]
    seeds: int = 600


def mutant(name: str, *changes: tuple[ModuleType, str, str, str], seeds: int = 600) -> Mutant:
    """Write a mutant down."""
    return Mutant(name, tuple(Change(*change) for change in changes), seeds)


SURVIVORS = frozenset(
    {
        "subtrees are not claimed",
        "a transaction is complete when one fact holds",
        "the rest goes on after a failure",
        "aims are left out of the budget",
        "a recovery is decided while an attempt may still land",
        "what did not help is tried on",
        "a write about what failed is a transaction of its own",
        "what is BLOCKED goes on when it is confirmed again",
    }
)
"""Mistakes that these seeds do not find. `docs/concepts/how-we-test.md` says which, and what else finds them."""

_ALL: tuple[Mutant, ...] = (
    mutant(
        "a timeout means failed",
        (
            machine,
            "_answered",
            "if outcome_of(answer.evidence) is not WriteOutcome.AMBIGUOUS:",
            "if answer.evidence is Evidence.UNPROVEN:\n        answer = Answer(Evidence.NEVER_SENT)\n    if True:",
        ),
    ),
    mutant(
        "a timeout means applied",
        (
            machine,
            "_answered",
            "if outcome_of(answer.evidence) is not WriteOutcome.AMBIGUOUS:",
            "if answer.evidence is Evidence.UNPROVEN:\n        answer = Answer(Evidence.ACKNOWLEDGED)\n    if True:",
        ),
    ),
    mutant(
        "a target that does not hold it means failed, without a fence",
        (
            machine,
            "settle",
            "answer = yield from do(SetFence(life.attempt, is_gone))",
            "seen = yield from do(Read(life.operation.target))\n"
            "        answer = Answer(Evidence.RECEIPT if life.operation.holds(seen) else Evidence.VOIDED)",
        ),
    ),
    mutant(
        "a lost answer is sent again in silence",
        (
            machine,
            "execute",
            "        answer = _unknown(error)\n",
            "        answer = yield from do(Send(life.attempt))\n",
        ),
    ),
    mutant(
        "a lost answer is sent again under a new key",
        (
            machine,
            "execute",
            "        answer = _unknown(error)\n",
            "        answer = yield from do(Send(replace(life.attempt, key=life.attempt.key + 'b')))\n",
        ),
    ),
    mutant(
        "a dead sender's write is sent again, and not fenced",
        (
            machine,
            "settle",
            "answer = yield from do(SetFence(life.attempt, is_gone))",
            "answer = yield from do(Send(life.attempt))",
        ),
    ),
    mutant(
        "the intent is not durable",
        (machine, "execute", "do(Commit((*pending, intended)))", "do(Commit((*pending, intended), durable=False))"),
    ),
    mutant(
        "the intent is recorded after the effect",
        (
            machine,
            "execute",
            "    try:\n        yield from do(Commit((*pending, intended)))",
            "    try:\n        early = yield from do(Send(replace(attempt)))\n    except Exception as error:\n"
            "        early = _unknown(error)\n    try:\n        yield from do(Commit((*pending, intended)))",
        ),
        (machine, "execute", "answer = yield from do(Send(life.attempt))", "answer = early"),
    ),
    mutant(
        "a commit that failed is sent all the same",
        (
            machine,
            "execute",
            "    life = life.followed_by([intended])\n",
            "    except Exception:\n        pass\n    life = life.followed_by([intended])\n",
        ),
        (
            machine,
            "execute",
            "    current = yield from recall(life.operation_id)\n",
            "    current = life\n",
        ),
    ),
    mutant(
        "the epoch is not looked at before the first byte",
        (
            machine,
            "execute",
            "if current.state is not State.EXECUTING or current.epoch != life.epoch:",
            "if False:",
        ),
    ),
    mutant(
        "a write may be taken from a living process at any time",
        (machine, "may_settle", "> LEASE_MS", "> -1"),
        (
            machine,
            "execute",
            "if current.state is not State.EXECUTING or current.epoch != life.epoch:",
            "if False:",
        ),
    ),
    mutant(
        "nothing is claimed",
        (machine, "execute", "claims=prepared.claims,", "claims=(),"),
    ),
    mutant(
        "subtrees are not claimed",
        (
            machine,
            "execute",
            "claims=prepared.claims,",
            "claims=tuple(replace(claim, subtree=False) for claim in prepared.claims),",
        ),
        seeds=3000,
    ),
    mutant(
        "claims are freed though the attempt may still land",
        (machine, "_undecided", "if not answer.is_quiescent:", "if False:"),
    ),
    mutant(
        "what moved since it was shown is sent",
        (machine, "judge", "if not fresh.same_as(shown):", "if False:"),
    ),
    mutant(
        "the confirmed write is sent without a fresh read",
        (
            machine,
            "execute",
            "seen, seen_source = yield from look(life.operation)",
            "seen, seen_source = life.plan.shown, life.plan.shown_source",
        ),
    ),
    mutant(
        "what is executing is told as applied",
        (
            life,
            "Life.result",
            "outcome = _OUTCOMES.get(self.state)",
            "outcome = _OUTCOMES.get(State.APPLIED if self.state is State.EXECUTING else self.state)",
        ),
        (
            life,
            "Life.result",
            "self.evidence or Evidence.UNPROVEN",
            "self.evidence or (Evidence.ACKNOWLEDGED if outcome is WriteOutcome.APPLIED else Evidence.UNPROVEN)",
        ),
    ),
    mutant(
        "what was partly seen is told as applied",
        (
            machine,
            "_answered",
            "if outcome_of(answer.evidence) is not WriteOutcome.AMBIGUOUS:",
            "if answer.evidence is Evidence.PARTIAL:\n        answer = Answer(Evidence.ACKNOWLEDGED)\n"
            "    if outcome_of(answer.evidence) is not WriteOutcome.AMBIGUOUS:",
        ),
    ),
    mutant(
        "the loser of a race tells its own outcome",
        (
            machine,
            "record",
            "            return (yield from recall(life.operation_id))",
            "            return ended",
        ),
        (
            transaction,
            "run",
            "        report = yield from find(report.transaction)\n        while report.state is State.OPEN:\n",
            "        while report.state is State.OPEN and not has_sent:\n",
        ),
        seeds=3000,
    ),
    mutant(
        "an outcome is told before it is recorded",
        (machine, "record", "yield from do(Commit((*pending, event, *also, *closing(ended, moment.now_ms))))", "pass"),
        (
            transaction,
            "run",
            "        report = yield from find(report.transaction)\n        while report.state is State.OPEN:\n",
            "        while report.state is State.OPEN and not has_sent:\n",
        ),
    ),
    mutant(
        "a fence is set before it is recorded",
        (
            machine,
            "settle",
            "    events.append(Event(life.operation_id, Happened.FENCE_STARTED, moment.now_ms, epoch=epoch))\n",
            "    if not events:\n        events.append(Event(life.operation_id, Happened.TAKEN_OVER, moment.now_ms,"
            " {'owner': me, 'since': moment.since()}, epoch=epoch + 1))\n",
        ),
    ),
    mutant(
        "a takeover keeps the epoch",
        (machine, "settle", "        epoch += 1\n", ""),
    ),
    mutant(
        "nothing is ever taken over",
        (machine, "may_settle", "if life.state is not State.EXECUTING or life.owner is None:", "if True:"),
    ),
    mutant(
        "what is ambiguous is left alone",
        (machine, "may_settle", "if life.state is State.AMBIGUOUS:\n        return True", "pass"),
    ),
    mutant(
        "an undo is not held to what the write left",
        (
            sequel,
            "_reversal",
            "plan = yield from do(PlanUndo(proposal, life.attempt))",
            "from amends.broker.step import Read\n"
            "    seen = yield from do(Read(life.operation.target))\n"
            "    plan = replace((yield from do(PlanUndo(proposal, life.attempt))), shown=seen)",
        ),
    ),
    mutant(
        "an undo is sent as the proposal came, without a confirmation",
        (
            sequel,
            "undo",
            "return (yield from open_transaction([plan], replace(ask, title=title), reverses=[life.operation_id]))",
            "from amends.broker.transaction import run\n"
            "    from amends.contract.lifecycle import Happened\n"
            "    from amends.ports import Event\n"
            "    asking = replace(ask, confirmed_by=None)\n"
            "    report = yield from open_transaction([plan], asking, reverses=[life.operation_id])\n"
            "    if not report.waiting(State.PROPOSED):\n"
            "        return report\n"
            "    [undoing] = report.lives\n"
            "    made_up = Event(undoing.operation_id, Happened.CONFIRMED, 0, {'by': 'nobody', 'digest': ''})\n"
            "    confirmed = replace(report, lives=(undoing.followed_by([made_up]),))\n"
            "    return (yield from run(confirmed, [made_up]))",
        ),
    ),
    mutant(
        "a write is undone by whoever asks, twice if twice asked",
        (machine, "_overtaken", "if reversed_life.undone_by is not None:", "if False:"),
        seeds=0,
    ),
    mutant(
        "any outcome under way answers for every payload",
        (
            proposal,
            "_join",
            'planned = wanted.get(row.fingerprint or "")',
            "planned = plans[0] if row.fingerprint else None",
        ),
        (
            proposal,
            "_join",
            "if {life.fingerprint for life in report.lives if not life.is_recovery} != wanted.keys():",
            "if False:",
        ),
    ),
    mutant(
        "a transaction is complete when one fact holds",
        (
            governor,
            "_complete",
            "if case.mismatches or case.without_facts:",
            "if len(case.mismatches) >= len(case.gate) or case.without_facts:",
        ),
        (governor, "_complete", "if case.again is None or mismatches(case.gate, case.now):", "if case.again is None:"),
    ),
    mutant(
        "the rest goes on after a failure",
        (transaction, "run", "            if not ended.is_done:\n                break\n", ""),
    ),
    mutant(
        "a journal that failed after a send is raised",
        (transaction, "run", "        if not has_sent:\n            raise", "        raise"),
        seeds=3000,
    ),
    mutant(
        "a journal that failed after a recovery is raised",
        (transaction, "run", "has_sent = has_sent or isinstance(decision, Proceed | Recover)", "pass"),
        seeds=3000,
    ),
    mutant(
        "the budget is kept in memory",
        (transaction, "_recover", ', "spends": spends}', "}"),
        (governor, "Case.used", "return self.spent | counted", "return self.spent"),
        seeds=0,
    ),
    mutant(
        "the fingerprint has the label in it",
        (
            transaction,
            "proposed",
            '"fingerprint": fingerprint(plan.operation),',
            '"fingerprint": f"{operation_id} {fingerprint(plan.operation)}",',
        ),
    ),
    mutant(
        "aims are left out of the budget",
        (
            budget,
            "Spent.forbids",
            "or overlap(self.aims, aims(operation))",
            "",
        ),
        (rule, "plus", "or overlap(spent.aims, more.aims)", ""),
        seeds=0,
    ),
    mutant(
        "only the last state is compared to find a return",
        (mismatch, "oscillating", "states[: max(0, place - 1)]", "states[max(0, place - 1) : place]"),
        seeds=0,
    ),
    mutant(
        "a recovery is decided on what was seen before",
        (
            transaction,
            "consider",
            "case = replace(case, now=(yield from audit(report)))",
            "case = replace(case, now=case.history[-1])",
        ),
    ),
    mutant(
        "a recovery is decided while an attempt may still land",
        (
            transaction,
            "consider",
            "if report.is_moving:",
            "if False:",
        ),
        (governor, "_held", "if any(each.standing is Standing.HELD for each in case.tried)", "if False"),
    ),
    mutant(
        "what did not help is tried on",
        (governor, "_unchanged", "if recovery is None or ", "if True or "),
        (governor, "_spent", "if case.used.forbids(culprit.operation):", "if False:"),
        (
            rule,
            "plus",
            "spent.is_exhausted or spent.fingerprints & more.fingerprints or overlap(spent.aims, more.aims)",
            "False",
        ),
        seeds=0,
    ),
    mutant(
        "the second look under the claims is left out",
        (machine, "_overtaken", "if life.plan.guarantee.compare is Compare.ATOMIC:", "if True:"),
    ),
    mutant(
        "a takeover recovers",
        (
            transaction,
            "check",
            "return (yield from concluded((yield from find(report.transaction))))",
            "return (yield from run((yield from find(report.transaction))))",
        ),
    ),
    mutant(
        "what is BLOCKED is gone round under another name",
        (proposal, "_unfinished", "if report.state is State.BLOCKED and report.was_attempted:", "if False:"),
    ),
    mutant(
        "what is BLOCKED just now is gone round",
        (
            proposal,
            "_unfinished",
            "                return report\n",
            "                return report\n            continue\n",
        ),
        seeds=3000,
    ),
    mutant(
        "a write about what failed is a transaction of its own",
        (proposal, "_carried", "if unfinished is not None:", "if False:"),
    ),
    mutant(
        "what is BLOCKED goes on when it is confirmed again",
        (
            proposal,
            "confirm",
            "        if report.state is State.OPEN:",
            "        if report.state is State.BLOCKED:\n            report = replace(report, state=State.OPEN)\n"
            "        if report.state is State.OPEN:",
        ),
    ),
    mutant(
        "the fence of the surface is skipped and its answer made up",
        (
            step,
            "SetFence.perform",
            "return world.surface_of(self.attempt.operation.target).fence("
            "self.attempt, is_sender_gone=self.is_sender_gone)",
            "from amends.contract.outcome import Evidence\n    return Answer(Evidence.VOIDED)",
        ),
    ),
)

MUTANTS = tuple(each for each in _ALL if each.name not in SURVIVORS)
"""Each is caught by some seed or story."""


@contextmanager
def planted(mutant_: Mutant) -> Iterator[None]:
    """Run with the mistake in place; put the machine right afterwards."""
    undo: list[tuple[object, str, Any]] = []
    texts: dict[tuple[ModuleType, str], str] = {}
    try:
        for change in mutant_.changes:
            place = (change.module, change.name)
            text = texts.get(place) or _source(*place)
            if text.count(change.before) != 1:
                raise LookupError(f"'{mutant_.name}' no longer fits {change.name}: {change.before!r} is not there once")
            texts[place] = text.replace(change.before, change.after)
        for (module, name), text in texts.items():
            owner, last = _owner(module, name)
            function = _compiled(module, name, text)
            for where in _everywhere(owner, last):
                undo.append((where, last, where.__dict__[last]))
                setattr(where, last, function)
        yield
    finally:
        for where, last, original in reversed(undo):
            setattr(where, last, original)


def _owner(module: ModuleType, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    owner: Any = module
    for part in path:
        owner = getattr(owner, part)
    return owner, last


def _raw(module: ModuleType, name: str) -> Callable[..., Any]:
    owner, last = _owner(module, name)
    found = owner.__dict__[last]
    function: Callable[..., Any] | None = found.fget if isinstance(found, property) else found
    assert function is not None
    return function


def _source(module: ModuleType, name: str) -> str:
    return textwrap.dedent(inspect.getsource(_raw(module, name)))


def _compiled(module: ModuleType, name: str, text: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(text, f"<mutant of {name}>", "exec", dont_inherit=True, flags=_FUTURE), module.__dict__, scope)
    return scope[name.rpartition(".")[2]]


def _everywhere(owner: Any, name: str) -> list[Any]:
    """Give the owner of a function, and every module that imported it by name."""
    original = owner.__dict__[name]
    modules = [module for key, module in sys.modules.items() if key.startswith(("amends.", "tests."))]
    return [owner, *(each for each in modules if each is not owner and each.__dict__.get(name) is original)]


_FUTURE = __import__("__future__").annotations.compiler_flag
