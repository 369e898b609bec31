"""Draws given what was drawn before: the law of every row, independence of siblings, and counts near their weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privity.common.synthesis.models.conditionals import sample_codes

SEEDS = 4000
GIVEN = np.array([2, 0, 1, 2, 2, 1, 2, 0, 2, 2, 2])
WEIGHTS = np.array([[5.0, 0.0, 1.0], [3.0, 4.0, 1.0], [2.0, 1.0, 0.0], [0.0, 0.0, 6.0]])
"""Three cells of Pi; the group of one of them has seven rows, which divides no weight."""


@pytest.fixture(scope="module")
def drawn():
    """Cells of many draws, shape (seeds, rows)."""
    return np.array([sample_codes(WEIGHTS, GIVEN, np.random.default_rng(seed)) for seed in range(SEEDS)])


def law(cell):
    return WEIGHTS[:, cell] / WEIGHTS[:, cell].sum()


@pytest.mark.statistical
def test_every_row_follows_the_law_of_its_weights(drawn):
    for row, cell in enumerate(GIVEN):
        seen = np.bincount(drawn[:, row], minlength=len(WEIGHTS))
        possible = law(cell) > 0
        assert not seen[~possible].any()
        expected = SEEDS * law(cell)[possible]
        assert stats.chisquare(seen[possible], expected).pvalue > 1e-5, row


def test_counts_of_a_group_are_within_one_of_their_weights(drawn):
    for cell in range(WEIGHTS.shape[1]):
        rows = cell == GIVEN
        for codes in drawn[:, rows]:
            apart = np.abs(np.bincount(codes, minlength=len(WEIGHTS)) - rows.sum() * law(cell))
            # A cell that lies across two strata may miss a row in the one and gain a row in the other.
            assert apart.max() < 2
        inner = np.abs(
            np.cumsum([np.bincount(c, minlength=len(WEIGHTS)) for c in drawn[:, rows]], axis=1)
            - rows.sum() * np.cumsum(law(cell))
        )
        assert inner.max() < 1 + 1e-9


def test_two_rows_of_a_group_stand_in_any_order(drawn):
    """If rows kept their places, the first of a group would always have its first cells."""
    first, last = np.flatnonzero(GIVEN == 2)[[0, -1]]
    assert abs((drawn[:, first] < drawn[:, last]).mean() - (drawn[:, first] > drawn[:, last]).mean()) < 0.06


def test_siblings_of_one_parent_are_independent_given_it():
    """Ranks within a group that were kept from one attribute to the next would tie the two together."""
    generator = np.random.default_rng(11)
    given = generator.integers(0, 3, 30_000)
    one, other = sample_codes(WEIGHTS, given, generator), sample_codes(WEIGHTS[::-1], given, generator)
    for cell in range(3):
        rows = given == cell
        table = np.zeros((4, 4))
        np.add.at(table, (one[rows], other[rows]), 1)
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        assert stats.chi2_contingency(table, correction=False).pvalue > 1e-4


@pytest.mark.statistical
def test_siblings_of_small_groups_are_independent_given_their_parent():
    """Groups of two rows: strata are halves, so rows that kept their halves would always agree."""
    agree = 0
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        given = np.array([0, 0])
        one, other = (sample_codes(np.ones((2, 1)), given, generator) for _ in range(2))
        assert sorted(one) == sorted(other) == [0, 1]
        agree += one[0] == other[0]
    assert abs(agree / SEEDS - 0.5) < 0.05


@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_any_number_of_rows_is_drawn(rows):
    generator = np.random.default_rng(0)
    given = generator.integers(0, 3, rows)
    cells = sample_codes(WEIGHTS, given, generator)
    assert cells.shape == (rows,)
    assert (WEIGHTS[cells, given] > 0).all()


def test_a_parents_cell_without_weights_is_drawn_as_all_rows_are():
    weights = np.array([[3.0, 0.0], [1.0, 0.0]])
    cells = sample_codes(weights, np.ones(1000, dtype=np.int64), np.random.default_rng(0))
    assert np.bincount(cells).tolist() == [750, 250]


def test_independent_rows_vary_as_those_of_a_sample():
    weights = np.array([[3.0, 1.0], [1.0, 1.0]])
    given = np.repeat([0, 1], 100)
    drawn = [
        sample_codes(weights, given, np.random.default_rng(seed), independent=True)[:100].sum() for seed in range(400)
    ]
    assert np.mean(drawn) == pytest.approx(25, abs=1)
    assert np.var(drawn) == pytest.approx(100 * 0.25 * 0.75, rel=0.3)
