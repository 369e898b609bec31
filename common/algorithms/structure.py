"""Draw the structure of a Bayesian network, attribute by attribute; shared by algorithms.

Source: PrivBayes (Zhang et al., TODS 2017), algorithms 2 and 4, its greedy construction. Over K parties each
draw happens at one of them: DP-SUBN (Su et al., ICDE 2016), section VI-A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from common.algorithms.maximal_parents import maximal_parent_sets
from common.algorithms.search_frontier import Parents
from common.candidates import CandidateGroup, Candidates, ParentSets
from common.errors import Catalogue, PrivityError
from common.protocol.limits import DRAW_CANDIDATES, ROUND_CELLS, TABLE_CELLS, cells_of, count_cells
from common.protocol.session import Session
from common.statistics import AttributeParentPair

MOST_CANDIDATES = 200_000
"""Of one draw of ``draw_network``; beyond, sets of fewer parents are considered."""


async def draw_structure(
    session: Session,
    phase: str,
    epsilon: Fraction,
    degree: int,
    attributes: Sequence[int],
    first: int,
    *,
    balanced: bool = False,
) -> Parents:
    """A network over ``attributes`` that grows from ``first``; each draw costs its share of ``epsilon``.

    Args:
        degree: most parents of an attribute.
        balanced: equal quotas for the parties, instead of in proportion to their rows.
    """
    network: Parents = {first: ()}
    left = [a for a in attributes if a != first]
    series = session.selection(phase, len(left), epsilon, balanced=balanced)
    while left:
        pair = await series.draw(candidates(left, sorted(network), degree, session.schema.derived.domain))
        network[pair.attribute] = pair.parents
        left.remove(pair.attribute)
    return network


@dataclass(frozen=True)
class Limits:
    """What parent sets an attribute may have.

    Attributes:
        levels: for each attribute its own index and those of its generalisations, from the finest on.
        cells: most cells of a useful table; single parents are allowed beyond it.
        degree: most parents.
    """

    levels: Mapping[int, Sequence[int]]
    cells: int
    degree: int


async def draw_network(
    session: Session,
    phase: str,
    epsilon: Fraction,
    limits: Limits,
    attributes: Sequence[int],
    first: int,
    *,
    balanced: bool = False,
    score: str = "R",
) -> Parents:
    """As ``draw_structure``, with maximal parent sets whose tables are useful and parents that are generalised."""
    network: Parents = {first: ()}
    left = [a for a in attributes if a != first]
    series = session.selection(phase, len(left), epsilon, balanced=balanced, score=score)
    while left:
        pair = await series.draw(useful_candidates(left, sorted(network), limits, session.schema.derived.domain))
        network[pair.attribute] = pair.parents
        left.remove(pair.attribute)
    return network


async def draw_forest(
    session: Session,
    phase: str,
    epsilon: Fraction,
    edges: int,
    attributes: Sequence[int],
    first: int,
    *,
    balanced: bool = False,
    score: str = "R",
) -> Parents:
    """A forest of ``edges`` edges, each drawn among all pairs that join two of its trees.

    As in Kruskal's algorithm, where ``draw_structure`` is like Prim's: few edges are then the strongest of all,
    not those around ``first``. Each tree hangs from ``first`` or from its earliest attribute.
    """
    tree = {a: a for a in attributes}
    neighbours: dict[int, list[int]] = {a: [] for a in attributes}
    series = session.selection(phase, edges, epsilon, balanced=balanced, score=score)
    for _ in range(edges):
        groups = [
            CandidateGroup((x,), ParentSets((p,) for p in attributes[:place] if tree[p] != tree[x]))
            for place, x in enumerate(attributes)
        ]
        drawn = await series.draw(Candidates(groups))
        x, (p,) = drawn.attribute, drawn.parents
        neighbours[x].append(p)
        neighbours[p].append(x)
        tree = {a: tree[p] if root == tree[x] else root for a, root in tree.items()}
    network: Parents = {}
    for root in (first, *attributes):
        network.setdefault(root, ())
        reached = [root]
        for p in reached:
            new = [x for x in neighbours[p] if x not in network]
            network |= dict.fromkeys(new, (p,))
            reached += new
    return network


def candidates(
    left: Sequence[int], placed: Sequence[int], degree: int, domain: Sequence[int]
) -> list[AttributeParentPair]:
    """Every attribute not placed with every parent set of the degree, or of the largest one that fits.

    Limits are on declared domains only: tables of at most TABLE_CELLS, ROUND_CELLS for all together.
    """
    for size in range(min(degree, len(placed)), 0, -1):
        sets = list(combinations(placed, size))
        cells = np.outer([domain[x] for x in left], cells_of(sets, domain))
        fits = cells <= TABLE_CELLS
        few = fits.sum() <= DRAW_CANDIDATES and cells[fits].sum() <= ROUND_CELLS
        if few and fits.any(axis=1).all():
            rows = zip(left, fits.tolist(), strict=True)
            return [AttributeParentPair(x, some) for x, row in rows for some, fit in zip(sets, row, strict=True) if fit]
    # Pairs of attributes have been checked before, so each of them is within the limits.
    return [AttributeParentPair(x, (placed[0],)) for x in left]


def useful_candidates(left: Sequence[int], placed: Sequence[int], limits: Limits, domain: Sequence[int]) -> Candidates:
    """Each attribute not placed with its maximal parent sets, as many parents as the limits of a draw allow."""
    for size in range(limits.degree, 0, -1):
        by_room: dict[int, ParentSets] = {}
        groups = []
        for node in left:
            room = limits.cells // domain[node]
            if room not in by_room:
                useful = {some for some in maximal_parent_sets(placed, limits.levels, domain, room, size) if some}
                by_room[room] = ParentSets(sorted(useful | {(p,) for p in placed if domain[p] > room}))
            groups.append(CandidateGroup((node,), by_room[room]))
        pairs = Candidates(groups)
        if len(pairs) <= MOST_CANDIDATES and pairs.cells(domain) <= ROUND_CELLS:
            return pairs
    raise PrivityError(
        Catalogue.DOMAIN_TOO_LARGE, attributes=f"{len(left)} attributes", cells=len(pairs), limit=MOST_CANDIDATES
    )


def parent_sets(attribute: int, parents: Sequence[int], degree: int, domain: Sequence[int]) -> list[tuple[int, ...]]:
    """Choices of the attribute's parents among ``parents``: of the degree, or of the largest size that fits."""
    for size in range(min(degree, len(parents)), 0, -1):
        sets = combinations(parents, size)
        fitting = [some for some in sets if count_cells([(attribute, *some)], domain) <= TABLE_CELLS]
        if fitting:
            return fitting
    return [()]
