"""The budget, and every way around it that an agent thinks of. What was sent is counted at the target."""

from functools import partial

import pytest

from amends.contract.lifecycle import State
from amends.errors import AmendsError, BlockedError, ConflictError, DocumentError
from tests.transaction.office import Office, Write, archive, create, edit, recoveries, stop_of

WISH = edit("a.md", "new\n", mode="0600")
"""What is asked for in most of these: two facts about one file."""

EVASIONS: dict[str, tuple[Write, ...]] = {
    "the same": (WISH,),
    "a space more": (edit("a.md", "new \n", mode="0600"),),
    "another value": (edit("a.md", "something else\n"),),
    "the mode first": ({"edit": "notes:a.md", "set": {"mode": "0600"}},),
    "the content first": (edit("a.md", "new\n"),),
    "with another step": (WISH, create("other.md", "other\n")),
    "archived, to be created": (archive("a.md"),),
    "moved away": ({"move": "notes:a.md", "to": "notes:other/b.md"},),
    "renamed": ({"rename": "notes:a.md", "to": "notes:b.md"},),
    "deleted": ({"delete": "notes:a.md"},),
    "another spelling": (edit("./a.md", "new\n", mode="0600"),),
    "through a link": (edit("link.md", "new\n", mode="0600"),),
}


def evade(office: Office, writes: tuple[Write, ...]) -> str:
    """Ask for it under another name; give the refusal or the state that it came to."""
    try:
        return office.ask(*writes, title="Something else entirely", proposer="a fresh agent").state
    except AmendsError as refusal:
        return type(refusal).__name__


@pytest.mark.requirement("transaction:budget:fingerprint")
def test_a_step_that_fails_is_recovered_once_and_no_more(office: Office) -> None:
    """One more try is help, two more are a loop; the target sees two sends and the journal says so."""
    office.refuse("a.md")
    report = office.ask(WISH)
    assert (report.state, stop_of(report), recoveries(report)) == (State.BLOCKED, "no_progress", 1)
    assert office.sends == ["a.md", "a.md"]
    assert office.read("a.md") == "old\n"


@pytest.mark.requirement("transaction:budget:fingerprint")
def test_a_step_that_fails_once_is_recovered_and_completes(office: Office) -> None:
    """The budget is there to be used: what one more try can do should not wake a person."""
    office.refuse("a.md", times=1)
    report = office.ask(WISH)
    assert (report.state, recoveries(report)) == (State.COMPLETE, 1)
    assert (office.sends, office.read("a.md")) == (["a.md", "a.md"], "new\n")


@pytest.mark.requirement("transaction:budget:transaction")
def test_a_transaction_has_two_recoveries_whatever_their_fingerprints(office: Office) -> None:
    """Many steps that each fail once would otherwise be as many tries as there are steps."""
    office.refuse("1.md", "2.md", "3.md", "4.md", times=1)
    report = office.ask(*(create(f"{number}.md", "x\n") for number in range(1, 5)))
    assert (report.state, stop_of(report), recoveries(report)) == (State.BLOCKED, "budget_exhausted", 2)
    assert office.sends == ["1.md", "1.md", "2.md", "2.md", "3.md"]


@pytest.mark.requirement("transaction:budget:transaction")
def test_several_writes_that_fail_before_they_are_recovered_share_the_budget(office: Office) -> None:
    """Each was killed before it landed and then settled; going on must not count each restart as a fresh start."""
    writes = [create(f"{number}.md", "x\n") for number in range(1, 4)]
    report = office.killed(lambda: office.ask(*writes))
    for _ in range(6):
        if office.check(report).state is State.OPEN:
            office.killed(lambda: office.confirm(report))
    report = office.find(report)
    assert report.state is State.BLOCKED
    assert recoveries(report) <= 2
    assert max(map(office.sends.count, office.sends)) <= 2


@pytest.mark.requirement("transaction:evasion:blocked")
@pytest.mark.parametrize("name", EVASIONS)
def test_a_blocked_step_is_not_sent_under_any_other_name(office: Office, name: str) -> None:
    """An agent that is stopped says the same thing otherwise; BLOCKED must mean the thing, not the words."""
    office.put("other/it.md", "other\n")
    (office.root / "link.md").symlink_to("a.md")
    office.refuse("a.md")
    office.ask(WISH)
    sends = office.sends
    office.accept()
    assert evade(office, EVASIONS[name]) == "BlockedError"
    assert office.elsewhere(lambda: evade(office, EVASIONS[name])) == "BlockedError"
    assert office.sends == sends
    assert office.read("a.md") == "old\n"


@pytest.mark.requirement("transaction:evasion:unfinished")
@pytest.mark.parametrize("name", EVASIONS)
def test_an_unfinished_step_said_otherwise_is_its_one_recovery(office: Office, name: str) -> None:
    """It died before it landed. Whatever comes next about that file is its recovery, and then there is none left."""
    office.put("other/it.md", "other\n")
    (office.root / "link.md").symlink_to("a.md")
    report = office.killed(lambda: office.ask(WISH))
    office.check(report)
    office.refuse(*(each.name for each in office.root.iterdir()), "b.md")
    evade(office, EVASIONS[name])
    sent = len(office.sends)
    assert sent <= 2
    for again in ("the same", "a space more", "the content first", "archived, to be created"):
        evade(office, EVASIONS[again])
    assert len(office.sends) <= 2, office.sends
    assert recoveries(office.find(report)) <= 1


@pytest.mark.requirement("transaction:evasion:split")
def test_a_step_in_two_parts_has_no_two_recoveries(office: Office) -> None:
    """First the mode and then the content: the first half is the recovery, and the second half was spent with it."""
    report = office.killed(lambda: office.ask(WISH))
    office.check(report)
    first = office.ask({"edit": "notes:a.md", "set": {"mode": "0600"}})
    assert (first.transaction, first.state, recoveries(first)) == (report.transaction, State.BLOCKED, 1)
    with pytest.raises(BlockedError):
        office.ask(edit("a.md", "new\n"))
    assert office.sends == ["a.md", "a.md"]
    assert office.read("a.md") == "old\n"


@pytest.mark.requirement("transaction:evasion:merged")
def test_a_step_merged_with_a_new_one_is_refused_whole(office: Office) -> None:
    """In other company it would be half recovery and half first send, and nobody could count it."""
    report = office.killed(lambda: office.ask(WISH))
    office.check(report)
    with pytest.raises(DocumentError, match="and some are not"):
        office.ask(WISH, create("other.md", "other\n"))
    assert office.sends == ["a.md"]


@pytest.mark.requirement("transaction:evasion:merged")
def test_what_may_still_land_is_not_sent_in_other_company(office: Office) -> None:
    """Before it is settled nobody knows; in a new document with another write it is still the same write."""
    office.killed(lambda: office.ask(WISH))
    with pytest.raises(AmendsError):
        office.ask(WISH, create("other.md", "other\n"))
    assert office.sends == ["a.md"]


@pytest.mark.requirement("transaction:evasion:folder")
def test_another_folder_of_the_office_finds_the_same_account(office: Office) -> None:
    """`-C` chooses where the settings are looked for, not which history there is."""
    (office.folder / "desk" / "drawer").mkdir(parents=True)
    office.refuse("a.md")
    office.ask(WISH, start="desk")
    with pytest.raises(BlockedError):
        office.ask(WISH, start="desk/drawer")
    assert len(office.sends) == 2


@pytest.mark.requirement("transaction:evasion:folder")
def test_settings_of_ones_own_over_the_same_files_are_no_fresh_account(office: Office) -> None:
    """A second journal would know nothing of what was spent, so the files belong to one journal."""
    office.refuse("a.md")
    office.ask(WISH)
    other = office.folder / "elsewhere"
    other.mkdir()
    (other / "amends.toml").write_text('[surfaces.mine]\ntype = "files"\nroot = "../notes"\n')
    office.accept()
    with pytest.raises(AmendsError, match="belongs to journal"):
        office.opened(other)
    assert (len(office.sends), office.read("a.md")) == (2, "old\n")


@pytest.mark.requirement("transaction:evasion:restart")
def test_a_restart_between_any_two_steps_refreshes_nothing(office: Office) -> None:
    """An agent in a crash loop asks, dies, checks, asks again. Each process is new, and the account is one."""
    report = office.killed(lambda: office.ask(WISH))
    for number in range(1, 7):
        office.elsewhere(lambda: str(office.check(report).state))
        before = len(office.sends)
        wish = partial(office.ask, WISH, title=f"try {number}")
        try:
            office.killed(wish)
        except AssertionError:  # it had nothing to send, so it was not killed
            assert len(office.sends) == before
    report = office.check(report)
    assert (report.state, office.sends) == (State.BLOCKED, ["a.md", "a.md"])
    assert recoveries(report) == 1


@pytest.mark.requirement("transaction:evasion:again")
def test_asking_for_a_second_one_is_no_way_around_either(office: Office) -> None:
    """`--again` is for a wish that somebody has twice, not for a step that failed."""
    office.refuse("a.md")
    office.ask(WISH)
    with office.opened() as amends, pytest.raises(BlockedError):
        amends.propose({"write": [WISH]}, confirmed_by="operator", again=True)
    assert len(office.sends) == 2


@pytest.mark.requirement("transaction:budget:reading")
def test_reading_and_checking_use_up_nothing(office: Office) -> None:
    """Whoever fears for the budget would look less often, which is the wrong way round."""
    report = office.killed(lambda: office.ask(WISH))
    for _ in range(5):
        office.check(report)
        office.find(report)
    assert (recoveries(office.find(report)), office.sends) == (0, ["a.md"])
    assert office.confirm(report).state is State.COMPLETE
    assert office.read("a.md") == "new\n"


@pytest.mark.requirement("transaction:evasion:race")
def test_two_processes_that_recover_at_once_recover_once(office: Office) -> None:
    """Each finds the budget untouched; the journal lets one of them have it."""
    report = office.killed(lambda: office.ask(WISH))
    office.check(report)
    office.refuse("a.md")
    inner: list[str] = []

    def meanwhile() -> None:
        try:
            inner.append(str(office.confirm(report).state))
        except ConflictError as lost:
            inner.append(str(lost))

    office.refuse("a.md", meanwhile=meanwhile)
    ended = office.confirm(report)
    assert (ended.state, office.sends, len(inner)) == (State.BLOCKED, ["a.md", "a.md"], 1)
