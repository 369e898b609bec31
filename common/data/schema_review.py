"""What a draft read off the rows, field by field: shown to a person, replaced by them, or declared public."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from privity.common.data.attribute import UNDECLARED, Attribute
from privity.common.data.schema import Schema

LONGEST_SHOWN = 60

DOMAINS = ("domain", "categories", "bins", "edges")
"""Keys of which a field has one."""

OF_DOMAINS = {"categories": ("categoriesOrdered", "taxonomy"), "edges": ("histogram", "measured")}
"""What goes with a domain of this key only."""

ENDS = ("minimum", "maximum")


def domain_in_words(attribute: Attribute) -> str:
    """A domain in a few words."""
    if attribute.discover:
        return "to be discovered"
    if attribute.edges:
        low, high = (attribute.name_of(edge) for edge in (attribute.edges[0], attribute.edges[-1]))
        return f"{low} to {high} in {len(attribute.edges) - 1} bins"
    values = ", ".join(attribute.name_of(value) for value in attribute.categories) or "false, true"
    return values if len(values) <= LONGEST_SHOWN else f"{len(attribute.categories)} categories"


def undeclared_in_words(schema: Schema, document: Mapping[str, Any]) -> dict[str, str]:
    """What each field that is still marked declares, by its name.

    Args:
        document: of the schema.
    """
    fields = {field["name"]: field for field in document["fields"]}
    return {name: _in_words(schema.attributes[schema.index(name)], fields[name]) for name in schema.undeclared}


def _in_words(attribute: Attribute, field: Mapping[str, Any]) -> str:
    said = [attribute.type, domain_in_words(attribute)]
    bounds = field.get("constraints", {}) if attribute.discover else {}
    said += [f"{end} {bounds[end]}" for end in ENDS if end in bounds]
    said += [f"{key}: {field[key]}" for key in ("format", "decimals") if key in field]
    if attribute.missing:
        said.append(f"missing: {', '.join(map(repr, attribute.missing))}")
    return ", ".join(said)


def declared_public(document: Mapping[str, Any], names: Collection[str], role: str) -> dict[str, Any]:
    """The document, in which this role declares public what these fields read off the rows."""
    found = copy.deepcopy(dict(document))
    for field in found["fields"]:
        if field["name"] in names and field.get("readOffRows") == UNDECLARED:
            field["readOffRows"] = role
    return found


def with_domain(field: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A field with other keys, of which a new domain takes the place of the one that it had.

    Args:
        changes: values by keys; None removes a key. ``minimum`` and ``maximum`` are those of ``constraints``.
    """
    changes = dict(changes)
    ends = {end: changes.pop(end) for end in ENDS if end in changes}
    if ends:
        bounds = {**field.get("constraints", {}), **(changes.get("constraints") or {}), **ends}
        changes["constraints"] = {end: bound for end, bound in bounds.items() if bound is not None} or None
    if new := [key for key in DOMAINS if changes.get(key) is not None]:
        gone = [*DOMAINS, *(key for of, keys in OF_DOMAINS.items() if of not in new for key in keys)]
        if not {*new} & {"domain", "bins"}:
            gone.append("constraints")  # it has ends of its own
        changes = dict.fromkeys(gone) | changes
    return {key: value for key, value in {**field, **changes}.items() if value is not None}
