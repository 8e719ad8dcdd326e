"""Tests of the surfaces, on real files and real processes."""
