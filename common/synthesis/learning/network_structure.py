"""Select the structure of a Bayesian network, attribute by attribute; shared by algorithms.

Source: PrivBayes (Zhang et al., TODS 2017), algorithms 2 and 4, its greedy construction. Over K parties each
selection happens at one of them: DP-SUBN (Su et al., ICDE 2016), section VI-A.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from privity.common.privacy.run_budget import Share
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates, ParentSets
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import ROUND_CELLS
from privity.common.synthesis.learning.countable_pairs import largest_pair, pairs_within
from privity.common.synthesis.learning.maximal_parents import maximal_parent_sets
from privity.common.synthesis.learning.search_frontier import Parents

MOST_CANDIDATES = 200_000
"""Of one selection of ``select_network``."""

ALL_CANDIDATES = 10_000_000
"""Of all its selections."""

LEAST_OFFERED = 8
"""Attributes that a selection offers, if so many are left, before it offers smaller parent sets instead."""


BETA = Fraction(3, 10)
"""The share of epsilon for the selections of PrivBayes' paper; here the most that they get."""

LEAST_BETA = Fraction(1, 10)
"""The least that they get."""

NOISE = 1 / 25
"""Noise of a score in parts of its range that the selections can do with."""


def share_for_selections(score: str, selections: int, share: Share, rows: int) -> Fraction:
    """Share of epsilon that makes the noise of a score ``NOISE`` of its range, within bounds; in thousandths."""
    # n times what one row moves, in parts of the range: R by 3/n and F by 1/n of 1/2, I by this of 1.
    moves = {"R": 6.0, "F": 2.0}.get(score, math.log2(rows + 1) + 1.5)
    needed = 2 * moves * selections / (rows * float(share.epsilon) * NOISE)
    return min(BETA, max(LEAST_BETA, Fraction(math.ceil(1000 * needed), 1000)))


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


async def select_network(
    session: Session,
    phase: str,
    share: Share,
    limits: Limits,
    attributes: Sequence[int],
    first: int,
    *,
    balanced: bool = False,
    score: str = "R",
) -> Parents:
    """A network over ``attributes`` that grows from ``first``; each selection costs its part of the share.

    Args:
        attributes: in the order in which those stand alone that fit into a table with none.
        balanced: equal quotas for the parties, instead of in proportion to their rows.
    """
    network: Parents = {first: ()}
    left = [a for a in attributes if a != first]
    series = session.selection(phase, len(left), share, balanced=balanced, score=score)
    most = min(MOST_CANDIDATES, ALL_CANDIDATES // max(1, len(left)))
    rounds = session.alike([1] * len(left))
    while left:
        # Where not all are offered, nobody chose which ones are.
        start = session.public_coin(f"{phase} {len(left)}", len(left))
        turn = [*left[start:], *left[:start]]
        candidates = useful_candidates(turn, sorted(network), limits, session.schema.derived.domain, most)
        if not candidates:
            # With nothing that is there do they fit into a table.
            network[left.pop(0)] = ()
            continue
        if next(rounds, None) is None:
            break
        pair = await series.select(candidates)
        network[pair.attribute] = pair.parents
        left.remove(pair.attribute)
    return network | dict.fromkeys(left, ())


async def select_forest(
    session: Session,
    phase: str,
    share: Share,
    edges: int,
    attributes: Sequence[int],
    first: int,
    *,
    balanced: bool = False,
    score: str = "R",
) -> Parents:
    """A forest of ``edges`` edges, each selected among all pairs that join two of its trees.

    As in Kruskal's algorithm, where ``select_network`` is like Prim's: few edges are then the strongest of all,
    not those around ``first``. Each tree hangs from ``first`` or from its earliest attribute. Once no pair is left that
    fits into a table, nothing more is selected.
    """
    tree = np.array(attributes)
    sizes = [session.schema.derived.domain[a] for a in attributes]
    pairs = pairs_within(sizes, largest_pair(sizes))
    pairs = pairs[np.lexsort(pairs.T)]
    neighbours: dict[int, list[int]] = {a: [] for a in attributes}
    series = session.selection(phase, edges, share, balanced=balanced, score=score)
    for _ in session.alike([1] * edges):
        pairs = pairs[tree[pairs[:, 0]] != tree[pairs[:, 1]]]
        if not len(pairs):
            break
        places, starts = np.unique(pairs[:, 1], return_index=True)
        parents = np.split(np.array(attributes)[pairs[:, 0]], starts[1:])
        groups = [
            CandidateGroup((attributes[place],), ParentSets.single(some.tolist()))
            for place, some in zip(places.tolist(), parents, strict=True)
        ]
        drawn = await series.select(Candidates(groups))
        x, (p,) = drawn.attribute, drawn.parents
        neighbours[x].append(p)
        neighbours[p].append(x)
        tree[tree == tree[attributes.index(x)]] = tree[attributes.index(p)]
    network: Parents = {}
    for root in (first, *attributes):
        network.setdefault(root, ())
        reached = [root]
        for p in reached:
            new = [x for x in neighbours[p] if x not in network]
            network |= dict.fromkeys(new, (p,))
            reached += new
    return network


def useful_candidates(
    turn: Sequence[int], placed: Sequence[int], limits: Limits, domain: Sequence[int], most: int = MOST_CANDIDATES
) -> Candidates:
    """Attributes not placed with their maximal parent sets, ``most`` in all and within the limits of a selection.

    All of ``turn`` with sets of as many parents as the limits say. If those are too many for a selection, then
    the first few of ``turn``; if fewer than LEAST_OFFERED, then sets of fewer parents. All by public numbers.
    """
    for degree in range(limits.degree, 1, -1):
        # Bounded beforehand too: there may be millions of sets.
        if math.comb(len(placed), degree) <= most:
            offered = _offer(turn, placed, limits, domain, degree, most)
            if len(offered) >= min(len(turn), LEAST_OFFERED):
                return Candidates(offered)
    return Candidates(_offer(turn, placed, limits, domain, 1, most))


def _offer(
    turn: Sequence[int], placed: Sequence[int], limits: Limits, domain: Sequence[int], degree: int, most: int
) -> list[CandidateGroup]:
    """As many attributes of ``turn`` as a selection allows, ascending; single parents fit for one at least."""
    sets: dict[int, ParentSets] = {}
    largest = largest_pair([domain[a] for a in limits.levels])
    offered: list[CandidateGroup] = []
    candidates = cells = 0
    for x in turn:
        room, size = limits.cells // domain[x], domain[x]
        if size not in sets:
            useful = {some for some in maximal_parent_sets(placed, limits.levels, domain, room, degree) if some}
            wide = {(p,) for p in placed if room < domain[p] <= largest // size}
            sets[size] = ParentSets(sorted(useful | wide))
        group = CandidateGroup((x,), sets[size])
        candidates += len(group)
        cells += size * int(sets[size].cells(domain).sum())
        if candidates > most or cells > ROUND_CELLS:
            break
        offered.append(group)
    if degree == 1 and not offered:
        x, room = turn[0], ROUND_CELLS // domain[turn[0]]
        by_cells = sorted(sets[domain[x]].sets, key=lambda some: domain[some[0]])
        fitting = sum(total <= room for total in accumulate(domain[p] for (p,) in by_cells))
        offered = [CandidateGroup((x,), ParentSets(sorted(by_cells[:fitting])))]
    return sorted(offered, key=lambda group: group.attributes)
