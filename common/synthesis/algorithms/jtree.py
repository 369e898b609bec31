"""JTree: a dependency graph, its junction tree, and tables of clusters of its cliques.

Deviations from the paper, each for soundness or accuracy:

- The graph comes from a declared number of exponential-mechanism selections (see dependency_graph.py): the published
  threshold mechanism is not differentially private.
- First the edges of a forest are selected, then those that close triangles and keep the graph chordal, as far as the
  clique tables stay useful (PrivBayes, TODS 2017, definition 4.7).
- The selections get what those of a forest need, or of the edges if these are fewer, from 1/10 to 3/10 of epsilon; the
  paper takes .05 or .1 of any epsilon.
- 1-way tables have a share of the budget of their own, and the cliques' tables are shrunk by their noise:
  see common/synthesis/learning/parameter_learning.py.

Over K parties each selection happens at one party and the tables are revealed as sums: the same algorithm.

Privacy: selections and tables compose; epsilon in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import STRENGTH, choice, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import PGM, fit_setting
from privity.common.synthesis.inference.junction_tree import junction_tree, maximal_cliques, triangulate
from privity.common.synthesis.learning.clique_clusters import attributes_of, check_cliques
from privity.common.synthesis.learning.dependency_graph import (
    LARGEST_CLIQUE,
    decomposable_edges,
    plan_edges,
    select_edges,
    share_for_edges,
)
from privity.common.synthesis.learning.optimal_merging import optimal_clusters
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, learn_cliques
from privity.common.synthesis.learning.theta_usefulness import noise_of
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

STRUCTURE = "dependency graph"
CLUSTERS = ("optimal", "apart")
ALL_PAIRS = "the number of pairs", lambda schema: max(1, math.comb(len(schema.attributes), 2))


@dataclass(frozen=True)
class Settings:
    """Settings of JTree, all public."""

    strength: Fraction = weight("1/10", STRENGTH)
    edges: int | None = whole(None, "how many edges are selected", 1, ALL_PAIRS, by_default="from strength")
    beta: Fraction | None = weight(
        None, "share of the budget for the selections", "9/10", by_default="what a forest needs, or less: 1/10 to 3/10"
    )
    theta: Fraction = weight("2", "usefulness of the tables of cliques of more than two attributes")
    largest_clique: int = whole(10, "most attributes of a clique", 2, LARGEST_CLIQUE)
    clusters: str = choice("optimal", "tables of the optimal clusters of cliques, or of each clique apart", CLUSTERS)
    inference: str = fit_setting(PGM)


class JTree(Algorithm[Settings]):
    """JTree: a junction tree of a dependency graph selected edge by edge."""

    name = "jtree"
    continues = True
    paper = (
        "Chen, Xiao, Zhang, Xu, Differentially Private High-Dimensional Data Publication via Sampling-Based Inference "
        "(KDD 2015)"
    )
    settings = Settings
    selects = True

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Learn a junction tree of the rows."""
        import networkx as nx

        schema = session.schema
        attributes = range(len(schema.attributes))
        if len(attributes) == 1:
            return await learn_cliques(session, junction_tree([(0,)]), [], [], share, PAIR_SHARE, chosen.inference)
        noise = noise_of(session)
        rule = chosen.theta, chosen.strength, chosen.largest_clique
        beta = chosen.beta or share_for_edges(schema.domain, noise, share, *rule)
        selections, tables = share.split([beta, 1 - beta])
        plan = plan_edges(schema.domain, noise, tables, *rule, chosen.edges)
        graph: nx.Graph = nx.Graph()
        graph.add_nodes_from(attributes)
        graph.add_edges_from(
            await select_edges(
                session,
                STRUCTURE,
                selections,
                plan.edges,
                attributes,
                lambda graph: decomposable_edges(graph, schema.domain, plan.cells, chosen.largest_clique),
            )
        )
        cliques = maximal_cliques(triangulate(graph, schema.domain))
        check_cliques(cliques, schema)
        joint = [clique for clique in cliques if len(clique) > 1]
        clusters = optimal_clusters(joint, schema.domain) if chosen.clusters == "optimal" else [(c,) for c in joint]
        measured = [attributes_of(cluster) for cluster in clusters]
        return await learn_cliques(session, junction_tree(cliques), measured, [], tables, plan.share, chosen.inference)
