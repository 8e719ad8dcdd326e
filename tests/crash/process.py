"""Real processes: forked from this one, which has everything imported; watched through a pipe, killed and stopped.

A child tells what it does as lines of JSON. A line that a kill cut short is dropped, so whoever reads only ever
sees what was told whole. No child outlives this process, and no wait is without a bound.
"""

import ctypes
import json
import mmap
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WAIT_S_MAX = 30.0
"""Far above what any child here needs: a child that takes longer hangs, and that is a finding."""

PR_SET_PDEATHSIG = 1

Tell = Callable[..., None]
"""tell(word, **values): write one line to whoever watches."""


class HangError(Exception):
    """A process did not do in time what it must."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line that a child told."""

    word: str
    values: dict[str, Any]


@dataclass
class Child:
    """A forked process. `marks` is what it told so far."""

    pid: int
    reading: int
    marks: list[Mark] = field(default_factory=list)
    status: int | None = None
    _rest: bytes = b""
    _is_silent: bool = False

    def listen(self, timeout_s: float) -> bool:
        """Take in what the child tells within `timeout_s`, or at once if it has; False when it can't tell any more."""
        if self._is_silent:
            return False
        if select.select([self.reading], [], [], timeout_s)[0]:
            chunk = os.read(self.reading, 1 << 16)
            if not chunk:
                self._is_silent = True
                os.close(self.reading)
                return False
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                word, values = json.loads(line)
                self.marks.append(Mark(word, values))
        return True

    def heard(self, word: str) -> Mark | None:
        """Give the last mark `word`; None if it was not told."""
        return next((mark for mark in reversed(self.marks) if mark.word == word), None)

    def wait_for(self, word: str) -> Mark:
        """Wait until the child tells `word`. Raises HangError."""
        deadline = time.monotonic() + WAIT_S_MAX
        while (mark := self.heard(word)) is None:
            if not self.listen(0.1) or time.monotonic() > deadline:
                self.kill()
                raise HangError(f"the child never told {word!r}; it told {self.marks}")
        return mark

    def kill(self) -> None:
        """SIGKILL it, and reap it."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.reap()

    def reap(self) -> int:
        """Wait for its end and give its exit code, negative for a signal. Raises HangError."""
        deadline = time.monotonic() + WAIT_S_MAX
        while self.listen(0.1):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise HangError(f"process {self.pid} did not end; it told {self.marks}")
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def answer(self) -> Any:
        """Wait for its end and give what it returned. Raises HangError, and AssertionError with its traceback."""
        code = self.reap()
        broke = self.heard("broke")
        assert broke is None, broke.values["trace"]
        assert code == 0, f"the child ended with {code} and told {self.marks}"
        done = self.heard("done")
        assert done is not None, f"the child gave no answer; it told {self.marks}"
        return done.values["value"]

    def wait_until_stopped(self) -> None:
        """Wait until it stopped itself. Raises HangError."""
        deadline = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if pid == self.pid:
                assert os.WIFSTOPPED(status), f"the child ended instead of stopping: {status}, {self.marks}"
                return
            self.listen(0.001)
        self.kill()
        raise HangError(f"the child did not stop; it told {self.marks}")

    def go_on(self) -> None:
        """Let a stopped process go on."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def was_killed(self) -> bool:
        """Say whether SIGKILL ended it."""
        return self.status == -signal.SIGKILL


def fork(act: Callable[[Tell], Any]) -> Child:
    """Run `act` in a child of this process; what it returns (JSON) is the child's answer."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(reading)
        tell = teller(writing)
        try:
            tell("done", value=act(tell))
            code = 0
        except BaseException:
            tell("broke", trace=traceback.format_exc())
    finally:
        os._exit(code)


def teller(writing: int) -> Tell:
    """Give the function that writes marks into a pipe."""

    def tell(word: str, **values: Any) -> None:
        rest = memoryview(json.dumps([word, values]).encode() + b"\n")
        while rest:
            rest = rest[os.write(writing, rest) :]

    return tell


def asked(act: Callable[[Tell], Any]) -> Any:
    """Run `act` in a process of its own, and give its answer."""
    return fork(act).answer()


def die() -> None:
    """Be killed, here and now."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL does not return")


class Barrier:
    """Where processes meet before a race: they leave within microseconds of each other. Made before they fork."""

    def __init__(self, parties: int) -> None:
        self._parties = range(parties)
        self._arrived = memoryview(mmap.mmap(-1, 8 * parties)).cast("q")

    def meet(self, party: int, *, round_: int) -> None:
        """Wait for all the others in `round_`, counted from 1. Raises HangError."""
        self._arrived[party] = round_
        deadline = time.monotonic() + WAIT_S_MAX
        while any(self._arrived[other] < round_ for other in self._parties):
            if time.monotonic() > deadline:
                raise HangError(f"party {party} waited in vain for the others in round {round_}")
