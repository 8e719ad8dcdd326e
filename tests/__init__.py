"""The tests of Amends. Every one names what it proves: see tests/spec/requirements/."""
