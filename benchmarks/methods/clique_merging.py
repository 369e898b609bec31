"""OptimalMerging by three methods on one graph: enumeration, the greedy merge, the relaxed programme."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx

from privity.common.data.noisy_tables import Marginal
from privity.common.synthesis.inference.junction_tree import maximal_cliques, triangulate
from privity.common.synthesis.learning.clique_clusters import Clusters, merge_exactly, merge_greedily, total_variance

ENUMERATED = 9
"""Most cliques of which all partitions (21,147 of 9) are tried here."""

GOLDENS: dict[str, tuple[list[Marginal], list[int]]] = {
    "Example 2": ([(1, 2), (2, 3, 4), (3, 4, 5), (4, 6)], [0, 2, 2, 3, 4, 3, 2]),
    "a chain of 10 pairs": ([(a, a + 1) for a in range(10)], [2] * 11),
    "a star of 12 pairs": ([(0, a) for a in range(1, 13)], [4] + [3] * 12),
}
"""Cliques and the sizes of attributes; the first is of Chen et al. (KDD 2015)."""


def random_chordal(seed: int, least: int = 5, most: int = 16) -> tuple[list[Marginal], list[int]]:
    """Cliques of a random chordal graph of so many attributes of 2 to 6 values, and the values."""
    generator = random.Random(seed)
    nodes = generator.randint(least, most)
    domain = [generator.randint(2, 6) for _ in range(nodes)]
    # Two edges an attribute on average.
    graph = nx.gnp_random_graph(nodes, 2 / (nodes - 1), seed=seed)
    return maximal_cliques(triangulate(graph, domain)), domain


def compare(cliques: Sequence[Marginal], domain: Sequence[int]) -> dict[str, Any]:
    """Total variance (times epsilon squared) and seconds by method; without enumeration beyond ``ENUMERATED`` cliques.

    ``cccp`` starts from what ``greedy`` found, as in ``privity.common.synthesis.learning.optimal_merging``.
    """
    # cvxpy takes a second to load.
    from privity.common.synthesis.learning.merging_by_cccp import merge_by_cccp

    greedy, seconds = _timed(lambda: merge_greedily(cliques, domain))
    apart = total_variance([(clique,) for clique in cliques], domain)
    values: dict[str, Any] = {"cliques": len(cliques), "apart": apart}
    values |= {"greedy": total_variance(greedy, domain), "greedy seconds": seconds}
    programme, seconds = _timed(lambda: merge_by_cccp(cliques, domain, greedy))
    values |= {"cccp": total_variance(programme, domain), "cccp seconds": seconds}
    if len(cliques) <= ENUMERATED:
        exact, seconds = _timed(lambda: merge_exactly(cliques, domain))
        values |= {"exact": total_variance(exact, domain), "exact seconds": seconds}
    return values


def _timed(merge: Callable[[], Clusters]) -> tuple[Clusters, float]:
    started = time.perf_counter()
    found = merge()
    return found, round(time.perf_counter() - started, 4)
