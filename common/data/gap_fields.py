"""The fields that would declare a column as another one plus a difference that is modelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from privity.common.data.attribute import PLAIN_KEYS, Attribute
from privity.common.data.computation import FORM
from privity.common.data.made_columns import MOMENTS
from privity.common.data.schema_document import plain_document


def gap_fields(made: Attribute, base: Attribute, *, ordered: bool) -> list[dict[str, Any]]:
    """The difference, whose domain is to be discovered, and the column as the base plus this difference.

    Args:
        ordered: whether it is never below the base.
    """
    name = f"{made.name} less {base.name}"
    whole = made.temporal is not None or made.type == base.type == "integer"
    missing = tuple(dict.fromkeys((*made.missing, *base.missing)))
    marks = {each.key: getattr(made, key) for key, each in PLAIN_KEYS.items() if each.of_rows}
    gap = {
        "name": name,
        "type": "integer" if whole else "number",
        "compute": {"from": made.name, "less": base.name},
        "domain": "discover",
        **({"constraints": {"minimum": 0}} if ordered else {}),
        **({} if whole else {"decimals": max(one.decimals or 0 for one in (made, base))}),
        **{key: value for key, value in marks.items() if value not in (None, True)},
        **({"missingValues": list(missing)} if missing else {}),
    }
    return [gap, total_field(replace(made, missing=missing), [base.name, name])]


def total_field(attribute: Attribute, names: Sequence[str]) -> dict[str, Any]:
    """The field of an attribute as the sum of others."""
    missing = {"missingValues": list(attribute.missing)} if attribute.missing else {}
    form = {} if attribute.temporal is None else plain_document(attribute)
    form = {key: value for key, value in form.items() if key in FORM}
    return {"name": attribute.name, "type": attribute.type, **form, "sum": list(names), **missing}


def kind_of(attribute: Attribute) -> tuple[object, ...]:
    """What two attributes share whose values can be compared."""
    form = attribute.temporal
    return ("number",) if form is None else (attribute.type, form.unit, form.zone)


def is_subtracted_alike(one: Attribute, other: Attribute) -> bool:
    """Whether the difference of two attributes of numbers can be computed as rows are read."""
    if not all(a.numeric and (a.temporal is None or a.type in MOMENTS) and a.compute is None for a in (one, other)):
        return False
    keys = ("format", "timezone", "years_from", *(key for key, each in PLAIN_KEYS.items() if each.of_rows))
    return kind_of(one) == kind_of(other) and all(getattr(one, key) == getattr(other, key) for key in keys)
