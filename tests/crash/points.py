"""The moments of a real write at which it can be seen, killed or stopped on purpose.

`watch` puts a `Reach` between Amends and the world: it is called before and after each step of the broker's machine,
each system call that changes a folder, and each COMMIT of the journal. The real driver, the real surface and the real
journal do the work; nothing is replaced, only looked at. To be used in a forked child, which it changes for good.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, cast

from amends import assembly
from amends.assembly import Amends
from amends.broker import Step, Steps, World, drive
from amends.broker.step import Commit, Prepare, Send
from amends.contract.lifecycle import Happened
from amends.ports import Clock
from amends.surfaces import Files
from amends.surfaces.files.syscall import Syscalls
from tests.crash.process import Tell, die

CHANGING = ("rename_noreplace", "rename_exchange", "rename", "link", "unlink", "mkdir", "rmdir", "fsync")
OUTCOMES = frozenset({Happened.APPLIED, Happened.FAILED, Happened.ANSWER_LOST, Happened.CLOSED})


@dataclass(frozen=True, slots=True)
class Point:
    """One moment: before or after `what`, which is a step, a system call or a commit."""

    moment: str
    what: str
    step: Any = None
    answer: Any = None


Reach = Callable[[Point], None]


def watch(amends: Amends, reach: Reach, *, clock: Clock | None = None) -> None:
    """Call `reach` at every point of whatever `amends` does from now on, on `clock` if one is given."""
    world = amends.world
    surfaces = {
        name: Files(
            name,
            amends.settings.root_of(settings),
            journal_id=world.journal.journal_id,
            clock=clock or world.clock,
            past=amends._past,
            syscalls=_seen_syscalls(reach),
        )
        for name, settings in amends.settings.surfaces.items()
    }
    amends.world = replace(world, surfaces=surfaces, clock=clock or world.clock)
    journal = cast(Any, amends.journal)
    journal._end_transaction = _seen(journal._end_transaction, "commit", reach)
    setattr(assembly, "drive", lambda on, machine: drive(on, _watched(machine, reach)))  # noqa: B010 - typed otherwise


def _seen_syscalls(reach: Reach) -> Syscalls:
    syscalls = Syscalls()
    for name in CHANGING:
        setattr(syscalls, name, _seen(getattr(syscalls, name), name, reach))
    return syscalls


def _seen(call: Callable[..., Any], name: str, reach: Reach) -> Callable[..., Any]:
    @wraps(call)
    def seen(*args: Any) -> Any:
        reach(Point("before", name))
        answer = call(*args)
        reach(Point("after", name))
        return answer

    return seen


@dataclass(frozen=True, slots=True)
class _WatchedStep:
    step: Step[Any]
    reach: Reach

    @property
    def is_interruptible(self) -> bool:
        return self.step.is_interruptible

    def perform(self, world: World) -> Any:
        name = type(self.step).__name__
        self.reach(Point("before", name, self.step))
        answer = self.step.perform(world)
        self.reach(Point("after", name, self.step, answer))
        return answer


def _watched(machine: Steps[Any], reach: Reach) -> Steps[Any]:
    """Pass the steps of `machine` on to whoever drives it, each with its points."""
    answer: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = machine.send(answer) if error is None else machine.throw(error)
        except StopIteration as ended:
            return ended.value
        answer = error = None
        try:
            answer = yield _WatchedStep(step, reach)
        except (Exception, KeyboardInterrupt) as raised:
            error = raised


# --- what to do at a point ---------------------------------------------------------------------------------------


def telling(tell: Tell) -> Reach:
    """Tell the moments that matter: which attempt is prepared, intended, sent, and recorded."""

    def reach(point: Point) -> None:
        match point.step:
            case Prepare(attempt) if point.moment == "before":
                tell("prepare", key=attempt.key)
            case Prepare(attempt):
                tell("prepared", key=attempt.key, staged=point.answer.notes["staged"])
            case Send(attempt):
                tell("send" if point.moment == "before" else "sent", operation=attempt.operation_id)
            case Commit(events):
                for event in events:
                    if event.happened is Happened.INTENDED:
                        word = "intent" if point.moment == "before" else "intended"
                        tell(word, operation=event.subject, key=event.data["key"])
                    elif event.happened in OUTCOMES:
                        word = "outcome" if point.moment == "before" else "recorded"
                        tell(word, operation=event.subject, happened=event.happened)
            case _:
                pass

    return reach


@dataclass
class Fuse:
    """Kills the process at the `at`-th point; with no `at` it only counts. `is_fine` counts calls too, not only steps.

    Only points before something count: after one thing is before the next, and nothing happens in between. After the
    last one nothing is left to do.
    """

    at: int | None
    is_fine: bool
    met: list[str] = field(default_factory=list)

    def __call__(self, point: Point) -> None:
        if point.moment == "after" or (point.step is None and not self.is_fine):
            return
        self.met.append(point.what)
        if len(self.met) == self.at:
            die()


@dataclass
class Pause:
    """Stops the process once, at the given moment of the landing call: SIGSTOP to itself."""

    moment: str
    landing: str
    is_sending: bool = False

    def __call__(self, point: Point) -> None:
        if point.what == "Send":
            self.is_sending = point.moment == "before"
        elif self.is_sending and (point.moment, point.what) == (self.moment, self.landing):
            self.is_sending = False
            os.kill(os.getpid(), signal.SIGSTOP)
