"""Drafts of columns that hold one value in every row, or none: a constant, or a column that stays empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privity.common.data.attribute import TRUE_TEXTS
from privity.common.data.file_look import LookedAt
from privity.common.data.temporal import TEMPORAL, temporal
from privity.common.data.temporal_pattern import DEFAULT

LEAST_ROWS = 10
"""Of a table: fewer with one value say nothing of others."""

FORM = ("format", "timezone", "decimals")


def constant_field(column: LookedAt, field: Mapping[str, Any], rows: int) -> dict[str, Any] | None:
    """The field of a column that holds one text; None if it holds several, or what no constant can be.

    Args:
        field: as it would be drafted otherwise.
        rows: of the table.
    """
    if len(column.texts) != 1 or rows < LEAST_ROWS or "yearsFrom" in field:
        return None
    (text,) = column.texts
    name = {"name": column.name}
    if text in field.get("missingValues", ()):
        return {**name, "type": "string", "empty": True}
    if field["type"] == "boolean":
        return {**name, "type": "boolean", **_form(field), "constant": text in TRUE_TEXTS}
    if field["type"] in TEMPORAL:
        form = temporal(field["type"], field.get("format", DEFAULT), field.get("decimals"), field.get("timezone"))
        number = form.read(text)
        return None if number is None else {**name, "type": field["type"], **_form(field), "constant": form.iso(number)}
    categories = field.get("categories", ())
    return {**name, "type": field["type"], "constant": categories[0]} if len(categories) == 1 else None


def _form(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in FORM if key in field}
