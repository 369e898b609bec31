"""Correlation-aware search frontier construction (CSFC): a network plus promising edges, still a DAG.

Source: Su, Tang, Cheng, Chen, Wu (ICDE 2016), section VI-B, Algorithm 1, definitions 3 and 4.
Deviations: ties break by attribute index; line 24 adds nothing when no new edge was found (as printed,
it would add the previous one again); an edge is added only if its pair table has at most
``largest_pair`` cells, so that wide domains do not put the frontier's statistics below the noise floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

Parents = dict[int, tuple[int, ...]]


def build_frontier(
    network: Mapping[int, Sequence[int]],
    association: Mapping[tuple[int, int], float],
    degree: int,
    domain: Sequence[int],
    largest_pair: int,
) -> Parents:
    """Parents of every attribute in the frontier, those of ``network`` first.

    Args:
        network: parents of every attribute in the current Bayesian network.
        association: strength of every pair (i, j) with i < j.
        degree: k', most parents of an attribute.
        largest_pair: most cells of the pair table of an edge that is added.
    """
    import networkx as nx

    parents = {x: list(network[x]) for x in sorted(network)}
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((p, x) for x, ps in parents.items() for p in ps)
    queue = sorted(association, key=lambda pair: (-association[pair], pair))
    for x, y in queue:
        if graph.has_edge(x, y) or graph.has_edge(y, x) or domain[x] * domain[y] > largest_pair:
            continue
        edge = _direction(graph, parents, association, degree, x, y)
        if edge is not None:
            parent, child = edge
            graph.add_edge(parent, child)
            parents[child].append(parent)
    return {x: tuple(ps) for x, ps in parents.items()}


def _direction(
    graph: nx.DiGraph,
    parents: Mapping[int, Sequence[int]],
    association: Mapping[tuple[int, int], float],
    degree: int,
    x: int,
    y: int,
) -> tuple[int, int] | None:
    """(parent, child) of the new edge between x and y, or None if neither may take another parent."""
    import networkx as nx

    room_x, room_y = len(parents[x]) < degree, len(parents[y]) < degree
    if nx.has_path(graph, x, y):
        return (x, y) if room_y else None
    if nx.has_path(graph, y, x):
        return (y, x) if room_x else None
    if not (room_x and room_y):
        return None
    weight_x = sparsity(graph, parents, degree, x) * impact(graph, association, x, y)
    weight_y = sparsity(graph, parents, degree, y) * impact(graph, association, y, x)
    return (y, x) if weight_x >= weight_y else (x, y)


def _up(graph: nx.DiGraph, x: int) -> set[int]:
    import networkx as nx

    return nx.ancestors(graph, x) | {x}


def _down(graph: nx.DiGraph, x: int) -> set[int]:
    import networkx as nx

    return nx.descendants(graph, x) | {x}


def sparsity(graph: nx.DiGraph, parents: Mapping[int, Sequence[int]], degree: int, x: int) -> int:
    """Sp(X): how many parents may still be added to X and what stands above it (definition 3)."""
    return sum(degree - len(parents[above]) for above in _up(graph, x))


def impact(graph: nx.DiGraph, association: Mapping[tuple[int, int], float], x: int, y: int) -> float:
    """Im(X, Y): association that an edge X -> Y would take from later choices (definition 4)."""
    pairs = {(min(a, b), max(a, b)) for a in _up(graph, x) for b in _down(graph, y) if a != b}
    return sum(association[pair] for pair in pairs) - association[min(x, y), max(x, y)]
