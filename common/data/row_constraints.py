"""``rowConstraints`` of a schema: read and checked as a whole, and asked about rows."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

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

    def refused(self, rows: Rows) -> Mask:
        """Which rows break it, shape (rows,): those for which it is false, and not merely unknown."""
        return self.condition.of(rows).false

    def possible(self, attributes: Mapping[str, Attribute]) -> Mask | None:
        """Which codes of its attributes can meet it together, an axis an attribute; None if they are too many.

        Bins can if some of their values do. A row that is absent meets every rule.
        """
        points = [_coded_points(self.condition, name, attributes) for name in self.attributes]
        shape = [attributes[name].size for name in self.attributes]
        if math.prod(len(codes) for codes, _ in points) > MOST_COMBINED or math.prod(shape) > MOST_COMBINED:
            return None
        grid = np.indices([len(codes) for codes, _ in points]).reshape(len(points), -1)
        rows = {
            name: Values(values.data[places], values.missing[places])
            for name, places, (_, values) in zip(self.attributes, grid, points, strict=True)
        }
        cells = np.ravel_multi_index(
            [codes[places] for places, (codes, _) in zip(grid, points, strict=True)], tuple(shape)
        )
        met = np.bincount(cells[~self.refused(rows)], minlength=math.prod(shape)).reshape(shape) > 0
        for axis, name in enumerate(self.attributes):
            if attributes[name].absent:
                np.moveaxis(met, axis, 0)[-1] = True
        return met


def read_constraints(
    rules: Sequence[str], attributes: Sequence[Attribute], file: str
) -> tuple[tuple[RowConstraint, ...], list[Problem]]:
    """The constraints that these texts state, and every fault of theirs; the attributes are sound.

    Of a rule with several faults the first one is told.
    """
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
        met, broken = _decided(condition, by_name)
        if not met:
            fault(place, "rule-never-met", "no row can meet it.", "Correct it: every row would be refused.")
        elif not broken:
            fault(place, "rule-always-met", "every row meets it.", "Leave it out, or correct it.")
    if not problems and len(found) > 1:
        met, _ = _decided(AllOf(tuple(constraint.condition for constraint in found)), by_name)
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


def _decided(condition: Condition, attributes: Mapping[str, Attribute]) -> tuple[bool, bool]:
    """Whether some row meets the condition or leaves it unknown, and whether some row breaks it.

    (True, True) where that is not found out: two binned attributes are compared, or there are too many combinations;
    or a domain was discovered, which nobody who declared the rule knew.
    """
    if any(attributes[name].histogram is not None for name in attributes_of(condition)):
        return True, True
    points = _points(condition, attributes)
    if points is None or math.prod(len(values) for values, _ in points.values()) > MOST_DECIDED:
        return True, True
    grid = np.indices([len(values) for values, _ in points.values()]).reshape(len(points), -1)
    rows = {
        name: Values(values[places], missing[places])
        for places, (name, (values, missing)) in zip(grid, points.items(), strict=True)
    }
    false = condition.of(rows).false
    return not bool(false.all()), bool(false.any())


def _points(
    condition: Condition, attributes: Mapping[str, Attribute]
) -> dict[str, tuple[npt.NDArray[np.generic], Mask]] | None:
    """For each attribute values that stand for all of its values, and which one is missing.

    None if two bins meet, or there are too many combinations.
    """
    marks: dict[str, set[Fraction]] = {name: set() for name in attributes_of(condition)}
    if math.prod(attributes[name].values for name in marks) > MOST_DECIDED:
        return None
    for part in parts_of(condition):
        if not isinstance(part, Numbers):
            continue
        if isinstance(part.right, Fraction):
            marks[part.left].add(part.right)
            continue
        pair = attributes[part.left], attributes[part.right]
        if pair[0].edges and pair[1].edges:
            return None
        for one, other in (pair, pair[::-1]):
            marks[one.name] |= {Fraction(value) for value in other.categories if not isinstance(value, str)}
    return {name: _points_of(attributes[name], sorted(marks[name])) for name in marks}


def _points_of(attribute: Attribute, marks: Sequence[Fraction]) -> tuple[npt.NDArray[np.generic], Mask]:
    if attribute.type in ("string", "boolean"):
        values: npt.NDArray[np.generic] = np.arange(attribute.values)
    elif attribute.categories:
        values = _objects(Fraction(value) for value in attribute.categories if not isinstance(value, str))
    else:
        values = _objects(_of_bins(attribute, marks))
    missing = np.zeros(len(values) + bool(attribute.missing), dtype=np.bool_)
    if attribute.missing:
        values = np.append(values, values[:1])
        missing[-1] = True
    return values, missing


def _of_bins(attribute: Attribute, marks: Sequence[Fraction]) -> list[Fraction]:
    """Numbers of the attribute's bins at the marks and next to them, and their ends; no other differs from these."""
    return sorted({number for numbers in _of_each_bin(attribute, marks) for number in numbers})


def _of_each_bin(attribute: Attribute, marks: Sequence[Fraction]) -> Iterator[list[Fraction]]:
    for grid in attribute.grids:
        low, high = _ends(grid)
        step = Fraction(10) ** -grid.decimals
        near = marks[bisect_left(marks, low - step) : bisect_right(marks, high + step)]
        inside = (Fraction(math.floor(mark / step) + shift) * step for mark in near for shift in (-1, 0, 1, 2))
        yield sorted({low, high, *(number for number in inside if low <= number <= high)})


def _ends(grid: Grid) -> tuple[Fraction, Fraction]:
    step = Fraction(10) ** -grid.decimals
    return grid.first * step, (grid.first + grid.count - 1) * step


def _coded_points(
    condition: Condition, name: str, attributes: Mapping[str, Attribute]
) -> tuple[npt.NDArray[np.int64], Values]:
    """Values of an attribute that stand for all of its values, and the code of each.

    Where two attributes are compared, those of one are the ends of the other's bins too.
    """
    attribute = attributes[name]
    if attribute.edges:
        marks: set[Fraction] = set()
        for part in parts_of(condition):
            if not isinstance(part, Numbers) or name not in (part.left, part.right):
                continue
            if isinstance(part.right, Fraction):
                marks.add(part.right)
                continue
            other = attributes[part.right if part.left == name else part.left]
            marks |= {Fraction(value) for value in other.categories if not isinstance(value, str)}
            marks |= {end for grid in (other.grids if other.edges else ()) for end in _ends(grid)}
        of_bins = list(_of_each_bin(attribute, sorted(marks)))
        codes = np.repeat(np.arange(attribute.values), [len(numbers) for numbers in of_bins])
        data: npt.NDArray[np.generic] = _objects(number for numbers in of_bins for number in numbers)
        if not attribute.exact:
            data = data.astype(np.int64 if attribute.whole else np.float64)
    else:
        codes = np.arange(attribute.values)
        data = codes if attribute.type in ("string", "boolean") else _numbers(attribute)
    others = np.arange(attribute.values, attribute.size)
    missing = np.append(np.zeros(len(data), dtype=np.bool_), np.ones(len(others), dtype=np.bool_))
    return np.append(codes, others), Values(np.append(data, np.repeat(data[:1], len(others))), missing)


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
