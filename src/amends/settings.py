"""Settings: which surfaces there are, where the journal is, how long a proposal waits.

They are the nearest `amends.toml` upward from a folder, else the user's own. The journal's place follows from the
file that was found, never from the current folder alone; every command can say which one it uses.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from amends.errors import SettingsError

FILE_NAME = "amends.toml"

SETTINGS_BYTES_MAX = 1 << 20
"""Far above any settings that a person writes; a larger file is something else."""

_DURATION = re.compile(r"(\d{1,6})(s|m|h|d)")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

SurfaceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


def _is_duration(text: str) -> str:
    if text != "never" and not _DURATION.fullmatch(text):
        raise ValueError("write a number and s, m, h or d, such as '15m', or 'never'")
    return text


class FilesSettings(BaseModel):
    """A folder whose files can be written. `root` is relative to the settings' own folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["files"]
    root: str = Field(min_length=1)


class PolicySettings(BaseModel):
    """How long a proposal waits for its confirmation before it expires."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expires: Annotated[str, AfterValidator(_is_duration)] = "never"

    @property
    def expires_in_ms(self) -> int | None:
        """The same in milliseconds; None for never."""
        found = _DURATION.fullmatch(self.expires)
        return int(found[1]) * _UNIT_MS[found[2]] if found else None


class JournalSettings(BaseModel):
    """Where the journal is kept. `folder` is relative to the settings' own folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str | None = None


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    surfaces: dict[SurfaceName, FilesSettings] = Field(default_factory=dict)
    policy: PolicySettings = PolicySettings()
    journal: JournalSettings = JournalSettings()


class Settings(_Document):
    """Settings as found in `path`."""

    path: Path
    default_journal: Path

    @property
    def folder(self) -> Path:
        """The folder of the settings file: what relative paths in it are relative to."""
        return self.path.parent

    @property
    def journal_folder(self) -> Path:
        """Where the journal is."""
        return self.default_journal if self.journal.folder is None else self._at(self.journal.folder)

    def root_of(self, surface: FilesSettings) -> Path:
        """Give the absolute root of a files surface."""
        return self._at(surface.root)

    def _at(self, path: str) -> Path:
        return self.folder / Path(path).expanduser()


def find_settings(start: Path) -> Settings:
    """Find and read the settings for `start`. Raises SettingsError that names the file, the reason, the next step."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return read_settings(folder / FILE_NAME, default_journal=folder / ".amends" / "journal")
    own = _user_folder("XDG_CONFIG_HOME", ".config") / FILE_NAME
    if own.is_file():
        return read_settings(own, default_journal=_user_folder("XDG_STATE_HOME", ".local/state") / "journal")
    raise SettingsError(
        f"no {FILE_NAME} in {start} or above it, and none at {own}; nothing was sent",
        hint="make one here: amends init",
    )


def read_settings(path: Path, *, default_journal: Path) -> Settings:
    """Read the settings in `path`. Raises SettingsError."""
    try:
        if path.stat().st_size > SETTINGS_BYTES_MAX:
            raise SettingsError(f"{path} has more than {SETTINGS_BYTES_MAX} bytes; that is no settings file")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        if not document.keys() <= _Document.model_fields.keys():
            unknown = min(document.keys() - _Document.model_fields.keys())
            raise SettingsError(f"{path}: {unknown} is no setting", hint="known: surfaces, policy, journal")
        settings = Settings(**document, path=path, default_journal=default_journal)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{path}: {place}: {first['msg']}; nothing was sent", hint=f"mend {path}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {error}; nothing was sent", hint=f"mend {path}") from error
    _reject_exposed_journal(settings)
    return settings


def _reject_exposed_journal(settings: Settings) -> None:
    """Refuse a journal that writes could reach: inside a root, but for a `.amends` folder, which is never a target."""
    journal = settings.journal_folder.resolve()
    for name, surface in settings.surfaces.items():
        root = settings.root_of(surface).resolve()
        if journal.is_relative_to(root) and ".amends" not in journal.relative_to(root).parts:
            raise SettingsError(
                f"{settings.path}: the journal {journal} lies inside surface {name} ({root}), where it could be"
                " overwritten; nothing was sent",
                hint=f"put it into {root / '.amends' / 'journal'}, or outside",
            )


def _user_folder(variable: str, fallback: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / fallback) / "amends"
