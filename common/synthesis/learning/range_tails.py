"""How rows lie beyond a measured range: what noisy counts tell of their number, and a shape for where they are.

How many there are follows from all counts of the range and outside it, and from the public number of rows. No count
tells where each one is, but counts together tell how far they reach: they are spread outwards by densities that fall to
nothing at reaches from near to far. Each reach has a weight, by the likelihood of all counts and by how well it goes on
as dense as the nearest counted values are. A tail never crosses zero.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

Between = Callable[[Sequence[int]], tuple[Numbers, Numbers]]
"""Rows of the parts that codes in their order divide all codes into, one more than codes, and their covariance."""

LEAST_TAIL = 0.003
"""Part of the rows from which on a tail is drawn: fewer are left to the last bin."""

WIDTH = 4.0
"""Of a tail: so much times the width that its rows would have at the density of the nearest ones. The density falls to
nothing as the power of this less 1 of what is left of the width.
"""

SPARSE = 32
"""Where values are denser by more than this factor than those beside them, they tell nothing of these."""

LIKELY = 0.7
"""Standard deviation of the logarithm of a tail's reach, around the one by the density of the nearest values."""

FARTHER = 8.0
"""A tail reaches no farther than so many times the reach by that density."""

LONGEST = 0.2
"""Weight of the longest reaches of a tail that do not count: what is possible only is no reason for extreme values."""

RIDGE = 1e-9
"""Of a covariance's mean variance: what is added to each, so that it is never singular."""


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
        from scipy.special import ndtr

        if not self.deviation:
            return max(0.0, self.rows)
        z = self.rows / self.deviation
        return self.rows * float(ndtr(z)) + self.deviation * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def tail(
    edges: Sequence[Fraction],
    cells: Sequence[Cell],
    limits: tuple[int, int],
    rows: float,
    between: Between,
    *,
    up: bool,
) -> list[Cell]:
    """Cells of so many rows beyond the last cell, or before the first one, outwards.

    Args:
        limits: the code that it never passes, and the one up to which it may be spread if nothing tells its scale.
        edges: of the codes.
        cells: of the range, in their order.
        between: what counts tell of the parts between codes.
    """
    start = cells[-1].end if up else cells[0].first
    limit = limits[0]
    room, near = (abs(float(edges[end] - edges[start])) for end in limits)
    if not room or not rows:
        return []
    nearest = _reach(edges, cells[::-1] if up else cells, rows)
    farthest = min(room, near if nearest is None else FARTHER * nearest)
    least = abs(float(edges[start + 1] - edges[start] if up else edges[start] - edges[start - 1]))
    halvings = np.arange(max(1, 1 + math.floor(math.log2(farthest / least))))
    reaches = (farthest / 2.0**halvings).astype(np.float64)
    found = {_place(edges, start, limit, float(reach), up=up) for reach in (*reaches, reaches[-1] / 2, reaches[-1] / 4)}
    places = [start, *sorted(found - {start}, reverse=not up)]
    distances = np.array([abs(float(edges[place] - edges[start])) for place in places])
    left = np.maximum(0.0, 1 - distances / np.maximum(reaches, distances[1])[:, np.newaxis]) ** WIDTH
    left[:, -1] = 0.0
    shapes = -np.diff(left, axis=1)
    parts = rows * (_weights(reaches, nearest, rows * shapes, *_outwards(between, places, up=up)) @ shapes)
    tails = [Cell(min(ends), max(ends), part) for ends, part in zip(pairwise(places), parts.tolist(), strict=True)]
    return tails if up else tails[::-1]


def _outwards(between: Between, places: Sequence[int], *, up: bool) -> tuple[Numbers, Numbers]:
    """What counts tell of the parts of a tail, the nearest one first."""
    mean, covariance = between(places if up else places[::-1])
    mean, covariance = mean[1:-1], covariance[1:-1, 1:-1]
    return (mean, covariance) if up else (mean[::-1], covariance[::-1, ::-1])


def _weights(reaches: Numbers, nearest: float | None, expected: Numbers, mean: Numbers, covariance: Numbers) -> Numbers:
    """Of each reach, the longest first: by what counts tell of the parts, and by the density of the nearest values.

    Args:
        nearest: the reach of a tail that begins with that density.
        expected: rows of each part by each reach, shape (reaches, parts).
        mean, covariance: of the parts by the counts.
    """
    off = mean - expected
    ridge = RIDGE * max(float(np.trace(covariance)), 1.0) / len(mean)
    logs = -0.5 * np.sum(off * np.linalg.solve(covariance + ridge * np.eye(len(mean)), off.T).T, axis=1)
    if nearest is not None:
        logs -= 0.5 * (np.log(reaches / nearest) / LIKELY) ** 2
    weights: Numbers = np.exp(logs - logs.max())
    weights /= weights.sum()
    weights[np.cumsum(weights) < LONGEST] = 0.0
    return weights / weights.sum()


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


def sums_outside(between: Between, low: int, high: int) -> tuple[Beyond, Beyond, Beyond]:
    """Rows with a code below ``low``, from ``high`` on, and both."""
    mean, covariance = between((low, high))
    sides = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    variances = np.maximum(np.diag(sides @ covariance @ sides.T), 0.0)
    below, above, both = map(Beyond, (sides @ mean).tolist(), np.sqrt(variances).tolist())
    return below, above, both


def sums_between(
    raw: Sequence[Numbers], consistent: Sequence[Numbers], variances: Sequence[Numbers], depths: Sequence[int],
    total: float, cuts: Sequence[int],
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """Rows of the parts that codes fall into by cuts, and their covariance: best linear estimates by all counts.

    Args:
        raw: counts by level, the coarsest first; the groups of a level join two to the power of its depth codes.
        consistent, variances: each group's count by all that its finer groups tell, too.
        total: all rows.
        cuts: the codes that the parts after the first one begin with, in their order.
    """
    values, size = len(raw[-1]), len(cuts) + 1

    def parts(level: int, group: int) -> tuple[Numbers, Numbers]:
        """Of a group the rows by part, and their covariance."""
        inner = level + 1
        step = depths[level] - depths[inner] if level >= 0 else 0
        first = group << step if level >= 0 else 0
        last = min(len(raw[inner]), (group + 1) << step) if level >= 0 else len(raw[inner])
        groups = np.arange(first, last)
        starts = groups << depths[inner]
        ends = np.minimum(values, starts + (1 << depths[inner]))
        part = np.searchsorted(cuts, starts, side="right")
        across = part != np.searchsorted(cuts, ends - 1, side="right")
        whole = groups[~across]
        mean: Numbers = np.bincount(part[~across], consistent[inner][whole], minlength=size).astype(float)
        covariance: Numbers = np.diag(np.bincount(part[~across], variances[inner][whole], minlength=size)).astype(float)
        for one in groups[across].tolist():
            more, its = parts(inner, one)
            mean, covariance = mean + more, covariance + its
        if level >= 0:
            return _given(mean, covariance, float(raw[level][group]), own)
        return mean, covariance

    own = float(variances[-1][0])
    return _given(*parts(-1, 0), total, 0.0)


def _given(mean: Numbers, covariance: Numbers, total: float, variance: float) -> tuple[Numbers, Numbers]:
    """Estimates of parts, given a count of all of them together that has this variance."""
    with_sum = covariance.sum(axis=1)
    if not (whole := float(with_sum.sum()) + variance):
        return mean, covariance
    gain = with_sum / whole
    return mean + gain * (total - mean.sum()), covariance - np.outer(gain, with_sum)
