"""The words in which algorithms ask for statistics and get them back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from common.privacy.noise_law import NoiseLaw

Marginal = tuple[int, ...]
"""Attribute indices of one contingency table, in the order of its axes."""


@dataclass(frozen=True)
class AttributeParentPair:
    """An attribute X and a parent set Pi of a Bayesian network, by attribute index."""

    attribute: int
    parents: Marginal

    @property
    def marginal(self) -> Marginal:
        """The table that holds Pr[X, Pi]: X on the first axis, then the parents."""
        return (self.attribute, *self.parents)


@dataclass(frozen=True)
class NoisyTable:
    """A contingency table with independent discrete noise on every cell, as it was opened.

    Attributes:
        attributes: the marginal; the axes of ``counts`` follow it.
        counts: int64, shape = the domain sizes of ``attributes``; may be negative.
        law: that of the variable which the noise of each cell amounts to at least.
        variance: of the noise on one cell (with shared noise K/(K-t) times that of one variable).
        rows: public number of rows that the true counts sum to.
    """

    attributes: Marginal
    counts: np.ndarray
    law: NoiseLaw
    variance: float
    rows: int
