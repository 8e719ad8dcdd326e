"""A write from Python: propose, carry out on the operator's word, tell the outcome, undo it.

Run it anywhere: `python examples/write_from_python.py`. It works in a temporary folder.
"""

import tempfile
from pathlib import Path

from amends import Amends, render_outcome

place = Path(tempfile.mkdtemp())
(place / "notes").mkdir()
(place / "amends.toml").write_text('[surfaces.notes]\ntype = "files"\nroot = "notes"\n')

change = {
    "title": "File motion 42",
    "write": [{"create": "notes:status.md", "set": {"text": "filed\n"}}],
}

with Amends.open(place) as amends:
    report = amends.propose(change, confirmed_by="the operator of this script")
    (life,) = report.lives
    print(report.state, "-", render_outcome(life.result).text)
    print("on disk:", (place / "notes" / "status.md").read_text().strip())

    report = amends.propose(change, confirmed_by="the operator of this script")
    print(report.state, "-", render_outcome(report.lives[0].result).text)

    undone = amends.undo(life.operation_id, confirmed_by="the operator of this script")
    print(undone.state, "-", render_outcome(undone.lives[0].result).text)
    print("on disk:", (place / "notes" / "status.md").exists())
