"""Public limits on what a step may ask for, checked before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import AttributeParentPair, Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.candidate_pairs import Candidates

TABLE_CELLS = 1 << 20
"""Largest contingency table that is counted or released."""

ROUND_CELLS = 1 << 24
"""Most cells of one round: 128 MiB as 64-bit counts."""

SELECTION_CANDIDATES = 1 << 20
"""Most candidates of one selection."""

SELECTION_CELLS = 1 << 20
"""Most cells of all tables of a selection among tables: it brings a count for each."""


def cells_of(tables: Sequence[Marginal], domain: Sequence[int]) -> npt.NDArray[np.float64]:
    """Cells of each table, shape (tables,); exact below 2^53. Selections come with a hundred thousand of them.

    Raises:
        IndexError: an attribute that the domain does not have.
    """
    sizes = np.asarray(domain, dtype=np.float64)
    cells = np.empty(len(tables))
    lengths = np.fromiter(map(len, tables), dtype=np.int64, count=len(tables))
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        members = np.array([tables[place] for place in places.tolist()], dtype=np.int64).reshape(-1, length)
        cells[places] = sizes[members].prod(axis=1)
    return cells


def count_cells(tables: Sequence[Marginal], domain: Sequence[int]) -> int:
    """Cells of all tables together."""
    return int(cells_of(tables, domain).sum())


def check_tables(tables: Sequence[Marginal], attributes: DerivedAttributes) -> None:
    """Refuse tables that the schema does not have, or that are too large, naming their attributes.

    Raises:
        PrivityError: step-refused or domain-too-large; nothing has been charged.
    """
    if not tables:
        raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason="it asks for no table")
    known = range(len(attributes.domain))
    if not all(table and len(set(table)) == len(table) and min(table) >= 0 for table in tables) or (
        max(map(max, tables)) not in known
    ):
        reason = "a table names attributes that the schema does not have, or one twice"
        raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason=reason)
    cells = cells_of(tables, attributes.domain)
    largest = int(cells.argmax())
    if cells[largest] > TABLE_CELLS:
        named = ", ".join(attributes.names[a] for a in tables[largest])
        size = math.prod(attributes.domain[a] for a in tables[largest])
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=named, cells=size, limit=TABLE_CELLS)
    total = int(cells.sum())
    if total > ROUND_CELLS:
        raise PrivityError(
            Catalogue.DOMAIN_TOO_LARGE, attributes=f"{len(tables)} tables", cells=total, limit=ROUND_CELLS
        )


def check_candidates(candidates: Sequence[AttributeParentPair], attributes: DerivedAttributes) -> None:
    """``check_tables`` of the candidates' tables, once for each parent set instead of for each candidate.

    Raises:
        PrivityError: as ``check_tables``.
    """
    grouped = Candidates.of(candidates)
    if not (len(grouped) and _all_within_limits(grouped, attributes.domain)):
        # Something is amiss, or needs a closer look: one by one, in the words for it.
        check_tables([candidate.marginal for candidate in grouped], attributes)


def _all_within_limits(candidates: Candidates, domain: Sequence[int]) -> bool:
    """Whether every candidate stands the checks; False also if that does not show at a glance."""
    total = 0
    for group in candidates.groups:
        pool: set[int] = set()
        for sets in group.parents.by_length:
            ordered = np.sort(sets, axis=1)
            if not ordered.size or ordered[:, 0].min() < 0 or ordered[:, -1].max() >= len(domain):
                return False
            if (ordered[:, 1:] == ordered[:, :-1]).any():
                return False
            pool.update(np.unique(sets).tolist())
        if not pool.isdisjoint(group.attributes) or min(group.attributes) < 0 or max(group.attributes) >= len(domain):
            return False
        cells = group.parents.cells(domain)
        if cells.max() * max(domain[a] for a in group.attributes) > TABLE_CELLS:
            return False
        total += int(cells.sum()) * sum(domain[a] for a in group.attributes)
    return total <= ROUND_CELLS
