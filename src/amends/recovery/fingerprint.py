"""The fingerprint of an operation, and the digest that a confirmation is bound to.

Source: persistent-work discipline, "Stable operation fingerprint". Kind, source, target and postcondition, and
nothing else: no label, id or prose, so that renaming or splitting a step keeps its history (invariant 17).

The one number rule: a float with an integral value is written as that integer, and an integer beyond 2^53 as a
tagged string, so that 100 and 100.0 are one fact and big keys survive readers that only know doubles. A key of the
caller's own that begins with `$` gets a second one, so that nothing written by hand can look like our tag.
"""

from __future__ import annotations

import hashlib

from amends.contract.operation import Json, Observation, Operation, canonical_json

INTEGER_MAX = 2**53
"""Largest magnitude up to which a double holds every integer (RFC 8785, section 3.2.2.3)."""


def _one_number_form(value: Json) -> Json:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return {"$integer": str(value)} if abs(value) > INTEGER_MAX else value
    if isinstance(value, dict):
        return {f"${key}" if key.startswith("$") else key: _one_number_form(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_one_number_form(item) for item in value]
    return value


def _canonical(value: Json) -> str:
    return canonical_json(_one_number_form(value))


def digest(value: Json) -> str:
    """Give the SHA-256, in hex, of the canonical JSON of `value`. Raises ValueError for NaN and infinities."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def fingerprint(operation: Operation) -> str:
    """Give what tells `operation` from every other one, whatever it is called and whoever asks.

    The postcondition is a set: neither the order of its facts nor a fact said twice makes another operation.
    """
    facts = {_canonical(item): item for item in ([f.target, f.field, f.value] for f in operation.postcondition)}
    return digest([operation.kind, operation.source, operation.target, [facts[key] for key in sorted(facts)]])


def confirmation_digest(
    print_of_it: str, payload: dict[str, Json], shown: Observation, shown_source: Observation | None = None
) -> str:
    """Give what a confirmation is bound to: exactly what will be sent, and the versions that were shown.

    `print_of_it` is the fingerprint of the operation.
    """
    looks = [shown] if shown_source is None else [shown, shown_source]
    seen = [[look.presence, look.version, look.fields] for look in looks]
    return digest([print_of_it, payload, seen])
