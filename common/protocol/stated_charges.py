"""What a run charged, as ``run.json`` states it, and the costs that follow: by the classes that charged them.

A charge names its mechanism with its exact numbers, and how often it was used. So whoever has a release can price it
again (``privity.common.release.agreement``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.privacy.mechanisms import (
    AdvancedLaplaceNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoisyMax,
    Selecting,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE
from privity.common.privacy.privacy_loss import ApproxDP, PureDP, compose
from privity.common.privacy.sensitivity import Query
from privity.common.privacy.structure_scores import score_in_words
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.evaluation_scores import MOST_SCORES, MarginalScore
from privity.common.protocol.round import Scores, Tables
from privity.common.protocol.run_record import OWN_MODEL, Cost
from privity.common.protocol.step_limits import ROUND_CELLS

OF_COST = ("phase", "paid_by", "published")
"""What stands in every charge, or in every one of tables, whatever the mechanism."""

CATEGORIES = "categories"
"""Phase and step of the discovery of categories."""

MOST_TABLES = ROUND_CELLS // 2
"""Of all charges of a run: some hundred times as many as the widest runs measure."""

MOST_SELECTIONS = 1 << 20
"""Of all charges of a run."""


def noise_charge(noise: Noise) -> dict[str, Any]:
    """The charge of a round: its noise, and how many tables of which weights, or scores, lie under it."""
    weights = noise.query.weights
    if isinstance(noise.query, Scores):
        return {**noise.content(), "scores": len(weights)}
    return {**noise.content(), "tables": {str(weight): count for weight, count in sorted(Counter(weights).items())}}


def own_model(algorithm: str, loss: PureDP) -> dict[str, Any]:
    """The charge of a model that a party learnt of its own rows."""
    return {"learnt": algorithm, "epsilon": str(loss.epsilon)}


def categories_cost(phase: str, payers: Sequence[str], mechanism: ThresholdedCounts) -> Cost:
    """What the texts that many rows have cost each of the payers."""
    return Cost(phase, mechanism.in_words, mechanism.loss(RELATION), tuple(payers), mechanism.content())


def loss_of_categories(costs: Iterable[Cost]) -> ApproxDP:
    """What categories cost, of all these."""
    losses = [cost.loss for cost in costs if "threshold" in cost.charge and isinstance(cost.loss, ApproxDP)]
    return compose([ApproxDP(Fraction(0), Fraction(0), RELATION), *losses])


def selections_cost(phase: str, payers: Sequence[str], mechanism: Selecting, score: str, count: int) -> Cost:
    """What so many selections cost each of the payers."""
    loss = compose([mechanism.loss(RELATION)] * count)
    charge = {**mechanism.content(), "score": score, "selections": count}
    return Cost(phase, mechanism.in_words(score_in_words(score)), loss, tuple(payers), charge)


def cost_of(charge: Mapping[str, Any], *, shared: bool) -> Cost:
    """The cost of a charge that fits its format.

    Args:
        shared: whether several parties draw the noise.

    Raises:
        ValueError, KeyError: it is none of a mechanism.
        PrivityError: step-refused: its noise is too small for what it claims.
    """
    found = _cost(charge, shared=shared)
    if found.charge != {key: value for key, value in charge.items() if key not in OF_COST}:
        raise ValueError("it says more than a mechanism has, or says it otherwise")
    return found


def _cost(charge: Mapping[str, Any], *, shared: bool) -> Cost:
    phase, payers = charge["phase"], tuple(charge["paid_by"])
    if "selection" in charge:
        kinds: dict[str, type[Selecting]] = {kind.__name__: kind for kind in (NoisyMax, ExponentialMechanism)}
        mechanism = kinds[charge["selection"]](Fraction(charge["epsilon"]))
        return selections_cost(phase, payers, mechanism, charge["score"], charge["selections"])
    if "learnt" in charge:
        loss = PureDP(Fraction(charge["epsilon"]), RELATION)
        return Cost(phase, OWN_MODEL, loss, payers, own_model(charge["learnt"], loss))
    if "threshold" in charge:
        cost = Fraction(charge["epsilon"]), Fraction(charge["delta"])
        return categories_cost(phase, payers, ThresholdedCounts(charge["columns"], *cost, charge["threshold"]))
    noise = noise_of(charge)
    return Cost(phase, noise.in_words(shared=shared), noise.loss(RELATION), payers, noise_charge(noise))


def check_sizes(charges: Sequence[Mapping[str, Any]]) -> None:
    """Refuse charges that would take long to price: their numbers are somebody else's.

    Raises:
        ValueError: more tables or selections than any run has.
    """
    tables = sum(count for charge in charges for count in charge.get("tables", {}).values())
    selections = sum(charge.get("selections", 0) for charge in charges)
    if tables > MOST_TABLES or selections > MOST_SELECTIONS:
        raise ValueError(f"{tables} tables and {selections} selections")


def noise_of(charge: Mapping[str, Any]) -> Noise:
    """The noise of a charge for tables or scores; raises as ``cost_of``."""
    query, scale = _query(charge), Fraction(charge["scale"])
    if charge["noise"] == GAUSSIAN:
        return GaussianNoise(query, scale, Fraction(charge["rho"]))
    if charge["noise"] != LAPLACE:
        raise ValueError("unknown noise")
    if charge.get("composition") == "advanced":
        return AdvancedLaplaceNoise(query, scale, Fraction(charge["epsilon"]), Fraction(charge["delta"]))
    return LaplaceNoise(query, scale)


def _query(charge: Mapping[str, Any]) -> Query:
    """As many tables, of the same weights, or scores: all that a price asks of them."""
    if "scores" in charge:
        if not 1 <= charge["scores"] <= MOST_SCORES:
            raise ValueError("not a number of scores")
        return Scores((MarginalScore((), (), 1),) * charge["scores"])
    weights = {int(weight): count for weight, count in charge["tables"].items()}
    each = tuple(weight for weight, count in sorted(weights.items()) for _ in range(count))
    return Tables(((),) * len(each), each)
