"""Mutual information I as an exact integer score, and its sensitivity to one replaced row.

With n rows, n I = sum c log2 c over the cells, less the same over the rows' and the columns' sums, plus
n log2 n. The integer form replaces each ``c log2 c`` by the nearest multiple of 2^-16: whatever these numbers
are, they are the same function of a count in every table, so the score is an integer, and its sensitivity is
that of n I with room for the rounding of the few terms that one row changes.

Source: PrivBayes (Zhang et al., TODS 2017), lemma 4.1 for the sensitivity of I (in bits).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

UNIT_BITS = 16
"""The score is in units of 2^-16 bits, over all rows."""

LARGEST_ROWS = 2**31
"""Below it 2^16 n log2 n has 53 bits: as a double it is off by less than 2 units."""

ROUNDING = 24
"""A replaced row changes at most two cells, two row sums and two column sums: 12 numbers in two tables, each off
by less than 2 units."""


def i_scores(joints: Sequence[NDArray[np.int64]]) -> list[int]:
    """2^16 n I of each table, rounded term by term; tables of shape (|X|, |Pi|), counts of at least 0.

    Raises:
        ValueError: 2^31 rows or more.
    """
    return [_i_score(joint) for joint in joints]


def _i_score(joint: NDArray[np.int64]) -> int:
    if joint.sum() >= LARGEST_ROWS:
        raise ValueError("too many rows for mutual information in exact integers")
    sums = joint.sum(axis=1), joint.sum(axis=0)
    return int(_terms(joint).sum() - _terms(sums[0]).sum() - _terms(sums[1]).sum() + _terms(joint.sum()).sum())


def _terms(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """2^16 c log2 c for each count, rounded to an integer."""
    values = np.asarray(counts, dtype=np.float64)
    logarithms = np.log2(values, out=np.zeros_like(values), where=values > 0)
    return np.rint(values * logarithms * 2**UNIT_BITS).astype(np.int64)


def i_sensitivity(rows: int, x_size: int, parent_size: int) -> int:
    """The most by which ``i_scores`` can move when one of ``rows`` rows is replaced.

    Raises:
        ValueError: rows or a size below 1, or 2^31 rows or more.
    """
    if rows < 1 or x_size < 1 or parent_size < 1 or rows >= LARGEST_ROWS:
        raise ValueError("rows (below 2^31) and both domain sizes must be at least 1")
    n = rows
    if x_size == 2 or parent_size == 2:
        bits = math.log2(n) + (n - 1) * math.log2(n / (n - 1)) if n > 1 else 0.0
    else:
        bits = 2 * math.log2((n + 1) / 2) + (n - 1) * math.log2((n + 1) / (n - 1)) if n > 1 else 0.0
    # n times lemma 4.1; the doubles' own error is far below one unit.
    return math.ceil(bits * 2**UNIT_BITS) + 1 + ROUNDING
