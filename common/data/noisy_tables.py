"""The words in which algorithms ask for statistics and get them back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from privity.common.privacy.noise_distribution import NoiseLaw

Marginal = tuple[int, ...]
"""Attribute indices of one contingency table, in the order of its axes."""


@dataclass(frozen=True)
class AttributeParentPair:
    """An attribute X and a parent set Pi of a Bayesian network, by attribute index."""

    attribute: int
    parents: Marginal

    @property
    def marginal(self) -> Marginal:
        """The table that holds Pr[X, Pi]: X on the first axis, then the parents."""
        return (self.attribute, *self.parents)


@dataclass(frozen=True)
class NoisyTable:
    """A contingency table with independent discrete noise on every cell, as it was revealed.

    Attributes:
        attributes: the marginal; the axes of ``counts`` follow it.
        counts: int64, shape = the domain sizes of ``attributes``; may be negative.
        law: that of the variable which the noise of each cell amounts to at least.
        variance: of the noise on one cell (with shared noise K/(K-t) times that of one variable).
        rows: public number of rows that the true counts sum to.
    """

    attributes: Marginal
    counts: np.ndarray
    law: NoiseLaw
    variance: float
    rows: int


@dataclass(frozen=True)
class NoisyScores:
    """Sums of scores over the parties with independent discrete noise on each, as they were revealed.

    Attributes:
        values: int64, shape (scores,).
        law: as of a table.
    """

    values: np.ndarray
    law: NoiseLaw


class NoisyTables(Sequence[NoisyTable]):
    """The tables of one revealed sum, as one vector; each is made when it is asked for, as there may be millions.

    Attributes:
        marginals: of each table.
        vector: int64, all cells, one table after another, C order within each.
        starts: int64, shape (tables + 1,): where each table begins in the vector, and where the last one ends.
        weights: one a table; the noise of a table has ``laws[weight]`` and ``variances[weight]``.
        rows: public number of rows that the true counts of each table sum to.
    """

    def __init__(
        self,
        marginals: Sequence[Marginal],
        vector: np.ndarray,
        domain: Sequence[int],
        weights: Sequence[int],
        laws: Mapping[int, NoiseLaw],
        variances: Mapping[int, float],
        rows: int,
    ) -> None:
        self.marginals, self.vector, self.weights = marginals, vector, weights
        self.laws, self.variances, self.rows = laws, variances, rows
        self._domain = domain
        sizes = np.array([math.prod(domain[a] for a in marginal) for marginal in marginals], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        if self.starts[-1] != vector.size:
            raise ValueError("the vector does not have the cells of the tables")

    def __len__(self) -> int:
        return len(self.marginals)

    @overload
    def __getitem__(self, index: int) -> NoisyTable: ...
    @overload
    def __getitem__(self, index: slice) -> list[NoisyTable]: ...
    def __getitem__(self, index: int | slice) -> NoisyTable | list[NoisyTable]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        marginal, weight = self.marginals[place], self.weights[place]
        counts = self.vector[self.starts[place] : self.starts[place + 1]].reshape([self._domain[a] for a in marginal])
        return NoisyTable(marginal, counts, self.laws[weight], self.variances[weight], self.rows)
