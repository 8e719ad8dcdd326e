"""The vector that a surface declares and the one word that people see of it."""

from itertools import product

import pytest

from amends import Compare, Fence, Guarantee, Level, Receipt, Version


@pytest.mark.requirement("contract:guarantee:level")
@pytest.mark.parametrize(
    ("receipt", "compare", "version", "fence"), list(product(Receipt, Compare, Version, Fence)), ids=str
)
def test_the_level_of_every_vector_is_what_its_parts_allow(
    receipt: Receipt, compare: Compare, version: Version, fence: Fence
) -> None:
    """A word that is too good would let a message claim what the surface can't keep."""
    level = Guarantee(receipt, compare, version, fence).level
    expected = {Compare.NONE: Level.BLIND, Compare.RACY: Level.RACY, Compare.ATOMIC: Level.CONDITIONAL}[compare]
    if compare is Compare.ATOMIC and receipt is Receipt.SAME_STEP:
        expected = Level.ATOMIC
    assert level is expected
