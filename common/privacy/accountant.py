"""The accountant: what one run has cost a person so far, whenever it stops.

Losses that are pure or approximate are priced for all rows of the person, one by one, and add up. Losses in rho add up
as rho, and are charged along the one order that the run's budget fixed when it began
(``privity.common.privacy.privacy_filter``): the run may stop anywhere. The ledger, a release's statement and a plan
all ask this class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from privity.common.privacy.neighbouring_relation import RELATION, check_same_relation
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss
from privity.common.privacy.run_budget import RhoBudget

ZERO = Fraction(0)

LONGEST_BITS = 1024
"""Of the denominator of what one run, or all of them, were charged. A run of one of our algorithms needs
60 at most."""

FINE = 10**60
"""A sum with a longer denominator is rounded up to a multiple of 1/FINE."""


def is_short(*sums: Fraction) -> bool:
    """Whether sums of charges can be kept as they are."""
    return all(one.denominator.bit_length() <= LONGEST_BITS for one in sums)


def kept_short(total: Fraction) -> Fraction:
    """A sum of charges, exact if its denominator is short, and else a little more: denominators add up."""
    return total if is_short(total) else Fraction(math.ceil(total * FINE), FINE)


@dataclass(frozen=True)
class Accountant:
    """What was charged for one run, and what that comes to for a person with so many rows.

    Attributes:
        epsilon, delta: of the losses that are not in rho, for all rows of the person.
        rho: of the losses in rho, for one row, by the run's budget.
        exact: whether none of these sums had to be rounded up.
    """

    rows: int = 1
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: Mapping[RhoBudget, Fraction] = field(default_factory=dict)
    exact: bool = True

    def charged(self, loss: PrivacyLoss, budget: RhoBudget | None = None, *, for_a_person: bool = False) -> Accountant:
        """After one more loss.

        Args:
            loss: for one replaced row.
            budget: that of the run, for a loss in rho.
            for_a_person: whether it is that of a person already, however many rows it has here.
        """
        check_same_relation(RELATION, loss.relation)
        if isinstance(loss, ZCDP):
            if budget is None:
                raise ValueError("a loss in rho is charged along the order of the run's budget in rho")
            rho = self.rho.get(budget, ZERO) + loss.rho
            return replace(self, rho={**self.rho, budget: kept_short(rho)}, exact=self.exact and is_short(rho))
        several = loss if for_a_person else loss.scaled(self.rows)
        epsilon = self.epsilon + several.epsilon
        delta = self.delta + (several.delta if isinstance(several, ApproxDP) else ZERO)
        exact = self.exact and is_short(epsilon, delta)
        return replace(self, epsilon=kept_short(epsilon), delta=kept_short(delta), exact=exact)

    @property
    def spent(self) -> ApproxDP:
        """All of it, for the person."""
        epsilon, delta = self.epsilon, self.delta
        for budget, of_row in self.rho.items():
            rho = ZCDP(of_row, RELATION).scaled(self.rows).rho
            epsilon, delta = epsilon + budget.filter(self.rows).spent(rho), delta + budget.delta
        return ApproxDP(epsilon, min(Fraction(1), delta), RELATION)
