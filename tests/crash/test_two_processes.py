"""Two processes that want the same thing at the same moment, again and again."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amends.assembly import Amends
from amends.contract.lifecycle import State
from amends.contract.outcome import WriteOutcome
from tests.crash import judge
from tests.crash.place import Place
from tests.crash.points import telling, watch
from tests.crash.process import Barrier, Tell, asked, fork
from tests.crash.story import OPERATOR, outcomes

FEW, MANY = 50, pytest.param(200, marks=pytest.mark.proof)
"""How many rounds in every run, and in the proof."""

WRITERS = 2
SPELLINGS = ("{}.md", "folder/../{}.md", "./link/{}.md", "folder//..///{}.md")
"""Four spellings of one target; `link` leads to the root."""

Race = Callable[[Amends, int, int], list[dict[str, Any]]]
"""race(amends, party, round): what each party does in a round."""


def run(place: Place, race: Race, *, rounds: int) -> list[list[list[dict[str, Any]]]]:
    """Let the parties race for so many rounds, each in its own process; give what each was told in each round."""
    barrier = Barrier(WRITERS)

    def party(which: int) -> Callable[[Tell], Any]:
        def act(tell: Tell) -> Any:
            amends = Amends.open(place.folder)
            watch(amends, telling(tell))
            told = []
            for number in range(1, rounds + 1):
                barrier.meet(which, round_=number)
                told.append(race(amends, which, number))
            amends.close()
            return told

        return act

    parties = [fork(party(which)) for which in range(WRITERS)]
    listening = parties
    while listening:  # to all of them: one that can't tell any more would wait
        listening = [party for party in listening if party.listen(0.01)]
    answers = [party.answer() for party in parties]
    for each in parties:
        place.record.learn(each.marks)
    return [list(both) for both in zip(*answers, strict=True)]


def settled(place: Place) -> Any:
    def act(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return judge.settle_all(amends)

    return asked(act)


def check_told(told: list[list[dict[str, Any]]]) -> None:
    """Every answer of a round is a whole sentence that says no more than is so."""
    for answers in told:
        for each in answers:
            assert each["text"], f"no answer: {each}"
            if each["outcome"] == WriteOutcome.FAILED:
                assert "nothing was changed" in each["text"] or "already" in each["text"], each
            if each["outcome"] == WriteOutcome.AMBIGUOUS:
                assert "may have applied" in each["text"], each


@pytest.mark.requirement("crash:race:confirm")
@pytest.mark.parametrize("rounds", [FEW, MANY])
def test_two_processes_that_confirm_one_proposal_have_one_effect(rounds: int, tmp_path: Path) -> None:
    """Two people see one proposal in their inboxes and press the button together."""
    place = Place(tmp_path)
    rng = random.Random(1)
    changes = []
    for number in range(1, rounds + 1):
        content = place.content(rng, f"n{number}")
        place.record.expect(f"n{number}.md", content, f"n{number}")
        changes.append({"write": [{"create": f"notes:n{number}.md", "set": {"text": content.decode()}}]})

    def propose(_: Tell) -> Any:
        with Amends.open(place.folder) as amends:
            return [amends.propose(change).transaction for change in changes]

    transactions = asked(propose)

    told = run(
        place, lambda amends, _, number: outcomes(amends.confirm(transactions[number - 1], by=OPERATOR)), rounds=rounds
    )

    for answers in told:
        check_told(answers)
        assert len({each["operation"] for both in answers for each in both}) == 1
    resumed = settled(place)
    assert judge.judge(place, resumed) == []
    assert Counter(write["state"] for write in resumed["found"].values()) == {State.APPLIED: rounds}
    assert set(judge.scan(place, resumed["settled"]).landed.values()) == {1}
    print(Counter(str(each["outcome"]) for answers in told for both in answers for each in both))


@pytest.mark.requirement("crash:race:spellings")
@pytest.mark.parametrize("rounds", [FEW, MANY])
@pytest.mark.parametrize("is_same", [True, False], ids=["same content", "different contents"])
def test_two_processes_that_spell_one_target_differently_have_one_effect(
    is_same: bool, rounds: int, tmp_path: Path
) -> None:
    """A lock on a spelling is no lock: only what the spelling leads to can be held."""
    place = Place(tmp_path)
    (place.root / "folder").mkdir()
    (place.root / "link").symlink_to(".")
    rng = random.Random(1)
    texts: list[list[str]] = []
    for number in range(1, rounds + 1):
        contents = [place.content(rng, f"n{number} by {which}") for which in range(1 if is_same else WRITERS)]
        for content in contents:
            place.record.expect(f"n{number}.md", content, content.decode().partition("\n")[0])
        texts.append([content.decode() for content in contents])

    def race(amends: Amends, which: int, number: int) -> list[dict[str, Any]]:
        text = texts[number - 1][0 if is_same else which]
        spelling = SPELLINGS[(number + which) % len(SPELLINGS)].format(f"n{number}")
        change = {"write": [{"create": f"notes:{spelling}", "set": {"text": text}}]}
        return outcomes(amends.propose(change, confirmed_by=OPERATOR))

    told = run(place, race, rounds=rounds)

    for answers in told:
        check_told(answers)
    resumed = settled(place)
    assert judge.judge(place, resumed) == []
    seen = judge.scan(place, resumed["settled"])
    assert len(seen.visible) == rounds
    assert sum(seen.landed.values()) == rounds, "more landed than one for each target"
    states = Counter(write["state"] for write in resumed["found"].values())
    assert states[State.APPLIED] == rounds
    assert not set(states) - {State.APPLIED, State.FAILED}, states
    print(states, Counter(str(each["evidence"]) for answers in told for both in answers for each in both))
