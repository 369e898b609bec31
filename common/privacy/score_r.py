"""The score R as an exact integer, and its sensitivity to one replaced row.

R(X, Pi) = 1/2 sum |P(x, y) - P(x) P(y)| (Zhang et al., "PrivBayes", 2017). With n rows, counts c_xy and
margins a_x, b_y, the integer ``sum |n c_xy - a_x b_y|`` equals 2 n^2 R: no float, no rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

VECTOR_ROWS = 2**31
"""Below this many rows 2 n^2, the largest possible score, fits into int64."""


def r_score(joint: NDArray[np.int64]) -> int:
    """``sum |n c_xy - a_x b_y|`` = 2 n^2 R of a contingency table, exactly, for any number of rows.

    Args:
        joint: int64 counts, shape (|X|, |Pi|), each at least 0.

    Raises:
        ValueError: the table is not 2-D, not of integers, or holds a negative count.
    """
    if joint.ndim != 2 or joint.dtype.kind not in "iu":
        raise ValueError("the table must be a 2-D array of integers, shape (|X|, |Pi|)")
    if joint.size == 0:
        return 0
    if int(joint.min()) < 0:
        raise ValueError("the table must hold exact counts, each at least 0")
    # With each count below 2**31 the total itself cannot wrap: no table has 2**32 cells.
    if int(joint.max()) < VECTOR_ROWS and (rows := int(joint.sum(dtype=np.int64))) < VECTOR_ROWS:
        counts = joint.astype(np.int64)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
        return int(np.abs(rows * counts - expected).sum())
    exact = [[int(c) for c in line] for line in joint]
    by_x = [sum(line) for line in exact]
    by_parent = [sum(column) for column in zip(*exact, strict=True)]
    total = sum(by_x)
    return sum(
        abs(total * c - a * b)
        for a, line in zip(by_x, exact, strict=True)
        for b, c in zip(by_parent, line, strict=True)
    )


def r_scores(joints: Sequence[NDArray[np.int64]]) -> list[int]:
    """``r_score`` of each table; those of one shape at once."""
    scores = [0] * len(joints)
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for place, joint in enumerate(joints):
        by_shape.setdefault(joint.shape, []).append(place)
    for places in by_shape.values():
        stacked = np.stack([joints[place] for place in places])
        plain = stacked.ndim == 3 and stacked.dtype == np.int64 and stacked.size and stacked.min() >= 0
        rows = stacked.sum(axis=(1, 2)) if plain and stacked.max() < VECTOR_ROWS else None
        if rows is None or rows.max() >= VECTOR_ROWS:
            found = [r_score(joint) for joint in stacked]
        else:
            expected = stacked.sum(axis=2)[:, :, None] * stacked.sum(axis=1)[:, None, :]
            found = np.abs(rows[:, None, None] * stacked - expected).sum(axis=(1, 2)).tolist()
        for place, score in zip(places, found, strict=True):
            scores[place] = score
    return scores


def r_sensitivity(rows: int, x_size: int, parent_size: int) -> int:
    """The most by which `r_score` can move when one of ``rows`` rows is replaced.

    4(n-1), which is attained, if either *declared* domain has two values; else 6n+4 (the published bound
    3/n + 2/n^2 on R, times 2n^2). The declared size counts, never what the rows show, and ``rows`` is the
    number behind the table (n_k for one party's own rows).

    Raises:
        ValueError: rows or a size below 1.
    """
    if rows < 1 or x_size < 1 or parent_size < 1:
        raise ValueError("rows and both domain sizes must be at least 1")
    if x_size == 2 or parent_size == 2:
        return 4 * (rows - 1)
    return 6 * rows + 4
