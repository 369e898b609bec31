"""Drafts a schema from a file, for a person to review before anybody declares it.

What is read from rows tells about the rows: see ``LEAK_WARNING``, which is to be shown with every draft. The domains of
numbers are left to be discovered under differential privacy, so that no minimum or maximum of the rows is in a draft.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, read_number
from privity.common.data.schema import FORMAT_VERSION
from privity.common.data.schema_fields import OTHER
from privity.common.data.table_reading import read_rows

LEAK_WARNING = (
    "This draft was read from the rows, which is a leak: it is not private. A category can be one person's, and so can "
    "a text for missing values or the number of decimals. Before you share it, replace what the rows gave by what is "
    "publicly known (code lists), and only then declare it."
)

DRAFTED = (
    "Drafted from the rows: not private, do not publish. Review each field, replace what the rows gave by what is "
    "publicly known, and then: privity schema review"
)

MOST_LISTED_NUMBERS = 20  # distinct numbers up to which they are listed as categories
MOST_LISTED_TEXTS = 256  # distinct texts up to which they are listed as categories
MARKERS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")
"""Texts that mean a missing value beside numbers; beside other texts the first two do."""

_CODE = re.compile(r"[+-]?0[0-9]+")
"""A number that is written with leading zeros is a code, such as that of a place."""


def draft_schema(path: Path | str) -> dict[str, Any]:
    """Return a schema for the CSV file: categories for few distinct values, other numbers with their domain open.

    A text column of too many distinct values is left open, too. The schema is marked as not reviewed.
    Raises as ``privity.common.data.coded_table.read_rows`` does.
    """
    frame = read_rows(path)
    fields = [_draft_field(str(name), sorted(set(frame[name]))) for name in frame.columns]
    name = Path(path).name.removesuffix(".gz").removesuffix(".csv")
    head = {"format_version": FORMAT_VERSION, "name": name, "reviewed": False, "description": DRAFTED}
    return {**head, "fields": fields}


def _draft_field(name: str, distinct: Sequence[str]) -> dict[str, Any]:
    missing = [text for text in MARKERS if text in distinct]
    texts = [text for text in distinct if text not in missing]
    numbers = [Fraction(number) for text in texts if (number := read_number(text)) is not None]
    readable = numbers and len(numbers) == len(texts) and all(abs(number) < 2**60 for number in numbers)
    if readable and not any(_CODE.fullmatch(text) for text in texts):
        # Texts such as "1" and "1.0" are one number.
        return {"name": name, **_draft_numbers(sorted(set(numbers)), texts), **_missing(missing)}
    missing = [text for text in MARKERS[:2] if text in distinct]
    texts = [text for text in distinct if text not in missing]
    if texts and set(texts) <= {*TRUE_TEXTS, *FALSE_TEXTS}:
        return {"name": name, "type": "boolean", **_missing(missing)}
    if len(texts) > MOST_LISTED_TEXTS:
        description = "Too many distinct texts to list: declare groups, discover the frequent ones, or leave it out."
        return {"name": name, "description": description, "type": "string", "domain": "discover", **_missing(missing)}
    if len(texts) < 2 and not missing:
        # One value is no domain.
        other = {"outOfDomain": "other", "other": OTHER}
        return {"name": name, "type": "string", "categories": [*texts, OTHER], **other}
    return {"name": name, "type": "string", "categories": texts, **_missing(missing)}


def _missing(texts: Sequence[str]) -> dict[str, Any]:
    return {"missingValues": list(texts)} if texts else {}


def _draft_numbers(numbers: Sequence[Fraction], texts: Sequence[str]) -> dict[str, Any]:
    integers = all(number.denominator == 1 for number in numbers)
    kind = "integer" if integers else "number"
    if 1 < len(numbers) <= MOST_LISTED_NUMBERS:
        categories = [int(number) if number.denominator == 1 else float(number) for number in numbers]
        return {"type": kind, "categories": categories, "categoriesOrdered": True}
    decimals = {} if integers else {"decimals": _decimals(texts)}
    return {"type": kind, "domain": "discover", **decimals}


def _decimals(texts: Sequence[str]) -> int:
    """The most digits after the point that a text has; 6 at most, and of a number written otherwise."""
    plain = [re.fullmatch(r"[+-]?[0-9]*(?:\.([0-9]*))?", text) for text in texts]
    return min(6, max((len(found[1] or "") if found else 6) for found in plain))
