"""The grid on which numbers are counted whose domain is yet to be discovered: the same whatever the rows hold.

Codes are cells between edges. Near zero a cell is one point of the lattice that the declared decimals make; farther
off cells are as fine as three significant digits, so that some ten thousand of them reach to very large numbers. Points
such as 99,999, which often stand for something else than a number, have cells of their own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import lru_cache

from privity.common.data.attribute import SIGNIFICANT_DIGITS

EXACT = 10_000
"""Points of the lattice on either side of zero that have a cell each."""

DIGITS = 3
"""Significant digits of the edges farther off."""

LARGEST = 10**12
"""Of the grid without declared bounds; values beyond it are counted in its outermost cells."""

DECIMALS = 6
"""Of a number that declares none."""


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
