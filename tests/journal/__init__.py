"""The journals: one conformance suite for both, and what is special to the one on disk."""
