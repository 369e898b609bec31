"""Which values are missing together: measured before anything else about two attributes.

A value that nearly always is missing where another one is, is seldom seen to be by tables of all their values: few rows
have either, and the noise of many cells hides them. One table of all patterns of missing values tells which attributes
belong together, and for a forest of them how often they are missing together.

Privity's own. Privacy: one table; all else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.inference.estimation import collect, one_way_marginals

Counts = npt.NDArray[np.float64]
Pair = tuple[int, int]

SHARE = Fraction(1, 20)
"""Of what is left of the budget after the 1-way tables, where two attributes or more have missing values."""

MOST_PATTERNS = 1 << 12
"""Cells of the table of patterns; attributes with fewer missing values are left out of it."""

STANDS_OUT = 4
"""Standard deviations of its noise from which a count is taken for more than noise."""

LEAST_VARIANCE = 1e-9
"""Of a count, so that what is exact is no division by zero."""

LEAST_EXCESS = 0.002
"""Part of the rows that would have to change for two attributes to be independent, from which on they are not."""


@dataclass(frozen=True)
class Together:
    """Attributes that are missing together.

    Attributes:
        pairs: of the schema's attributes; a forest.
        tables: the 1-way tables, which agree with what is missing, and for each pair what of it is missing.
        left: of the share.
    """

    pairs: list[Pair]
    tables: list[NoisyTable]
    left: Share


async def missing_together(session: Session, phase: str, share: Share, single: Sequence[NoisyTable]) -> Together:
    """Measure which values are missing together, for a part of the share.

    Args:
        single: the 1-way tables.
    """
    presence, base = session.schema.derived.presence, session.schema.derived.base
    attributes = _often_missing(session, single)
    if len(attributes) < 2:
        return Together([], list(single), share)
    (patterns,) = await session.measure(phase, [tuple(presence(a) for a in attributes)], share * SHARE)
    clear = _clear(patterns)

    def marginal(*axes: int) -> NoisyTable:
        counts = clear.sum(axis=tuple(axis for axis in range(clear.ndim) if axis not in axes))
        variance = patterns.variance * max(1.0, np.count_nonzero(clear) / counts.size)
        key = tuple(presence(attributes[axis]) for axis in axes)
        return replace(patterns, attributes=key, counts=counts, variance=variance)

    own = {a: marginal(axis) for axis, a in enumerate(attributes)}
    tables = [_agreeing(table, own[a]) if (a := table.attributes[0]) in own else table for table in single]
    together = [marginal(i, j) for i, j in _forest(clear)]
    pairs = [(base[a], base[b]) for a, b in (table.attributes for table in together)]
    return Together(pairs, [*tables, *together], share * (1 - SHARE))


def _agreeing(single: NoisyTable, missing: NoisyTable) -> NoisyTable:
    """The 1-way table with as many values, and codes that are none, as both tables tell together."""
    apart = len(missing.counts) - 1
    counts = single.counts.astype(np.float64)
    weight = 1 - missing.variance / max(single.variance + missing.variance, LEAST_VARIANCE)
    change = weight * (missing.counts[1:] - counts[-apart:])
    counts[-apart:] += change
    counts[:-apart] -= change.sum() / (len(counts) - apart)
    return replace(single, counts=counts)


def _often_missing(session: Session, single: Sequence[NoisyTable]) -> list[int]:
    """Attributes whose missing values stand out of the noise, as many as one table of patterns has room for."""
    schema, derived = session.schema, session.schema.derived
    declared = [a for a, attribute in enumerate(schema.attributes) if attribute.missing]
    if not declared:
        return []
    estimates = collect(single)
    counts = one_way_marginals(estimates, declared, session.rows)
    missing = {a: float(counts[a][schema.attributes[a].missing_code]) for a in declared}
    seen = [a for a in declared if missing[a] > STANDS_OUT * math.sqrt(estimates[(a,)].variance)]
    found: list[int] = []
    for a in sorted(seen, key=lambda a: (-missing[a], a)):
        if math.prod(derived.domain[derived.presence(b)] for b in (*found, a)) <= MOST_PATTERNS:
            found.append(a)
    return sorted(found)


def _clear(patterns: NoisyTable) -> Counts:
    """Rows of each pattern: they have few, and what does not stand out is noise."""
    counts = np.where(patterns.counts > STANDS_OUT * math.sqrt(patterns.variance), patterns.counts, 0.0)
    return counts * (patterns.rows / max(1.0, float(counts.sum())))


def _forest(patterns: Counts) -> list[Pair]:
    """Pairs of axes that tell most of each other, without a cycle."""
    import networkx as nx

    graph: nx.Graph = nx.Graph()
    for i, j in combinations(range(patterns.ndim), 2):
        others = tuple(axis for axis in range(patterns.ndim) if axis not in (i, j))
        excess, information = _dependence(patterns.sum(axis=others))
        if excess > LEAST_EXCESS * patterns.sum():
            graph.add_edge(i, j, weight=information)
    return sorted((min(pair), max(pair)) for pair in nx.maximum_spanning_edges(graph, data=False))


def _dependence(table: Counts) -> tuple[float, float]:
    """Rows that would have to change for independence, and the mutual information in nats."""
    if not (total := table.sum()):
        return 0.0, 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    there = table > 0
    information = float((table[there] * np.log(table[there] / expected[there])).sum() / total)
    return float(np.abs(table - expected).sum() / 2), information
