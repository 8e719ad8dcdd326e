"""Settings: which file counts, where the journal is, what is refused; and what `make_settings` leaves."""

import os
import tomllib
from pathlib import Path

import pytest

from amends.errors import MisuseError, SettingsError
from amends.settings import Settings, find_settings, make_settings, quoted, read_settings

NOTES = '[surfaces.notes]\ntype = "files"\nroot = "notes"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of this test's own, with no settings yet."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def written(folder: Path, text: str = NOTES) -> Settings:
    """Write settings into `folder` and find them there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "amends.toml").write_text(text)
    return find_settings(folder)


@pytest.mark.requirement("settings:place:nearest")
def test_the_nearest_file_upward_counts(tmp_path: Path) -> None:
    """A project's settings hold in all of its folders, and a part of it may have its own."""
    written(tmp_path / "project")
    written(tmp_path / "project" / "part")
    (tmp_path / "project" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "project" / "part" / "deep").mkdir()
    assert find_settings(tmp_path / "project" / "src" / "deep").path == tmp_path / "project" / "amends.toml"
    assert find_settings(tmp_path / "project" / "part" / "deep").folder == tmp_path / "project" / "part"


@pytest.mark.requirement("settings:place:own")
def test_the_users_own_settings_count_where_there_are_no_others(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From wherever they are found, also from their own folder, they mean the same journal."""
    with pytest.raises(SettingsError, match=r"no amends\.toml in .* and none of your own at") as raised:
        find_settings(tmp_path)
    assert raised.value.hint == "make one here: amends init"
    written(home / ".config" / "amends")
    state = home / ".local" / "state" / "amends" / "journal"
    assert find_settings(tmp_path).journal_folder == state
    assert find_settings(home / ".config" / "amends").journal_folder == state
    (tmp_path / "link").symlink_to(home / ".config" / "amends")
    assert find_settings(tmp_path / "link").journal_folder == state
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert find_settings(tmp_path).journal_folder == tmp_path / "elsewhere" / "amends" / "journal"


@pytest.mark.requirement("settings:place:paths")
def test_paths_start_at_the_settings_and_not_at_the_caller(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal's place may never depend on the folder that somebody happens to be in."""
    monkeypatch.chdir("/")
    settings = written(tmp_path / "project", NOTES + '[journal]\nfolder = "../kept"\n')
    assert os.path.realpath(settings.journal_folder) == str(tmp_path / "kept")
    assert settings.root_of(settings.surfaces["notes"]) == tmp_path / "project" / "notes"
    settings = written(tmp_path / "project", NOTES + '[journal]\nfolder = "~/kept"\n')
    assert settings.journal_folder == home / "kept"
    assert written(tmp_path / "other").journal_folder == tmp_path / "other" / ".amends" / "journal"


@pytest.mark.requirement("settings:policy:expires")
@pytest.mark.parametrize(
    ("text", "expected"),
    [("never", None), ("0s", 0), ("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("7d", 604_800_000)],
)
def test_a_duration_is_a_number_and_a_letter(tmp_path: Path, text: str, expected: int | None) -> None:
    """A bare number would be seconds to one reader and minutes to another."""
    assert written(tmp_path, f'[policy]\nexpires = "{text}"\n').policy.expires_in_ms == expected


@pytest.mark.requirement("settings:policy:expires")
@pytest.mark.parametrize("text", ["", "15", "m", "-1m", "1.5h", "15 m", "15min", "1234567d"])
def test_what_is_no_duration_is_refused(tmp_path: Path, text: str) -> None:
    """An expiry that is read as something else confirms too late or never."""
    with pytest.raises(SettingsError, match=r"policy\.expires: write a number and s, m, h or d"):
        written(tmp_path, f'[policy]\nexpires = "{text}"\n')


@pytest.mark.requirement("settings:journal:safe")
@pytest.mark.parametrize(
    ("root", "journal"),
    [
        ("notes", "notes/journal"),
        (".", "journal"),
        ("notes", "link/journal"),
        (".amends", ".amends/journal"),
        (".amends/journal/blobs", ".amends/journal"),
        (".amends/journal", ".amends/journal"),
    ],
)
def test_a_journal_that_a_write_could_reach_is_refused(tmp_path: Path, root: str, journal: str) -> None:
    """The record of what was done must not be a thing that can be written over."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "link").symlink_to("notes")
    with pytest.raises(SettingsError, match="lies inside"):
        written(tmp_path, f'[surfaces.notes]\ntype = "files"\nroot = "{root}"\n[journal]\nfolder = "{journal}"\n')
    assert written(tmp_path, '[surfaces.all]\ntype = "files"\nroot = "."\n').surfaces


@pytest.mark.requirement("settings:fault:told")
def test_what_can_not_be_read_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with the file, its name and the next step are in the message."""
    path = tmp_path / "amends.toml"
    for content, why in [
        (b"\xff", "is not TOML"),
        (b"a = ", "is not TOML"),
        (b"#" * (1 << 20) + b"#", "has more than"),
    ]:
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=why) as raised:
            find_settings(tmp_path)
        assert str(path) in str(raised.value)
        assert str(path) in str(raised.value.hint)
    path.unlink()
    with pytest.raises(SettingsError, match="can't be read: no such file"):
        read_settings(path, default_journal=tmp_path)
    for root, why in [("~nobody-of-that-name", "nobody's home"), ("a\\u0000b", "no NUL character")]:
        with pytest.raises(SettingsError, match=why):
            written(tmp_path, f'[surfaces.notes]\ntype = "files"\nroot = "{root}"\n')
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert written(tmp_path, '[surfaces.notes]\ntype = "files"\nroot = "a"\n').surfaces


@pytest.mark.requirement("settings:fault:told")
def test_a_folder_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell may stand in a folder that somebody has removed; that is no reason for a stack trace."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SettingsError, match=r"can't be looked for from .*: no such file"):
        find_settings(Path())


@pytest.mark.requirement("settings:fault:told")
def test_a_user_without_a_home_has_no_settings_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run under numbers that no passwd file knows."""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SettingsError, match=r"and none of your own; nothing was sent"):
        find_settings(tmp_path)


@pytest.mark.requirement("settings:make:works")
def test_new_settings_are_read_back_before_they_are_kept(tmp_path: Path) -> None:
    """`init` must not leave behind what the next command refuses."""
    (tmp_path / "notes").mkdir()
    settings = make_settings(tmp_path, root="notes", name="notes")
    assert settings.root_of(settings.surfaces["notes"]) == tmp_path / "notes"
    with pytest.raises(MisuseError, match="is there already; it was not changed"):
        make_settings(tmp_path, root="notes", name="notes")
    (tmp_path / "amends.toml").unlink()
    (tmp_path / ".amends" / "journal").mkdir(parents=True)
    with pytest.raises(MisuseError, match="was not kept"):
        make_settings(tmp_path, root=".amends/journal", name="notes")
    with pytest.raises(MisuseError, match="is no folder"):
        make_settings(tmp_path, root="a\0b", name="notes")
    assert not (tmp_path / "amends.toml").exists()
    with pytest.raises(SettingsError, match="can't be written: no such file"):
        make_settings(tmp_path / "nowhere", root=str(tmp_path), name="notes")


@pytest.mark.requirement("settings:make:works")
def test_any_text_survives_being_written_as_toml() -> None:
    """JSON's escapes are not TOML's: surrogate pairs and DEL are where they part."""
    for text in ['"', "\\", "\x00\x1b\x7f\x85", "a\nb", "\U0001f600", "plain", "\u2028", "é"]:
        assert tomllib.loads(f"x = {quoted(text)}")["x"] == text
