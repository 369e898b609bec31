"""Every algorithm by the name that a run may give it."""

from __future__ import annotations

from typing import Any

from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.protocol.run_spec import RunSpec
from privity.common.synthesis.algorithms.aim import Aim
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.algorithms.copula import Copula
from privity.common.synthesis.algorithms.dp_ccbn import DPCcbn
from privity.common.synthesis.algorithms.dp_subn import DPSubn
from privity.common.synthesis.algorithms.independent import Independent
from privity.common.synthesis.algorithms.jtree import JTree
from privity.common.synthesis.algorithms.mst import Mst
from privity.common.synthesis.algorithms.one_way import OneWay
from privity.common.synthesis.algorithms.privbayes import PrivBayes
from privity.common.synthesis.algorithms.privhd import PrivHD

__all__ = ["ALGORITHMS", "Algorithm", "rho_budget_of"]

_EVERY: tuple[Algorithm[Any], ...] = (
    Aim(), Copula(), DPCcbn(), DPSubn(), Independent(), JTree(), Mst(), OneWay(), PrivBayes(), PrivHD(),
)  # fmt: skip

ALGORITHMS = {algorithm.name: algorithm for algorithm in _EVERY}


def rho_budget_of(spec: RunSpec) -> RhoBudget | None:
    """The budget in rho of a run, if it has one; of an algorithm that there is not, none."""
    algorithm = ALGORITHMS.get(spec.algorithm)
    return None if algorithm is None else algorithm.rho_budget(spec.settings, spec.learning_epsilon, spec.delta)
