"""How far a synthetic table is from the real one: means over pairs and triples of attributes."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal
from privity.common.release.evaluation.marginal_distance import marginal_distances

MOST_TRIPLES = 1_000
"""All triples are compared if there are no more, otherwise so many, drawn once for a number of attributes."""

Shares = npt.NDArray[np.float64]


def distances(real: CodedTable, synthetic: CodedTable) -> dict[str, float]:
    """Mean total variation distance over pairs and over triples, and the largest over pairs."""
    attributes = len(real.schema.attributes)
    few = math.comb(attributes, 3) <= MOST_TRIPLES
    found = marginal_distances(real, synthetic, ways=(2, 3) if few else (2,))
    if few:
        mean3 = found.get("tvd3", float("nan"))
    else:
        mean3 = float(np.mean([variation(*shares_of(real, synthetic, triple)) for triple in triples(attributes)]))
    return {"mean2": found["tvd2"], "largest2": found["tvd2_max"], "mean3": mean3}


@cache
def triples(attributes: int) -> tuple[Marginal, ...]:
    """Triples that stand for all of them; the same in every run."""
    every = list(combinations(range(attributes), 3))
    chosen = np.random.default_rng(0).choice(len(every), MOST_TRIPLES, replace=False)
    return tuple(every[place] for place in sorted(chosen.tolist()))


def shares_of(real: CodedTable, synthetic: CodedTable, marginal: Marginal) -> tuple[Shares, Shares]:
    """Shares of both tables, shape (cells,); of more cells than rows only those in which either table has one."""
    cells = np.zeros(real.rows + synthetic.rows, dtype=np.int64)
    for a in marginal:
        cells = cells * real.schema.domain[a] + np.concatenate([real.columns[a], synthetic.columns[a]])
    count = math.prod(real.schema.domain[a] for a in marginal)
    if count > cells.size:
        found, cells = np.unique(cells, return_inverse=True)
        count = found.size
    mine, theirs = (np.bincount(part, minlength=count) for part in np.split(cells, [real.rows]))
    return mine / real.rows, theirs / synthetic.rows


def l2(first: Shares, second: Shares) -> float:
    return float(np.sqrt(((first - second) ** 2).sum()))


def variation(first: Shares, second: Shares) -> float:
    """Total variation distance."""
    return float(np.abs(first - second).sum() / 2)
