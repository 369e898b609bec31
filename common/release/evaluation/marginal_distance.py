"""Total variation distance between the marginals of a real and a synthetic table.

Computed from real rows without a mechanism, so the result is not private: it stays with the owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable

SPARSE_FACTOR = 4  # a table of more cells than this many times the rows is counted by occupied cells
WAYS = (1, 2, 3)
Cells = npt.NDArray[np.int64]
Distances = dict[int, dict[tuple[int, ...], float]]


def distances_of_sets(real: CodedTable, synthetic: CodedTable, ways: Sequence[int] = WAYS) -> Distances:
    """Return, for each way, the total variation distance over every set of so many attributes.

    Between 0 and 1: half the L1 distance of the two normalised tables, so numbers of rows may differ. A way
    beyond the number of attributes has no sets. Raises ``ValueError`` if schemas differ, a table is empty or
    a way below 1.
    """
    if real.schema.digest != synthetic.schema.digest:
        raise ValueError("the two tables have different schemas")
    if not real.rows or not synthetic.rows:
        raise ValueError("an empty table has no distribution")
    if not ways or min(ways) < 1:
        raise ValueError("ways are 1 or more")
    found: Distances = {way: {} for way in sorted(set(ways))}
    for attributes, distance in _walk(real, synthetic, tuple(found)):
        found[len(attributes)][attributes] = distance
    return found


def marginal_distances(real: CodedTable, synthetic: CodedTable, ways: Sequence[int] = WAYS) -> dict[str, float]:
    """Return mean and maximum of ``distances_of_sets`` as ``tvd1``, ``tvd1_max`` and so on.

    A way beyond the number of attributes has no keys. Raises as ``distances_of_sets`` does.
    """
    result: dict[str, float] = {}
    for way, distances in distances_of_sets(real, synthetic, ways).items():
        if distances:
            result[f"tvd{way}"] = float(np.mean(list(distances.values())))
            result[f"tvd{way}_max"] = max(distances.values())
    return result


def _walk(real: CodedTable, synthetic: CodedTable, ways: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield (set, distance) for every set of attributes, each extended from the set without its last.

    Both tables' rows stand in one array, so that cells can be renumbered for both at once.
    """
    columns = [np.concatenate([mine, theirs]) for mine, theirs in zip(real.columns, synthetic.columns, strict=True)]
    domain = real.schema.domain

    def extend(before: tuple[int, ...], cells: Cells, size: int) -> Iterator[tuple[tuple[int, ...], float]]:
        way = len(before) + 1
        for attribute in range(before[-1] + 1 if before else 0, len(domain)):
            attributes = (*before, attribute)
            joined = cells * np.int64(domain[attribute])
            joined += columns[attribute]
            count = size * domain[attribute]
            deeper = way < ways[-1] and attribute + 1 < len(domain)
            if count > SPARSE_FACTOR * len(joined):
                if deeper:
                    _, joined = np.unique(joined, return_inverse=True)
                    count = int(joined.max()) + 1
                elif way in ways:
                    yield attributes, _sparse_distance(joined, real.rows)
                    continue
            if way in ways:
                yield attributes, _dense_distance(joined, count, real.rows)
            if deeper:
                yield from extend(attributes, joined, count)

    yield from extend((), np.zeros(real.rows + synthetic.rows, dtype=np.int64), 1)


def distances_of(
    real: CodedTable, synthetic: CodedTable, sets: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], float]:
    """The same of these sets of attributes."""
    columns = [np.concatenate([mine, theirs]) for mine, theirs in zip(real.columns, synthetic.columns, strict=True)]
    domain, found = real.schema.domain, {}
    for attributes in sets:
        cells, size = columns[attributes[0]].astype(np.int64), domain[attributes[0]]
        for attribute in attributes[1:]:
            if size > SPARSE_FACTOR * len(cells):
                _, cells = np.unique(cells, return_inverse=True)
                size = int(cells.max()) + 1
            cells = cells * np.int64(domain[attribute])
            cells += columns[attribute]
            size *= domain[attribute]
        sparse = size > SPARSE_FACTOR * len(cells)
        found[attributes] = _sparse_distance(cells, real.rows) if sparse else _dense_distance(cells, size, real.rows)
    return found


def _dense_distance(cells: Cells, count: int, rows: int) -> float:
    """Distance of the first ``rows`` rows from the others, over ``count`` cells."""
    mine = np.bincount(cells[:rows], minlength=count)
    theirs = np.bincount(cells[rows:], minlength=count)
    return _distance(mine, theirs, rows, len(cells) - rows)


def _sparse_distance(cells: Cells, rows: int) -> float:
    """As ``_dense_distance``, in time of the rows and not of the cells."""
    signs = np.empty(len(cells), dtype=np.int64)
    others = len(cells) - rows
    signs[:rows] = others
    signs[rows:] = -rows
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(signs[order], starts)
    return int(np.abs(sums).sum()) / (2 * rows * others)


def _distance(mine: Cells, theirs: Cells, rows: int, others: int) -> float:
    # |a/m - b/n| = |a n - b m| / (m n): integers until the last division.
    return int(np.abs(mine * others - theirs * rows).sum()) / (2 * rows * others)
