"""From one kind of budget, or one neighbouring relation, to another: explicit, by a named theorem, rounded up.

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

from privity.common.privacy.budget import AnyBudget, ApproxDP, PureEpsilon, Zcdp, as_fraction
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation

PURE_TO_ZCDP = "Bun and Steinke 2016, Proposition 1.4"
PURE_TO_APPROXIMATE = "by definition, with delta = 0"
ZCDP_TO_APPROXIMATE_SIMPLE = "Bun and Steinke 2016, Proposition 1.3"
ZCDP_TO_APPROXIMATE = "Canonne, Kamath and Steinke 2020, Proposition 12"
TO_REPLACE_ONE = "group privacy for two rows: a replaced row is one removed and one added"

_GRID = 10**12  # an epsilon that was computed is a multiple of 1/_GRID
_TERMS = 40  # of the series of artanh: the tail at 1/3 is below 2**-120
_FINE = 2**128
_ORDER_BITS = 20  # of alpha - 1: the bound at such an order is within a part in 2**38 of the best


def pure_to_zcdp(budget: PureEpsilon) -> Zcdp:
    """Pure epsilon implies rho = epsilon^2/2. Theorem: `PURE_TO_ZCDP`. Exact."""
    _check_kind(budget, PureEpsilon)
    return Zcdp(budget.epsilon**2 / 2, budget.relation)


def pure_to_approximate(budget: PureEpsilon) -> ApproxDP:
    """Pure epsilon is (epsilon, 0). Theorem: `PURE_TO_APPROXIMATE`. Exact."""
    _check_kind(budget, PureEpsilon)
    return ApproxDP(budget.epsilon, Fraction(0), budget.relation)


def zcdp_to_approximate_simple(budget: Zcdp, delta: Fraction) -> ApproxDP:
    """rho-zCDP implies (rho + 2 sqrt(rho ln(1/delta)), delta). Theorem: `ZCDP_TO_APPROXIMATE_SIMPLE`.

    Rounded up: ln(1/delta) is bounded from above, the root of the product is rounded up, and so is the sum.

    Raises:
        ValueError: delta outside (0, 1).
    """
    _check_kind(budget, Zcdp)
    delta = _proper(delta)
    root = sqrt_above(budget.rho * log_above(1 / delta))
    return ApproxDP(_grid_above(budget.rho + 2 * root), delta, budget.relation)


def zcdp_to_approximate(budget: Zcdp, delta: Fraction) -> ApproxDP:
    """The tighter bound of what rho costs at delta.

    For every alpha > 1, rho-zCDP implies (epsilon, delta) with

        epsilon = alpha rho + (ln(1/delta) + (alpha-1) ln(1 - 1/alpha) - ln(alpha))/(alpha - 1).

    Theorem: `ZCDP_TO_APPROXIMATE`, of Renyi divergence alpha*rho at the order alpha, evaluated upwards at
    ``best_order``. Never above the simple bound. An epsilon below 0 is 0.

    Raises:
        ValueError: delta outside (0, 1).
    """
    simple = zcdp_to_approximate_simple(budget, delta)
    rho, delta = budget.rho, simple.delta
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


def short_below(value: Fraction, bits: int) -> Fraction:
    """The largest number at most ``value``, > 0, that is a whole number below 2**bits times a power of two."""
    grid = power_grid(value, bits)
    return math.floor(value / grid) * grid


def power_grid(value: Fraction, bits: int) -> Fraction:
    """The power of two of which ``value`` is at least 2**(bits - 1) and less than 2**bits."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** power > value:
        power -= 1
    return Fraction(2) ** (power + 1 - bits)


def _next_higher(more: Fraction) -> Fraction:
    return more + power_grid(more, _ORDER_BITS)


def _next_lower(more: Fraction) -> Fraction:
    grid = power_grid(more, _ORDER_BITS)
    # Below a power of two the grid is finer.
    return more - (grid / 2 if more == grid * 2 ** (_ORDER_BITS - 1) else grid)


def to_replace_one(budget: AnyBudget) -> AnyBudget:
    """From adding or removing one row to replacing one. Theorem: `TO_REPLACE_ONE`.

    Pure epsilon doubles, rho becomes four times as large; (epsilon, delta) becomes
    (2 epsilon, (1 + e^epsilon) delta), rounded up. Where the mechanism is known, its own sensitivity to a
    replaced row is never worse, and for contingency tables in L2 it costs 2 rho instead of 4 rho.

    Raises:
        PrivacyMismatchError: the budget is stated for replaced rows already.
    """
    if budget.relation is not Relation.ADD_OR_REMOVE_ONE:
        raise PrivacyMismatchError("only a budget for adding or removing a row can be converted to replaced rows")
    return replace(budget.scaled(2), relation=Relation.REPLACE_ONE)


def log_below(x: Fraction) -> Fraction:
    """A fraction at most ln(x), x > 0, and within about 1e-30 of it."""
    return _log_bounds(x)[0]


def log_above(x: Fraction) -> Fraction:
    """A fraction at least ln(x), x > 0, and within about 1e-30 of it."""
    return _log_bounds(x)[1]


def _log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """ln x = k ln 2 + ln m with m in (1/2, 4/3], and ln m = 2 artanh((m-1)/(m+1)), an argument in (-1/3, 1/7]."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not above 0")
    k = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** k
    if m > Fraction(4, 3):
        k, m = k + 1, m / 2
    low, high = _artanh_bounds((m - 1) / (m + 1))
    two_low, two_high = _LOG_TWO
    return (2 * low + k * (two_low if k >= 0 else two_high), 2 * high + k * (two_high if k >= 0 else two_low))


def _artanh_bounds(y: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of artanh(y) = y + y^3/3 + y^5/5 + ..., |y| <= 1/3.

    For y >= 0 the first terms fall short by at most y^(2n+1)/((2n+1)(1 - y^2)), and artanh grows with y, so y
    is first rounded down for the lower bound and up for the upper one. artanh(-y) = -artanh(y).
    """
    if y < 0:
        low, high = _artanh_bounds(-y)
        return -high, -low
    below, _ = _first_terms(math.floor(y * _FINE), 0)
    up = math.ceil(y * _FINE)
    above, power = _first_terms(up, _FINE - 1)
    last = 2 * _TERMS + 1
    rest = -(-power * _FINE // (last * (_FINE - -(-up * up // _FINE))))
    return Fraction(below, _FINE), Fraction(above + rest, _FINE)


def _first_terms(y: int, up: int) -> tuple[int, int]:
    """y + y^3/3 + ..., ``_TERMS`` of them, and the next power of y, of y in units of 1/_FINE.

    Args:
        up: what is added before each division: 0 to round down, ``_FINE - 1`` to round up.
    """
    square, power, total = (y * y + up) // _FINE, y, 0
    for i in range(_TERMS):
        odd = 2 * i + 1
        total += (power + (odd - 1 if up else 0)) // odd
        power = (power * square + up) // _FINE
    return total, power


_LOG_TWO = tuple(2 * bound for bound in _artanh_bounds(Fraction(1, 3)))


def sqrt_above(x: Fraction) -> Fraction:
    """A fraction at least sqrt(x): with n = ceil(x G^2), ceil(sqrt(n))/G >= sqrt(x)."""
    grid = 10**18
    n = math.ceil(x * grid**2)
    root = math.isqrt(n)
    return Fraction(root if root * root == n else root + 1, grid)


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


def _check_kind(budget: PureEpsilon | Zcdp, kind: type) -> None:
    if not isinstance(budget, kind):
        raise PrivacyMismatchError(f"a budget of kind {kind.__name__} is needed, not {type(budget).__name__}")
