"""Parameters of which ``make test`` runs some, and ``make test-long`` all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

Parameters = type(pytest.param())


def thinned(values: Iterable[Any], every: int) -> list[Any]:
    """Every so many of these stay, from the first on; the others are long.

    Of a grid (a tuple for each place) every value stays, somewhere, if ``every`` has no divisor in common with the
    sizes of the grid. A value may have marks of its own.
    """
    return [value if place % every == 0 else as_long(value) for place, value in enumerate(map(_flat, values))]


def long_but(stay: Container[Any], values: Iterable[Any]) -> list[Any]:
    """Those that are not in ``stay`` are long."""
    return [value if value in stay else as_long(_flat(value)) for value in values]


def as_long(value: Any) -> Any:
    values = value.values if isinstance(value, Parameters) else (value,)
    marks = value.marks if isinstance(value, Parameters) else ()
    return pytest.param(*values, id=getattr(value, "id", None), marks=[*marks, pytest.mark.long])


def _flat(value: Any) -> Any:
    """A tuple for several arguments as parameters, with the marks of its members."""
    if not isinstance(value, tuple) or isinstance(value, Parameters):
        return value
    members = [member if isinstance(member, Parameters) else pytest.param(member) for member in value]
    return pytest.param(*(v for m in members for v in m.values), marks=[mark for m in members for mark in m.marks])
