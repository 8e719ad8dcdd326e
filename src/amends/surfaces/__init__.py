"""The systems that can be written to, one package each: how it is read, sent to, fenced and undone.

A surface implements the port `amends.ports.Surface` and knows neither the broker nor the journal's inside. What it
declares per kind of write is tested by `amends.testing.surface_conformance`, in both directions.
"""

from .files import Files, Past, Remains

__all__ = ["Files", "Past", "Remains"]
