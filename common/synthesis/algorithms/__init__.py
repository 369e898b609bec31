"""Every algorithm by the name that a run may give it: one file each, from its settings to the model that it learns.

An algorithm asks a session and knows neither rows nor sockets. It is a deterministic function of the answers.

Open ``algorithm.py`` for what each of them declares, and ``aim.py``, ``mst.py``, ``dp_subn.py`` or another for its
phases.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RunBudget
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.models import Model

__all__ = ["ALGORITHMS", "Algorithm", "budget_of", "learn"]

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")

ALGORITHMS: dict[str, Algorithm[Any]] = {
    kind.name: kind() for kind in sorted(Algorithm.__subclasses__(), key=lambda kind: kind.name)
}
"""Of every file of this folder."""


async def learn(session: Session, algorithm: str, settings: Mapping[str, Any]) -> Model:
    """Learn a model of the session's rows with all of its budget; settings are unread.

    Raises:
        PrivityError, ProblemsFound: a domain that is too large, or bad settings.
    """
    return await ALGORITHMS[algorithm].learn(session, session.budget.whole, settings)


def budget_of(spec: RunSpec) -> RunBudget:
    """What the algorithm of a run may spend; one that there is not would spend all of it at once."""
    algorithm = ALGORITHMS.get(spec.algorithm)
    if algorithm is not None:
        return algorithm.budget(spec.settings, spec.learning_epsilon, spec.delta)
    return AdvancedBudget(spec.learning_epsilon, spec.delta) if spec.delta else PureBudget(spec.learning_epsilon)
