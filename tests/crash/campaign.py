"""Kills at random moments: rounds of one story each, its writer killed, the world resumed in another process, judged.

A part of the kills falls anywhere in the time that an unkilled write takes, the rest soon after a moment that the
writer tells of (its intent, its sending, its record), so that a good share falls between intent and outcome. While the
writer lives, this process looks at the targets without a break and takes part as a foreign writer where the round has
one. A round is repeated by its seed and number; the moment of its kill is again a random one of the same kind.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amends.assembly import Amends
from amends.contract.lifecycle import State
from tests.crash import judge
from tests.crash.judge import Violation
from tests.crash.place import Place, digest_of
from tests.crash.points import telling, watch
from tests.crash.process import WAIT_S_MAX, Child, HangError, Tell, asked, fork
from tests.crash.story import KINDS, Story, rival

ROUNDS_PER_PLACE = 10
ANCHORS = {"prepare": 1, "intent": 2, "intended": 4, "send": 4, "sent": 3, "outcome": 2, "recorded": 1}
"""What a kill may follow, and how often of 17 times."""

SOON_S = 0.0005
"""The mean wait after an anchor: about what one synced step takes."""

BEFORE, BETWEEN, AFTER = "before the intent", "between intent and outcome", "after the outcome"

Break = Callable[[Amends], None]
"""Something that makes an Amends dishonest, to see whether the judge notices."""


class ViolatedError(AssertionError):
    """A promise was broken; says which, and how to see it again."""

    def __init__(self, violations: list[Violation], command: str, folder: Path) -> None:
        lines = "\n".join(f"  {each.kind}: {each.text}" for each in violations)
        super().__init__(f"{lines}\nrepeat it: {command}\nwhat it left: {folder}")
        self.violations = violations


@dataclass
class Tally:
    """What a campaign came to."""

    seed: int
    kills: int = 0
    spawned: int = 0
    resumes_killed: int = 0
    unkilled: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    settled: Counter[str] = field(default_factory=Counter)
    orphans: Counter[str] = field(default_factory=Counter)
    looks: int = 0

    def __str__(self) -> str:
        """One line for the report."""
        shares = ", ".join(
            f"{100 * self.phases[each] // max(self.kills, 1)}% {each}" for each in (BEFORE, BETWEEN, AFTER)
        )
        ended = ", ".join(f"{count} {state}" for state, count in sorted(self.outcomes.items()))
        settled = ", ".join(f"{count} {state}" for state, count in sorted(self.settled.items())) or "none"
        left = ", ".join(f"{count} {what}" for what, count in sorted(self.orphans.items())) or "nothing"
        return (
            f"{self.kills} kills ({self.spawned} of whole processes; {self.resumes_killed} more while settling;"
            f" {self.unkilled} writers were faster), {shares}; settled afterwards: {settled};"
            f" all writes: {ended}; {self.looks} looks at targets; left over in .amends: {left}; seed {self.seed}"
        )


class Campaign:
    """Rounds in one folder, numbered from 0."""

    def __init__(self, folder: Path, *, seed: int, broken: Break | None = None) -> None:
        self.folder = folder
        self.tally = Tally(seed)
        self._broken = broken
        self._place: Place | None = None
        self._rounds_here = 0
        self._told: dict[str, str] = {}
        self._known: set[str] = set()
        self._durations = {kind: self._duration(kind) for kind in KINDS}

    def kill(self, kills: int, *, first: int = 0) -> Tally:
        """Go on from round `first` until so many writers were killed. Raises ViolatedError at the first violation."""
        number = first
        while self.tally.kills < kills:
            self.round(number)
            number += 1
        self._leave()
        return self.tally

    def kill_whole(self, kills: int) -> Tally:
        """The same with whole processes: `python -m amends apply …`."""
        number, aim = 0, self.tally.kills + kills
        startup = self._spawned_duration()
        while self.tally.kills < aim:
            self.spawned_round(number, startup)
            number += 1
        self._leave()
        return self.tally

    # --- one round ---------------------------------------------------------------------------------------------------

    def round(self, number: int) -> None:
        """One story, one or two writers, at least one kill, a resume, a verdict; then the same again in peace."""
        rng = random.Random(f"{self.tally.seed}:{number}")
        place = self._enter(number)
        name = f"r{number}"
        kind = rng.choice(sorted(KINDS))
        story = KINDS[kind](place, rng, name)
        company = rng.choices(("none", "rival", "same", "foreign"), weights=(60, 15, 10, 15))[0]
        other = rival(place, rng, story, name) if company == "rival" else story if company == "same" else None
        plans = [self._moment(rng, kind)] + ([self._moment(rng, kind) if rng.random() < 0.5 else None] if other else [])
        intrusion = self._intrusion(place, rng, story, name) if company == "foreign" else None

        before = self._known
        writers = [fork(self._writer(place, each)) for each in (story, *([other] if other else []))]
        violations = self._watch(place, story, writers, plans, intrusion)
        if intrusion is not None:
            intrusion()
        for writer in writers:
            self._heard(place, writer)
        resumed = self._resume(place, rng)
        self._count(writers, resumed, before)
        violations += judge.judge(place, resumed, self._told)
        self._judged(number, violations)

        is_alone = other is None and intrusion is None
        self._repeat(number, story, before, is_alone=is_alone)

    def _repeat(self, number: int, story: Story, before: set[str], *, is_alone: bool, whole: bool = False) -> None:
        """Ask for the same again, in peace, and judge once more: what failed stays failed, and nothing comes twice."""
        assert self._place is not None
        told, resumed = asked(self._repeating(self._place, story))
        violations = judge.judge(self._place, resumed, self._told)
        if is_alone:
            violations += self._unfulfilled(self._place, story, resumed, told)
        self._judged(number, violations, whole=whole)
        self._known = set(resumed["settled"])
        self.tally.outcomes.update(str(resumed["settled"][name]["state"]) for name in self._known - before)

    def _writer(self, place: Place, story: Story) -> Callable[[Tell], Any]:
        def write(tell: Tell) -> Any:
            amends = Amends.open(place.folder)
            watch(amends, telling(tell))
            if self._broken is not None:
                self._broken(amends)
            tell("opened")
            return story.carry_out(amends, place)

        return write

    def _settling(self, place: Place) -> Callable[[Tell], Any]:
        def settle(_: Tell) -> Any:
            with Amends.open(place.folder) as amends:
                if self._broken is not None:
                    self._broken(amends)
                return judge.settle_all(amends)

        return settle

    def _repeating(self, place: Place, story: Story) -> Callable[[Tell], Any]:
        def repeat(_: Tell) -> Any:
            with Amends.open(place.folder) as amends:
                return [story.repeat(amends, place), judge.settle_all(amends)]

        return repeat

    def _watch(
        self,
        place: Place,
        story: Story,
        writers: list[Child],
        plans: list["_Moment | None"],
        intrusion: "_Intrusion | None",
    ) -> list[Violation]:
        """Look at the targets until every writer is killed or done; kill each at its moment."""
        started = time.monotonic()
        looking = _Looking(place, list(story.ends))
        pending = dict(zip(range(len(writers)), plans, strict=True))
        while pending:
            now = time.monotonic() - started
            if now > WAIT_S_MAX:
                for writer in writers:
                    writer.kill()
                raise HangError(f"a writer hangs; it told {[writer.marks for writer in writers]}")
            for which, moment in list(pending.items()):
                if not writers[which].listen(0):
                    del pending[which]
                elif moment is not None and moment.has_come(now, writers[which]):
                    writers[which].kill()
                    del pending[which]
            if intrusion is not None and now >= intrusion.at_s:
                intrusion()
            looking.look()
        for writer in writers:
            writer.reap()
        looking.look()
        self.tally.looks += looking.looks
        return looking.violations

    def _heard(self, place: Place, writer: Child) -> None:
        """Take over what a writer told: what its attempts staged, and outcomes, which must be the recorded ones."""
        place.record.learn(writer.marks)
        done = writer.heard("done")
        if done is not None:
            self._told |= {each["operation"]: each["outcome"] for each in done.values["value"] if "operation" in each}
        broke = writer.heard("broke")
        if broke is not None:
            raise AssertionError(broke.values["trace"])

    def _resume(self, place: Place, rng: random.Random) -> dict[str, Any]:
        """Settle in another process, which is killed too now and then, and then settle again."""
        first: dict[str, Any] | None = None
        if rng.random() < 0.2:
            first = {"found": self._states(place)}
            settler = fork(self._settling(place))
            moment = time.monotonic() + rng.uniform(0, 0.02)
            while time.monotonic() < moment and settler.listen(0.0005):
                pass
            if settler.heard("done") is None:
                settler.kill()
                self.tally.resumes_killed += settler.was_killed
            else:
                settler.reap()
        resumed: dict[str, Any] = asked(self._settling(place))
        return resumed | first if first else resumed

    def _states(self, place: Place) -> dict[str, Any]:
        def look(_: Tell) -> Any:
            with Amends.open(place.folder) as amends:
                return judge.states_in(amends)

        states: dict[str, Any] = asked(look)
        return states

    def _count(self, writers: list[Child], resumed: Mapping[str, Any], before: set[str]) -> None:
        for writer in writers:
            if not writer.was_killed:
                self.tally.unkilled += 1
                continue
            self.tally.kills += 1
            intents = {mark.values["operation"] for mark in writer.marks if mark.word == "intent"}
            self.tally.phases[phase([resumed["found"].get(each, {}).get("state") for each in intents])] += 1
        for name, write in resumed["settled"].items():
            if name not in before and resumed["found"].get(name, {}).get("state") in (State.EXECUTING, State.AMBIGUOUS):
                self.tally.settled[f"{write['state']} ({write['evidence']})"] += 1

    def _unfulfilled(
        self, place: Place, story: Story, resumed: Mapping[str, Any], told: list[dict[str, Any]]
    ) -> list[Violation]:
        """Where nobody interfered, the repeat must have brought what was asked for, and nothing is in doubt."""
        broken = []
        for path, digest in story.ends.items():
            file = place.root / path
            found = digest_of(file.read_bytes()) if file.exists() else None
            if found != digest:
                name = place.record.name(found) if found else "nothing"
                broken.append(Violation("repeat", f"after the repeat {path} shows {name}; told: {told}"))
        broken += [
            Violation("repeat", f"{operation} is {write['state']} though nobody interfered")
            for operation, write in resumed["settled"].items()
            if write["path"] in story.ends and write["state"] == State.CLOSED
        ]
        return broken

    # --- when, and who else ------------------------------------------------------------------------------------------

    def _moment(self, rng: random.Random, kind: str) -> "_Moment":
        if rng.random() < 0.3:
            return _Moment(rng.uniform(0, 1.05 * self._durations[kind]))
        (anchor,) = rng.choices(list(ANCHORS), weights=list(ANCHORS.values()))
        return _Moment(rng.expovariate(1 / SOON_S), anchor=anchor)

    def _intrusion(self, place: Place, rng: random.Random, story: Story, name: str) -> "_Intrusion | None":
        path = rng.choice(sorted(story.ends))
        if not (place.root / path).parent.is_dir():
            return None
        label = f"{name} foreign"
        return _Intrusion(
            rng.uniform(0, 1.3 * self._durations[story.kind]), place, path, place.content(rng, label), label
        )

    def _duration(self, kind: str) -> float:
        """Measure how long the story takes when nobody kills it."""
        rng = random.Random(kind)
        place = Place(self.folder / f"measured-{kind}")
        taken = []
        for number in range(2):
            story = KINDS[kind](place, rng, f"m{number}")
            started = time.monotonic()
            writer = fork(lambda tell, story=story: self._measured(place, story, tell))  # type: ignore[misc]
            writer.answer()
            taken.append(time.monotonic() - started)
        shutil.rmtree(place.folder)
        return max(taken)

    def _measured(self, place: Place, story: Story, tell: Tell) -> Any:
        amends = Amends.open(place.folder)
        watch(amends, telling(tell))
        return story.carry_out(amends, place)

    # --- whole processes ---------------------------------------------------------------------------------------------

    def _command(self, place: Place, story: Story, number: int) -> list[str]:
        change = place.folder / f"change-{number}.json"
        change.write_text(json.dumps(story.change))
        return [sys.executable, "-m", "amends", "-C", str(place.folder), "apply", str(change), "--yes", "--json"]

    def _spawned_duration(self) -> float:
        rng = random.Random("whole")
        place = Place(self.folder / "measured-whole")
        command = self._command(place, KINDS["create"](place, rng, "m"), 0)
        started = time.monotonic()
        subprocess.run(command, check=True, capture_output=True, timeout=WAIT_S_MAX)
        taken = time.monotonic() - started
        shutil.rmtree(place.folder)
        return taken

    def spawned_round(self, number: int, startup_s: float) -> None:
        """One whole process, killed anywhere, or soon after its bytes are staged."""
        rng = random.Random(f"{self.tally.seed}:whole:{number}")
        place = self._enter(number)
        story = KINDS[rng.choice(("create", "create_deep", "edit", "archive", "upload", "document"))](
            place, rng, f"w{number}"
        )
        before = self._known
        command = self._command(place, story, number)
        room = place.root / ".amends" / ("archive" if story.kind == "archive" else "stage")
        known = set(os.listdir(room)) if room.exists() else set()
        soon, anywhere = rng.expovariate(1 / SOON_S), rng.uniform(0, 1.2 * startup_s)
        is_soon = rng.random() < 0.7
        looking = _Looking(place, list(story.ends))
        with (
            (place.folder / "said").open("wb") as said,
            subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as process,
        ):
            started, staged_at = time.monotonic(), None
            while process.poll() is None:
                now = time.monotonic()
                if is_soon and staged_at is None and room.exists() and set(os.listdir(room)) - known:
                    staged_at = now
                is_time = now - started > anywhere if not is_soon else staged_at is not None and now - staged_at > soon
                if is_time or now - started > WAIT_S_MAX:
                    process.send_signal(signal.SIGKILL)
                    break
                looking.look()
            code = process.wait(WAIT_S_MAX)
        assert code in (0, -signal.SIGKILL), (place.folder / "said").read_text()
        looking.look()
        self.tally.looks += looking.looks
        resumed: dict[str, Any] = asked(self._settling(place))
        if code == -signal.SIGKILL:
            self.tally.kills += 1
            self.tally.spawned += 1
            fresh = [write for name, write in resumed["found"].items() if name not in before]
            self.tally.phases[phase([write["state"] for write in fresh])] += 1
        else:
            self.tally.unkilled += 1
        for name, write in resumed["settled"].items():
            if name not in before and resumed["found"][name]["state"] in (State.EXECUTING, State.AMBIGUOUS):
                self.tally.settled[f"{write['state']} ({write['evidence']})"] += 1
        self._judged(number, looking.violations + judge.judge(place, resumed, self._told), whole=True)
        self._repeat(number, story, before, is_alone=True, whole=True)

    # --- the folder --------------------------------------------------------------------------------------------------

    def _enter(self, number: int) -> Place:
        """Give the place of this round: several rounds share one, and all that happened there is judged each time."""
        if self._place is None or self._rounds_here == ROUNDS_PER_PLACE:
            self._leave()
            self._place = Place(self.folder / f"place-{number}")
            self._rounds_here = 0
            self._told = {}
            self._known = set()
        self._rounds_here += 1
        return self._place

    def _leave(self) -> None:
        if self._place is None:
            return
        states = self._states(self._place)
        self.tally.orphans.update(judge.orphans(judge.scan(self._place, states), states))
        shutil.rmtree(self._place.folder)
        self._place = None

    def _judged(self, number: int, violations: list[Violation], *, whole: bool = False) -> None:
        if not violations:
            return
        assert self._place is not None
        first = number - self._rounds_here + 1
        command = (
            f"{sys.executable} -m tests.crash.run --seed {self.tally.seed} --first {first} --kills {number - first + 1}"
        )
        self._place.keep_record("\n".join(f"{each.kind}: {each.text}" for each in violations))
        raise ViolatedError(violations, command + (" --whole" if whole else ""), self._place.folder)


def phase(states: list[str | None]) -> str:
    """Say where a kill fell, from how the writes were found that the killed process had begun."""
    if any(state in (State.EXECUTING, State.AMBIGUOUS) for state in states):
        return BETWEEN
    if any(state in (State.APPLIED, State.FAILED, State.CLOSED) for state in states):
        return AFTER
    return BEFORE


@dataclass
class _Moment:
    """When to kill: so long after the start, or so long after the writer told `anchor`."""

    after_s: float
    anchor: str | None = None
    _heard_at: float | None = None

    def has_come(self, now_s: float, writer: Child) -> bool:
        if self.anchor is None:
            return now_s >= self.after_s
        if self._heard_at is None and writer.heard(self.anchor) is not None:
            self._heard_at = now_s
        return self._heard_at is not None and now_s >= self._heard_at + self.after_s


@dataclass
class _Intrusion:
    """A foreign writer's one act, at its time."""

    at_s: float
    place: Place
    path: str
    content: bytes
    label: str
    is_over: bool = False

    def __call__(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.place.intrude(self.path, self.content, self.label)


@dataclass
class _Looking:
    """Reads the targets again and again while somebody writes, and notes whatever is not whole."""

    place: Place
    paths: list[str]
    violations: list[Violation] = field(default_factory=list)
    looks: int = 0
    _last: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def look(self) -> None:
        for path in self.paths:
            self.looks += 1
            try:
                fd = os.open(self.place.root / path, os.O_RDONLY)
            except OSError:
                continue
            with os.fdopen(fd, "rb") as file:
                seen = os.fstat(fd)
                signature = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
                if self._last.get(path) == signature:
                    continue
                self._last[path] = signature
                digest = digest_of(file.read())
            if digest not in self.place.record.allowed.get(path, set()):
                self.violations.append(Violation(judge.PARTIAL, f"{path} showed {self.place.record.name(digest)}"))
