"""All pair tables made consistent with each other and with 1-way tables, thousands at a time.

The same result as ``consistency.make_consistent`` for the case in which all pairs of attributes were measured: there
every 1-way marginal is the inverse-variance weighted mean over all tables that hold the attribute, and a pair keeps
what is its own, the interaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import NoisyTables

CELLS_AT_ONCE = 1 << 20
"""Of tables that are held together as floats."""

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairStack:
    """Tables of pairs of one shape.

    Attributes:
        first, second: attributes, int64 of shape (tables,).
        counts: float64, shape (tables, size of the first, size of the second).
        variances: of one cell, shape (tables,).
    """

    first: Places
    second: Places
    counts: Numbers
    variances: Numbers


class ConsistentPairs:
    """Consistent estimates from 1-way tables and tables of all pairs.

    Args:
        tables: at most one of each attribute and of each pair of attributes, which ascend; each attribute in some.
        domain: sizes of all attributes.
        rows: public total of every table.

    Attributes:
        marginals: for each attribute its 1-way estimate in rows, which may be negative; ``rows`` in all.
    """

    def __init__(self, tables: NoisyTables, domain: Sequence[int], rows: int) -> None:
        self._tables, self._domain, self._rows = tables, domain, rows
        self._groups = self._by_shape()
        sums = [np.zeros(size) for size in domain]
        self._totals = np.zeros(len(domain))
        for place, marginal in enumerate(tables.marginals):
            if len(marginal) == 1:
                weight = 1 / tables.variances[tables.weights[place]]
                sums[marginal[0]] += weight * _centred(tables[place].counts.astype(np.float64))
                self._totals[marginal[0]] += weight
        for stack in self._stacks():
            sizes = stack.counts.shape[1:]
            for side, attributes in enumerate((stack.first, stack.second)):
                # A marginal's variance is that of as many cells as it sums.
                weights = 1 / (stack.variances * sizes[1 - side])
                parts = weights[:, None] * _centred(stack.counts.sum(axis=2 - side))
                for attribute, part, weight in zip(attributes.tolist(), parts, weights, strict=True):
                    sums[attribute] += part
                    self._totals[attribute] += weight
        self.marginals = [
            rows / size + total / weight for size, total, weight in zip(domain, sums, self._totals, strict=True)
        ]

    def stacks(self) -> Iterator[PairStack]:
        """Every pair's table with the marginals above; variances as ``make_consistent`` states them."""
        for stack in self._stacks():
            counts = stack.counts
            _, left, right = counts.shape
            first = np.stack([self.marginals[a] for a in stack.first.tolist()])
            second = np.stack([self.marginals[b] for b in stack.second.tolist()])
            counts = counts + ((first - counts.sum(axis=2)) / right)[:, :, None]
            counts = counts + ((second - counts.sum(axis=1)) / left)[:, None, :]
            shares = (
                1 / (stack.variances * right * self._totals[stack.first]),
                1 / (stack.variances * left * self._totals[stack.second]),
            )
            own = (left - 1) * (right - 1) + (left - 1) * shares[0] + (right - 1) * shares[1]
            yield PairStack(stack.first, stack.second, counts, stack.variances * own / (left * right))

    def _by_shape(self) -> dict[tuple[int, int], Places]:
        """Places of the pair tables by their shape."""
        groups: dict[tuple[int, int], list[int]] = {}
        for place, marginal in enumerate(self._tables.marginals):
            if len(marginal) == 2:
                groups.setdefault((self._domain[marginal[0]], self._domain[marginal[1]]), []).append(place)
        return {shape: np.array(places, dtype=np.int64) for shape, places in groups.items()}

    def _stacks(self) -> Iterator[PairStack]:
        """The tables as they were measured."""
        tables = self._tables
        by_weight = np.zeros(max(tables.weights) + 1)
        for weight, variance in tables.variances.items():
            by_weight[weight] = variance
        weights = np.asarray(tables.weights, dtype=np.int64)
        for (left, right), places in self._groups.items():
            step = max(1, CELLS_AT_ONCE // (left * right))
            for start in range(0, len(places), step):
                some = places[start : start + step]
                pairs = np.array([tables.marginals[place] for place in some.tolist()], dtype=np.int64)
                cells = tables.starts[some][:, None] + np.arange(left * right)
                counts = tables.vector[cells].astype(np.float64).reshape(len(some), left, right)
                yield PairStack(pairs[:, 0], pairs[:, 1], counts, by_weight[weights[some]])


def _centred(counts: Numbers) -> Numbers:
    """Without its mean over the last axis: the total is public."""
    return counts - counts.mean(axis=-1, keepdims=True)
