"""Candidates of a selection on the wire: grouped, since most attributes share all their parent sets.

A selection has up to a hundred thousand candidates; as the subsets of a pool they take a few dozen bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from operator import eq

from privity.common.data.noisy_tables import AttributeParentPair, Marginal
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates, ParentSets
from privity.common.protocol.step_limits import SELECTION_CANDIDATES
from privity.common.wire.v1 import privity_pb2 as pb

LARGEST_SIZE = 20
"""A table of more binary attributes has more cells than any table may have."""

MOST_GROUPS = 1 << 14
"""Most groups of a selection, attributes of a group, and attributes of a pool: more than any schema has."""


def encode_candidates(candidates: Sequence[AttributeParentPair]) -> list[pb.CandidateGroup]:
    """Groups of neighbours: attributes that follow one another and have the same parent sets."""
    return [_group(group.attributes, group.parents.sets) for group in Candidates.of(candidates).groups]


def _group(attributes: Sequence[int], sets: Sequence[Marginal]) -> pb.CandidateGroup:
    pool, size = sorted({parent for some in sets for parent in some}), len(sets[0])
    if size and len(sets) == comb(len(pool), size) and all(map(eq, sets, combinations(pool, size))):
        return pb.CandidateGroup(attributes=attributes, pool=pool, size=size)
    return pb.CandidateGroup(attributes=attributes, parent_sets=[pb.Attributes(index=some) for some in sets])


def decode_candidates(groups: Iterable[pb.CandidateGroup]) -> Candidates:
    """The candidates in their order. ValueError if they are more than a selection may have."""
    found: list[CandidateGroup] = []
    total = 0
    for place, group in enumerate(groups):
        if max(place + 1, len(group.attributes), len(group.pool)) > MOST_GROUPS:
            raise ValueError("more groups or attributes than a selection may have")
        if max([group.size, *(len(some.index) for some in group.parent_sets)]) > LARGEST_SIZE:
            raise ValueError("larger parent sets than any table can hold")
        number = comb(len(group.pool), group.size) if group.size else len(group.parent_sets)
        total += number * len(group.attributes)
        if total > SELECTION_CANDIDATES:
            raise ValueError("more candidates than a selection may have")
        if not group.attributes:
            continue
        sets = combinations(group.pool, group.size) if group.size else (tuple(s.index) for s in group.parent_sets)
        found.append(CandidateGroup(group.attributes, ParentSets(sets)))
    return Candidates(found)
