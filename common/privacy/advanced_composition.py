"""Advanced composition of tables under discrete Laplace noise: what they cost, and the least noise for that.

Source: Dwork and Roth 2014, Theorem 3.20; for unequal parts Dwork, Rothblum and Vadhan 2010. The copula paper uses it.
Tables have weights: one of weight w has noise 1/w times as wide. A replaced row moves two cells of each table by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.discrete_laplace import LARGEST_SCALE
from privity.common.privacy.exact_bounds import exp_above, log_above, sqrt_above
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.sensitivity import CELLS_MOVED

PRECISION = 17
"""Bits of a scale that was looked for: it is at most a part in 65,536 above the least one."""

Groups = tuple[tuple[int, int], ...]
"""Weights in ascending order, each with the number of its tables."""


def least_scale(weights: Sequence[int], epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least scale b on tables of weight 1, to a part in 65,536, with which they cost at most (epsilon, delta).

    Raises:
        PrivityError: bad-option if epsilon is too small.
    """
    return _least_scale(_groups(weights), epsilon, delta)


def holds(scale: Fraction, weights: Sequence[int], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether tables of these weights under noise of this scale cost at most (epsilon, delta), 0 < delta < 1."""
    return _holds(scale, _groups(weights), epsilon, delta)


def _groups(weights: Sequence[int]) -> Groups:
    return tuple(sorted(Counter(weights).items()))


@lru_cache(maxsize=16)
def _least_scale(groups: Groups, epsilon: Fraction, delta: Fraction) -> Fraction:
    high = Fraction(1)
    while not _holds(high, groups, epsilon, delta):
        high *= 2
        if high > LARGEST_SCALE:
            reason = f"{epsilon} is too small for noise that can be drawn"
            raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint="Use a larger epsilon.")
    while _holds(high / 2, groups, epsilon, delta):
        high /= 2
    # Multiples of so much keep scales short.
    step = high / 2**PRECISION
    enough, lacking = 2**PRECISION, 2 ** (PRECISION - 1)
    while enough - lacking > 1:
        middle = (enough + lacking) // 2
        if _holds(middle * step, groups, epsilon, delta):
            enough = middle
        else:
            lacking = middle
    return enough * step


def advanced_epsilon(parts: Counter[Fraction], delta: Fraction) -> Fraction:
    """sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) over pure epsilons and how often they come, rounded up.

    With k equal parts it is Theorem 3 of Asghar et al. 2019, as published.
    """
    squares = sum((e * e * count for e, count in parts.items()), Fraction(0))
    rest = sum((e * (exp_above(e) - 1) * count for e, count in parts.items()), Fraction(0))
    return sqrt_above(2 * log_above(1 / delta) * squares) + rest


@lru_cache(maxsize=64)
def _holds(scale: Fraction, groups: Groups, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether tables of these weights cost no more. Kept: each party asks several times for one round."""
    parts = Counter({CELLS_MOVED[RELATION] * w / scale: count for w, count in groups})
    return max(parts) <= 1 and advanced_epsilon(parts, delta) <= epsilon
