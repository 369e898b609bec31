"""Two attributes at a time, by their values: numbers are cut at the real table's own deciles, missing values apart.

The bins of a schema may hold nearly all rows in one. Deciles of the real rows cannot, unless the rows have one value:
such a point mass (all zeros) is cut off from what is above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from privity.assessment.evaluation.value_tables import Floats, Places, ValueTable, is_number
from privity.common.data.attribute import Attribute

DECILES = tuple(place / 10 for place in range(1, 10))
POINT_MASS = 0.1
"""Share of the present values that one value holds, for it to stand apart."""

SPARSE_FACTOR = 4
"""A pair of more cells than this many times the rows is counted by its occupied cells."""

LEAST_GROUP = 20
"""Real rows of a group: of fewer, chance alone decides what they look like."""

MOST_VALUES = 64
"""Values of an attribute whose rows make groups."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class DecileCodes:
    """Every column of a table as codes, by cuts of the real one.

    Attributes:
        sizes: codes of each column.
        starts: of each column, the first codes of what deciles alone would tell apart.
    """

    columns: tuple[Places, ...]
    sizes: tuple[int, ...]
    starts: tuple[Places, ...]

    @property
    def rows(self) -> int:
        return len(self.columns[0])


class Deciles:
    """The cuts of the real table."""

    def __init__(self, real: ValueTable) -> None:
        self._schema = real.schema
        self._cuts = [None if numbers is None else _cuts(numbers) for numbers in real.numbers]

    def codes(self, table: ValueTable) -> DecileCodes:
        """A number's code is how many cuts are at most it, and one more if it is missing; others keep their codes."""
        columns, sizes, starts = [], [], []
        for attribute, cuts, codes, numbers in zip(
            self._schema.attributes, self._cuts, table.coded.columns, table.numbers, strict=True
        ):
            if cuts is None or numbers is None:
                columns.append(codes.astype(np.int64))
                sizes.append(attribute.size)
                starts.append(np.arange(attribute.size))
            else:
                found = np.searchsorted(cuts, numbers, side="right")
                columns.append(np.where(np.isnan(numbers), len(cuts) + 1, found))
                sizes.append(len(cuts) + 2)
                # A cut right above another one is that of a point mass.
                after = np.flatnonzero(cuts[1:] == np.nextafter(cuts[:-1], np.inf)) + 2
                starts.append(np.setdiff1d(np.arange(len(cuts) + 2), after))
        return DecileCodes(tuple(columns), tuple(sizes), tuple(starts))

    def labels(self, place: int) -> list[str]:
        """The text of each code."""
        cuts, attribute = self._cuts[place], self._schema.attributes[place]
        if cuts is None:
            return list(attribute.labels)
        if attribute.type == "boolean":
            told: list[list[str]] = [[] for _ in range(len(cuts) + 1)]
            for value, label in enumerate(attribute.labels[:2]):
                told[int(np.searchsorted(cuts, value, side="right"))].append(label)
            return [*(" or ".join(labels) for labels in told), "(missing)"]
        if not len(cuts):
            return ["all", "(missing)"]
        shown = [_shown(attribute, cut) for cut in cuts]
        texts = [f"below {shown[0]}"]
        for place, (below, low, high) in enumerate(zip([-np.inf, *cuts], cuts, [*cuts[1:], np.inf], strict=False)):
            if high == np.nextafter(low, np.inf):
                texts.append(shown[place])
                continue
            mass = low == np.nextafter(below, np.inf)
            start = f"above {shown[place - 1]}" if mass else f"from {shown[place]}"
            texts.append(start if high == np.inf else f"{start} to {shown[place + 1]}".removeprefix("from "))
        return [*texts, "(missing)"]


def _shown(attribute: Attribute, number: float) -> str:
    """A number in a label; a date or time in ISO 8601."""
    return f"{number:.6g}" if attribute.temporal is None else attribute.name_of(floor(number))


def _cuts(numbers: Floats) -> Floats:
    present = np.sort(numbers[~np.isnan(numbers)])
    if not len(present):
        return np.empty(0)
    deciles = np.unique(np.quantile(present, DECILES))
    held = np.searchsorted(present, deciles, "right") - np.searchsorted(present, deciles, "left")
    return np.unique(np.concatenate([deciles, np.nextafter(deciles[held >= POINT_MASS * len(present)], np.inf)]))


@dataclass(frozen=True)
class Group:
    """The rows of one value of an attribute.

    Attributes:
        error: mean total variation distance of the other attributes within the group; 1 if the table has none of it.
    """

    attribute: str
    value: str
    rows: int
    error: float


@dataclass(frozen=True)
class PairComparison:
    """Pairs of one table beside the real ones.

    Attributes:
        distances: total variation distance of each pair of attributes.
        at_deciles: their mean where point masses are not cut off; None without a pair.
        groups: those of attributes with few values, the smallest first.
    """

    distances: Mapping[Pair, float]
    at_deciles: float | None
    groups: tuple[Group, ...]

    def worst(self, count: int) -> list[Pair]:
        """The pairs that are farthest off."""
        return sorted(self.distances, key=lambda pair: (-self.distances[pair], pair))[:count]

    @property
    def smallest_groups(self) -> tuple[Group, ...]:
        """The smallest tenth."""
        return self.groups[: ceil(len(self.groups) / 10)]


def compare_pairs(
    real: DecileCodes,
    others: Sequence[DecileCodes],
    attributes: Sequence[Attribute],
    labels: Sequence[Sequence[str]],
    pairs: Sequence[Pair],
) -> list[PairComparison]:
    """Count every one of the pairs once in each table, the real rows once for all."""
    shares: list[dict[Pair, float]] = [{} for _ in others]
    grouping = [place for place, attribute in enumerate(attributes) if _makes_groups(attribute)]
    merged: list[list[float]] = [[] for _ in others]
    sums = [{place: np.zeros(real.sizes[place]) for place in grouping} for _ in others]
    beside = np.bincount(np.array(pairs, dtype=np.int64).ravel(), minlength=len(attributes))
    for pair in pairs:
        cells = real.sizes[pair[0]] * real.sizes[pair[1]]
        if cells > SPARSE_FACTOR * real.rows:
            for found, other in zip(shares, others, strict=True):
                found[pair] = _sparse(real, other, pair)
            for plain, found in zip(merged, shares, strict=True):
                plain.append(found[pair])
            continue
        mine = _table(real, pair)
        for found, plain, other, within in zip(shares, merged, others, sums, strict=True):
            theirs = _table(other, pair)
            gaps = mine / real.rows - theirs / other.rows
            found[pair] = float(np.abs(gaps).sum()) / 2
            for axis, place in enumerate(pair):
                gaps = np.add.reduceat(gaps, real.starts[place], axis)
            plain.append(float(np.abs(gaps).sum()) / 2)
            for place, axis in zip(pair, (0, 1), strict=True):
                if place in within:
                    within[place] += _within(mine, theirs, axis)
    counts = {place: np.bincount(real.columns[place], minlength=real.sizes[place]) for place in grouping}
    groups = [_groups(within, counts, beside, attributes, labels) for within in sums]
    return [
        PairComparison(found, float(np.mean(plain)) if plain else None, of_values)
        for found, plain, of_values in zip(shares, merged, groups, strict=True)
    ]


def _table(codes: DecileCodes, pair: Pair) -> npt.NDArray[np.int64]:
    a, b = pair
    shape = codes.sizes[a], codes.sizes[b]
    return np.bincount(codes.columns[a] * shape[1] + codes.columns[b], minlength=shape[0] * shape[1]).reshape(shape)


def _sparse(real: DecileCodes, other: DecileCodes, pair: Pair) -> float:
    a, b = pair
    cells = [codes.columns[a] * real.sizes[b] + codes.columns[b] for codes in (real, other)]
    _, inverse = np.unique(np.concatenate(cells), return_inverse=True)
    counts = [np.bincount(part, minlength=inverse.max() + 1) for part in np.split(inverse, [real.rows])]
    return float(np.abs(counts[0] / real.rows - counts[1] / other.rows).sum()) / 2


def _makes_groups(attribute: Attribute) -> bool:
    return (not is_number(attribute) or attribute.type == "boolean") and attribute.size <= MOST_VALUES


def _within(mine: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64], axis: int) -> Floats:
    """Distance of the other attribute's distribution within each value of the one on this axis; 1 if there is none."""
    shares = []
    for table in (mine, theirs):
        oriented = table if axis == 0 else table.T
        shares.append(oriented / np.maximum(oriented.sum(1, keepdims=True), 1))
    return np.asarray(np.where(shares[1].any(1), np.abs(shares[0] - shares[1]).sum(1) / 2, 1.0))


def _groups(
    within: Mapping[int, Floats],
    counts: Mapping[int, npt.NDArray[np.int64]],
    beside: npt.NDArray[np.int64],
    attributes: Sequence[Attribute],
    labels: Sequence[Sequence[str]],
) -> tuple[Group, ...]:
    found = [
        Group(attributes[place].name, labels[place][code], int(rows), float(within[place][code]) / int(beside[place]))
        for place, of_codes in counts.items()
        for code, rows in enumerate(of_codes)
        if rows >= LEAST_GROUP and beside[place]
    ]
    return tuple(sorted(found, key=lambda group: (group.rows, group.attribute, group.value)))
