"""How many cells a table may have before its noise drowns it."""

import asyncio
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.synthesis.learning.theta_usefulness import (
    TableNoise,
    laplace_scale,
    noise_of,
    useful_cells,
    useful_degree,
)
from tests.harness.steps import pure

POSITIVE = st.fractions(min_value=Fraction(1, 100), max_value=20)
DOMAIN = st.lists(st.integers(2, 40), min_size=2, max_size=12)


@given(st.integers(1, 10**6), st.integers(1, 100), POSITIVE, POSITIVE)
def test_useful_cells_is_the_largest_number_whose_average_count_is_theta_times_the_scale(rows, tables, epsilon, theta):
    cells = useful_cells(TableNoise(rows), tables, pure(epsilon), theta)
    bound = theta * laplace_scale(tables, pure(epsilon))
    assert cells >= 0
    assert cells == 0 or Fraction(rows, cells) >= bound
    assert Fraction(rows, cells + 1) < bound


def test_useful_cells_of_a_known_case():
    # 21574 rows, 32 tables, epsilon 0.6: scale 64 / 0.6, six times that is 640.
    assert useful_cells(TableNoise(21574), 32, pure(Fraction(6, 10)), Fraction(6)) == 33
    assert useful_cells(TableNoise(639), 32, pure(Fraction(6, 10)), Fraction(6)) == 0
    assert useful_cells(TableNoise(640), 32, pure(Fraction(6, 10)), Fraction(6)) == 1


@given(DOMAIN, st.integers(0, 2**30), st.integers(1, 5))
def test_the_degree_is_the_largest_whose_tables_are_useful(domain, cells, largest):
    degree = useful_degree(domain, cells, largest)
    bits = sum(map(math.log2, domain)) / len(domain)
    top = min(largest, len(domain) - 1)
    assert 1 <= degree <= max(top, 1)
    budget = math.log2(max(cells, 1))
    assert degree == 1 or (degree + 1) * bits <= budget
    assert degree >= top or (degree + 2) * bits > budget


def test_the_degree_of_binary_attributes_is_exact():
    for degree in (2, 3, 4):
        assert useful_degree([2] * 10, 2 ** (degree + 1), 5) == degree
        assert useful_degree([2] * 10, 2 ** (degree + 1) - 1, 5) == degree - 1


def test_a_tree_is_always_allowed_and_no_degree_exceeds_the_attributes():
    assert useful_degree([100] * 5, 0, 3) == 1
    assert useful_degree([2, 2, 2], 2**20, 5) == 2
    assert useful_degree([2, 2], 2**20, 5) == 1


@given(DOMAIN, st.integers(0, 2**20), st.integers(1, 5))
def test_more_cells_never_mean_a_smaller_degree(domain, cells, largest):
    assert useful_degree(domain, cells, largest) <= useful_degree(domain, 2 * cells + 1, largest)


def test_the_scale_of_a_run_is_that_of_its_noise_pure_and_with_a_delta(make_table):
    """The law of the opened tables is asked, not the rule that foretold them."""
    epsilon, delta = Fraction(2), Fraction(1, 10**9)
    table = make_table([3] * 8, 5000)
    laplace = InProcessBackend([table], PureBudget(epsilon)).session()
    told = InProcessBackend([table], RhoBudget(epsilon, delta)).session()
    for session in (laplace, told):
        noise = noise_of(session)
        assert noise.rows == 5000
        opened = asyncio.run(session.measure("tables", [(a,) for a in range(8)], session.budget.whole))
        assert float(noise.scale(8, session.budget.whole)) == pytest.approx(math.sqrt(opened[0].variance / 2), rel=0.01)
    many, theta = 200, Fraction(2)
    assert useful_cells(noise_of(told), many, told.budget.whole, theta) > 2 * useful_cells(
        noise_of(laplace), many, laplace.budget.whole, theta
    )
