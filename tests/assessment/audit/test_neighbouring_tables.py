"""The worlds of the audit are neighbours, and as far apart as a replaced row can make them."""

from __future__ import annotations

import numpy as np
import pytest

from privity.assessment.audit.algorithm_runs import small_tables
from privity.assessment.audit.neighbouring_tables import flipped_row, opposed_pairs
from privity.assessment.audit.protocols import Setting
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.privacy.score_r import r_score, r_sensitivity


def rows(table: CodedTable) -> list[tuple[int, ...]]:
    return sorted(map(tuple, np.stack(table.columns, axis=1).tolist()))


def differing(zero: CodedTable, one: CodedTable) -> int:
    """How many rows must be replaced to get from one table to the other."""
    left = rows(one)
    for row in rows(zero):
        if row in left:
            left.remove(row)
    return len(left)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_row_of_one_party_is_replaced(at: int) -> None:
    for worlds in (
        [flipped_row(w, (3, 4, 5), at, 6) for w in (0, 1)],
        [flipped_row(w, (3, 4, 5), at, 6, only_even=True) for w in (0, 1)],
        [list(small_tables(w, Setting((3, 4, 5), 1, at), 3).values()) for w in (0, 1)],
    ):
        assert [t.rows for t in worlds[0]] == [t.rows for t in worlds[1]] == [3, 4, 5]
        assert [differing(zero, one) for zero, one in zip(*worlds, strict=True)] == [int(k == at) for k in range(3)]


@pytest.mark.parametrize(("binary", "count", "attained"), [(True, 12, 1.0), (False, 100, 0.92), (False, 400, 0.96)])
def test_scores_move_in_opposite_directions_by_nearly_their_sensitivity(binary, count, attained) -> None:
    worlds = [opposed_pairs(w, count, 3, binary=binary) for w in (0, 1)]
    assert differing(*worlds) == 1
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7)]
    before, after = ([r_score(t) for t in contingency_tables(w, pairs)] for w in worlds)
    moved = np.array(after) - np.array(before)
    size = 2 if binary else 3
    most = r_sensitivity(count, size, size)
    assert attained * most <= moved[0] <= most
    assert list(moved[1:]) == [-moved[0]] * 3
