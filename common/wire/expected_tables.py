"""What a model expects of candidate tables, on the wire: counts as numbers of their own length, as most are small."""

from __future__ import annotations

import numpy as np

from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.step_limits import SELECTION_CANDIDATES, SELECTION_CELLS
from privity.common.wire.v1 import privity_pb2 as pb

MOST_ATTRIBUTES = 1 << 20
"""Of all tables of a selection together."""


def encode_expected(expected: ExpectedTables) -> pb.ExpectedTables:
    """Raises ValueError for counts or score penalties that no party takes."""
    return pb.ExpectedTables(
        tables=[pb.Attributes(index=table) for table in expected.tables],
        counts=expected.counts.tolist(),
        rows=expected.rows,
        penalties=expected.penalties,
    )


def decode_expected(message: pb.ExpectedTables) -> ExpectedTables:
    """ValueError for more than is worth reading."""
    if max(len(message.tables), len(message.penalties)) > SELECTION_CANDIDATES or len(message.counts) > SELECTION_CELLS:
        raise ValueError("more tables, score penalties or counts than a selection may have")
    tables = tuple(tuple(table.index) for table in message.tables)
    if sum(map(len, tables)) > MOST_ATTRIBUTES:
        raise ValueError("more attributes than the tables of a selection have")
    counts = np.fromiter(message.counts, dtype=np.int64, count=len(message.counts))
    return ExpectedTables(tables, counts, message.rows, tuple(message.penalties))
