"""Commands in this process, as a program would give them, with what holds for each of them."""

import io
import json
import os
import signal
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from amends.cli.fault import run
from amends.cli.shape import Printed
from tests.proof import FULL, share

QUICK_EXAMPLES, FULL_EXAMPLES = 1, 8
"""What the examples of the quick share are multiplied with."""

EXIT_CODES = frozenset(range(7))
"""All that the help of `amends` tells of."""


def examples(count: int) -> settings:
    """Give hypothesis `count` examples, or many more in the full share; and no bound on the time of one."""
    return settings(
        max_examples=count * (FULL_EXAMPLES if share() == FULL else QUICK_EXAMPLES),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What it printed with --json."""
        document: dict[str, Any] = json.loads(self.out)
        return document


def command(folder: Path, *words: str, stdin: bytes = b"") -> Ran:
    """Carry out a command in `folder`, and see that it ends as every command must."""
    handler, before = signal.getsignal(signal.SIGINT), sys.stdin
    out, err = io.StringIO(), io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run(["-C", str(folder), *words])
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.stdin = before
    ran = Ran(words, code, out.getvalue(), err.getvalue())
    assert code in EXIT_CODES, ran
    assert "Traceback" not in ran.out + ran.err, ran
    assert "a fault in Amends itself" not in ran.out + ran.err, ran
    if "--json" in words:
        assert ran.err == "", ran
        Printed.model_validate_json(ran.out)
        assert ran.document["exit_code"] == code, ran
    elif code in (2, 5) and not ran.out:
        assert ran.err.startswith("Error: "), ran
    return ran


def new_folder(parent: Path | None = None) -> Path:
    """Make a folder with an empty root `notes` and settings for it."""
    folder = Path(tempfile.mkdtemp(prefix="amends-fuzz-", dir=parent))
    (folder / "notes").mkdir()
    (folder / "amends.toml").write_text('[surfaces.notes]\ntype = "files"\nroot = "notes"\n')
    return folder


def tree(top: Path) -> dict[str, bytes | None]:
    """Give everything below `top` with its bytes, but not what is Amends's own."""
    return {
        path.relative_to(top).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(top.rglob("*"))
        if ".amends" not in path.relative_to(top).parts and not path.is_symlink()
    } | {f"{name} ->": os.readlink(top / name).encode() for name in os.listdir(top) if (top / name).is_symlink()}
