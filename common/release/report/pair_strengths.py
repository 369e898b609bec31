"""How strongly each pair of attributes hangs together: as it was measured, and in the synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.release.report.noisy_association import NOTHING, Noise, Strength, strengths
from privity.common.synthesis.inference.pooled_estimates import Pooled, PooledEstimates

CELLS_AT_ONCE = 1 << 22
"""Of pairs that are counted together, as whole numbers."""

MOST_SHOWN = 5_000
"""Pairs of a page: all of 100 attributes."""

TABLES_CELLS = 1 << 16
"""Of tables of one shape whose strength is found together."""

Noisy = tuple[npt.NDArray[np.number], int, Noise]
"""Counts, rows and the noise, as ``strengths`` takes them."""


@dataclass(frozen=True)
class Pair:
    """Two attributes, ``a < b`` in the order of the schema; ``measured`` is None if no noisy marginal holds both."""

    a: int
    b: int
    measured: Strength | None
    margin: Pooled | None
    synthetic: Strength

    @property
    def rank(self) -> tuple[float, float, int, int]:
        """Orders pairs from the strongest down, by what was measured where that is told from noise."""
        told = self.measured is not None and self.measured.told
        return (-(self.measured.v if self.measured and told else 0.0), -self.synthetic.v, self.a, self.b)


def pairs(pooled: PooledEstimates, table: CodedTable) -> list[Pair]:
    """All pairs of attributes that have a domain and fit into a table, in the order of the schema."""
    domain = table.schema.domain
    known = [a for a, one in enumerate(table.schema.attributes) if not one.discover]
    every = [(a, b) for a, b in combinations(known, 2) if domain[a] * domain[b] <= TABLE_CELLS]
    margins = [pooled.of(a, b) for a, b in every]
    measured = measured_strengths(margins)
    found: list[Pair] = []
    for some in _batches(every, domain):
        tables = [(joint, table.rows, NOTHING) for joint in contingency_tables(table, some)]
        for (a, b), synthetic in zip(some, _strengths(tables), strict=True):
            assert synthetic is not None
            place = len(found)
            found.append(Pair(a, b, measured[place], margins[place], synthetic))
    return found


def measured_strengths(margins: Sequence[Pooled | None]) -> list[Strength | None]:
    """Of estimates of pairs; None where there is none."""
    return _strengths([None if one is None else _noisy(one) for one in margins])


def shown(found: Sequence[Pair]) -> list[Pair]:
    """Those that a page has room for, the strongest ones, in their order."""
    kept = {id(pair) for pair in sorted(found, key=lambda pair: pair.rank)[:MOST_SHOWN]}
    return [pair for pair in found if id(pair) in kept]


def _noisy(margin: Pooled) -> Noisy:
    of = margin.estimate.component_variance
    return margin.counts, margin.rows, Noise(of((0, 1)), of((0,)), of((1,)), margin.excess, margin.surely)


def _batches(pairs: Sequence[tuple[int, int]], domain: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """The pairs in their order, some at a time: as many as are counted together."""
    some: list[tuple[int, int]] = []
    cells = 0
    for a, b in pairs:
        if some and cells + domain[a] * domain[b] > CELLS_AT_ONCE:
            yield some
            some, cells = [], 0
        some.append((a, b))
        cells += domain[a] * domain[b]
    if some:
        yield some


def _strengths(tables: Sequence[Noisy | None]) -> list[Strength | None]:
    """Of each table; those of one shape are looked at together."""
    found: list[Strength | None] = [None] * len(tables)
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for place, table in enumerate(tables):
        if table is not None:
            by_shape.setdefault(table[0].shape, []).append(place)
    for shape, places in by_shape.items():
        step = max(1, TABLES_CELLS // math.prod(shape))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            counts, rows, noise = zip(*(tables[place] for place in some), strict=True)
            together = strengths(np.stack(counts), np.array(rows, dtype=np.float64), noise)
            for place, one in zip(some, together, strict=True):
                found[place] = one
    return found
