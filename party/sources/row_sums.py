"""What is summed over coded rows in one pass: their number, their fingerprint, cells of marginals.

numpy alone, so that any worker can do it. Sums of parts of the rows add up to those of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.marginal_counter import CountingPlan
from privity.party.sources.fingerprint import mixed_cubes

Codes = npt.NDArray[np.unsignedinteger[Any]]
Sums = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSums:
    """Rows, rows that are the first of a person, fingerprint, rows outside the domain by attribute, then cells.

    Attributes:
        sizes: of the attributes; one beyond an attribute's codes is a value outside its domain.
        factors: of the fingerprint, by attribute.
        plan: of the cells; None for none.
        attributes: by column of the plan, which one it is.
    """

    sizes: tuple[int, ...]
    factors: tuple[int, ...]
    plan: CountingPlan | None = None
    attributes: tuple[int, ...] = ()

    @property
    def head(self) -> int:
        """Sums before the cells."""
        return 3 + len(self.sizes)

    @property
    def length(self) -> int:
        return self.head + (self.plan.cells if self.plan else 0)

    def add(self, columns: Sequence[Codes], found: Sums) -> None:
        """Add some rows.

        Args:
            columns: codes by attribute, then 1 for the first row of a person and 0 for others; each of shape (rows,).
            found: of shape (length,).
        """
        *codes, first = columns
        found[0] += len(first)
        found[1] += np.count_nonzero(first)
        found[2] += mixed_cubes(codes, self.factors)
        fitting = True
        for place, (column, size) in enumerate(zip(codes, self.sizes, strict=True), 3):
            if column.size and int(column.max()) >= size:
                found[place] += np.count_nonzero(column >= size)
                fitting = False
        if self.plan and fitting:
            used = {number: codes[self.attributes[number]] for number in self.plan.sizes}
            self.plan.add(used or {0: codes[0]}, found[self.head :])
