"""How far a synthetic table is from the real one: means over pairs and triples of attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from itertools import combinations

import numpy as np

from benchmarks.cache import Values
from privity.common.data.coded_table import CodedTable
from privity.common.release.evaluation.marginal_distance import marginal_distances

MOST_TRIPLES = 1_000
"""All triples are compared if there are no more, otherwise so many, drawn once for a number of attributes."""
DENSE_CELLS = 1 << 18


def distances(real: CodedTable, synthetic: CodedTable) -> Values:
    """Mean total variation distance over pairs and over triples, and the largest over pairs."""
    attributes = len(real.schema.attributes)
    if math.comb(attributes, 3) <= MOST_TRIPLES:
        found = marginal_distances(real, synthetic, ways=(2, 3))
        return {"mean2": found["tvd2"], "largest2": found["tvd2_max"], "mean3": found.get("tvd3", float("nan"))}
    found = marginal_distances(real, synthetic, ways=(2,))
    mean3 = float(np.mean([_distance(real, synthetic, triple) for triple in triples(attributes)]))
    return {"mean2": found["tvd2"], "largest2": found["tvd2_max"], "mean3": mean3}


@cache
def triples(attributes: int) -> tuple[tuple[int, ...], ...]:
    """Triples that stand for all of them; the same in every run."""
    every = list(combinations(range(attributes), 3))
    chosen = np.random.default_rng(0).choice(len(every), MOST_TRIPLES, replace=False)
    return tuple(every[place] for place in sorted(chosen.tolist()))


def _distance(real: CodedTable, synthetic: CodedTable, attributes: Iterable[int]) -> float:
    """Total variation distance of one marginal; of a large one only occupied cells are counted."""
    cells, size = np.zeros(real.rows + synthetic.rows, dtype=np.int64), 1
    for attribute in attributes:
        cells *= real.schema.domain[attribute]
        cells += np.concatenate([real.columns[attribute], synthetic.columns[attribute]])
        size *= real.schema.domain[attribute]
    if size > DENSE_CELLS:
        _, cells = np.unique(cells, return_inverse=True)
        size = int(cells.max()) + 1
    mine, theirs = (np.bincount(part, minlength=size) / len(part) for part in (cells[: real.rows], cells[real.rows :]))
    return float(np.abs(mine - theirs).sum() / 2)
