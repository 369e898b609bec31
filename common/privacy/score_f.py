"""The score F of a binary attribute as an exact integer, and its sensitivity to one replaced row.

F(X, Pi) is minus half the L1 distance from the joint distribution to the nearest one with the largest mutual
information. Each parent cell goes to X = 0 or to X = 1; with a and b rows of the cells' chosen sides,
2 n F = -min((n - 2a)+ + (n - 2b)+), an integer.

Source: PrivBayes (Zhang et al., TODS 2017), section 4.3 and 4.4: the programme over states (a, b) that no other
state dominates, and theorem 4.5, S(F) = 1/n. For attributes of more values it is NP-hard (theorem 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ENUMERATED_CELLS = 8
"""Up to so many parent cells all ways to assign them are tried at once; beyond, state by state."""

EXACT_ROWS = 2**52
"""Below it sums of counts, twice over, are exact as doubles."""


def f_scores(joints: Sequence[NDArray[np.int64]]) -> list[int]:
    """2 n F of each table of shape (2, |Pi|), at most 0.

    Raises:
        ValueError: an attribute that is not binary.
    """
    if any(joint.ndim != 2 or joint.shape[0] != 2 for joint in joints):
        raise ValueError("the score F is for binary attributes")
    scores = [0] * len(joints)
    by_cells: dict[int, list[int]] = {}
    for place, joint in enumerate(joints):
        by_cells.setdefault(joint.shape[1], []).append(place)
    for cells, places in by_cells.items():
        stacked = np.stack([joints[place] for place in places])
        found = _by_enumeration(stacked) if cells <= ENUMERATED_CELLS else [_by_states(joint) for joint in stacked]
        for place, score in zip(places, found, strict=True):
            scores[place] = score
    return scores


def f_sensitivity(rows: int, x_size: int, parent_size: int) -> int:
    """2: a replaced row moves F by at most 1/n.

    Raises:
        ValueError: rows or a size below 1, or an attribute that is not binary.
    """
    if rows < 1 or x_size != 2 or parent_size < 1:
        raise ValueError("the score F is for binary attributes, with at least one row")
    return 2


def _best(total: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """-min over the last axis of (n - 2a)+ + (n - 2b)+."""
    lack = np.maximum(total - 2 * a, 0) + np.maximum(total - 2 * b, 0)
    return -lack.min(axis=-1)


def _by_enumeration(joints: NDArray[np.int64]) -> list[int]:
    """All 2^|Pi| assignments of tables of one shape, (tables, 2, |Pi|)."""
    cells = joints.shape[2]
    to_zero = (np.arange(2**cells)[None, :] >> np.arange(cells)[:, None]) & 1
    total = joints.sum(axis=(1, 2))[:, None]
    if total.max() < EXACT_ROWS:
        # Doubles are exact below it, and far faster to multiply.
        joints, to_zero = joints.astype(np.float64), to_zero.astype(np.float64)
    scores: list[int] = _best(total, joints[:, 0] @ to_zero, joints[:, 1] @ (1 - to_zero)).astype(np.int64).tolist()
    return scores


def _by_states(joint: NDArray[np.int64]) -> int:
    """Parent cell after parent cell, with the states (a, b) that no other one dominates."""
    a = b = np.zeros(1, dtype=np.int64)
    for zero, one in joint.T:
        a, b = np.concatenate([a + zero, a]), np.concatenate([b, b + one])
        order = np.lexsort((-b, -a))
        a, b = a[order], b[order]
        # In descending order of a only a new greatest b is not dominated.
        kept = np.concatenate([[True], b[1:] > np.maximum.accumulate(b)[:-1]])
        a, b = a[kept], b[kept]
    return int(_best(joint.sum(), a, b))
