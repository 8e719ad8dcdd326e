"""What a writer of a journal or a surface needs to test it: conformance suites, a clock and ids under control.

The suites use plain asserts and take what they test from a factory, so that they run under any test runner. Import
them by their module, `amends.testing.journal_conformance`.
"""

from .fake_clock import FakeClock, FakeIds

__all__ = ["FakeClock", "FakeIds"]
