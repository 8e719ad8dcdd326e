"""What is seen after a failure decides: progress, harm, help, a return, and a target that nobody can read."""

import os

import pytest

from amends.contract.lifecycle import State
from amends.ports import Answer, Attempt
from tests.transaction.office import Office, archive, create, edit, recoveries, stop_of


@pytest.mark.requirement("transaction:stop:no_progress")
def test_a_recovery_that_changes_nothing_ends_it(office: Office) -> None:
    """A second try with the same result says that a third has it too."""
    office.refuse("b.md")
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"), create("c.md", "c\n"))
    assert (report.state, stop_of(report)) == (State.BLOCKED, "no_progress")
    assert office.sends == ["a.md", "b.md", "b.md"]
    assert [office.read(name) for name in ("a.md", "b.md", "c.md")] == ["new\n", None, None]


@pytest.mark.requirement("transaction:stop:no_progress")
def test_another_wrong_value_is_no_progress(office: Office) -> None:
    """A recovery that makes it wrong in another way would pass for movement."""
    report = office.killed(lambda: office.ask(edit("a.md", "new\n")))
    office.check(report)
    ended = office.ask(edit("a.md", "wrong\n"))
    assert (ended.transaction, ended.state, stop_of(ended)) == (report.transaction, State.BLOCKED, "no_progress")
    assert (office.sends, office.read("a.md")) == (["a.md", "a.md"], "wrong\n")


@pytest.mark.requirement("transaction:stop:regression")
def test_a_fact_that_is_worse_after_a_recovery_ends_it(office: Office) -> None:
    """The file differed and is gone now: whatever we do, somebody undoes more than it."""

    def gone() -> None:
        if len(office.sends) == len(["first", "recovery"]):
            (office.root / "a.md").unlink()

    office.refuse("a.md", meanwhile=gone)
    report = office.ask(edit("a.md", "new\n"))
    assert (report.state, stop_of(report), len(office.sends)) == (State.BLOCKED, "regression", 2)
    assert office.read("a.md") is None


@pytest.mark.requirement("transaction:stop:elsewhere")
def test_a_new_mismatch_elsewhere_ends_it_though_the_step_was_mended(office: Office) -> None:
    """One fact mended and another broken is a sum of nothing, and the second is somebody's work."""
    office.refuse("b.md", times=1)
    refused = office.fate

    def fate(attempt: Attempt) -> Answer | None:
        answer = refused(attempt)
        if office.sends == ["a.md", "b.md", "b.md"]:
            office.put("a.md", "theirs\n")
        return answer

    office.fate = fate
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"), create("c.md", "c\n"))
    assert (report.state, stop_of(report)) == (State.BLOCKED, "regression")
    assert office.sends == ["a.md", "b.md", "b.md"]
    assert [office.read(name) for name in ("a.md", "b.md", "c.md")] == ["theirs\n", "b\n", None]


@pytest.mark.requirement("transaction:stop:oscillation")
def test_a_target_that_shows_again_what_it_showed_ends_it(office: Office) -> None:
    """Two automatons that undo each other would go on all night; A, B, A is where ours stops."""
    office.refuse("b.md", times=1)
    refused = office.fate

    def fate(attempt: Attempt) -> Answer | None:
        answer = refused(attempt)
        if office.sends == ["a.md", "b.md", "b.md"]:
            office.put("a.md", "old\n")
        return answer

    office.fate = fate
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"))
    assert (report.state, stop_of(report)) == (State.BLOCKED, "oscillation")
    assert (office.sends, office.read("a.md")) == (["a.md", "b.md", "b.md"], "old\n")


@pytest.mark.requirement("transaction:stop:no_oscillation")
def test_four_files_that_are_equal_and_gone_are_no_oscillation(office: Office) -> None:
    """They show the same, and each only once; a check of states without names would stop here."""
    for number in range(4):
        office.put(f"{number}.md", "")
    office.refuse("2.md", times=1)
    report = office.ask(*(archive(f"{number}.md") for number in range(4)))
    assert (report.state, recoveries(report)) == (State.COMPLETE, 1)
    assert sorted(path.name for path in office.root.iterdir() if path.is_file()) == ["a.md"]


@pytest.mark.requirement("transaction:stop:no_oscillation")
def test_from_state_to_state_without_a_return_is_no_oscillation(office: Office) -> None:
    """A, B, C, D is work, and an undo back to A is a wish of its own."""
    asked = [office.ask(edit("a.md", text)) for text in ("B\n", "C\n", "D\n")]
    assert {report.state for report in asked} == {State.COMPLETE}
    assert office.confirm(office.undo(asked[-1])).state is State.COMPLETE
    assert office.read("a.md") == "C\n"


@pytest.mark.requirement("transaction:foreign:helps")
def test_somebody_who_did_it_meanwhile_completes_it(office: Office) -> None:
    """What was asked for holds; to send it again would only be a second write of the same."""
    office.refuse("b.md", meanwhile=lambda: office.put("b.md", "b\n"))
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"), create("c.md", "c\n"))
    assert (report.state, recoveries(report)) == (State.COMPLETE, 0)
    assert office.sends == ["a.md", "b.md", "c.md"]


@pytest.mark.requirement("transaction:foreign:harms")
def test_what_somebody_wrote_there_instead_is_kept(office: Office) -> None:
    """A recovery would replace it, and it is not ours to replace."""
    office.refuse("a.md", meanwhile=lambda: office.put("a.md", "theirs\n"))
    report = office.ask(edit("a.md", "new\n"))
    assert (report.state, stop_of(report)) == (State.BLOCKED, "next_destructive")
    assert (office.sends, office.read("a.md")) == (["a.md"], "theirs\n")


@pytest.mark.requirement("transaction:stop:unreadable")
def test_a_target_that_is_no_file_any_more_ends_it(office: Office) -> None:
    """What can't be read can't be compared, and what can't be compared isn't written to."""

    def replaced() -> None:
        (office.root / "a.md").unlink()
        os.mkfifo(office.root / "a.md")

    office.refuse("a.md", meanwhile=replaced)
    report = office.ask(edit("a.md", "new\n"))
    assert (report.state, stop_of(report), office.sends) == (State.BLOCKED, "capability_missing", ["a.md"])
    assert report.blocked is not None
    assert "named pipe" in "\n".join(report.blocked["lines"])


@pytest.mark.requirement("transaction:stop:unreadable")
def test_a_target_that_may_not_be_read_ends_it(office: Office) -> None:
    """The permission was taken away in the middle: nothing tells what is there, and nothing more is sent."""
    office.refuse("a.md", meanwhile=lambda: (office.root / "a.md").chmod(0))

    def asked() -> list[str | None]:
        report = office.ask(edit("a.md", "new\n"))
        return [report.state, stop_of(report)]

    assert office.elsewhere(asked, heeding_permissions=True) == ["blocked", "capability_missing"]
    assert office.sends == ["a.md"]


@pytest.mark.requirement("transaction:stop:unreadable")
def test_a_target_that_changes_while_it_is_read_ends_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of one state and half of another is no state; a digest of it would decide on something that never was."""
    read, saved = os.read, [0]

    def saving(fd: int, size: int) -> bytes:
        if os.fstat(fd).st_ino == (office.root / "a.md").stat().st_ino:
            saved.append(len(saved))
            os.utime(fd, ns=(saved[-1], saved[-1]))
        return read(fd, size)

    office.refuse("a.md", meanwhile=lambda: monkeypatch.setattr(os, "read", saving))
    report = office.ask(edit("a.md", "new\n"))
    monkeypatch.undo()
    assert (report.state, stop_of(report), office.sends) == (State.BLOCKED, "capability_missing", ["a.md"])
    assert report.blocked is not None
    assert "changed during each of 3 reads" in "\n".join(report.blocked["lines"])


@pytest.mark.requirement("transaction:stop:capability")
def test_a_folder_that_may_not_be_written_ends_it_and_the_rest_is_told_apart(office: Office) -> None:
    """The real refusal of a real kernel: what was written stays, what was not is named, and nothing is forced."""
    sealed = office.root / "sealed"
    sealed.mkdir()
    sealed.chmod(0o555)

    def asked() -> list[object]:
        report = office.ask(edit("a.md", "new\n"), create("sealed/b.md", "b\n"), create("c.md", "c\n"))
        assert report.blocked is not None
        return [report.state, [str(life.state) for life in report.planned], report.blocked["next"]["verb"]]

    assert office.elsewhere(asked, heeding_permissions=True) == ["blocked", ["applied", "failed", "failed"], "followup"]
    assert [office.read(name) for name in ("a.md", "sealed/b.md", "c.md")] == ["new\n", None, None]
    assert office.sends.count("sealed/b.md") <= 2


@pytest.mark.requirement("transaction:complete:twice")
def test_what_holds_in_one_reading_and_not_in_the_next_is_not_complete(office: Office) -> None:
    """The first look may fall just before somebody's change; a second one is the least that "it holds" takes."""
    seen: list[str] = []

    def after_read(target: str, _: int) -> None:
        if office.sends == ["a.md", "b.md"] and office.read("b.md") == "b\n":
            seen.append(target)
            if seen.count("notes:b.md") == 2 and seen[-1] == "notes:b.md":  # its own reading, then the first of two
                office.put("a.md", "theirs\n")

    office.after_read = after_read
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"))
    assert report.state is State.BLOCKED
    assert (office.sends, office.read("a.md")) == (["a.md", "b.md"], "theirs\n")


@pytest.mark.requirement("transaction:complete:twice")
def test_two_readings_with_another_version_between_them_are_told_as_such(office: Office) -> None:
    """Every fact held at both times, but something moved in between; "steady" would claim more."""
    seen: list[str] = []

    def after_read(target: str, _: int) -> None:
        if office.sends == ["a.md", "b.md"] and office.read("b.md") == "b\n":
            seen.append(target)
            if seen.count("notes:b.md") == 2 and seen[-1] == "notes:b.md":
                (office.root / "a.md").chmod(0o640)

    office.after_read = after_read
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"))
    assert report.state is State.COMPLETE
    assert report.events[-1].data["is_steady"] is False
    assert set(report.events[-1].data["seen_at_ms"]) == {"notes:a.md", "notes:b.md"}


@pytest.mark.requirement("transaction:complete:twice")
def test_a_target_that_can_not_be_read_the_second_time_is_not_complete(office: Office) -> None:
    """To call complete what nobody can see any more would rest on a memory."""

    def after_read(target: str, _: int) -> None:
        if target == "notes:b.md" and office.read("b.md") == "b\n" and office.sends == ["a.md", "b.md"]:
            (office.root / "a.md").unlink()
            os.mkfifo(office.root / "a.md")
            office.after_read = lambda *_: None

    office.after_read = after_read
    report = office.ask(edit("a.md", "new\n"), create("b.md", "b\n"))
    assert (report.state, stop_of(report)) == (State.BLOCKED, "capability_missing")
