"""Fewer, wider tables from which many small ones follow: a store that groups its rows does so for each table anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal

WIDEST_CELLS = 1 << 12
"""Of a table that is counted in the place of several. docs/benchmarks/sources.md has the seconds by this number: fewer
tables are sooner counted, but each has more cells to bring back."""

LOOKED_AT = 64
"""Tables that a marginal may still be joined to: the last ones, so that the work grows with the marginals."""

Counts = npt.NDArray[np.int64]


@dataclass
class Superset:
    """A table that is counted, and which of the marginals follow from it.

    Attributes:
        attributes: ascending.
        members: places of the marginals.
    """

    attributes: Marginal
    members: list[int] = field(default_factory=list)

    def counts_of(self, counts: Counts, marginal: Marginal) -> Counts:
        """The marginal's table, shape of its sizes in its own order, from this one's of shape of its sizes."""
        kept = [self.attributes.index(a) for a in marginal]
        others = tuple(axis for axis in range(counts.ndim) if axis not in kept)
        order = np.argsort(np.argsort(kept))
        summed: Counts = counts.sum(axis=others, dtype=np.int64)
        return summed.transpose(order)


def supersets(marginals: Sequence[Marginal], domain: Sequence[int], widest: int = WIDEST_CELLS) -> list[Superset]:
    """Tables from which all the marginals follow, each of at most ``widest`` cells or that of a marginal alone."""
    found: list[Superset] = []
    for place in sorted(range(len(marginals)), key=lambda i: tuple(sorted(marginals[i]))):
        wanted = set(marginals[place])
        best, best_cells = None, widest + 1
        for superset in found[-LOOKED_AT:]:
            union = wanted.union(superset.attributes)
            if len(union) == len(superset.attributes):
                best = superset
                break
            cells = prod(domain[a] for a in union)
            if cells < best_cells:
                best, best_cells = superset, cells
        if best is None:
            best = Superset(())
            found.append(best)
        best.attributes = tuple(sorted(wanted.union(best.attributes)))
        best.members.append(place)
    return found
