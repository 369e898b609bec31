"""Tables of many pairs of attributes in one vector: there are 124,750 of 500 attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Pair = tuple[int, int]


class StackedPairs(Mapping[Pair, Numbers]):
    """Tables by pair.

    Attributes:
        pairs: in their order; int64, shape (pairs, 2).
        shapes: of their tables; int64, shape (pairs, 2).
        starts: where each table begins in the vector, and where the last one ends; int64, shape (pairs + 1,).
        vector: all cells, C order within each table.
    """

    def __init__(self, pairs: Sequence[Pair] | Places, domain: Sequence[int], vector: Numbers | None = None) -> None:
        self.pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        self._domain = np.asarray(domain, dtype=np.int64)
        self.shapes = self._domain[self.pairs]
        self.starts = np.concatenate([[0], self.sizes.cumsum()])
        self.vector = np.empty(int(self.starts[-1])) if vector is None else vector

    @property
    def sizes(self) -> Places:
        """Cells of each table."""
        return np.asarray(self.shapes.prod(axis=1))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self._places)

    def __getitem__(self, pair: Pair) -> Numbers:
        place = self._places[pair]
        return self.vector[self.starts[place] : self.starts[place + 1]].reshape(self.shapes[place])

    def only(self, kept: npt.NDArray[np.bool_]) -> StackedPairs:
        """Those that are marked, in their order."""
        return StackedPairs(self.pairs[kept], self._domain.tolist(), self.vector[np.repeat(kept, self.sizes)])

    def sums(self, cells: Numbers) -> Numbers:
        """Of the cells of each table, shape (pairs,); ``cells`` are as ``vector``."""
        return np.add.reduceat(cells, self.starts[:-1]) if len(self) else np.zeros(0)

    def by_shape(self) -> Iterator[tuple[Places, Places]]:
        """Places of the tables of each shape, and those of their cells in the vector, shape (places, rows, columns)."""
        if not len(self):
            return
        order = np.lexsort(self.shapes.T)
        ordered = self.shapes[order]
        ends = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
        for places in np.split(order, ends):
            rows, columns = self.shapes[places[0]].tolist()
            cells = self.starts[places][:, None] + np.arange(rows * columns)
            yield places, cells.reshape(-1, rows, columns)

    @cached_property
    def _places(self) -> dict[Pair, int]:
        return {(a, b): place for place, (a, b) in enumerate(self.pairs.tolist())}
