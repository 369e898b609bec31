"""Exact samplers of integer noise: geometric, Polya, shares of discrete Laplace. No floats anywhere.

Throughout, a scale is a positive rational ``b`` in units of one count, and ``a = exp(-1/b)``.

* *Discrete Laplace* of scale b: P(z) = (1-a)/(1+a) * a^|z|. Added to an integer statistic of L1
  sensitivity D it is (D/b)-differentially private.
* *Polya*(1/q) = NB(1/q): generating function ((1-a)/(1-a z))^(1/q). The sum of q of them is geometric.
* A *share* with quota q is the difference of two independent Polya(1/q) variables, so any q shares sum
  to exactly one discrete Laplace variable.

Sources: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithms 1
and 2; Shepp and Lloyd, "Ordered cycle lengths in a random permutation" (1966); Goryczka and Xiong (2017)
for the division of discrete Laplace noise into Polya shares.

Limits: numerator and denominator of a scale at most 2**62, the scale itself at most 2**52. Within them
nothing wraps: a sample beyond int64 (probability below exp(-1000)) raises OverflowError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privity.common.privacy.random_bits import LARGEST_BOUND, Entropy, IntArray, uniform_below
from privity.common.privacy.tabulated_law import TabulatedLaw, polya_ratios, worth_a_table

LARGEST_TERM = LARGEST_BOUND
"""Largest numerator and denominator of a scale."""

LARGEST_SCALE = 2**52
"""Largest scale."""

_VECTOR_TERM = 2**52  # up to this numerator, U + t*V stays inside int64 while V <= _VECTOR_HIGH
_VECTOR_HIGH = 2**10
_BLOCK = 1 << 16  # draws worked on together: small enough to stay in the processor's cache

_Sampler = Callable[[int], IntArray]


def bernoulli_exp(numerators: IntArray, denominator: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Independent exact Bernoulli(exp(-x_i)) for rational x_i = numerators[i]/denominator in [0, 1].

    Canonne, Kamath and Steinke (2020), Algorithm 1: count k = 1, 2, ... while Bernoulli(x/k) succeeds.
    The first failure is at k with probability x^(k-1)/(k-1)! - x^k/k!; over odd k this sums to exp(-x).
    Bernoulli(x/k) is drawn as Bernoulli(1/k) and Bernoulli(x), so that no product can overflow.

    Args:
        numerators: int64, shape (size,), each 0 .. denominator.
        denominator: 1 .. 2**62.

    Returns:
        bool array of shape (size,).

    Raises:
        ValueError: an x outside [0, 1], or a denominator outside the limits.
    """
    return bernoulli_exp_product([(numerators, denominator)], entropy)


def bernoulli_exp_product(factors: Sequence[tuple[IntArray, int]], entropy: Entropy) -> NDArray[np.bool_]:
    """Independent exact Bernoulli(exp(-x_i)), x_i the product of rationals in [0, 1], one from each factor.

    As `bernoulli_exp`; Bernoulli(x) is drawn as one Bernoulli for each factor, and no product is formed.

    Args:
        factors: at least one pair of numerators and their denominator, as in `bernoulli_exp`.

    Returns:
        bool array of shape (size,).

    Raises:
        ValueError: a factor outside [0, 1], or a denominator outside the limits.
    """
    for numerators, denominator in factors:
        if not 1 <= denominator <= LARGEST_TERM:
            raise ValueError("the denominator must lie in 1 .. 2**62")
        if numerators.size and (int(numerators.min()) < 0 or int(numerators.max()) > denominator):
            raise ValueError("each numerator must lie in 0 .. denominator")
    size = factors[0][0].size
    result = np.zeros(size, dtype=np.bool_)
    alive = np.arange(size)
    k = 1
    while alive.size:
        goes_on = uniform_below(k, entropy, alive.size) == 0
        for numerators, denominator in factors:
            tried = np.flatnonzero(goes_on)
            goes_on[tried] = uniform_below(denominator, entropy, tried.size) < numerators[alive[tried]]
        if k % 2:
            result[alive[~goes_on]] = True
        alive = alive[goes_on]
        k += 1
    return result


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """``size`` independent draws of P(g) = (1-a) a^g, g = 0, 1, ..., a = exp(-1/scale).

    Canonne, Kamath and Steinke (2020), Algorithm 2, inner part. With scale = t/s: U uniform on 0 .. t-1,
    kept with probability exp(-U/t), has P(U) proportional to exp(-U/t); V with P(V >= v) = exp(-v) is the
    number of successes of Bernoulli(exp(-1)). Then X = U + t V has P(X >= x) = exp(-x/t), and floor(X/s)
    has P(. >= g) = exp(-g s/t).

    Returns:
        int64 array of shape (size,).

    Raises:
        ValueError: a scale outside the limits of this module, or a negative size.
    """
    top, bottom = _terms(scale)
    return in_blocks(size, lambda part: _geometric_block(top, bottom, part, entropy))


def polya(quota: int, scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """``size`` independent draws of Polya(1/quota) = NB(1/quota) with ratio a = exp(-1/scale).

    Method: draw G geometric, take the cycle lengths of a uniform random permutation of G elements (the
    cycle of one element is uniform on 1 .. rest, and what is left is again a uniform permutation), keep
    each cycle with probability 1/quota, and return the kept total.

    Theorem: the kept total is NB(1/quota) exactly. Proof. A permutation of g elements with c_j cycles of
    length j has probability 1/g!, and g!/prod(j^c_j c_j!) permutations share these counts, so

        P(G = g, counts c) = (1-a) a^g / prod_j (j^c_j c_j!)
                           = prod_j exp(-a^j/j) (a^j/j)^c_j / c_j!,

    using g = sum_j j c_j and 1-a = exp(-sum_j a^j/j). Hence the counts are independent Poisson(a^j/j)
    (Shepp and Lloyd 1966). Keeping each cycle with probability 1/q thins them to Poisson(a^j/(q j)), and
    the kept total sum_j j C_j has the generating function

        exp(sum_j a^j (z^j - 1)/(q j)) = ((1-a)/(1-a z))^(1/q).

    Returns:
        int64 array of shape (size,).

    Raises:
        ValueError: quota outside 1 .. 2**62, a scale outside the limits, or a negative size.
    """
    top, bottom = _terms(scale)
    _check_quota(quota)
    return in_blocks(size, lambda part: _polya_block(quota, top, bottom, part, entropy))


def noise_share(scale: Fraction, quota: int, size: int, entropy: Entropy) -> IntArray:
    """``size`` independent shares: any ``quota`` of them sum to exactly discrete Laplace of ``scale``.

    With K parties of which t may pool what they know, quota = K - t: the shares of the K - t others
    still hold one full noise, independent of what the t know. The sum of all K has r = K/(K-t) times
    the variance of one. Many shares come from a table of the same law (`tabulated_law`).

    Returns:
        int64 array of shape (size,).

    Raises:
        ValueError: as `polya`.
    """
    top, bottom = _terms(scale)
    _check_quota(quota)
    if worth_a_table(size, scale):
        law = TabulatedLaw(polya_ratios(quota, scale))
        return in_blocks(size, lambda part: law.draw(part, entropy) - law.draw(part, entropy))

    def block(part: int) -> IntArray:
        gain = _polya_block(quota, top, bottom, part, entropy)
        return gain - _polya_block(quota, top, bottom, part, entropy)

    return in_blocks(size, block)


def discrete_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """``size`` independent draws of discrete Laplace noise: the difference of two geometric draws."""
    return noise_share(scale, 1, size, entropy)


def share_variance(scale: Fraction, quota: int) -> float:
    """Variance of one share, in squared counts: 2a/(1-a)^2/quota. For reports, never for sampling."""
    _terms(scale)
    _check_quota(quota)
    rate = float(1 / scale)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2 / quota


def _terms(scale: Fraction) -> tuple[int, int]:
    """Numerator and denominator of a scale inside the limits."""
    exact = Fraction(scale)
    if exact <= 0 or exact > LARGEST_SCALE:
        raise ValueError("the scale of noise must lie in (0, 2**52]")
    if exact.numerator > LARGEST_TERM or exact.denominator > LARGEST_TERM:
        raise ValueError(
            "numerator and denominator of a noise scale must be at most 2**62; "
            "use budgets, weights and parts with fewer digits"
        )
    return exact.numerator, exact.denominator


def _check_quota(quota: int) -> None:
    if not 1 <= quota <= LARGEST_BOUND:
        raise ValueError("the quota (how many shares make one full noise) must be at least 1")


def in_blocks(size: int, sampler: _Sampler) -> IntArray:
    """``size`` samples, made in blocks that stay in the processor's cache."""
    if size < 0:
        raise ValueError("the number of samples must be at least 0")
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        part = min(_BLOCK, size - start)
        result[start : start + part] = sampler(part)
    return result


def _geometric_block(top: int, bottom: int, size: int, entropy: Entropy) -> IntArray:
    low = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        tried = uniform_below(top, entropy, size - filled)
        good = tried[bernoulli_exp(tried, top, entropy)]
        low[filled : filled + good.size] = good
        filled += good.size

    high = np.zeros(size, dtype=np.int64)
    alive = np.arange(size)
    while alive.size:
        alive = alive[bernoulli_exp(np.ones(alive.size, dtype=np.int64), 1, entropy)]
        high[alive] += 1

    if top <= _VECTOR_TERM and (size == 0 or int(high.max()) <= _VECTOR_HIGH):
        return (low + top * high) // bottom
    exact = [(int(u) + top * int(v)) // bottom for u, v in zip(low, high, strict=True)]
    return np.array(exact, dtype=np.int64)  # raises OverflowError rather than wrap


def _polya_block(quota: int, top: int, bottom: int, size: int, entropy: Entropy) -> IntArray:
    whole = _geometric_block(top, bottom, size, entropy)
    if quota == 1:
        return whole
    kept = np.zeros(size, dtype=np.int64)
    alive = np.flatnonzero(whole)
    rest = whole[alive]
    while alive.size:
        cycle = uniform_below(rest, entropy) + 1
        keep = uniform_below(quota, entropy, alive.size) == 0
        kept[alive] += cycle * keep
        rest = rest - cycle
        more = rest > 0
        alive, rest = alive[more], rest[more]
    return kept
