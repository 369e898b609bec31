"""Counting many pairs at once, held against counting one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data import pair_tables
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.pair_tables import count_all, counting_bytes, fill_pair_counts, rows_at_once


def both_ways(table, pairs):
    domain = table.schema.derived.domain
    sizes = [domain[a] * domain[b] for a, b in pairs]
    places = np.cumsum([0, *sizes])
    out = np.full(places[-1], 7, dtype=np.int64)
    fill_pair_counts(table, pairs, places[:-1].tolist(), out)
    return out, 7 + np.concatenate([counts.ravel() for counts in contingency_tables(table, pairs)])


@given(
    st.lists(st.sampled_from([2, 3, 8, 13, 60, 120, 300]), min_size=2, max_size=8),
    st.integers(1, 400),
    st.randoms(use_true_random=False),
)
def test_every_pair_is_counted_as_by_itself(make_table, domain, rows, random):
    table = make_table(domain, rows, random.randrange(1000))
    pairs = [pair if random.random() < 0.5 else pair[::-1] for pair in combinations(range(len(domain)), 2)]
    random.shuffle(pairs)
    found, wanted = both_ways(table, pairs)
    assert (found == wanted).all()


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000, 40_000])
def test_blocks_of_rows_and_columns_have_no_seams(make_table, monkeypatch, rows):
    monkeypatch.setattr(pair_tables, "WORDS_AT_ONCE", 7)
    monkeypatch.setattr(pair_tables, "COLUMNS_AT_ONCE", 5)
    monkeypatch.setattr(pair_tables, "TASK_COLUMNS", 3)
    monkeypatch.setattr(pair_tables, "rows_at_once", lambda _columns: 1280)
    table = make_table([2] * 9 + [3, 4, 17, 50], rows)
    found, wanted = both_ways(table, list(combinations(range(13), 2)))
    assert (found == wanted).all()


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True), max_size=30), st.integers(1, 200))
def test_tables_of_any_attributes_in_any_order(make_table, marginals, rows):
    table = make_table([2, 3, 4, 2, 40, 12], rows)
    marginals = [tuple(marginal) for marginal in marginals]
    wanted = [counts.ravel() for counts in contingency_tables(table, marginals)]
    assert (count_all(table, marginals) == np.concatenate([np.zeros(0, dtype=np.int64), *wanted])).all()


def test_some_pairs_only(make_table):
    table = make_table([2, 3, 100, 2, 90], 500)
    found, wanted = both_ways(table, [(3, 0), (2, 4), (1, 2)])
    assert (found == wanted).all()


def test_memory_grows_with_rows_and_packed_columns_only():
    pairs = list(combinations(range(100), 2))
    binary = counting_bytes(pairs, [2] * 100, 10**6)
    assert counting_bytes(pairs, [2] * 100, 2 * 10**6) < 2.1 * binary
    assert 100 * 10**6 / 8 < binary < 100 * 10**6
    assert rows_at_once(100) % 64 == 0
    # However many rows, no more than so many are packed at once; 16 bytes a row remain for wide tables.
    assert counting_bytes(pairs, [2] * 100, 10**9) < 1.1 * (2**28 + 16 * 10**9)
    assert counting_bytes(pairs, [500] * 100, 10**6) < binary + 10**7
