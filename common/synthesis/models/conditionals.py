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


def sample_codes(
    weights: npt.NDArray[np.float64],
    given: npt.NDArray[np.int64],
    generator: np.random.Generator,
    *,
    independent: bool = False,
) -> npt.NDArray[np.int64]:
    """For each row a cell of X, drawn by ``weights`` of shape (cells of X, cells of Pi) at the row's cell of Pi.

    Every single row follows the law of its weights. The m rows with one cell of Pi are drawn together, one from each
    m-th part of the law, in random order: so their counts are nearer to the weights than those of independent rows.

    Args:
        given: cells of Pi, shape (rows,).
        independent: whether rows are drawn one by one instead, so that counts vary as those of a sample do.
    """
    cumulative = conditional(weights).cumsum(axis=0)
    # Rounding must not leave a gap below 1 that no cell fills.
    cumulative[-1] = 1.0
    # One ascending line: what is drawn at cell s of Pi lies between s and s + 1.
    line = (cumulative + np.arange(weights.shape[1])).T.ravel()
    spread = generator.random(given.size) if independent else _spread(given, weights.shape[1], generator)
    points = given + spread
    cells = np.empty(given.size, dtype=np.int64)
    for start in range(0, given.size, _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        drawn = np.searchsorted(line, points[block], side="right")
        cells[block] = np.clip(drawn - given[block] * len(weights), 0, len(weights) - 1)
    return cells


def _spread(given: npt.NDArray[np.int64], groups: int, generator: np.random.Generator) -> npt.NDArray[np.float64]:
    """Uniform numbers from 0 to 1, of which each m-th part holds one for each group of m rows (stratified sampling)."""
    # A fresh order for each sample: rows must not keep their places from one attribute to the next.
    order = generator.permutation(given.size)
    # Short integers are sorted without comparisons.
    keys = given[order].astype(np.uint16 if groups <= 1 << 16 else np.int64)
    order = order[np.argsort(keys, kind="stable")]
    sizes = np.bincount(given, minlength=groups)
    ranks = np.arange(given.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    points = np.empty(given.size)
    points[order] = (ranks + generator.random(given.size)) / np.repeat(sizes, sizes)
    return points
