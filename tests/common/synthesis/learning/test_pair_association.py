"""The strength of a pair of attributes, as it is read from a noisy table."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privity.common.data.noisy_tables import NoisyTable
from privity.common.synthesis.learning.pair_association import noisy_association

ROWS = 10_000


def noisy(counts, scale=0.0, generator=None):
    """The table under discrete Laplace noise of this scale."""
    counts = np.asarray(counts, dtype=np.int64)
    variance = 0.0
    if scale:
        p = 1 - np.exp(-1 / scale)
        counts = counts + generator.geometric(p, counts.shape) - generator.geometric(p, counts.shape)
        variance = 2 * (1 - p) / p**2
    attributes = tuple(range(counts.ndim))
    return NoisyTable(attributes, counts, Fraction(scale or 1), variance, ROWS)


def independent(rows, columns):
    """Counts that are the product of their marginals, up to rounding."""
    a, b = np.arange(1, rows + 1), np.arange(1, columns + 1)
    counts = np.outer(a, b) * (ROWS / (a.sum() * b.sum()))
    counts = counts.astype(np.int64)
    counts[0, 0] += ROWS - counts.sum()
    return counts


def exact(counts):
    joint = np.asarray(counts, dtype=float).reshape(len(counts), -1) / ROWS
    return np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).sum() / 2


def mixed(strength):
    """Two binary attributes that agree with probability 1/2 + strength / 2."""
    same, other = round(ROWS * (1 + strength) / 4), ROWS // 2 - round(ROWS * (1 + strength) / 4)
    return np.array([[same, other], [other, same]])


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5, 1.0])
def test_without_noise_it_is_r_itself(strength):
    assert noisy_association(noisy(mixed(strength))) == pytest.approx(strength / 2)
    assert exact(mixed(strength)) == pytest.approx(strength / 2)


@given(arrays(np.int64, (3, 2, 2), elements=st.integers(0, 50)), st.data())
def test_the_first_axis_is_set_against_all_others_together(counts, data):
    counts[0, 0, 0] += ROWS - counts.sum()
    found = noisy_association(noisy(counts))
    assert found == pytest.approx(exact(counts), abs=1e-12)
    assert noisy_association(noisy(counts.transpose(0, 2, 1))) == pytest.approx(found, abs=1e-12)
    order = data.draw(st.permutations(range(3)))
    assert noisy_association(noisy(counts[list(order)])) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (3, 10)])
@pytest.mark.parametrize("scale", [20.0, 60.0])
def test_on_independent_data_it_is_about_zero_on_average(shape, scale):
    generator = np.random.default_rng(5)
    counts = independent(*shape)
    found = np.array([noisy_association(noisy(counts, scale, generator)) for _ in range(600)])
    # What the noise alone would show, uncorrected: the yardstick for "about zero".
    inflation = counts.size * scale * np.sqrt((1 - 1 / shape[0]) * (1 - 1 / shape[1])) / (2 * ROWS)
    assert abs(found.mean()) < 0.2 * inflation
    assert (found < 0).mean() > 0.2


def test_a_strong_pair_ranks_above_a_weak_one_under_noise():
    generator = np.random.default_rng(6)
    for _ in range(200):
        strong, weak = (noisy_association(noisy(mixed(s), 40.0, generator)) for s in (0.5, 0.1))
        assert strong > weak


def test_a_wide_pair_of_pure_noise_does_not_rank_above_a_narrow_true_one():
    generator = np.random.default_rng(7)
    for _ in range(100):
        wide = noisy_association(noisy(independent(12, 12), 30.0, generator))
        assert wide < noisy_association(noisy(mixed(0.25), 30.0, generator))


def test_a_total_that_noise_shifted_is_put_right():
    counts = mixed(0.4)
    assert noisy_association(noisy(counts + 500)) == pytest.approx(noisy_association(noisy(counts)))


def test_the_table_itself_stays_as_it_was():
    table = noisy(mixed(0.4) + 7)
    before = table.counts.copy()
    noisy_association(table)
    assert (table.counts == before).all()
