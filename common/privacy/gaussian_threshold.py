"""Gaussian noise and a threshold for counts of texts of which nothing is known: their variance and its height.

Theorem: in each of c columns one count falls by one and another rises by one where a row is replaced. Let S be discrete
Gaussian with variance 2c sigma^2. If sum over k of max(0, P(S = k) - exp(epsilon) P(S = k + 2c)) is at most delta/2,
noise of variance sigma^2 on each count costs (epsilon, delta/2). If the noise reaches the threshold with probability
delta/(2c(1 + exp(epsilon))) at most, hiding what lies below costs delta/2 more.
Proof: the logarithm of the ratio of the laws of 2c noisy counts is (sum of the noise, with signs, + c)/sigma^2, a
function of a sum of 2c variables, which is discrete Gaussian but for a factor that rounds to 1 from LEAST_VARIANCE on
(``GaussianNoise.distance``). Where fewer counts change, the others are post-processing of noise alone. A text that only
one of the tables has is held by one row of it, and is revealed with probability P(1 + Z > T) = P(Z >= T); let A be the
event that none is, at most one a column. A set of outcomes then has probability at most exp(epsilon) p + delta/2 +
P(not A), p that of the other table without its own such texts, which in turn is at most its true one + P(not A).
Source: Balle and Wang 2018 (the exact condition for Gaussian noise), Canonne, Kamath and Steinke 2020 (discrete); for
thresholds, a replaced row and in integers ours.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw

LEAST_VARIANCE = 16
LARGEST_VARIANCE = 10**11
"""Of the sum of 2c counts: its standard deviation is 300,000 rows."""

FAR, BEYOND = 40, 10
"""Standard deviations from 0, and from where a sum begins, after which what is left is less than SAFE allows for."""

SAFE = 1 + 1e-9
"""Sums of doubles are taken to be so much larger than they come out."""


@lru_cache(maxsize=256)
def gaussian_threshold(columns: int, epsilon: Fraction, delta: Fraction) -> tuple[NoiseLaw, int] | None:
    """(noise, threshold) for so many columns: whole numbers, the variance within a hundredth of the least.

    None where the noise would be wider than any table bears.
    """
    low, high = LEAST_VARIANCE - 1, LEAST_VARIANCE
    while not _hides(columns, high, epsilon, delta):
        low, high = high, 2 * high
        if 2 * columns * high > LARGEST_VARIANCE:
            return None
    while high - low > 1 + high // 100:
        middle = (low + high) // 2
        low, high = (low, middle) if _hides(columns, middle, epsilon, delta) else (middle, high)
    return NoiseLaw(GAUSSIAN, Fraction(high)), _threshold(columns, high, epsilon, delta)


def _hides(columns: int, variance: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether noise of this variance costs (epsilon, delta/2)."""
    move, of_sum = 2 * columns, 2 * columns * variance
    first = math.floor(float(epsilon) * variance - columns) - 1
    k = np.arange(first, first + BEYOND * (math.isqrt(of_sum) + 1), dtype=np.float64)
    here = np.exp(-(k**2) / (2 * of_sum))
    there = np.exp(float(epsilon) - (k + move) ** 2 / (2 * of_sum))
    return float(np.maximum(here - there, 0.0).sum()) * SAFE <= float(delta) / 2 * math.sqrt(2 * math.pi * of_sum)


def _threshold(columns: int, variance: int, epsilon: Fraction, delta: Fraction) -> int:
    """The least number that the noise reaches so rarely."""
    k = np.arange(FAR * (math.isqrt(variance) + 1), dtype=np.float64)
    beyond = np.cumsum(np.exp(-(k**2) / (2 * variance))[::-1])[::-1] * SAFE
    rare = float(delta) / (2 * columns * (1 + math.exp(epsilon))) * math.sqrt(2 * math.pi * variance)
    return int(np.flatnonzero(beyond <= rare)[0])
