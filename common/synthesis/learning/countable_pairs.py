"""Which pairs of attributes may be joined: by the sizes of their domains alone, never by rows.

Two attributes of 5,000 categories have a table of 25 million cells, more than any that is counted. Such a pair is no
candidate, and the two may still be joined with others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.step_limits import ROUND_CELLS, SELECTION_CANDIDATES, TABLE_CELLS, check_tables

Places = npt.NDArray[np.int64]


def pairs_within(domain: Sequence[int], cells: int) -> Places:
    """All pairs of places whose table has at most so many cells, in lexicographic order; shape (pairs, 2)."""
    pairs = np.stack(np.triu_indices(len(domain), 1), axis=1)
    return pairs[cells_of_pairs(pairs, domain) <= cells]


def cells_of_pairs(pairs: Places, domain: Sequence[int]) -> Places:
    """Cells of each pair's table, shape (pairs,)."""
    return np.asarray(np.asarray(domain, dtype=np.int64)[pairs].prod(axis=1))


def largest_pair(domain: Sequence[int]) -> int:
    """Most cells of a pair that is a candidate: whatever tree of candidates is selected, its tables fit into a round.

    ``TABLE_CELLS``, unless there are many attributes and some of them are large. They fit into half a round if they
    can, so that wider tables have room too; 0 if no such bound leaves a pair.
    """
    return _largest_pair(tuple(sorted(domain)))


@lru_cache(maxsize=64)
def _largest_pair(domain: tuple[int, ...]) -> int:
    edges = len(domain) - 1
    if edges * TABLE_CELLS <= ROUND_CELLS // 2:
        return TABLE_CELLS
    cells = np.sort(cells_of_pairs(pairs_within(domain, TABLE_CELLS), domain))
    # Of the pairs that are no larger than each one, the heaviest ones that a tree may have.
    sums = np.concatenate([[0], cells.cumsum()])
    up_to = np.searchsorted(cells, cells, side="right")
    heaviest = sums[up_to] - sums[np.maximum(0, up_to - edges)]
    for most in (ROUND_CELLS // 2, ROUND_CELLS):
        if (fitting := cells[heaviest <= most]).size:
            return TABLE_CELLS if fitting.size == cells.size else int(fitting[-1])
    return 0


def within_a_selection(pairs: Places, domain: Sequence[int]) -> Places:
    """The pairs in their order, without the largest ones if all have more cells than one selection may count."""
    cells = cells_of_pairs(pairs, domain)
    by_size = np.argsort(cells, kind="stable")
    return np.asarray(pairs[np.sort(by_size[cells[by_size].cumsum() <= ROUND_CELLS])])


def pairs_fit_one_round(domain: Sequence[int]) -> bool:
    """Whether the tables of all pairs of attributes with these sizes can be measured together."""
    if len(domain) > 1 and math.prod(sorted(domain)[-2:]) > TABLE_CELLS:
        return False
    return (sum(domain) ** 2 - sum(size**2 for size in domain)) // 2 <= ROUND_CELLS


def pairs_fit_one_selection(domain: Sequence[int]) -> bool:
    """Whether all pairs of attributes with these sizes that are candidates may be offered together."""
    if math.comb(len(domain), 2) > SELECTION_CANDIDATES:
        return False
    return int(cells_of_pairs(pairs_within(domain, largest_pair(domain)), domain).sum()) <= ROUND_CELLS


def check_all_pairs(schema: Schema) -> None:
    """Refuse attributes of which some pair is too large for a table, where all pairs are counted.

    Raises:
        PrivityError: domain-too-large, naming the attributes of the largest pair.
    """
    _check_pair(schema, range(len(schema.attributes)), -2)


def check_some_pair(schema: Schema, nodes: Sequence[int] | None = None) -> None:
    """Refuse attributes of which no two can be counted together.

    Args:
        nodes: attributes or derived ones; by default all attributes.

    Raises:
        PrivityError: domain-too-large, naming the attributes of the smallest pair.
    """
    _check_pair(schema, range(len(schema.attributes)) if nodes is None else nodes, 0)


def check_tree(schema: Schema, nodes: Sequence[int] | None = None) -> None:
    """The same, and attributes of which the pairs of no tree fit into a round.

    Raises:
        PrivityError: domain-too-large.
    """
    check_some_pair(schema, nodes)
    domain = [schema.derived.domain[node] for node in (nodes or range(len(schema.attributes)))]
    if len(domain) > 1 and not largest_pair(domain):
        cells = np.sort(cells_of_pairs(pairs_within(domain, TABLE_CELLS), domain))[: len(domain) - 1]
        named = f"{len(cells)} pairs of {len(domain)} attributes, the smallest ones,"
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=named, cells=int(cells.sum()), limit=ROUND_CELLS)


def _check_pair(schema: Schema, nodes: Sequence[int], first: int) -> None:
    by_size = sorted(nodes, key=lambda node: schema.derived.domain[node])
    if len(by_size) > 1:
        check_tables([tuple(sorted(by_size[first:][:2]))], schema.derived)
