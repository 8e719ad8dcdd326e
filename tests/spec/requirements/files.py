"""Requirements of the surface of files and folders."""

from tests.spec.requirements.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {}
