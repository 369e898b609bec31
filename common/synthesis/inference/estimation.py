"""From noisy marginals to a consistent distribution: post-processing, free of privacy cost.

Independent estimates of one table are averaged by inverse variance; every attribute gets one 1-way
marginal from all tables that contain it; each table is made to agree with them and to be non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privity.common.data.noisy_tables import Marginal, NoisyTable

FITTING_ROUNDS = 50
"""Most rounds of alternating projections, and rounds of iterative proportional fitting after them."""

CHANCE = 1.0
"""Standard deviations of the noise's sum of squares that do not count as association: otherwise half of the
tables below the noise floor would show some."""

SMOOTHING_STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)


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


def holders(tables: Iterable[Marginal]) -> dict[int, list[Marginal]]:
    """The tables that have each attribute, in their order."""
    found: dict[int, list[Marginal]] = {}
    for table in tables:
        for attribute in table:
            found.setdefault(attribute, []).append(table)
    return found


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


def smooth(estimate: Estimate) -> np.ndarray:
    """Counts of ordered categories, each shrunk towards its neighbours as far as that lowers the risk.

    The smoother is ``(1 + strength D'D)^-1``, D the first differences; of a few strengths the one with
    the least unbiased estimate of the squared error (Stein 1981, for a linear smoother) is taken, 0 being
    one of them: spiky or precisely known counts stay as they are.
    """
    from scipy.fft import dct, idct

    counts = estimate.counts
    best, least = counts, 2 * estimate.variance * counts.size
    # The cosines are the eigenvectors of D'D: no matrix is needed, of which an attribute of 5,000 bins would have large
    # ones.
    eigenvalues = 2 - 2 * np.cos(np.pi * np.arange(counts.size) / counts.size)
    waves = dct(counts, norm="ortho")
    for strength in SMOOTHING_STRENGTHS:
        kept = 1 / (1 + strength * eigenvalues)
        smoothed = idct(waves * kept, norm="ortho")
        risk = ((counts - smoothed) ** 2).sum() + 2 * estimate.variance * kept.sum()
        if risk < least:
            best, least = smoothed, risk
    return best


def one_way_marginals(
    estimates: Mapping[Marginal, Estimate],
    attributes: Iterable[int],
    rows: int,
    ordered: Mapping[int, int] | None = None,
) -> dict[int, np.ndarray]:
    """One non-negative marginal with total ``rows`` for each attribute, from every table that has it.

    Args:
        ordered: attributes to smooth, with the number of their first codes that stand in an order.
    """
    marginals = {}
    held = holders(estimates)
    for attribute in attributes:
        parts = []
        for table in held[attribute]:
            part = marginalise(estimates[table], [table.index(attribute)])
            surplus = (rows - part.counts.sum()) / part.counts.size
            parts.append(Estimate(part.counts + surplus, part.variance))
        mean = average(parts)
        counts = mean.counts.copy()
        length = (ordered or {}).get(attribute, 0)
        if length > 1:
            counts[:length] = smooth(Estimate(counts[:length], mean.variance))
        marginals[attribute] = nearest_counts(counts, float(rows))
    return marginals


def shrink_pair(estimate: Estimate, marginals: Sequence[np.ndarray], rows: int) -> Estimate:
    """A 2-way table shrunk towards independence, cell by cell as far as noise outweighs association.

    The residual against the product of the marginals has the prior variance ``tau * p`` in a cell of
    probability p: rare cells cannot deviate much. tau follows from the residuals' squares less the noise's (the
    square of a Laplace variable of variance v has the variance 5 v^2), see ``CHANCE``; the weight is Wiener's,
    ``tau p / (tau p + noise)``. A table below the noise floor becomes the product, a clear one stays.
    """
    first, second = marginals
    product = np.outer(first, second) / rows
    residual = estimate.counts - product
    # The marginals' own error is not association: fitting puts it right.
    residual -= residual.mean(axis=0, keepdims=True)
    residual -= residual.mean(axis=1, keepdims=True)
    noise = estimate.variance * (1 - 1 / first.size) * (1 - 1 / second.size)
    chance = noise * (residual.size + CHANCE * math.sqrt(5 * residual.size))
    tau = max(0.0, (residual**2).sum() - chance)
    signal = tau * product / rows
    weight = np.divide(signal, signal + noise, out=np.zeros_like(signal), where=signal > 0)
    return Estimate(product + weight * residual, estimate.variance)


def fit_table(
    estimate: Estimate,
    marginals: Sequence[np.ndarray],
    rows: int,
    separator: tuple[Sequence[int], np.ndarray] | None = None,
) -> np.ndarray:
    """A non-negative table near the estimate whose 1-way marginals are those given.

    L2 projections in turn onto the tables with these marginals and onto the non-negative ones, then
    iterative proportional fitting for what is left. (Fitting alone grows a cell that was cut to nothing
    too slowly, and misses the marginals under much noise.) What both leave is settled at once.

    Args:
        separator: ascending axes, and one more marginal, over them, that the table is to have; it agrees with the
            1-way ones.
    """
    counts = estimate.counts.copy()
    kept, known = separator if separator is not None else ((), None)
    # The marginals are over sets of axes that share none: the separator's says what its 1-way ones do.
    around = [_Around(counts.shape, (axis,), marginals[axis]) for axis in range(counts.ndim) if axis not in kept]
    if known is not None:
        around.append(_Around(counts.shape, kept, known))
    for _ in range(FITTING_ROUNDS):
        for marginal in around:
            gap = marginal.counts - marginal.sums(counts)
            counts += gap * gap.size / counts.size
        if counts.min() >= 0:
            break
        np.maximum(counts, 0.0, out=counts)
    # A cell that was cut to nothing may be all that a row has: leave it a trace to grow from.
    counts += rows * 1e-12
    for _ in range(FITTING_ROUNDS):
        for marginal in around:
            # Where a marginal is 0 the cells become 0 in the first round, and stay so.
            counts *= _ratio(marginal.counts, marginal.sums(counts))
    return _settle(counts, around)


@dataclass(frozen=True)
class _Around:
    """A marginal of a table, standing beside it: as many axes, those summed over of length 1."""

    shape: tuple[int, ...]
    kept: Sequence[int]
    given: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return self.given.reshape([size if a in self.kept else 1 for a, size in enumerate(self.shape)])

    def sums(self, table: np.ndarray) -> np.ndarray:
        return table.sum(axis=tuple(a for a in range(table.ndim) if a not in self.kept), keepdims=True)


def _ratio(marginal: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return np.divide(marginal, sums, out=np.zeros_like(sums), where=sums > 0)


def _settle(counts: np.ndarray, around: Sequence[_Around]) -> np.ndarray:
    """The table with these marginals exactly, near one that has them nearly; their sets of axes share none.

    Cells above a marginal shrink, and the product of what the marginals then lack makes up for it. Source: the
    rounding of Altschuler, Weed and Rigollet (NIPS 2017, Algorithm 2), for more than two marginals.
    """
    for marginal in around:
        counts = counts * np.minimum(1.0, _ratio(marginal.counts, marginal.sums(counts)))
    lacking = [np.maximum(0.0, marginal.counts - marginal.sums(counts)) for marginal in around]
    missing = lacking[0].sum()
    if missing <= 0:
        return counts
    extra = lacking[0]
    for lack in lacking[1:]:
        extra = extra * (lack / missing)
    return counts + extra
