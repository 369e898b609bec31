"""DP-CCBN: the curator constructs the Bayesian network from measured tables of all candidates.

It is the first of the paper's two baselines. Half of epsilon measures the tables of every candidate attribute-parent
pair, which tells the structure; the other half measures the tables of the network. Deviations: the candidates'
strengths are R less what the noise alone shows, not mutual information; every pair of attributes is measured once, not
once in each direction; the degree is 1, because the tables of all larger parent sets would be below the noise floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms.algorithm import SU_2016, Algorithm
from privity.common.synthesis.inference.fit_choice import TABLES, fit_setting
from privity.common.synthesis.learning.pair_association import noisy_association
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, learn_parameters
from privity.common.synthesis.learning.search_frontier import Parents
from privity.common.synthesis.models import Model

STRUCTURE = "structure learning"
HALVES = (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class Settings:
    """Settings of DP-CCBN, all public."""

    inference: str = fit_setting(TABLES)


class DPCcbn(Algorithm[Settings]):
    """DP-CCBN: a tree that the curator constructs from noisy marginals of all pairs."""

    name = "dp-ccbn"
    paper = f"{SU_2016}, section V"
    settings = Settings

    async def run(self, session: Session, share: Share, chosen: Settings) -> Model:
        """Learn a tree of the joint rows of all parties."""
        attributes = range(len(session.schema.attributes))
        if len(attributes) == 1:
            return await learn_parameters(session, {0: ()}, [], share, PAIR_SHARE, chosen.inference)
        for_structure, for_parameters = share.split(HALVES)
        pairs = list(combinations(attributes, 2))
        revealed = await session.measure(STRUCTURE, pairs, for_structure)
        strength = {pair: noisy_association(table) for pair, table in zip(pairs, revealed, strict=True)}
        network: Parents = {0: ()}
        while len(network) < len(attributes):
            best = max(
                ((x, p) for x in attributes if x not in network for p in network),
                key=lambda edge: (strength[min(edge), max(edge)], -edge[0], -edge[1]),
            )
            network[best[0]] = (best[1],)
        return await learn_parameters(session, network, revealed, for_parameters, PAIR_SHARE, chosen.inference)
