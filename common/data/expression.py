"""What a rule says of rows: conditions in the three-valued logic of SQL.

A comparison with a missing value is unknown, ``not`` of unknown is unknown, ``and`` and ``or`` are Kleene's. A row is
refused only if its rule is false, as by a CHECK in SQL.

Numbers are compared exactly. A double stands for its shortest decimal, as everywhere in Privity. Decimals of at most 15
digits stand in the order of their doubles, so that arrays of doubles need no slow exact numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]

LARGEST_WHOLE_DOUBLE = 2**53
"""Up to here every integer is a double."""

LARGEST_INT64 = 2**63 - 1

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Values:
    """One attribute of some rows.

    Attributes:
        data: shape (rows,): of a text or a boolean its code among the categories; of a number int64, float64, or
            objects ``int`` and ``Fraction``. What stands at a missing value is of no meaning.
        missing: shape (rows,).
    """

    data: npt.NDArray[Any]
    missing: Mask


Rows = Mapping[str, Values]


@dataclass(frozen=True)
class Truth:
    """Where a condition is true and where it is false, each of shape (rows,); unknown elsewhere."""

    true: Mask
    false: Mask


@dataclass(frozen=True)
class Missing:
    """``missing(attribute)``: never unknown."""

    attribute: str

    def of(self, rows: Rows) -> Truth:
        missing = rows[self.attribute].missing
        return Truth(missing, ~missing)


@dataclass(frozen=True)
class Numbers:
    """A comparison of a number attribute with another one, or with a number."""

    relation: str
    left: str
    right: str | Fraction

    def of(self, rows: Rows) -> Truth:
        left = rows[self.left]
        compare = OPERATORS[self.relation]
        if isinstance(self.right, Fraction):
            return _known(compare(*_with_literal(left.data, self.right)), left.missing)
        right = rows[self.right]
        return _known(compare(*_alike(left.data, right.data)), left.missing | right.missing)


@dataclass(frozen=True)
class Codes:
    """A comparison of places that stand for categories: texts and booleans.

    Attributes:
        left_places, right_places: of each code of the attribute, comparable between both sides.
        right: an attribute, or the place of a category.
    """

    relation: str
    left: str
    left_places: tuple[int, ...]
    right: str | int
    right_places: tuple[int, ...] = ()

    def of(self, rows: Rows) -> Truth:
        left = rows[self.left]
        compare = OPERATORS[self.relation]
        places = _placed(left, self.left_places)
        if isinstance(self.right, int):
            return _known(compare(places, self.right), left.missing)
        right = rows[self.right]
        return _known(compare(places, _placed(right, self.right_places)), left.missing | right.missing)


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    part: Condition

    def of(self, rows: Rows) -> Truth:
        truth = self.part.of(rows)
        return Truth(truth.false, truth.true)


@dataclass(frozen=True)
class AllOf:
    """Conditions that all hold."""

    parts: tuple[Condition, ...]

    def of(self, rows: Rows) -> Truth:
        truths = [part.of(rows) for part in self.parts]
        return Truth(
            np.logical_and.reduce([truth.true for truth in truths]),
            np.logical_or.reduce([truth.false for truth in truths]),
        )


@dataclass(frozen=True)
class AnyOf:
    """Conditions of which one holds at least."""

    parts: tuple[Condition, ...]

    def of(self, rows: Rows) -> Truth:
        truths = [part.of(rows) for part in self.parts]
        return Truth(
            np.logical_or.reduce([truth.true for truth in truths]),
            np.logical_and.reduce([truth.false for truth in truths]),
        )


Condition = Missing | Numbers | Codes | Not | AllOf | AnyOf


def parts_of(condition: Condition) -> list[Missing | Numbers | Codes]:
    """The conditions that hold no others, in their order."""
    match condition:
        case Not(part):
            return parts_of(part)
        case AllOf(parts) | AnyOf(parts):
            return [found for part in parts for found in parts_of(part)]
        case _:
            return [condition]


def attributes_of(condition: Condition) -> tuple[str, ...]:
    """The attributes that a condition names, each once, in their order."""
    found: dict[str, None] = {}
    for part in parts_of(condition):
        if isinstance(part, Missing):
            found[part.attribute] = None
        else:
            found[part.left] = None
            if isinstance(part.right, str):
                found[part.right] = None
    return tuple(found)


def _known(held: npt.NDArray[Any], missing: Mask) -> Truth:
    held = np.asarray(held, dtype=np.bool_)
    return Truth(held & ~missing, ~held & ~missing)


def _placed(values: Values, places: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.array(places, dtype=np.int64)[np.where(values.missing, 0, values.data).astype(np.intp)]


def _with_literal(data: npt.NDArray[Any], literal: Fraction) -> tuple[npt.NDArray[Any], Any]:
    """The numbers and a literal, so that comparing them is exact."""
    if data.dtype == object:
        return data, literal
    if literal.denominator == 1 and data.dtype.kind == "i":
        whole = int(literal)
        return (data, whole) if abs(whole) <= LARGEST_INT64 else (data.astype(object), whole)
    if data.dtype.kind == "i" and _largest(data) > LARGEST_WHOLE_DOUBLE:
        return data.astype(object), literal
    return data, float(literal)


def _alike(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Two columns of numbers, so that comparing them is exact."""
    kinds = {left.dtype.kind, right.dtype.kind}
    if len(kinds) == 1 and "O" not in kinds:
        return left, right
    if kinds == {"i", "f"} and _largest(left if left.dtype.kind == "i" else right) <= LARGEST_WHOLE_DOUBLE:
        return left, right
    return _exact(left), _exact(right)


def _largest(data: npt.NDArray[np.int64]) -> int:
    return max(abs(int(data.min())), abs(int(data.max()))) if data.size else 0


def _exact(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The numbers as objects: a double as the shortest decimal that it stands for."""
    if data.dtype.kind != "f":
        return data.astype(object)
    found, place = np.unique(data, return_inverse=True)
    exact = np.empty(len(found), dtype=object)
    exact[:] = [Fraction(repr(float(number))) for number in found]
    return exact[place]
