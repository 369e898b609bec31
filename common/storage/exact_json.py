"""JSON that others wrote: read within bounds, and in time that grows with its bytes, whatever they are.

``json`` reads numbers of any length, exponents that need gigabytes once they are written out, and any key twice. Here a
number has at most so many digits and so large an exponent that no arithmetic on it is dear, a document so many levels,
and a key that stands twice is told by the one pass that finds it.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from privity.common.text.short_values import shorten

DEEPEST = 64
"""Levels of nesting that a document may have."""

MOST_DIGITS = 400
"""Of a number. The longest that a double needs has 310, without a point."""

LARGEST_EXPONENT = 400
"""A number other than 0 is at least 10^-400 and less than 10^401 in size: doubles are, too."""


def read_exactly(text: str | bytes, *, doubles: bool = False) -> Any:
    """The document of a JSON text: whole numbers as ``int``, all others as ``Decimal``, or as doubles.

    Raises:
        json.JSONDecodeError: it is no JSON.
        ValueError: a number or a depth beyond the bounds, NaN, Infinity, or a key that appears twice in an object.
    """
    try:
        document = json.loads(
            text,
            parse_int=_whole,
            parse_float=_double if doubles else _decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique_keys,
        )
    except RecursionError:
        raise ValueError("nested too deep") from None
    if is_deeper(document):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return document


def is_deeper(document: Any) -> bool:
    """Whether a document has more levels than it may."""
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [member for value in level for member in _members(value) if type(member) in (dict, list)]
    return bool(level)


def _members(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return int(text)


def _decimal(text: str) -> Decimal:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    try:
        number = Decimal(text)
    except ArithmeticError:  # an exponent of twenty digits
        number = Decimal("Infinity")
    if not number.is_finite() or abs(number.adjusted()) > LARGEST_EXPONENT:
        raise ValueError(f"a number with an exponent beyond {LARGEST_EXPONENT}")
    return number


def _double(text: str) -> float:
    return float(_decimal(text))


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {shorten(key)} appears twice in one object")
            seen.add(key)
    return members
