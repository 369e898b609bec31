"""Drafts a schema from a file, for a person to review before anybody declares it.

A domain that is read from rows tells about the rows: see ``LEAK_WARNING``, which is to be shown with
every draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, read_number
from privity.common.data.schema import FORMAT_VERSION
from privity.common.data.table_reading import read_rows

LEAK_WARNING = (
    "This draft was read from the rows, and a domain read from private rows is itself a leak: a category, "
    "a minimum or a maximum can be one person's. Before you share it, replace what the rows gave by what is "
    "publicly known (code lists, legal ranges), and only then declare it."
)

DRAFTED = (
    "Drafted from the rows: not private, do not publish. Review each field, replace what the rows gave by what is "
    "publicly known, and then remove this description."
)

MOST_LISTED_NUMBERS = 20  # distinct integers up to which they are listed as categories
MOST_LISTED_TEXTS = 256  # distinct texts up to which they are listed as categories
BINS = 16


def draft_schema(path: Path | str) -> dict[str, Any]:
    """Return a schema for the CSV file: categories for few distinct values, bins for other numbers.

    Ranges are rounded outwards to the power of ten below their width. The empty text is drafted as a missing
    value; no other text is. A text column of too many distinct values is left without a domain, with a
    description that says so, and ``parse_schema`` reports it until a person decides.
    Raises as ``privity.common.data.coded_table.read_rows`` does.
    """
    frame = read_rows(path)
    fields = [_draft_field(str(name), sorted(set(frame[name]))) for name in frame.columns]
    name = Path(path).name.removesuffix(".gz").removesuffix(".csv")
    return {"format_version": FORMAT_VERSION, "name": name, "description": DRAFTED, "fields": fields}


def _draft_field(name: str, distinct: Sequence[str]) -> dict[str, Any]:
    missing = {"missingValues": [""]} if "" in distinct else {}
    texts = [text for text in distinct if text]
    numbers = [Fraction(number) for text in texts if (number := read_number(text)) is not None]
    if numbers and len(numbers) == len(texts) and all(abs(number) < 2**60 for number in numbers):
        # Texts such as "1" and "1.0" are one number.
        return {"name": name, **_draft_numbers(sorted(set(numbers))), **missing}
    if texts and set(texts) <= {*TRUE_TEXTS, *FALSE_TEXTS}:
        return {"name": name, "type": "boolean", **missing}
    if len(texts) > MOST_LISTED_TEXTS:
        description = "Too many distinct texts to list: declare groups by hand, or leave the attribute out."
        return {"name": name, "description": description, "type": "string", **missing}
    return {"name": name, "type": "string", "categories": texts, **missing}


def _draft_numbers(numbers: Sequence[Fraction]) -> dict[str, Any]:
    integers = all(number.denominator == 1 for number in numbers)
    if integers and len(numbers) <= MOST_LISTED_NUMBERS:
        categories = [int(number) for number in numbers]
        return {"type": "integer", "categories": categories, "categoriesOrdered": True}
    low, high = _round_out(numbers[0], numbers[-1], integers)
    bins = min(BINS, int(high - low)) if integers else BINS
    bounds = {"minimum": _json_number(low), "maximum": _json_number(high)}
    return {"type": "integer" if integers else "number", "constraints": bounds, "bins": bins}


def _round_out(low: Fraction, high: Fraction, integers: bool) -> tuple[Fraction, Fraction]:
    """Widen a range to multiples of the power of ten below its width (1 at least for integers)."""
    width = float(high - low) or float(abs(low)) or 1.0
    step = Fraction(10) ** (Decimal(width).adjusted())
    if integers:
        step = max(step, Fraction(1))
    low, high = floor(low / step) * step, ceil(high / step) * step
    return low, high if high > low else low + step


def _json_number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
