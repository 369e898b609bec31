"""The release without any structure: noisy 1-way tables only, all attributes independent.

It is the baseline for all other algorithms; its mean 2-way TVD is a weak bar on some tables.
"""

from __future__ import annotations

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms.algorithm import Algorithm, NoSettings
from privity.common.synthesis.inference.estimation import collect, one_way_marginals
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node

MARGINALS = "one-way marginals"


class OneWay(Algorithm[NoSettings]):
    """Measures noisy 1-way marginals only; all attributes are independent. The baseline for all others."""

    name = "one-way"
    settings = NoSettings
    joins = False

    def check_domain(self, schema: Schema, chosen: NoSettings) -> None:
        """It counts no pairs."""

    async def run(self, session: Session, share: Share, chosen: NoSettings) -> BayesianNetwork:
        """Measure every attribute's marginal."""
        attributes = range(len(session.schema.attributes))
        tables = await session.measure(MARGINALS, [(a,) for a in attributes], share)
        session.all_asked()
        marginals = one_way_marginals(collect(tables), attributes, session.rows)
        return BayesianNetwork(session.schema, [Node(AttributeParentPair(a, ()), marginals[a]) for a in attributes])
