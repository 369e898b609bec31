"""How strongly two attributes hang together in a table, noisy or not, less what noise alone would show.

Let D = A N B' be the departure of an r x c table N from the product of its margins, A = I - p 1', p the share of each
row, B likewise for columns. Cramer's V is made of phi^2 = sum w_ij D_ij^2 / n^2 with w_ij = 1 / (p_i q_j), a quadratic
form of N. Independent noise of variance v on every cell adds v sum w_ij S_ii T_jj / n^2 to it in expectation, S = A A'
and T = B B', with a variance of v^2 (2 sum w_ij w_kl S_ik^2 T_jl^2 + k sum_m (sum w_ij A_im^2 B_jm^2)^2) / n^4, k the
excess kurtosis of the noise. So what noise adds is taken off, and what it would reach by chance is known.

A cell that is rarer than its noise is large weighs as one that is as common: otherwise the rarest cells, of which a
noisy marginal says nothing, would decide. Only a departure that no noise makes has its own weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CHANCE = 1.645
"""Standard deviations that noise alone exceeds once in twenty."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Strength:
    """Of the association of two attributes.

    Attributes:
        v: Cramer's V, from 0 to 1.
        bits: mutual information.
        noise: the V that noise alone exceeds about once in twenty; 0 without noise.
    """

    v: float
    bits: float
    noise: float

    @property
    def told(self) -> bool:
        """Whether it is told from noise."""
        return self.v > self.noise


def strength(
    counts: npt.NDArray[np.integer], rows: int, variance: float = 0.0, excess: float = 0.0, sure: float = 0.0
) -> Strength:
    """Strength of the association of the two axes; V is divided by the categories that are there.

    Args:
        counts: shape (r, c); may be negative if they are noisy.
        rows: what they would add up to without noise.
        variance, excess: of the noise on each count: its variance and excess kurtosis.
        sure: noise that hardly any cell of the table has.
    """
    joint = counts.astype(np.float64) / rows
    v = variance / rows**2
    p, some_rows = _shares(joint.sum(axis=1))
    q, some_columns = _shares(joint.sum(axis=0))
    product = np.outer(p, q)
    apart = joint - np.outer(p, joint.sum(axis=0)) - np.outer(joint.sum(axis=1), q) + joint.sum() * product
    certain = (np.abs(apart) > sure / rows) & (product > 0)
    # What is in a cell is in its row and its column too: their product is not below its square.
    common = np.maximum(product, np.where(certain, apart**2, math.sqrt(v)))
    common[common == 0] = 1
    noise, by_chance = np.zeros_like(joint), 0.0
    if v:
        left, right = _projection(p), _projection(q)
        rows_together, columns_together = left @ left.T, right @ right.T
        noise = v * np.outer(np.diag(rows_together), np.diag(columns_together))
        weights = 1 / np.maximum(product, math.sqrt(v))
        spread = 2 * float(((rows_together**2 @ weights @ columns_together**2) * weights).sum())
        spread += excess * float((((left**2).T @ weights @ right**2) ** 2).sum())
        by_chance = CHANCE * v * math.sqrt(spread)
    phi = float(((apart**2 - noise) / common).sum())
    most = max(1, min(some_rows, some_columns) - 1)
    found = min(1.0, math.sqrt(max(0.0, phi) / most))
    return Strength(found, _information(apart, product, common, noise, certain), math.sqrt(by_chance / most))


def _shares(margin: Numbers) -> tuple[Numbers, int]:
    """Shares of the categories, and how many of them are there."""
    positive = np.maximum(margin, 0)
    shares = positive / positive.sum() if positive.sum() > 0 else np.full(len(margin), 1 / len(margin))
    return shares, int((margin > 0).sum())


def _projection(shares: Numbers) -> Numbers:
    """A of the docstring."""
    return np.eye(len(shares)) - np.outer(shares, np.ones(len(shares)))


def _information(
    apart: Numbers, product: Numbers, common: Numbers, noise: Numbers, certain: npt.NDArray[np.bool_]
) -> float:
    """Mutual information in bits.

    Cell by cell: the sum of p log(p/q) - p + q over a table is the divergence of p from q. A departure that is certain
    is taken as it is; another one by its second order, d^2 / 2q, less that of the noise.
    """
    joint = np.maximum(product + apart, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(joint > 0, joint * np.log(joint / product), 0.0) - joint + product
    nats = float(exact[certain].sum() + ((apart**2 - noise) / (2 * common))[~certain].sum())
    return min(max(0.0, nats) / math.log(2), math.log2(min(apart.shape)))
