"""From rho to epsilon and delta, and back: by a named theorem, rounded up.

Results that are no fractions (logarithms, roots) are bounded from above by fractions; no float decides
anything but where to look for the best order alpha, and any alpha gives a valid bound.

Sources: Bun and Steinke, "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds"
(2016); Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_DELTA, LARGEST_EPSILON, SMALLEST_EPSILON
from privity.common.privacy.exact_bounds import (
    as_fraction,
    log_above,
    log_below,
    power_grid,
    short_above,
    short_below,
    sqrt_above,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, check_loss

ZCDP_TO_APPROXIMATE_SIMPLE = "Bun and Steinke 2016, Proposition 1.3"
ZCDP_TO_APPROXIMATE = "Canonne, Kamath and Steinke 2020, Proposition 12"

_GRID = 10**12  # an epsilon that was computed is a multiple of 1/_GRID
RHO_BITS = 22
"""Of a rho: it is rounded by less than a part in 2**(RHO_BITS - 1)."""

EPSILON_BITS = 21
"""What was converted is rounded up to the shortest decimal within a part in 2**EPSILON_BITS."""

SHARED_SLACK = Fraction(1, 10**40)
"""Of epsilon and of delta in proportion, once for a run: more than what shares of Gaussian noise miss by, added up over
all cells of all its tables (``privity.common.privacy.mechanisms.GaussianNoise``: below 1e-66 a cell)."""

_ORDER_BITS = 20  # of alpha - 1: the bound at such an order is within a part in 2**38 of the best


def zcdp_to_approximate_simple(loss: ZCDP, delta: Fraction) -> ApproxDP:
    """rho-zCDP implies (rho + 2 sqrt(rho ln(1/delta)), delta). Theorem: `ZCDP_TO_APPROXIMATE_SIMPLE`.

    Rounded up: ln(1/delta) is bounded from above, the root of the product is rounded up, and so is the sum.

    Raises:
        ValueError: delta outside (0, 1).
    """
    check_loss(loss, ZCDP, loss.relation)
    delta = _proper(delta)
    root = sqrt_above(loss.rho * log_above(1 / delta))
    return ApproxDP(_grid_above(loss.rho + 2 * root), delta, loss.relation)


def zcdp_to_approximate(loss: ZCDP, delta: Fraction) -> ApproxDP:
    """The tighter bound of what rho costs at delta.

    For every alpha > 1, rho-zCDP implies (epsilon, delta) with

        epsilon = alpha rho + (ln(1/delta) + (alpha-1) ln(1 - 1/alpha) - ln(alpha))/(alpha - 1).

    Theorem: `ZCDP_TO_APPROXIMATE`, of Renyi divergence alpha*rho at the order alpha, evaluated upwards at
    ``best_order``. Never above the simple bound. An epsilon below 0 is 0.

    Raises:
        ValueError: delta outside (0, 1).
    """
    simple = zcdp_to_approximate_simple(loss, delta)
    rho, delta = loss.rho, simple.delta
    if not Fraction(1, 10**30) < rho < 10**9:
        return simple
    alpha = best_order(rho, delta)
    epsilon = max(Fraction(0), alpha * rho + conversion_constant(alpha, delta))
    return replace(simple, epsilon=min(simple.epsilon, _grid_above(epsilon)))


@lru_cache(maxsize=4096)
def conversion_constant(alpha: Fraction, delta: Fraction) -> Fraction:
    """What the bound at the order alpha > 1 adds to alpha rho, rounded up: it does not depend on rho.

        C(alpha, delta) = (ln(1/delta) + (alpha-1) ln(1 - 1/alpha) - ln(alpha))/(alpha - 1)

    The first two logarithms are bounded from above, the subtracted one from below, the divisor is positive.
    Theorem: `ZCDP_TO_APPROXIMATE`.
    """
    more = alpha - 1
    return (log_above(1 / delta) + more * log_above(1 - 1 / alpha) - log_below(alpha)) / more


@lru_cache(maxsize=4096)
def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """The order alpha at which alpha rho + C(alpha, delta) is least, of those whose alpha - 1 has _ORDER_BITS bits.

    The same on every machine: floats say only where to begin to look. The bound is convex in alpha, so the order
    whose neighbours are no better is the best one.
    """
    guess = Fraction(_best_order(float(rho), math.log(delta.denominator) - math.log(delta.numerator))[0])
    more = short_below(guess, _ORDER_BITS)

    def bound(some: Fraction) -> Fraction:
        return (1 + some) * rho + conversion_constant(1 + some, delta)

    found = bound(more)
    for step in (_next_lower, _next_higher):
        while (other := bound(step(more))) < found:
            more, found = step(more), other
    return 1 + more


def _next_higher(more: Fraction) -> Fraction:
    return more + power_grid(more, _ORDER_BITS)


def _next_lower(more: Fraction) -> Fraction:
    grid = power_grid(more, _ORDER_BITS)
    # Below a power of two the grid is finer.
    return more - (grid / 2 if more == grid * 2 ** (_ORDER_BITS - 1) else grid)


def _grid_above(epsilon: Fraction) -> Fraction:
    return Fraction(math.ceil(epsilon * _GRID), _GRID)


def _best_order(rho: float, log_one_over_delta: float) -> tuple[float, float]:
    """(alpha - 1, epsilon) near the best order: ternary search around the one that the simple bound takes."""

    def bound(log_more: float) -> float:
        more = math.exp(log_more)
        inner = log_one_over_delta - more * math.log1p(1 / more) - math.log1p(more)
        return rho * (1 + more) + inner / more

    middle = 0.5 * (math.log(log_one_over_delta) - math.log(rho)) if log_one_over_delta > 0 else 0.0
    low, high = middle - 12, middle + 12
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return math.exp(low), bound(low)


def likely_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """About the rho that costs (epsilon, delta): by floats, so where to begin to look, and no bound."""
    logarithm = math.log(delta.denominator) - math.log(delta.numerator)
    low, high = 2 * math.log(epsilon) - math.log(4 * logarithm) - 4, math.log(epsilon + logarithm)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _best_order(math.exp(middle), logarithm)[1] <= epsilon else (low, middle)
    return Fraction(math.exp(low))


def _proper(delta: Fraction) -> Fraction:
    exact = as_fraction(delta, "delta")
    if not 0 < exact < 1:
        raise ValueError("delta must lie between 0 and 1, and be neither")
    return exact


@lru_cache(maxsize=1024)
def converted(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon of a run that has spent ``rho``, at its ``delta``; 0 of none.

    Rounded up: rho to RHO_BITS bits first, so that nothing which adds up to less ever costs more, and what comes out
    to a short decimal, so that a run that spends all of its rho has cost its epsilon and no unreadable part less.
    """
    if not rho:
        return Fraction(0)
    loss = ZCDP(short_above(rho, RHO_BITS), RELATION)
    epsilon = zcdp_to_approximate(loss, delta * (1 - SHARED_SLACK)).epsilon + SHARED_SLACK
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
