"""Writing a schema down again: its fields as a Table Schema has them, and texts that a digest is taken over."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from privity.common.data.attribute import PLAIN_KEYS, Attribute, Group, Value, is_double, value_text
from privity.common.data.field_keys import FORM

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


def plain_document(attribute: Attribute, *, digest: bool = False) -> dict[str, Any]:
    """What stands under plain keys, or those of a digest, leaving out what is the default."""
    keys = ((name, each) for name, each in PLAIN_KEYS.items() if each.digest or not digest)
    return {each.key: value for name, each in keys if (value := getattr(attribute, name)) != each.default}


def points_in_words(attribute: Attribute) -> dict[str, Any]:
    """What its public grid follows from; or the decimals to which values are rounded, and how they are drawn."""
    if attribute.discover and not attribute.edges:
        return {"open": True}
    if attribute.discover:
        ends = [str(attribute.edges[0]), str(attribute.edges[-1])]
        return {"grid": [*ends, attribute.decimals or 0], **_form_in_words(attribute)}
    found = _form_in_words(attribute)
    if attribute.edges and attribute.decimals is not None:
        found["decimals"] = attribute.decimals
    if attribute.histogram is not None:
        found["histogram"] = [[str(edge) for edge in attribute.histogram.edges], list(attribute.histogram.weights)]
    return found


def _form_in_words(attribute: Attribute) -> dict[str, Any]:
    """What texts of dates and times follow from, beside their type."""
    if attribute.temporal is None:
        return {}
    zone = {} if attribute.timezone is None else {"timezone": attribute.timezone}
    return {"decimals": attribute.decimals or 0, "format": attribute.format, **zone}


def field_document(attribute: Attribute) -> dict[str, Any]:
    """Write one field of a Table Schema, leaving out what is the default."""
    item: dict[str, Any] = {"name": attribute.name, "type": attribute.type}
    item |= plain_document(attribute)
    if attribute.compute is not None:
        item["compute"] = dict(attribute.compute.document)
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
    if attribute.taxonomy:
        item["taxonomy"] = _named_groups(attribute, attribute.taxonomy)
    if attribute.missing:
        item["missingValues"] = list(attribute.missing)
    usual = ("edge" if attribute.edges else "other") if attribute.discover else "refuse"
    if attribute.out_of_domain != usual:
        item["outOfDomain"] = attribute.out_of_domain
    if attribute.other is not None:
        item["other"] = _json_value(attribute, attribute.other)
    return {key: item[key] for key in FORM if key in item}


def _named_groups(attribute: Attribute, groups: tuple[Group, ...]) -> dict[str, Any]:
    return {
        group.name: _named_groups(attribute, group.groups)
        or [_json_value(attribute, attribute.categories[code]) for code in group.codes]
        for group in groups
    }
