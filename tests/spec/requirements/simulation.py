"""Requirements of the seeded simulator, its crashes and its checkers."""

from tests.spec.requirements.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {}
