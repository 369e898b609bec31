"""Texts of a schema that a spreadsheet takes for a formula: they are warned of, and stay as they are.

Rows are true to the schema, byte for byte, for the programs that read them. A spreadsheet that opens a CSV file runs a
text which begins like a formula, unless its columns are imported as text (docs/schema.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from privity.common.data.attribute import read_number
from privity.common.data.schema import Schema
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

WHY = "A spreadsheet that opens the rows (CSV) takes such a text for a formula, and may run it."
REMEDY = "The rows keep it as it is, for programs: import the columns as text, or declare another text."

_FORMULA = re.compile(r"[=+\-@\t\r].", re.DOTALL)


def formulas(schema: Schema) -> tuple[str, ...]:
    """Each text of the rows that begins like a formula, and is no number, with where it is declared."""
    return tuple(
        f"{what} {shorten(text)}" for what, text in _texts(schema) if _FORMULA.match(text) and read_number(text) is None
    )


def in_words(schema: Schema) -> str:
    """A sentence that names such texts; empty if there are none."""
    found = formulas(schema)
    if not found:
        return ""
    return f"These texts begin like a formula: {first_few(found, '; ')}."


def warning(schema: Schema) -> str:
    """The same with what may happen and what to do."""
    named = in_words(schema)
    return f"{named} {WHY} {REMEDY}" if named else ""


def _texts(schema: Schema) -> Iterator[tuple[str, str]]:
    """What a file of rows may hold as text: the header, categories, and what stands for a missing value."""
    for attribute in schema.attributes:
        yield "attribute", attribute.name
        for value in attribute.categories:
            if isinstance(value, str):
                yield f"attribute {shorten(attribute.name)}, category", value
        for text in attribute.missing[:1]:
            yield f"attribute {shorten(attribute.name)}, missing value", text
