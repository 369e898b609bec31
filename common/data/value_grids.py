"""Values that lie in a bin: points of a lattice, from which one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor

SIGNIFICANT_DIGITS = 15  # a decimal of so many digits survives the way into a double and back
POINTS_PER_BIN = 10_000  # a value drawn inside a bin has decimals enough to tell so many points apart


@dataclass(frozen=True)
class Grid:
    """The decimals in a bin from which a value is drawn: ``(first + i) / 10**decimals``, ``i < count``."""

    first: int
    count: int
    decimals: int


def nearest(number: int | Fraction, point: Fraction) -> int:
    """The point that is nearest to a number, the upper one of two."""
    if number.denominator == 1 == point.denominator:
        return int(number)
    return (2 * number.numerator * point.denominator + number.denominator) // (2 * number.denominator)


def integer_edges(edges: Sequence[Fraction], scale: int = 1) -> tuple[int, ...]:
    """The first integer at each edge or beyond; after the last edge, which is closed, the first one beyond.

    Args:
        scale: of the integers; the edges are taken so many times.
    """
    first = (-(-edge.numerator * scale // edge.denominator) for edge in edges[:-1])
    return (*first, edges[-1].numerator * scale // edges[-1].denominator + 1)


def decimal_grid(low: Fraction, high: Fraction, *, closed: bool, decimals: int | None, exact: bool) -> Grid:
    """The decimals of a bin: as declared, or the coarsest that give it enough points; in ``SIGNIFICANT_DIGITS``."""
    if decimals is None:
        decimals = 0
        while (high - low) * 10**decimals < POINTS_PER_BIN and decimals < 400:
            decimals += 1
    largest = max(abs(low), abs(high))
    while not exact and largest * Fraction(10) ** decimals > 10**SIGNIFICANT_DIGITS:
        decimals -= 1
    scale = Fraction(10) ** decimals
    first = ceil(low * scale)
    end = floor(high * scale) + 1 if closed else ceil(high * scale)
    return Grid(first, end - first, decimals)


def number_text(number: int | Fraction, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Write a number as a decimal: an integer in full, another rounded to so many significant digits."""
    if number.denominator == 1:
        return str(int(number))
    decimal = Context(prec=digits).divide(Decimal(number.numerator), Decimal(number.denominator)).normalize()
    return format(decimal, "f") if -7 <= decimal.adjusted() <= digits else str(decimal)
