"""What rules make of a model's distribution: the nearest one in which they hold and known marginals stay.

A model knows little of rules: of every attribute it knows the marginal, which was measured, and of rows that no real
row looks like it takes some to be there. Throwing these away changes the marginals of all attributes that rules are
about: what is missing in two columns at once, and seldom in the model, all but vanishes. So the rows that are left get
weights, by which these attributes have the model's marginals again. A weight is a product of one factor for each
attribute, as in raking a survey. Of all distributions in which the rules hold and these marginals stay this is the one
nearest to the model's by relative entropy, the I-projection (Csiszar, Annals of Probability 1975); where no
distribution has all of them, a compromise.

It is found from rows of the model, of whatever kind that is. Post-processing of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable

Numbers = npt.NDArray[np.float64]

LARGEST_WEIGHT = 64.0
"""Of a row, in parts of the mean: what hardly any row of the model stands for is not made of the few that there are."""

MOST_ROUNDS, LEAST_ROUNDS = 1000, 30
WORK = 2e8
"""Rows times attributes times rounds."""

LARGEST_LOG = 50.0
"""Of a factor. Where the marginals cannot all stay, factors of two attributes may grow against each other for ever."""

CLOSE = 1e-6
"""Total variation distance that a round moves the weights by, below which there are no more rounds."""


@dataclass(frozen=True)
class Projection:
    """Weights of rows that meet the rules.

    Attributes:
        attributes: that the rules are about.
        logs: logarithms of the factors of each of these attributes' codes.
    """

    attributes: tuple[int, ...]
    logs: tuple[Numbers, ...]

    def weights(self, table: CodedTable) -> Numbers:
        """Of each row, shape (rows,); some 1 on average."""
        logs = np.zeros(table.rows)
        for attribute, factors in zip(self.attributes, self.logs, strict=True):
            logs += factors[table.columns[attribute]]
        return np.exp(np.minimum(logs, math.log(LARGEST_WEIGHT)))


def project(table: CodedTable, met: npt.NDArray[np.bool_], attributes: Sequence[int]) -> Projection:
    """The weights by which rows that meet the rules have the marginals of all rows.

    Args:
        table: rows of the model.
        met: which of them meet the rules.
        attributes: that the rules are about.
    """
    sizes = [table.schema.domain[a] for a in attributes]
    logs = [np.zeros(size) for size in sizes]
    if not met.any() or met.all():
        return Projection(tuple(attributes), tuple(logs))
    kept = table.take(met)
    _, first, counts = np.unique(cells_of(kept, attributes), return_index=True, return_counts=True)
    cells = [kept.columns[a][first] for a in attributes]
    # As if each code had one row more: no factor is above what one row can stand for, and none is 0.
    targets = []
    for codes, size, a in zip(cells, sizes, attributes, strict=True):
        left = np.bincount(codes, weights=counts, minlength=size)
        # What has hardly any row left is not made of the few that there are, nor are others given up for it.
        target = np.minimum(np.bincount(table.columns[a], minlength=size), LARGEST_WEIGHT * left)
        targets.append((target + 1) / target.sum())
    start = counts / counts.sum()
    found = start
    rounds = min(MOST_ROUNDS, max(LEAST_ROUNDS, int(WORK / (counts.size * len(sizes)))))
    for _ in range(rounds):
        # All attributes at once, each by its part: that ends at a compromise where one after another never ends.
        step = np.zeros_like(found)
        for place, (codes, target) in enumerate(zip(cells, targets, strict=True)):
            now = np.bincount(codes, weights=found, minlength=target.size)
            part = np.where(now > 0, np.log(target / (now + 1 / table.rows)), 0.0) / len(sizes)
            logs[place] = np.clip(logs[place] + part, -LARGEST_LOG, LARGEST_LOG)
            step += part[codes]
        moved = found * np.exp(step)
        moved /= moved.sum()
        apart = 0.5 * float(np.abs(moved - found).sum())
        found = moved
        if apart < CLOSE:
            break
    weights = sum((log[codes] for codes, log in zip(cells, logs, strict=True)), np.zeros_like(start))
    largest = float(weights.max())
    logs[0] -= largest + math.log(float((start * np.exp(weights - largest)).sum()))
    return Projection(tuple(attributes), tuple(logs))


def cells_of(table: CodedTable, attributes: Sequence[int]) -> npt.NDArray[np.int64]:
    """A number for each combination of these attributes' codes that occurs, from 0: that of each row."""
    keys = np.zeros(table.rows, dtype=np.int64)
    for attribute in attributes:
        keys = np.unique(keys * table.schema.domain[attribute] + table.columns[attribute], return_inverse=True)[
            1
        ].ravel()
    return keys
