"""Clusters of cliques: fewer and larger tables, from which all cliques' tables come with less noise.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.2, definition 2 (OptimalMerging). The noise of m tables has
a scale in proportion to m, so joining two of them may pay although the joint one has more cells. Which of the methods
is taken, and the third one: ``optimal_merging``, ``cccp``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from common.algorithms.junction_tree import table_cells
from common.errors import Catalogue, PrivityError
from common.protocol.limits import ROUND_CELLS, TABLE_CELLS
from common.schema import Schema
from common.statistics import Marginal

Cluster = tuple[Marginal, ...]
Clusters = tuple[Cluster, ...]


def attributes_of(cluster: Cluster) -> Marginal:
    """All attributes of its cliques, ascending: what is measured."""
    return tuple(sorted({a for clique in cluster for a in clique}))


def total_variance(clusters: Sequence[Cluster], domain: Sequence[int]) -> int:
    """Variance of all cells of all cliques' tables that come from the clusters', times epsilon squared.

    ``8 m^2 sum |CL| cells(CL)``, with |CL| the number of cliques in a cluster (definition 2): Laplace noise of scale
    2m/epsilon on the cells of m tables, and each clique's table is summed from all cells of its cluster's.
    """
    return 8 * len(clusters) ** 2 * sum(len(c) * table_cells(attributes_of(c), domain) for c in clusters)


def fits(clusters: Sequence[Cluster], domain: Sequence[int]) -> bool:
    """Whether the tables are within the limits of a round."""
    cells = [table_cells(attributes_of(cluster), domain) for cluster in clusters]
    return max(cells) <= TABLE_CELLS and sum(cells) <= ROUND_CELLS


def check_cliques(cliques: Sequence[Marginal], schema: Schema) -> None:
    """Refuse cliques of which one is too large for a table, naming its attributes, or all for a round.

    Raises:
        PrivityError: domain-too-large.
    """
    cells = {clique: table_cells(clique, schema.derived.domain) for clique in cliques}
    largest = max(cells, key=lambda clique: cells[clique])
    if cells[largest] > TABLE_CELLS:
        named = ", ".join(schema.derived.names[a] for a in largest)
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=named, cells=cells[largest], limit=TABLE_CELLS)
    if sum(cells.values()) > ROUND_CELLS:
        tables = f"{len(cliques)} cliques"
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=tables, cells=sum(cells.values()), limit=ROUND_CELLS)


def merge_greedily(cliques: Sequence[Marginal], domain: Sequence[int]) -> Clusters:
    """From all cliques apart to one cluster, each time the merge of least variance; the best on the way, improved."""
    current: list[Cluster] = [(clique,) for clique in sorted(cliques)]
    best = tuple(current)
    while len(current) > 1:
        merged = []
        for i, j in combinations(range(len(current)), 2):
            rest = [c for k, c in enumerate(current) if k not in (i, j)]
            candidate = [*rest, tuple(sorted(current[i] + current[j]))]
            if fits(candidate, domain):
                merged.append(candidate)
        if not merged:
            break
        current = min(merged, key=lambda clusters: total_variance(clusters, domain))
        best = min(best, tuple(current), key=lambda clusters: total_variance(clusters, domain))
    return descend(ordered(best), domain)


def descend(clusters: Clusters, domain: Sequence[int]) -> Clusters:
    """Move one clique at a time, to another cluster or one of its own, as long as the variance falls."""
    best = clusters
    while True:
        nearer = min(_moves(best, domain), key=lambda move: total_variance(move, domain), default=best)
        if total_variance(nearer, domain) >= total_variance(best, domain):
            return best
        best = nearer


def _moves(clusters: Clusters, domain: Sequence[int]) -> Iterator[Clusters]:
    for place, source in enumerate(clusters):
        others = [c for k, c in enumerate(clusters) if k != place]
        for clique in source:
            left = tuple(c for c in source if c != clique)
            kept = [*others, left] if left else others
            moves = [[*kept, (clique,)], *([*kept[:k], (*kept[k], clique), *kept[k + 1 :]] for k in range(len(others)))]
            yield from (ordered(move) for move in moves if fits(move, domain))


def merge_exactly(cliques: Sequence[Marginal], domain: Sequence[int]) -> Clusters:
    """The best of all partitions; their number grows as Bell's: 4,140 of 8 cliques, 115,975 of 10."""
    partitions = (p for p in _partitions(sorted(cliques)) if len(p) == len(cliques) or fits(p, domain))
    return ordered(min(partitions, key=lambda clusters: total_variance(clusters, domain)))


def _partitions(cliques: Sequence[Marginal]) -> Iterator[list[Cluster]]:
    if not cliques:
        yield []
        return
    first, *others = cliques
    for partition in _partitions(others):
        yield [(first,), *partition]
        for place, cluster in enumerate(partition):
            yield [*partition[:place], (first, *cluster), *partition[place + 1 :]]


def ordered(clusters: Sequence[Cluster]) -> Clusters:
    """The same clusters in one order."""
    return tuple(sorted(tuple(sorted(cluster)) for cluster in clusters))
