"""Contingency tables of a coded table: counts over the joint domain of a few attributes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.marginal_counter import (
    BLOCK_ROWS,
    MOST_THREADS,
    SHARED_BYTES,
    CountedTable,
    CountingPlan,
    Part,
)
from privity.common.data.noisy_tables import Marginal
from privity.common.data.table_supersets import supersets

LEAST_CELLS, MOST_CELLS = 1 << 10, 1 << 16
"""Of a table that is counted in the place of several: it stays small beside the rows, and its cells fit 16 bits."""

Counts = npt.NDArray[np.int64]
Request = tuple[Marginal, Sequence[int]]
"""A parent set, and attributes of which each is counted with it."""


def contingency_table(table: CodedTable, attributes: Sequence[int]) -> Counts:
    """Count the rows of every cell: int64, shape ``domain[a] for a in attributes``, C order.

    Without attributes it is the number of rows, of shape (). The caller bounds the number of cells.
    """
    return contingency_tables(table, [attributes])[0]


def contingency_tables(table: CodedTable, marginals: Sequence[Sequence[int]]) -> list[Counts]:
    """Count several marginals, as ``contingency_table`` does each, in the order given."""
    domain = table.schema.derived.domain
    shapes = [tuple(domain[a] for a in marginal) for marginal in marginals]
    cells = count_marginals(table, [tuple(marginal) for marginal in marginals])
    ends = np.cumsum([0, *map(prod, shapes)]).tolist()
    return [cells[start:end].reshape(shape) for shape, start, end in zip(shapes, ends, ends[1:], strict=False)]


def count_marginals(table: CodedTable, marginals: Sequence[Marginal]) -> Counts:
    """All cells of the marginals, one after another, C order within each: int64 of shape (cells,)."""
    plan = counting_plan(table.schema.derived, marginals, table.rows)
    found = np.zeros(plan.cells, dtype=np.int64)
    plan.add(dict(enumerate(table.columns)), found, os.cpu_count() or 1)
    return found


def counting_plan(derived: DerivedAttributes, marginals: Sequence[Marginal], rows: int) -> CountingPlan:
    """How so many rows are best counted.

    Raises:
        ValueError: a marginal names an attribute twice.
    """
    domain = derived.domain
    starts = np.cumsum([0, *(prod(domain[a] for a in marginal) for marginal in marginals)]).tolist()
    parts: dict[Marginal, int] = {}
    tables = []
    for superset in supersets(marginals, domain, min(MOST_CELLS, max(LEAST_CELLS, rows // 4))):
        places = tuple(parts.setdefault(part, len(parts)) for part in superset.parts)
        tables.append(CountedTable(places, superset.readings(marginals, starts)))
    used = {derived.base[a] for part in parts for a in part}
    return CountingPlan(
        {a: domain[a] for a in used}, tuple(_part(derived, part) for part in parts), tuple(tables), starts[-1]
    )


def counting_bytes(largest: int) -> int:
    """About how much memory counting takes besides the rows and what it finds.

    Args:
        largest: cells of the largest marginal.
    """
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    return SHARED_BYTES + threads * 16 * (max(largest, MOST_CELLS) + BLOCK_ROWS)


def _part(derived: DerivedAttributes, attributes: Marginal) -> Part:
    """What each column adds to a row's cell; attributes that are derived of one column are looked up together."""
    sizes = tuple(derived.domain[a] for a in attributes)
    weights: dict[int, int | Counts] = {}
    for place, a in enumerate(attributes):
        base, stride = derived.base[a], prod(sizes[place + 1 :])
        if a == base and base not in weights:
            weights[base] = stride
            continue
        codes = np.arange(derived.domain[base])
        before = weights.get(base, 0)
        weights[base] = stride * derived.derive(a, codes) + (before * codes if isinstance(before, int) else before)
    return Part(sizes, tuple(weights.items()))
