"""Confidence intervals of noisy counts, from the exact law of their noise.

The noise on a cell is the sum of K shares, of which any K - t make one variable of the law: for discrete Laplace noise
the difference of two negative binomial variables of K/(K-t) successes. The sum over several cells has as many times
more. Nothing here looks at counts: an interval is public before a table is revealed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw

LEVEL = Fraction(19, 20)
"""Of the intervals that are published."""

TAIL = 40
"""Scales beyond which the law of one Laplace variable has less than 1e-17 of its mass."""

DEVIATIONS = 12
"""Standard deviations beyond which the sum of many has less than that."""

NEARLY_NORMAL = 0.1
"""Excess kurtosis up to which a law is taken for a normal one with a correction."""

WIDE = Fraction(1000)
"""Scale of a law whose steps do not matter."""

LARGEST_LATTICE = 1 << 22
"""Points of a lattice on which a law is computed."""


@lru_cache(maxsize=4096)
def half_width(law: NoiseLaw, variables: Fraction, cells: int = 1, level: Fraction = LEVEL) -> int:
    """The least h for which the noise of the sum of so many cells lies within -h and h with probability ``level``.

    So a count of x is within x - h and x + h at that level. As the noise is whole, the probability is ``level`` or a
    little more; much more where the scale is less than about 5.

    Args:
        law: of one variable.
        variables: that the noise on one cell amounts to, K/(K-t); ``Session.noise_variables``.
        cells: whose noises are added, each independent of the others.

    Raises:
        ValueError: not a level between 0 and 1, or fewer variables than 1.
    """
    if not 0 < level < 1 or variables * cells < 1:
        raise ValueError("a level is between 0 and 1, and noise is one variable at least")
    width_of = _gaussian if law.name == GAUSSIAN else _laplace
    return width_of(law.scale, float(variables * cells), float(level))


@lru_cache(maxsize=4096)
def deviations(excess: float, level: Fraction = LEVEL) -> float:
    """Standard deviations within which noise lies with probability ``level``, by its excess kurtosis.

    Of a sum of Laplace variables of this kurtosis: 3 is that of one, 0 that of a normal law.
    """
    from scipy.special import ndtri

    normal = float(ndtri((1 + float(level)) / 2))
    if excess < NEARLY_NORMAL:
        # The first term of the Cornish-Fisher expansion.
        return normal + max(excess, 0.0) * (normal**3 - 3 * normal) / 24
    variables = round(3 / min(excess, 3.0), 2)
    return _laplace(WIDE, variables, float(level)) / (float(WIDE) * math.sqrt(2 * variables))


def _laplace(scale: Fraction, variables: float, level: float) -> int:
    b = float(scale)
    widest = (LARGEST_LATTICE / 2 - 16) / _reach(variables)
    if b > widest:
        # So wide, the law is that of a narrower one, stretched: to the fifth digit at least.
        narrower = Fraction(math.floor(widest * 1000), 1000)
        return math.ceil(_laplace(narrower, variables, level) * (b / float(narrower)))
    return int(np.searchsorted(_laplace_inside(b, variables), level))


def _reach(variables: float) -> float:
    """Scales beyond which the sum of so many Laplace variables has no mass to speak of."""
    return TAIL + DEVIATIONS * math.sqrt(2 * variables)


@lru_cache(maxsize=2)  # tens of megabytes each; a table of many pairs asks for many levels of one law
def _laplace_inside(b: float, variables: float) -> np.ndarray:
    points = 1 << math.ceil(math.log2(2 * (b * _reach(variables) + 16)))
    # Its characteristic function is real; the values are whole, so that its Fourier transform is their law.
    angles = np.arange(points // 2 + 1) * (2 * math.pi / points)
    rest = -math.expm1(-1 / b)
    function = (1 + (4 * math.exp(-1 / b) / rest**2) * np.sin(angles / 2) ** 2) ** -variables
    return _inside(np.fft.irfft(function, points)[: points // 2])


def _gaussian(scale: Fraction, variables: float, level: float) -> int:
    """Shares of Gaussian noise add up to a discrete Gaussian variable (``noise_law.LEAST_SHARE``)."""
    from scipy.special import ndtri

    variance = float(scale) * variables
    sigma = math.sqrt(variance)
    if sigma > LARGEST_LATTICE / TAIL:
        return math.ceil(float(ndtri((1 + level) / 2)) * sigma - 0.5)
    weights = np.exp(-(np.arange(math.ceil(sigma * 10) + 16) ** 2) / (2 * variance))
    return int(np.searchsorted(_inside(weights / (2 * weights.sum() - weights[0])), level))


def _inside(chances: np.ndarray) -> np.ndarray:
    """The chance of -h to h for each h; ``chances`` are those of 0, 1, 2, ..., of a law that is symmetric."""
    return 2 * np.cumsum(chances) - chances[0]
