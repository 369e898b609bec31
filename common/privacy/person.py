"""What a step or a run costs a person who has several rows, all of which may be replaced: group privacy.

A step states its cost for one replaced row. With m rows a person it costs

==============================  =============================  ==================================================
pure epsilon                    (m epsilon, 0)                 ``PureEpsilon.scaled``; exact
discrete Gaussian noise, rho    m^2 rho, converted at the      ``Zcdp.scaled``, ``zcdp_to_approximate``; rounded up
                                step's own delta
(epsilon, delta) of any other   (m epsilon,                    ``ApproxDP.scaled``; rounded up
mechanism                       m e^((m-1) epsilon) delta)
==============================  =============================  ==================================================

Gaussian shares miss the discrete Gaussian law by a factor that does not depend on the rows, so their slack is that of
one row (``common.privacy.composition.SHARED_SLACK``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from common.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, ApproxDP, Zcdp
from common.privacy.composition import RELATION, SHARED_SLACK
from common.privacy.conversion import zcdp_to_approximate

EPSILON_GRID = 10**6
"""What was converted is rounded up to a multiple of 1/EPSILON_GRID, so that people can read it."""

DELTA_DIGITS = 6

VOID = 100
"""Exponent (m-1) epsilon beyond which no delta is left that promises anything: it counts as 1."""

RHO_BITS = 20
"""Of the largest rho that an (epsilon, delta) leaves room for: it is at most a part in 2**(RHO_BITS - 1) too large."""

Amount = tuple[Fraction, Fraction]
"""(epsilon, delta)."""


@lru_cache(maxsize=256)
def cost_of_a_person(epsilon: Fraction, delta: Fraction, rho: Fraction | None, rows: int) -> Amount:
    """(epsilon, delta) that a step costs a person with so many rows.

    Args:
        epsilon, delta: what it states for one row.
        rho: what its discrete Gaussian noise costs for one row; None if its noise is of another law.
    """
    if rows == 1 or not delta:
        return rows * epsilon, delta
    if rho is not None:
        return max(epsilon, _converted(Zcdp(rho, RELATION).scaled(rows), delta)), delta
    if (rows - 1) * epsilon > VOID:
        return rows * epsilon, Fraction(1)
    several = ApproxDP(epsilon, delta, RELATION).scaled(rows)
    return several.epsilon, min(Fraction(1), _readable_above(several.delta))


def most_of_a_person(epsilon: Fraction, delta: Fraction, rows: int, *, gaussian: bool) -> Amount:
    """What the steps of a run that costs (epsilon, delta) for one row may cost a person with so many, together.

    A limit for what is charged step by step, which is what the guarantee rests on. It is reached by a run that spends
    everything in one step. Nothing is gained by several: m epsilon, and m e^((m-1) epsilon) delta, grow no slower than
    their sum; and with Gaussian noise what m rows cost, over what one costs, grows with rho and with delta.

    Args:
        gaussian: whether it spends its delta on discrete Gaussian noise; an epsilon that no run may have counts as
            if it did not.
    """
    served = SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON
    rho = _largest_rho(epsilon, delta) if gaussian and served and delta and rows > 1 else None
    return cost_of_a_person(epsilon, delta, rho, rows)


@lru_cache(maxsize=64)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Not below the rho of any noise that costs at most (epsilon, delta), and hardly above the largest."""

    def too_much(rho: Fraction) -> bool:
        return _exactly(Zcdp(rho, RELATION), delta) > epsilon

    # About where epsilon is 2 sqrt(rho ln(1/delta)): where to begin decides nothing.
    logarithm = math.log(delta.denominator) - math.log(delta.numerator)
    high = Fraction(2) ** math.ceil(2 * math.log2(epsilon) - math.log2(4 * logarithm))
    while not too_much(high):
        high *= 2
    while too_much(high / 2):
        high /= 2
    step = high / 2**RHO_BITS
    low, over = 2 ** (RHO_BITS - 1), 2**RHO_BITS
    while over - low > 1:
        middle = (low + over) // 2
        low, over = (low, middle) if too_much(middle * step) else (middle, over)
    return over * step


def _exactly(budget: Zcdp, delta: Fraction) -> Fraction:
    return zcdp_to_approximate(budget, delta * (1 - SHARED_SLACK)).epsilon + SHARED_SLACK


def _converted(budget: Zcdp, delta: Fraction) -> Fraction:
    return Fraction(math.ceil(_exactly(budget, delta) * EPSILON_GRID), EPSILON_GRID)


def _readable_above(delta: Fraction) -> Fraction:
    """At least delta, > 0, in a few decimal digits."""
    places = DELTA_DIGITS
    while delta * 10**places < 10 ** (DELTA_DIGITS - 1):
        places += 1
    return Fraction(math.ceil(delta * 10**places), 10**places)
