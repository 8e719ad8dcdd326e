"""Requirements of the commands, their exit codes and what they print."""

from tests.spec.requirements.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {}
