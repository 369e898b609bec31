"""How strongly two attributes hang together, from noisy contingency tables; post-processing only."""

from __future__ import annotations

import math

import numpy as np

from privity.common.data.noisy_tables import NoisyTable


def noisy_association(table: NoisyTable) -> float:
    """R of the first axis against all others together, less what its noise alone would show.

    R is half the L1 distance between the joint and the product of its marginals (PrivBayes, section
    4.3): 0 for independent attributes, below 1. The residual of a pure-noise cell has the variance
    v (1 - 1/r)(1 - 1/c) for an r x c table; its mean absolute value is taken as that of a Laplace
    variable, sqrt(variance / 2). The result may be negative: weaker than noise.
    """
    joint = table.counts.reshape(table.counts.shape[0], -1).astype(np.float64)
    rows, columns = joint.shape
    n = table.rows
    total = joint.sum()
    # The true total is public: put the difference where it belongs, evenly over the cells.
    joint += (n - total) / joint.size
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True) / n
    observed = np.abs(joint - product).sum() / (2 * n)
    variance = table.variance * (1 - 1 / rows) * (1 - 1 / columns)
    return float(observed - joint.size * math.sqrt(variance / 2) / (2 * n))
