"""The texts of columns that many rows have: the mechanism by which categories are discovered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from privity.common.privacy.exact_bounds import log_above
from privity.common.privacy.gaussian_threshold import gaussian_threshold
from privity.common.privacy.mechanisms import Mechanism, positive, refused
from privity.common.privacy.neighbouring_relation import RELATION, Relation, check_same_relation
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.random_bits import Entropy, IntArray


@dataclass(frozen=True)
class ThresholdedCounts(Mechanism):
    """The texts of columns that many rows have: those whose count plus noise is above a threshold.

    Only texts that some row has are counted, and only those above the threshold are revealed, without their counts. The
    noise is discrete Laplace or, where its threshold is lower, discrete Gaussian (``gaussian_threshold``).

    Theorem: for c columns, Laplace noise of scale 2c/epsilon and a threshold T of at least scale ln(c/delta) cost
    (epsilon, delta) where one row is replaced, if delta is at most epsilon/4.
    Proof: in each column one text loses a row, and one gains one. A text that only the first table has is held by one
    row of it, and is revealed with probability P(1 + Z > T) = P(Z >= T) < exp(-T/scale) <= delta/c; that any of them,
    one a column at the most, is, has delta. If none is, what is revealed follows from the noisy counts of texts that
    both tables have, or is a text of the second one alone, which for its part stays hidden with probability 1 - delta/c
    or more. The former move by at most 2 in a column, and by at most 1 where a text is of one table alone, so that in
    such a column epsilon/2c is left, and more than ln(1/(1 - delta/c)), at most 2 delta/c.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas 2009 (one row more or less); Bun, Nissim, Stemmer 2016 (stability);
    for a replaced row and in integers ours.

    Attributes:
        columns: how many.
        epsilon, delta: exact, above 0.
        least: a threshold that is higher than it has to be, or 0.
    """

    columns: int
    epsilon: Fraction
    delta: Fraction
    least: int = 0

    def __post_init__(self) -> None:
        if self.columns < 1:
            raise refused("it has no column")
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if not 0 < self.delta <= min(self.epsilon / 4, Fraction(1, 2)):
            raise refused("delta does not lie between 0 and a quarter of epsilon")
        self.law.check(1)

    @property
    def _laplace(self) -> tuple[NoiseLaw, int]:
        scale = 2 * self.columns / self.epsilon
        return NoiseLaw(LAPLACE, scale), math.ceil(scale * log_above(self.columns / self.delta))

    @property
    def _gaussian(self) -> tuple[NoiseLaw, int] | None:
        return gaussian_threshold(self.columns, self.epsilon, self.delta)

    @cached_property
    def _chosen(self) -> tuple[NoiseLaw, int]:
        return min((self._laplace, self._gaussian or self._laplace), key=lambda both: both[1])

    @property
    def law(self) -> NoiseLaw:
        """The noise on a count."""
        return self._chosen[0]

    @property
    def threshold(self) -> int:
        """The count, noise included, above which a text is revealed."""
        return max(self._chosen[1], self.least)

    @property
    def in_words(self) -> str:
        """What statements call it."""
        return f"texts of more rows than a threshold, counted under {self.law.name} noise"

    def content(self) -> dict[str, Any]:
        """What it is, for digests and in ``run.json``."""
        cost = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return {"columns": self.columns, "threshold": self.threshold, **cost}

    def loss(self, relation: Relation, group_size: int = 1) -> ApproxDP:
        """(epsilon, delta)."""
        check_same_relation(RELATION, relation)
        return ApproxDP(self.epsilon, self.delta, relation).scaled(group_size)

    def sample(self, rows: int, entropy: Entropy) -> IntArray:
        """The noise for as many texts as so many rows can have: int64 of shape (columns, rows)."""
        return self.law.share(1, self.columns * rows, entropy).reshape(self.columns, rows)
