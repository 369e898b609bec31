"""What a step or a run costs a person who has several rows, all of which may be replaced: group privacy.

A step states its cost for one replaced row. With m rows a person it costs

==============================  =============================  ==================================================
pure epsilon                    (m epsilon, 0)                 ``PureEpsilon.scaled``; exact
rho, of a run in rho            m^2 rho, along the order of    ``Zcdp.scaled``,
                                the cap m^2 R                  ``privity.common.privacy.privacy_filter``; rounded up
(epsilon, delta) of any other   (m epsilon,                    ``ApproxDP.scaled``; rounded up
mechanism                       m e^((m-1) epsilon) delta)
==============================  =============================  ==================================================

Gaussian shares miss the discrete Gaussian law by a factor that does not depend on the rows, so their slack is that of
one row (``privity.common.privacy.privacy_filter.SHARED_SLACK``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from privity.common.privacy.budget import ApproxDP, Zcdp
from privity.common.privacy.zcdp_budget import RELATION, RhoBudget

DELTA_DIGITS = 6

VOID = 100
"""Exponent (m-1) epsilon beyond which no delta is left that promises anything: it counts as 1."""

EpsilonDelta = tuple[Fraction, Fraction]
"""(epsilon, delta)."""


@lru_cache(maxsize=256)
def cost_of_a_person(epsilon: Fraction, delta: Fraction, rows: int) -> EpsilonDelta:
    """(epsilon, delta) that a step of this cost for one row costs a person with so many rows."""
    if rows == 1 or not delta:
        return rows * epsilon, delta
    if (rows - 1) * epsilon > VOID:
        return rows * epsilon, Fraction(1)
    several = ApproxDP(epsilon, delta, RELATION).scaled(rows)
    return several.epsilon, min(Fraction(1), _readable_above(several.delta))


def rho_of_a_person(rho: Fraction, rows: int) -> Fraction:
    """rho that a step of this cost for one row costs a person with so many rows."""
    return Zcdp(rho, RELATION).scaled(rows).rho


def most_of_a_person(
    epsilon: Fraction, delta: Fraction, rows: int, rho_budget: RhoBudget | None = None
) -> EpsilonDelta:
    """What the steps of a run that costs (epsilon, delta) for one row may cost a person with so many, together.

    A limit for what is charged step by step, which is what the guarantee rests on. Without a budget in rho it is
    reached by a run that spends everything in one step. Nothing is gained by several: m epsilon, and m e^((m-1)
    epsilon) delta, grow no slower than their sum. A run in rho reaches it when all of its rho is spent, in whatever
    steps.

    Args:
        rho_budget: the run's budget in rho, if it has one; what it leaves of epsilon is pure.

    Raises:
        PrivityError: bad-option for an epsilon and a delta that no run may have.
    """
    if rho_budget is None:
        return cost_of_a_person(epsilon, delta, rows)
    # First of all, as it refuses what no run may have.
    whole = rho_budget.filter(rows).epsilon
    return max(epsilon, rows * (epsilon - rho_budget.epsilon) + whole), delta


def _readable_above(delta: Fraction) -> Fraction:
    """At least delta, > 0, in a few decimal digits."""
    places = DELTA_DIGITS
    while delta * 10**places < 10 ** (DELTA_DIGITS - 1):
        places += 1
    return Fraction(math.ceil(delta * 10**places), 10**places)
