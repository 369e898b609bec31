"""Domains of numbers from noisy marginals on a public grid: bins that follow the mass, and how values lie within them.

Each number is counted at three resolutions of its grid (``privity.common.data.derived_attributes.grid_depths``), by
1-way tables that cost what any tables cost. All that follows here is post-processing, by public numbers:

1. Counts are made consistent between the resolutions by weighted least squares (Hay, Rastogi, Miklau, Suciu, VLDB
   2010).
2. The range ends where counts farther out cannot be told from noise.
3. From the coarsest resolution on, a group that stands out of the noise is divided: its finer groups get its count,
   smoothed, and none below 0; one that does not is left whole. What is whole in the end is a cell of the histogram.
4. Points that hold much have bins of their own. The other bins hold about as much each, with further cuts in the tails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute, Histogram
from privity.common.data.derived_attributes import grid_depths
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.public_grid import DECIMALS
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.inference.estimation import Estimate, nearest_counts, smooth

Numbers = npt.NDArray[np.float64]

SHARE = Fraction(1, 5)
"""Of the budget, for domains, where one owner's run discovers them and goes on."""

BINS = 10
"""That hold about as much each, besides points and tails."""

TAILS = (0.005, 0.02, 0.05, 0.95, 0.98, 0.995)
"""Further cuts, as parts of what is in no point: what lies far out decides means and predictions."""

POINT = 0.03
"""Part of the rows from which a point has a bin of its own."""

LEAST_GROUPS = 4
"""Groups of which each must stand out of the noise if it holds as much as the others, for a domain to be discovered."""

COUNTS_OF_ENDS = 1000
"""Counts of an attribute that are looked at for the ends of its range, or ten times as many."""

LEAST_OUTSIDE, LEAST_INSIDE = 2.5, 0.5
"""Standard deviations of its noise that a group has on average for a range to go on with it: the coarsest ones, which
are far apart, and those within."""

STANDS_OUT = 4
"""Standard deviations of its noise from which a count is divided further, or is a point."""

LEAST_DEVIATION = 1e-6
"""Of a count, so that what is nearly exact is no division by zero."""

SMOOTHED_FROM = 3
"""Neighbours, and more of them are smoothed."""

MOST_BINS = 2 * int(1 / POINT) + BINS + len(TAILS)
"""A discovered attribute has no more: each point cuts twice."""

WEIGHTS = 1 << 20
"""Of the cells of a histogram together, about."""


def undiscovered(schema: Schema) -> list[int]:
    """The attributes whose domain is yet to be discovered."""
    return [place for place, attribute in enumerate(schema.attributes) if attribute.discover]


async def discover(session: Session, phase: str, share: Share) -> Schema:
    """Measure the numbers of the session's schema on their grids for the share: the schema with their domains."""
    schema = session.schema
    check_noise(session, share)
    return with_domains(schema, await session.measure(phase, grid_tables(schema), share))


def grid_tables(schema: Schema) -> list[Marginal]:
    """The tables that tell domains: of each undiscovered attribute its grid and the generalisations of that."""
    return [(level,) for place in undiscovered(schema) for level in schema.derived.levels(place)]


def check_noise(session: Session, share: Share) -> None:
    """Refuse to discover domains that would be below the noise, before anything is spent.

    Raises:
        PrivityError: bad-option.
    """
    schema = session.schema
    if not (places := undiscovered(schema)):
        return
    levels = sum(len(schema.derived.levels(place)) for place in places)
    far = _far(math.sqrt(session.noise_variance(levels, share)), len(places))
    if far > session.rows / LEAST_GROUPS:
        reason = f"the domains of {len(places)} numbers would be below the noise, {round(far)} of {session.rows} rows"
        needed = float(share.budget.epsilon) * far * LEAST_GROUPS / session.rows
        hint = f"Use an epsilon of about {needed:.2g}, or declare bins or edges of some numbers."
        raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)


def with_domains(schema: Schema, measured: Sequence[NoisyTable]) -> Schema:
    """The schema with the domains that the tables tell, of which ``grid_tables`` are some."""
    attributes = list(schema.attributes)
    for place, grid in grids_of(schema, measured).items():
        attributes[place] = _binned(attributes[place], grid)
    return replace(schema, attributes=tuple(attributes))


def stand_in(schema: Schema) -> Schema:
    """The schema with the largest domains that may be discovered: for checks and forecasts before a run."""
    edges = tuple(Fraction(place) for place in range(MOST_BINS + 1))
    return replace(
        schema,
        attributes=tuple(
            replace(attribute, discover=False, edges=edges) if attribute.discover else attribute
            for attribute in schema.attributes
        ),
    )


def grids_of(schema: Schema, measured: Sequence[NoisyTable]) -> dict[int, Grid]:
    """What the tables tell of each undiscovered attribute."""
    of_level, places = {table.attributes: table for table in measured}, undiscovered(schema)
    found = {}
    for place in places:
        tables = [of_level[level,] for level in reversed(schema.derived.levels(place))]
        found[place] = _grid(schema.attributes[place], tables, len(places))
    return found


@dataclass(frozen=True)
class _Cell:
    """Codes of the grid from ``first`` on, below ``end``, and how many rows have them."""

    first: int
    end: int
    mass: float


@dataclass(frozen=True)
class Grid:
    """What noisy counts on a grid tell of an attribute.

    Attributes:
        cells: in their order, without a gap.
        apart: rows of each code that is no value.
        deviation: of the noise on a count.
        rows: of the table.
    """

    cells: Sequence[_Cell]
    apart: Numbers
    deviation: float
    rows: int

    def counts(self, values: int) -> Numbers:
        """Of all codes of the grid, those that are no values last: shape (codes,), the rows of the table together."""
        found = np.zeros(values)
        for cell in self.cells:
            found[cell.first : cell.end] = cell.mass / (cell.end - cell.first)
        return np.concatenate([found, self.apart])


def _grid(attribute: Attribute, tables: Sequence[NoisyTable], attributes: int) -> Grid:
    deviation = max(math.sqrt(tables[0].variance), LEAST_DEVIATION)
    values = attribute.values
    # What is no value stays a group of its own at every resolution.
    apart = np.mean([table.counts[len(table.counts) - attribute.apart :] for table in tables], axis=0)
    apart = np.maximum(apart, 0.0)
    apart *= min(1.0, (tables[0].rows - 1) / max(1.0, float(apart.sum())))
    counts = [table.counts[: len(table.counts) - attribute.apart].astype(np.float64) for table in tables]
    tree = _Tree(counts, (*grid_depths(values)[::-1], 0), values, deviation, _far(deviation, attributes))
    return Grid(tree.cells(tables[0].rows - float(apart.sum())), apart, deviation, tables[0].rows)


def _far(deviation: float, attributes: int) -> float:
    """So far out of the noise none of all counts that end a range comes by chance."""
    return deviation * (1 + math.sqrt(2 * math.log(COUNTS_OF_ENDS * attributes)))


class _Tree:
    """Noisy counts of the same codes in groups of two to the power of ``depths``, the coarsest first."""

    def __init__(
        self, counts: Sequence[Numbers], depths: Sequence[int], values: int, deviation: float, far: float
    ) -> None:
        self._depths, self._values, self._deviation, self._far = depths, values, deviation, far
        self._counts = _consistent(counts, depths, deviation)

    def cells(self, total: float) -> list[_Cell]:
        """Cells of a histogram of so many rows, in their order; none before the first or after the last has any."""
        low, high = self._ends()
        inside = [self._inside(level, low, high) for level in range(len(self._counts))]
        first = np.flatnonzero(inside[0])
        found: list[_Cell] = []
        self._divide(0, first, _shared(self._counts[0][first], total, self._deviation), inside, found)
        return [
            _Cell(max(cell.first, low), min(cell.end, high), cell.mass)
            for cell in found
            if max(cell.first, low) < min(cell.end, high)
        ]

    def _ends(self) -> tuple[int, int]:
        """The code at which the range begins, and the one that it ends before."""
        groups = np.arange(len(self._counts[0]))
        low, high = self._walk(0, groups, LEAST_OUTSIDE)
        # A group that is far out of the noise is there, whatever lies between.
        seen = np.flatnonzero(self._counts[0] > self._far)
        low, high = min(low, *seen[:1].tolist(), low), max(high, *seen[-1:].tolist(), high)
        for level in range(1, len(self._counts)):
            if low == high:
                low, high = self._walk(level, self._children(level - 1, low), LEAST_INSIDE)
            else:
                below, above = (self._children(level - 1, group) for group in (low, high))
                low, high = self._last(level, below[::-1], LEAST_INSIDE), self._last(level, above, LEAST_INSIDE)
        return low << self._depths[-1], min(self._values, (high + 1) << self._depths[-1])

    def _walk(self, level: int, groups: npt.NDArray[np.intp], least: float) -> tuple[int, int]:
        """The last groups of these downwards and upwards from the largest one."""
        largest = int(self._counts[level][groups].argmax())
        return self._last(level, groups[largest::-1], least), self._last(level, groups[largest:], least)

    def _last(self, level: int, outwards: npt.NDArray[np.intp], least: float) -> int:
        """The group after which these have fewer rows than ``least`` deviations on average."""
        return int(outwards[np.cumsum(self._counts[level][outwards] - least * self._deviation).argmax()])

    def _children(self, level: int, group: int) -> npt.NDArray[np.intp]:
        step = self._depths[level] - self._depths[level + 1]
        return np.arange(group << step, min(len(self._counts[level + 1]), (group + 1) << step))

    def _inside(self, level: int, low: int, high: int) -> npt.NDArray[np.bool_]:
        """Which groups have a code of the range."""
        starts = np.arange(len(self._counts[level])) << self._depths[level]
        return (starts < high) & (starts + (1 << self._depths[level]) > low)

    def _divide(
        self,
        level: int,
        groups: npt.NDArray[np.intp],
        masses: Numbers,
        inside: Sequence[npt.NDArray[np.bool_]],
        found: list[_Cell],
    ) -> None:
        for group, mass in zip(groups.tolist(), masses.tolist(), strict=True):
            if level + 1 == len(self._counts) or mass < STANDS_OUT * self._deviation:
                end = min(self._values, (group + 1) << self._depths[level])
                found.append(_Cell(group << self._depths[level], end, mass))
                continue
            children = self._children(level, group)
            children = children[inside[level + 1][children]]
            counts = _shared(self._counts[level + 1][children], mass, self._deviation)
            self._divide(level + 1, children, counts, inside, found)


def _consistent(counts: Sequence[Numbers], depths: Sequence[int], deviation: float) -> list[Numbers]:
    """Each group's count together with what its finer groups tell of it, weighted by their noise."""
    found, variance = [counts[-1]], np.full(len(counts[-1]), deviation**2)
    for level in range(len(counts) - 2, -1, -1):
        parents = np.arange(len(found[0])) >> (depths[level] - depths[level + 1])
        sums = np.bincount(parents, found[0], minlength=len(counts[level]))
        variances = np.bincount(parents, variance, minlength=len(counts[level]))
        own = variances / (variances + deviation**2)
        found.insert(0, own * counts[level] + (1 - own) * sums)
        variance = own * deviation**2
    return found


def _shared(counts: Numbers, total: float, deviation: float) -> Numbers:
    """So many rows by these counts of neighbours: those that do not stand out of them are smoothed."""
    level = counts <= np.median(counts) + STANDS_OUT * deviation
    counts = counts.copy()
    if level.sum() > SMOOTHED_FROM:
        counts[level] = smooth(Estimate(counts[level], deviation**2))
    return nearest_counts(counts, total)


def _binned(attribute: Attribute, grid: Grid) -> Attribute:
    """The attribute with bins that follow the cells, and the cells as its histogram."""
    cells = [part for cell in grid.cells for part in _parts(cell, attribute.edges)]
    masses = np.array([cell.mass for cell in cells])
    least = max(POINT * grid.rows, STANDS_OUT * grid.deviation)
    points = np.array([cell.end - cell.first == 1 and cell.mass >= least for cell in cells])
    rest = np.where(points, 0.0, masses)
    below, whole = np.cumsum(rest), float(rest.sum())
    cuts = {cells[0].first, cells[-1].end}
    for cell, point in zip(cells, points, strict=True):
        cuts |= {cell.first, cell.end} if point else set()
    if whole >= least:
        for level in sorted({*(place / BINS for place in range(1, BINS)), *TAILS}):
            place = int(np.searchsorted(below, level * whole))
            after = below[place] - level * whole <= rest[place] / 2
            cuts.add(cells[place].end if after else cells[place].first)
    if len(cuts) == 2:
        # One bin is no domain: there is a second one, of what hardly anybody has.
        first, end = cells[0].first, cells[-1].end
        cuts.add(end - 1 if end - first > 1 else end + 1 if end < attribute.values else first - 1)
    ends = sorted({*(cell.first for cell in cells), cells[-1].end, *cuts})
    weights = dict(zip((cell.first for cell in cells), masses / max(1.0, masses.sum()) * WEIGHTS, strict=True))
    histogram = Histogram(_edges(attribute, ends), tuple(round(weights.get(first, 0.0)) for first in ends[:-1]))
    decimals = DECIMALS if attribute.type == "number" and attribute.decimals is None else attribute.decimals
    return replace(
        attribute,
        discover=False,
        decimals=decimals,
        edges=_edges(attribute, sorted(cuts)),
        histogram=histogram,
        out_of_domain="edge",
    )


def _parts(cell: _Cell, grid: Sequence[Fraction]) -> list[_Cell]:
    """A cell of many codes in parts of the same width each: farther from zero its codes are wider."""
    if not cell.mass:
        return [cell]
    widths = [grid[code + 1] - grid[code] for code in range(cell.first, cell.end)]
    starts = [
        cell.first,
        *(cell.first + place for place in range(1, len(widths)) if widths[place] != widths[place - 1]),
    ]
    mass = cell.mass / (cell.end - cell.first)
    return [_Cell(first, end, mass * (end - first)) for first, end in zip(starts, [*starts[1:], cell.end], strict=True)]


def _edges(attribute: Attribute, codes: Sequence[int]) -> tuple[Fraction, ...]:
    """Edges at the start of these codes. The last bin is closed: if it ends by a point, then before the next one."""
    found = [attribute.edges[code] for code in codes]
    unit = Fraction(1, 10 ** (0 if attribute.type == "integer" else attribute.decimals or DECIMALS))
    if codes[-1] < attribute.values and found[-1] - attribute.edges[codes[-1] - 1] <= unit:
        found[-1] -= unit / 2
    return tuple(found)
