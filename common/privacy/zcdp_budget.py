"""A run's budget in rho: zero-concentrated differential privacy, whose whole is worth (epsilon, delta).

A run with a delta spends rho. Rhos of all its releases add up, however the later ones were chosen from the outcomes of
the earlier ones (Bun and Steinke 2016, Lemma 1.7), and all of it costs (epsilon, delta): what a part has cost is
``privity.common.privacy.privacy_filter``'s. Converted release by release, k of them would cost about sqrt(k) times as
much.

Algorithms keep on splitting epsilon: a share of epsilon stands for the same share of the budget's rho.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_DELTA, LARGEST_EPSILON, SMALLEST_EPSILON, Zcdp
from privity.common.privacy.budget_conversion import likely_rho, power_grid, short_below, zcdp_to_approximate
from privity.common.privacy.neighbouring_relation import Relation
from privity.common.privacy.noise_distribution import GAUSSIAN, LEAST_SHARE, NoiseLaw
from privity.common.privacy.privacy_filter import SHARED_SLACK, PrivacyFilter
from privity.common.privacy.sensitivity import CELLS_MOVED

RELATION = Relation.REPLACE_ONE
CELLS = CELLS_MOVED[RELATION]

RHO_BITS = 22
"""Of a rho: it is rounded by less than a part in 2**(RHO_BITS - 1)."""

UNIT_BITS = 17
"""Of sigma squared, as the exact samplers need it short: it is at most a part in 65,536 too large."""

RANGE_BITS = 14
"""Of the epsilon of a selection, for the same reason: it is at most a part in 8192 too small."""

EPSILON_BITS = 21
"""What was converted is rounded up to the shortest decimal within a part in 2**EPSILON_BITS."""


def short_above(value: Fraction, bits: int) -> Fraction:
    """The least such number that is not below ``value``, > 0."""
    grid = power_grid(value, bits)
    return math.ceil(value / grid) * grid


@lru_cache(maxsize=1024)
def converted(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon of a run that has spent ``rho``, at its ``delta``; 0 of none.

    Rounded up: rho to RHO_BITS bits first, so that nothing which adds up to less ever costs more, and what comes out
    to a short decimal, so that a run that spends all of its rho has cost its epsilon and no unreadable part less.
    """
    if not rho:
        return Fraction(0)
    budget = Zcdp(short_above(rho, RHO_BITS), RELATION)
    epsilon = zcdp_to_approximate(budget, delta * (1 - SHARED_SLACK)).epsilon + SHARED_SLACK
    grid = Fraction(10) ** (len(str(math.floor(epsilon))) + 1)
    while math.ceil(epsilon / grid) * grid > epsilon * (1 + Fraction(1, 2**EPSILON_BITS)):
        grid /= 10
    return math.ceil(epsilon / grid) * grid


@lru_cache(maxsize=256)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, of RHO_BITS bits, that costs at most (epsilon, delta) once it is converted.

    Raises:
        PrivityError: bad-option if no run may have such an epsilon or delta.
    """
    if not (SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON and 0 < delta <= LARGEST_DELTA):
        reason = f"a run of {epsilon} and delta {delta} cannot be served: one of them is too small or too large"
        hint = f"With a delta give an epsilon from {SMALLEST_EPSILON} on, and a delta of at most {LARGEST_DELTA}."
        raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)
    guess = likely_rho(epsilon, delta)
    grid = power_grid(guess, RHO_BITS)
    enough = math.floor(guess / grid)
    while converted((enough + 1) * grid, delta) <= epsilon:
        enough += 1
    while converted(enough * grid, delta) > epsilon:
        enough -= 1
    return enough * grid


def tables_rho(unit: Fraction, weights: Sequence[int]) -> Fraction:
    """rho of tables with discrete Gaussian noise of sigma squared unit/w^2: CELLS w^2/(2 unit) each."""
    return CELLS * sum(w * w for w in weights) / (2 * unit)


@dataclass(frozen=True)
class GaussianTerms:
    """What a round of a run with a budget in rho costs, and how wide its noise is.

    Attributes:
        rho: what its tables cost together.
        delta: at which the run's rho is converted.
        unit: sigma squared of the noise on a table of weight 1.
    """

    rho: Fraction
    delta: Fraction
    unit: Fraction

    def content(self) -> dict[str, str]:
        return {"rho": str(self.rho), "delta": str(self.delta), "unit": str(self.unit)}

    def law(self, weight: int) -> NoiseLaw:
        """The noise on a table of this weight."""
        return NoiseLaw(GAUSSIAN, self.unit / weight**2)

    def check(self, weights: Sequence[int]) -> None:
        """Refuse noise that does not give the guarantee it claims: what every party computes for itself.

        Raises:
            PrivityError: step-refused.
        """
        reason = None
        if not 0 < self.delta < 1 or self.unit <= 0 or min(weights, default=0) < 1:
            reason = "delta does not lie between 0 and 1, or a scale or a weight is not positive"
        elif tables_rho(self.unit, weights) > self.rho:
            reason = f"the noise is too small for rho {self.rho}"
        if reason is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


def selection_rho(epsilon: Fraction) -> Fraction:
    """What a selection by the exponential mechanism costs, whose range is bounded by epsilon: epsilon^2/8."""
    return epsilon**2 / 8


def selection_range(rho: Fraction, quota: int) -> Fraction:
    """The largest epsilon, of RANGE_BITS bits, of which ``quota`` selections cost at most ``rho`` together."""
    square = 8 * rho / quota
    grid = power_grid(square, 2 * RANGE_BITS)
    # An even power of two has an exact root.
    if grid.numerator.bit_length() % 2 == 0 or grid.denominator.bit_length() % 2 == 0:
        grid /= 2
    whole = math.isqrt(math.floor(square / grid))
    root = Fraction(math.isqrt(grid.numerator), math.isqrt(grid.denominator))
    return short_below(whole * root, RANGE_BITS)


@dataclass(frozen=True)
class RhoBudget:
    """What a run may spend besides an evaluation.

    Attributes:
        epsilon: of the algorithm.
        delta: above 0.
    """

    epsilon: Fraction
    delta: Fraction

    @cached_property
    def rho(self) -> Fraction:
        """All of it."""
        return rho_within(self.epsilon, self.delta)

    def filter(self, rows: int = 1) -> PrivacyFilter:
        """What the run has cost a person with so many rows, at any time at which it may stop."""
        return _filter(self, rows)

    def rho_of_share(self, share: Fraction) -> Fraction:
        """The rho for which a share of epsilon stands, rounded down."""
        return short_below(self.rho * share / self.epsilon, RHO_BITS)

    def terms(self, share: Fraction, weights: Sequence[int], quota: int) -> GaussianTerms:
        """Those of tables that cost this share, and less only where shares of the noise would be too small.

        Args:
            quota: of how many shares a whole noise consists; shares are never smaller than ``LEAST_SHARE``.
        """
        rho = self.rho_of_share(share)
        unit = short_above(tables_rho(Fraction(1), weights) / rho, UNIT_BITS)
        least = LEAST_SHARE * quota * max(weights) ** 2
        if quota > 1 and unit < least:
            unit = Fraction(least)
            rho = min(rho, short_above(tables_rho(unit, weights), RHO_BITS))
        return GaussianTerms(rho, self.delta, unit)

    def selection_epsilon(self, share: Fraction, quota: int) -> Fraction:
        """The range of each of a party's ``quota`` selections, when the whole series costs it this share."""
        return selection_range(self.rho_of_share(share), quota)


@lru_cache(maxsize=256)
def _filter(rho_budget: RhoBudget, rows: int) -> PrivacyFilter:
    if rows == 1:
        return PrivacyFilter(rho_budget.rho, rho_budget.epsilon, rho_budget.delta)
    cap = Zcdp(rho_budget.rho, RELATION).scaled(rows).rho
    return PrivacyFilter(cap, converted(cap, rho_budget.delta), rho_budget.delta)
