"""``rowConstraints`` of a schema: read and checked as a whole, and asked about rows."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.expression import (
    AllOf,
    Condition,
    Mask,
    Numbers,
    Rows,
    Values,
    attributes_of,
    parts_of,
)
from privity.common.data.expression_parser import RuleError, parse_rule
from privity.common.data.value_grids import Grid
from privity.common.errors import Problem

if TYPE_CHECKING:
    import pandas as pd

MOST_DECIDED = 1 << 16
"""Combinations of values that are gone through to see whether a rule can be met or broken at all."""

MOST_COMBINED = 1 << 22
"""Combinations of values that are gone through to see which codes can meet a rule together."""


@dataclass(frozen=True)
class RowConstraint:
    """A rule that no synthetic row may break.

    Attributes:
        rule: its text, as in the schema.
    """

    rule: str
    condition: Condition = field(repr=False, compare=False)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of those that it is about."""
        return attributes_of(self.condition)

    def over(self, attributes: Mapping[str, Attribute]) -> RowConstraint:
        """The same rule about the same attributes, of which some domains were discovered since."""
        return RowConstraint(self.rule, parse_rule(self.rule, attributes))

    def refused(self, rows: Rows) -> Mask:
        """Which rows break it, shape (rows,): those for which it is false, and not merely unknown."""
        return self.condition.of(rows).false

    def possible(self, attributes: Mapping[str, Attribute]) -> Mask | None:
        """Which codes of its attributes can meet it together, an axis an attribute; None if they are too many.

        Bins can if some of their values do. A row that is absent meets every rule.
        """
        shape = tuple(attributes[name].size for name in self.attributes)
        if math.prod(shape) > MOST_COMBINED or (points := _points(self.condition, attributes, MOST_COMBINED)) is None:
            return None
        codes, rows = _combined(points)
        cells = np.ravel_multi_index(codes, shape)
        met = np.bincount(cells[~self.refused(rows)], minlength=math.prod(shape)).reshape(shape) > 0
        for axis, name in enumerate(self.attributes):
            if attributes[name].absent:
                np.moveaxis(met, axis, 0)[-1] = True
        return met


def read_constraints(
    rules: Sequence[str], attributes: Sequence[Attribute], file: str, discovered: Collection[str] = ()
) -> tuple[tuple[RowConstraint, ...], list[Problem]]:
    """The constraints that these texts state, and every fault of theirs; the attributes are sound.

    Of a rule with several faults the first one is told. What a rule says of a domain that was discovered, or is yet to
    be, is no fault: nobody who declared the rule knew it.

    Args:
        discovered: names of attributes whose domain was.
    """
    unknown = {each.name for each in attributes if each.discover or each.histogram is not None} | {*discovered}
    by_name = {attribute.name: attribute for attribute in attributes}
    found: list[RowConstraint] = []
    problems: list[Problem] = []
    first_of: dict[Condition, int] = {}

    def fault(place: int, rule: str, message: str, remedy: str) -> None:
        problems.append(Problem(file, f"rowConstraints[{place}]", rule, message, remedy))

    for place, text in enumerate(rules):
        try:
            condition = parse_rule(text, by_name)
        except RuleError as error:
            fault(place, error.kind, error.message, error.remedy)
            continue
        found.append(RowConstraint(text, condition))
        if first_of.setdefault(condition, place) != place:
            message = f"it says the same as rowConstraints[{first_of[condition]}]."
            fault(place, "duplicate-rule", message, "Keep one of them.")
            continue
        met, broken = _decided(condition, by_name, unknown)
        if not met:
            fault(place, "rule-never-met", "no row can meet it.", "Correct it: every row would be refused.")
        elif not broken:
            fault(place, "rule-always-met", "every row meets it.", "Leave it out, or correct it.")
    if not problems and len(found) > 1:
        met, _ = _decided(AllOf(tuple(constraint.condition for constraint in found)), by_name, unknown)
        if not met:
            message = "no row can meet all of them together."
            problems.append(Problem(file, "rowConstraints", "rules-contradict", message, "Correct or leave out some."))
    return tuple(found), problems


def decoded(
    constraints: Iterable[RowConstraint],
    attributes: Mapping[str, Attribute],
    codes: Mapping[str, npt.NDArray[np.unsignedinteger]],
    frame: pd.DataFrame,
) -> Rows:
    """Rows as rules look at them, of the attributes that these rules are about.

    Args:
        codes: of each attribute, shape (rows,).
        frame: the same rows, decoded.
    """
    rows = {}
    for name in dict.fromkeys(name for constraint in constraints for name in constraint.attributes):
        attribute = attributes[name]
        code = codes[name]
        missing = code == attribute.values if attribute.missing else np.zeros(len(code), dtype=np.bool_)
        if attribute.type in ("string", "boolean"):
            rows[name] = Values(code, missing)
            continue
        data = frame[name].to_numpy()
        if data.dtype == object:
            data = np.where(missing, 0, data)
            if attribute.exact:
                data = _objects(Fraction(value) for value in data)
            elif attribute.type == "number":
                data = data.astype(np.float64)
            elif attribute.edges or all(abs(int(value)) < 2**63 for value in attribute.categories):
                data = data.astype(np.int64)
            else:
                data = np.array([int(value) for value in data], dtype=object)
        rows[name] = Values(data, missing)
    return rows


def _decided(condition: Condition, attributes: Mapping[str, Attribute], unknown: Collection[str]) -> tuple[bool, bool]:
    """Whether some row meets the condition or leaves it unknown, and whether some row breaks it.

    (True, True) where that is not found out: there are too many combinations, or a domain is among the unknown.
    """
    if not {*unknown}.isdisjoint(attributes_of(condition)):
        return True, True
    if (points := _points(condition, attributes, MOST_DECIDED)) is None:
        return True, True
    false = condition.of(_combined(points)[1]).false
    return not bool(false.all()), bool(false.any())


@dataclass(frozen=True)
class _Points:
    """Values of an attribute that stand for all of its values, and the code of each."""

    codes: npt.NDArray[np.int64]
    values: Values


def _combined(points: Mapping[str, _Points]) -> tuple[list[npt.NDArray[np.int64]], Rows]:
    """Every combination of the points, as codes of each attribute and as rows."""
    grid = np.indices([len(of.codes) for of in points.values()]).reshape(len(points), -1)
    codes = [of.codes[places] for places, of in zip(grid, points.values(), strict=True)]
    rows = {
        name: Values(of.values.data[places], of.values.missing[places])
        for places, (name, of) in zip(grid, points.items(), strict=True)
    }
    return codes, rows


def _points(condition: Condition, attributes: Mapping[str, Attribute], most: int) -> dict[str, _Points] | None:
    """The points of each attribute that the condition is about; None if they have more combinations than ``most``.

    A comparison depends only on the order of values and of the numbers in the condition. So of all rows of the same
    codes in the same order one is enough: that in which each value is as small as it can be.
    """
    named = [attributes[name] for name in attributes_of(condition)]
    if math.prod(attribute.values for attribute in named) > most:
        return None
    numbers = [attribute for attribute in named if attribute.numeric]
    marks = {
        part.right for part in parts_of(condition) if isinstance(part, Numbers) and isinstance(part.right, Fraction)
    }
    marks |= {Fraction(value) for each in numbers for value in each.categories if not isinstance(value, str)}
    marks |= {_low(grid) for each in numbers if each.edges for grid in each.grids}
    steps = {Fraction(10) ** -grid.decimals for each in numbers if each.edges for grid in each.grids}
    # The smallest value at or after a mark, or after another value; each of them may be after all others.
    for _ in numbers:
        marks |= {to(mark / step) * step for mark in marks for step in steps for to in (math.ceil, _next)}
    near = sorted(marks)
    points = {attribute.name: _points_of(attribute, near) for attribute in named}
    return None if math.prod(len(of.codes) for of in points.values()) > most else points


def _next(number: Fraction) -> int:
    return math.floor(number) + 1


def _low(grid: Grid) -> Fraction:
    return Fraction(grid.first) * Fraction(10) ** -grid.decimals


def _points_of(attribute: Attribute, marks: Sequence[Fraction]) -> _Points:
    """Those of one attribute: of bins the marks that are values, in order."""
    if attribute.edges:
        of_bins = [_marks_of_bin(grid, marks) for grid in attribute.grids]
        codes = np.repeat(np.arange(attribute.values), [len(numbers) for numbers in of_bins])
        data: npt.NDArray[np.generic] = _objects(number for numbers in of_bins for number in numbers)
        if not attribute.exact:
            data = data.astype(np.int64 if attribute.whole else np.float64)
    else:
        codes = np.arange(attribute.values)
        data = _numbers(attribute) if attribute.numeric else codes
    others = np.arange(attribute.values, attribute.present)
    missing = np.append(np.zeros(len(data), dtype=np.bool_), np.ones(len(others), dtype=np.bool_))
    values = Values(np.append(data, np.repeat(data[:1], len(others))), missing)
    return _Points(np.append(codes, others), values)


def _marks_of_bin(grid: Grid, marks: Sequence[Fraction]) -> list[Fraction]:
    """The marks that are values of a bin."""
    low, step = _low(grid), Fraction(10) ** -grid.decimals
    inside = marks[bisect_left(marks, low) : bisect_right(marks, low + (grid.count - 1) * step)]
    return [mark for mark in inside if (mark / step).denominator == 1]


def _numbers(attribute: Attribute) -> npt.NDArray[np.generic]:
    """The categories of a number, as they stand in decoded rows."""
    numbers = [Fraction(value) for value in attribute.categories if not isinstance(value, str)]
    if attribute.exact:
        return _objects(numbers)
    if attribute.type == "number":
        return np.array([float(number) for number in numbers])
    whole = [int(number) for number in numbers]
    return np.array(whole, dtype=np.int64 if all(abs(number) < 2**63 for number in whole) else object)


def _objects(numbers: Iterable[Fraction]) -> npt.NDArray[np.object_]:
    listed = list(numbers)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array
