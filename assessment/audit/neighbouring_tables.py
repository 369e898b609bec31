"""Pairs of neighbouring tables for the audit: the worst ones that are known, from public facts only.

In world 1 one row of one party is another one than in world 0; all else is equal.

*Many outcomes from one round.* A round over d tables for d * eps adds noise of scale 2d/(d eps) = 2/eps to
every cell. The replaced row differs in every attribute, so each of d one-way tables over d attributes is by
itself one release for eps, and their noises are independent: one round gives d outcomes. Where outcomes
must not be taken for independent (noise that is used twice), several tables make up one outcome.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privity.assessment.audit.audited_consortium import make_schema
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.protocol.expected_tables import ExpectedTables


def table_of(schema: Schema, rows: Sequence[Sequence[int]]) -> CodedTable:
    """A coded table of the rows."""
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(schema.domain))
    return CodedTable(schema, tuple(codes[:, i].astype(np.uint8) for i in range(len(schema.domain))))


def flipped_row(
    world: int, rows: Sequence[int], party: int, attributes: int, only_even: bool = False
) -> list[CodedTable]:
    """K tables of zeros over binary attributes; in world 1 the first row of ``party`` is all ones.

    With ``only_even`` its odd attributes stay zero.
    """
    schema = make_schema((2,) * attributes)
    tables = []
    for k, count in enumerate(rows):
        codes = np.zeros((count, attributes), dtype=np.int64)
        if world and k == party:
            codes[0] = 1
            if only_even:
                codes[0, 1::2] = 0
        tables.append(table_of(schema, codes.tolist()))
    return tables


def counts_of_zeros(rows: int, world: int) -> np.ndarray:
    """True counts of one attribute of ``flipped_row`` over ``rows`` rows that hold the replaced one."""
    return np.array([rows - world, world], dtype=np.int64)


def opposed_pairs(world: int, rows: int, others: int, *, binary: bool) -> CodedTable:
    """The worst case of a selection: in world 1 the score of pair 0 is higher, and of all other pairs lower.

    Attributes 2i and 2i+1 form pair i. Each pair has the same ``rows`` - 1 rows; the last one is either
    ``near`` (low score) or ``far`` (high score), and takes the pair from one to the other.
    """
    base, near, far = _binary_pair(rows) if binary else _wide_pair(rows)
    size = 2 if binary else 3
    last = [far if world == int(pair == 0) else near for pair in range(1 + others)]
    codes = np.concatenate([np.tile(base, (1, 1 + others)), np.array(last).reshape(1, -1)])
    return table_of(make_schema((size,) * (2 * (1 + others))), codes.tolist())


def one_farther(world: int, rows: int, others: int) -> CodedTable:
    """The worst case of a selection among tables.

    Attribute 0 is farther from all zeros in world 1, and all others are nearer. Attribute 0 is ``world`` in the last
    row, all others are its opposite there; in the first row all others are one, in the rows between there are zeros. So
    distances are 0 and 2 in world 0, and 1 in world 1: a choice's loss is largest between a gap and none.
    """
    codes = np.zeros((rows, 1 + others), dtype=np.int64)
    codes[0, 1:] = 1
    codes[-1] = [world] + [1 - world] * others
    return table_of(make_schema((2,) * (1 + others)), codes.tolist())


def expecting_zeros(tables: int) -> ExpectedTables:
    """What a model of zeros expects of so many binary attributes, each by itself."""
    rows = 1 << 20
    return ExpectedTables(tuple((a,) for a in range(tables)), np.array([rows, 0] * tables), rows, (0,) * tables)


def matched_halves(world: int, rows: int) -> CodedTable:
    """The worst case of the score F: two equal attributes, half of each value; in world 1 one row differs."""
    codes = np.repeat([[0, 0], [1, 1]], rows // 2, axis=0)
    codes[0, 1] = world
    return table_of(make_schema((2, 2)), codes.tolist())


def _binary_pair(rows: int) -> tuple[np.ndarray, tuple[int, int], tuple[int, int]]:
    """Two constant attributes have the score 0; one row that differs in both makes it 4(n-1).

    n(n-1) - (n-1)^2 = n-1 for each of the four cells: the sensitivity of a binary pair is attained.
    """
    return np.zeros((rows - 1, 2), dtype=np.int64), (0, 0), (1, 1)


def _wide_pair(rows: int) -> tuple[np.ndarray, tuple[int, int], tuple[int, int]]:
    """Independent attributes, of which a row leaves the one shared rare cell for a corner of its own.

    With rare values of about sqrt(n) rows each, the score rises by 6n - O(sqrt n) of the bound 6n + 4.
    """
    rare = round(rows**0.5)
    codes = np.zeros((rows - 1, 2), dtype=np.int64)
    codes[: rare - 1, 0] = 1
    codes[rare - 1 : 2 * (rare - 1), 1] = 1
    return codes, (1, 1), (2, 2)
