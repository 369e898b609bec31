"""Advanced composition of marginals under discrete Laplace noise: what a round costs, and the least noise for that.

Source: Dwork and Roth 2014, Theorem 3.20; for unequal parts Dwork, Rothblum and Vadhan 2010. The copula paper uses it.
Tables have weights: one of weight w has noise 1/w times as wide. A replaced row moves two cells of each table by one.

Basic composition, in which pure epsilons add up, needs no delta: it is a round without ``Accounting``. With discrete
Gaussian noise a run has one budget in rho for all of its rounds (``privity.common.privacy.zcdp_budget``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import SMALLEST_EPSILON, exp_above
from privity.common.privacy.budget_conversion import log_above, sqrt_above
from privity.common.privacy.discrete_laplace import LARGEST_SCALE
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.zcdp_budget import CELLS

ADVANCED = "advanced"
"""The name of the composition, in settings and on the wire."""

LARGEST_WEIGHT = 1024
MOST_WEIGHTS = 8
"""Different weights in a round."""

PRECISION = 17
"""Bits of a calibrated scale: it is at most a part in 65,536 above the least one."""

Weights = Sequence[int]
Groups = tuple[tuple[int, int], ...]
"""Weights in ascending order, each with the number of its tables."""


@dataclass(frozen=True)
class Accounting:
    """How a round's tables come to cost (epsilon, delta).

    Attributes:
        delta: above 0, below 1.
        unit: exact; scale b of the discrete Laplace noise on a table of weight 1.
    """

    delta: Fraction
    unit: Fraction

    def content(self) -> dict[str, str]:
        return {"composition": ADVANCED, "delta": str(self.delta), "unit": str(self.unit)}

    def law(self, weight: int) -> NoiseLaw:
        """The noise on a table of this weight."""
        return NoiseLaw(LAPLACE, self.unit / weight)

    def check(self, weights: Weights, epsilon: Fraction) -> None:
        """Refuse noise that does not give the guarantee it claims: what every party computes for itself.

        Raises:
            PrivityError: step-refused.
        """
        reason = None
        if not 0 < self.delta < 1 or self.unit <= 0 or min(weights, default=0) < 1:
            reason = "delta does not lie between 0 and 1, or a scale or a weight is not positive"
        elif epsilon < SMALLEST_EPSILON:
            reason = f"an epsilon below {float(SMALLEST_EPSILON):g} is none that can be served"
        else:
            for weight in set(weights):
                self.law(weight).check(1)
            if not holds(self.unit, _groups(weights), epsilon, self.delta):
                reason = f"the noise is too small for epsilon {epsilon} and delta {self.delta}"
        if reason is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


def calibrate(weights: Weights, epsilon: Fraction, delta: Fraction) -> Accounting:
    """The least noise, to a part in 65,536, with which tables of these weights cost at most (epsilon, delta).

    Raises:
        PrivityError: bad-option if epsilon is too small.
    """
    return _calibrated(_groups(weights), epsilon, delta)


def _groups(weights: Weights) -> Groups:
    return tuple(sorted(Counter(weights).items()))


@lru_cache(maxsize=16)
def _calibrated(groups: Groups, epsilon: Fraction, delta: Fraction) -> Accounting:
    high = Fraction(1)
    while not holds(high, groups, epsilon, delta):
        high *= 2
        if high > LARGEST_SCALE:
            reason = f"{epsilon} is too small for noise that can be drawn"
            raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint="Use a larger epsilon.")
    while holds(high / 2, groups, epsilon, delta):
        high /= 2
    # Multiples of so much keep scales short.
    step = high / 2**PRECISION
    enough, lacking = 2**PRECISION, 2 ** (PRECISION - 1)
    while enough - lacking > 1:
        middle = (enough + lacking) // 2
        if holds(middle * step, groups, epsilon, delta):
            enough = middle
        else:
            lacking = middle
    return Accounting(delta, enough * step)


def advanced_epsilon(parts: Counter[Fraction], delta: Fraction) -> Fraction:
    """sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) over pure epsilons and how often they come, rounded up.

    With k equal parts it is Theorem 3 of Asghar et al. 2019, as published.
    """
    squares = sum((e * e * count for e, count in parts.items()), Fraction(0))
    rest = sum((e * (exp_above(e) - 1) * count for e, count in parts.items()), Fraction(0))
    return sqrt_above(2 * log_above(1 / delta) * squares) + rest


@lru_cache(maxsize=64)
def holds(unit: Fraction, groups: Groups, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether tables of these weights cost no more. Kept: each party asks several times for one round."""
    parts = Counter({CELLS * w / unit: count for w, count in groups})
    return max(parts) <= 1 and advanced_epsilon(parts, delta) <= epsilon
