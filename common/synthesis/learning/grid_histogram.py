"""A histogram of an attribute from noisy counts on a public grid; all of it is post-processing, by public numbers.

1. Counts at several resolutions are made consistent by weighted least squares (Hay, Rastogi, Miklau, Suciu, VLDB 2010).
2. The range ends where counts farther out cannot be told from noise, by the law of the noise: at the coarsest
   resolution all sums that are looked at pass together with probability ``CHANCES[0]`` if there are no rows, at finer
   ones, where an error is a smaller one, with a larger one.
3. From the coarsest resolution on, a group that stands out of the noise is divided: its finer groups get its count,
   smoothed, and none below 0; one that does not is left whole. What is whole in the end is a cell of the histogram.
4. What lies beyond the range is spread by a tail (``privity.common.synthesis.learning.range_tails``).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.derived_attributes import grid_depths
from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.synthesis.inference.estimation import Estimate, nearest_counts, smooth
from privity.common.synthesis.learning.range_tails import (
    LEAST_TAIL,
    Between,
    Beyond,
    Cell,
    sums_between,
    sums_outside,
    tail,
)

Numbers = npt.NDArray[np.float64]

STANDS_OUT = 4
"""Standard deviations of its noise from which a count is divided further, or is a point."""

CHANCES = (0.001, 0.002, 0.002, 0.05)
"""That noise alone moves an end of a range out: at the coarsest resolution an end of any attribute, at each finer one,
where the error is small, one end of one attribute."""

SIGN = 3.5
"""Standard deviations from which on numbers of the other sign are told: most numbers are of one."""

LEAST_BEYOND = 1.0
"""Standard deviations of a count: among single codes, the range ends where no more are left."""

LATTICE = 50
"""Scale of a law that is as good as continuous."""

LEAST_DEVIATION = 1e-6
"""Of a count, so that what is nearly exact is no division by zero."""

SMOOTHED_FROM = 3
"""Neighbours, and more of them are smoothed."""


@dataclass(frozen=True)
class Grid:
    """What noisy counts tell of an attribute.

    Attributes:
        edges: of the codes.
        point: distance of neighbouring values.
        cells: in their order, without a gap; those beyond the measured range are tails.
        measured: the edges between which the range was measured.
        beyond: rows with other values, by the same counts.
        apart: rows of each code that is no value.
        deviation: of the noise on a count.
        rows: of the table.
    """

    edges: Sequence[Fraction]
    point: Fraction
    cells: Sequence[Cell]
    measured: tuple[Fraction, Fraction]
    beyond: Beyond
    apart: Numbers
    deviation: float
    rows: int

    def counts(self) -> Numbers:
        """Of all codes, those that are no values last: shape (codes,), the rows of the table together."""
        found = np.zeros(len(self.edges) - 1)
        for cell in self.cells:
            found[cell.first : cell.end] = cell.mass / (cell.end - cell.first)
        return np.concatenate([found, self.apart])


@dataclass(frozen=True)
class Noise:
    """Of a count.

    Attributes:
        name: of its law.
        variables: of that law that it amounts to.
        deviation: standard.
    """

    name: str
    variables: Fraction
    deviation: float

    @classmethod
    def of(cls, law: NoiseLaw, variance: float) -> Noise:
        """Noise of this variance that shares of this law add up to."""
        one = law.share_variance(1)
        variables = Fraction(variance / one).limit_denominator(1000) if one else Fraction(1)
        return cls(law.name, max(variables, Fraction(1)), max(math.sqrt(variance), LEAST_DEVIATION))

    def beyond(self, chance: float, cells: int = 1) -> float:
        """What the noise of the sum of so many cells exceeds with this probability, or a smaller one."""
        return self.deviation * _deviations(self.name, self.variables, cells, chance)

    def bounds(self, chance: float, sums: int) -> tuple[Numbers, Numbers]:
        """What so many counts, one after another, and their sums so far exceed by chance, all of them together.

        The first ones have most of the chance.
        """
        each = [chance / (place * (place + 1)) for place in range(1, sums + 1)]
        # The first count is the first sum.
        ones = [self.beyond(part / (2 if place else 1)) for place, part in enumerate(each)]
        together = [self.beyond(part / (2 if place else 1), place + 1) for place, part in enumerate(each)]
        return np.array(ones), np.array(together)


@lru_cache(maxsize=4096)
def _deviations(name: str, variables: Fraction, cells: int, chance: float) -> float:
    law = NoiseLaw(name, Fraction(LATTICE if name == LAPLACE else LATTICE**2))
    width = half_width(law, variables, cells, 1 - 2 * Fraction(chance))
    return width / math.sqrt(float(variables) * law.share_variance(1))


def grid_of(attribute: Attribute, tables: Sequence[NoisyTable], attributes: int) -> Grid:
    """The histogram that tables of an attribute tell, one a resolution, the coarsest first.

    Args:
        attributes: how many are discovered together.
    """
    noise, values = Noise.of(tables[0].law, tables[0].variance), attribute.values
    # What is no value stays a group of its own at every resolution.
    apart = np.mean([table.counts[len(table.counts) - attribute.apart :] for table in tables], axis=0)
    apart = np.maximum(apart, 0.0)
    apart *= min(1.0, (tables[0].rows - 1) / max(1.0, float(apart.sum())))
    counts = [table.counts[: len(table.counts) - attribute.apart].astype(np.float64) for table in tables]
    zero = bisect_left(attribute.edges, 0)
    zero = zero if zero < values and attribute.edges[zero] == 0 else -1
    tree = _Tree(counts, (*grid_depths(values)[::-1], 0), zero, _far(attribute), noise, attributes)
    cells, (low, high), beyond = tree.cells(tables[0].rows - float(apart.sum()), attribute.edges)
    return Grid(
        attribute.edges, attribute.point or Fraction(1), cells, (attribute.edges[low], attribute.edges[high]), beyond,
        apart, noise.deviation, tables[0].rows,
    )  # fmt: skip


class _Tree:
    """Noisy counts of the same codes in groups of two to the power of ``depths``, the coarsest first.

    Args:
        zero: the code from which on numbers are 0 or more; -1 if there is none.
        far: of each code, whether it is far wider than most.
    """

    def __init__(
        self,
        counts: Sequence[Numbers],
        depths: Sequence[int],
        zero: int,
        far: npt.NDArray[np.bool_],
        noise: Noise,
        attributes: int,
    ) -> None:
        self._depths, self._values, self._zero, self._far = depths, len(counts[-1]), zero, far
        self._noise, self._deviation = noise, noise.deviation
        # Of one end each.
        self._chances = CHANCES[0] / attributes / 2, *CHANCES[1:]
        self._raw = counts
        self._counts, self._variances = _consistent(counts, depths, noise.deviation)

    def cells(self, total: float, edges: Sequence[Fraction]) -> tuple[list[Cell], tuple[int, int], Beyond]:
        """Cells of a histogram of so many rows, in their order; the codes of the measured range; rows beyond it."""
        coarse = self._coarse_ends(total)
        low, high = self._ends(coarse, inwards=True)
        if low >= high:
            low, high = self._ends(coarse, inwards=False)
        between = partial(sums_between, self._raw, self._counts, self._variances, self._depths, total)
        low, high = self._of_one_sign(low, high, between)
        *sides, beyond = sums_outside(between, low, high)
        limits = self._limits(coarse, low, high)
        ends = zip(sides, limits, (low, high), strict=True)
        rows = (one.spread if limit != end else 0.0 for one, (limit, _), end in ends)
        below, above = (one if one >= LEAST_TAIL * total else 0.0 for one in rows)
        within = self._within(low, high, max(total - below - above, 0.0))
        cells = [
            *tail(edges, within, limits[0], below, between, up=False),
            *within,
            *tail(edges, within, limits[1], above, between, up=True),
        ]
        # What holds nothing but noise is cut.
        if any(cell.mass for cell in within):
            some = [place for place, cell in enumerate(cells) if cell.mass]
            cells = cells[some[0] : some[-1] + 1]
        return cells, (low, high), beyond

    def _ends(self, coarse: tuple[int, int], *, inwards: bool) -> tuple[int, int]:
        """The code at which the range begins, and the one that it ends before."""
        low, high = coarse
        return (
            self._end(0, low, high, up=False, inwards=inwards),
            self._end(0, high, low, up=True, inwards=inwards),
        )

    def _of_one_sign(self, low: int, high: int, between: Between) -> tuple[int, int]:
        """The range cut at zero, if what it has on one side of zero is not told from noise."""
        if not low < self._zero < high:
            return low, high
        below, above, _ = sums_outside(between, self._zero, self._zero + 1)
        if below.rows < min(SIGN * below.deviation, above.rows):
            return self._zero, high
        return low, self._zero + 1 if above.rows < SIGN * above.deviation else high

    def _limits(self, coarse: tuple[int, int], low: int, high: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """For each tail the code that it never passes, the end of the grid or zero, and where its coarse groups end."""
        first = self._zero if 0 <= self._zero <= low else 0
        end = self._zero + 1 if high <= self._zero + 1 else self._values
        # Of decades and centuries, the next one is far enough.
        first = max([first, *np.flatnonzero(self._far[:low])[-1:].tolist()])
        end = min([end, *(high + 1 + np.flatnonzero(self._far[high:])[:1]).tolist()])
        width = 1 << self._depths[0]
        group, last = coarse[0] * width, (coarse[1] + 1) * width
        near = group if group < low else group - width, last if last > high else last + width
        return (first, max(first, near[0])), (end, min(end, near[1]))

    def _within(self, low: int, high: int, total: float) -> list[Cell]:
        """Cells of so many rows that all are within a range."""
        inside = [self._inside(level, low, high) for level in range(len(self._counts))]
        first = np.flatnonzero(inside[0])
        found: list[Cell] = []
        self._divide(0, first, _shared(self._counts[0][first], total, self._deviation), inside, found)
        return [
            Cell(max(cell.first, low), min(cell.end, high), cell.mass)
            for cell in found
            if max(cell.first, low) < min(cell.end, high)
        ]

    def _coarse_ends(self, total: float) -> tuple[int, int]:
        """The first and the last of the coarsest groups that have any of so many rows."""
        counts = self._counts[0]
        low = high = int(counts.argmax())
        while True:
            below, above = counts[:low][::-1], counts[high + 1 :]
            if (seen := self._seen(above, 0)) is not None:
                high += 1 + seen
            elif (seen := self._seen(below, 0)) is not None:
                low -= 1 + seen
            elif self._are_left(low, high, total):
                # Where they are is less sure: next to the others, below zero only if the group itself shows some.
                up = _clearest(above) >= _clearest(below)
                side, one_sign = above if up else below, up and low <= self._zero >> self._depths[0] <= high
                if not len(side) or not (one_sign or side[0] > self._deviation):
                    break
                low, high = low - (not up), high + up
            else:
                break
        return low, high

    def _seen(self, counts: Numbers, level: int) -> int | None:
        """The first place up to which these together stand out of their noise, or at which one does."""
        one, together = self._noise.bounds(self._chances[level], len(counts))
        seen = np.flatnonzero((np.cumsum(counts) > together) | (counts > one))
        return int(seen[0]) if len(seen) else None

    def _are_left(self, low: int, high: int, total: float) -> bool:
        """Whether the coarsest groups outside have rows, by all rows less those inside and by their own counts."""
        counts, within = self._counts[0], high - low + 1
        inside = float(counts[low : high + 1].sum())
        outside, weight = float(counts.sum()) - inside, within / len(counts)
        left = (1 - weight) * (total - inside) + weight * outside
        return left > self._noise.beyond(self._chances[0]) * math.sqrt(within * (1 - weight))

    def _end(self, level: int, group: int, other: int, *, up: bool, inwards: bool) -> int:
        """Where the range ends within a group, as closely as its finer groups tell; ``other`` has its other end.

        Args:
            inwards: whether a group of which that is not told is left to the tail, if there are rows beside it.
        """
        depth = self._depths[level]
        outer = min(self._values, (group + up) << depth)
        if level + 1 == len(self._counts):
            return outer
        beside = self._counts[level][group - 1 if up else min(group + 1, len(self._counts[level]) - 1)]
        joined = inwards and group != other and beside > self._deviation
        if self._counts[level][group] < STANDS_OUT * self._deviation and (joined or group == other):
            return (group + (not up)) << depth if joined else outer
        groups = self._children(level, group)
        if group != other:
            outwards = groups if up else groups[::-1]
            if (last := self._last(level + 1, outwards, -1)) >= 0:
                return self._end(level + 1, int(outwards[last]), -1, up=up, inwards=inwards)
            if joined:
                return (group + (not up)) << depth
            # Where in it its rows are is not told.
            middle = int(outwards[(len(outwards) - 1) // 2])
            return min(self._values, (middle + up) << self._depths[level + 1])
        # Both ends are in it: each is sought from where most is.
        counts = self._counts[level + 1][groups]
        largest = int(counts.argmax())
        rising = _clearest(counts[largest + 1 :]) >= _clearest(counts[:largest][::-1])
        low = int(groups[largest - self._last(level + 1, groups[largest::-1], 0, from_zero=not rising)])
        high = int(groups[largest + self._last(level + 1, groups[largest:], 0, from_zero=rising)])
        ends = (high, low) if up else (low, high)
        return self._end(level + 1, *ends, up=up, inwards=inwards)

    def _last(self, level: int, outwards: npt.NDArray[np.intp], last: int, *, from_zero: bool = False) -> int:
        """The place of the last one of these groups that stands out of the noise, alone or with those before it.

        Args:
            last: the place of one that has rows; -1 if none is known.
            from_zero: whether numbers of this sign are to be expected if the first one is that of zero.
        """
        counts = self._counts[level][outwards]
        # Most numbers are of one sign: beyond zero there are only rows that stand out far.
        zero = np.flatnonzero(outwards == self._zero >> self._depths[level])
        turn = int(zero[0]) if self._zero >= 0 and len(zero) and (zero[0] or not from_zero) else len(outwards)
        beyond_turn = level
        if level + 1 == len(self._counts):
            # A decade or a century is no small error: there are only rows that stand out far.
            if len(far := np.flatnonzero(self._far[outwards])):
                turn, beyond_turn = int(far[0]) - 1, 0
            # So near, an error is small: all but next to none.
            beyond = np.append(np.cumsum(counts[:0:-1])[::-1], 0.0)
            last = max(last, min(turn, int(np.flatnonzero(beyond <= LEAST_BEYOND * self._deviation)[0])))
        while True:
            within = last <= turn
            beside = counts[last + 1 : turn + 1 if within else None]
            if (seen := self._seen(beside, level if within else beyond_turn)) is not None:
                last += 1 + seen
            elif last <= turn and (seen := self._seen(counts[turn + 1 :], 0)) is not None:
                last = turn + 1 + seen
            else:
                return last

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
        found: list[Cell],
    ) -> None:
        for group, mass in zip(groups.tolist(), masses.tolist(), strict=True):
            if level + 1 == len(self._counts) or mass < STANDS_OUT * self._deviation:
                end = min(self._values, (group + 1) << self._depths[level])
                found.append(Cell(group << self._depths[level], end, mass))
                continue
            children = self._children(level, group)
            children = children[inside[level + 1][children]]
            counts = _shared(self._counts[level + 1][children], mass, self._deviation)
            self._divide(level + 1, children, counts, inside, found)


def _far(attribute: Attribute) -> npt.NDArray[np.bool_]:
    """Which codes are decades and centuries, beside days or parts of a day: shape (values,).

    Cells of numbers are wider only in proportion to the numbers in them.
    """
    form, widths = attribute.temporal, np.diff(np.array(attribute.edges, dtype=float))
    if form is None or form.type == "duration":
        return np.zeros(len(widths), dtype=bool)
    found: npt.NDArray[np.bool_] = widths > 2 * np.median(widths)
    return found


def _clearest(outwards: Numbers) -> float:
    """How far these counts together stand out at the most, in deviations of one."""
    return float(np.max(np.cumsum(outwards) / np.sqrt(np.arange(1, len(outwards) + 1)), initial=0.0))


def _consistent(
    counts: Sequence[Numbers], depths: Sequence[int], deviation: float
) -> tuple[list[Numbers], list[Numbers]]:
    """Each group's count together with what its finer groups tell of it, weighted by their noise; and the variances."""
    found, spread = [counts[-1]], [np.full(len(counts[-1]), deviation**2)]
    for level in range(len(counts) - 2, -1, -1):
        parents = np.arange(len(found[0])) >> (depths[level] - depths[level + 1])
        sums = np.bincount(parents, found[0], minlength=len(counts[level]))
        variances = np.bincount(parents, spread[0], minlength=len(counts[level]))
        own = variances / (variances + deviation**2)
        found.insert(0, own * counts[level] + (1 - own) * sums)
        spread.insert(0, own * deviation**2)
    return found, spread


def _shared(counts: Numbers, total: float, deviation: float) -> Numbers:
    """So many rows by these counts of neighbours: those that do not stand out of them are smoothed."""
    level = counts <= np.median(counts) + STANDS_OUT * deviation
    counts = counts.copy()
    if level.sum() > SMOOTHED_FROM:
        counts[level] = smooth(Estimate(counts[level], deviation**2))
    return nearest_counts(counts, total)
