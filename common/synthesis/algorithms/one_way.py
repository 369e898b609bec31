"""The release without any structure: noisy 1-way tables only, all attributes independent.

It is what every other algorithm must beat; its mean 2-way TVD is a weak bar on some tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import Schema
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import SettingsReader
from privity.common.synthesis.inference.estimation import collect, one_way_marginals
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node

MARGINALS = "one-way marginals"


def check(settings: Mapping[str, Any], _schema: Schema) -> None:
    """There are no settings."""
    SettingsReader("one-way", settings).finish()


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> BayesianNetwork:
    """Measure every attribute's marginal for ``epsilon`` in all."""
    check(settings, session.schema)
    attributes = range(len(session.schema.attributes))
    tables = await session.measure(MARGINALS, [(a,) for a in attributes], epsilon)
    marginals = one_way_marginals(collect(tables), attributes, session.rows)
    return BayesianNetwork(session.schema, [Node(AttributeParentPair(a, ()), marginals[a]) for a in attributes])
