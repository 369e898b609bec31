"""How strongly two attributes hang together in a table, noisy or not, less what noise alone would show.

Let D = A N B' be the departure of an r x c table N from the product of its margins, A = I - p 1', p the share of
each row, B likewise for columns. Cramer's V is made of phi^2 = sum w_ij D_ij^2 / n^2 with w_ij = 1 / (p_i q_j), a
quadratic form of N. Independent noise of variance v on every cell adds v sum w_ij S_ii T_jj / n^2 to it in
expectation, S = A A' and T = B B', with a variance of v^2 (2 sum w_ij w_kl S_ik^2 T_jl^2 + k sum_m (sum w_ij A_im^2
B_jm^2)^2) / n^4, k the excess kurtosis of the noise. So what noise adds is taken off, and what it would reach by
chance is known.

Where there is a dependence, noise moves it in proportion, too: by v |2 A' (W o D) B - R 1' - 1 C'|^2 / n^4, o cell
by cell, with R_i = sum_j w_ij D_ij^2 / p_i and C_j alike, as the weights follow from noisy margins (each less its
mean). Both variances together give the error bar of V, by a normal law. It is of V as it is weighted here, so that
it may end below a V that is made by rare cells.

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

WITHIN = 1.96
"""Standard deviations within which it stays in 95 %."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Strength:
    """Of the association of two attributes.

    Attributes:
        v: Cramer's V, from 0 to 1.
        half_width: how far the noise moved V at most, in about 95 %; 0 without noise.
        bits: mutual information.
        noise: the V that noise alone exceeds about once in twenty; 0 without noise.
    """

    v: float
    half_width: float
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
    (found,) = strengths(counts[None], *(np.array([x], dtype=np.float64) for x in (rows, variance, excess, sure)))
    return found


def strengths(
    counts: npt.NDArray[np.integer], rows: Numbers, variances: Numbers, excesses: Numbers, sure: Numbers
) -> list[Strength]:
    """The same of many tables of one shape.

    Args:
        counts: shape (tables, r, c).
        rows, variances, excesses, sure: shape (tables,).
    """
    each = (slice(None), None, None)
    joint = counts / rows[each]
    v = (variances / rows**2)[each]
    across, down, total = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    (p, some_rows), (q, some_columns) = _shares(across), _shares(down)
    product = _outer(p, q)
    apart = joint - _outer(p, down) - _outer(across, q) + total[each] * product
    certain = (np.abs(apart) > (sure / rows)[each]) & (product > 0)
    # What is in a cell is in its row and its column too: their product is not below its square.
    common = np.maximum(product, np.where(certain, apart**2, np.sqrt(v)))
    common[common == 0] = 1
    by_chance = spreads = np.zeros(len(joint))
    noise = v * _outer(_diagonal(p), _diagonal(q))
    if v.any():
        with np.errstate(divide="ignore"):
            weights = np.where(v > 0, 1 / np.maximum(product, np.sqrt(v)), 0.0)
        spread = 2 * (_squared_together(q, _squared_together(p, weights).swapaxes(1, 2)).swapaxes(1, 2) * weights).sum(
            axis=(1, 2)
        )
        fourth = _squared(q, _squared(p, weights).swapaxes(1, 2)).swapaxes(1, 2)
        quadratic = v[:, 0, 0] ** 2 * (spread + excesses * (fourth**2).sum(axis=(1, 2)))
        terms = np.where(common == product, np.maximum(apart**2 - noise, 0) / common, 0.0)
        slope = 2 * _twice_centred(apart / common, p, q) - _by_margins(terms, p, q)
        linear = v[:, 0, 0] * (slope**2).sum(axis=(1, 2))
        by_chance, spreads = CHANCE * np.sqrt(quadratic), WITHIN * np.sqrt(quadratic + linear)
    phi = ((apart**2 - noise) / common).sum(axis=(1, 2))
    most = np.maximum(1, np.minimum(some_rows, some_columns) - 1)
    found, low, high = (
        np.minimum(1.0, np.sqrt(np.maximum(0.0, x) / most)) for x in (phi, phi - spreads, phi + spreads)
    )
    bits = _information(apart, product, common, noise, certain)
    values = [found, np.maximum(found - low, high - found), bits, np.sqrt(by_chance / most)]
    return [Strength(*one) for one in zip(*(x.tolist() for x in values), strict=True)]


def _outer(left: Numbers, right: Numbers) -> Numbers:
    return left[:, :, None] * right[:, None, :]


def _twice_centred(x: Numbers, p: Numbers, q: Numbers) -> Numbers:
    """A' x B, of the docstring."""
    down, across = (p[:, :, None] * x).sum(axis=1), (x * q[:, None, :]).sum(axis=2)
    return np.asarray(x - down[:, None, :] - across[:, :, None] + (p * across).sum(axis=1)[:, None, None])


def _by_margins(terms: Numbers, p: Numbers, q: Numbers) -> Numbers:
    """How much the terms' sum falls if a cell grows, because its row and its column have more weight."""
    rows, columns = (np.divide(terms.sum(axis=a), x, out=np.zeros_like(x), where=x > 0) for a, x in ((2, p), (1, q)))
    level = (rows * p).sum(axis=1) + (columns * q).sum(axis=1)
    return np.asarray(rows[:, :, None] + columns[:, None, :] - level[:, None, None])


def _shares(margins: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Shares of the categories, and how many of them are there."""
    positive = np.maximum(margins, 0)
    sums = positive.sum(axis=1, keepdims=True)
    shares = np.divide(positive, sums, out=np.full_like(positive, 1 / margins.shape[1]), where=sums > 0)
    return shares, np.asarray((margins > 0).sum(axis=1))


def _diagonal(p: Numbers) -> Numbers:
    """S_ii of the docstring: of S = I - p 1' - 1 p' + r p p'."""
    return np.asarray(1 - 2 * p + p.shape[1] * p**2)


def _squared_together(p: Numbers, weights: Numbers) -> Numbers:
    """sum_k S_ik^2 w_kj, shape as the weights: S is of rank 2 but for its diagonal, so no r x r matrix is made."""
    size = p.shape[1]
    powers = [np.ones_like(p), p, p**2]
    sums = [(power[:, :, None] * weights).sum(axis=1) for power in powers]
    # (p_i + p_k - r p_i p_k)^2, by powers of p_i.
    of_powers = [sums[2], 2 * sums[1] - 2 * size * sums[2], sums[0] - 2 * size * sums[1] + size**2 * sums[2]]
    found = (1 - 4 * p + 2 * size * p**2)[:, :, None] * weights
    for power, some in zip(powers, of_powers, strict=True):
        found = found + _outer(power, some)
    return np.asarray(found)


def _squared(p: Numbers, weights: Numbers) -> Numbers:
    """sum_i A_im^2 w_ij, shape as the weights."""
    return np.asarray((p[:, :, None] ** 2 * weights).sum(axis=1)[:, None, :] + (1 - 2 * p)[:, :, None] * weights)


def _information(
    apart: Numbers, product: Numbers, common: Numbers, noise: Numbers, certain: npt.NDArray[np.bool_]
) -> Numbers:
    """Mutual information in bits.

    Cell by cell: the sum of p log(p/q) - p + q over a table is the divergence of p from q. A departure that is certain
    is taken as it is; another one by its second order, d^2 / 2q, less that of the noise.
    """
    joint = np.maximum(product + apart, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(joint > 0, joint * np.log(joint / product), 0.0) - joint + product
    nats = np.where(certain, exact, (apart**2 - noise) / (2 * common)).sum(axis=(1, 2))
    return np.minimum(np.maximum(0.0, nats) / math.log(2), math.log2(min(apart.shape[1:])))
