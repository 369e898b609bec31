"""Contingency tables of a coded table: counts over the joint domain of a few attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import Marginal


def contingency_table(table: CodedTable, attributes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Count the rows of every cell: int64, shape ``domain[a] for a in attributes``, C order.

    Without attributes it is the number of rows, of shape (). The caller bounds the number of cells.
    """
    return contingency_tables(table, [attributes])[0]


def contingency_tables(table: CodedTable, marginals: Sequence[Sequence[int]]) -> list[npt.NDArray[np.int64]]:
    """Count several marginals, as ``contingency_table`` does each, in the order given.

    Marginals that follow one another and differ in their last attribute only share the work for the
    others, so lists in lexicographic order are counted fastest.
    """
    return list(each_table(table, marginals))


def each_table(table: CodedTable, marginals: Sequence[Sequence[int]]) -> Iterator[npt.NDArray[np.int64]]:
    """``contingency_tables`` one after another, for who does not hold them all."""
    shared: tuple[Marginal, npt.NDArray[np.unsignedinteger]] | None = None
    for marginal in marginals:
        if len(set(marginal)) < len(marginal):
            raise ValueError("a marginal names each attribute once")
        shape = tuple(table.schema.derived.domain[attribute] for attribute in marginal)
        if not shape:
            yield np.array(table.rows, dtype=np.int64)
            continue
        prefix, last = tuple(marginal[:-1]), marginal[-1]
        if shared is None or shared[0] != prefix:
            shared = prefix, _cells(table, prefix)
        cells = _extend(shared[1], table.column(last), prod(shape), shape[-1]) if prefix else table.column(last)
        yield np.bincount(cells, minlength=prod(shape)).reshape(shape).astype(np.int64, copy=False)


def _cells(table: CodedTable, attributes: Marginal) -> npt.NDArray[np.unsignedinteger]:
    """Return the cell of each row, shape (rows,), over attributes in C order."""
    cells = table.column(attributes[0]) if attributes else np.zeros(table.rows, dtype=np.uint8)
    size = table.schema.derived.domain[attributes[0]] if attributes else 1
    for attribute in attributes[1:]:
        width = table.schema.derived.domain[attribute]
        size *= width
        cells = _extend(cells, table.column(attribute), size, width)
    return cells


def _extend(
    cells: npt.NDArray[np.unsignedinteger], column: npt.NDArray[np.unsignedinteger], size: int, width: int
) -> npt.NDArray[np.unsignedinteger]:
    """Return ``cells * width + column`` in the smallest type that holds numbers below ``size``."""
    kind = np.uint16 if size <= 2**16 else np.uint32 if size <= 2**32 else np.int64
    joined = np.multiply(cells, kind(width), dtype=kind)
    joined += column.astype(kind, copy=False)
    return joined
