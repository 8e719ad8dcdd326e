"""SIGKILL inside transactions of several writes and inside their recoveries, gone on with by other processes.

The surface refuses some sends, so that recoveries happen. Each send is counted at the target, in a file that the
journal knows nothing of, and the count is held against the budget: of one write one send and one recovery, of one
transaction two recoveries, whatever was killed in between.
"""

import random
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.contract.lifecycle import State
from amends.errors import AmendsError
from amends.ports import Answer, Attempt
from tests.crash.judge import settle_all
from tests.crash.points import Fuse, watch
from tests.crash.process import asked, fork
from tests.crash.test_killed import seed
from tests.proof import record, share
from tests.transaction.office import OPERATOR, REFUSAL, Office, create, edit

KILLS_IN_EVERY_RUN = 12
KILLS = {"quick": 100, "full": 300}
POINTS_MAX = 120
RESUMES_MAX = 12
WRITES = [edit("a.md", "a new\n"), create("b.md", "b\n"), create("c.md", "c\n"), create("d.md", "d\n")]
TEXTS = {"a.md": "a new\n", "b.md": "b\n", "c.md": "c\n", "d.md": "d\n"}


class _Refusing:
    """Counts what is sent, and refuses the sends that the round's dice say."""

    def __init__(self, surface: Any, office: Office, refused: dict[str, int]) -> None:
        self._surface, self._office, self._refused = surface, office, refused

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surface, name)

    def send(self, attempt: Attempt) -> Answer:
        name = attempt.operation.target.partition(":")[2]
        earlier = self._office.sends.count(name)
        with self._office.ledger.open("a") as ledger:
            ledger.write(name + "\n")
        answer: Answer = REFUSAL if earlier < self._refused[name] else self._surface.send(attempt)
        return answer


def act(office: Office, refused: dict[str, int], at: int | None, transaction: str | None, _: object) -> Any:
    """In a child: ask for it, or settle it and go on with it; killed at the `at`-th step, if there are so many."""
    fuse = Fuse(at, is_fine=True)
    with Amends.open(office.folder) as amends:
        watch(amends, fuse)
        surfaces: dict[str, Any] = {
            name: _Refusing(surface, office, refused) for name, surface in amends.world.surfaces.items()
        }
        amends.world = replace(amends.world, surfaces=surfaces)
        if transaction is None:
            return amends.propose({"write": WRITES}, folder=office.folder, confirmed_by=OPERATOR).state
        amends.check(transaction)
        try:
            return amends.confirm(transaction, by=OPERATOR).state
        except AmendsError as refusal:
            return str(refusal)


def look(office: Office) -> list[Any]:
    """In a child: what the journal says of the newest transaction, its writes and itself."""
    with Amends.open(office.folder) as amends:
        newest = amends.log(limit=1)
        if not newest:
            return [None, None, 0, [], []]
        settled = settle_all(amends)
        (report, *_) = amends.log(limit=1)
        spent = sum("spends" in event.data for event in report.events)
        states = [[each.operation.target, str(each.state), each.is_done] for each in report.planned]
        return [report.transaction, report.state, spent, states, settled["faults"]]


def play(office: Office, rng: random.Random) -> tuple[int, str]:
    """One transaction with kills until it ends; give how many there were, and how it ended."""
    refused = {name: rng.choice((0, 0, 1, 1, 2)) for name in TEXTS}
    kills, transaction, state = 0, None, None
    for _ in range(RESUMES_MAX):
        at = rng.randrange(1, POINTS_MAX) if rng.random() < 0.8 else None
        step = partial(act, office, refused, at, transaction)
        child = fork(step)
        child.reap()
        broke = child.heard("broke")
        assert broke is None, broke.values["trace"]
        kills += child.heard("done") is None
        transaction, state, spent, states, faults = asked(lambda _: look(office))
        verify(office, state, spent, states, faults)
        if state in (State.COMPLETE, State.BLOCKED, State.WITHDRAWN):
            break
    sends = office.sends
    if transaction is not None:
        asked(partial(act, office, refused, None, transaction))
    if state in (State.COMPLETE, State.BLOCKED):
        assert office.sends == sends, "an ended transaction sent something"
    return kills, str(state)


def verify(office: Office, state: str | None, spent: int, states: list[Any], faults: list[str]) -> None:
    """Hold the count at the target and the files against the budget and the journal (invariants 15 to 18)."""
    sends = office.sends
    extra = {name: sends.count(name) - 1 for name in sends}
    assert max(extra.values(), default=0) <= 1, f"one write was recovered twice: {sends}"
    assert sum(extra.values()) <= spent <= 2, f"recoveries at the target: {extra}, in the journal: {spent}"
    assert faults == []
    there = {name: (office.root / name).exists() and office.read(name) == text for name, text in TEXTS.items()}
    if state == State.COMPLETE:
        assert all(there.values()), f"complete, and there is {there}"
    for target, write_state, is_done in states:
        if is_done:
            assert there[target.partition(":")[2]], f"{target} is {write_state}, and not there"


def campaign(kills: int) -> dict[str, int]:
    """Kill so many processes; give how many transactions there were, by how they ended."""
    rng = random.Random(number := seed())
    done, ended = 0, Counter[str]()
    while done < kills:
        folder = Path(tempfile.mkdtemp(prefix="amends-crash-tx-"))
        office = Office(folder / "office")
        office.put("a.md", "old\n")
        killed, state = play(office, rng)
        done += killed
        ended[state] += 1
        shutil.rmtree(folder)
    print(f"{done} kills, {ended.total()} transactions, seed {number}:", dict(ended))
    return dict(sorted(ended.items()))


@pytest.mark.requirement("crash:transaction:budget")
def test_kills_inside_transactions_refresh_no_budget() -> None:
    """A crash is the oldest way to a fresh start, and a budget that a crash refreshes is none."""
    campaign(KILLS_IN_EVERY_RUN)


@pytest.mark.proof
@pytest.mark.requirement("crash:transaction:budget")
def test_hundreds_of_kills_inside_transactions_refresh_no_budget() -> None:
    """The moments between a recovery's record, its intent and its sending are short; many kills find them."""
    started, kills = time.monotonic(), KILLS[share()]
    ended = campaign(kills)
    record(
        "transactions killed",
        tried=kills,
        what="kills inside transactions and their recoveries",
        seconds=time.monotonic() - started,
        transactions=sum(ended.values()),
        ended=ended,
    )
