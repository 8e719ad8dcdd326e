"""Requirements of the documents that enter and leave: settings, proposals, JSON."""

from tests.spec.requirements.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {}
