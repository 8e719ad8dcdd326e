"""Kill writers from the command line: `python -m tests.crash.run --seed 7 --kills 300`.

A failed test prints the seed and the first round of its folder; the same rounds are run again, with kills at moments
of the same kind. The exact moment can't be had again, so give it some repeats: `--times 20`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.crash.campaign import Campaign, ViolatedError


def main() -> int:
    """Run it, print the summary, and leave with 1 at the first violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="kill whole processes instead of forked ones")
    asked = parser.parse_args()
    for _ in range(asked.times):
        campaign = Campaign(Path(tempfile.mkdtemp(prefix="amends-crash-")), seed=asked.seed)
        try:
            tally = campaign.kill_whole(asked.kills) if asked.whole else campaign.kill(asked.kills, first=asked.first)
        except ViolatedError as error:
            print(error)
            return 1
        print(tally)
        campaign.folder.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
