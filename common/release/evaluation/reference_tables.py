"""Tables made of the real rows, beside which a synthetic table's distances can be judged."""

from __future__ import annotations

import numpy as np

from privity.common.data.coded_table import CodedTable


def independent_columns(real: CodedTable, generator: np.random.Generator) -> CodedTable:
    """The real table with each column shuffled alone: every 1-way marginal exact, no structure at all."""
    return CodedTable(real.schema, tuple(generator.permutation(column) for column in real.columns))


def resampled(real: CodedTable, rows: int, generator: np.random.Generator) -> CodedTable:
    """So many rows drawn from the real ones with replacement: what sampling alone costs."""
    return real.take(generator.integers(0, real.rows, rows))
