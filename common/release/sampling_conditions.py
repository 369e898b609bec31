"""Conditions on the rows that somebody asks a model for: some attributes, and a value of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from privity.common.data.schema import Schema
from privity.common.errors import Problem, ProblemsFound
from privity.common.text.short_values import shorten

OPTION = "where"


def codes_where(schema: Schema, conditions: Iterable[tuple[str, str]]) -> dict[int, int]:
    """The code that each attribute must have; all conditions hold together.

    A number stands for its bin, the text of a missing value for that. Dates and times are those of ISO 8601. Nothing is
    moved into the domain.

    Args:
        conditions: name of an attribute and text of a value.

    Raises:
        ProblemsFound: each attribute that there is not, value outside its domain, and pair that cannot both hold.
    """
    found: dict[int, int] = {}
    problems = []

    def fault(name: str, rule: str, message: str, remedy: str) -> None:
        problems.append(Problem(OPTION, shorten(name), rule, message, remedy))

    for name, text in conditions:
        if name not in schema.names:
            fault(name, "unknown-attribute", "no attribute is called so.", f"Attributes: {', '.join(schema.names)}.")
            continue
        place = schema.index(name)
        attribute = schema.attributes[place]
        code = replace(attribute, out_of_domain="refuse", other=None).code_of_name(text)
        if code is None:
            known = ", ".join(attribute.labels[:10]) + (", ..." if len(attribute.labels) > 10 else "")
            fault(name, "unknown-value", f"{shorten(text)} is no value of it.", f"Its domain: {known}.")
        elif found.setdefault(place, code) != code:
            both = f"{attribute.labels[found[place]]} and {attribute.labels[code]}"
            fault(name, "two-values", f"it cannot be {both} at once.", "Ask for one of them.")
    if problems:
        raise ProblemsFound(problems)
    return found


def read_condition(text: str, schema: Schema) -> tuple[str, str]:
    """Name and value of ``attribute=value``; either may hold the sign itself.

    Raises:
        ProblemsFound: there is no such sign in it.
    """
    parts = text.split("=")
    splits = [("=".join(parts[:place]), "=".join(parts[place:])) for place in range(1, len(parts))]
    for name, value in splits:
        if name in schema.names:
            return name, value
    if splits:
        return splits[0]
    raise ProblemsFound([Problem(OPTION, shorten(text), "form", "no = stands in it.", "Write attribute=value.")])
