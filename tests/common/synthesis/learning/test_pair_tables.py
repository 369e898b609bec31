"""The tables that hold all pairs: none is missed, and no other shares of the budget buy less error."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.synthesis.learning.pair_tables import pair_tables


def error_of(tables, domain, shares, pure):
    """Noise on all pairs' cells, each pair read from the table that tells it best, by brute force."""
    found = 0.0
    for a, b in combinations(range(len(domain)), 2):
        cells = domain[a] * domain[b]
        deviations = [
            math.sqrt(math.prod(domain[x] for x in table) / cells) / (share if pure else math.sqrt(share))
            for table, share in zip(tables, shares, strict=True)
            if a in table and b in table
        ]
        found += cells * min(deviations)
    return found


@given(domain=st.lists(st.integers(2, 9), min_size=2, max_size=7), pure=st.booleans(), seed=st.integers(0, 9))
def test_every_pair_is_told_and_no_other_shares_are_better(domain, pure, seed):
    found = pair_tables(tuple(domain), pure=pure)
    assert all(math.prod(domain[a] for a in table) <= TABLE_CELLS for table in found.tables)
    spent = np.array(found.weights) ** (1 if pure else 2)
    shares = spent / spent.sum()
    error = error_of(found.tables, domain, shares, pure)
    assert error <= found.error * (1 + 1e-9)
    for way in ([*combinations(range(len(domain)), 2)], found.tables):
        others = np.random.default_rng(seed).dirichlet(np.full(len(way), 9.0))
        assert error <= 1.05 * error_of(way, domain, others, pure) * (1 + 1e-9)


@pytest.mark.parametrize("pure", [True, False])
def test_sixteen_binary_attributes_are_told_by_the_lines_of_a_plane(pure):
    found = pair_tables((2,) * 16, pure=pure)
    assert [len(table) for table in found.tables] == [4] * 20


def test_few_small_attributes_are_one_table_where_epsilon_adds_up_and_pairs_where_rho_does():
    assert pair_tables((8, 12, 2, 4), pure=True).tables == ((0, 1, 2, 3),)
    assert len(pair_tables((8, 12, 2, 4), pure=False).tables) == 6
