"""Joint counts of many attributes with one parent set, for scores of many attribute-parent pairs.

Small tables are counted on packed one-hot columns (64 rows a word, AND and population count), large ones by
cell numbers as in ``common.counting``; the result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from common.counting import contingency_tables
from common.table import CodedTable

PACKED_CELLS = 96
"""Largest table that is counted on packed columns. 45,222 rows, one core: 16 cells .012 ms against .06 ms."""

Mask = npt.NDArray[np.uint64]


class JointCounter:
    """Counts on one table; keeps the packed columns that it has made."""

    def __init__(self, table: CodedTable) -> None:
        self._table = table
        self._packed: dict[int, Mask] = {}

    def count(self, parents: Sequence[int], attributes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
        """For each attribute its table with the parents: int64, shape (size of the attribute, cells of the parents)."""
        domain = self._table.schema.derived.domain
        width = prod(domain[p] for p in parents)
        narrow = [a for a in attributes if domain[a] * width <= PACKED_CELLS]
        counted = dict(zip(narrow, self._count_packed(parents, narrow), strict=True))
        wide = [a for a in attributes if a not in counted]
        tables = contingency_tables(self._table, [(*parents, a) for a in wide])
        counted.update((a, t.reshape(width, -1).T) for a, t in zip(wide, tables, strict=True))
        return [counted[a] for a in attributes]

    def _count_packed(self, parents: Sequence[int], attributes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
        if not attributes:
            return []
        cells = self._mask(parents[0])
        for parent in parents[1:]:
            joined = cells[:, None, :] & self._mask(parent)[None, :, :]
            cells = joined.reshape(-1, joined.shape[-1])
        totals = np.bitwise_count(cells).sum(axis=1, dtype=np.int64)
        tables = []
        for attribute in attributes:
            # What the last value has is what the others leave.
            mask = self._mask(attribute)[:-1]
            counts = np.bitwise_count(mask[:, None, :] & cells[None, :, :]).sum(axis=2, dtype=np.int64)
            tables.append(np.vstack([counts, totals - counts.sum(axis=0)]))
        return tables

    def _mask(self, attribute: int) -> Mask:
        """Packed one-hot columns, shape (size, words); bits beyond the last row are 0."""
        if attribute not in self._packed:
            size = self._table.schema.derived.domain[attribute]
            one_hot = self._table.column(attribute)[None, :] == np.arange(size)[:, None]
            packed = np.packbits(one_hot, axis=1)
            self._packed[attribute] = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        return self._packed[attribute]
