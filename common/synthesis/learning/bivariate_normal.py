"""The bivariate normal law: its orthant probability, and the correlation that gives a wanted one.

Source: Owen, "Tables for Computing Bivariate Normal Probabilities" (Annals of Mathematical Statistics 27, 1956), whose
T function scipy computes. The copula paper (Asghar et al., 2019, section 3.3.1) sums a grid in its place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

STRONGEST = 1 - 1e-6
"""Largest correlation in size that ``correlation_for`` gives: beyond, an orthant's probability hardly changes."""

HALVINGS = 32
TINY = 1e-150


def orthant(first: Numbers, second: Numbers, correlation: Numbers) -> Numbers:
    """Pr[X <= first, Y <= second] of standard normal X and Y, element by element.

    Args:
        first, second: finite.
        correlation: between -1 and 1, neither of them included.
    """
    from scipy.special import ndtr, owens_t

    # Owen's formula is for numbers that are not 0; one as small as this stands for 0 with an error of its size, and
    # its products with correlations keep their digits.
    h, k = (np.where(np.abs(x) < TINY, np.where(x < 0, -TINY, TINY), x) for x in (first, second))
    root = np.sqrt((1 - correlation) * (1 + correlation))
    # Where the slope is too large for a double, T takes infinity as well.
    with np.errstate(over="ignore", divide="ignore"):
        parts = owens_t(h, (k - correlation * h) / (h * root)) + owens_t(k, (h - correlation * k) / (k * root))
    apart = np.where((h < 0) != (k < 0), 0.5, 0.0)
    return np.clip((ndtr(h) + ndtr(k)) / 2 - parts - apart, 0.0, 1.0)


def correlation_for(first: Numbers, second: Numbers, probability: Numbers) -> Numbers:
    """The correlation at which ``orthant`` is ``probability``, by halving; at most ``STRONGEST`` in size.

    A probability that no correlation gives leads to the strongest one on its side.
    """
    low, high = np.full(first.shape, -STRONGEST), np.full(first.shape, STRONGEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = orthant(first, second, middle) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
