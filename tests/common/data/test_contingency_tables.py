from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.contingency_tables import contingency_table, contingency_tables


def brute_force(table, attributes):
    counts = np.zeros([table.schema.domain[attribute] for attribute in attributes], dtype=np.int64)
    for row in range(table.rows):
        counts[tuple(int(table.column(attribute)[row]) for attribute in attributes)] += 1
    return counts


# Sizes that meet the limits of the types: 2**8 and 2**16 cells, and more.
@pytest.mark.statistical
@pytest.mark.parametrize(
    "domain", [(2, 3, 4), (16, 16, 2), (255, 256, 257), (256, 256, 3), (300, 300, 7), (70000, 2, 2)]
)
@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.long), 50])
def test_grid_of_shapes(make_table, domain, rows):
    table = make_table(domain, rows)
    for way in (1, 2):
        for attributes in permutations(range(3), way):
            counts = contingency_table(table, attributes)
            assert counts.dtype == np.int64
            assert np.array_equal(counts, brute_force(table, attributes))
    small = [attributes for attributes in permutations(range(3)) if np.prod(domain) < 10**6]
    for counts, attributes in zip(contingency_tables(table, small), small, strict=True):
        assert np.array_equal(counts, brute_force(table, attributes))


@given(st.data())
def test_any_list_of_marginals(make_table, data):
    domain = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=5))
    table = make_table(domain, data.draw(st.integers(1, 40)), data.draw(st.integers(0, 99)))
    subsets = [chosen for way in range(len(domain) + 1) for chosen in combinations(range(len(domain)), way)]
    marginals = data.draw(st.lists(st.sampled_from(subsets).flatmap(st.permutations).map(tuple), max_size=8))
    found = contingency_tables(table, marginals)
    assert len(found) == len(marginals)
    for counts, marginal in zip(found, marginals, strict=True):
        assert np.array_equal(counts, brute_force(table, marginal))


def test_without_attributes_it_is_the_number_of_rows(make_table):
    counts = contingency_table(make_table((2, 2), 7), ())
    assert counts.shape == ()
    assert counts == 7


def test_no_rows(make_table):
    table = make_table((2, 3), 5).take([])
    assert contingency_table(table, (0, 1)).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_an_attribute_twice_is_an_error(make_table):
    with pytest.raises(ValueError, match="once"):
        contingency_table(make_table((2, 2), 7), (0, 0))


def test_counting_leaves_the_columns_alone(make_table):
    table = make_table((300, 300, 7), 50)
    before = [column.copy() for column in table.columns]
    contingency_tables(table, [(0,), (0, 1), (0, 1, 2), (0, 2)])
    for left, right in zip(table.columns, before, strict=True):
        assert np.array_equal(left, right)
