"""Requirements of the settings."""

from tests.spec.requirements.requirement import Requirement

SOURCE = "Settings"

REQUIREMENTS: dict[str, Requirement] = {
    "settings:place:nearest": Requirement(SOURCE, "The settings that count are the nearest amends.toml upward."),
    "settings:place:own": Requirement(
        SOURCE, "Where there are none, the user's own count, with one journal from wherever they are found."
    ),
    "settings:place:paths": Requirement(
        SOURCE, "Paths in settings start at the settings' folder, never at the current one."
    ),
    "settings:policy:expires": Requirement(
        SOURCE, "An expiry is a number and a letter, or never; anything else is refused."
    ),
    "settings:journal:safe": Requirement(
        SOURCE, "A journal that a write could reach is refused, and so is a root inside it."
    ),
    "settings:fault:told": Requirement(
        SOURCE, "Settings that can't be found, read or taken are told with the file, the reason and the next step."
    ),
    "settings:make:works": Requirement(SOURCE, "New settings are only left behind if they can be read."),
}
