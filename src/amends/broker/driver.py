"""The two drivers: they perform a machine's steps, one blocking, one for asyncio, and add nothing of their own.

A driver keeps one promise: a step that must not be broken off is not. Ctrl-C waits for such a step, and cancelling
a task does not cancel the write that it waits for.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from .step import Step, Steps, T, World

if TYPE_CHECKING:
    import asyncio  # loaded by those who use it: the command line starts faster without it


class Interrupted(KeyboardInterrupt, Generic[T]):
    """Ctrl-C came while a machine ran; it ended all the same, and `ended` is what it gave."""

    def __init__(self, ended: T) -> None:
        """Keep what the machine gave."""
        super().__init__()
        self.ended = ended


class _Interrupts:
    """Holds Ctrl-C back while a step runs that must not be broken off; only where Python's own handler is in place."""

    def __init__(self) -> None:
        self.was_seen = False
        self._is_waiting = False
        self._is_breakable = False
        self._is_installed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._is_installed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if self._is_installed:
                signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.was_seen = True
        if self._is_breakable:
            self._is_breakable = False
            raise KeyboardInterrupt
        self._is_waiting = True

    def perform(self, step: Step[T], world: World) -> T:
        """Perform `step`; an interrupt that waited is raised before the next breakable one."""
        try:
            self._is_breakable = step.is_interruptible
            if self._is_waiting and step.is_interruptible:
                self._is_waiting = False
                raise KeyboardInterrupt
            return step.perform(world)
        finally:
            self._is_breakable = False


def drive(world: World, machine: Steps[T]) -> T:
    """Run `machine` to its end on `world`.

    Raises what the machine raises, and Interrupted, which bears the machine's answer, if Ctrl-C came meanwhile.
    """
    with _Interrupts() as interrupts:
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                step = machine.send(answer) if error is None else machine.throw(error)
            except StopIteration as ended:
                value: T = ended.value
                if interrupts.was_seen:
                    raise Interrupted(value) from None
                return value
            answer = error = None
            try:
                answer = interrupts.perform(step, world)
            except (Exception, KeyboardInterrupt) as raised:
                error = raised


_running: set[asyncio.Future[Any]] = set()
"""Machines at work: the event loop itself keeps no hold on a task whose caller went away."""


async def drive_async(world: World, machine: Steps[T]) -> T:
    """Run `machine` to its end on `world` without blocking the event loop.

    Steps are performed in worker threads, one after the other. Cancelling the caller leaves the machine running: the
    write ends and is recorded, and only its answer goes untold.
    """
    import asyncio

    task = asyncio.ensure_future(_performed(world, machine))
    _running.add(task)
    task.add_done_callback(_running.discard)
    return await asyncio.shield(task)


async def _performed(world: World, machine: Steps[T]) -> T:
    import asyncio

    answer: Any = None
    error: Exception | None = None
    while True:
        try:
            step = machine.send(answer) if error is None else machine.throw(error)
        except StopIteration as ended:
            value: T = ended.value
            return value
        answer = error = None
        try:
            answer = await asyncio.to_thread(step.perform, world)
        except Exception as raised:
            error = raised
