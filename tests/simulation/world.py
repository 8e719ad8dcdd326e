"""The simulated world: one thread, one clock, processes over one journal, and machines performed one step at a time.

A driver of its own: it performs the same steps as the shipped ones, but can stop a process before a step, after it, or,
for a send, while the request still flies. What is left is what a crash leaves; nothing else of a machine outlives it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from amends.broker import Report, Steps, World, check, confirm
from amends.broker.step import Commit, Send, Step
from amends.contract import Fence, Happened, State, render_outcome
from amends.errors import ConflictError, JournalError
from amends.ports import Event, Journal
from amends.testing import FakeClock, FakeIds
from tests.simulation.history import History, Recorded, Refused, ReportTold, TaskRecord, Told
from tests.simulation.keeping import InMemory, InSqlite, Keeping
from tests.simulation.surface import FakeSurface, Fate

TICKS_MAX = 8_000
"""No run has that many steps, unless it never ends; and then it must not take the machine's memory with it."""
LEASE_AND_MORE_MS = 61_000
"""After that much time, a living process that does not move may be taken over."""

Mode = Literal["before", "after", "flying", "power"]
"""How a planned crash comes: the process ends before a step, after it, with its request on the way, or all power."""


class Crashed(BaseException):
    """The process of a story ended here. Not an Exception: a machine could catch it, and a crash can't be caught."""


class EndlessError(BaseException):
    """A run that goes on for ever. Not an Exception either."""


@dataclass(slots=True, eq=False)
class Process:
    """One process: its own opening of the journal."""

    journal: Journal
    is_alive: bool = True


@dataclass(slots=True, eq=False)
class Task:
    """One machine at work in one process."""

    record: TaskRecord
    process: Process
    machine: Steps[Any]
    step: Step[Any] | None = None
    answer: Any = None
    error: BaseException | None = None
    ended: Any = None
    paused_until: int = 0

    @property
    def is_running(self) -> bool:
        """Say whether there is more to do and somebody to do it."""
        return self.record.stopped_at is None and self.process.is_alive


@dataclass(slots=True)
class SimulatedWorld:
    """Everything outside the machines."""

    kind: str
    is_on_disk: bool = False
    """Whether the journal is the real one."""
    history: History = field(default_factory=History)
    clock: FakeClock = field(default_factory=FakeClock)
    ids: FakeIds = field(default_factory=FakeIds)
    tasks: list[Task] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    tick: int = 0
    crash_points: list[tuple[int, Mode]] = field(default_factory=list)
    """(number of the step, how): planned crashes, in order."""
    steps_done: int = 0
    sends_at: list[int] = field(default_factory=list)
    is_split_past_the_end: bool = False
    surface: FakeSurface = field(init=False)
    keeping: Keeping = field(init=False)
    _seen: int = 0
    _doubtful: dict[tuple[str, Happened, int], TaskRecord] = field(default_factory=dict)
    """What was in a commit that failed with an intent in it, and whose it was: the next commit records it again."""

    def __post_init__(self) -> None:
        self.surface = FakeSurface(self.kind, self.history, self.clock)
        self.keeping = (InSqlite if self.is_on_disk else InMemory)(self.clock, self.ids)

    # --- processes and time ------------------------------------------------------------------------------------------

    def process(self) -> Process:
        """Start a process."""
        self.processes.append(Process(self.keeping.opened()))
        self._sync(0)
        return self.processes[-1]

    def kill(self, process: Process) -> None:
        """End a process without a word, and all that it was doing."""
        process.is_alive = False
        self.keeping.kill(process.journal)
        self.history.deaths[process.journal.process_id] = self.tick
        self._stop(task for task in self.tasks if task.process is process)
        self.note("killed")

    def lose_power(self) -> None:
        """End everything at once, and lose what was not durable."""
        for process in self.processes:
            process.is_alive = False
            self.history.deaths.setdefault(process.journal.process_id, self.tick)
        self._stop(self.tasks)
        left = self.keeping.lose_power()
        self.clock.reboot()
        del self.history.recorded[left:]
        self._seen = len(self.history.recorded)
        self._sync(0)
        self.note("power lost")

    def note(self, fault: str) -> None:
        """Remember a fault."""
        self.history.faults.append((self.tick, fault))

    def _stop(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.record.stopped_at is None:
                task.record.stopped_at = self.tick

    # --- machines ----------------------------------------------------------------------------------------------------

    def start(self, process: Process, name: str, machine: Steps[Any]) -> Task:
        """Start a machine in `process`; nothing of it is done yet."""
        record = TaskRecord(len(self.history.tasks) + 1, name, process.journal.process_id, self.tick)
        self.history.tasks.append(record)
        task = Task(record, process, machine)
        self.tasks.append(task)
        return task

    def advance(self, task: Task, *, instead: BaseException | None = None) -> None:
        """Have `task` do its next step; `instead` is raised in place of doing it."""
        self.tick += 1
        if self.tick > TICKS_MAX:
            raise EndlessError
        self.surface.tick, self.surface.task = self.tick, task.record.number
        if task.step is not None:
            self.steps_done += 1
            mode = self._planned_crash()
            if mode in ("before", "power"):
                self._crash(task, has_power=mode == "before")
            task.answer = task.error = None
            is_durable = not isinstance(task.step, Commit) or task.step.durable
            if isinstance(task.step, Commit):
                self.keeping.will_commit(durable=is_durable)
            if isinstance(task.step, Send):
                self.sends_at.append(self.steps_done)
                self.history.sends.append((self.tick, task.record.number, task.record.previous_at))
            try:
                if instead is not None:
                    raise instead
                if mode == "flying":
                    self._fly(task)
                else:
                    task.answer = task.step.perform(self._ports(task.process))
            except (Exception, KeyboardInterrupt) as error:
                task.error = error
                if isinstance(task.step, Commit) and not isinstance(error, ConflictError):  # what is refused is known
                    self._doubt(task.step.events, task)
            if isinstance(task.step, Commit):
                self._sync(task.record.number, durable=is_durable)
            if mode is not None:
                self._crash(task)
            task.record.previous_at = self.tick
        self._feed(task)

    def finish(self, task: Task) -> Report | None:
        """Have `task` do all its steps."""
        while task.is_running:
            self.advance(task)
        return task.ended if isinstance(task.ended, Report) else None

    def run(self, process: Process, name: str, machine: Steps[Any]) -> Report | None:
        """Run a machine from its first to its last step."""
        return self.finish(self.start(process, name, machine))

    def standing(self, subject: str) -> State | None:
        """Give the recorded state of a subject."""
        return self.keeping.state(subject)

    # --- the end -----------------------------------------------------------------------------------------------------

    def settle_everything(self, process: Process | None = None) -> None:
        """Without faults from here on: a new process checks what is open, until nothing moves any more."""
        process = process or self.process()
        before: list[tuple[str, State, bool]] = []
        rounds_at_rest = 0
        while rounds_at_rest < self._rounds_to_settle:
            now = self._standings(process)
            rounds_at_rest = rounds_at_rest + 1 if now == before else 0
            if not any(holds_claims for _, _, holds_claims in now) and rounds_at_rest:
                return
            before = now
            self.clock.advance(LEASE_AND_MORE_MS)
            self.check_everything(process)

    def check_everything(self, process: Process) -> None:
        """Have `process` check whatever is open."""
        for transaction in dict.fromkeys(row.transaction or row.subject for row in process.journal.open()):
            self.run(process, "check", check(transaction))

    def go_on(self) -> None:
        """Have a person confirm once more what was confirmed and is not over, until nothing moves any more.

        What nobody ever confirmed stays as it is. Where only waiting is a fence, it begins when the sender is gone, so
        there whoever was at work goes first.
        """
        if self.surface.guarantee.fence is Fence.WAIT:
            for each in [each for each in self.processes if each.is_alive]:
                self.kill(each)
        process = self.process()
        self.settle_everything(process)
        before: list[tuple[str, State, bool]] = []
        while (now := self._standings(process)) != before:
            before = now
            open_ones = process.journal.open()
            unasked = {row.transaction for row in open_ones if row.state is State.PROPOSED}
            for row in open_ones:
                if row.state is State.OPEN and row.subject not in unasked:
                    self.run(process, "confirm", confirm(row.subject, by="person"))
            self.settle_everything(process)

    def forget(self) -> None:
        """Let go of everything that refers back to this world, so that the next one finds the memory free."""
        self.keeping.close()
        self.tasks.clear()
        self.surface.fate = self.surface.fence_fate = None  # type: ignore[assignment]
        self.surface.is_unreadable = self.surface.is_stale = None  # type: ignore[assignment]
        self.history = History()

    def run_out_of_time(self) -> None:
        """Let everything that can still land do so."""
        for request in self.surface.flying():
            self.tick += 1
            self.surface.tick = self.tick
            self.surface.land(request)

    # --- the parts ---------------------------------------------------------------------------------------------------

    def _standings(self, process: Process) -> list[tuple[str, State, bool]]:
        """Give what is open, how it stands, and whether it still holds claims; who works on it plays no part."""
        return [(row.subject, row.state, bool(row.claims)) for row in process.journal.open()]

    @property
    def _rounds_to_settle(self) -> int:
        """How many rounds must change nothing: where waiting is the fence, the first one only begins to wait."""
        return 2 if self.surface.guarantee.fence is Fence.WAIT else 1

    def _ports(self, process: Process) -> World:
        return World(process.journal, {"sim": self.surface}, self.clock, self.ids)

    def _planned_crash(self) -> Mode | None:
        if self.crash_points and self.crash_points[0][0] == self.steps_done:
            return self.crash_points.pop(0)[1]
        return None

    def _crash(self, task: Task, *, has_power: bool = True) -> None:
        if has_power:
            self.kill(task.process)
        else:
            self.lose_power()
        raise Crashed

    def _fly(self, task: Task) -> None:
        assert isinstance(task.step, Send)
        fate, self.surface.fate = self.surface.fate, lambda attempt: Fate.FLIES
        try:
            self.surface.send(task.step.attempt)
        finally:
            self.surface.fate = fate

    def _sync(self, task: int, *, durable: bool = True) -> None:
        """Take over what the journal took in this step, a commit that failed included."""
        found = self.keeping.since(self._seen, durable=durable)
        now = (self.clock.boot_id(), self.clock.monotonic_ms())
        self.history.recorded += [
            Recorded(self.tick, self._whose(event, task), event, is_durable, *now) for event, is_durable in found
        ]
        self._seen += len(found)

    def _doubt(self, events: Iterable[Event], task: Task) -> None:
        """Remember whose they are, if there is an intent among them: the next commit records them again."""
        if any(event.happened is Happened.INTENDED for event in events):
            self._doubtful |= {(event.subject, event.happened, event.epoch): task.record for event in events}

    def _whose(self, event: Event, task: int) -> int:
        """Give the task that `event` comes from: who settles the doubt of an earlier commit only writes it down."""
        earlier = self._doubtful.get((event.subject, event.happened, event.epoch)) if self._doubtful else None
        is_ours = earlier is not None and (not task or earlier.process_id == self.history.tasks[task - 1].process_id)
        return earlier.number if earlier is not None and is_ours else task

    def _feed(self, task: Task) -> None:
        try:
            if task.step is None:
                task.step = next(task.machine)
            elif task.error is not None:
                task.step = task.machine.throw(task.error)
            else:
                task.step = task.machine.send(task.answer)
        except StopIteration as ended:
            task.ended = ended.value
            task.record.stopped_at = self.tick
            if isinstance(ended.value, Report):
                self._tell(task, ended.value)
        except (Exception, KeyboardInterrupt) as error:
            task.record.stopped_at = self.tick
            self.history.refused.append(Refused(self.tick, task.record.number, error))

    def _tell(self, task: Task, report: Report) -> None:
        self.history.reports.append(
            ReportTold(self.tick, task.record.number, report, self.standing(report.transaction))
        )
        for life in report.lives:
            result = life.result
            self.history.told.append(
                Told(
                    tick=self.tick,
                    task=task.record.number,
                    life=life,
                    outcome=result.outcome if result else None,
                    text=render_outcome(result).text if result else "",
                    recorded=self.standing(life.operation_id) or life.state,
                    is_joined=report.is_joined,
                )
            )


def is_commit(task: Task) -> bool:
    """Say whether the next step of `task` writes to the journal."""
    return isinstance(task.step, Commit)


def journal_fault() -> JournalError:
    """Make the error of a journal that can't be read just now."""
    return JournalError("the journal can't be read just now")
