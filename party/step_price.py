"""Whether what a step asks for and costs is in the terms of its run: in epsilon, or in the run's budget in rho."""

from __future__ import annotations

from privity.common.data.schema import Schema
from privity.common.protocol.evaluation_scores import TreeScore
from privity.common.protocol.round import Round
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.steps import SelectionStep
from privity.common.synthesis.algorithms import rho_budget_of


def price_fault(asked: Round | SelectionStep, spec: RunSpec) -> str | None:
    """Why the price cannot be; None if it can. What all steps cost together is the ledger's to bound."""
    rho_budget = rho_budget_of(spec)
    if rho_budget is None:
        if asked.rho is not None:
            return "it asks for rho, and the run has no budget in rho"
        if asked.cost > spec.epsilon or asked.delta > spec.delta:
            return "it asks for more epsilon or delta than the run's"
        return None
    if asked.rho is None:
        return "it asks for an epsilon of its own, and the run has a budget in rho"
    if asked.delta != rho_budget.delta:
        return "it names another delta than the run's"
    return "it asks for more rho than the run's" if asked.rho > rho_budget.rho else None


def scores_fault(asked: Round, spec: RunSpec, schema: Schema) -> str | None:
    """Why the run was not approved with these scores; None if it was."""
    evaluation = spec.evaluation
    if evaluation is None:
        return "the run is not one that scores what comes out"
    if asked.cost > evaluation.epsilon:
        return "it asks for more epsilon than the evaluation's"
    allowed = {schema.index(name) for name in evaluation.targets}
    if any(isinstance(score, TreeScore) and score.attribute not in allowed for score in asked.scores):
        return "it predicts an attribute that the evaluation does not name"
    return None
