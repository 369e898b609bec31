"""Rules that rows of a model will hardly meet, told before anything is spent: no row is looked at, values are invented.

A model knows bins, and values are drawn within them. A rule that only rare values of its bins meet, such as ``low ==
high``, leaves a release without the rows that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.expression import Numbers, parts_of
from privity.common.data.gap_fields import gap_fields, is_subtracted_alike, total_field
from privity.common.data.row_constraints import RowConstraint, decoded
from privity.common.data.schema import Schema
from privity.common.release.synthetic_rows import REDRAWS
from privity.common.synthesis.learning.domain_discovery import stand_in

CELLS = 64
"""Cells of a rule's attributes that are looked at, at most."""

VALUES = 1 << 10
"""Rows that are invented in each."""

RARE = 1 / REDRAWS
"""Share of a cell's rows that meet a rule, below which drawing values again mends few rows."""


def unkept_rules(schema: Schema) -> list[str]:
    """A sentence for each rule that rows will hardly meet, with what to declare instead."""
    known = {attribute.name: attribute for attribute in schema.attributes}
    return [_in_words(rule, known) for rule in schema.row_constraints if _is_unkept(rule, known)]


def gap_hints(schema: Schema) -> list[str]:
    """For each rule that is the order of two numbers in bins, or two open ones, what would keep their gap, too."""
    known = {attribute.name: attribute for attribute in schema.attributes}
    found = []
    for rule in schema.row_constraints:
        condition = rule.condition
        if not isinstance(condition, Numbers) or isinstance(condition.right, Fraction):
            continue
        low, high = (known[name] for name in (condition.left, condition.right))
        if condition.relation in (">", ">="):
            low, high = high, low
        if low.edges and high.edges and condition.relation in ("<", "<=", ">", ">=") and is_subtracted_alike(low, high):
            fields = json.dumps(gap_fields(high, low, ordered=True), ensure_ascii=False)
            found.append(
                f"Rule {rule.rule}: the order is kept, and their gap is not modelled. If gaps are small beside the "
                f"values, declare in the place of this rule and of {high.name}: {fields}"
            )
    return found


def _is_unkept(rule: RowConstraint, known: Mapping[str, Attribute]) -> bool:
    """Whether in most cells that can meet the rule, and can break it, hardly any values meet it."""
    attributes = {name: _invented(known[name], rule) for name in rule.attributes}
    if not any(attribute.edges for attribute in attributes.values()):
        return False
    generator = np.random.default_rng(0)
    possible = rule.possible(attributes)
    if possible is None:
        # So many cells: they are looked at as they come.
        shape = [attribute.size for attribute in attributes.values()]
        cells = [generator.integers(0, size, CELLS * VALUES) for size in shape]
        return float(_met(rule, attributes, cells).mean()) < RARE
    places = np.flatnonzero(possible)
    places = generator.choice(places, CELLS, replace=False) if len(places) > CELLS else places
    cells = [np.repeat(codes, VALUES) for codes in np.unravel_index(places, possible.shape)]
    met = _met(rule, attributes, cells).reshape(-1, VALUES).mean(axis=1)
    open_ = met[met < 1]
    return bool(len(open_)) and float((open_ < RARE).mean()) >= 0.5


def _met(rule: RowConstraint, attributes: Mapping[str, Attribute], cells: list[np.ndarray]) -> np.ndarray:
    """Which invented rows of these codes meet the rule."""
    table = CodedTable(Schema("", tuple(attributes.values())), tuple(cells))
    frame = decode(table, np.random.default_rng(1))
    return ~rule.refused(decoded([rule], attributes, dict(zip(attributes, table.columns, strict=True)), frame))


def _invented(attribute: Attribute, rule: RowConstraint) -> Attribute:
    """The attribute with a domain that could be discovered, if it is open: bins end where the rule tells values apart.

    Absent rows meet every rule.
    """
    if not attribute.discover or not attribute.edges:
        return replace(attribute, absent=False)
    numbers = [part for part in parts_of(rule.condition) if isinstance(part, Numbers)]
    marks = {part.right for part in numbers if part.left == attribute.name and isinstance(part.right, Fraction)}
    low, high = attribute.edges[0], attribute.edges[-1]
    step = Fraction(1, 10**attribute.places)
    near = {edge for mark in marks for edge in (mark, mark + step) if low < edge < high}
    edges = tuple(sorted({low, high, *near, *(low + (high - low) * place / 8 for place in range(1, 8))}))
    (closed,) = stand_in(Schema("", (attribute,))).attributes
    return replace(closed, absent=False, edges=edges)


def _in_words(rule: RowConstraint, known: Mapping[str, Attribute]) -> str:
    said = (
        f"Rule {rule.rule}: hardly any invented row meets it. Values are drawn within bins, and few of these meet it, "
        "so that rows which it is about would be lost"
    )
    for part in parts_of(rule.condition):
        if not isinstance(part, Numbers):
            continue
        if isinstance(part.right, Fraction):
            value = known[part.left].name_of(part.right)
            edges = (
                f"by which {value} has a bin of its own"
                if part.relation in ("==", "!=")
                else f"one of which is {value}"
            )
            return f"{said}. Declare edges of {part.left}, {edges}."
        base, made = known[part.left], known[part.right]
        if not is_subtracted_alike(base, made):
            continue
        if part.relation == "==" and rule.condition == part:
            made = replace(made, missing=tuple(dict.fromkeys((*made.missing, *base.missing))))
            field = json.dumps(total_field(made, [base.name]), ensure_ascii=False)
            return f"{said}. Declare {made.name} as what follows from {base.name}, without the rule: {field}"
        fields = json.dumps(gap_fields(made, base, ordered=False), ensure_ascii=False)
        return f"{said}. Declare their difference, and the rule about it; in the place of {made.name}: {fields}"
    return f"{said}. Declare narrower bins, or leave the rule out."
