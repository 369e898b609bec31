"""PrivHD: a filtered candidate space, a Markov network, and a junction tree of bigger cliques.

The text of the paper at hand is legible in part; docs/algorithms/privhd.md says of each definition whether it is the
paper's or ours. Ours, or changed for soundness:

- The high-pass filter compares noisy scores with the threshold: R of noisy marginals of all pairs, less what noise
  alone shows, and charged. A filter on exact scores gives away rows (privacy.md, section 7). Where these tables would
  be below the noise floor, by public numbers, there is no filter, and its share goes to selections and tables. What it
  revealed serves the parameters too.
- Noise has the scale 2m/epsilon for m tables; the printed m/epsilon is for added or removed rows.
- How many edges are selected follows from public numbers (``dependency_graph.plan_edges``).
- An edge that would make a clique's table useless is left out again after it was selected; they are tried in the
  order in which they were selected.
- 1-way tables and shrinking as in common/synthesis/learning/parameter_learning.py.

Over K parties each selection happens at one party and the tables are revealed as sums: the same algorithm.

Privacy: filter, selections and tables compose; epsilon in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import STRENGTH, choice, weight, whole
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import TABLES, fit_setting
from privity.common.synthesis.inference.junction_tree import (
    eliminate,
    is_useful,
    junction_tree,
    keeps_apart,
    maximal_cliques,
    table_cells,
)
from privity.common.synthesis.learning.clique_clusters import check_cliques
from privity.common.synthesis.learning.countable_pairs import check_all_pairs, pairs_fit_one_round
from privity.common.synthesis.learning.dependency_graph import (
    LARGEST_CLIQUE,
    Pair,
    candidate_edges,
    plan_edges,
    select_edges,
    share_for_edges,
)
from privity.common.synthesis.learning.pair_association import noisy_association
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, learn_cliques
from privity.common.synthesis.learning.theta_usefulness import TableNoise, holds_typical_table, noise_of, useful_cells
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

if TYPE_CHECKING:
    import networkx as nx

FILTER = "high-pass filter"
NETWORK = "markov network"
FILTERS = ("useful", "always", "never")


@dataclass(frozen=True)
class Settings:
    """Settings of PrivHD, all public."""

    filter: str = choice(
        "useful", "when the high-pass filter runs: useful means if its tables are above the noise floor", FILTERS
    )
    filtering: Fraction = weight("1/10", "share of the budget for the filter", "9/10")
    threshold: Fraction = weight("1/50", "R that a pair's noisy score must reach")
    strength: Fraction = weight("1/10", STRENGTH)
    theta: Fraction = weight("2", "usefulness of the clique tables, and of the filter's")
    largest_clique: int = whole(10, "most attributes of a clique", 2, LARGEST_CLIQUE)
    inference: str = fit_setting(TABLES)


class PrivHD(Algorithm[Settings]):
    """PrivHD: a junction tree of bigger cliques, after a filter of all pairs."""

    name = "privhd"
    paper = "Zhang, Chen, Jin, Meng, PrivHD (Journal of Computer Research and Development 2018)"
    settings = Settings
    selects = True

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """All pairs if the filter is to measure them."""
        super().check_domain(schema, chosen)
        if chosen.filter == "always":
            check_all_pairs(schema)

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Learn a junction tree of the rows."""
        schema = session.schema
        attributes = range(len(schema.attributes))
        if len(attributes) == 1:
            return await learn_cliques(session, junction_tree([(0,)]), [], [], share, PAIR_SHARE, chosen.inference)
        noise = noise_of(session)
        filtering, selections, tables = _split(chosen, share, noise, schema)
        candidates, revealed = await _filter(session, filtering, chosen.threshold)
        plan = plan_edges(schema.domain, noise, tables, chosen.theta, chosen.strength, chosen.largest_clique)

        def left(graph: nx.Graph) -> list[Pair]:
            return [pair for pair in candidates if not graph.has_edge(*pair)]

        edges = await select_edges(session, NETWORK, selections, min(plan.edges, len(candidates)), attributes, left)
        limits = plan.cells, chosen.largest_clique
        cliques = maximal_cliques(useful_triangulation(attributes, edges, schema.domain, *limits))
        bigger = bigger_cliques(cliques, schema.domain, *limits)
        check_cliques(bigger, schema)
        return await learn_cliques(
            session, junction_tree(bigger), bigger, revealed, tables, plan.share, chosen.inference
        )


def _split(chosen: Settings, share: Share, noise: TableNoise, schema: Schema) -> tuple[Share | None, Share, Share]:
    """Shares for filter, selections and tables; the first is None without a filter. By public numbers."""
    beta = share_for_edges(schema.domain, noise, share, chosen.theta, chosen.strength, chosen.largest_clique)
    seen = useful_cells(noise, math.comb(len(schema.domain), 2), share * chosen.filtering, chosen.theta)
    filtering, left = None, share
    useful = chosen.filter == "useful" and pairs_fit_one_round(schema.domain)
    if chosen.filter == "always" or (useful and holds_typical_table(schema.domain, 2, seen)):
        filtering, left = share.split([chosen.filtering, 1 - chosen.filtering])
    selections, tables = left.split([beta, 1 - beta])
    return filtering, selections, tables


async def _filter(
    session: Session, share: Share | None, threshold: Fraction
) -> tuple[list[Pair], Sequence[NoisyTable]]:
    """The pairs whose noisy score reaches the threshold, and the noisy marginals; all pairs if there is no filter."""
    candidates = candidate_edges(session.schema.domain)
    if share is None:
        return candidates, []
    pairs = list(combinations(range(len(session.schema.attributes)), 2))
    revealed = await session.measure(FILTER, pairs, share)
    strong = {pair for pair, table in zip(pairs, revealed, strict=True) if noisy_association(table) >= threshold}
    return [pair for pair in candidates if pair in strong] or candidates, revealed


def useful_triangulation(
    attributes: Sequence[int], edges: Sequence[Pair], domain: Sequence[int], cells: int, largest: int
) -> nx.Graph:
    """A chordal graph with the edges, tried in their order; without each one that a useless clique would come with.

    An edge that leaves the graph chordal needs no triangulation, which is most of the time.
    """
    import networkx as nx

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(attributes)
    chordal = graph.copy()
    for a, b in edges:
        shared = set(nx.common_neighbors(chordal, a, b))
        if chordal.has_edge(a, b):
            graph.add_edge(a, b)
        elif keeps_apart(chordal, shared, a, b):
            if is_useful((a, b, *shared), domain, cells, largest):
                graph.add_edge(a, b)
                chordal.add_edge(a, b)
        else:
            trial = graph.copy()
            trial.add_edge(a, b)
            triangulated = eliminate(trial, domain, lambda clique: is_useful(clique, domain, cells, largest))
            if triangulated is not None:
                graph, chordal = trial, triangulated
    return chordal


def bigger_cliques(cliques: Sequence[Marginal], domain: Sequence[int], cells: int, largest: int) -> list[Marginal]:
    """Neighbours in the junction tree joined as long as the noise of all tables falls: m^2 times their cells.

    The paper's error of m tables is in proportion to that. Joined neighbours are a clique of a larger chordal
    graph, so a junction tree of them exists. Each join is the best one; the joint table stays within ``cells``.
    """
    current = sorted(cliques)
    while (joint := _best_join(current, domain, cells, largest)) is not None:
        current = sorted([*(clique for clique in current if not set(clique) <= set(joint)), joint])
    return current


def _best_join(current: Sequence[Marginal], domain: Sequence[int], cells: int, largest: int) -> Marginal | None:
    """Of two neighbours in the junction tree, all attributes of those whose join leaves least noise; None if none.

    What a join leaves out is found by the attributes that it has: a clique is looked at a few times, not once a join.
    """
    tree = junction_tree(current)
    sizes = {clique: table_cells(clique, domain) if len(clique) > 1 else 0 for clique in tree.cliques}
    tables, total = sum(len(clique) > 1 for clique in tree.cliques), sum(sizes.values())
    best, least = None, tables**2 * total
    for child, parent in enumerate(tree.parents):
        if parent is None:
            continue
        within = {*tree.cliques[child], *tree.cliques[parent]}
        joint = tuple(sorted(within))
        if is_useful(joint, domain, cells, largest):
            gone = [tree.cliques[place] for place in {place for a in within for place in tree.holders[a]}]
            gone = [clique for clique in gone if within.issuperset(clique)]
            left = tables - sum(len(clique) > 1 for clique in gone) + 1
            noise = left**2 * (total - sum(sizes[clique] for clique in gone) + table_cells(joint, domain))
            if noise < least:
                best, least = joint, noise
    return best
