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

from amends.errors import MisuseError, SettingsError

FILE_NAME = "amends.toml"

SETTINGS_BYTES_MAX = 1 << 20
"""Far above any settings that a person writes; a larger file is something else."""

_DURATION = re.compile(r"(\d{1,6})(s|m|h|d)")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_SURFACE_NAME = r"[a-z][a-z0-9_-]{0,31}"
_NAMES = "a name is made of a-z, 0-9, - and _, begins with a letter, and has at most 32 characters"

SurfaceName = Annotated[str, StringConstraints(pattern=f"^{_SURFACE_NAME}$")]


def _is_path(text: str) -> str:
    if "\0" in text:
        raise ValueError("a path holds no NUL character")
    try:
        Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"nobody's home is {text!r}") from None
    return text


PathText = Annotated[str, StringConstraints(min_length=1), AfterValidator(_is_path)]


def _is_duration(text: str) -> str:
    if text != "never" and not _DURATION.fullmatch(text):
        raise ValueError("write a number and s, m, h or d, such as '15m', or 'never'")
    return text


class FilesSettings(BaseModel):
    """One surface, under the name that targets begin with. `root` is relative to the settings' own folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["files"] = Field(description="What kind of system it is.")
    root: PathText = Field(description="The folder whose files can be written.")


def duration_ms(text: str) -> int | None:
    """Give a duration in milliseconds; None for never, and for what is none."""
    found = _DURATION.fullmatch(text)
    return int(found[1]) * _UNIT_MS[found[2]] if found else None


class PolicySettings(BaseModel):
    """How long a proposal waits for its confirmation before it expires, and how long the journal keeps what is over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expires: Annotated[str, AfterValidator(_is_duration)] = Field(
        default="never", description="How long a proposal waits: a number and s, m, h or d, or never."
    )

    keep: Annotated[str, AfterValidator(_is_duration)] = Field(
        default="never", description="How old `amends journal prune` lets things get: a duration; never: it must say."
    )

    @property
    def expires_in_ms(self) -> int | None:
        """The same in milliseconds; None for never."""
        return duration_ms(self.expires)


class JournalSettings(BaseModel):
    """The journal. `folder` is relative to the settings' own folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: PathText | None = Field(default=None, description="Where the journal is kept.")


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
    own = _own_settings()
    try:
        start = start.absolute()
        above = next((path for path in (start, *start.parents) if (path / FILE_NAME).is_file()), None)
        if above is not None and not (own and own.is_file() and own.samefile(above / FILE_NAME)):
            return read_settings(above / FILE_NAME, default_journal=above / ".amends" / "journal")
        if own and own.is_file():
            return read_settings(own, default_journal=_user_folder("XDG_STATE_HOME", ".local/state") / "journal")
    except OSError as error:
        raise SettingsError(
            f"the settings can't be looked for from {start}: {_why(error)}; nothing was sent",
            hint="go to a folder that exists and that you may read, or name one: amends -C FOLDER",
        ) from error
    raise SettingsError(
        f"no {FILE_NAME} in {start} or above it, and none of your own{f' at {own}' if own else ''}; nothing was sent",
        hint="make one here: amends init",
    )


def read_settings(path: Path, *, default_journal: Path) -> Settings:
    """Read the settings in `path`. Raises SettingsError."""
    try:
        if path.stat().st_size > SETTINGS_BYTES_MAX:
            raise SettingsError(
                f"{path} has more than {SETTINGS_BYTES_MAX} bytes; that is no settings file; nothing was sent",
                hint=f"see what {path} is",
            )
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        unknown = sorted(document.keys() - _Document.model_fields.keys())
        if unknown:
            known = ", ".join(_Document.model_fields)
            raise SettingsError(f"{path}: {unknown[0]!r} is no setting; nothing was sent", hint=f"known: {known}")
        settings = Settings(**document, path=path, default_journal=default_journal)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_first_fault(error)}; nothing was sent", hint=f"mend {path}") from error
    except OSError as error:
        raise SettingsError(f"{path} can't be read: {_why(error)}; nothing was sent", hint=f"mend {path}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not TOML: {error}; nothing was sent", hint=f"mend {path}") from error
    _reject_exposed_journal(settings)
    return settings


def make_settings(folder: Path, *, root: str, name: str) -> Settings:
    """Write an `amends.toml` into `folder`, with one surface over the files of `root`, and read it.

    Raises MisuseError, and then nothing is left behind, and SettingsError if it can't be written.
    """
    path, top = folder / FILE_NAME, folder / root
    if not re.fullmatch(_SURFACE_NAME, name):
        raise MisuseError(f"{name!r} can't name a surface: {_NAMES}", hint="give another --name")
    if "\0" in root or not top.is_dir():
        raise MisuseError(f"{top} is no folder", hint="make it first, or name another")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f'# Which systems Amends may write to.\n\n[surfaces.{name}]\ntype = "files"\n')
            file.write(f"root = {quoted(root)}\n")
        return find_settings(folder)
    except FileExistsError as error:
        raise MisuseError(f"{path} is there already; it was not changed", hint=f"edit {path}") from error
    except SettingsError as error:
        path.unlink()
        raise MisuseError(f"{error}; {path} was not kept", hint="name another folder") from error
    except OSError as error:
        raise SettingsError(
            f"{path} can't be written: {_why(error)}; nothing was sent", hint="choose a folder that you may write to"
        ) from error


def quoted(text: str) -> str:
    """Write `text` as a TOML string."""
    escaped = (char if char.isprintable() and char not in '"\\' else f"\\U{ord(char):08x}" for char in text)
    return f'"{"".join(escaped)}"'


def _reject_exposed_journal(settings: Settings) -> None:
    """Refuse a journal that writes could reach: inside a root, but for a `.amends` folder, which is never a target."""
    journal = _real(settings.journal_folder)
    for name, surface in settings.surfaces.items():
        root = _real(settings.root_of(surface))
        if root.is_relative_to(journal):
            raise SettingsError(
                f"{settings.path}: surface {name} ({root}) lies inside the journal {journal}; nothing was sent",
                hint="name another folder for one of them",
            )
        if journal.is_relative_to(root) and ".amends" not in journal.relative_to(root).parts:
            raise SettingsError(
                f"{settings.path}: the journal {journal} lies inside surface {name} ({root}), where it could be"
                " overwritten; nothing was sent",
                hint=f"put it into {root / '.amends' / 'journal'}, or outside",
            )


def _first_fault(error: ValidationError) -> str:
    first = error.errors()[0]
    *folders, name = first["loc"]
    place = ".".join(map(str, folders))
    if first["type"] == "extra_forbidden":
        return f"{name!r} is no setting of {place}"
    if name == "[key]":
        return f"{place}: it can't name a surface: {_NAMES}"
    return f"{'.'.join(filter(None, (place, str(name))))}: {first['msg'].removeprefix('Value error, ')}"


def _own_settings() -> Path | None:
    """Give the place of the user's own settings; None for a user without a home."""
    try:
        return _user_folder("XDG_CONFIG_HOME", ".config") / FILE_NAME
    except RuntimeError:
        return None


def _user_folder(variable: str, fallback: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / fallback) / "amends"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
