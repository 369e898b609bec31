"""Values within bins: from which of them one is drawn, all or only those that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute, Histogram
from privity.common.data.value_grids import SIGNIFICANT_DIGITS, Grid

LARGEST_PART = 1 - 2**-53
"""The largest double below 1."""

Span = tuple[int, int]
"""Points of a grid, counted from its first: from one up to, and without, another."""


@dataclass(frozen=True)
class Cells:
    """What values are drawn from: a cell of the value's bin by its weight, and evenly among the points of the cell.

    Attributes:
        grids: of the cells, bin by bin.
        weights: of the cells, shape (cells,).
        starts: place of each bin's first cell, then the number of cells, shape (bins + 1,).
    """

    grids: tuple[Grid, ...]
    weights: npt.NDArray[np.float64]
    starts: npt.NDArray[np.intp]


def all_cells(attribute: Attribute) -> Cells:
    """What the values of a binned attribute are drawn from."""
    if attribute.histogram is None:
        grids, starts = attribute.grids, np.arange(attribute.values + 1)
        return Cells(grids, np.ones(len(grids)), starts)
    return _cells_of(attribute, attribute.histogram)


def _cells_of(attribute: Attribute, histogram: Histogram) -> Cells:
    """The cells of a histogram; those of a bin in which all weights are 0 count by their points."""
    places = {edge: place for place, edge in enumerate(histogram.edges)}
    starts = np.array([places[edge] for edge in attribute.edges])
    weights = np.array(histogram.weights, dtype=np.float64)
    empty = np.add.reduceat(weights, starts[:-1]) == 0
    of_bin = np.repeat(np.arange(attribute.values), np.diff(starts))
    weights = np.where(empty[of_bin], [float(grid.count) for grid in attribute.cell_grids], weights)
    return Cells(attribute.cell_grids, weights, starts)


def narrowed(
    cells: Cells, spans: Callable[[Grid], Sequence[Span]], others: Sequence[tuple[int, Fraction]] = ()
) -> tuple[Cells, npt.NDArray[np.float64]]:
    """The cells with only some of their points, and which part of each bin's values these are, shape (bins,).

    Args:
        spans: the points of a cell that stay, rising.
        others: bins, and doubles in them that are no points of their cells; each counts as one point does.
    """
    grids: list[Grid] = []
    weights: list[float] = []
    starts, shares = [0], []
    for place, (first, end) in enumerate(zip(cells.starts[:-1].tolist(), cells.starts[1:].tolist(), strict=True)):
        whole, all_kept = float(cells.weights[first:end].sum()), True
        for cell in range(first, end):
            grid, weight = cells.grids[cell], float(cells.weights[cell])
            kept = spans(grid) if weight > 0 else [(0, grid.count)]
            all_kept = all_kept and [*kept] == [(0, grid.count)]
            for low, high in kept if weight > 0 else ():
                grids.append(Grid(grid.first + low, high - low, grid.decimals))
                weights.append(weight * (high - low) / grid.count)
        points = sum(grid.count for grid in cells.grids[first:end])
        for number in (number for of_bin, number in others if of_bin == place):
            grids.append(_single(number))
            weights.append(whole / points)
        # Rounding must make no part of a whole.
        shares.append(1.0 if all_kept else min(sum(weights[starts[-1] :]) / whole, LARGEST_PART))
        if len(grids) == starts[-1]:
            # No row has this bin; a value that stands for none is drawn from somewhere.
            grids.append(cells.grids[first])
            weights.append(1.0)
        starts.append(len(grids))
    return Cells(tuple(grids), np.array(weights), np.array(starts)), np.array(shares)


def spans_between(grid: Grid, low: Fraction | None, high: Fraction | None, *, open_ends: bool = False) -> list[Span]:
    """The points from one number to another, both included unless the ends are open; None is no end."""
    scale = Fraction(10) ** grid.decimals
    first, end = 0, grid.count
    if low is not None:
        first = max(0, (floor(low * scale) + 1 if open_ends else ceil(low * scale)) - grid.first)
    if high is not None:
        end = min(grid.count, (ceil(high * scale) if open_ends else floor(high * scale) + 1) - grid.first)
    return [(first, end)] if first < end else []


def common_spans(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    """The points that are in both."""
    both = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return sorted(span for span in both if span[0] < span[1])


def drawn(
    attribute: Attribute, cells: Cells, codes: npt.NDArray[Any], generator: np.random.Generator
) -> npt.NDArray[Any]:
    """Draw a value from the bin of each code: int64 for whole numbers, float64 or ``Decimal`` for others."""
    chosen = codes if len(cells.grids) == len(cells.starts) - 1 else _chosen(cells, codes, generator)
    first = np.array([grid.first for grid in cells.grids], dtype=np.int64)
    count = np.array([grid.count for grid in cells.grids], dtype=np.int64)
    points = first[chosen] + generator.integers(0, count[chosen])
    if attribute.whole:
        return points
    if attribute.exact:
        decimals = [Decimal(point).scaleb(-attribute.places) for point in points.tolist()]
        return np.array([*decimals, None], dtype=object)[:-1]
    return _scaled(points, np.array([grid.decimals for grid in cells.grids])[chosen])


def _chosen(cells: Cells, codes: npt.NDArray[Any], generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Draw a cell of the bin of each code."""
    ends = np.concatenate([[0.0], np.cumsum(cells.weights)])
    starts = cells.starts
    low, high = ends[starts[codes]], ends[starts[codes + 1]]
    found = np.searchsorted(ends, low + generator.random(len(codes)) * (high - low), side="right") - 1
    # A sum that was rounded must lead out of no bin.
    return np.clip(found, starts[codes], starts[codes + 1] - 1)


def _scaled(points: npt.NDArray[np.int64], decimals: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the doubles nearest to ``points / 10**decimals``.

    Points of at most 15 digits and powers of ten up to 10**22 are doubles, so that one division or
    product rounds once; and a double nearest to a decimal of 15 digits is printed as that decimal.
    """
    if np.any(np.abs(decimals) > 22) or np.any(np.abs(points) > 10**SIGNIFICANT_DIGITS):
        return np.array([float(f"{point}e{-places}") for point, places in zip(points, decimals, strict=True)])
    powers = np.array([float(10**place) for place in range(23)])
    scale = powers[np.abs(decimals)]
    return np.where(decimals >= 0, points / scale, points * scale)


def _single(number: Fraction) -> Grid:
    """The one point that a double is, by its shortest decimal."""
    decimal = Decimal(repr(float(number))).normalize()
    exponent = int(decimal.as_tuple().exponent)
    return Grid(int(decimal.scaleb(-exponent)), 1, -exponent)
