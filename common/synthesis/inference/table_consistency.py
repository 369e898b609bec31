"""Mutual consistency of noisy marginals, and the threshold against the bias of rounding: free of privacy cost.

Source: JTree (Chen, Xiao, Zhang, Xu, "Differentially Private High-Dimensional Data Publication via
Sampling-Based Inference", KDD 2015), section 4.3. Deviations:

- The paper visits all intersections of the tables' attribute sets in topological order, and shifts every
  table that holds one equally in all cells summed. There may be as many intersections as subsets of
  the tables. ``make_consistent`` computes the same result in one step from Fourier coefficients (the basis of
  Barak et al., PODS 2007, for any domain), set of attributes by set.
- A table's weight counts the variance of its cells too; in the paper all tables have the same.
- The total is public, so the empty intersection is not estimated but set.
- The threshold is any non-negative number; in the paper it is a positive integer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, combinations, pairwise

import numpy as np

from privity.common.data.noisy_tables import Marginal
from privity.common.synthesis.inference.estimation import Estimate


def make_consistent(estimates: Mapping[Marginal, Estimate], rows: int) -> dict[Marginal, Estimate]:
    """Tables that agree on whatever attributes they share and sum to ``rows``, nearest to those given.

    The sum over tables of the squared shift of each cell divided by the table's variance is the least possible.
    As noise is independent with one variance in a table, this is the best linear unbiased estimate, and the
    step by step algorithm of the source gives it too. The reason: the Fourier coefficients of a table whose
    frequency is 0 on all axes but some are those of its marginal over these axes. Consistency thus means that
    tables have equal coefficients in common, and coefficients of one table are uncorrelated: each is the
    inverse-variance weighted mean over all tables that hold its attributes, whatever happens to the others.
    A step of the source over an intersection changes only coefficients whose attributes stand together in no
    smaller intersection; all tables that hold them hold the intersection, so the weights are the same.

    Cost: for tables of C cells together, time C log C and some microseconds for each subset of each table's
    attributes (2^k for k attributes, never more than there are cells); memory 32 bytes times C. There is no limit
    of its own: tables within the limits of the protocol fit.

    Args:
        estimates: unbiased estimates in rows, one float table for each set of attributes; keys ascend, axes in
            their order. Noise is independent between cells and tables.
        rows: public total of every table.

    Returns:
        Tables of the same keys and shapes, in the same order. Cells may be negative. ``variance`` is that of
        one cell; it is never above the given one, and 0 for a table of one cell. Errors of cells and tables
        are now dependent: neither ``marginalise`` nor ``average`` gives the variance of sums of them.

    Raises:
        ValueError: a key that is empty or does not ascend, a table without one axis for each attribute or
            without cells, an attribute of two sizes, a count that is not finite, a variance that is not
            positive and finite, or negative ``rows``.
    """
    _check(estimates, rows)
    # In one order whatever the caller's, so that the result is the same to the last bit.
    keys = sorted(estimates)
    spectra = {key: np.fft.fftn(estimates[key].counts) for key in keys}
    # A coefficient's variance is the cells' times their number, in a marginal as in its table.
    weights = {key: 1 / (estimates[key].variance * estimates[key].counts.size) for key in keys}
    holders = Counter(subset for key in keys for subset in _subsets(key))
    sums: dict[Marginal, np.ndarray] = {}
    totals: dict[Marginal, float] = {}
    for key in keys:
        for subset in _subsets(key):
            if holders[subset] > 1:
                sums[subset] = sums.get(subset, 0) + weights[key] * spectra[key][_frequencies(key, subset)]
                totals[subset] = totals.get(subset, 0.0) + weights[key]

    def finish(key: Marginal) -> Estimate:
        coefficients = spectra[key]
        # The part of the coefficients' variance that is left; cells have the mean, all of them alike.
        left = float(coefficients.size - 1)
        for subset in _subsets(key):
            if subset in sums:
                coefficients[_frequencies(key, subset)] = sums[subset] / totals[subset]
                left -= sums[subset].size * (1 - weights[key] / totals[subset])
        coefficients[(0,) * len(key)] = rows
        return Estimate(np.fft.ifftn(coefficients).real, estimates[key].variance * max(0.0, left) / coefficients.size)

    return {key: finish(key) for key in estimates}


def _subsets(key: Marginal) -> Iterator[Marginal]:
    """Every set of at least one of the attributes."""
    return chain.from_iterable(combinations(key, size) for size in range(1, len(key) + 1))


def _frequencies(key: Marginal, subset: Marginal) -> tuple[slice | int, ...]:
    """Where a table's coefficients of just these attributes stand: frequency 0 on the other axes, not 0 on theirs."""
    return tuple(slice(1, None) if attribute in subset else 0 for attribute in key)


def _check(estimates: Mapping[Marginal, Estimate], rows: int) -> None:
    if rows < 0:
        raise ValueError("the number of rows is negative")
    sizes: dict[int, int] = {}
    for key, estimate in estimates.items():
        if not key or any(a >= b for a, b in pairwise(key)):
            raise ValueError(f"the attributes {key} are not an ascending tuple of at least one")
        if estimate.counts.ndim != len(key) or not estimate.counts.size:
            raise ValueError(f"the table of {key} has the shape {estimate.counts.shape}")
        if not np.isfinite(estimate.counts).all():
            raise ValueError(f"the table of {key} has a count that is not finite")
        if not (0 < estimate.variance < math.inf):
            raise ValueError(f"the table of {key} has the variance {estimate.variance}")
        for attribute, size in zip(key, estimate.counts.shape, strict=True):
            if sizes.setdefault(attribute, size) != size:
                raise ValueError(f"attribute {attribute} has {sizes[attribute]} values and {size}")


def keep_above_threshold(counts: np.ndarray, total: float) -> np.ndarray:
    """The counts above a threshold, scaled to the total; all others become 0.

    Cutting negative counts to 0 alone adds rows to cells that have none. The threshold, 0 or more, is the one
    whose counts above it have the sum nearest to ``total`` (the higher one of two that are as near). Equal counts
    are kept or dropped together. ``nearest_counts`` in estimation.py serves the same purpose by subtraction.

    It is the better one for large tables with many empty cells (docs/performance.md).

    Args:
        counts: table of any shape, in rows; must be finite.
        total: what the result sums to, in rows, at least 0.

    Returns:
        A non-negative float64 table of the same shape. Without a positive count all cells are equal.

    Raises:
        ValueError: no cells, a count that is not finite, or a total that is negative or not finite.
    """
    if not counts.size or not np.isfinite(counts).all():
        raise ValueError("a table needs cells, all of them finite")
    if not 0 <= total < math.inf:
        raise ValueError("the total is negative or not finite")
    values, repeats = np.unique(counts[counts > 0], return_counts=True)
    if not values.size:
        return np.full(counts.shape, total / counts.size)
    values, repeats = values[::-1], repeats[::-1]
    sums = np.cumsum(values.astype(float) * repeats)
    best = int(np.argmin(np.abs(sums - total)))
    return np.where(counts >= values[best], counts / sums[best] * total, 0.0)
