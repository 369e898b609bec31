"""Joint counts of many attributes with one parent set, for scores of many attribute-parent pairs.

Small tables are counted on packed one-hot columns (64 rows a word, AND and population count), large ones by
cell numbers as in ``privity.common.data.contingency_tables``, several attributes in one wider table; the result is the
same. Both go through the rows in blocks that stay in the processor's cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal

PACKED_CELLS = 96
"""Largest table that is counted on packed columns (docs/performance.md)."""

SHARED_CELLS = 1 << 15
"""Largest table in which attributes are counted together (docs/performance.md)."""

THREADED_ROWS = 1 << 20
"""Rows from which on tables are counted in threads: numpy lets go of the interpreter while it counts, which pays
if that takes long."""

MOST_THREADS = 8
REQUESTS_AT_ONCE = 64
BLOCK_ROWS = 1 << 16
BLOCK_WORDS = 1 << 13
STACKS = 4

Mask = npt.NDArray[np.uint64]
Cells = npt.NDArray[np.integer[Any]]
Counts = npt.NDArray[np.int64]
Request = tuple[Marginal, Sequence[int]]


class JointCounter:
    """Counts on one table; keeps the packed columns that it has made."""

    def __init__(self, table: CodedTable) -> None:
        self._table = table
        self._packed: dict[int, Mask] = {}
        self._stacked: dict[tuple[int, ...], Mask] = {}

    def count(self, parents: Sequence[int], attributes: Sequence[int]) -> list[Counts]:
        """For each attribute its table with the parents: int64, shape (size of the attribute, cells of the parents)."""
        domain = self._table.schema.derived.domain
        width = prod(domain[p] for p in parents)
        narrow = [a for a in attributes if domain[a] * width <= PACKED_CELLS]
        counted = dict(zip(narrow, self._count_packed(parents, narrow), strict=True))
        wide = [a for a in attributes if a not in counted]
        counted.update(zip(wide, self._count_cells(parents, wide), strict=True))
        return [counted[a] for a in attributes]

    def count_all(self, requests: Sequence[Request]) -> Iterator[list[Counts]]:
        """``count`` of each request, (parents, attributes), in their order; of a long table two or more at a time."""
        threads = min(os.cpu_count() or 1, MOST_THREADS)
        if self._table.rows < THREADED_ROWS or threads == 1:
            yield from (self.count(*request) for request in requests)
            return
        # What the threads would otherwise make at the same time, each for itself.
        for attribute in {a for parents, attributes in requests for a in (*parents, *attributes)}:
            self._table.column(attribute)
        with ThreadPoolExecutor(threads) as pool:
            for start in range(0, len(requests), REQUESTS_AT_ONCE):
                yield from pool.map(lambda request: self.count(*request), requests[start : start + REQUESTS_AT_ONCE])

    def _count_packed(self, parents: Sequence[int], attributes: Sequence[int]) -> list[Counts]:
        if not attributes:
            return []
        domain = self._table.schema.derived.domain
        masks = [self._mask(parent) for parent in parents]
        width, words = prod(map(len, masks)), masks[0].shape[1]
        by_size: dict[int, list[int]] = {}
        for attribute in attributes:
            by_size.setdefault(domain[attribute], []).append(attribute)
        lines = {size: self._lines(tuple(some)) for size, some in by_size.items()}
        totals = np.zeros(width, dtype=np.int64)
        counts = {size: np.zeros((len(line), width), dtype=np.int64) for size, line in lines.items()}
        step = max(64, BLOCK_WORDS // width)
        for start in range(0, words, step):
            block = slice(start, start + step)
            cells = masks[0][:, block]
            for mask in masks[1:]:
                cells = (cells[:, None, :] & mask[None, :, block]).reshape(-1, cells.shape[-1])
            totals += _ones(cells)
            for size, line in lines.items():
                counts[size] += _ones(line[:, None, block] & cells[None, :, :])
        tables: dict[int, Counts] = {}
        for size, some in by_size.items():
            shaped = counts[size].reshape(len(some), size - 1, width)
            last = totals - shaped.sum(axis=1, keepdims=True)
            tables.update(zip(some, np.concatenate([shaped, last], axis=1), strict=True))
        return [tables[attribute] for attribute in attributes]

    def _lines(self, attributes: tuple[int, ...]) -> Mask:
        """All packed columns of the attributes but those of their last values, which are what the others leave."""
        # Most parent sets of a selection are counted with the same attributes.
        found = self._stacked.get(attributes)
        if found is None:
            found = np.concatenate([self._mask(attribute)[:-1] for attribute in attributes])
            if len(self._stacked) >= STACKS:
                self._stacked.clear()
            self._stacked[attributes] = found
        return found

    def _count_cells(self, parents: Sequence[int], attributes: Sequence[int]) -> list[Counts]:
        if not attributes:
            return []
        domain = self._table.schema.derived.domain
        width = prod(domain[p] for p in parents)
        groups = list(self._groups(width, attributes))
        sizes = [prod(domain[a] for a in group) for group in groups]
        joint = [np.zeros(width * size, dtype=np.int64) for size in sizes]
        kind = np.uint16 if width * max(sizes) <= 2**16 else np.int64
        step = max(BLOCK_ROWS, 4 * width * max(sizes))
        for start in range(0, self._table.rows, step):
            block = slice(start, start + step)
            given = self._cells(parents, block, kind)
            for group, size, counts in zip(groups, sizes, joint, strict=True):
                cells = given * kind(size)
                cells += self._cells(group, block, kind)
                counts += np.bincount(cells, minlength=counts.size)
        tables = []
        for group, counts in zip(groups, joint, strict=True):
            shaped = counts.reshape(width, *(domain[a] for a in group))
            for axis in range(1, len(group) + 1):
                others = tuple(other for other in range(1, len(group) + 1) if other != axis)
                tables.append(shaped.sum(axis=others).T)
        return tables

    def _groups(self, width: int, attributes: Sequence[int]) -> Iterator[list[int]]:
        """Neighbouring attributes to count in one table: as many as leave it small beside the rows."""
        domain = self._table.schema.derived.domain
        room = min(SHARED_CELLS, self._table.rows // 4)
        group: list[int] = []
        cells = width
        for attribute in attributes:
            if group and cells * domain[attribute] > room:
                yield group
                group, cells = [], width
            group.append(attribute)
            cells *= domain[attribute]
        yield group

    def _cells(self, attributes: Sequence[int], block: slice, kind: type[np.uint16] | type[np.int64]) -> Cells:
        """The cell of each row of the block over the attributes, in C order."""
        domain = self._table.schema.derived.domain
        cells: Cells = self._table.column(attributes[0])[block].astype(kind)
        for attribute in attributes[1:]:
            cells = cells * kind(domain[attribute])
            cells += self._table.column(attribute)[block]
        return cells

    def _mask(self, attribute: int) -> Mask:
        """Packed one-hot columns, shape (size, words); bits beyond the last row are 0."""
        if attribute not in self._packed:
            size = self._table.schema.derived.domain[attribute]
            column = self._table.column(attribute)
            # Value by value: all of them at once would take a byte for each cell.
            packed = np.stack([np.packbits(column == value) for value in range(size)])
            self._packed[attribute] = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        return self._packed[attribute]


def _ones(words: Mask) -> Counts:
    """Number of ones, summed over the last axis."""
    ones: Counts = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return ones
