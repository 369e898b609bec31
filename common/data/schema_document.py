"""Writing a schema down again: its fields as a Table Schema has them, and texts that a digest is taken over."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from privity.common.data.attribute import Attribute, Group, Value, is_double, value_text
from privity.common.data.temporal_pattern import DEFAULT

DIGITS = 40
"""More than any decimal has that is no double."""


def exact_text(value: Value) -> str:
    """A category as it stands in a digest: a fraction in full."""
    return str(value) if isinstance(value, Fraction) else value_text(value)


def nested_lists(groups: tuple[Group, ...]) -> list[Any]:
    """A taxonomy as it stands in a digest: lists keep the order of groups."""
    return [[group.name, nested_lists(group.groups) or list(group.codes)] for group in groups]


def _json_value(attribute: Attribute, number: Value) -> str | int | float:
    """Write a category, bound or edge for JSON, exactly."""
    if attribute.temporal is not None:
        return attribute.name_of(number)
    if isinstance(number, Fraction):
        # A decimal of more digits than a double has stands as a text.
        short = float(number) if is_double(number) else _decimal_text(number)
        return int(number) if number.denominator == 1 else short
    return number


def _decimal_text(number: Fraction) -> str:
    digits = Context(prec=DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    # Half a point beyond the last one, of a domain that was discovered, has an end as well; a double must do elsewhere.
    return format(digits, "f") if Fraction(digits) == number else repr(float(number))


def _last(attribute: Attribute) -> int:
    """The last value of bins of whole numbers."""
    return attribute.point_edges[-1] - 1


def field_document(attribute: Attribute) -> dict[str, Any]:
    """Write one field of a Table Schema, leaving out what is the default."""
    item: dict[str, Any] = {"name": attribute.name}
    texts = {"title": attribute.title, "description": attribute.description}
    item |= {key: text for key, text in texts.items() if text is not None}
    item["type"] = attribute.type
    if attribute.compute is not None:
        item["compute"] = dict(attribute.compute.document)
    if attribute.format != DEFAULT:
        item["format"] = attribute.format
    if attribute.timezone is not None:
        item["timezone"] = attribute.timezone
    if attribute.discover:
        item["domain"] = "discover"
    if attribute.discover and attribute.edges:
        item["constraints"] = {
            "minimum": _json_value(attribute, attribute.edges[0]),
            "maximum": _json_value(attribute, attribute.edges[-1] if attribute.temporal is None else _last(attribute)),
        }
    elif attribute.edges:
        ends = {
            "minimum": _json_value(attribute, attribute.edges[0]),
            "maximum": _json_value(attribute, attribute.edges[-1]),
        }
        item["constraints"] = ends
        if attribute.bins is not None:
            item["bins"] = attribute.bins
        else:
            item["edges"] = [_json_value(attribute, edge) for edge in attribute.edges]
    elif attribute.type != "boolean" and not attribute.discover:
        item["categories"] = [_json_value(attribute, value) for value in attribute.categories]
    if attribute.decimals is not None:
        item["decimals"] = attribute.decimals
    if (histogram := attribute.histogram) is not None:
        cells = {
            "edges": [_json_value(attribute, edge) for edge in histogram.edges],
            "weights": list(histogram.weights),
        }
        item["histogram"] = cells
    if (measured := attribute.measured) is not None:
        beyond = measured.beyond
        item["measured"] = {
            "minimum": _json_value(attribute, measured.minimum),
            "maximum": _json_value(attribute, measured.maximum),
            "beyond": None if beyond is None else {"share": beyond.share, "error": beyond.error},
        }
    if attribute.ordered:
        item["categoriesOrdered"] = True
    if attribute.taxonomy:
        item["taxonomy"] = _named_groups(attribute, attribute.taxonomy)
    if attribute.missing:
        item["missingValues"] = list(attribute.missing)
    marks = {"decimalChar": attribute.decimal_char, "groupChar": attribute.group_char}
    item |= {key: mark for key, mark in marks.items() if mark is not None}
    if not attribute.bare_number:
        item["bareNumber"] = False
    if attribute.read_off_rows is not None:
        item["readOffRows"] = attribute.read_off_rows
    usual = ("edge" if attribute.edges else "other") if attribute.discover else "refuse"
    if attribute.out_of_domain != usual:
        item["outOfDomain"] = attribute.out_of_domain
    if attribute.other is not None:
        item["other"] = _json_value(attribute, attribute.other)
    return item


def _named_groups(attribute: Attribute, groups: tuple[Group, ...]) -> dict[str, Any]:
    return {
        group.name: _named_groups(attribute, group.groups)
        or [_json_value(attribute, attribute.categories[code]) for code in group.codes]
        for group in groups
    }
