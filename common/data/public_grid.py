"""The grid on which numbers are counted whose domain is yet to be discovered: the same whatever the rows hold.

Codes are cells between edges. Near zero a cell is one point of the lattice that the declared decimals make; farther
off cells are as fine as three significant digits, so that some ten thousand of them reach to very large numbers. Points
such as 99,999, which often stand for something else than a number, have cells of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import lru_cache
from math import floor, lcm

from privity.common.data.temporal import Temporal
from privity.common.data.temporal_pattern import DAY, HOUR, MINUTE, SECOND, UNIX_DAY
from privity.common.data.value_grids import SIGNIFICANT_DIGITS

EXACT = 10_000
"""Points of the lattice on either side of zero that have a cell each."""

DIGITS = 3
"""Significant digits of the edges farther off."""

LARGEST = 10**12
"""Of the grid without declared bounds; values beyond it are counted in its outermost cells."""

DECIMALS = 6
"""Of a number that declares none."""

MOST_CELLS = 100_000
"""Of equal width, of dates and times."""

WIDTHS = (SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY)
"""Of a cell of times, in nanoseconds: the first one of which there are not too many."""

HALF = Fraction(1, 2)
"""Of a point: the last cell, which is closed, ends so far beyond the last value."""

USUAL = "1900-01-01", "2100-01-01"
"""Days between which all are told apart."""


@lru_cache(maxsize=256)
def grid_edges(decimals: int, low: Fraction | None, high: Fraction | None) -> tuple[Fraction, ...]:
    """Edges of the grid over a range, exact and strictly increasing.

    Args:
        decimals: of the lattice; 0 for integers.
        low, high: declared bounds, or None: as far as ``LARGEST``.
    """
    scale = 10**decimals  # all in units of the lattice
    points = set(range(EXACT))
    size = EXACT
    while size < LARGEST * scale:
        points.update(range(size, 10 * size, size // 10 ** (DIGITS - 1)))
        size *= 10
    for digits in range(1, SIGNIFICANT_DIGITS - decimals):
        if (nine := (10**digits - 1) * scale) > EXACT:
            points |= {nine, nine + 1}
    points = {point for point in points if point < LARGEST * scale} | {LARGEST * scale}
    # A cell begins with its point, on either side of zero.
    nines = {point - 1 for point in points if point - 1 in points and point > EXACT}
    below = {-point for point in points} | {1 - nine for nine in nines}
    edges = [Fraction(point, scale) for point in sorted(points | below)]
    low, high = edges[0] if low is None else low, edges[-1] if high is None else high
    inside = edges[bisect_right(edges, low) : bisect_left(edges, high)]
    unit = Fraction(1, scale)
    if high - (inside[-1] if inside else low) == unit and high < LARGEST:
        # The last cell is closed: the greatest value has one of its own.
        return (low, *inside, high, high + unit / 2)
    return (low, *inside, high)


@lru_cache(maxsize=256)
def temporal_edges(form: Temporal, low: Fraction | None, high: Fraction | None) -> tuple[Fraction, ...]:
    """The same of dates and times: edges in the points of these.

    Days of two centuries, or parts of a day where the bounds are narrower, then decades and centuries; the first and
    the last day of the calendar, which often mean never, stand alone. Narrow bounds may lie in any two centuries.
    Durations have the grid of numbers.
    """
    if form.type == "duration":
        digits = len(str(SECOND // form.unit)) - 1 if form.unit < SECOND else 0
        scale = 10**digits
        found = grid_edges(digits, low and low / scale, high and high / scale)
        return tuple(edge * scale for edge in found)
    day = Fraction(DAY, form.unit)
    if form.type == "time":
        first = Fraction(0) if low is None else low
        last = day - 1 if high is None else high
        return (*_even(form, first, last), last + HALF)
    begin, end = form.years
    days = [_days(text) for text in (f"{begin:04d}-01-01", *USUAL, f"{end:04d}-12-31")]
    first = days[0] * day if low is None else low
    last = (days[3] + 1) * day - 1 if high is None else high
    narrow = last - first <= (days[2] - days[1]) * day
    near = (first, last) if narrow else (max(first, days[1] * day), min(last, days[2] * day))
    far = (*range(100, 10_000, 100), *range(1810, 1900, 10), *range(2110, 2200, 10))
    years = [_days(f"{year:04d}-01-01") * day for year in far]
    points = [*years, (days[0] + 1) * day, days[3] * day, first, last + HALF]
    if near[0] < near[1]:
        points += _even(form, *near)
    # Whole numbers are sorted far sooner than fractions.
    scale = lcm(*(point.denominator for point in points))
    whole = {point.numerator * (scale // point.denominator) for point in points}
    inside = range(int(first * scale), int((last + HALF) * scale) + 1)
    return tuple(Fraction(point, scale) for point in sorted(whole) if point in inside)


def declared_ends(places: int, form: Temporal | None, edges: Sequence[Fraction]) -> tuple[bool, bool]:
    """Whether a person declared the minimum of a grid, and its maximum.

    Args:
        places: decimals of the lattice; form: of dates and times.
    """
    usual = grid_edges(places, None, None) if form is None else temporal_edges(form, None, None)
    return edges[0] != usual[0], edges[-1] != usual[-1]


def _days(text: str) -> int:
    return date.fromisoformat(text).toordinal() - UNIX_DAY


def _even(form: Temporal, low: Fraction, high: Fraction) -> list[Fraction]:
    """The lower end, and edges of one width up to the upper one, at its multiples."""
    steps = [Fraction(width, form.unit) for width in WIDTHS if width >= form.unit]
    step = next((step for step in [Fraction(1), *steps] if (high - low) / step <= MOST_CELLS), Fraction(DAY, form.unit))
    places = range(floor(low / step) + 1, floor(high / step) + 1)
    return [low, *(Fraction(place * step.numerator, step.denominator) for place in places)]
