"""One attribute of a table beside the same of the real rows, by its values.

Numbers are compared as they stand, never by their bins: a bin hides that its zeros have vanished. All differences of
numbers are in units of the real standard deviation (of the present values, divided by their count).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privity.assessment.evaluation.value_tables import Floats, ValueTable
from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
JUDGED = (0.05, 0.5, 0.95)
"""Quantiles whose errors are averaged."""


@dataclass(frozen=True)
class NumberSummary:
    """A column of numbers.

    Attributes:
        top: share of the real table's most frequent value; zero: of exact zeros; both of all rows.
        quantiles: at ``QUANTILES``; empty if no value is present, and then mean and deviation are None.
    """

    mean: float | None
    deviation: float | None
    top: float
    zero: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class ColumnComparison:
    """How far one attribute is from the real one.

    Attributes:
        distance: Kolmogorov-Smirnov statistic of the present values of a number, total variation distance over all
            values and missing of anything else.
        binned: total variation distance of the codes, which is what a model sees.
        missing: the shares of missing values, the real one first.
        top_value: the real table's most frequent value, of a number.
        numbers: the real summary and that of the table; None of anything else.
        mean_error, spread_error, quantile_error: in real standard deviations; spread_error is the relative one.
    """

    name: str
    number: bool
    distance: float
    binned: float
    missing: tuple[float, float]
    top_value: float | None = None
    numbers: tuple[NumberSummary, NumberSummary] | None = None
    mean_error: float | None = None
    spread_error: float | None = None
    quantile_error: float | None = None

    @property
    def zero_error(self) -> float | None:
        """Difference of the shares of zeros."""
        return None if self.numbers is None else abs(self.numbers[0].zero - self.numbers[1].zero)

    @property
    def top_error(self) -> float | None:
        """Difference of the shares of the real table's most frequent value."""
        return None if self.numbers is None else abs(self.numbers[0].top - self.numbers[1].top)

    @property
    def missing_error(self) -> float:
        """Difference of the shares of missing values."""
        return abs(self.missing[0] - self.missing[1])


class RealColumns:
    """The real rows' columns, sorted once."""

    def __init__(self, real: ValueTable) -> None:
        self._real = real
        self._sorted = [None if numbers is None else _sorted(numbers) for numbers in real.numbers]

    def compared(self, other: ValueTable) -> list[ColumnComparison]:
        """Every attribute of the other table."""
        return [self._compared(place, attribute, other) for place, attribute in enumerate(self._real.schema.attributes)]

    def _compared(self, place: int, attribute: Attribute, other: ValueTable) -> ColumnComparison:
        binned = _variation(self._real.coded, other.coded, place)
        mine, numbers = self._sorted[place], other.numbers[place]
        if mine is None or numbers is None:
            missing = _missing(self._real.coded, place), _missing(other.coded, place)
            return ColumnComparison(attribute.name, False, binned, binned, missing)
        theirs = _sorted(numbers)
        missing = 1 - len(mine) / self._real.rows, 1 - len(theirs) / other.rows
        top = _most_frequent(mine) if len(mine) else None
        summaries = _summary(mine, top, self._real.rows), _summary(theirs, top, other.rows)
        errors = _errors(mine, theirs)
        return ColumnComparison(
            attribute.name, True, ks_distance(mine, theirs), binned, missing, top, summaries, *errors
        )


def _sorted(numbers: Floats) -> Floats:
    return np.sort(numbers[~np.isnan(numbers)])


def ks_distance(mine: Floats, theirs: Floats) -> float:
    """The largest difference of the two distribution functions; both sorted. 1 if one of them has no value."""
    if not len(mine) or not len(theirs):
        return float(len(mine) != len(theirs))
    gaps = [
        np.searchsorted(mine, values, "right") / len(mine) - np.searchsorted(theirs, values, "right") / len(theirs)
        for values in (_distinct(mine), _distinct(theirs))
    ]
    return max(float(np.abs(gap).max()) for gap in gaps)


def _distinct(values: Floats) -> Floats:
    """Different values of some that are sorted."""
    return values[np.concatenate([[True], values[1:] != values[:-1]])]


def _most_frequent(values: Floats) -> float:
    """Of the sorted values; the smallest of several."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    counts = np.diff(np.append(starts, len(values)))
    return float(values[starts[int(counts.argmax())]])


def _share_of(values: Floats, value: float, rows: int) -> float:
    low, high = np.searchsorted(values, value, "left"), np.searchsorted(values, value, "right")
    return int(high - low) / rows


def _summary(values: Floats, top: float | None, rows: int) -> NumberSummary:
    at_top = 0.0 if top is None else _share_of(values, top, rows)
    zero = _share_of(values, 0.0, rows)
    if not len(values):
        return NumberSummary(None, None, at_top, zero, ())
    quantiles = tuple(float(one) for one in np.quantile(values, QUANTILES))
    return NumberSummary(float(values.mean()), float(values.std()), at_top, zero, quantiles)


def _errors(mine: Floats, theirs: Floats) -> tuple[float | None, float | None, float | None]:
    if not len(mine) or not len(theirs):
        return None, None, None
    unit = float(mine.std()) or 1.0
    quantiles = np.abs(np.quantile(mine, JUDGED) - np.quantile(theirs, JUDGED)) / unit
    return abs(float(mine.mean() - theirs.mean())) / unit, abs(float(theirs.std()) / unit - 1), float(quantiles.mean())


def _variation(real: CodedTable, other: CodedTable, place: int) -> float:
    size = real.schema.domain[place]
    shares = [np.bincount(table.columns[place], minlength=size) / table.rows for table in (real, other)]
    return float(np.abs(shares[0] - shares[1]).sum()) / 2


def _missing(table: CodedTable, place: int) -> float:
    code = table.schema.attributes[place].missing_code
    return 0.0 if code is None else int((table.columns[place] == code).sum()) / table.rows


@dataclass(frozen=True)
class Missingness:
    """Which values are missing together: total variation distance over all patterns, and the pair that is worst."""

    distance: float
    worst: tuple[str, str] | None
    together: tuple[float, float]


def joint_missingness(real: ValueTable, other: ValueTable) -> Missingness | None:
    """None if fewer than two attributes declare missing values."""
    places = [place for place, attribute in enumerate(real.schema.attributes) if attribute.missing]
    if len(places) < 2:
        return None
    masks = [np.column_stack([_is_missing(table, place) for place in places]) for table in (real, other)]
    words = [np.packbits(mask, axis=1) for mask in masks]
    _, inverse = np.unique(np.concatenate(words), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    counts = [np.bincount(part, minlength=inverse.max() + 1) for part in np.split(inverse, [real.rows])]
    distance = float(np.abs(counts[0] / real.rows - counts[1] / other.rows).sum()) / 2
    shares = [(mask.T.astype(np.float64) @ mask) / len(mask) for mask in masks]
    gaps = np.triu(np.abs(shares[0] - shares[1]), 1)
    a, b = np.unravel_index(int(gaps.argmax()), gaps.shape)
    names = real.schema.names
    return Missingness(distance, (names[places[a]], names[places[b]]), (float(shares[0][a, b]), float(shares[1][a, b])))


def _is_missing(table: ValueTable, place: int) -> Any:
    return table.coded.columns[place] == table.schema.attributes[place].missing_code


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of those that are defined."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None
