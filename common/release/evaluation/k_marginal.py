"""The k-marginal score of NIST's synthetic data challenges, over all sets of k attributes instead of drawn ones."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

WHOLE = 1000


def k_marginal_score(distances: Collection[float]) -> float:
    """1000 (1 - mean total variation distance): 1000 for equal marginals, 0 for disjoint ones."""
    return WHOLE * (1 - float(np.mean(list(distances))))
