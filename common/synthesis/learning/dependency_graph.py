"""Select the dependency graph of a junction tree, edge by edge; shared by algorithms.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.1. Its threshold mechanism is not differentially private
at any epsilon (``threshold_mechanism`` in benchmarks/published.py). Here a declared number of edges is selected by the
exponential mechanism on R; what is a candidate follows from earlier selections and declared domains only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privity.common.privacy.run_budget import Share
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates, ParentSets
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS
from privity.common.synthesis.inference.junction_tree import is_useful, keeps_apart
from privity.common.synthesis.learning.countable_pairs import (
    cells_of_pairs,
    largest_pair,
    pairs_within,
    within_a_selection,
)
from privity.common.synthesis.learning.network_structure import LEAST_BETA, share_for_selections
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, WIDE_SHARE
from privity.common.synthesis.learning.theta_usefulness import TableNoise, holds_typical_table, useful_cells

if TYPE_CHECKING:
    import networkx as nx

Pair = tuple[int, int]

WIDE_CLIQUE = 4
"""Attributes of a typical clique whose table is useful from which on as many edges are selected as cliques allow."""


LARGEST_CLIQUE = 12
"""Most attributes of a clique that a setting may ask for: a table of 2^12 cells at least."""


@dataclass(frozen=True)
class Plan:
    """How many edges are selected, and what becomes of the tables.

    Attributes:
        share: part of parameter learning for the cliques' tables, the rest being for the 1-way tables.
        cells: most cells of the table of a clique of more than two attributes.
    """

    edges: int
    share: Fraction
    cells: int


def visible_edges(domain: Sequence[int], noise: TableNoise, share: Share, strength: float) -> int:
    """How many pair tables may have the share so that an association of ``strength`` is as strong as their noise.

    ``strength`` is Cramer's V: in a table of g x g cells with even margins its squared residuals add up to
    ``V^2 (g-1) / g^2`` times the square of the rows, those of noise of the scale b to ``g^2 2 b^2``. The
    sizes' geometric mean stands for g. The paper compares each pair with V = .2, on its rows; this compares the
    noise with it, by public numbers. At least 1, and at most what a forest has.
    """
    g = 2 ** (sum(math.log2(size) for size in domain) / len(domain))
    largest = strength * noise.rows * math.sqrt((g - 1) / 2) / g**2
    return 1 + sum(noise.scale(tables, share) <= largest for tables in range(2, len(domain)))


def most_edges(domain: Sequence[int], cells: int, clique: int) -> int:
    """Edges of a chordal graph that is built up from the smallest attributes, each joined to as many before it as fit.

    A clique of more than two attributes has at most ``cells`` and at most ``clique`` of them; of attributes of one
    size no such graph has more edges. More selections could not be used.
    """
    edges = 0
    sizes = sorted(domain)
    for place in range(1, len(sizes)):
        joined, product = 1, sizes[place] * sizes[0]
        while joined < min(place, clique - 1) and product * sizes[joined] <= cells:
            product *= sizes[joined]
            joined += 1
        edges += joined
    return edges


def most_cells(domain: Sequence[int]) -> int:
    """Most cells of each clique's table so that all of them fit into a round, whatever the graph.

    A chordal graph has at most as many cliques as attributes. Pairs may be larger: the heaviest ones are set aside.
    """
    pairs = np.sort(cells_of_pairs(pairs_within(domain, largest_pair(domain)), domain))[-len(domain) :]
    return min(TABLE_CELLS, max(0, ROUND_CELLS - int(pairs.sum())) // len(domain))


async def select_edges(
    session: Session,
    phase: str,
    share: Share,
    edges: int,
    attributes: Sequence[int],
    allowed: Callable[[nx.Graph], Iterable[Pair]],
    *,
    score: str = "R",
) -> list[Pair]:
    """Edges (a, b), a < b, of a graph over ``attributes``, as selected; each selection costs its part of the share.

    Args:
        edges: how many are selected: declared, and paid for, beforehand. Once nothing is allowed any more, what is
            selected is not used.
        allowed: the candidates of a selection, given the graph so far.
    """
    import networkx as nx

    pairs = candidate_edges(session.schema.domain)
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(attributes)
    series = session.selection(phase, edges, share, score=score)
    drawn: list[Pair] = []
    candidates = list(allowed(graph))
    for _ in session.alike([1] * edges):
        pair = await series.select(_grouped(candidates or pairs))
        if candidates:
            drawn.append((pair.parents[0], pair.attribute))
            graph.add_edge(*drawn[-1])
            candidates = list(allowed(graph))
    return drawn


def candidate_edges(domain: Sequence[int]) -> list[Pair]:
    """All pairs of attributes with these sizes that may be joined (``countable_pairs``)."""
    return _as_pairs(_candidates(domain))


def _candidates(domain: Sequence[int]) -> npt.NDArray[np.int64]:
    return within_a_selection(pairs_within(domain, largest_pair(domain)), domain)


def _as_pairs(pairs: npt.NDArray[np.int64]) -> list[Pair]:
    return list(zip(*pairs.T.tolist(), strict=True)) if len(pairs) else []


def _grouped(pairs: Iterable[Pair]) -> Candidates:
    ends = np.array(list(pairs), dtype=np.int64)
    ends = ends[np.lexsort(ends.T)]
    attributes, starts = np.unique(ends[:, 1], return_index=True)
    groups = zip(attributes.tolist(), np.split(ends[:, 0], starts[1:]), strict=True)
    return Candidates(CandidateGroup((x,), ParentSets.single(parents.tolist())) for x, parents in groups)


def plan_edges(
    domain: Sequence[int],
    noise: TableNoise,
    share: Share,
    theta: Fraction,
    strength: Fraction,
    largest_clique: int,
    edges: int | None = None,
) -> Plan:
    """How many edges to select, and how to divide the share of parameter learning; by public numbers.

    As many as are visible while these are fewer than a forest's; the tables' share falls with the part of a forest
    that they are. Beyond, an edge joins tables to larger ones and makes their number no larger, so that their size is
    the limit: as many edges as useful cliques of three attributes allow, or of a typical useful clique's if that has
    more.

    Args:
        edges: the number itself, in the place of all this.
    """
    cells = min(most_cells(domain), useful_cells(noise, len(domain), share * WIDE_SHARE, theta))
    visible = visible_edges(domain, noise, share * PAIR_SHARE, float(strength))
    forest = len(domain) - 1
    sizes = range(WIDE_CLIQUE, min(largest_clique, len(domain)) + 1)
    typical = max((size for size in sizes if holds_typical_table(domain, size, cells)), default=WIDE_CLIQUE - 1)
    if typical >= WIDE_CLIQUE or visible >= forest:
        planned = most_edges(domain, cells, min(typical, largest_clique))
    else:
        planned = visible
    chosen = edges or planned
    part = Fraction(max(1, round(100 * min(1, chosen / forest))), 100)
    return Plan(chosen, (WIDE_SHARE if typical >= WIDE_CLIQUE else PAIR_SHARE) * part, cells)


def share_for_edges(
    domain: Sequence[int],
    noise: TableNoise,
    share: Share,
    theta: Fraction,
    strength: Fraction,
    largest_clique: int,
) -> Fraction:
    """Share of epsilon for the selections: what those of a forest need, or of the edges planned if these are fewer."""
    planned = plan_edges(domain, noise, share * (1 - LEAST_BETA), theta, strength, largest_clique).edges
    return share_for_selections("R", min(planned, len(domain) - 1), share, noise.rows)


def decomposable_edges(graph: nx.Graph, domain: Sequence[int], cells: int, clique: int) -> list[Pair]:
    """Edges that leave a chordal graph chordal and its new clique within ``cells`` and ``clique`` attributes.

    Those between two components first and alone, whatever their cells: a forest, as in ``select_forest``. Within a
    component those whose common neighbours keep their ends apart.
    """
    import networkx as nx

    component = np.zeros(len(domain), dtype=np.int64)
    for number, members in enumerate(nx.connected_components(graph)):
        component[list(members)] = number
    pairs = _candidates(domain)
    across = _as_pairs(pairs[component[pairs[:, 0]] != component[pairs[:, 1]]])
    if across:
        return across
    # Without a neighbour in common nothing keeps them apart.
    near = {pair for a in graph for pair in combinations(sorted(graph[a]), 2) if not graph.has_edge(*pair)}
    closing = [(a, b) for a, b in sorted(near) if _stays_chordal(graph, a, b, domain, cells, clique)]
    return _as_pairs(within_a_selection(np.array(closing, dtype=np.int64).reshape(-1, 2), domain))


def _stays_chordal(graph: nx.Graph, a: int, b: int, domain: Sequence[int], cells: int, clique: int) -> bool:
    shared = set(graph[a]) & set(graph[b])
    small = shared or domain[a] * domain[b] <= largest_pair(domain)
    return bool(small) and is_useful((a, b, *shared), domain, cells, clique) and keeps_apart(graph, shared, a, b)
