"""Clusters of cliques: fewer and larger tables, from which all cliques' tables come with less noise.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.2, definition 2 (OptimalMerging). The noise of m tables has
a scale in proportion to m, so joining two of them may pay although the joint one has more cells. Which of the methods
is taken, and the third one: ``optimal_merging``, ``cccp``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS
from privity.common.synthesis.inference.junction_tree import table_cells

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
    work = _Merging([(clique,) for clique in sorted(cliques)], domain)
    best, least = work.clusters, work.variance
    while work.merge():
        if work.variance < least:
            best, least = work.clusters, work.variance
    return descend(ordered(best), domain)


class _Merging:
    """Clusters that are joined two by two; the cells of joint tables are kept, so that a merge costs little.

    With m tables given, their total variance is in proportion to the sum of (cliques of a cluster) times (its cells).
    """

    def __init__(self, clusters: Sequence[Cluster], domain: Sequence[int]) -> None:
        self._domain = domain
        self._clusters = list(clusters)
        self._cells = [table_cells(attributes_of(cluster), domain) for cluster in clusters]
        # What is too large for a table is infinite, what is not above the diagonal too.
        self._joint = np.full((len(clusters), len(clusters)), np.inf)
        for i, j in combinations(range(len(clusters)), 2):
            self._joint[i, j] = self._cells_of(i, j)
        self._alive = list(range(len(clusters)))

    @property
    def clusters(self) -> Clusters:
        return tuple(self._clusters[i] for i in self._alive)

    @property
    def variance(self) -> int:
        return 8 * len(self._alive) ** 2 * sum(len(self._clusters[i]) * self._cells[i] for i in self._alive)

    def merge(self) -> bool:
        """Join the two whose joint table adds least; False if none fits, or one is left."""
        cells = np.array(self._cells, dtype=np.float64)
        total = cells[self._alive].sum()
        weights = np.array([len(cluster) for cluster in self._clusters])
        added = (weights[:, None] + weights) * self._joint - ((weights * cells)[:, None] + weights * cells)
        added[total + self._joint - cells[:, None] - cells > ROUND_CELLS] = np.inf
        i, j = (int(place) for place in np.unravel_index(added.argmin(), added.shape))
        if not np.isfinite(added[i, j]):
            return False
        self._clusters[i] = tuple(sorted(self._clusters[i] + self._clusters[j]))
        self._cells[i] = int(self._joint[i, j])
        self._alive.remove(j)
        self._joint[j, :] = self._joint[:, j] = np.inf
        for k in self._alive:
            if k != i:
                self._joint[min(i, k), max(i, k)] = self._cells_of(min(i, k), max(i, k))
        return True

    def _cells_of(self, i: int, j: int) -> float:
        cells = table_cells(attributes_of(self._clusters[i] + self._clusters[j]), self._domain)
        return cells if cells <= TABLE_CELLS else math.inf


def descend(clusters: Clusters, domain: Sequence[int]) -> Clusters:
    """Move one clique at a time, to another cluster or one of its own, as long as the variance falls."""
    best = clusters
    while (nearer := _best_move(best, domain)) is not None:
        best = nearer
    return best


def _best_move(clusters: Clusters, domain: Sequence[int]) -> Clusters | None:
    """The best clusters one move away; None if none are better. A move changes two terms of the sum only."""
    cells = [table_cells(attributes_of(cluster), domain) for cluster in clusters]
    total = sum(cells)
    terms = sum(len(cluster) * size for cluster, size in zip(clusters, cells, strict=True))
    least, best = total_variance(clusters, domain), None
    has = np.zeros((len(clusters), len(domain)), dtype=np.bool_)
    for place, cluster in enumerate(clusters):
        has[place, list(attributes_of(cluster))] = True
    sizes, members = np.array(cells, dtype=np.float64), np.array([len(cluster) for cluster in clusters])
    for place, source in enumerate(clusters):
        for clique in source:
            left = tuple(c for c in source if c != clique)
            kept = table_cells(attributes_of(left), domain) if left else 0
            without = terms - len(source) * cells[place] + len(left) * kept
            tables = len(clusters) - (not left)
            own = table_cells(clique, domain)
            alone = 8 * (tables + 1) ** 2 * (without + own)
            if alone < least:
                least, best = alone, _moved(clusters, place, left, clique, -1)
            # Of each other cluster with the clique: exact below 2^53, and of more cells than that it does not fit.
            joint = sizes * np.where(has[:, list(clique)], 1.0, np.array([domain[a] for a in clique])).prod(axis=1)
            sums = without + (members + 1) * joint - members * sizes
            sums[(joint > TABLE_CELLS) | (total - cells[place] + kept + joint - sizes > ROUND_CELLS)] = np.inf
            sums[place] = np.inf
            k = int(sums.argmin())
            if np.isfinite(sums[k]) and (variance := 8 * tables**2 * int(sums[k])) < least:
                least, best = variance, _moved(clusters, place, left, clique, k)
    return best


def _moved(clusters: Clusters, place: int, left: Cluster, clique: Marginal, target: int) -> Clusters:
    """The clusters with ``clique`` moved from ``place``, where ``left`` stays, to ``target`` (-1: one of its own)."""
    new = [(*c, clique) if k == target else c for k, c in enumerate(clusters) if k != place]
    return ordered([*new, *([left] if left else []), *([(clique,)] if target < 0 else [])])


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
