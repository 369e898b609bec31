"""An exact sampler of discrete Gaussian noise on the integers. No floats anywhere.

*Discrete Gaussian* of parameter s2 = sigma^2, a positive rational: P(z) proportional to exp(-z^2/(2 s2)).
Its variance is at most s2, and equal to it for all practical purposes once s2 >= 1.

Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3.

Limits: with t = floor(sigma) + 1 and s2 = p/r in lowest terms, r t^2 <= 2**52 (so p < 2**52), s2 >= 2**-40.
Within them nothing wraps: a proposal beyond 2**10 t (probability below exp(-1000)) raises OverflowError.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privity.common.privacy.discrete_laplace import bernoulli_exp, bernoulli_exp_product, discrete_laplace, in_blocks
from privity.common.privacy.random_bits import Entropy, IntArray
from privity.common.privacy.tabulated_law import TabulatedLaw, gaussian_ratios, worth_a_table

LARGEST_GRID = 2**52
SMALLEST_SIGMA_SQUARED = Fraction(1, 2**40)
_HIGHEST = 2**10  # a proposal stays below this many t


def discrete_gaussian(sigma_squared: Fraction, size: int, entropy: Entropy) -> IntArray:
    """``size`` independent draws of P(z) proportional to exp(-z^2/(2 sigma_squared)).

    Method (Algorithm 3): propose Y from discrete Laplace of the integer scale t, keep it with probability
    exp(-x), x = (|Y| - s2/t)^2/(2 s2). Proof: exp(-|y|/t) exp(-(|y| - s2/t)^2/(2 s2)) is exp(-y^2/(2 s2))
    times the constant exp(-s2/(2 t^2)). With t = floor(sigma) + 1 about three of four proposals are kept.

    Many draws come from a table of |Z| and a sign each (`tabulated_law`): the law is symmetric.

    x is never formed. Let a = ||Y| r t - p|, an integer. Then x = u w with u = a/(r t^2), w = a/(2 p). With
    their whole and fractional parts u = i + f and w = j + g, x = i j + i g + j f + f g, so that
    Bernoulli(exp(-x)) is i j times exp(-1), i times exp(-g), j times exp(-f) and once exp(-f g), all succeeding.

    Returns:
        int64 array of shape (size,).

    Raises:
        TypeError: sigma_squared is a float.
        ValueError: sigma_squared outside the limits of this module, or a negative size.
    """
    top, bottom, t = _terms(sigma_squared)
    if worth_a_table(size, t):
        law = TabulatedLaw(gaussian_ratios(Fraction(sigma_squared)))
        return in_blocks(size, lambda part: _signed(law.draw(part, entropy), entropy))
    return in_blocks(size, lambda part: _block(top, bottom, t, part, entropy))


def _signed(sizes: IntArray, entropy: Entropy) -> IntArray:
    """Each with a sign of its own."""
    signs = np.unpackbits(np.frombuffer(entropy.take(-(-sizes.size // 8)), dtype=np.uint8), count=sizes.size)
    return np.where(signs, -sizes, sizes)


def check_sigma_squared(sigma_squared: Fraction) -> None:
    """Refuse what `discrete_gaussian` does not serve, before anything is charged.

    Raises:
        TypeError, ValueError: as `discrete_gaussian`.
    """
    _terms(sigma_squared)


def _terms(sigma_squared: Fraction) -> tuple[int, int, int]:
    """p, r and t of a sigma_squared = p/r inside the limits."""
    if isinstance(sigma_squared, bool) or not isinstance(sigma_squared, (int, Fraction)):
        raise TypeError("sigma squared is an exact fraction")
    exact = Fraction(sigma_squared)
    if exact < SMALLEST_SIGMA_SQUARED:
        raise ValueError("sigma squared must be at least 2**-40")
    top, bottom = exact.numerator, exact.denominator
    t = math.isqrt(top // bottom) + 1
    if bottom * t * t > LARGEST_GRID:
        raise ValueError("sigma squared is too large or has too many digits for exact integer noise")
    return top, bottom, t


def _block(top: int, bottom: int, t: int, size: int, entropy: Entropy) -> IntArray:
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        tried = discrete_laplace(Fraction(t), size - filled, entropy)
        if int(np.abs(tried).max()) >= _HIGHEST * t:
            raise OverflowError("a proposal beyond 2**10 scales")
        good = tried[_kept(np.abs(tried) * (bottom * t) - top, top, bottom, t, entropy)]
        drawn[filled : filled + good.size] = good
        filled += good.size
    return drawn


def _kept(distance: IntArray, top: int, bottom: int, t: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Bernoulli(exp(-u w)), u = |distance|/(r t^2), w = |distance|/(2 p)."""
    away = np.abs(distance)
    first, second = bottom * t * t, 2 * top
    i, f = np.divmod(away, first)
    j, g = np.divmod(away, second)
    kept = bernoulli_exp_product([(f, first), (g, second)], entropy)
    for times, numerators, denominator in ((i * j, np.ones_like(away), 1), (i, g, second), (j, f, first)):
        kept &= _all_succeed(np.where(kept, times, 0), numerators, denominator, entropy)
    return kept


def _all_succeed(times: IntArray, numerators: IntArray, denominator: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Whether each of ``times[i]`` trials of Bernoulli(exp(-numerators[i]/denominator)) succeeds."""
    left = times.copy()
    alive = np.flatnonzero(left)
    result = np.ones(times.size, dtype=np.bool_)
    while alive.size:
        success = bernoulli_exp(numerators[alive], denominator, entropy)
        result[alive[~success]] = False
        alive = alive[success]
        left[alive] -= 1
        alive = alive[left[alive] > 0]
    return result
