"""What a model expects a party's tables to be, and how far from it they are: the scores of a selection among tables.

Algorithms that measure one table after another choose as the next one that which the model of what is known so far
explains worst: MST and AIM (McKenna, Miklau and Sheldon 2021; McKenna, Mullins, Sheldon and Miklau 2022, section 3).
Here the score is a whole number, made of one party's own rows.

Let a candidate table have the counts c over n own rows, the model's table the counts s of m rows, and the candidate the
score penalty h. Its score is floor(x), x = (D - 2 h n)/(2 m), D = sum over the cells of |c m - s n|. If s are the
counts of a table of m rows, D/(2 m) is n times the total variation distance of c/n from s/m.

Theorem. One replaced row moves every score by at most one: whatever s, m >= 1 and h are.
Proof. The row counts n and m are public and stay. The row leaves one cell of c and enters another: two terms of D
change, each by at most m, as |(c +- 1) m - s n| differs from |c m - s n| by at most m. If it enters the cell that it
left, none does. So D moves by at most 2 m, and x by at most one, as h is no function of rows. If x <= x' + 1 then
floor(x) <= floor(x' + 1) = floor(x') + 1; the other way round too.

So nobody need check that the counts are a model's, nor that the score penalties are sensible: absurd ones make a bad
choice, and no more loss. A bound of one is the least for whole numbers, and attained. What the candidates must not be
is a function of rows but by earlier releases: they come from the curator, who has nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.evaluation_scores import LARGEST_SYNTHETIC
from privity.common.protocol.step_limits import SELECTION_CELLS, check_tables, count_cells

SENSITIVITY = 1
"""The most by which one replaced row moves any score of a selection among tables."""

LARGEST_PENALTY = (1 << 31) - 1
"""With it, and fewer than 2^31 rows, a score fits 64 bits."""

HALF = 32


@dataclass(frozen=True, eq=False)
class ExpectedTables:
    """Candidate tables with what a model expects of them.

    Attributes:
        tables: by attribute index, derived attributes included.
        counts: int64, shape (cells,): of the model's table, each from 0 to ``rows``; table after table, C order within
            each. A copy that cannot be written to.
        rows: of the model's table; below 2^31.
        penalties: one a table, whole numbers of rows of the model's table, from 0 to ``LARGEST_PENALTY``: what a
            table must be apart from the model before its score is above 0.

    Raises:
        TypeError: counts that are not whole numbers of 64 bits.
    """

    tables: tuple[Marginal, ...]
    counts: npt.NDArray[np.int64]
    rows: int
    penalties: tuple[int, ...]

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts).astype(np.int64, casting="safe").ravel()
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    def __len__(self) -> int:
        return len(self.tables)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpectedTables) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self._digest)

    @cached_property
    def content(self) -> dict[str, str | int]:
        """As it stands in a step's content.

        Lists are texts. Of the counts, of which there may be a million, there is a digest of their little-endian
        64 bits.
        """
        return {
            "tables": ";".join([",".join(map(str, table)) for table in self.tables]),
            "counts": self._digest,
            "rows": self.rows,
            "penalties": ",".join(map(str, self.penalties)),
        }

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.counts.astype("<i8").tobytes()).hexdigest()

    def scores(self, own: Sequence[npt.NDArray[np.int64]], rows: int) -> npt.NDArray[np.int64]:
        """The score of each table on ``rows`` rows (fewer than 2^31) with these counts, one array a table.

        Returns:
            int64, shape (tables,).
        """
        starts = np.cumsum([0, *(part.size for part in own)])[:-1]
        # Each is below 2^62; their sum need not be.
        apart = np.abs(np.concatenate([part.ravel() for part in own]) * self.rows - self.counts * rows)
        high = np.add.reduceat(apart >> HALF, starts).tolist()
        low = np.add.reduceat(apart & ((1 << HALF) - 1), starts).tolist()
        found = [
            ((above << HALF) + below - 2 * penalty * rows) // (2 * self.rows)
            for above, below, penalty in zip(high, low, self.penalties, strict=True)
        ]
        return np.array(found, dtype=np.int64)


def check_expected(expected: ExpectedTables, attributes: DerivedAttributes, rows: int) -> None:
    """Refuse tables that cannot be compared with those of ``rows`` rows, before anything is charged.

    Raises:
        PrivityError: step-refused or domain-too-large.
    """
    check_tables(expected.tables, attributes)
    cells = count_cells(expected.tables, attributes.domain)
    if cells > SELECTION_CELLS:
        named = f"{len(expected)} tables of a selection"
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=named, cells=cells, limit=SELECTION_CELLS)
    counts, penalties, reason = expected.counts, expected.penalties, None
    if counts.size != cells:
        reason = "a selection does not have one count for each cell of its tables"
    elif len(penalties) != len(expected):
        reason = "a selection does not have one score penalty for each table"
    elif min(penalties) < 0 or max(penalties) > LARGEST_PENALTY:
        reason = f"a score penalty lies outside 0 to {LARGEST_PENALTY}"
    elif not 1 <= expected.rows < LARGEST_SYNTHETIC or counts.min() < 0 or counts.max() > expected.rows:
        reason = "a model's table has counts of more rows than there are, or of none"
    elif rows >= LARGEST_SYNTHETIC:
        reason = f"distances from a model are for fewer than {LARGEST_SYNTHETIC} rows"
    if reason is not None:
        raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason=reason)
