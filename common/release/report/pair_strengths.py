"""How strongly each pair of attributes hangs together: as it was measured, and in the synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.release.report.best_marginals import BestMargins, Margin
from privity.common.release.report.noisy_association import Strength, strength


@dataclass(frozen=True)
class Pair:
    """Two attributes, ``a < b`` in the order of the schema; ``measured`` is None if no noisy marginal holds both."""

    a: int
    b: int
    measured: Strength | None
    margin: Margin | None
    synthetic: Strength

    @property
    def rank(self) -> tuple[float, float, int, int]:
        """Orders pairs from the strongest down, by what was measured where that is told from noise."""
        told = self.measured is not None and self.measured.told
        return (-(self.measured.v if self.measured and told else 0.0), -self.synthetic.v, self.a, self.b)


def pairs(best: BestMargins, table: CodedTable) -> list[Pair]:
    """All pairs of attributes that have a domain, in the order of the schema."""
    every = list(combinations((a for a, one in enumerate(table.schema.attributes) if not one.discover), 2))
    found = []
    for (a, b), joint in zip(every, contingency_tables(table, every), strict=True):
        margin = best.pair(a, b)
        measured = None
        if margin is not None:
            measured = strength(margin.counts, margin.table.rows, margin.variance, margin.excess, margin.sure)
        found.append(Pair(a, b, measured, margin, strength(joint, table.rows)))
    return found
