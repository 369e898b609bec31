"""Draw from tables of weights given what was drawn before; shared by the models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_ROWS_AT_ONCE = 1 << 16


def conditional(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pr[X | Pi] of weights of shape (cells of X, cells of Pi); where Pi was never seen, Pr[X]."""
    overall = weights.sum(axis=1, keepdims=True)
    if overall.sum() <= 0:
        overall = np.ones_like(overall)
    sums = weights.sum(axis=0, keepdims=True)
    unseen = sums <= 0
    return np.where(unseen, overall / overall.sum(), weights / np.where(unseen, 1.0, sums))


def draw(
    weights: npt.NDArray[np.float64], given: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """For each row a cell of X, drawn by ``weights`` of shape (cells of X, cells of Pi) at the row's cell of Pi.

    Args:
        given: cells of Pi, shape (rows,).
    """
    cumulative = conditional(weights).cumsum(axis=0)
    # Rounding must not leave a gap below 1 that no cell fills.
    cumulative[-1] = 1.0
    # One ascending line: what is drawn at cell s of Pi lies between s and s + 1.
    line = (cumulative + np.arange(weights.shape[1])).T.ravel()
    cells = np.empty(given.size, dtype=np.int64)
    for start in range(0, given.size, _ROWS_AT_ONCE):
        block = given[start : start + _ROWS_AT_ONCE]
        drawn = np.searchsorted(line, block + generator.random(block.size), side="right")
        cells[start : start + block.size] = np.clip(drawn - block * len(weights), 0, len(weights) - 1)
    return cells
