"""Strength of association: the textbook's figures without noise, about 0 where only noise is, near the truth else."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats.contingency import association as textbook

from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.release.report.noisy_association import CHANCE, NOTHING, Noise, Strength, strength, strengths


def bits_by_hand(counts) -> float:
    joint = counts / counts.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    return sum(
        joint[i, j] * math.log2(joint[i, j] / (rows[i] * columns[j]))
        for i in range(len(rows))
        for j in range(len(columns))
        if joint[i, j] > 0
    )


def table_of(rows, shape, tie, seed) -> np.ndarray:
    """Whole counts whose axes are tied by the share ``tie`` of their rows."""
    generator = np.random.default_rng(seed)
    p, q = (generator.dirichlet(np.full(size, 2.0)) for size in shape)
    along = np.zeros(shape)
    for place in range(max(shape)):
        along[place % shape[0], place % shape[1]] += 1
    return np.rint(rows * ((1 - tie) * np.outer(p, q) + tie * along / along.sum())).astype(np.int64)


def noised(counts, scale, seed) -> Strength:
    """``strength`` of the counts under the noise of four parties of which one may collude."""
    law, quota = NoiseLaw(LAPLACE, Fraction(scale)), 3
    entropy = SeededEntropy(bytes([seed]), "noise")
    noise = sum(law.share(quota, counts.size, entropy) for _ in range(4)).reshape(counts.shape)
    variables = Fraction(4, 3)
    sure = half_width(law, variables, 1, 1 - Fraction(1, 100 * counts.size))
    on = independent(counts.shape, 4 * law.share_variance(quota), 3 / float(variables), sure)
    # The number of rows is known, as in a pooled estimate.
    return strength(counts + noise - noise.mean(), int(counts.sum()), on)


def independent(shape, variance, excess, sure) -> Noise:
    """Noise of one variance on every cell."""
    return Noise(variance, shape[1] * variance, shape[0] * variance, excess, sure)


@pytest.mark.parametrize("shape", [(2, 2), (3, 7), (6, 5)])
def test_without_noise_they_are_those_of_the_textbook(shape):
    counts = table_of(5000, shape, 0.3, 1) + 1
    found = strength(counts, int(counts.sum()))
    assert found.v == pytest.approx(textbook(counts, method="cramer"))
    assert found.bits == pytest.approx(bits_by_hand(counts))
    assert found.noise == 0


def test_categories_that_are_not_there_change_nothing():
    counts = table_of(5000, (3, 4), 0.4, 2) + 1
    padded = np.zeros((5, 6), dtype=np.int64)
    padded[:3, :4] = counts
    assert strength(padded, int(counts.sum())).v == pytest.approx(strength(counts, int(counts.sum())).v)
    assert strength(padded, int(counts.sum())).bits == pytest.approx(bits_by_hand(counts))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("shape", "scale"),
    [
        ((2, 2), 60),
        ((4, 6), 40),
        pytest.param((12, 15), 20, marks=pytest.mark.long),
        pytest.param((16, 16), 400, marks=pytest.mark.long),
    ],
)
def test_noise_on_independent_attributes_shows_about_nothing(shape, scale):
    counts = table_of(20_000, shape, 0.0, 3)
    found = [noised(counts, scale, seed) for seed in range(60)]
    # A fair bound is broken by 3 of 60 on average, and by more than 11 hardly ever.
    assert sum(s.told for s in found) <= 11
    # What the squares show: 0 unless it is told from noise.
    assert np.mean([s.v * s.told for s in found]) < 0.05
    assert np.mean([s.bits * s.told for s in found]) < 0.03 * math.log2(min(shape))
    if min(shape) > 2 and scale <= 60:
        naive = [textbook_of_noisy(counts, scale, seed) for seed in range(20)]
        assert np.mean([s.v for s in found]) < np.mean(naive) / 1.5


def textbook_of_noisy(counts, scale, seed) -> float:
    noise = (
        NoiseLaw(LAPLACE, Fraction(scale))
        .share(1, counts.size, SeededEntropy(bytes([seed]), "noise"))
        .reshape(counts.shape)
    )
    positive = np.maximum(counts + noise, 1)
    return float(textbook(positive, method="cramer"))


@pytest.mark.statistical
@pytest.mark.parametrize(("shape", "scale"), [((2, 2), 30), ((4, 6), 20), ((12, 15), 10)])
def test_noise_on_dependent_attributes_is_taken_off(shape, scale):
    counts = table_of(20_000, shape, 0.4, 4)
    found = [noised(counts, scale, seed) for seed in range(30)]
    assert all(s.told for s in found)
    assert np.mean([s.v for s in found]) == pytest.approx(textbook(counts + 1, method="cramer"), rel=0.1)
    assert np.mean([s.bits for s in found]) == pytest.approx(bits_by_hand(counts), rel=0.15)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("shape", "tie", "scale"),
    [
        ((2, 2), 0.1, 60),
        ((2, 2), 0.02, 60),
        pytest.param((4, 6), 0.4, 20, marks=pytest.mark.long),
        pytest.param((12, 15), 0.4, 10, marks=pytest.mark.long),
        pytest.param((16, 2), 0.2, 40, marks=pytest.mark.long),
    ],
)
def test_the_error_bar_holds_the_dependence_without_noise(shape, tie, scale):
    counts = table_of(20_000, shape, tie, 4)
    truth = strength(counts, 20_000)
    assert truth.half_width == 0
    found = [noised(counts, scale, seed) for seed in range(120)]
    # Of 120 bars at 95 % 6 miss on average, and 17 or more hardly ever.
    assert sum(abs(s.v - truth.v) > s.half_width for s in found) <= 16
    # And they are no wider than they have to be.
    assert np.mean([s.half_width for s in found]) < 3 * np.std([s.v for s in found])


@pytest.mark.statistical
def test_no_noise_makes_a_figure_that_cannot_be():
    counts = table_of(300, (5, 4), 0.2, 5)
    for seed in range(20):
        found = noised(counts, 5000, seed)
        assert 0 <= found.v <= 1
        assert 0 <= found.bits <= 2
        assert found.noise > 0


def test_a_table_whose_noise_left_nothing_is_independent():
    found = strength(np.full((3, 3), -50), 100, independent((3, 3), 1000.0, 3.0, 100.0))
    assert (found.v, found.told) == (0, False)


def by_matrices(counts, rows, noise: Noise) -> float:
    """The V that noise exceeds once in twenty, by the whole covariance of the module's docstring."""
    p, q = (np.maximum(counts.sum(axis=axis), 0) for axis in (1, 0))
    p, q = p / p.sum(), q / q.sum()
    r, c = counts.shape
    centred = np.eye(r) - 1 / r, np.eye(c) - 1 / c
    alpha, beta = 1 / r - p, 1 / c - q
    covariance = (
        noise.cells * np.kron(*centred)
        + noise.across * np.kron(centred[0], np.outer(beta, beta))
        + noise.down * np.kron(np.outer(alpha, alpha), centred[1])
    ) / rows**2
    weights = 1 / np.maximum(np.outer(p, q), math.sqrt(noise.cells) / rows)
    spread = 2 * float(weights.ravel() @ covariance**2 @ weights.ravel())
    fourth = float(((centred[0] ** 2 @ weights @ centred[1] ** 2) ** 2).sum())
    spread += noise.excess * (noise.cells / rows**2) ** 2 * fourth
    there = min(int((counts.sum(axis=1) > 0).sum()), int((counts.sum(axis=0) > 0).sum()))
    return math.sqrt(CHANCE * math.sqrt(spread) / max(1, there - 1))


@pytest.mark.parametrize("shape", [(2, 2), (3, 7), (9, 4)])
def test_noise_alone_is_that_of_the_matrices_and_tables_together_are_those_one_by_one(shape):
    generator = np.random.default_rng(3)
    tables = [table_of(4000, shape, tie, 4) + generator.integers(-30, 30, shape) for tie in (0, 0.2, 0.5)]
    noises = [independent(shape, 200.0, 2.0, 40.0), NOTHING, Noise(900.0, 1300.0, 150.0, 2.0, 90.0)]
    together = strengths(np.stack(tables), np.full(3, 4000.0), noises)
    for place, (counts, noise) in enumerate(zip(tables, noises, strict=True)):
        assert together[place] == strength(counts, 4000, noise)
        wanted = by_matrices(counts, 4000, noise) if noise.cells else 0.0
        assert together[place].noise == pytest.approx(wanted, rel=1e-9)


def test_an_attribute_of_thousands_of_categories_needs_no_square_matrix(monkeypatch):
    monkeypatch.setattr(np, "eye", None)
    counts = np.ones((20_000, 2), dtype=np.int64)
    assert strength(counts, 40_000, independent(counts.shape, 100.0, 1.0, 20.0)).v == 0
