"""Junction trees: from an undirected graph over attributes to cliques and separators.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 3.2, which takes the standard construction. A triangulation is
not unique: ours is the cheapest, in cells of clique tables, of a few greedy ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx

from common.statistics import Marginal


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each one but the first of its component hangs from an earlier one.

    Running intersection: what a clique shares with all earlier ones is in its separator, which is within one of them.

    Attributes:
        cliques: sets of attributes, each ascending; none within another one.
        parents: for each clique the place of the one that it hangs from; None for the first of a component.
    """

    cliques: tuple[Marginal, ...]
    parents: tuple[int | None, ...]

    @property
    def separators(self) -> tuple[Marginal, ...]:
        """For each clique what it shares with the one that it hangs from; ascending, empty without one."""
        return tuple(
            () if p is None else tuple(sorted(set(clique) & set(self.cliques[p])))
            for clique, p in zip(self.cliques, self.parents, strict=True)
        )


def table_cells(clique: Sequence[int], domain: Sequence[int]) -> int:
    """Cells of the clique's table."""
    return math.prod(domain[a] for a in clique)


def maximal_cliques(chordal: nx.Graph) -> list[Marginal]:
    """All maximal cliques of a chordal graph, each ascending, in lexicographic order."""
    return sorted(tuple(sorted(clique)) for clique in nx.chordal_graph_cliques(chordal))


def triangulate(graph: nx.Graph, domain: Sequence[int]) -> nx.Graph:
    """A chordal graph that contains this one, with few cells in its clique tables.

    The best of: the minimal triangulation of networkx (MCS-M), and node elimination that takes next the node
    whose elimination adds the fewest edges, or makes the smallest table. Ties go to the smaller attribute.
    """
    if nx.is_chordal(graph):
        return graph.copy()

    def added_edges(current: nx.Graph, node: int) -> int:
        return sum(not current.has_edge(a, b) for a, b in combinations(current.neighbors(node), 2))

    def cells(current: nx.Graph, node: int) -> int:
        return table_cells((node, *current.neighbors(node)), domain)

    found = [nx.complete_to_chordal_graph(graph)[0], *(_eliminate(graph, rule) for rule in (added_edges, cells))]
    return min(found, key=lambda g: (sum(table_cells(c, domain) for c in maximal_cliques(g)), sorted(g.edges)))


def _eliminate(graph: nx.Graph, rule: Callable[[nx.Graph, int], int]) -> nx.Graph:
    """The graph and the edges that eliminating its nodes adds, each time the node for which the rule gives least."""
    filled, current = graph.copy(), graph.copy()
    while current:
        node = min(current.nodes, key=lambda n: (rule(current, n), n))
        new = [pair for pair in combinations(sorted(current.neighbors(node)), 2) if not current.has_edge(*pair)]
        filled.add_edges_from(new)
        current.add_edges_from(new)
        current.remove_node(node)
    return filled


def junction_tree(cliques: Sequence[Marginal]) -> JunctionTree:
    """The tree that joins the maximal cliques of a chordal graph by their largest intersections.

    A spanning tree of the greatest sum of intersections has the running intersection property. Cliques without
    an attribute in common stand in trees of their own.

    Raises:
        ValueError: no junction tree has these cliques.
    """
    ordered = sorted(cliques)
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(ordered)))
    for i, j in combinations(range(len(ordered)), 2):
        if shared := len(set(ordered[i]) & set(ordered[j])):
            graph.add_edge(i, j, weight=shared)
    forest = nx.maximum_spanning_tree(graph)
    order: list[int] = []
    parents: dict[int, int | None] = {}
    for root in range(len(ordered)):
        if root not in parents:
            parents[root] = None
            order.append(root)
            for parent, child in nx.bfs_edges(forest, root, sort_neighbors=sorted):
                parents[child] = parent
                order.append(child)
    place = {clique: new for new, clique in enumerate(order)}
    tree = JunctionTree(
        tuple(ordered[i] for i in order),
        tuple(None if (parent := parents[i]) is None else place[parent] for i in order),
    )
    _check_running_intersection(tree)
    return tree


def _check_running_intersection(tree: JunctionTree) -> None:
    seen: set[int] = set()
    for clique, separator in zip(tree.cliques, tree.separators, strict=True):
        if set(clique) & seen != set(separator):
            raise ValueError("these are not the cliques of a chordal graph")
        seen |= set(clique)
