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

from privity.common.privacy.mechanisms import GaussianNoise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.round import Round, Tables

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
        rounds: of a pure run or of one with this budget; rounds without tables are left out.
        quota: of how many shares a whole noise consists.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for round_ in rounds:
        if not isinstance(round_.query, Tables):
            continue
        match round_.noise.loss(RELATION):
            case ZCDP(rho):
                epsilon = rho_budget.epsilon * rho / rho_budget.rho
            case PureDP(epsilon) | ApproxDP(epsilon):
                pass
        pure = PureBudget(rho_budget.epsilon).noise(epsilon, round_.query, quota)
        approximate = rho_budget.noise(epsilon, round_.query, quota)
        kinds = (pure, round_.noise if isinstance(round_.noise, GaussianNoise) else approximate)
        for weight in round_.query.weights:
            variances = [parties * noise.law(weight).share_variance(quota) for noise in kinds]
            found.setdefault(round_.phase, []).append((variances[0], variances[1]))
    return [
        BothKinds(phase, len(both), *(math.sqrt(sum(one[k] for one in both) / len(both)) for k in (0, 1)))
        for phase, both in found.items()
    ]
