"""Count the rows of many marginals, some tables at a time: numpy and nothing else, so that any worker can run it.

A row's cell in a table is a sum of one number an attribute, in the smallest type that holds the table's cells, and made
for blocks of rows that stay in the processor's cache. Attributes that are functions of one column share one number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_ROWS = 1 << 17
SHARED_BYTES = 1 << 26
"""Of cell numbers that several tables share, and that are made once for all of them."""

THREADED_WORK = 1 << 22
"""Rows times tables from which on threads pay; numpy lets go of the interpreter while it counts."""

MOST_THREADS = 8

Codes = npt.NDArray[np.unsignedinteger[Any]]
Counts = npt.NDArray[np.int64]


class OutOfDomainError(ValueError):
    """A code is beyond its attribute's last one."""


@dataclass(frozen=True)
class Part:
    """Some attributes of a table: the number of their cells, and what each column adds to a row's cell.

    Attributes:
        sizes: of the attributes, in the order of the axes.
        weights: by column what its code is multiplied by, or the number that each of its codes adds.
    """

    sizes: tuple[int, ...]
    weights: tuple[tuple[int, int | Counts], ...]

    @property
    def cells(self) -> int:
        return prod(self.sizes)


@dataclass(frozen=True)
class Reading:
    """A marginal that follows from a table.

    Attributes:
        start: of its cells in the result.
        axes: of the table, in the order of the marginal's attributes.
    """

    start: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class CountedTable:
    """A table that is counted: places of its one or two parts, and what is read from it."""

    parts: tuple[int, ...]
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class CountingPlan:
    """Which tables are counted for some marginals.

    Attributes:
        sizes: by column that is read, how many codes it has.
        cells: of all marginals together.
    """

    sizes: Mapping[int, int]
    parts: tuple[Part, ...]
    tables: tuple[CountedTable, ...]
    cells: int

    def add(self, columns: Mapping[int, Codes], found: Counts, threads: int = 1) -> None:
        """Add the rows to the marginals' cells.

        Args:
            columns: by number, each of shape (rows,).
            found: int64 of shape (cells,): the marginals one after another, C order within each.

        Raises:
            OutOfDomainError: nothing was added.
        """
        for number, size in self.sizes.items():
            if columns[number].size and int(columns[number].max()) >= size:
                raise OutOfDomainError(f"a code of column {number} is beyond its domain")
        rows = len(next(iter(columns.values())))
        shared = self._shared()
        step = max(BLOCK_ROWS, SHARED_BYTES // (2 * max(len(shared), 1)) // BLOCK_ROWS * BLOCK_ROWS)
        threads = min(threads, MOST_THREADS) if min(rows, step) * len(self.tables) >= THREADED_WORK else 1
        with ThreadPoolExecutor(threads) as pool:
            each = map if threads == 1 else pool.map
            for start in range(0, rows, step):
                some = {number: column[start : start + step] for number, column in columns.items()}
                self._add_some(some, shared, min(step, rows - start), found, each)

    def _shared(self) -> list[int]:
        """Places of the parts whose cells several tables use."""
        uses = np.bincount([part for table in self.tables for part in table.parts], minlength=len(self.parts))
        return [place for place in np.flatnonzero(uses > 1).tolist() if self.parts[place].weights]

    def _add_some(
        self, columns: Mapping[int, Codes], parts: list[int], rows: int, found: Counts, each: Callable[..., Any]
    ) -> None:
        """Add rows of which the cells of shared parts are held together; ``each`` is ``map``, or that of a pool."""
        made = each(lambda part: _cells_of(self.parts[part], columns, 0, rows), parts)
        shared = dict(zip(parts, made, strict=True))
        # Each marginal follows from one table, so that tables write to cells of their own.
        list(each(lambda table: self._count(table, columns, shared, rows, found), self.tables))

    def _count(
        self, table: CountedTable, columns: Mapping[int, Codes], shared: Mapping[int, Codes], rows: int, found: Counts
    ) -> None:
        parts = [self.parts[place] for place in table.parts]
        sizes = [size for part in parts for size in part.sizes]
        size = prod(sizes)
        alone = table.readings[0].axes == tuple(range(len(sizes))) and len(table.readings) == 1
        start = table.readings[0].start
        counts = found[start : start + size] if alone else np.zeros(size, dtype=np.int64)
        kind = _type(size)
        # A block is counted into a table of its own, which is not to be much longer than the block.
        step = max(BLOCK_ROWS, counts.size)
        room = np.empty(min(step, rows), dtype=kind)
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            cells, *others = (
                shared[place][start:stop] if place in shared else _cells_of(part, columns, start, stop)
                for place, part in zip(table.parts, parts, strict=True)
            )
            for some in others:
                cells = np.multiply(cells, kind(parts[1].cells), out=room[: stop - start], dtype=kind)
                cells += some
            if counts.size > 2 * (stop - start):
                np.add.at(counts, cells, 1)
            else:
                counts += np.bincount(cells, minlength=counts.size)
        if not alone:
            read_marginals(counts.reshape(sizes), table.readings, found)


def _type(cells: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if cells <= 1 << 16 else np.uint32 if cells <= 1 << 32 else np.uint64


def _cells_of(part: Part, columns: Mapping[int, Codes], start: int, stop: int) -> Codes:
    """The cell of each row in a part: shape (stop - start,)."""
    kind = _type(part.cells)
    cells: Codes = np.zeros(stop - start, dtype=kind)
    for place, (number, weights) in enumerate(part.weights):
        column = columns[number][start:stop]
        out = cells if not place else np.empty_like(cells)
        if isinstance(weights, int):
            np.multiply(column, kind(weights), out=out, dtype=kind)
        else:
            np.take(weights.astype(kind), column, out=out, mode="clip")
        if place:
            cells += out
    return cells


def read_marginals(counts: Counts, readings: Sequence[Reading], found: Counts) -> None:
    """Add the marginals that follow from a table. Those of one first axis share the sum over what none of them has."""
    by_first: dict[int, list[Reading]] = {}
    for reading in readings:
        by_first.setdefault(min(reading.axes, default=-1), []).append(reading)
    for some in by_first.values():
        kept = sorted({axis for reading in some for axis in reading.axes})
        left = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in kept))
        for reading in some:
            places = [kept.index(axis) for axis in reading.axes]
            summed = left.sum(axis=tuple(place for place in range(left.ndim) if place not in places))
            order = np.argsort(np.argsort(places))
            found[reading.start : reading.start + summed.size] += summed.transpose(order).ravel()
