"""Draw the dependency graph of a junction tree, edge by edge; shared by algorithms.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.1. Its threshold mechanism is not differentially private
at any epsilon (``threshold_mechanism`` in benchmarks/published.py). Here a declared number of edges is drawn by the
exponential mechanism on R; what is a candidate follows from earlier draws and declared domains only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import networkx as nx

from common.algorithms.parameters import PAIR_SHARE, WIDE_SHARE
from common.algorithms.usefulness import holds_typical_table, useful_cells
from common.candidates import CandidateGroup, Candidates, ParentSets
from common.protocol.limits import TABLE_CELLS, check_tables
from common.protocol.session import Session
from common.schema import Schema

Pair = tuple[int, int]

WIDE_CLIQUE = 4
"""Attributes of a typical clique whose table is useful from which on as many edges are drawn as cliques allow.
diabetes130, eps 1, mean 2-way distance of JTree with 3, 4: .0227, .0197."""


@dataclass(frozen=True)
class Plan:
    """How many edges are drawn, and what becomes of the tables.

    Attributes:
        share: part of parameter learning for the cliques' tables, the rest being for the 1-way tables.
        cells: most cells of the table of a clique of more than two attributes.
    """

    edges: int
    share: Fraction
    cells: int


def visible_edges(domain: Sequence[int], rows: int, epsilon: Fraction, strength: float) -> int:
    """How many pair tables may share ``epsilon`` so that an association of ``strength`` is as strong as their noise.

    ``strength`` is Cramer's V: in a table of g x g cells with even margins its squared residuals add up to
    ``V^2 (g-1) / g^2`` times the square of the rows, those of the noise of m tables to ``g^2 8 m^2 / epsilon^2``. The
    sizes' geometric mean stands for g. The paper compares each pair with V = .2, on its rows; this compares the
    noise with it, by public numbers. At least 1.
    """
    g = 2 ** (sum(math.log2(size) for size in domain) / len(domain))
    return max(1, math.floor(strength * rows * float(epsilon) * math.sqrt(g - 1) / (math.sqrt(8) * g**2)))


def largest_number_of_edges(attributes: int, clique: int) -> int:
    """Edges of a chordal graph of so many attributes whose cliques have at most ``clique`` of them."""
    width = min(clique, attributes) - 1
    return width * attributes - width * (width + 1) // 2


def check_all_pairs(schema: Schema) -> None:
    """Refuse attributes of which the pairs are too large to be the candidates of a draw.

    Raises:
        PrivityError: domain-too-large, naming the attributes of a pair that no table holds.
    """
    if len(schema.attributes) > 1:
        check_tables(list(combinations(range(len(schema.attributes)), 2)), schema.derived)


async def draw_edges(
    session: Session,
    phase: str,
    epsilon: Fraction,
    edges: int,
    attributes: Sequence[int],
    allowed: Callable[[nx.Graph], Iterable[Pair]],
    *,
    score: str = "R",
) -> list[Pair]:
    """Edges (a, b), a < b, of a graph over ``attributes``, as drawn; each draw costs its share of ``epsilon``.

    Args:
        edges: how many are drawn: declared, and paid for, beforehand. Once nothing is allowed any more, what is
            drawn is not used.
        allowed: the candidates of a draw, given the graph so far.
    """
    pairs = list(combinations(sorted(attributes), 2))
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(attributes)
    series = session.selection(phase, edges, epsilon, score=score)
    drawn: list[Pair] = []
    for _ in range(edges):
        candidates = list(allowed(graph))
        pair = await series.draw(_grouped(candidates or pairs))
        if candidates:
            drawn.append((pair.parents[0], pair.attribute))
            graph.add_edge(*drawn[-1])
    return drawn


def _grouped(pairs: Iterable[Pair]) -> Candidates:
    parents: dict[int, list[int]] = {}
    for a, b in pairs:
        parents.setdefault(b, []).append(a)
    return Candidates(CandidateGroup((x,), ParentSets((p,) for p in some)) for x, some in sorted(parents.items()))


def plan_edges(
    domain: Sequence[int], rows: int, epsilon: Fraction, theta: Fraction, strength: Fraction, largest_clique: int
) -> Plan:
    """How many edges to draw, and how to divide ``epsilon`` of parameter learning; by public numbers.

    As many as are visible, and the tables' share falls with the part of a forest that they are. Where tables of
    WIDE_CLIQUE attributes of typical size are useful, at least as many as cliques of useful size allow.
    """
    forest = len(domain) - 1
    visible = visible_edges(domain, rows, epsilon * PAIR_SHARE, float(strength))
    edges = min(visible, largest_number_of_edges(len(domain), largest_clique))
    cells = min(TABLE_CELLS, useful_cells(rows, len(domain), epsilon * WIDE_SHARE, theta))
    sizes = range(WIDE_CLIQUE, min(largest_clique, len(domain)) + 1)
    if useful := [size for size in sizes if holds_typical_table(domain, size, cells)]:
        return Plan(max(edges, largest_number_of_edges(len(domain), useful[-1])), WIDE_SHARE, cells)
    part = Fraction(max(1, round(100 * min(1, edges / forest))), 100)
    return Plan(edges, PAIR_SHARE * part, cells)


def decomposable_edges(graph: nx.Graph, domain: Sequence[int], cells: int, clique: int) -> list[Pair]:
    """Edges that leave a chordal graph chordal and its new clique within ``cells`` and ``clique`` attributes.

    Those between two components first and alone, whatever their cells: a forest, as in ``draw_forest``. Within a
    component an edge a-b leaves the graph chordal if the neighbours that a and b share keep them apart; with a
    and b these are the new clique (Deshpande, Garofalakis, Jordan, UAI 2001).
    """
    component = {a: number for number, members in enumerate(nx.connected_components(graph)) for a in members}
    across = [pair for pair in combinations(sorted(graph), 2) if component[pair[0]] != component[pair[1]]]
    if across:
        return across
    # Without a neighbour in common nothing keeps them apart.
    near = {pair for a in graph for pair in combinations(sorted(graph[a]), 2) if not graph.has_edge(*pair)}
    return [(a, b) for a, b in sorted(near) if _stays_chordal(graph, a, b, domain, cells, clique)]


def _stays_chordal(graph: nx.Graph, a: int, b: int, domain: Sequence[int], cells: int, clique: int) -> bool:
    shared = set(nx.common_neighbors(graph, a, b))
    if len(shared) + 2 > clique or domain[a] * domain[b] * math.prod(domain[c] for c in shared) > cells:
        return False
    reached, waiting = {a}, [a]
    while waiting:
        for neighbour in graph[waiting.pop()]:
            if neighbour == b:
                return False
            if neighbour not in shared and neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return True
