"""The manifest: every promise of Amends under its id.

To add one: put `"area:feature:variant": Requirement(source, sentence)` into the module of its area, mark the test that
proves it with `@pytest.mark.requirement("area:feature:variant")`, and add one line with the id in backticks to
docs/concepts/guarantees.md. tests/spec/test_coverage.py checks all three against each other.
"""

from tests.spec.requirements import (
    atlas,
    broker,
    cli,
    contract,
    crash,
    document,
    files,
    fingerprint,
    fuzz,
    house,
    journal,
    lifecycle,
    recovery,
    settings,
    simulation,
    system,
    transaction,
)
from tests.spec.requirements.requirement import Requirement

AREAS: dict[str, dict[str, Requirement]] = {
    area.__name__.rpartition(".")[2]: area.REQUIREMENTS
    for area in (
        contract,
        lifecycle,
        fingerprint,
        recovery,
        transaction,
        broker,
        journal,
        files,
        cli,
        document,
        settings,
        system,
        atlas,
        house,
        simulation,
        crash,
        fuzz,
    )
}

REQUIREMENTS: dict[str, Requirement] = {name: item for area in AREAS.values() for name, item in area.items()}

__all__ = ["AREAS", "REQUIREMENTS", "Requirement"]
