"""Drafts a schema from a file, for a person to review before anybody declares it.

What is read from rows tells about the rows: see ``LEAK_WARNING``, which is to be shown with every draft. The domains of
numbers are left to be discovered under differential privacy, so that no minimum or maximum of the rows is in a draft
but a minimum of 0, which is proposed where no number is negative.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, UNDECLARED, read_number
from privity.common.data.date_formats import formats_of
from privity.common.data.dialect import Dialect, NumberMarks
from privity.common.data.file_look import Look, LookedAt
from privity.common.data.schema import FORMAT_VERSION
from privity.common.data.schema_fields import OTHER

LEAK_WARNING = (
    "This draft was read from the rows, which is a leak: it is not private. A category can be one person's, and so can "
    "a text for missing values or the number of decimals. Before you share it, replace what the rows gave by what is "
    "publicly known (code lists), and only then declare it."
)

MOST_LISTED_NUMBERS = 20  # distinct numbers up to which they are listed as categories
MOST_LISTED_TEXTS = 256  # distinct texts up to which they are listed as categories
MARKERS = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")
"""Texts that mean a missing value beside other texts; beside numbers there are more."""

ISO = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%dT%H:%M:%S"}
"""What needs no format."""

_CODE = re.compile(r"[+-]?0[0-9]+")
"""A number that is written with leading zeros is a code, such as that of a place."""


def drafted(look: Look) -> dict[str, Any]:
    """A schema for a file that was looked at: its dialect, categories for few distinct values, other domains open.

    Each field is marked as read off the rows, until a person declares it public.
    """
    name = Path(look.file).name.removesuffix(".gz").removesuffix(".csv")
    document = {"format_version": FORMAT_VERSION, "name": name}
    if dialect := look.dialect.document():
        document["dialect"] = dialect
    kept = [column for column in look.columns if not column.identifies]
    if look.ignored or len(kept) < len(look.columns):
        document["extraColumns"] = "ignore"
    fields = [{**draft_field(column, look.dialect), "readOffRows": UNDECLARED} for column in kept]
    return {**document, "fields": fields}


def draft_field(column: LookedAt, dialect: Dialect) -> dict[str, Any]:
    """The field of a column."""
    name, marks, distinct = column.name, column.marks, sorted(column.texts)
    missing = sorted(column.missing, key=lambda text: (text != "", -column.texts[text]))
    texts = [text for text in distinct if text not in missing]
    plain = [] if marks is None else [marks.plain(text) or "" for text in texts]
    numbers = [Fraction(number) for text in plain if (number := read_number(text)) is not None]
    readable = numbers and len(numbers) == len(texts) and all(abs(number) < 2**60 for number in numbers)
    if marks is not None and readable and not any(_CODE.fullmatch(text) for text in texts):
        # Texts such as "1" and "1.0" are one number.
        field = _draft_numbers(set(numbers), plain)
        return {"name": name, **field, **_own_marks(marks, dialect), **_missing(missing)}
    missing = [text for text in MARKERS if text in distinct]
    texts = [text for text in distinct if text not in missing]
    if moments := _draft_moments(texts):
        return {"name": name, **moments, **_missing(missing)}
    if texts and set(texts) <= {*TRUE_TEXTS, *FALSE_TEXTS}:
        return {"name": name, "type": "boolean", **_missing(missing)}
    if len(texts) > MOST_LISTED_TEXTS:
        description = "Too many distinct texts to list: declare groups, discover the frequent ones, or leave it out."
        return {"name": name, "description": description, "type": "string", "domain": "discover", **_missing(missing)}
    listed = [text for text in texts if not any(ord(sign) < 32 or ord(sign) == 127 for sign in text)]
    if not listed or len(listed) < len(texts) or (len(texts) < 2 and not missing):
        # A text with a line end can be no category, one value is no domain, and neither is none.
        other = {"outOfDomain": "other", "other": OTHER}
        return {"name": name, "type": "string", "categories": [*listed, OTHER], **other, **_missing(missing)}
    return {"name": name, "type": "string", "categories": texts, **_missing(missing)}


def _draft_moments(texts: Sequence[str]) -> dict[str, Any]:
    """Dates or times, if they can be so in one format only: whether a day stands before a month is not guessed."""
    forms = formats_of(texts)
    if len(forms) != 1:
        return {}
    form = forms[0]
    kind = "datetime" if "%H" in form and "%d" in form else "time" if "%H" in form else "date"
    if any(sign in form for sign in ("%I", "%z", "%f")):
        return {}  # of which more must be declared
    standard = ISO.get(kind) == form
    return {"type": kind, **({} if standard else {"format": form}), "domain": "discover"}


def _own_marks(marks: NumberMarks, dialect: Dialect) -> dict[str, Any]:
    """What a field declares of its numbers beside the dialect."""
    found: dict[str, Any] = {}
    if marks.decimal != (dialect.decimal or ".") or marks.group not in ("", dialect.group):
        found = {"decimalChar": marks.decimal} | ({"groupChar": marks.group} if marks.group else {})
    return found if marks.bare else {**found, "bareNumber": False}


def _missing(texts: Sequence[str]) -> dict[str, Any]:
    return {"missingValues": list(texts)} if texts else {}


def _draft_numbers(numbers: Collection[Fraction], texts: Sequence[str]) -> dict[str, Any]:
    integers = all(number.denominator == 1 for number in numbers)
    kind = "integer" if integers else "number"
    if 1 < len(numbers) <= MOST_LISTED_NUMBERS:
        categories = [int(number) if number.denominator == 1 else float(number) for number in sorted(numbers)]
        return {"type": kind, "categories": categories, "categoriesOrdered": True}
    decimals = {} if integers else {"decimals": _decimals(texts)}
    # Of counts, prices and the like the sign is known without the rows.
    bounds = {"constraints": {"minimum": 0}} if min(numbers) >= 0 else {}
    return {"type": kind, "domain": "discover", **bounds, **decimals}


def _decimals(texts: Sequence[str]) -> int:
    """The most digits after the point that a text has; 6 at most, and of a number written otherwise."""
    plain = [re.fullmatch(r"[+-]?[0-9]*(?:\.([0-9]*))?", text) for text in texts]
    return min(6, max((len(found[1] or "") if found else 6) for found in plain))
