"""One write of one kind, recorded, and then resumed from every disk that a power loss may have left of it.

A `Scenario` is carried out in one forked child: the write is recorded (and killed while it is sent, and settled by
another process, if that is asked for), then each state is restored at the same path, settled as after a restart,
judged, asked for again, and judged once more.
"""

import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amends.assembly import Amends
from amends.contract.lifecycle import Happened, State
from amends.errors import AmendsError
from amends.surfaces.files.syscall import Syscalls
from tests.crash import judge
from tests.crash.judge import Violation
from tests.crash.place import Place
from tests.crash.power import Disk, states
from tests.crash.process import asked, fork
from tests.crash.story import EVERY_KIND, OPERATOR, Story, create, outcomes, shown
from tests.crash.trace import Committed, Killed, Named, Recorder, Synced, Told, Trace
from tests.journal.conftest import kill_sqlite
from tests.surfaces.fault import WithoutFlags

NOT_AS_RECORDED = "not as recorded"
UNDECIDED = "undecided though nobody interfered"
NOT_REPEATED = "not there after the repeat"
UNUSABLE = "Amends can't go on"


@dataclass(frozen=True)
class Scenario:
    """What is written, and how.

    `is_first`: it is the first write into its folder, whose room it makes. `kill_after`: the writer is killed after so
    many entries of the trace, and another process settles. `forgets`: the sync (counted from 1) that the writer leaves
    out; `has_flags`: the filesystem knows the two renames of Linux; `states_max`: so many of the states are tried.
    """

    kind: str
    is_first: bool = False
    kill_after: int | None = None
    forgets: int | None = None
    has_flags: bool = True
    seed: int = 1
    states_max: int | None = None

    def __str__(self) -> str:
        """Name it in one line."""
        parts = [self.kind]
        parts += ["in a new folder"] * self.is_first + ["without renameat2"] * (not self.has_flags)
        parts += [f"killed after {self.kill_after} entries"] * (self.kill_after is not None)
        parts += [f"without sync {self.forgets}"] * (self.forgets is not None)
        return ", ".join(parts)


def play(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """Carry it out in a process of its own; give the counts, the violations, and the trace's words."""
    child = fork(lambda _: _play(scenario, folder))
    while child.listen(1.0):  # there may be hundreds of disks to go through; what hangs is ended by the test's timeout
        pass
    found: dict[str, Any] = child.answer()
    return found


def _play(scenario: Scenario, folder: Path) -> dict[str, Any]:
    place = Place(folder)
    rng = random.Random(f"{scenario.seed}:{scenario.kind}")
    if not scenario.is_first:
        _carry_out(place, create(place, rng, "first"))
    story = EVERY_KIND[scenario.kind](place, rng, "n")
    starts = shown(place, story.ends)
    known = set(asked(lambda _: list(_states(place)))) if not scenario.is_first else set()
    trace = _record(scenario, place, story)
    syncs = [at for at, entry in enumerate(trace.entries) if isinstance(entry, Synced)]
    if scenario.forgets is not None:
        trace = trace.without(syncs[scenario.forgets - 1])
    disk = Disk(trace, place.root, place.folder / ".amends" / "journal")
    tally = Counter[str]()
    broken: list[list[str]] = []
    rng = random.Random(scenario.seed)
    every = list(states(trace, rng, first=scenario.kill_after or 0))
    if scenario.states_max is not None and len(every) > scenario.states_max:
        every = rng.sample(every, scenario.states_max)
    for how, state in every:
        judge.forget()
        disk.restore(state)
        with disk.shown():
            try:
                violations, ended = _judged(scenario, place, story, starts=starts, known=known, told=dict(state.told))
            except AmendsError as error:
                violations, ended = [Violation(UNUSABLE, str(error))], "unusable"
        tally[ended] += 1
        broken += [[each.kind, each.text, how] for each in violations]
        if broken:
            break
    return {
        "states": tally.total(),
        "ended": dict(tally),
        "broken": broken,
        "syncs": len(syncs),
        "entries": [_word(trace, entry) for entry in trace.entries],
    }


def _carry_out(place: Place, story: Story) -> None:
    def act(_: object) -> None:
        with Amends.open(place.folder) as amends:
            story.ask(amends, place)

    asked(act)


def _states(place: Place) -> dict[str, Any]:
    with Amends.open(place.folder) as amends:
        return judge.states_in(amends)


def _record(scenario: Scenario, place: Place, story: Story) -> Trace:
    """Write, and give the trace; the folder as it was recorded is moved aside, so that its inodes stay taken."""
    journal, copies = place.folder / ".amends" / "journal", place.folder / "copies"
    amends = Amends.open(place.folder)
    recorder = Recorder(place.root, journal, copies, kill_after=scenario.kill_after)
    syscalls = Syscalls if scenario.has_flags else WithoutFlags
    with recorder.recording():
        recorder.watch(amends, syscalls, proven=not scenario.is_first)
        try:
            told = outcomes(story.ask(amends, place))
            recorder.write_down(Told({each["operation"]: str(each["outcome"]) for each in told}))
            amends.close()
        except Killed:
            kill_sqlite(amends.journal)
            with Amends.open(place.folder) as later:
                recorder.watch(later, syscalls)
                judge.settle_all(later)
    os.rename(place.root, place.folder / "recorded")
    shutil.rmtree(place.folder / ".amends")
    return recorder.trace


def _judged(
    scenario: Scenario,
    place: Place,
    story: Story,
    *,
    starts: dict[str, str | None],
    known: set[str],
    told: dict[str, str],
) -> tuple[list[Violation], str]:
    """Settle and judge; ask for it again, and judge that. Give what is broken, and how it ended."""
    with Amends.open(place.folder) as amends:
        resumed = judge.settle_all(amends)
    broken = judge.judge(place, resumed, told)
    ours = [write for name, write in resumed["settled"].items() if name not in known and write["key"]]
    there = shown(place, story.ends)
    for write in ours:
        expected = {State.APPLIED: story.ends, State.FAILED: starts}.get(write["state"])
        paths = [write["path"]] if len(story.change.get("write", ())) > 1 else list(story.ends)
        if expected is not None and any(there[path] != expected[path] for path in paths):
            broken.append(Violation(NOT_AS_RECORDED, f"{write['state']} ({write['evidence']}), and there is {there}"))
        if write["state"] == State.CLOSED and scenario.has_flags:
            broken.append(Violation(UNDECIDED, f"{write['evidence']}, and there is {there}"))
    with Amends.open(place.folder) as amends:
        for report in amends.inbox():
            if len(report.planned) > 1 and report.state is State.OPEN:  # the inbox says so: go on with it
                amends.confirm(report.transaction, by=OPERATOR)
        repeated = story.repeat(amends, place)
        again = judge.settle_all(amends)
    broken += judge.judge(place, again)
    there = shown(place, story.ends)
    if there != story.ends and not _is_for_a_person(ours, repeated):
        broken.append(Violation(NOT_REPEATED, f"there is {there}; told {repeated}"))
    return broken, ", ".join(str(write["state"]) for write in ours) or "never begun"


def _is_for_a_person(ours: list[dict[str, Any]], told: list[dict[str, Any]]) -> bool:
    """Say whether only a person can go on: nothing proves it, or it is a delete, which is not tried again by itself."""
    return any(write["state"] == State.CLOSED for write in ours) or any(
        "BLOCKED" in each.get("refused", "") for each in told
    )


def sending(trace_words: list[str]) -> range:
    """Give how many entries there are after each call of the sending: after the intent, until the next commit."""
    commits = [at for at, word in enumerate(trace_words) if word.startswith("commit")]
    begun = next(at for at in commits if Happened.INTENDED in trace_words[at].split())
    ended = next((at for at in commits if at > begun), len(trace_words))
    return range(begun + 1, ended + 1)


def _word(trace: Trace, entry: Any) -> str:
    match entry:
        case Named(call, names, _):
            return " ".join([call, *(name for _, name in names)])
        case Synced(node):
            return f"fsync {node}"
        case Committed(_, is_durable, happened):
            return " ".join(["commit" if is_durable else "commit-lazily", *happened])
        case _:
            return type(entry).__name__.lower()
