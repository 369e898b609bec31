"""Contingency tables of very many pairs of attributes, in blocks, on all cores.

Small tables are counted on packed one-hot columns: 64 rows a word, AND and population count of each column with all
others. One pass over the packed columns gives the co-occurrences of all their values; the last value of an attribute is
what the others leave. Large tables are counted one by one, as in ``privity.common.data.contingency_tables``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import each_table
from privity.common.data.noisy_tables import Marginal

PACKED_CELLS = 96
"""Largest table without its last row and column that is counted on packed columns: where both ways take as long."""

PACKED_BYTES = 1 << 28
"""Of packed columns that are held together."""

WORDS_AT_ONCE = 1 << 10
COLUMNS_AT_ONCE = 64
"""Of packed columns that are worked on together: half a MiB, which stays in the processor's cache."""

MANY = 8
"""Pairs from which on it pays to pack columns."""

TASK_COLUMNS = 16
MOST_THREADS = 8

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def count_all(table: CodedTable, marginals: Sequence[Marginal], found: Counts | None = None) -> Counts:
    """All cells of the tables, one after another, C order within each: int64 of shape (cells,).

    Args:
        found: counts of other rows, to which these are added.
    """
    domain = table.schema.derived.domain
    starts = np.cumsum([0, *(prod(domain[a] for a in marginal) for marginal in marginals)])
    out = np.zeros(starts[-1], dtype=np.int64) if found is None else found
    pairs = [i for i, marginal in enumerate(marginals) if len(marginal) == 2]
    if len(pairs) < MANY:
        pairs = []
    fill_pair_counts(table, [marginals[i] for i in pairs], starts[pairs].tolist(), out)
    among = set(pairs)
    others = [i for i in range(len(marginals)) if i not in among]
    for i, counts in zip(others, each_table(table, [marginals[i] for i in others]), strict=True):
        out[starts[i] : starts[i + 1]] += counts.ravel()
    return out


def fill_pair_counts(table: CodedTable, pairs: Sequence[Marginal], places: Sequence[int], out: Counts) -> None:
    """Add the counts of each pair's table to ``out``, from its place on, in C order.

    Args:
        pairs: of different attributes, derived ones included.
        out: int64 vector.
    """
    domain = table.schema.derived.domain
    packed, rest = PackedColumns.worth_packing(pairs, domain)
    if packed:
        attributes = sorted({a for i in packed for a in pairs[i]}, key=lambda a: (domain[a], a))
        columns = PackedColumns(attributes, domain)
        together = columns.together(table)
        for i in packed:
            a, b = pairs[i]
            out[places[i] : places[i] + domain[a] * domain[b]] += columns.table(together, table.rows, a, b).ravel()
    for i, counts in zip(rest, each_table(table, [pairs[i] for i in rest]), strict=True):
        out[places[i] : places[i] + counts.size] += counts.ravel()


def counting_bytes(pairs: Sequence[Marginal], domain: Sequence[int], rows: int) -> int:
    """About how much memory ``fill_pair_counts`` takes besides the table and ``out``."""
    packed, _ = PackedColumns.worth_packing(pairs, domain)
    columns = sum(domain[a] - 1 for a in {a for i in packed for a in pairs[i]})
    workers = min(os.cpu_count() or 1, MOST_THREADS)
    words = columns * min(rows // 8 + 8, rows_at_once(columns) // 8)
    return words + 8 * columns**2 + workers * 10 * WORDS_AT_ONCE * COLUMNS_AT_ONCE + 16 * rows


def rows_at_once(columns: int) -> int:
    """Rows that are packed together: a whole number of words, within ``PACKED_BYTES`` but for very many columns."""
    return max(1 << 16, 8 * PACKED_BYTES // max(columns, 1) // 64 * 64)


class PackedColumns:
    """One-hot columns of attributes but those of their last values, packed some rows at a time.

    Args:
        attributes: in the order in which their columns stand; they ascend by size.
    """

    def __init__(self, attributes: Sequence[int], domain: Sequence[int]) -> None:
        self._domain = domain
        self._attributes = attributes
        ends = np.cumsum([0, *(domain[a] - 1 for a in attributes)]).tolist()
        self._columns = ends[-1]
        self._blocks = {a: slice(start, end) for a, start, end in zip(attributes, ends, ends[1:], strict=False)}

    def _pack(self, table: CodedTable, rows: slice) -> Words:
        """Shape (columns, words); bits beyond the last row are 0."""
        words = np.zeros((self._columns, -(-(rows.stop - rows.start) // 64)), dtype=np.uint64)
        as_bytes = words.view(np.uint8)
        for a in self._attributes:
            column = table.column(a)[rows]
            for value, line in enumerate(range(self._blocks[a].start, self._blocks[a].stop)):
                packed = np.packbits(column == value)
                as_bytes[line, : packed.size] = packed
        return words

    @staticmethod
    def worth_packing(pairs: Sequence[Marginal], domain: Sequence[int]) -> tuple[list[int], list[int]]:
        """Places of the pairs that are counted packed, and of the others."""
        packed: list[int] = []
        rest: list[int] = []
        for i, (a, b) in enumerate(pairs):
            (packed if (domain[a] - 1) * (domain[b] - 1) <= PACKED_CELLS else rest).append(i)
        return packed, rest

    def together(self, table: CodedTable) -> Counts:
        """How often each two columns are both 1: int64, the upper triangle of what is worth it, and the diagonal.

        Columns stand by the size of their attribute, so that those with which a column is counted follow it.
        """
        found = np.zeros((self._columns, self._columns), dtype=np.int64)
        tasks = list(self._tasks())
        step = rows_at_once(self._columns)
        with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS)) as pool:
            for start in range(0, table.rows, step):
                words = self._pack(table, slice(start, min(table.rows, start + step)))
                for column, line in enumerate(words):
                    found[column, column] += np.bitwise_count(line).sum(dtype=np.int64)
                # numpy lets go of the interpreter while it counts. Tasks write to rows of their own.
                list(pool.map(lambda task, words=words: _count(words, task[0], task[1], found), tasks))
        return found

    def _tasks(self) -> Iterator[tuple[range, int]]:
        """Columns, and the column up to which they are counted with those that follow them."""
        place, last = 0, len(self._attributes)
        while place < last:
            size = self._domain[self._attributes[place]]
            reach = place
            while reach < last and (size - 1) * (self._domain[self._attributes[reach]] - 1) <= PACKED_CELLS:
                reach += 1
            if reach == place:
                return  # all that follow are too large for each other
            stop = self._blocks[self._attributes[reach - 1]].stop
            start = self._blocks[self._attributes[place]].start
            while place < last and self._domain[self._attributes[place]] == size:
                place += 1
            end = self._blocks[self._attributes[place - 1]].stop
            for first in range(start, end, TASK_COLUMNS):
                yield range(first, min(end, first + TASK_COLUMNS)), stop

    def table(self, together: Counts, rows: int, first: int, second: int) -> Counts:
        """The table of two attributes, int64 of the shape of their sizes."""
        a, b = self._blocks[first], self._blocks[second]
        inner = together[a, b] if a.start <= b.start else together[b, a].T
        ones = np.diagonal(together)
        counts = np.empty((self._domain[first], self._domain[second]), dtype=np.int64)
        counts[:-1, :-1] = inner
        counts[:-1, -1] = ones[a] - inner.sum(axis=1)
        counts[-1, :-1] = ones[b] - inner.sum(axis=0)
        counts[-1, -1] = rows - counts[:-1].sum() - counts[-1, :-1].sum()
        return counts


def _count(every: Words, columns: range, stop: int, found: Counts) -> None:
    """Add what these columns have in common with those that follow them up to ``stop``."""
    both = np.empty((COLUMNS_AT_ONCE, WORDS_AT_ONCE), dtype=np.uint64)
    ones = np.empty((COLUMNS_AT_ONCE, WORDS_AT_ONCE), dtype=np.uint8)
    for start in range(0, every.shape[1], WORDS_AT_ONCE):
        words = every[:, start : start + WORDS_AT_ONCE]
        width = words.shape[1]
        for tile in range(columns.start, stop, COLUMNS_AT_ONCE):
            others = words[tile : min(stop, tile + COLUMNS_AT_ONCE)]
            for column in columns:
                # Columns of the tile before this one were counted from the other side.
                skipped = max(0, column + 1 - tile)
                if skipped >= len(others):
                    continue
                shape = len(others) - skipped
                np.bitwise_and(words[column], others[skipped:], out=both[:shape, :width])
                np.bitwise_count(both[:shape, :width], out=ones[:shape, :width])
                found[column, tile + skipped : tile + len(others)] += ones[:shape, :width].sum(axis=1, dtype=np.int64)
