"""Public reports, each played on real files: what went wrong there must go right here."""

import os
import unicodedata

import pytest

from amends.contract.lifecycle import State
from amends.contract.outcome import Evidence
from amends.errors import BlockedError, RecoveryError, TargetError
from tests.transaction.office import Office, create, edit


@pytest.mark.requirement("transaction:case:undo")
def test_cline_13550_an_undo_loses_nothing_that_came_later(office: Office) -> None:
    """cline/cline#13550: a restore dropped the commits made after its checkpoint."""
    done = office.ask(edit("a.md", "new\n"))
    office.put("a.md", "new\nand later work\n")
    ended = office.confirm(office.undo(done))
    assert ended.lives[0].evidence is Evidence.STALE
    assert office.read("a.md") == "new\nand later work\n"


@pytest.mark.requirement("transaction:case:undo")
def test_copilot_cli_1675_an_undo_touches_nothing_else(office: Office) -> None:
    """github/copilot-cli#1675: a restore cleaned away a gigabyte of outputs that the agent had only read."""
    done = office.ask(edit("a.md", "new\n"))
    office.put("outputs/large.bin", "untracked\n")
    office.confirm(office.undo(done))
    assert (office.read("a.md"), office.read("outputs/large.bin")) == ("old\n", "untracked\n")


@pytest.mark.requirement("transaction:case:undo")
def test_claude_code_34368_no_undo_is_offered_where_nothing_was_kept(office: Office) -> None:
    """anthropics/claude-code#34368 and #14002: a rewind was offered that could not bring a deleted file back."""
    done = office.ask({"delete": "notes:a.md"})
    assert not done.lives[0].plan.undoable
    with pytest.raises(RecoveryError):
        office.undo(done)


@pytest.mark.requirement("transaction:case:crash")
def test_letta_3250_and_mecatl_475_a_dead_writer_is_ambiguous_and_can_be_settled(office: Office) -> None:
    """letta-ai/letta#3250, stacklok/mecatl#475: a call without its result stayed "running" for ever."""
    report = office.killed(lambda: office.ask(edit("a.md", "new\n")))
    (life,) = report.lives
    assert life.result is not None
    assert life.result.outcome == "ambiguous"
    assert office.check(report).lives[0].state is State.FAILED


@pytest.mark.requirement("transaction:case:crash")
def test_cc_connect_1592_an_unclean_death_replays_nothing(office: Office) -> None:
    """chenhg5/cc-connect#1592: after a reset fourteen calls ran again while the user said stop."""
    report = office.killed(lambda: office.ask(*(create(f"{number}.md", "x\n") for number in range(4))))
    with office.opened() as amends:
        amends.inbox()
        amends.verify()
    office.check(report)
    assert office.sends == ["0.md"]


@pytest.mark.requirement("transaction:case:crash")
def test_terraform_5347_what_was_begun_is_known_before_it_is_there(office: Office) -> None:
    """hashicorp/terraform#5347: the id was stored when all was ready; after a timeout the next run made another."""
    report = office.killed(lambda: office.ask(create("volume.md", "x\n")))
    assert report.lives[0].key is not None
    again = office.ask(create("volume.md", "x\n"))
    assert (again.transaction, again.is_joined, office.sends) == (report.transaction, True, ["volume.md"])


@pytest.mark.requirement("transaction:case:atomic")
def test_reasonix_1325_what_was_written_before_a_failure_is_told(office: Office) -> None:
    """esengine/DeepSeek-Reasonix#1325: "no edits applied" after the first file was written."""
    office.put("b.md", "b\n")
    office.refuse("b.md")
    report = office.ask(edit("a.md", "new\n"), edit("b.md", "new\n"))
    assert [life.state for life in report.planned] == [State.APPLIED, State.FAILED]
    assert report.blocked is not None
    assert [write["standing"] for write in report.blocked["writes"]] == ["applied", "failed", "failed"]
    assert office.confirm(office.undo(report)).lives[0].state is State.APPLIED
    assert (office.read("a.md"), office.read("b.md")) == ("old\n", "b\n")


@pytest.mark.requirement("transaction:case:identity")
def test_servers_1970_a_decomposed_name_is_found_and_not_doubled(office: Office) -> None:
    """modelcontextprotocol/servers#1970: the client said NFC, the entry was NFD, and nobody found it."""
    real = unicodedata.normalize("NFD", "プログラム.md")
    office.put(real, "old\n")
    with pytest.raises(TargetError) as refused:
        office.ask(edit(unicodedata.normalize("NFC", real), "new\n"))
    assert refused.value.hint is not None
    assert office.ask(edit(real, "new\n")).state is State.COMPLETE
    assert (os.listdir(office.root).count(real), office.read(real)) == (1, "new\n")
    assert len(os.listdir(office.root)) == len({"a.md", ".amends", real})


@pytest.mark.requirement("transaction:case:identity")
def test_ggcode_1359_an_edit_through_a_link_changes_the_file(office: Office) -> None:
    """topcheer/ggcode#1359: a rename onto the link replaced the link, and the real file never changed."""
    (office.root / ".zshrc").symlink_to("a.md")
    assert office.ask(edit(".zshrc", "new\n")).state is State.COMPLETE
    assert ((office.root / ".zshrc").is_symlink(), office.read("a.md")) == (True, "new\n")


@pytest.mark.requirement("transaction:case:identity")
def test_claude_code_24917_two_spellings_are_one_file(office: Office) -> None:
    """anthropics/claude-code#24917: the same file by another spelling was "unexpectedly modified" for ever."""
    one, other = office.ask(edit("a.md", "new\n")), office.ask(edit("./a.md", "newer\n"))
    assert one.lives[0].operation.target == other.lives[0].operation.target
    assert (other.state, office.read("a.md")) == (State.COMPLETE, "newer\n")


@pytest.mark.requirement("transaction:case:identity")
def test_node_manta_80_a_percent_sign_in_a_name_is_only_that(office: Office) -> None:
    """TritonDataCenter/node-manta#80: a literal %20 was encoded twice and looked up as %252520."""
    office.put("a%20b.md", "old\n")
    office.put("a b.md", "another\n")
    assert office.ask(edit("a%20b.md", "new\n")).state is State.COMPLETE
    assert (office.read("a%20b.md"), office.read("a b.md")) == ("new\n", "another\n")


@pytest.mark.requirement("transaction:case:loop")
def test_openclaw_86454_an_edit_that_changes_nothing_is_never_sent(office: Office) -> None:
    """openclaw/openclaw#86454: the same no-op edit more than twenty times after "No changes made"."""
    for _ in range(20):
        report = office.ask(edit("a.md", "old\n"))
        assert (report.state, report.lives[0].evidence) == (State.COMPLETE, Evidence.ALREADY_SO)
    assert office.sends == []


@pytest.mark.requirement("transaction:case:loop")
def test_cogtrix_2319_whoever_does_not_listen_is_stopped_all_the_same(office: Office) -> None:
    """NorthlandPositronics/Cogtrix#2319: a detector told the model eleven times, and the model went on."""
    office.refuse("a.md")
    office.ask(edit("a.md", "new\n"))
    for _ in range(11):
        with pytest.raises(BlockedError):
            office.ask(edit("a.md", "new\n"))
    assert office.sends == ["a.md", "a.md"]
