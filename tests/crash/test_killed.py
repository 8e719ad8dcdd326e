"""Real writers, killed with SIGKILL at random moments; what is left must be whole, known and true."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from tests.crash.campaign import BETWEEN, Campaign
from tests.proof import record, share

KILLS_IN_EVERY_RUN = 30
KILLS = {"quick": 300, "full": 1_000}
WHOLE = 20
BETWEEN_SHARE_MIN = 0.2


def seed() -> int:
    """Give another seed each time, so that each run sees other moments; a failure prints it."""
    return int(os.environ.get("AMENDS_SEED", "0")) or time.time_ns() % 1_000_000


@pytest.fixture
def folder() -> Path:
    """Where the campaign is; what a failure left stays there, whatever other test runs do to their folders."""
    return Path(tempfile.mkdtemp(prefix="amends-crash-"))


def check_share(campaign: Campaign) -> None:
    """Make sure that a good part of many kills fell between the intent and the outcome."""
    tally = campaign.tally
    print(tally)
    assert tally.phases[BETWEEN] >= BETWEEN_SHARE_MIN * (tally.kills - tally.spawned), "too few kills where it matters"


@pytest.mark.requirement("crash:kill:truth")
def test_writers_killed_at_random_moments_leave_nothing_but_the_truth(folder: Path) -> None:
    """A process can die at any moment; what was recorded and what is there must still be one story."""
    campaign = Campaign(folder, seed=seed())
    campaign.kill(KILLS_IN_EVERY_RUN)
    print(campaign.tally)
    assert campaign.tally.phases[BETWEEN] > 0, "none fell where it matters"  # of so few, a share would be a gamble
    folder.rmdir()


@pytest.mark.proof
@pytest.mark.requirement("crash:kill:truth", "crash:kill:whole")
def test_hundreds_of_killed_writers_leave_nothing_but_the_truth(folder: Path) -> None:
    """Rare moments are found by many kills only; twenty of them hit the whole command, as a user starts it."""
    started, kills = time.monotonic(), KILLS[share()]
    campaign = Campaign(folder, seed=seed())
    campaign.kill_whole(WHOLE)
    campaign.kill(kills)
    assert campaign.tally.kills >= kills
    assert campaign.tally.spawned >= WHOLE
    check_share(campaign)
    tally = campaign.tally
    record(
        "writers killed",
        tried=tally.kills,
        what="kills of a writer of real files, and a look at all of it",
        seconds=time.monotonic() - started,
        whole_processes=tally.spawned,
        between_intent_and_outcome=tally.phases[BETWEEN],
        ended=dict(sorted(tally.outcomes.items())),
    )
    folder.rmdir()
