"""Ctrl-C and cancelled tasks: what may be broken off is, what must not be isn't, and the truth is told either way."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from amends.broker import Interrupted, confirm, drive, drive_async, propose
from amends.contract import Evidence, State, WriteOutcome
from amends.errors import JournalError
from amends.ports import Answer, Attempt
from amends.testing.journal_bench import JournalBench
from tests.broker.bench import AUTO, CREATE, EDIT, Bench, outcomes, request, said
from tests.simulation.surface import Fate

APPLIED, FAILED = WriteOutcome.APPLIED, WriteOutcome.FAILED


@pytest.fixture
def bench(journals: JournalBench) -> Bench:
    """A bench for one driver, which the test itself calls."""
    return Bench(journals, is_async=False)


def press_ctrl_c() -> None:
    """Send ourselves what the terminal sends."""
    os.kill(os.getpid(), signal.SIGINT)


def pressing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Have Ctrl-C come while `method` runs."""

    def pressed(*arguments: object, **named: object) -> Any:
        press_ctrl_c()
        return method(*arguments, **named)

    return pressed


@pytest.mark.parametrize("method", ["read", "prepare"])
@pytest.mark.requirement("broker:interrupt:before")
def test_ctrl_c_before_the_intent_sends_nothing(bench: Bench, method: str) -> None:
    """The person changed their mind in time; that is recorded, and told as a failure with its reason."""
    proposed = bench.propose(request(EDIT, "a"))
    setattr(bench.surface, method, pressing(getattr(bench.surface, method)))
    with pytest.raises(Interrupted) as interrupted:
        drive(bench.world(), confirm(proposed.transaction, by="person"))
    assert said(interrupted.value.ended) == [
        "I couldn't edit sim:a: interrupted before anything was sent; nothing was changed."
    ]
    assert (bench.text, bench.requests) == ("old", 0)


@pytest.mark.requirement("broker:interrupt:before")
def test_ctrl_c_while_planning_leaves_no_trace(bench: Bench) -> None:
    """Nobody was shown anything yet, so there is nothing to record."""
    bench.surface.plan = pressing(bench.surface.plan)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        drive(bench.world(), propose([request(EDIT, "a")], AUTO))
    assert bench.journal.open() == []
    assert bench.requests == 0


@pytest.mark.parametrize(
    ("fate", "outcome"),
    [(Fate.ANSWERED, (APPLIED, Evidence.ACKNOWLEDGED)), (Fate.ANSWER_LOST, (APPLIED, Evidence.RECEIPT))],
)
@pytest.mark.requirement("broker:interrupt:held")
def test_ctrl_c_during_the_send_waits_for_its_outcome(
    bench: Bench, fate: Fate, outcome: tuple[WriteOutcome, Evidence]
) -> None:
    """Half a send is the worst of all; it ends, is recorded, and the interrupt comes with what became of it."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.fates(fate)
    bench.surface.send = pressing(bench.surface.send)  # type: ignore[method-assign]
    with pytest.raises(Interrupted) as interrupted:
        drive(bench.world(), confirm(proposed.transaction, by="person"))
    assert outcomes(interrupted.value.ended) == [outcome]
    assert (bench.text, bench.effects) == ("new", 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.requirement("broker:interrupt:held")
def test_ctrl_c_during_the_first_send_stops_the_second(bench: Bench) -> None:
    """What is under way ends; what was not begun is not begun, and each is told by itself."""
    proposed = bench.propose(request(EDIT, "a"), request(CREATE, "b"))
    bench.surface.send = pressing(bench.surface.send)  # type: ignore[method-assign]
    with pytest.raises(Interrupted) as interrupted:
        drive(bench.world(), confirm(proposed.transaction, by="person"))
    report = interrupted.value.ended
    assert said(report) == [
        "I edited sim:a.",
        "I couldn't create sim:b: interrupted before anything was sent; nothing was changed.",
    ]
    assert report.state is State.BLOCKED
    assert bench.requests == 1


@pytest.mark.requirement("broker:interrupt:held")
def test_ctrl_c_while_the_intent_is_recorded_does_not_tear_it(bench: Bench) -> None:
    """A commit that is broken off is neither recorded nor not."""
    proposed = bench.propose(request(EDIT, "a"))
    bench.journal.commit = pressing(bench.journal.commit)  # type: ignore[method-assign]
    with pytest.raises(Interrupted) as interrupted:
        drive(bench.world(), confirm(proposed.transaction, by="person"))
    assert said(interrupted.value.ended) == ["I edited sim:a."]
    assert (bench.text, bench.effects) == ("new", 1)


@pytest.mark.requirement("broker:interrupt:held")
def test_another_handler_of_ctrl_c_is_left_alone(bench: Bench) -> None:
    """A program with its own idea of Ctrl-C keeps it."""
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        bench.surface.send = pressing(bench.surface.send)  # type: ignore[method-assign]
        report = drive(bench.world(), propose([request(EDIT, "a")], AUTO))
    finally:
        signal.signal(signal.SIGINT, before)
    assert said(report) == ["I edited sim:a."]
    assert seen == [signal.SIGINT]


@pytest.mark.requirement("broker:async:cancelled")
def test_cancelling_the_task_does_not_cancel_the_write(bench: Bench) -> None:
    """A server drops its client's request; the write that is on its way ends, is recorded, and can be asked for."""
    is_sending, may_answer = threading.Event(), threading.Event()
    real = bench.surface.send

    def slow(attempt: Attempt) -> Answer:
        is_sending.set()
        assert may_answer.wait(10)
        return real(attempt)

    bench.send_answers(slow)

    async def story() -> None:
        task = asyncio.create_task(drive_async(bench.world(), propose([request(EDIT, "a")], AUTO)))
        assert await asyncio.to_thread(is_sending.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_answer.set()
        await asyncio.wait_for(asyncio.gather(*_at_work()), timeout=10)

    asyncio.run(story())
    assert (bench.text, bench.effects) == ("new", 1)
    repeat = bench.propose(request(EDIT, "a"), ask=AUTO)
    assert repeat.is_joined
    assert said(repeat) == ["I edited sim:a."]


def _at_work() -> list[asyncio.Task[object]]:
    mine = asyncio.current_task()
    return [task for task in asyncio.all_tasks() if task is not mine]


@pytest.mark.requirement("broker:async:same")
def test_the_async_driver_raises_what_the_machine_raises(bench: Bench) -> None:
    """Both drivers perform the same steps; an error comes out of both alike."""
    bench.journals.break_next_commit(bench.journal, "before")
    with pytest.raises(JournalError):
        asyncio.run(drive_async(bench.world(), propose([request(EDIT, "a")], AUTO)))
    assert bench.requests == 0
