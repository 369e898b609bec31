"""Domains of numbers that nobody declared, by noisy marginals on public grids.

A run of its own, over any number of parties: its release has the schema with the domains, for the run that makes the
table. One owner's run of another algorithm does the same first, and goes on.

Privity's own; what the domains are made of is in common/synthesis/learning/domain_discovery.py.

Privacy: rounds of 1-way tables, each chosen by what the ones before it revealed; epsilon in all, or the run's rho.
"""

from __future__ import annotations

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithms.algorithm import Algorithm, NoSettings
from privity.common.synthesis.inference.estimation import collect, one_way_marginals
from privity.common.synthesis.learning.domain_discovery import discover
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node

DOMAINS = "domains"


class Discover(Algorithm[NoSettings]):
    """Finds the domains of open numbers for a later run's schema; its synthetic attributes are independent."""

    name = "discover"
    settings = NoSettings
    joins = False
    discovers = True

    def check_domain(self, schema: Schema, chosen: NoSettings) -> None:
        """It counts no pairs."""

    async def run(self, session: Session, share: Share, chosen: NoSettings) -> BayesianNetwork:
        """Measure the grids, and the marginals of attributes that have a domain."""
        schema = session.schema
        declared = [(a,) for a, attribute in enumerate(schema.attributes) if not attribute.discover]
        found = await discover(session, DOMAINS, share, declared)
        session.all_asked()
        marginals = one_way_marginals(collect(found.tables), [a for (a,) in declared], session.rows)
        marginals |= found.marginals
        nodes = [Node(AttributeParentPair(a, ()), marginals[a]) for a in range(len(schema.attributes))]
        return BayesianNetwork(found.schema, nodes)
