"""What pure epsilon and what (epsilon, delta) buy, side by side: the noise of the same tables under both.

A run with a delta has a budget in rho, of which k tables share sigma squared; pure, they share the scale. So the
noise of a cell grows with the square root of the number of tables in the one case, and with the number in the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.step_cost import noise_scale
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.round import Round

LIKELY_DELTA = Fraction(1, 10**9)
"""With which a pure run is compared."""


@dataclass(frozen=True)
class BothKinds:
    """Noise of the tables of one phase.

    Attributes:
        pure, approximate: standard deviation of the noise on a cell, the root of its mean square over the tables.
    """

    phase: str
    tables: int
    pure: float
    approximate: float

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "pure": round(self.pure, 3), "approximate": round(self.approximate, 3)}


def both_kinds(rounds: Sequence[Round], rho_budget: RhoBudget, parties: int, quota: int) -> list[BothKinds]:
    """The noise of rehearsed rounds as it is, and as it would be in the other kind of run.

    Args:
        rounds: of a pure run or of one with this account; rounds without tables are left out.
        quota: of how many shares a whole noise consists.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for round_ in rounds:
        if not round_.tables:
            continue
        share = round_.epsilon if round_.terms is None else rho_budget.epsilon * round_.terms.rho / rho_budget.rho
        weights = round_.all_weights
        terms = round_.terms or rho_budget.terms(share, weights, quota)
        pure_scale = noise_scale(sum(weights), share)
        for weight in weights:
            pure = NoiseLaw(LAPLACE, pure_scale / weight)
            laws = (pure, terms.law(weight))
            variances = [parties * law.share_variance(quota) for law in laws]
            found.setdefault(round_.phase, []).append((variances[0], variances[1]))
    return [
        BothKinds(phase, len(both), *(math.sqrt(sum(one[k] for one in both) / len(both)) for k in (0, 1)))
        for phase, both in found.items()
    ]
