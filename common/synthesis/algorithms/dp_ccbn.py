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

from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms.algorithm import SU_2016, Algorithm
from privity.common.synthesis.inference.fit_choice import TABLES, fit_setting
from privity.common.synthesis.learning.countable_pairs import check_all_pairs
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


class DPCCBN(Algorithm[Settings]):
    """DP-CCBN: a tree that the curator constructs from noisy marginals of all pairs."""

    name = "dp-ccbn"
    all_pairs = True
    paper = f"{SU_2016}, section V"
    settings = Settings

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """All pairs are measured."""
        check_all_pairs(schema)

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
        # Of each attribute that is left the strongest parent so far; of equally strong ones the first.
        best = {x: (strength[0, x], 0) for x in attributes[1:]}
        while best:
            x = max(best, key=lambda x: (best[x][0], -x))
            network[x] = (best.pop(x)[1],)
            for y, (known, parent) in best.items():
                best[y] = max((known, parent), (strength[min(x, y), max(x, y)], x), key=lambda one: (one[0], -one[1]))
        return await learn_parameters(session, network, revealed, for_parameters, PAIR_SHARE, chosen.inference)
