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
    unit = Fraction(1, 10**decimals)
    points = list(range(EXACT))
    size = EXACT
    while size < LARGEST / unit:
        points += range(size, 10 * size, size // 10 ** (DIGITS - 1))
        size *= 10
    nines = [10**digits - 1 for digits in range(1, 12) if digits + decimals <= SIGNIFICANT_DIGITS]
    apart = {edge for nine in nines if nine >= EXACT * unit for edge in (Fraction(nine), nine + unit)}
    above = sorted({*(point * unit for point in points), *apart, Fraction(LARGEST)})
    edges = [*(-edge for edge in reversed(above[1:])), *above]
    low, high = edges[0] if low is None else low, edges[-1] if high is None else high
    return (low, *edges[bisect_right(edges, low) : bisect_left(edges, high)], high)
