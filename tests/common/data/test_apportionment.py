"""How selections are shared out over the parties."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.apportionment import quotas

ROWS = st.lists(st.integers(1, 10**7), min_size=1, max_size=12)
DRAWS = st.integers(0, 200)


@given(DRAWS, ROWS, st.booleans())
def test_quotas_add_up_to_the_selections(draws, rows, balanced):
    counts = quotas(draws, rows, balanced=balanced)
    assert len(counts) == len(rows)
    assert sum(counts) == draws
    assert min(counts) >= 0


@given(DRAWS, ROWS)
def test_quotas_are_proportional_to_the_rows_to_less_than_one(draws, rows):
    for count, n in zip(quotas(draws, rows), rows, strict=True):
        assert abs(count - Fraction(draws * n, sum(rows))) < 1


@given(DRAWS, ROWS)
def test_more_rows_never_mean_fewer_selections(draws, rows):
    counts = quotas(draws, rows)
    for a, b in itertools.combinations(range(len(rows)), 2):
        if rows[a] != rows[b]:
            assert (counts[a] - counts[b]) * (rows[a] - rows[b]) >= 0


@given(DRAWS, ROWS)
def test_balanced_quotas_differ_by_one_at_most_and_go_to_the_earlier_parties(draws, rows):
    counts = quotas(draws, rows, balanced=True)
    assert max(counts) - min(counts) <= 1
    assert list(counts) == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("draws", "rows", "expected"),
    [
        (2, [5, 5, 5, 5], (1, 1, 0, 0)),  # more parties than draws
        (10, [8000, 1000, 1000], (8, 1, 1)),
        (7, [80, 10, 10], (5, 1, 1)),
        (1, [1, 1000], (0, 1)),
        (0, [3, 4], (0, 0)),
        (9, [123], (9,)),
    ],
)
def test_quotas_of_known_cases(draws, rows, expected):
    assert quotas(draws, rows) == expected
