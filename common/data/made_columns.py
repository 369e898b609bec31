"""Columns that follow from others: totals of numbers, dates that lie a number of days after another, second faces.

They are not read and not modelled, so they cost nothing, and what they follow from decides: a synthetic total is the
sum of its synthetic parts, exactly, and a label is that of its row's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import WHOLE_DOUBLES, Attribute, Value, value_text
from privity.common.data.computation import FORM
from privity.common.text.short_values import listed, shorten

if TYPE_CHECKING:
    import pandas as pd

MADE = frozenset(("sum", "less", "lookup"))
"""Keys of a field that say what it follows from."""

MOMENTS = ("date", "datetime")
"""Types of which one, and integers beside it, have a total."""

LARGEST_INT64 = 2**63 - 1

EXACT = Context(prec=60)

Fault = Callable[[str, str, str, str], None]
"""Of a key: a rule, what is wrong, what to do."""


@dataclass(frozen=True)
class Total:
    """A sum of numbers, less others; missing if one of them is. Dates and times count as their numbers.

    Attributes:
        plus, minus: attributes.
        attribute: what its values are: a single bin that holds all of them.
    """

    plus: tuple[str, ...]
    minus: tuple[str, ...]
    attribute: Attribute

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.plus, *self.minus)

    def over(self, attributes: Mapping[str, Attribute]) -> Total:
        """The same by these domains of its parts."""
        parts = [attributes[name] for name in self.sources]
        ends = [_ends(part) for part in parts]
        highest = self.signed(
            [max(end) for end in ends[: len(self.plus)]] + [min(end) for end in ends[len(self.plus) :]]
        )
        lowest = self.signed(
            [min(end) for end in ends[: len(self.plus)]] + [max(end) for end in ends[len(self.plus) :]]
        )
        low, high = self._within(sum(lowest, Fraction(0))), self._within(sum(highest, Fraction(0)))
        decimals = max(map(_decimals, parts)) if self.attribute.type == "number" else None
        return replace(self, attribute=replace(self.attribute, edges=(low, max(high, low + 1)), decimals=decimals))

    def _within(self, number: Fraction) -> Fraction:
        """The number, or the end of the calendar that it is beyond."""
        moment = self.attribute.temporal
        return number if moment is None else min(max(number, Fraction(moment.first)), Fraction(moment.last))

    def signed(self, numbers: Sequence[Any]) -> list[Any]:
        """What is added up, of numbers or columns of the sources."""
        signs = [1] * len(self.plus) + [-1] * len(self.minus)
        return [sign * number for sign, number in zip(signs, numbers, strict=True)]

    def values(self, frame: pd.DataFrame, _: Mapping[str, Attribute]) -> npt.NDArray[Any]:
        """Of decoded rows."""
        columns = [frame[name].to_numpy() for name in self.sources]
        missing = np.zeros(len(frame), dtype=np.bool_)
        for column in columns:
            if column.dtype == object:
                missing |= np.fromiter((isinstance(value, str) for value in column), np.bool_, len(column))
        there = [np.where(missing, 0, column) for column in columns]
        found = self._long_sums(there) if self._long else self._sums(there)
        if self.attribute.temporal is not None:
            found = np.clip(found, self.attribute.temporal.first, self.attribute.temporal.last)
        if not missing.any():
            return found
        found = found.astype(object)
        found[missing] = self.attribute.missing[0]
        return found

    @property
    def _long(self) -> bool:
        """Whether some sum has more digits than a double keeps, in points of the finest part."""
        if self.attribute.temporal is not None:
            return False
        return self.attribute.exact or max(map(abs, self.attribute.edges)) * 10**self.attribute.places >= WHOLE_DOUBLES

    def _sums(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        if self.attribute.whole:
            return np.asarray(np.sum(self.signed([column.astype(np.int64) for column in columns]), axis=0))
        scale = 10**self.attribute.places
        points = self.signed([np.rint(column.astype(np.float64) * scale) for column in columns])
        # One division rounds once. There is no -0.
        return np.asarray(np.sum(points, axis=0) / scale + 0.0)

    def _long_sums(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        sums = [sum(self.signed([Fraction(str(value)) for value in row]), Fraction(0)) for row in rows]
        if self.attribute.type == "integer":
            return np.array([int(number) for number in sums], dtype=np.int64)
        if not self.attribute.exact:
            return np.array([float(number) for number in sums])
        made = [EXACT.divide(Decimal(number.numerator), Decimal(number.denominator)) for number in sums]
        return np.array([*made, None], dtype=object)[:-1]


@dataclass(frozen=True)
class Lookup:
    """A value for each category of an attribute; missing where that is.

    Attributes:
        field: the attribute.
        of_code: the value of each category.
        attribute: what its values are: categories.
    """

    field: str
    of_code: tuple[Value, ...]
    attribute: Attribute

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.field,)

    def values(self, frame: pd.DataFrame, attributes: Mapping[str, Attribute]) -> Any:
        """Of decoded rows."""
        base = attributes[self.field]
        known = {_decoded(base, category): _decoded(self.attribute, value) for category, value in zip(
            base.categories, self.of_code, strict=True,
        )}  # fmt: skip
        if base.missing:
            known[base.missing[0]] = self.attribute.missing[0]
        values = [known[value] for value in frame[self.field].tolist()]
        if all(isinstance(value, str) for value in values):
            return values
        width = {"integer": np.int64, "number": np.float64}.get(self.attribute.type, object)
        mixed = any(isinstance(value, str) for value in values)
        return np.array(values, dtype=object if mixed else width)


def read_total(item: Mapping[str, Any], missing: Sequence[str], known: Mapping[str, Attribute], fault: Fault) -> Total:
    """Read ``sum`` and ``less`` of a field, whose form is sound."""
    plus, minus = tuple(item.get("sum", [])), tuple(item.get("less", []))
    form = {name: item[key] for key, name in FORM.items() if key in item and key != "type"}
    blank = Attribute(item["name"], item["type"], missing=tuple(missing), **form)
    if not plus:
        fault("less", "made-column", "it is a difference without a 'sum'.", "Declare what it is taken from as 'sum'.")
    if item["type"] not in ("integer", "number", *MOMENTS):
        remedy = f"Declare one of: integer, number, {', '.join(MOMENTS)}."
        fault("type", "made-column", f"a total is a number or a date, not {item['type']}.", remedy)
        return Total(plus, minus, blank)
    parts = []
    for name in (*plus, *minus):
        part, key = known.get(name), "sum" if name in plus else "less"
        if part is None:
            fault(key, "made-column", f"{shorten(name)} is no attribute.", "Name fields that are read.")
        elif not _may_add(blank, part):
            fault(key, "made-column", f"{shorten(name)} is of type {part.type}.", _PARTS[item["type"]])
        else:
            parts.append(part)
    if len(parts) < len(plus) + len(minus) or not plus:
        return Total(plus, minus, blank)
    moments = sum(part.temporal is not None for part in parts)
    if moments != (blank.temporal is not None) or any(known[name].temporal is not None for name in minus):
        fault("sum", "made-column", f"{moments} of its parts are of type {item['type']}.", _PARTS[item["type"]])
        return Total(plus, minus, blank)
    if any(part.missing for part in parts) and not missing:
        remedy = "Declare 'missingValues' for the total, too."
        fault("missingValues", "made-column", "a part may be missing, and so may it.", remedy)
    total = Total(plus, minus, blank).over(known)
    if max(map(abs, total.attribute.edges)) > LARGEST_INT64:
        fault("sum", "number-range", "its values may be beyond 64 bits.", "Declare narrower domains of its parts.")
    return total


_PARTS = {
    "integer": "Name fields of integers.",
    "number": "Name fields of numbers.",
    **{
        kind: f"In 'sum', name one {kind} of the same precision and time zone, and beside it fields of integers."
        for kind in MOMENTS
    },
}
"""What a total of each type has for parts."""


def _may_add(total: Attribute, part: Attribute) -> bool:
    """Whether values of the part can be added up to such a total."""
    if total.temporal is None:
        return part.type == "integer" or part.type == total.type
    if part.temporal is None:
        return part.type == "integer"
    alike = (part.type, part.temporal.unit, part.timezone is None)
    return alike == (total.type, total.temporal.unit, total.timezone is None)


def read_lookup(
    item: Mapping[str, Any], missing: Sequence[str], known: Mapping[str, Attribute], fault: Fault
) -> Lookup:
    """Read ``lookup`` of a field."""
    lookup, blank = item["lookup"], Attribute(item["name"], item["type"], missing=tuple(missing))
    base = known.get(lookup["field"])
    if base is None or not base.categories or base.discover:
        message = f"{shorten(lookup['field'])} is no attribute with declared categories."
        fault("lookup", "made-column", message, "Name a field that has 'categories', or a boolean.")
        return Lookup(lookup["field"], (), blank)
    found: dict[int, Value] = {}
    strict = replace(base, out_of_domain="refuse", other=None, missing=())
    for text, value in lookup["values"].items():
        code = strict.code_of(text)
        if code is None:
            fault("lookup", "made-column", f"{shorten(text)} is no category of it.", "Leave it out.")
        elif (read := _typed(item["type"], value)) is None:
            message = f"{shorten(value)} is not of type {item['type']}."
            fault("lookup", "made-column", message, "Write a value of the field's type.")
        else:
            found[code] = read
    if lacking := [value_text(c) for code, c in enumerate(base.categories) if code not in found]:
        message = f"nothing is said for {listed(lacking)}."
        fault("lookup", "made-column", message, "Give a value for every category.")
    if base.missing and not missing:
        message = f"{shorten(base.name)} may be missing, and so may it."
        fault("missingValues", "made-column", message, "Declare 'missingValues' for it, too.")
    of_code = tuple(found[code] for code in sorted(found))
    categories = (False, True) if item["type"] == "boolean" else tuple(dict.fromkeys(of_code))
    return Lookup(base.name, of_code, replace(blank, categories=categories))


def _typed(kind: str, value: object) -> Value | None:
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool | str) or kind not in ("integer", "number"):
        return None
    number = Fraction(str(value))
    return number if kind == "number" else int(number) if number.denominator == 1 else None


def _decoded(attribute: Attribute, value: Value) -> Any:
    """A category as it stands in decoded rows."""
    if attribute.type == "boolean" or isinstance(value, str):
        return value_text(value)
    return float(value) if attribute.type == "number" else int(value)


def _ends(part: Attribute) -> tuple[Fraction, Fraction]:
    numbers = [Fraction(c) for c in part.categories if not isinstance(c, str)] or [part.edges[0], part.edges[-1]]
    return min(numbers), max(numbers)


def _decimals(part: Attribute) -> int:
    """Digits after the point of the finest value."""
    if part.edges:
        return max(0, part.decimals if part.decimals is not None else max(grid.decimals for grid in part.grids))
    numbers = [Fraction(c) for c in part.categories if not isinstance(c, str)]
    return next((digits for digits in range(16) if all((n * 10**digits).denominator == 1 for n in numbers)), 15)
