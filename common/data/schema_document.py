"""Writing a schema down again: its fields as a Table Schema has them, and texts that a digest is taken over."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privity.common.data.attribute import Attribute, Group, Value, value_text


def exact_text(value: Value) -> str:
    """A category as it stands in a digest: a fraction in full."""
    return str(value) if isinstance(value, Fraction) else value_text(value)


def nested_lists(groups: tuple[Group, ...]) -> list[Any]:
    """A taxonomy as it stands in a digest: lists keep the order of groups."""
    return [[group.name, nested_lists(group.groups) or list(group.codes)] for group in groups]


def _json_number(number: Value) -> str | int | float:
    """Write a category, bound or edge for JSON; a double gives it exactly (checked on reading)."""
    if isinstance(number, Fraction):
        return int(number) if number.denominator == 1 else float(number)
    return number


def field_document(attribute: Attribute) -> dict[str, Any]:
    """Write one field of a Table Schema, leaving out what is the default."""
    item: dict[str, Any] = {"name": attribute.name}
    texts = {"title": attribute.title, "description": attribute.description}
    item |= {key: text for key, text in texts.items() if text is not None}
    item["type"] = attribute.type
    if attribute.discover:
        item["domain"] = "discover"
    if attribute.discover and attribute.edges:
        item["constraints"] = {
            "minimum": _json_number(attribute.edges[0]),
            "maximum": _json_number(attribute.edges[-1]),
        }
    elif attribute.edges:
        ends = {"minimum": _json_number(attribute.edges[0]), "maximum": _json_number(attribute.edges[-1])}
        item["constraints"] = ends
        if attribute.bins is not None:
            item["bins"] = attribute.bins
        else:
            item["edges"] = [_json_number(edge) for edge in attribute.edges]
    elif attribute.type != "boolean" and not attribute.discover:
        item["categories"] = [_json_number(value) for value in attribute.categories]
    if attribute.decimals is not None:
        item["decimals"] = attribute.decimals
    if (histogram := attribute.histogram) is not None:
        cells = {"edges": [_json_number(edge) for edge in histogram.edges], "weights": list(histogram.weights)}
        item["histogram"] = cells
    if attribute.ordered:
        item["categoriesOrdered"] = True
    if attribute.taxonomy:
        item["taxonomy"] = _named_groups(attribute, attribute.taxonomy)
    if attribute.missing:
        item["missingValues"] = list(attribute.missing)
    usual = ("edge" if attribute.edges else "other") if attribute.discover else "refuse"
    if attribute.out_of_domain != usual:
        item["outOfDomain"] = attribute.out_of_domain
    if attribute.other is not None:
        item["other"] = _json_number(attribute.other)
    return item


def _named_groups(attribute: Attribute, groups: tuple[Group, ...]) -> dict[str, Any]:
    return {
        group.name: _named_groups(attribute, group.groups)
        or [_json_number(attribute.categories[code]) for code in group.codes]
        for group in groups
    }
