"""A closer look at cells of a histogram that hold much: they are counted again in parts, down to single points.

Where to look follows from noisy counts, and what was seen is post-processing of the counts of the parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privity.common.data.noisy_tables import NoisyTable
from privity.common.synthesis.inference.estimation import Estimate, nearest_counts, smooth
from privity.common.synthesis.learning.grid_histogram import (
    LEAST_DEVIATION,
    SMOOTHED_FROM,
    STANDS_OUT,
    Grid,
    Numbers,
)
from privity.common.synthesis.learning.range_tails import Cell

CLOSER = 0.01
"""Part of the rows from which a cell is looked at closer, unless it is a single point."""

MOST_PARTS, PARTS = 100_000, (10_000, 1_000)
"""Of all cells that are looked at closer, and of one: the first number that keeps to the other."""

SPREAD = 10
"""Cells of which no part stands out become so many, evenly wide."""


def closer_edges(grid: Grid) -> tuple[Fraction, ...]:
    """Edges between which to count again: each cell that holds much in parts, down to single points; the rest whole.

    Empty if there is no such cell. They depend on noisy counts only.
    """
    if not (cells := _to_look_at(grid)):
        return ()
    edges: list[Fraction] = []
    at = grid.cells[0].first
    for cell in cells:
        if cell.first > at:
            edges.append(grid.edges[at])
        edges += _parts(grid, cell, len(cells))
        at = cell.end
    return (*edges, *(grid.edges[code] for code in dict.fromkeys((at, grid.cells[-1].end))))


def looked_closer(grid: Grid, table: NoisyTable) -> Grid:
    """The grid with cells divided by a table of the codes between its ``closer_edges``."""
    deviation = max(math.sqrt(table.variance), LEAST_DEVIATION)
    looked = {cell.first: cell for cell in _to_look_at(grid)}
    edges: list[Fraction] = list(grid.edges[: grid.cells[0].first])
    cells: list[Cell] = []
    counted = 0
    gap = False
    for cell in grid.cells:
        if cell.first not in looked:
            cells.append(Cell(len(edges), len(edges) + cell.end - cell.first, cell.mass))
            edges += grid.edges[cell.first : cell.end]
            gap = True
            continue
        counted += gap
        gap = False
        parts = _parts(grid, cell, len(looked))
        counts = table.counts[counted : counted + len(parts)].astype(np.float64)
        counted += len(parts)
        beyond = deviation * (1 + math.sqrt(2 * math.log(len(table.counts))))
        cells += [
            Cell(len(edges) + part.first, len(edges) + part.end, part.mass)
            for part in _divided(counts, cell.mass, deviation, beyond)
        ]
        edges += parts
    edges += grid.edges[grid.cells[-1].end :]
    return replace(grid, edges=edges, cells=cells)


def _to_look_at(grid: Grid) -> list[Cell]:
    least = max(CLOSER * grid.rows, STANDS_OUT * grid.deviation)
    return [
        cell
        for cell in grid.cells
        if cell.single and cell.mass >= least and grid.edges[cell.end] - grid.edges[cell.first] > grid.point
    ]


def _parts(grid: Grid, cell: Cell, cells: int) -> list[Fraction]:
    """Where the parts of a cell begin: as many as there may be of each of so many cells."""
    low, high = grid.edges[cell.first], grid.edges[cell.end]
    most = next((parts for parts in PARTS if parts * cells <= MOST_PARTS), PARTS[-1])
    step = grid.point
    while high - low > most * step:
        step *= 10
    return [low + place * step for place in range(math.ceil((high - low) / step))]


def _divided(counts: Numbers, mass: float, deviation: float, beyond: float) -> Iterator[Cell]:
    """So much mass by noisy counts of parts: those beyond all noise alone, the others spread over some cells."""
    size, points = len(counts), np.flatnonzero(counts > beyond)
    counts = counts.copy()
    counts[points] *= min(1.0, mass / max(1.0, float(counts[points].sum())))
    rest = mass - float(counts[points].sum())
    cuts = sorted({size * place // SPREAD for place in range(SPREAD + 1)})
    others = counts.copy()
    others[points] = 0.0
    sums = np.add.reduceat(others, cuts[:-1])
    if len(sums) > SMOOTHED_FROM:
        sums = smooth(Estimate(sums, deviation**2 * size / len(sums)))
    sums = nearest_counts(sums, rest)
    for (first, end), left in zip(pairwise(cuts), sums.tolist(), strict=True):
        inside = points[(points >= first) & (points < end)].tolist()
        each = left / max(1, end - first - len(inside))
        ends = sorted({first, end, *inside, *(part + 1 for part in inside)})
        for low, high in pairwise(ends):
            yield Cell(low, high, float(counts[low]) if low in inside else each * (high - low))
