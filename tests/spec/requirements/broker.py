"""Requirements of the life of a write: propose, confirm, read, record, send, classify, settle."""

from tests.spec.requirements.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {}
