"""How rows lie beyond a measured range: what noisy counts tell of their number, and a shape for where they are.

How many there are follows from all counts of the range and outside it, and from the public number of rows. Where each
one is, no count tells: they are spread outwards by a density that begins as that of the nearest counted values and
falls to nothing, no farther than the coarse groups that the range ends in, and never across zero.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Numbers = npt.NDArray[np.float64]

LEAST_TAIL = 0.003
"""Part of the rows from which on a tail is drawn: fewer are left to the last bin."""

WIDTH = 6.0
"""Of a tail: so much times the width that its rows would have at the density of the nearest ones. The density falls to
nothing as the power of this less 1 of what is left of the width: nearly exponentially.
"""

SPARSE = 32
"""Where values are denser by more than this factor than those beside them, they tell nothing of these."""

STEPS = 8
"""Cells of a tail, at the most."""


@dataclass(frozen=True)
class Cell:
    """Codes from ``first`` on, below ``end``, and how many rows have them."""

    first: int
    end: int
    mass: float

    @property
    def single(self) -> bool:
        """Whether it is one code."""
        return self.end - self.first == 1


@dataclass(frozen=True)
class Beyond:
    """Rows beyond one end of a measured range: how many, estimated without a bias of its sign, and the deviation."""

    rows: float
    deviation: float

    @property
    def spread(self) -> float:
        """So many rows are spread there: the expectation of the number, those below 0 counted as 0."""
        if not self.deviation:
            return max(0.0, self.rows)
        z = self.rows / self.deviation
        return self.rows * float(ndtr(z)) + self.deviation * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def tail(
    edges: Sequence[Fraction], cells: Sequence[Cell], limits: tuple[int, int], rows: float, *, up: bool
) -> list[Cell]:
    """Cells of so many rows beyond the last cell, or before the first one, outwards.

    Args:
        limits: the code that it never passes, and the one up to which it is spread if nothing tells its scale.
        edges: of the codes.
        cells: of the range, in their order.
    """
    start = cells[-1].end if up else cells[0].first
    limit = limits[0]
    room = abs(float(edges[limit] - edges[start]))
    if not room or not rows:
        return []
    reach = _reach(edges, cells[::-1] if up else cells, rows)
    if reach is None:
        # Nothing tells the scale: each doubling of the distance has as many.
        limit = limits[1]
        room = abs(float(edges[limit] - edges[start]))
        least = float(edges[start + 1] - edges[start] if up else edges[start] - edges[start - 1])
        parts = np.geomspace(min(least, room), room, STEPS + 1)
        distances, below = np.append(0.0, parts), np.append(0.0, np.arange(1, STEPS + 2) / (STEPS + 1))
    else:
        reach = min(reach, room)
        distances = reach * np.linspace(0.0, 1.0, STEPS + 1) ** 2
        below = 1 - (1 - distances / reach) ** WIDTH
    places = [_place(edges, start, limit, float(distance), up=up) for distance in distances]
    found = []
    for (first, end), part in zip(pairwise(places), np.diff(below).tolist(), strict=True):
        if first != end:
            found.append(Cell(min(first, end), max(first, end), part))
        elif found:
            found[-1] = Cell(found[-1].first, found[-1].end, found[-1].mass + part)
    whole = sum(cell.mass for cell in found)
    found = [Cell(cell.first, cell.end, cell.mass / whole * rows) for cell in found]
    return found if up else found[::-1]


def _place(edges: Sequence[Fraction], start: int, limit: int, distance: float, *, up: bool) -> int:
    """The code that begins so far from a start, or the next one outwards."""
    at = float(edges[start]) + (distance if up else -distance)
    return min(limit, bisect_left(edges, at, start)) if up else max(limit, bisect_right(edges, at, 0, start + 1) - 1)


def _reach(edges: Sequence[Fraction], inwards: Sequence[Cell], rows: float) -> float | None:
    """How far a tail of so many rows reaches, by the density of as many nearest ones; None if there are none.

    A single code that holds far more than those beside it, and what lies beyond a gap, tell nothing of it.
    """
    found = [cell for cell in inwards if cell.mass]
    dense = [cell.mass / float(edges[cell.end] - edges[cell.first]) for cell in found]
    if found and found[0].single and dense[0] > SPARSE * max(dense[1:2], default=0.0):
        found, dense = found[1:], dense[1:]
    mass = width = 0.0
    for cell, density in zip(found, dense, strict=True):
        if mass >= rows or mass > SPARSE * density * width:
            break
        mass += cell.mass
        width += float(edges[cell.end] - edges[cell.first])
    return WIDTH * rows * width / mass if mass else None


def sums_outside(
    raw: Sequence[Numbers], consistent: Sequence[Numbers], variances: Sequence[Numbers], depths: Sequence[int],
    low: int, high: int, total: float,
) -> tuple[Beyond, Beyond, Beyond]:  # fmt: skip
    """Rows with a code below ``low``, from ``high`` on, and both: best linear estimates by all counts and the total.

    Args:
        raw: counts by level, the coarsest first; the groups of a level join two to the power of its depth codes.
        consistent, variances: each group's count by all that its finer groups tell, too.
    """
    values = len(raw[-1])

    def parts(level: int, group: int) -> tuple[Numbers, Numbers]:
        """Of a group the rows below, within and above the range, and their covariance."""
        inner = level + 1
        step = depths[level] - depths[inner] if level >= 0 else 0
        first = group << step if level >= 0 else 0
        last = min(len(raw[inner]), (group + 1) << step) if level >= 0 else len(raw[inner])
        groups = np.arange(first, last)
        starts = groups << depths[inner]
        ends = np.minimum(values, starts + (1 << depths[inner]))
        part = np.where(ends <= low, 0, np.where(starts >= high, 2, 1))
        across = ((starts < low) & (ends > low)) | ((starts < high) & (ends > high))
        whole = groups[~across]
        mean: Numbers = np.bincount(part[~across], consistent[inner][whole], minlength=3).astype(float)
        covariance: Numbers = np.diag(np.bincount(part[~across], variances[inner][whole], minlength=3)).astype(float)
        for one in groups[across].tolist():
            more, its = parts(inner, one)
            mean, covariance = mean + more, covariance + its
        if level >= 0:
            return _given(mean, covariance, float(raw[level][group]), own)
        return mean, covariance

    own = float(variances[-1][0])
    mean, covariance = _given(*parts(-1, 0), total, 0.0)
    sides = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    variances_ = np.maximum(np.diag(sides @ covariance @ sides.T), 0.0)
    below, above, both = map(Beyond, (sides @ mean).tolist(), np.sqrt(variances_).tolist())
    return below, above, both


def _given(mean: Numbers, covariance: Numbers, total: float, variance: float) -> tuple[Numbers, Numbers]:
    """Estimates of parts, given a count of all of them together that has this variance."""
    with_sum = covariance.sum(axis=1)
    if not (whole := float(with_sum.sum()) + variance):
        return mean, covariance
    gain = with_sum / whole
    return mean + gain * (total - mean.sum()), covariance - np.outer(gain, with_sum)
