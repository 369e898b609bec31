"""How strongly two attributes hang together in a table, noisy or not, less what noise alone would show.

Let D = A N B' be the departure of an r x c table N from the product of its margins, A = I - p 1', p the share of
each row, B likewise for columns. Cramer's V is made of phi^2 = sum w_ij D_ij^2 / n^2 with w_ij = 1 / (p_i q_j), a
quadratic form of N. The noise on N is taken for three independent parts: one of variance v on every cell less the
means of its row and column, and one on the sums of rows and of columns, of variances s and t, less their means. (Of
independent noise of variance v on every cell s is c v, and t is r v.) So the noise on D has the covariance
C = v P x Q + s P x b b' + t a a' x Q, P and Q being I less the mean, a = 1/r - p and b = 1/c - q. It adds
sum w_ij C_ij,ij / n^2 to phi^2 in expectation, with a variance of (2 sum w_ij w_kl C_ij,kl^2 + k v^2 sum_ml (sum w_ij
P_im^2 Q_jl^2)^2) / n^4, k the excess kurtosis of the noise. So what noise adds is taken off, and what it would reach
by chance is known.

Where there is a dependence, noise moves it in proportion, too: by the variance of the sum of L o N, o cell by cell,
with L = 2 A' (W o D) B - R 1' - 1 C', R_i = sum_j w_ij D_ij^2 / p_i and C_j alike, as the weights follow from noisy
margins (each less its mean). Both variances together give the error bar of V, by a normal law.

A cell that is rarer than its noise is large weighs as one that is as common: otherwise the rarest cells, of which a
noisy marginal says nothing, would decide. Only a departure that no noise makes has its own weight. What the rare
cells together seem to add at their own weights, less what noise adds, lengthens the error bar: it may still end below
a V that is made by a few of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@dataclass(frozen=True)
class Noise:
    """Of a table's counts.

    Attributes:
        cells: variance on a count, less the means of its row and column: as if noise were independent on every cell.
        across, down: the same of the sums of rows, and of columns.
        excess: kurtosis of the noise on a count over that of a normal law.
        sure: noise that hardly any cell of the table has.
    """

    cells: float
    across: float
    down: float
    excess: float
    sure: float


NOTHING = Noise(0.0, 0.0, 0.0, 0.0, 0.0)


def strength(counts: npt.NDArray[np.number], rows: int, noise: Noise = NOTHING) -> Strength:
    """Strength of the association of the two axes; V is divided by the categories that are there.

    Args:
        counts: shape (r, c); may be negative if they are noisy.
        rows: what they would add up to without noise.
    """
    (found,) = strengths(counts[None], np.array([rows], dtype=np.float64), [noise])
    return found


def strengths(counts: npt.NDArray[np.number], rows: Numbers, noises: Sequence[Noise]) -> list[Strength]:
    """The same of many tables of one shape.

    Args:
        counts: shape (tables, r, c).
        rows: shape (tables,); noises: as many.
    """
    each = (slice(None), None, None)
    joint = counts / rows[each]
    v, s, t = (
        (np.array(of, dtype=np.float64) / rows**2)[each]
        for of in zip(*((noise.cells, noise.across, noise.down) for noise in noises), strict=True)
    )
    excesses = np.array([noise.excess for noise in noises])
    sure = np.array([noise.sure for noise in noises])
    across, down, total = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    (p, some_rows), (q, some_columns) = _shares(across), _shares(down)
    product = _outer(p, q)
    apart = joint - _outer(p, down) - _outer(across, q) + total[each] * product
    certain = (np.abs(apart) > (sure / rows)[each]) & (product > 0)
    # What is in a cell is in its row and its column too: their product is not below its square.
    common = np.maximum(product, np.where(certain, apart**2, np.sqrt(v)))
    common[common == 0] = 1
    by_chance = spreads = rare = np.zeros(len(joint))
    r, c = joint.shape[1:]
    alpha, beta = (1 / r - p)[:, :, None], (1 / c - q)[:, None, :]
    noise = v * (1 - 1 / r) * (1 - 1 / c) + s * (1 - 1 / r) * beta**2 + t * (1 - 1 / c) * alpha**2
    if v.any():
        with np.errstate(divide="ignore"):
            weights = np.where(v > 0, 1 / np.maximum(product, np.sqrt(v)), 0.0)
        cells, down = _squared(weights, 1), _squared(weights, 2)
        cells_and = _squared(cells, 2)
        spread = (
            v**2 * cells_and
            + s**2 * _alone(cells, beta, 2) + t**2 * _alone(down, alpha, 1)
            + 2 * v * (s * _crossed(cells, beta, 2) + t * _crossed(down, alpha, 1))
            + 2 * s * t * _crossed(_crossed(weights, alpha, 1), beta, 2)
        )  # fmt: skip
        fourth = v[:, 0, 0] ** 2 * excesses * (cells_and**2).sum(axis=(1, 2))
        quadratic = 2 * (weights * spread).sum(axis=(1, 2)) + fourth
        terms = np.where(common == product, np.maximum(apart**2 - noise, 0) / common, 0.0)
        slope = 2 * _twice_centred(apart / common, p, q) - _by_margins(terms, p, q)
        linear = _moved(slope, v, s, t)
        by_chance, spreads = CHANCE * np.sqrt(quadratic), WITHIN * np.sqrt(quadratic + linear)
        lighter = np.divide(1, product, out=1 / common, where=product > 0) - 1 / common
        rare = np.where(v[:, 0, 0] > 0, np.maximum(0.0, ((apart**2 - noise) * lighter).sum(axis=(1, 2))), 0.0)
    phi = ((apart**2 - noise) / common).sum(axis=(1, 2))
    most = np.maximum(1, np.minimum(some_rows, some_columns) - 1)
    found, low, high = (
        np.minimum(1.0, np.sqrt(np.maximum(0.0, x) / most)) for x in (phi, phi - spreads, phi + spreads + rare)
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


def _squared(weights: Numbers, axis: int) -> Numbers:
    """P o P times the weights along an axis, P being I less the mean: no square matrix is made."""
    size = weights.shape[axis]
    return np.asarray((1 - 2 / size) * weights + weights.sum(axis=axis, keepdims=True) / size**2)


def _crossed(weights: Numbers, vector: Numbers, axis: int) -> Numbers:
    """P o x x' times the weights along an axis."""
    along = (vector * weights).sum(axis=axis, keepdims=True)
    return np.asarray(vector**2 * weights - vector * along / weights.shape[axis])


def _alone(weights: Numbers, vector: Numbers, axis: int) -> Numbers:
    """x x' o x x' times the weights along an axis."""
    return np.asarray(vector**2 * (vector**2 * weights).sum(axis=axis, keepdims=True))


def _moved(slope: Numbers, v: Numbers, s: Numbers, t: Numbers) -> Numbers:
    """Variance of the noise's sum, each cell times a slope; shape (tables,)."""
    across, down = slope.mean(axis=2, keepdims=True), slope.mean(axis=1, keepdims=True)
    level = slope.mean(axis=(1, 2), keepdims=True)
    parts = (v * (slope - across - down + level) ** 2, s * (across - level) ** 2, t * (down - level) ** 2)
    return np.asarray(sum(part.sum(axis=(1, 2)) for part in parts))


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
