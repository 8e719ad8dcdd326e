"""Processes: real ones that are killed, forked and stopped, and threads of one."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amends.contract.lifecycle import Happened, State
from amends.contract.operation import Claim
from amends.errors import JournalError
from amends.journal import owner
from amends.ports import Event
from amends.testing.journal_bench import operation
from tests.journal.conftest import OpenJournal

CHILD_S = 30  # a forked child that hangs is ended by its own alarm

HOLD_IT_OPEN = """
import sys, pathlib
from amends.journal import SqliteJournal
from amends.testing import FakeClock, FakeIds
from amends.testing.journal_bench import operation
from amends.contract.lifecycle import Happened
journal = SqliteJournal(pathlib.Path(sys.argv[1]), clock=FakeClock(), ids=FakeIds(first=500))
journal.commit(operation("op_1", upto=Happened.INTENDED))
print(journal.process_id, flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that has the journal open, with an intent; and its id there."""
    command = [sys.executable, "-c", HOLD_IT_OPEN, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


@pytest.mark.requirement("journal:process:alive")
def test_a_killed_process_is_dead_at_once(folder: Path, open_journal: OpenJournal) -> None:
    """Its write must be settled now, not after a lease; and what it made durable is there."""
    journal = open_journal()
    with holder(folder) as (process, process_id):
        assert journal.is_alive(process_id)
        process.kill()
        process.wait()
        assert not journal.is_alive(process_id)
    assert [(row.subject, row.state) for row in journal.open()] == [("op_1", State.EXECUTING)]
    assert (folder / "owners" / process_id).exists()
    assert not open_journal().is_alive(process_id)
    assert not (folder / "owners" / process_id).exists()
    assert journal.is_alive(journal.process_id)
    assert journal.verify().faults == ()


@pytest.mark.requirement("journal:process:alive")
def test_a_process_that_ends_well_leaves_no_trace(folder: Path, open_journal: OpenJournal) -> None:
    """A folder of old locks would grow for ever."""
    journal = open_journal()
    with holder(folder) as (process, process_id):
        process.communicate("", timeout=60)
        assert not journal.is_alive(process_id)
    journal.close()
    open_journal().close()
    assert list((folder / "owners").iterdir()) == []


@pytest.mark.requirement("journal:process:alive")
@pytest.mark.parametrize("name", ["", ".", "..", "../journal.sqlite", "a/b", "\x00"])
def test_no_odd_name_looks_alive_at_all(name: str, open_journal: OpenJournal) -> None:
    """The id comes from an event, and is used as the name of a file."""
    assert not open_journal().is_alive(name)


@pytest.mark.requirement("journal:process:fork")
def test_a_forked_child_can_not_use_the_journal(folder: Path, open_journal: OpenJournal) -> None:
    """Two processes on one SQLite connection would damage the file, and share one chain."""
    journal = open_journal()
    journal.commit(operation("op_1"))
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_S)
        refused = 0
        for use in (
            journal.open,
            journal.verify,
            lambda: journal.commit(operation("op_2")),
            lambda: journal.events(""),
        ):
            try:
                use()
            except JournalError as error:
                refused += "forked" in str(error)
        journal.close()
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
    journal.commit(operation("op_3"))
    assert [row.subject for row in journal.open()] == ["op_1", "op_3"]
    assert journal.is_alive(journal.process_id)
    assert open_journal().is_alive(journal.process_id)
    assert journal.verify().faults == ()


@pytest.mark.requirement("journal:process:fork")
def test_a_forked_child_does_not_keep_its_parent_alive(open_journal: OpenJournal) -> None:
    """A worker that outlives its killed parent must not stop others from settling the parent's writes."""
    journal, other = open_journal(), open_journal()
    ready_read, ready_write = os.pipe()
    done_read, done_write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_S)
        os.write(ready_write, b"x")
        os.read(done_read, 1)
        os._exit(0)
    os.read(ready_read, 1)
    assert other.is_alive(journal.process_id)
    journal._owner.leave_to_parent()  # what the kernel does with the parent's own copy when it is killed
    assert not other.is_alive(journal.process_id)
    os.write(done_write, b"x")
    os.waitpid(child, 0)
    for descriptor in (ready_read, ready_write, done_read, done_write):
        os.close(descriptor)


@pytest.mark.requirement("journal:process:opening")
def test_a_stopped_opening_is_reported_to_others(
    folder: Path, open_journal: OpenJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making and migrating is for one at a time; who waits for one that was stopped must be told, not hang."""
    folder.mkdir()
    monkeypatch.setattr(owner, "_POLLS_MAX", 2)
    with owner.opening(folder / "owners"), pytest.raises(JournalError, match="has been opening the journal"):
        open_journal()
    assert open_journal().open() == []


@pytest.mark.requirement("journal:process:opening")
def test_many_processes_make_one_journal_together(folder: Path) -> None:
    """The first commands after installing may come at once; they must not make two journals, or half a one."""
    program = (
        "import sys, pathlib\nfrom amends.journal import SqliteJournal\nfrom amends.testing import FakeClock, FakeIds\n"
        "from amends.testing.journal_bench import operation\nfirst = int(sys.argv[2])\n"
        "journal = SqliteJournal(pathlib.Path(sys.argv[1]), clock=FakeClock(), ids=FakeIds(first=first))\n"
        "journal.commit(operation(f'op_{first}'))\nprint(journal.journal_id)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(first)], stdout=subprocess.PIPE, text=True)
        for first in range(1_000, 5_000, 1_000)
    ]
    answers = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert len(set(answers)) == 1
    assert answers[0]


@pytest.mark.requirement("journal:commit:race")
def test_threads_of_one_process_share_one_journal(open_journal: OpenJournal) -> None:
    """A server writes from many threads; their batches must neither mix nor break the chain."""
    journal = open_journal()

    def run(worker: int) -> None:
        for number in range(5):
            name = f"op_{worker}_{number}"
            journal.commit(operation(name, upto=Happened.INTENDED, claims=[Claim(f"notes:{name}")]))
            journal.commit([Event(name, Happened.APPLIED, 0, epoch=1, releases=True)], durable=False)
            journal.put_blob(io.BytesIO(b"the same"), bytes_max=8)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.open()) == 20
    found = journal.verify()
    assert (found.events, found.blobs, found.faults) == (80, 1, ())
