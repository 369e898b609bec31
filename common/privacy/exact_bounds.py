"""Bounds of logarithms, roots and exponentials by fractions, and numbers of few bits: no float decides anything."""

from __future__ import annotations

import math
from fractions import Fraction

_TERMS = 40  # of the series of artanh: the tail at 1/3 is below 2**-120
_FINE = 2**128


def as_fraction(value: Fraction | int, what: str) -> Fraction:
    """The exact number, at least 0.

    Raises:
        TypeError: a float, or anything else that is not exactly an integer or a fraction.
        ValueError: it is negative.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise TypeError(f"{what} is an exact fraction, never {type(value).__name__}")
    if value < 0:
        raise ValueError(f"{what} is at least 0")
    return Fraction(value)


def exp_above(x: Fraction) -> Fraction:
    """A fraction not below e^x, x >= 0, and less than one part in a thousand above it for x <= 40.

    For 0 <= y < 2: ln((2+y)/(2-y)) = 2 artanh(y/2) >= y, so e^y <= (2+y)/(2-y). Here y = x/parts.
    """
    shares = 64 * max(1, math.ceil(x))
    y = Fraction(math.ceil(x / shares * 2**40), 2**40)
    return Fraction(math.ceil(((2 + y) / (2 - y)) ** shares * 2**64), 2**64)


def log_below(x: Fraction) -> Fraction:
    """A fraction at most ln(x), x > 0, and within about 1e-30 of it."""
    return _log_bounds(x)[0]


def log_above(x: Fraction) -> Fraction:
    """A fraction at least ln(x), x > 0, and within about 1e-30 of it."""
    return _log_bounds(x)[1]


def _log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """ln x = k ln 2 + ln m with m in (1/2, 4/3], and ln m = 2 artanh((m-1)/(m+1)), an argument in (-1/3, 1/7]."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not above 0")
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k
    if m > Fraction(4, 3):
        k, m = k + 1, m / 2
    low, high = _artanh_bounds((m - 1) / (m + 1))
    two_low, two_high = _LOG_TWO
    return (2 * low + k * (two_low if k >= 0 else two_high), 2 * high + k * (two_high if k >= 0 else two_low))


def _artanh_bounds(y: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of artanh(y) = y + y^3/3 + y^5/5 + ..., |y| <= 1/3.

    For y >= 0 the first terms fall short by at most y^(2n+1)/((2n+1)(1 - y^2)), and artanh grows with y, so y
    is first rounded down for the lower bound and up for the upper one. artanh(-y) = -artanh(y).
    """
    if y < 0:
        low, high = _artanh_bounds(-y)
        return -high, -low
    below, _ = _first_terms(math.floor(y * _FINE), 0)
    up = math.ceil(y * _FINE)
    above, power = _first_terms(up, _FINE - 1)
    last = 2 * _TERMS + 1
    rest = -(-power * _FINE // (last * (_FINE - -(-up * up // _FINE))))
    return Fraction(below, _FINE), Fraction(above + rest, _FINE)


def _first_terms(y: int, up: int) -> tuple[int, int]:
    """y + y^3/3 + ..., ``_TERMS`` of them, and the next power of y, of y in units of 1/_FINE.

    Args:
        up: what is added before each division: 0 to round down, ``_FINE - 1`` to round up.
    """
    square, power, total = (y * y + up) // _FINE, y, 0
    for i in range(_TERMS):
        odd = 2 * i + 1
        total += (power + (odd - 1 if up else 0)) // odd
        power = (power * square + up) // _FINE
    return total, power


_LOG_TWO = tuple(2 * bound for bound in _artanh_bounds(Fraction(1, 3)))


def sqrt_above(x: Fraction) -> Fraction:
    """A fraction at least sqrt(x): with n = ceil(x G^2), ceil(sqrt(n))/G >= sqrt(x)."""
    grid = 10**18
    n = math.ceil(x * grid**2)
    root = math.isqrt(n)
    return Fraction(root if root * root == n else root + 1, grid)


def short_below(value: Fraction, bits: int) -> Fraction:
    """The largest number at most ``value``, > 0, that is a whole number below 2**bits times a power of two."""
    grid = power_grid(value, bits)
    return math.floor(value / grid) * grid


def short_above(value: Fraction, bits: int) -> Fraction:
    """The least such number that is not below ``value``, > 0."""
    grid = power_grid(value, bits)
    return math.ceil(value / grid) * grid


def power_grid(value: Fraction, bits: int) -> Fraction:
    """The power of two of which ``value`` is at least 2**(bits - 1) and less than 2**bits."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** power > value:
        power -= 1
    return Fraction(2) ** (power + 1 - bits)
