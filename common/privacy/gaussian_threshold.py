"""Gaussian noise and a threshold for counts of texts of which nothing is known: how wide, and how high.

Theorem: in each of c columns one count falls by one and another rises by one where a row is replaced. Let S be discrete
Gaussian with variance 2c sigma^2. If sum over k of max(0, P(S = k) - exp(epsilon) P(S = k + 2c)) is at most delta/2,
noise of variance sigma^2 on each count costs (epsilon, delta/2). If the noise reaches the threshold with probability
delta/(2c(1 + exp(epsilon))) at most, hiding what lies below costs delta/2 more.
Proof: the logarithm of the ratio of the laws of 2c noisy counts is (sum of the noise, with signs, + c)/sigma^2, a
function of a sum of 2c variables, which is discrete Gaussian but for a factor that rounds to 1 from LEAST_VARIANCE on
(``GaussianNoise.distance``). A text that only one of the tables has is held by one row of it, and is revealed with
probability P(1 + Z > T) = P(Z >= T); let A be the event that none is, at most one a column. A set of outcomes then has
probability at most exp(epsilon) p + delta/2 + P(not A), p that of the other table without its own such texts, which in
turn is at most its true one + P(not A).
Source: Balle and Wang 2018 (the exact condition for Gaussian noise), Canonne, Kamath and Steinke 2020 (discrete); for
thresholds, a replaced row and in integers ours.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

LEAST_VARIANCE = 16
FAR, BEYOND = 40, 10
"""Standard deviations from 0, and from where a sum begins, beyond which nothing is added up: less than SAFE allows for."""

SAFE = 1 + 1e-9
"""Sums of doubles are taken to be so much larger than they come out."""


@lru_cache(maxsize=256)
def gaussian_threshold(columns: int, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, int]:
    """(sigma squared, threshold) for so many columns: whole numbers, the former within a hundredth of the least."""
    low, high = LEAST_VARIANCE - 1, LEAST_VARIANCE
    while not _hides(columns, high, epsilon, delta):
        low, high = high, 2 * high
    while high - low > 1 + high // 100:
        middle = (low + high) // 2
        low, high = (low, middle) if _hides(columns, middle, epsilon, delta) else (middle, high)
    return Fraction(high), _threshold(columns, high, epsilon, delta)


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
