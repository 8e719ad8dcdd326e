"""Every test here acts in a folder of its own, with settings, a root and no journal yet."""

from pathlib import Path

import pytest

from tests.cli.place import Place


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    """A folder with `amends.toml` and an empty `notes/`; the user's own settings are out of reach."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "office"
    (folder / "notes").mkdir(parents=True)
    made = Place(folder, capsys, monkeypatch)
    made.settings()
    return made
