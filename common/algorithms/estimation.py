"""From noisy tables to a consistent distribution: post-processing, free of privacy cost.

Independent estimates of one table are averaged by inverse variance; every attribute gets one 1-way
marginal from all tables that contain it; each table is made to agree with them and to be non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from common.statistics import Marginal, NoisyTable

FITTING_ROUNDS = 50
"""Most rounds of alternating projections, and rounds of iterative proportional fitting after them."""


@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a contingency table: float64 counts and the variance of each cell."""

    counts: np.ndarray
    variance: float


def average(estimates: Iterable[Estimate]) -> Estimate:
    """Inverse-variance weighted mean of independent estimates of the same table."""
    estimates = list(estimates)
    weight = sum(1 / e.variance for e in estimates)
    counts = sum((e.counts / e.variance for e in estimates), np.zeros_like(estimates[0].counts)) / weight
    return Estimate(counts, 1 / weight)


def collect(tables: Iterable[NoisyTable]) -> dict[Marginal, Estimate]:
    """One estimate for each set of attributes, axes in the order of the attributes' indices."""
    found: dict[Marginal, list[Estimate]] = {}
    for table in tables:
        axes = np.argsort(table.attributes)
        key = tuple(sorted(table.attributes))
        found.setdefault(key, []).append(Estimate(table.counts.transpose(axes).astype(float), table.variance))
    return {key: average(estimates) for key, estimates in found.items()}


def marginalise(estimate: Estimate, axes: Sequence[int]) -> Estimate:
    """Keep the axes given, in their order of appearance; the others are summed out."""
    shape = estimate.counts.shape
    summed = tuple(a for a in range(len(shape)) if a not in axes)
    return Estimate(estimate.counts.sum(axis=summed), estimate.variance * math.prod(shape[a] for a in summed))


def nearest_counts(counts: np.ndarray, total: float) -> np.ndarray:
    """The non-negative table with this total that is nearest in L2 (projection onto a simplex).

    Algorithm of Held, Wolfe and Crowder (1974), by sorting.
    """
    flat = np.sort(counts.ravel())[::-1]
    excess = np.cumsum(flat) - total
    ranks = np.arange(1, flat.size + 1)
    last = np.nonzero(flat - excess / ranks > 0)[0]
    shift = excess[last[-1]] / (last[-1] + 1) if last.size else excess[-1] / flat.size
    return np.maximum(counts - shift, 0.0)


def one_way_marginals(estimates: Mapping[Marginal, Estimate], attributes: int, rows: int) -> list[np.ndarray]:
    """One non-negative marginal with total ``rows`` for each attribute, from every table that has it."""
    marginals = []
    for attribute in range(attributes):
        parts = []
        for table, estimate in estimates.items():
            if attribute in table:
                part = marginalise(estimate, [table.index(attribute)])
                surplus = (rows - part.counts.sum()) / part.counts.size
                parts.append(Estimate(part.counts + surplus, part.variance))
        marginals.append(nearest_counts(average(parts).counts, float(rows)))
    return marginals


def fit_table(estimate: Estimate, marginals: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """A non-negative table near the estimate whose 1-way marginals are those given.

    L2 projections in turn onto the tables with these marginals and onto the non-negative ones, then
    iterative proportional fitting for what is left. (Fitting alone grows a cell that was cut to nothing
    too slowly, and misses the marginals under much noise.)
    """
    counts = estimate.counts.copy()
    axes = range(counts.ndim)
    for _ in range(FITTING_ROUNDS):
        for axis in axes:
            others = tuple(a for a in axes if a != axis)
            gap = marginals[axis] - counts.sum(axis=others)
            counts += np.expand_dims(gap, others) * counts.shape[axis] / counts.size
        if counts.min() >= 0:
            break
        np.maximum(counts, 0.0, out=counts)
    # A cell that was cut to nothing may be all that a row has: leave it a trace to grow from.
    counts += rows * 1e-12
    for _ in range(FITTING_ROUNDS):
        for axis in axes:
            others = tuple(a for a in axes if a != axis)
            sums = counts.sum(axis=others)
            # Where a marginal is 0 the cells become 0 in the first round, and stay so.
            factors = np.divide(marginals[axis], sums, out=np.zeros_like(sums), where=sums > 0)
            counts *= np.expand_dims(factors, others)
    return counts
