"""How MST and AIM split a budget, by public numbers: the noise, the rows, the domains.

What decides is by how much the noise of the whole budget would move one pair table: ``noise_of_table``. The constants
are fitted on other tables than those of which results are reported (``python -m benchmarks budgets``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.inference.pooled_estimates import noise_distance

MANY_TABLES = 100
"""So many that least shares do not bound their noise."""


@dataclass(frozen=True)
class Power:
    """A power of the noise, within bounds."""

    at_one: float
    power: float
    least: float
    largest: float

    def of(self, noise: float) -> float:
        return min(self.largest, max(self.least, self.at_one * noise**self.power))


@dataclass(frozen=True)
class Split:
    """Fitted to one way of adding up: epsilons, or rhos.

    Attributes:
        tables: how many pair tables are worth measuring, for each attribute at the most.
        one_way: share of the budget for the 1-way tables.
    """

    tables: Power
    one_way: Power


PURE = Split(Power(0.85, -0.54, 1, 4), Power(1.04, 0.24, 0.1, 0.8))
CONCENTRATED = Split(Power(1.6, -0.7, 1, 4), Power(0.9, 0.27, 0.1, 0.7))
"""Fitted on public tables; docs/benchmarks/budgets.md."""


def noise_of_table(session: Session, share: Share, domain: Sequence[int] | None = None) -> float:
    """Total variation distance by which the noise of all of the share would move one pair table of mean size.

    Args:
        domain: sizes of other attributes than those of the session.
    """
    domain = domain or session.schema.domain
    cells = (sum(domain) ** 2 - sum(size**2 for size in domain)) / 2 / math.comb(len(domain), 2)
    return noise_distance(deviation_of_one(session, share) * cells, session.rows)


def deviation_of_one(session: Session, share: Share) -> float:
    """Of the noise on a cell of one table that gets all of the share, in rows.

    By the noise of many tables, which share epsilon, or rho: that of one alone would be no narrower than the least
    shares of discrete Gaussian noise, of which a run of many tables knows nothing.
    """
    more = MANY_TABLES if share.budget.delta else MANY_TABLES**2
    return math.sqrt(session.noise_variance(MANY_TABLES, share) / more)


def _fitted(share: Share) -> Split:
    return CONCENTRATED if share.budget.delta else PURE


def tables_for(session: Session, share: Share, domain: Sequence[int] | None = None) -> int:
    """How many pair tables are worth measuring: few clear ones where the noise is wide; ``domain`` as above."""
    power = _fitted(share).tables
    worth = power.at_one * noise_of_table(session, share, domain) ** power.power
    return max(1, min(int(power.largest) * len(domain or session.schema.domain), round(worth)))


def one_way_share(session: Session, share: Share) -> Fraction:
    """Share of the budget for the 1-way tables, in hundredths: more where the noise is wide."""
    return Fraction(round(100 * _fitted(share).one_way.of(noise_of_table(session, share))), 100)
