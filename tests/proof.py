"""The figures of the long tests: what was tried and how often, for the page that says how we test.

A proof calls `record` once at its end, with its own name and figures. Nothing is kept unless it is asked for:

    AMENDS_PROOF_RECORD=1 make proof

Then each name's newest figures are in docs/proof.json, with the date, the commit and the share (quick or full), and
`make docs` makes the table of docs/concepts/how-we-test.md from them.
"""

import fcntl
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "docs" / "proof.json"
QUICK, FULL = "quick", "full"


def share() -> str:
    """Say how long the proofs may take: `quick` or `full`."""
    return os.environ.get("AMENDS_PROOF", QUICK)


def record(name: str, *, tried: int, what: str, violations: int = 0, seconds: float, **more: Any) -> None:
    """Keep that `tried` of `what` were tried in `seconds`, if figures are asked for; `more` is said beside it."""
    figures = {"what": what, "tried": tried, "violations": violations, "seconds": round(seconds, 1), **more}
    print(f"{name}: {figures}")
    if not os.environ.get("AMENDS_PROOF_RECORD"):
        return
    figures |= {"share": share(), "date": datetime.now(UTC).date().isoformat(), "commit": _commit()}
    with PLACE.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        kept = json.loads(text) if text else {}
        kept[name] = figures
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")


def _commit() -> str:
    asked = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=PLACE.parent, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or "unknown"
