"""Junction trees: from an undirected graph over attributes to cliques and separators.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 3.2, which takes the standard construction. A triangulation is
not unique: ours is the cheapest, in cells of clique tables, of a few greedy ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from privity.common.data.noisy_tables import Marginal

if TYPE_CHECKING:
    import networkx as nx


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

    @cached_property
    def holders(self) -> dict[int, list[int]]:
        """Places of the cliques that hold each attribute, ascending."""
        found: dict[int, list[int]] = {}
        for place, clique in enumerate(self.cliques):
            for a in clique:
                found.setdefault(a, []).append(place)
        return found

    @cached_property
    def separators(self) -> tuple[Marginal, ...]:
        """For each clique what it shares with the one that it hangs from; ascending, empty without one."""
        return tuple(
            () if p is None else tuple(sorted(set(clique) & set(self.cliques[p])))
            for clique, p in zip(self.cliques, self.parents, strict=True)
        )


def table_cells(clique: Sequence[int], domain: Sequence[int]) -> int:
    """Cells of the clique's table."""
    return math.prod(domain[a] for a in clique)


def is_useful(clique: Sequence[int], domain: Sequence[int], cells: int, largest: int) -> bool:
    """Whether its table is within ``cells`` and ``largest`` attributes; one of two attributes always is."""
    return len(clique) <= 2 or (len(clique) <= largest and table_cells(clique, domain) <= cells)


def keeps_apart(graph: nx.Graph, between: Set[int], a: int, b: int) -> bool:
    """Whether every path from a to b goes through ``between``.

    An edge a-b leaves a chordal graph chordal if what a and b have both for neighbours keeps them apart; with a and b
    these are the new clique (Deshpande, Garofalakis, Jordan, UAI 2001).
    """
    reached, waiting = {a}, [a]
    while waiting:
        for neighbour in graph[waiting.pop()]:
            if neighbour == b:
                return False
            if neighbour not in between and neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return True


def maximal_cliques(chordal: nx.Graph) -> list[Marginal]:
    """All maximal cliques of a chordal graph, each ascending, in lexicographic order."""
    import networkx as nx

    return sorted(tuple(sorted(clique)) for clique in nx.chordal_graph_cliques(chordal))


def triangulate(graph: nx.Graph, domain: Sequence[int]) -> nx.Graph:
    """A chordal graph that contains this one, with few cells in its clique tables.

    The best of: the minimal triangulation of networkx (MCS-M), and ``eliminate``.
    """
    import networkx as nx

    if nx.is_chordal(graph):
        return graph.copy()
    found = [nx.complete_to_chordal_graph(graph)[0], eliminate(graph, domain, lambda _: True)]
    return min((g for g in found if g is not None), key=lambda g: _price(g, domain))


def eliminate(graph: nx.Graph, domain: Sequence[int], allowed: Callable[[Sequence[int]], bool]) -> nx.Graph | None:
    """A chordal graph by node elimination: the cheaper of two orders; None if both make a clique that is not allowed.

    Next comes the node whose elimination adds the fewest edges, or the one that makes the smallest table. Ties go to
    the smaller attribute.
    """

    def added_edges(near: Mapping[int, int], node: int) -> float:
        return sum((near[node] & ~near[other]).bit_count() - 1 for other in _bits(near[node])) / 2

    def cells(near: Mapping[int, int], node: int) -> float:
        return table_cells((node, *_bits(near[node])), domain)

    found = [_eliminate(graph, rule, depth, allowed) for rule, depth in ((added_edges, 2), (cells, 1))]
    return min((g for g in found if g is not None), key=lambda g: _price(g, domain), default=None)


def _price(chordal: nx.Graph, domain: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    return sum(table_cells(c, domain) for c in maximal_cliques(chordal)), sorted(chordal.edges)


def _eliminate(
    graph: nx.Graph,
    rule: Callable[[Mapping[int, int], int], float],
    depth: int,
    allowed: Callable[[Sequence[int]], bool],
) -> nx.Graph | None:
    """The graph and the edges that eliminating its nodes adds, each time the node for which the rule gives least.

    Args:
        rule: of the neighbours of each node, as sets of bits, and a node.
        depth: how many steps from an eliminated node others' values may change.
    """
    added: list[tuple[int, int]] = []
    near = {node: sum(1 << other for other in graph.neighbors(node)) for node in graph}
    value = {node: rule(near, node) for node in near}
    while near:
        node = min(near, key=lambda n: (value[n], n))
        around = near.pop(node)
        if not allowed((node, *_bits(around))):
            return None
        changed = around
        for other in _bits(around):
            missing = around & ~near[other] & ~(1 << other)
            added += ((other, third) for third in _bits(missing))
            near[other] = (near[other] | around) & ~(1 << other) & ~(1 << node)
            if depth > 1:
                changed |= near[other]
        for other in _bits(changed):
            value[other] = rule(near, other)
    filled = graph.copy()
    filled.add_edges_from(added)
    return filled


def _bits(members: int) -> Iterator[int]:
    while members:
        lowest = members & -members
        yield lowest.bit_length() - 1
        members ^= lowest


def junction_tree(cliques: Sequence[Marginal]) -> JunctionTree:
    """The tree that joins the maximal cliques of a chordal graph by their largest intersections.

    A spanning tree of the greatest sum of intersections has the running intersection property. Cliques without
    an attribute in common stand in trees of their own.

    Raises:
        ValueError: no junction tree has these cliques.
    """
    import networkx as nx

    ordered = sorted(cliques)
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(ordered)))
    holders: dict[int, list[int]] = {}
    for number, clique in enumerate(ordered):
        for a in clique:
            holders.setdefault(a, []).append(number)
    meeting = {pair for places in holders.values() for pair in combinations(places, 2)}
    graph.add_edges_from((i, j, {"weight": len(set(ordered[i]) & set(ordered[j]))}) for i, j in sorted(meeting))
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
