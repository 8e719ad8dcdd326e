"""Short stories, and every way to break them off: a crash at each step, and a second one at each step after that.

A story that ends early is resumed as a user would resume it: whatever is open is checked by a new process, and what
was confirmed is confirmed again. Where two processes take part, `split` says after how many steps of the first the
second one does all of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from amends.broker import Ask, Report, attest, confirm, decline, followup, propose, undo
from amends.contract import OperationKind, State, WriteOutcome
from amends.contract.operation import Json
from amends.ports import Attempt, WriteRequest
from tests.simulation.run import Outcome, conclude
from tests.simulation.surface import Fate, FenceFate
from tests.simulation.world import LEASE_AND_MORE_MS, Crashed, EndlessError, Mode, Process, SimulatedWorld, Task

ASK = Ask("agent")
AUTO = Ask("agent", confirmed_by="operator")
EDIT, CREATE, ARCHIVE, UPLOAD = (
    OperationKind.EDIT,
    OperationKind.CREATE,
    OperationKind.ARCHIVE,
    OperationKind.UPLOAD,
)
OLD: dict[str, Json] = {"text": "old", "note": "note of old"}
THEIRS: dict[str, Json] = {"text": "theirs", "note": "note of theirs"}

Tell = Callable[[SimulatedWorld, int], None]


@dataclass(frozen=True, slots=True)
class Story:
    """A story by its name. `actors` is 2 where it has a split."""

    name: str
    tell: Tell
    actors: int = 1


def request(kind: OperationKind, key: str, text: str = "new") -> WriteRequest:
    """Ask for `text` at `key`."""
    fields = {} if kind in (ARCHIVE, OperationKind.DELETE) else {"text": text, "note": f"note of {text}"}
    return WriteRequest(kind, "sim", key, fields=fields)


def _write(world: SimulatedWorld, process: Process, kind: OperationKind, key: str, text: str = "new") -> Report:
    """Propose and confirm one write, as two calls."""
    report = world.run(process, "propose", propose([request(kind, key, text)], ASK))
    assert report is not None
    done = world.run(process, "confirm", confirm(report.transaction, by="person"))
    return done or report


def _undo(world: SimulatedWorld, process: Process, operation_id: str) -> Report | None:
    report = world.run(process, "undo", undo(operation_id, ASK))
    if report is None:
        return None
    return world.run(process, "confirm", confirm(report.transaction, by="person")) or report


def _fates(world: SimulatedWorld, *fates: Fate) -> None:
    """Give the requests to come these fates, in order; later ones are answered."""
    left = list(fates)

    def fate(attempt: Attempt) -> Fate:
        del attempt
        return left.pop(0) if left else Fate.ANSWERED

    world.surface.fate = fate


def _meanwhile(world: SimulatedWorld, *changes: tuple[Fate, dict[str, Json] | None]) -> None:
    """Give the requests to come these fates; with each, somebody else writes to `sim:a`."""
    left = list(changes)

    def fate(attempt: Attempt) -> Fate:
        del attempt
        if not left:
            return Fate.ANSWERED
        chosen, fields = left.pop(0)
        if fields is not None:
            world.surface.put("sim:a", fields)
        return chosen

    world.surface.fate = fate


def _of(kind: OperationKind, *fates: Fate) -> Tell:
    def tell(world: SimulatedWorld, split: int) -> None:
        del split
        key = "b" if kind is CREATE else "a"
        _fates(world, *fates)
        _write(world, world.process(), kind, key)

    return tell


def _confirmed_with_the_request(world: SimulatedWorld, split: int) -> None:
    del split
    world.run(world.process(), "propose", propose([request(EDIT, "a")], AUTO))


def _stale(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = world.run(process, "propose", propose([request(EDIT, "a")], ASK))
    world.surface.put("sim:a", THEIRS)
    assert report is not None
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _already_so(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = world.run(process, "propose", propose([request(EDIT, "a")], ASK))
    world.surface.put("sim:a", {"text": "new", "note": "note of new"})
    assert report is not None
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _claim_held(world: SimulatedWorld, split: int) -> None:
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a", "one")], ASK))
    assert report is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "propose", propose([request(EDIT, "A", "two")], AUTO))
    world.finish(task)


def _two_confirmers(world: SimulatedWorld, split: int) -> None:
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a"), request(CREATE, "b")], ASK))
    assert report is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="one"))
    _advance(world, task, split)
    world.run(second, "confirm", confirm(report.transaction, by="two"))
    world.finish(task)


def _taken_over(world: SimulatedWorld, split: int) -> None:
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a")], ASK))
    assert report is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.clock.advance(LEASE_AND_MORE_MS)
    world.check_everything(second)
    world.run(second, "propose", propose([request(EDIT, "a", "another")], AUTO))
    world.finish(task)


def _held_up_past_the_bound(world: SimulatedWorld, split: int) -> None:
    """A sender is held up for longer than its lease and than a request may fly; others look at it twice meanwhile."""
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a")], ASK))
    assert report is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    for _ in range(2):
        world.clock.advance(LEASE_AND_MORE_MS)
        world.check_everything(second)
    world.finish(task)


def _undone(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = _write(world, process, EDIT, "a")
    _undo(world, process, report.lives[0].operation_id)


def _creation_undone(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = _write(world, process, CREATE, "b")
    undone = _undo(world, process, report.lives[0].operation_id)
    if undone is not None:
        _undo(world, process, undone.lives[0].operation_id)


def _undo_is_stale(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = _write(world, process, EDIT, "a")
    world.surface.put("sim:a", THEIRS)
    _undo(world, process, report.lives[0].operation_id)


def _undo_of_the_undo(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = _write(world, process, ARCHIVE, "a")
    undone = _undo(world, process, report.lives[0].operation_id)
    if undone is not None:
        _undo(world, process, undone.lives[0].operation_id)


def _two_undos(world: SimulatedWorld, split: int) -> None:
    first, second = world.process(), world.process()
    report = _write(world, first, EDIT, "a")
    name = report.lives[0].operation_id
    task = world.start(first, "undo", undo(name, ASK))
    _advance(world, task, split)
    other = world.run(second, "undo", undo(name, ASK))
    mine = world.finish(task)
    for each in (mine, other):
        if each is not None:
            world.run(first, "confirm", confirm(each.transaction, by="person"))
            world.surface.put("sim:a", {"text": "new", "note": "note of new"})


def _several(*fates: Fate) -> Tell:
    def tell(world: SimulatedWorld, split: int) -> None:
        del split
        process = world.process()
        requests = [request(EDIT, "a"), request(CREATE, "b"), request(CREATE, "c")]
        report = world.run(process, "propose", propose(requests, ASK))
        assert report is not None
        _fates(world, *fates)
        world.run(process, "confirm", confirm(report.transaction, by="person"))

    return tell


def _expired(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = world.run(process, "propose", propose([request(EDIT, "a")], Ask("agent", expires_in_ms=1_000)))
    world.clock.advance(1_000)
    assert report is not None
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _declined(world: SimulatedWorld, split: int) -> None:
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a"), request(CREATE, "b")], ASK))
    assert report is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="one"))
    _advance(world, task, split)
    world.run(second, "decline", decline(report.transaction, by="two", reason="not now"))
    world.finish(task)


def _superseded(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    world.run(process, "propose", propose([request(EDIT, "a")], ASK))
    world.surface.put("sim:a", THEIRS)
    report = world.run(process, "propose", propose([request(EDIT, "a")], ASK))
    assert report is not None
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _each_fails_once(*wanted: tuple[OperationKind, str]) -> Tell:
    """Refuse each write once: its recovery helps, and so would the next one."""

    def tell(world: SimulatedWorld, split: int) -> None:
        del split
        process = world.process()
        report = world.run(process, "propose", propose([request(*each) for each in wanted], ASK))
        assert report is not None
        _fates(world, *[Fate.REFUSED, Fate.ANSWERED] * len(wanted))
        world.run(process, "confirm", confirm(report.transaction, by="person"))

    return tell


def _never_helps(world: SimulatedWorld, split: int) -> None:
    """Nothing is ever taken; the agent asks under other titles, in parts and merged, and a person follows it up."""
    del split
    process = world.process()
    _fates(world, *[Fate.REFUSED] * 8)
    report = _write(world, process, EDIT, "a")
    part = WriteRequest(EDIT, "sim", "a", fields={"text": "new"})
    for requests in ([request(EDIT, "a")], [part], [request(EDIT, "a", "another"), request(CREATE, "b")]):
        world.run(process, "propose", propose(requests, replace(AUTO, title="Step 7b", again=True)))
    _fates(world)
    _taken_up(world, process, report.transaction)


def _taken_up(world: SimulatedWorld, process: Process, transaction: str) -> None:
    if world.standing(transaction) is not State.BLOCKED:
        return
    report = world.run(process, "followup", followup(transaction, ASK))
    if report is not None:
        world.run(process, "confirm", confirm(report.transaction, by="person"))


def _swings(world: SimulatedWorld, split: int) -> None:
    """What is beside the facts goes to and fro while one recovery helps and the next one is due."""
    del split
    process = world.process()
    first, second = ({**OLD, "text": text} for text in ("one", "two"))
    world.surface.put("sim:a", first)
    beside = WriteRequest(EDIT, "sim", "a", fields={"note": OLD["note"]})
    report = world.run(process, "propose", propose([beside, request(CREATE, "b"), request(CREATE, "c")], ASK))
    assert report is not None
    _meanwhile(world, (Fate.REFUSED, second), (Fate.ANSWERED, None), (Fate.REFUSED, first))
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _asked_meanwhile(world: SimulatedWorld, split: int) -> None:
    """A write that failed waits for its recovery, and an agent asks for something about the same."""
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a")], ASK))
    assert report is not None
    _fates(world, Fate.REFUSED)
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "propose", propose([request(EDIT, "a", "another")], replace(AUTO, title="Step 7b")))
    world.finish(task)


def _beside_each_other(world: SimulatedWorld, split: int) -> None:
    """Two writes to one target, the second one from its first to its last step within the first."""
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a")], ASK))
    other = world.run(second, "propose", propose([request(EDIT, "a", "another")], ASK))
    assert report is not None
    assert other is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "confirm", confirm(other.transaction, by="person"))
    world.finish(task)


def _all_undone(world: SimulatedWorld, split: int) -> None:
    del split
    process = world.process()
    report = world.run(process, "propose", propose([request(EDIT, "a"), request(CREATE, "b")], AUTO))
    if report is not None:
        _undo(world, process, report.transaction)


def _within_what_is_archived(world: SimulatedWorld, split: int) -> None:
    """A folder is archived, and somebody writes to what is in it."""
    first, second = world.process(), world.process()
    world.surface.put("sim:a/b", OLD)
    report = world.run(first, "propose", propose([request(ARCHIVE, "a")], ASK))
    other = world.run(second, "propose", propose([request(EDIT, "a/b")], ASK))
    assert report is not None
    assert other is not None
    _fates(world, Fate.FLIES)
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "confirm", confirm(other.transaction, by="person"))
    world.finish(task)


def move(kind: OperationKind, key: str, *, to: str) -> WriteRequest:
    """Ask for `key` to be brought to `to`."""
    return WriteRequest(kind, "sim", to, source_key=key)


def _moved(kind: OperationKind, *fates: Fate) -> Tell:
    """Move, and move back; an answer may be lost on the way."""

    def tell(world: SimulatedWorld, split: int) -> None:
        del split
        process = world.process()
        report = world.run(process, "propose", propose([move(kind, "a", to="b"), request(CREATE, "c")], ASK))
        assert report is not None
        _fates(world, *fates)
        done = world.run(process, "confirm", confirm(report.transaction, by="person"))
        if done is not None and done.lives[0].state is State.APPLIED:
            _undo(world, process, done.lives[0].operation_id)

    return tell


def _moved_under_another_hand(world: SimulatedWorld, split: int) -> None:
    """What is moved is edited by another process meanwhile."""
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([move(OperationKind.MOVE, "a", to="b")], ASK))
    other = world.run(second, "propose", propose([request(EDIT, "a", "another")], ASK))
    assert report is not None
    assert other is not None
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "confirm", confirm(other.transaction, by="person"))
    world.finish(task)


def _asked_while_the_next_failed(world: SimulatedWorld, split: int) -> None:
    """One write was recovered, the next one failed; an agent wants something else of the first one's target."""
    first, second = world.process(), world.process()
    report = world.run(first, "propose", propose([request(EDIT, "a"), request(CREATE, "b")], ASK))
    assert report is not None
    _fates(world, Fate.REFUSED, Fate.ANSWERED, Fate.REFUSED)
    task = world.start(first, "confirm", confirm(report.transaction, by="person"))
    _advance(world, task, split)
    world.run(second, "propose", propose([request(EDIT, "a", "another")], replace(AUTO, title="Step 7b")))
    world.finish(task)


def _behind_a_locked_door(world: SimulatedWorld, split: int) -> None:
    """A write is refused and nothing can be read, so it is BLOCKED; then the door opens, and it is confirmed again."""
    del split
    process = world.process()
    report = world.run(process, "propose", propose([request(EDIT, "a")], ASK))
    assert report is not None
    is_locked = False

    def fate(attempt: Attempt) -> Fate:
        nonlocal is_locked
        del attempt
        is_locked = True
        return Fate.REFUSED

    world.surface.fate, world.surface.is_unreadable = fate, lambda target: is_locked
    try:
        world.run(process, "confirm", confirm(report.transaction, by="person"))
    finally:
        is_locked = False
        _fates(world)
    world.run(process, "confirm", confirm(report.transaction, by="person"))


def _attested_in_flight(world: SimulatedWorld, split: int) -> None:
    """A person says that a write did not apply, while it is still on its way; then another one is asked for."""
    del split
    process = world.process()
    _fates(world, Fate.FLIES)
    world.surface.fence_fate = lambda attempt: FenceFate.NEVER_SET
    try:
        report = _write(world, process, EDIT, "a")
        word = attest(report.transaction, outcome=WriteOutcome.FAILED, by="person", reason="nothing is there yet")
        world.run(process, "attest", word)
    finally:
        world.surface.fence_fate = lambda attempt: FenceFate.ANSWERED
    world.run(process, "propose", propose([request(EDIT, "a", "another")], AUTO))


STORIES: tuple[Story, ...] = (
    Story("create", _of(CREATE)),
    Story("edit", _of(EDIT)),
    Story("archive", _of(ARCHIVE)),
    Story("upload", _of(UPLOAD)),
    Story("confirmed with the request", _confirmed_with_the_request),
    Story("answer lost, landed", _of(EDIT, Fate.ANSWER_LOST)),
    Story("answer lost, never landed", _of(EDIT, Fate.NEVER_LANDS)),
    Story("answer lost, still flying", _of(CREATE, Fate.FLIES)),
    Story("stale", _stale),
    Story("already so", _already_so),
    Story("claim held", _claim_held, actors=2),
    Story("two confirmers", _two_confirmers, actors=2),
    Story("taken over", _taken_over, actors=2),
    Story("held up past the bound", _held_up_past_the_bound, actors=2),
    Story("undo", _undone),
    Story("undo of a creation, and back", _creation_undone),
    Story("undo is stale", _undo_is_stale),
    Story("undo of the undo", _undo_of_the_undo),
    Story("two undos", _two_undos, actors=2),
    Story("the second of three fails", _several(Fate.ANSWERED, Fate.REFUSED)),
    Story("the second of three is lost", _several(Fate.ANSWERED, Fate.FLIES)),
    Story("each of three fails once", _each_fails_once((EDIT, "a"), (CREATE, "b"), (CREATE, "c"))),
    Story("nothing helps", _never_helps),
    Story("to and fro", _swings),
    Story("another write while one failed", _asked_meanwhile, actors=2),
    Story("beside each other", _beside_each_other, actors=2),
    Story("all undone", _all_undone),
    Story("expired", _expired),
    Story("declined", _declined, actors=2),
    Story("superseded", _superseded),
    Story("written to while what it is in is archived", _within_what_is_archived, actors=2),
    Story("moved and moved back", _moved(OperationKind.MOVE)),
    Story("renamed, and the answer was lost", _moved(OperationKind.RENAME, Fate.ANSWER_LOST)),
    Story("moved while it is edited", _moved_under_another_hand, actors=2),
    Story("deleted", _of(OperationKind.DELETE, Fate.FLIES)),
    Story("asked anew after its recovery", _asked_while_the_next_failed, actors=2),
    Story("attested while it may still land", _attested_in_flight),
    Story("behind a locked door", _behind_a_locked_door),
)


def told(
    story: Story, kind: str, *, split: int = 0, crashes: tuple[tuple[int, Mode], ...] = (), is_on_disk: bool = False
) -> SimulatedWorld:
    """Tell `story` up to its end, or its first crash; then resume it, through the other crashes."""
    world = SimulatedWorld(kind, is_on_disk=is_on_disk)
    world.surface.put("sim:a", OLD)
    world.crash_points = list(crashes)
    with contextlib.suppress(Crashed, EndlessError):
        story.tell(world, split)
    while True:
        try:
            world.go_on()
            return world
        except Crashed:
            continue
        except EndlessError:
            return world  # and it is found to be that once more when it is judged


def ended(
    story: Story, kind: str, *, split: int = 0, crashes: tuple[tuple[int, Mode], ...] = (), is_on_disk: bool = False
) -> Outcome:
    """Tell `story`, resume it, let time run out, and judge it."""
    world = told(story, kind, split=split, crashes=crashes, is_on_disk=is_on_disk)
    try:
        return conclude(world)
    finally:
        world.forget()


def splits(story: Story, kind: str) -> Iterator[int]:
    """Give every split of `story` that makes a difference."""
    if story.actors == 1:
        yield 0
        return
    for split in range(SPLIT_MAX):
        world = told(story, kind, split=split)
        yield split
        if world.is_split_past_the_end:
            return


SPLIT_MAX = 100
"""No call in a story has that many steps."""


def points(world: SimulatedWorld, *, after: int = 0) -> Iterator[tuple[int, Mode]]:
    """Give every crash after step `after` that leaves something else behind than its neighbours.

    A machine does nothing between its steps, so that "after a step" is "before the next"; only a send that has left
    has two ends of its own.
    """
    for step in range(after + 1, world.steps_done + 1):
        yield step, "before"
        if step in world.sends_at:
            yield step, "after"
            yield step, "flying"
            yield step, "power"


# --- the parts -------------------------------------------------------------------------------------------------------


def _advance(world: SimulatedWorld, task: Task, steps: int) -> None:
    for _ in range(steps):
        if not task.is_running:
            world.is_split_past_the_end = True
            return
        world.advance(task)
