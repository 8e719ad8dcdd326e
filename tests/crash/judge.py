"""The judge: holds what lies in the folder against the record, and both against what the journal says.

Its law is conservation. Nobody destroys bytes, so each content is found as often as it was put there by others plus
as often as it landed: at a path, among what later writes displaced, or in the foreign writer's own folder. What an
attempt set aside before it landed lies under its own key and does not count. Whatever the journal says must add up
with that count: applied is landed once, failed is never landed, not even later.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amends.assembly import Amends
from amends.contract.lifecycle import State
from amends.contract.message import render_outcome
from tests.crash.place import Place

DECIDED = frozenset({State.APPLIED, State.FAILED, State.CLOSED, State.ABANDONED})
NEVER_SENT = frozenset({State.PROPOSED, State.CONFIRMED, State.DECLINED, State.SUPERSEDED, State.EXPIRED})


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise. `kind` is one of the names below, `text` what was found."""

    kind: str
    text: str


PARTIAL = "partial or foreign content visible"
LOST_INTENT = "lost intent"
UNSETTLED = "unsettled"
FALSE_APPLIED = "false applied"
FALSE_FAILED = "false failed"
DUPLICATE = "duplicate"
UNINTENDED = "effect without intent"
BYTES_LOST = "bytes lost"
FAULT = "journal fault"
CLAIM = "leftover claim"
LEFTOVER = "leftover in .amends"
LIE = "told otherwise than recorded"


# --- what the journal says ---------------------------------------------------------------------------------------


def states_in(amends: Amends) -> dict[str, dict[str, Any]]:
    """Give what is recorded of every write, by operation id."""
    found: dict[str, dict[str, Any]] = {}
    for report in amends.log(limit=10_000):
        for life in report.lives:
            result = life.result
            found[life.operation_id] = {
                "transaction": report.transaction,
                "whole": report.state,
                "state": life.state,
                "evidence": life.evidence,
                "kind": life.operation.kind,
                "path": life.operation.target.partition(":")[2],
                "content": life.plan.payload.get("content"),
                "key": life.key,
                "staged": life.prepared.get("staged"),
                "says_applied": result is not None and render_outcome(result).applied,
                "is_undone": life.undone_by is not None,
            }
    for name in amends.journal.matching("op_", limit=100_000):
        found.setdefault(name, {"state": None, "transaction": None, "path": "", "content": None, "key": None})
    return found


def settle_all(amends: Amends) -> dict[str, Any]:
    """Resume, as after a restart: look, settle whatever may be settled, and look again."""
    found = states_in(amends)
    for report in amends.inbox():
        if any(life.is_holding for life in report.lives):
            amends.check(report.transaction)
    verification = amends.verify()
    return {
        "found": found,
        "settled": states_in(amends),
        "claims": [[row.subject, claim.name] for row in amends.journal.open() for claim in row.claims],
        "faults": list(verification.faults),
    }


# --- what lies in the folder -------------------------------------------------------------------------------------


@dataclass
class Scan:
    """Every content in the folder. `displaced` and `aside` are what the archive holds, by the key it lies under."""

    visible: dict[str, str] = field(default_factory=dict)
    landed: Counter[str] = field(default_factory=Counter)
    displaced: dict[str, set[str]] = field(default_factory=dict)
    aside: dict[str, set[str]] = field(default_factory=dict)
    staged: dict[str, set[str]] = field(default_factory=dict)
    litter: list[str] = field(default_factory=list)


_hashes: dict[tuple[int, int, int, int], str] = {}


def forget() -> None:
    """Forget what was read: an inode that shows the same size and times may have other bytes on another disk."""
    _hashes.clear()


def _digest(path: Path) -> str:
    seen = path.stat()
    known = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    if known not in _hashes:
        with path.open("rb") as file:
            _hashes[known] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    return _hashes[known]


def _files(folder: Path) -> Iterator[Path]:
    for above, _, names in os.walk(folder):
        for name in names:
            yield Path(above, name)


def scan(place: Place, writes: Mapping[str, Mapping[str, Any]]) -> Scan:
    """Read everything that is there. What an attempt staged is known from the record, else from `writes`."""
    own = {write["key"]: write.get("staged") for write in writes.values()} | place.record.own
    found, seen = Scan(), set[int]()
    room = place.root / ".amends"
    for file in _files(place.root):
        if not file.is_relative_to(room):
            digest = _digest(file)
            seen.add(file.stat().st_ino)
            found.visible[file.relative_to(place.root).as_posix()] = digest
            found.landed[digest] += 1
    for file in _files(place.foreign):
        found.landed[_digest(file)] += 1
    for file in _files(room / "archive"):
        name, *below = file.relative_to(room / "archive").parts
        if below == ["listed"]:  # what a delete was confirmed for, in our own words
            continue
        key, digest = name.removesuffix(".unsent"), _digest(file)
        staged = own.get(key)
        if staged is not None and (room / "archive" / name).stat().st_ino == staged:
            found.aside.setdefault(key, set()).add(digest)
        elif file.stat().st_ino not in seen:  # else it is a second name of what is at its target still
            found.displaced.setdefault(key, set()).add(digest)
            found.landed[digest] += 1
    for file in _files(room / "stage"):
        key = file.relative_to(room / "stage").parts[0]
        if key.startswith("probe."):
            found.litter.append(f"stage/{key}")
        else:
            found.staged.setdefault(key, set()).add(_digest(file))
    if room.exists():
        found.litter += [name for name in os.listdir(room) if name.startswith("owner.")]
    return found


# --- the verdict -------------------------------------------------------------------------------------------------


def judge(place: Place, resumed: Mapping[str, Any], told: Mapping[str, str] | None = None) -> list[Violation]:
    """Give every broken promise. `resumed` is what `settle_all` gave; `told` is what was told of which operation."""
    writes: dict[str, dict[str, Any]] = resumed["settled"]
    seen = scan(place, writes)
    broken = [Violation(FAULT, fault) for fault in resumed["faults"]]
    broken += [Violation(CLAIM, f"{subject} still holds {name}") for subject, name in resumed["claims"]]
    broken += _judge_visible(place, seen)
    broken += _judge_states(writes)
    broken += _judge_contents(place, seen, writes)
    broken += _judge_archives(seen, writes)
    broken += _judge_leftovers(place, seen, writes)
    for operation, outcome in (told or {}).items():
        recorded = writes.get(operation, {}).get("state")
        if outcome in (State.APPLIED, State.FAILED) and recorded != outcome:
            broken.append(Violation(LIE, f"{operation} was told to be {outcome} and is recorded as {recorded}"))
    return broken


def _judge_visible(place: Place, seen: Scan) -> list[Violation]:
    """Only whole contents, each where it was meant to be: also among what was displaced, which was visible once."""
    broken = [
        Violation(PARTIAL, f"{path} shows {place.record.name(digest)}")
        for path, digest in seen.visible.items()
        if digest not in place.record.allowed.get(path, set())
    ]
    broken += [
        Violation(PARTIAL, f"{place.record.name(digest)} was displaced into archive/{key}")
        for key, digests in seen.displaced.items()
        for digest in digests
        if digest not in place.record.labels
    ]
    return broken


def _judge_states(writes: Mapping[str, Mapping[str, Any]]) -> list[Violation]:
    broken = []
    for operation, write in writes.items():
        if write["state"] is None or (write["key"] and write["state"] in NEVER_SENT):
            broken.append(Violation(LOST_INTENT, f"{operation} has an intent and is {write['state']}"))
        elif write["state"] not in DECIDED | NEVER_SENT:
            broken.append(Violation(UNSETTLED, f"{operation} is still {write['state']}"))
        elif write["says_applied"] != (write["state"] == State.APPLIED):
            broken.append(Violation(LIE, f"the message of {operation} says applied={write['says_applied']}"))
    return broken


def _judge_contents(place: Place, seen: Scan, writes: Mapping[str, Mapping[str, Any]]) -> list[Violation]:
    broken = []
    record = place.record
    for digest in record.labels:
        about = [write for write in writes.values() if write["content"] == digest and write["kind"] != "archive"]
        states = Counter(write["state"] for write in about)
        landed = seen.landed[digest] - record.placed[digest]
        least, most = states[State.APPLIED], states[State.APPLIED] + states[State.CLOSED]
        say = f"{record.name(digest)}: landed {landed} times, recorded as {dict(states)}"
        if digest in record.doomed and landed == -1 and _is_deleted(writes):
            continue
        if landed < 0:
            broken.append(Violation(BYTES_LOST, say))
        elif landed < least:
            broken.append(Violation(FALSE_APPLIED, say))
        elif landed > most:
            sent = [write for write in about if write["key"]]
            if states[State.FAILED]:
                broken.append(Violation(FALSE_FAILED, say))
            if landed > len(sent):
                broken.append(Violation(DUPLICATE if sent else UNINTENDED, say))
    return broken


def _is_deleted(writes: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(write["state"] == State.APPLIED and write["kind"] == "delete" for write in writes.values())


def _judge_archives(seen: Scan, writes: Mapping[str, Mapping[str, Any]]) -> list[Violation]:
    broken = []
    for operation, write in writes.items():
        if write["state"] is None or write["kind"] != "archive" or not write["key"]:
            continue
        is_there = bool(seen.displaced.get(write["key"]))
        if write["state"] == State.APPLIED and not is_there and not write["is_undone"]:  # a folder leaves the archive
            broken.append(Violation(FALSE_APPLIED, f"{operation} archived nothing"))
        if write["state"] == State.FAILED and is_there:
            broken.append(Violation(FALSE_FAILED, f"{operation} archived {write['path']} all the same"))
    return broken


def _judge_leftovers(place: Place, seen: Scan, writes: Mapping[str, Mapping[str, Any]]) -> list[Violation]:
    """What an applied write displaced is kept in the archive, and nothing of it is left where bytes wait to land."""
    applied = {write["key"]: name for name, write in writes.items() if write["state"] == State.APPLIED}
    return [
        Violation(LEFTOVER, f"{applied[key]} is applied, and stage/{key} holds {place.record.name(digest)}")
        for key, digests in seen.staged.items()
        if key in applied
        for digest in digests
    ]


def orphans(seen: Scan, writes: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """Count what nobody needs any more: staged bytes that no recorded write knows or that failed, set-aside, drafts."""
    keys = {write["key"]: write["state"] for write in writes.values()}
    found = Counter("staged without an intent" if key not in keys else f"staged and {keys[key]}" for key in seen.staged)
    found.update(f"set aside and {keys.get(key)}" for key in seen.aside)
    found["drafts and probes"] = len(seen.litter)
    return +found
