"""What a round of noisy marginals under Laplace noise costs as (epsilon, delta), and the least noise for it.

Tables have weights: one of weight w has noise 1/w times as wide. A replaced row moves two cells of each table by one.

==============  =================  ========================================================================
composition     law of the noise   theorem
==============  =================  ========================================================================
``pld``         discrete Laplace   the distribution of the privacy loss itself: two values a cell, so binomial
``advanced``    discrete Laplace   advanced composition (Dwork and Roth 2014, Theorem 3.20; for unequal parts
                                   Dwork, Rothblum and Vadhan 2010): what the copula paper uses
==============  =================  ========================================================================

Basic composition, in which pure epsilons add up, needs no delta: it is a round without ``Accounting``. With discrete
Gaussian noise a run has one budget in rho for all of its rounds (``privity.common.privacy.zcdp_budget``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import shorten
from privity.common.privacy.budget import SMALLEST_EPSILON, exp_above
from privity.common.privacy.budget_conversion import log_above, sqrt_above
from privity.common.privacy.discrete_laplace import LARGEST_SCALE
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.zcdp_budget import CELLS

LEAST_DELTA = Fraction(1, 10**30)
"""Of ``pld``, whose binomial tails are floats."""

FLOAT_SLACK = Fraction(1, 1000)
"""Share of delta that ``pld`` leaves unused: far more than tails and logarithms of 10^8 trials err by (1e-8)."""

CALIBRATED_SLACK = 2 * FLOAT_SLACK
"""The same when noise is chosen, so that another machine's floats never refuse what was chosen here."""

WINDOW = 40
"""Standard deviations around the mean beyond which a binomial law counts as if it cost everything."""

LARGEST_WEIGHT = 1024
MOST_WEIGHTS = 8
"""Different weights in a round; ``pld`` serves two."""

PRECISION = 17
"""Bits of a calibrated scale: it is at most a part in 65,536 above the least one."""

Weights = Sequence[int]
Groups = tuple[tuple[int, int], ...]
"""Weights in ascending order, each with the number of its tables."""


@dataclass(frozen=True)
class Accounting:
    """How a round's tables come to cost (epsilon, delta).

    Attributes:
        composition: a name in ``COMPOSITIONS``.
        delta: above 0, below 1.
        unit: exact; scale b of the discrete Laplace noise on a table of weight 1.
    """

    composition: str
    delta: Fraction
    unit: Fraction

    def content(self) -> dict[str, str]:
        return {"composition": self.composition, "delta": str(self.delta), "unit": str(self.unit)}

    @property
    def words(self) -> str:
        """For a statement: by which theorem."""
        return COMPOSITIONS[self.composition].words

    def law(self, weight: int) -> NoiseLaw:
        """The noise on a table of this weight."""
        return NoiseLaw(LAPLACE, self.unit / weight)

    def check(self, weights: Weights, epsilon: Fraction) -> None:
        """Refuse noise that does not give the guarantee it claims: what every party computes for itself.

        Raises:
            PrivityError: step-refused.
        """
        reason = None
        if self.composition not in COMPOSITIONS:
            reason = f"there is no composition of the name {shorten(self.composition)}"
        elif not 0 < self.delta < 1 or self.unit <= 0 or min(weights, default=0) < 1:
            reason = "delta does not lie between 0 and 1, or a scale or a weight is not positive"
        elif epsilon < SMALLEST_EPSILON:
            reason = f"an epsilon below {float(SMALLEST_EPSILON):g} is none that can be served"
        else:
            for weight in set(weights):
                self.law(weight).check(1)
            if not _holds(self.composition, self.unit, _groups(weights), epsilon, self.delta):
                reason = f"the noise is too small for epsilon {epsilon} and delta {self.delta}"
        if reason is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


@dataclass(frozen=True)
class Composition:
    """One way to add up: its words in a statement, and whether it certifies a guarantee.

    Attributes:
        holds: (unit, groups, epsilon, delta) -> whether tables of these weights cost no more.
    """

    words: str
    holds: Callable[[Fraction, Groups, Fraction, Fraction], bool]


def calibrate(composition: str, weights: Weights, epsilon: Fraction, delta: Fraction) -> Accounting:
    """The least noise, to a part in 65,536, with which tables of these weights cost at most (epsilon, delta).

    Raises:
        PrivityError: bad-option if delta is out of the composition's range, or epsilon too small.
    """
    return _calibrated(composition, _groups(weights), epsilon, delta)


def _groups(weights: Weights) -> Groups:
    return tuple(sorted(Counter(weights).items()))


@lru_cache(maxsize=64)
def _holds(composition: str, unit: Fraction, groups: Groups, epsilon: Fraction, delta: Fraction) -> bool:
    """Kept: each party asks several times for one round."""
    return COMPOSITIONS[composition].holds(unit, groups, epsilon, delta)


@lru_cache(maxsize=16)
def _calibrated(composition: str, groups: Groups, epsilon: Fraction, delta: Fraction) -> Accounting:
    holds = COMPOSITIONS[composition].holds
    if composition == "pld":
        delta, asked = delta * (1 - CALIBRATED_SLACK) / (1 - FLOAT_SLACK), delta
    else:
        asked = delta
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
    return Accounting(composition, asked, enough * step)


def advanced_epsilon(parts: Counter[Fraction], delta: Fraction) -> Fraction:
    """sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) over pure epsilons and how often they come, rounded up.

    With k equal parts it is Theorem 3 of Asghar et al. 2019, as published.
    """
    squares = sum((e * e * count for e, count in parts.items()), Fraction(0))
    rest = sum((e * (exp_above(e) - 1) * count for e, count in parts.items()), Fraction(0))
    return sqrt_above(2 * log_above(1 / delta) * squares) + rest


def _advanced_holds(unit: Fraction, groups: Groups, epsilon: Fraction, delta: Fraction) -> bool:
    parts = Counter({CELLS * w / unit: count for w, count in groups})
    return max(parts) <= 1 and advanced_epsilon(parts, delta) <= epsilon


def _pld_holds(unit: Fraction, groups: Groups, epsilon: Fraction, delta: Fraction) -> bool:
    if delta < LEAST_DELTA:
        hint = "Use a larger delta, or the composition zcdp, which serves any."
        reason = f"the composition pld needs at least {float(LEAST_DELTA):g}"
        raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint=hint)
    if len(groups) > 2:
        reason = "the composition pld serves tables of at most two weights"
        raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)
    by_count = sorted((count, weight) for weight, count in groups)
    return laplace_delta(unit, by_count, float(epsilon)) <= float(delta * (1 - FLOAT_SLACK))


def laplace_delta(unit: Fraction, groups: Sequence[tuple[int, int]], epsilon: float) -> float:
    """Delta of tables with discrete Laplace noise of scale unit/weight, at this epsilon.

    A cell that moves by one loses w/unit or -w/unit: P(z)/P(z-1) takes no other value. It gains w/unit with
    probability p = 1/(1 + exp(-w/unit)), so n cells lose (w/unit)(2B - n) with B binomial of n and p, and under the
    other world B is binomial of n and 1 - p. The tables' losses add up; delta = E max(0, 1 - exp(epsilon - loss)) is
    P(loss > epsilon) - exp(epsilon) P'(loss > epsilon). It is the optimal composition of Kairouz, Oh, Viswanath (2015).

    Args:
        groups: one or two of (tables, weight).
    """
    step = float(1 / unit)
    (tables, weight), *others = groups[::-1]
    cells, gain = CELLS * tables, weight * step
    likely = 1 / (1 + math.exp(-gain))
    if not others:
        return _beyond(cells, gain, likely, np.array([epsilon]))[0]
    ((few, other_weight),) = others
    trials, other_gain = CELLS * few, other_weight * step
    chance = 1 / (1 + math.exp(-other_gain))
    middle, reach = trials * chance, WINDOW * math.sqrt(trials * chance * (1 - chance)) + WINDOW
    b = np.arange(max(0, math.floor(middle - reach)), min(trials, math.ceil(middle + reach)) + 1)
    from scipy.stats import binom  # half a second to load, for this composition alone

    outside = binom.cdf(b[0] - 1, trials, chance) + binom.sf(b[-1], trials, chance)
    left = np.asarray(epsilon - other_gain * (2 * b - trials), dtype=np.float64)
    return float((binom.pmf(b, trials, chance) * _beyond(cells, gain, likely, left)).sum() + outside)


def _beyond(cells: int, gain: float, likely: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """E max(0, 1 - exp(epsilon - loss)) of cells that each lose ``gain`` or its opposite, at each epsilon."""
    # The least number of gains whose loss is above epsilon; one less, where rounding leaves a doubt, adds nothing.
    least = np.clip(np.floor((epsilon / gain + cells) / 2), -1, cells)
    from scipy.stats import binom  # half a second to load, for this composition alone

    here, there = binom.sf(least, cells, likely), binom.sf(least, cells, 1 - likely)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(there > 0, np.maximum(0.0, here - np.exp(epsilon) * there), here)


COMPOSITIONS: dict[str, Composition] = {
    "pld": Composition("the distribution of the privacy loss (tight composition)", _pld_holds),
    "advanced": Composition("advanced composition", _advanced_holds),
}
"""Every composition of a round of its own that spends delta, by name."""
