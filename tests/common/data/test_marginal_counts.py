"""Marginals counted by fewer tables, by groups, in blocks, in threads: each held against counting row by row."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data import contingency_tables as counting
from privity.common.data import marginal_counter
from privity.common.data.contingency_tables import contingency_tables, count_marginals, counting_bytes, counting_plan
from privity.common.data.marginal_counter import OutOfDomainError
from privity.common.data.schema import parse_schema
from privity.common.data.table_supersets import supersets
from tests.common.data.test_contingency_tables import brute_force


def by_hand(table, marginals):
    parts = [brute_force(table, marginal).ravel() for marginal in marginals]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


@given(
    st.lists(st.sampled_from([2, 3, 8, 13, 60, 120, 300]), min_size=2, max_size=8),
    st.integers(1, 400),
    st.randoms(use_true_random=False),
)
def test_all_pairs_in_any_order(make_table, domain, rows, random):
    table = make_table(domain, rows, random.randrange(1000))
    pairs = [pair if random.random() < 0.5 else pair[::-1] for pair in combinations(range(len(domain)), 2)]
    random.shuffle(pairs)
    assert (count_marginals(table, pairs) == by_hand(table, pairs)).all()


@given(st.data())
def test_any_marginals_by_any_tables_blocks_and_threads(make_table, data):
    domain = data.draw(st.lists(st.integers(2, 12), min_size=1, max_size=7))
    table = make_table(domain, data.draw(st.integers(0, 300)), data.draw(st.integers(0, 9)))
    some = st.lists(st.integers(0, len(domain) - 1), max_size=4, unique=True).map(tuple)
    marginals = data.draw(st.lists(some, max_size=30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MOST_CELLS", data.draw(st.integers(1, 5000)))
        patch.setattr(counting, "LEAST_CELLS", 1)
        for name, least, most in (("BLOCK_ROWS", 1, 400), ("SHARED_BYTES", 0, 2000), ("THREADED_WORK", 0, 2000)):
            patch.setattr(marginal_counter, name, data.draw(st.integers(least, most)))
        found = count_marginals(table, marginals)
    assert (found == by_hand(table, marginals)).all()


def test_derived_attributes_of_one_column_are_counted_together():
    fields = [
        {"name": "age", "type": "integer", "bins": 16, "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "town", "type": "string", "categories": ["a", "b", "c", "d", "e"]},
    ]
    schema = parse_schema({"fields": fields}, "made")
    derived = schema.derived
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, size, 500, dtype=np.uint8) for size in schema.domain]
    everything = range(len(derived.domain))
    marginals = [*combinations(everything, 2), tuple(everything[:4]), tuple(reversed(everything))[:3]]
    plan = counting_plan(derived, marginals, 500)
    assert set(plan.sizes) == {0, 1}, "derived attributes are read from their columns"
    found = np.zeros(plan.cells, dtype=np.int64)
    plan.add(dict(enumerate(columns)), found)
    wanted = []
    for marginal in marginals:
        counts = np.zeros([derived.domain[a] for a in marginal], dtype=np.int64)
        np.add.at(counts, tuple(derived.derive(a, columns[derived.base[a]]) for a in marginal), 1)
        wanted.append(counts.ravel())
    assert (found == np.concatenate(wanted)).all()


@given(st.lists(st.integers(2, 40), min_size=1, max_size=9), st.integers(1, 5000), st.data())
def test_tables_are_small_and_every_marginal_follows_from_one(domain, widest, data):
    some = st.lists(st.integers(0, len(domain) - 1), max_size=4, unique=True).map(tuple)
    marginals = data.draw(st.lists(some, max_size=40))
    tables = supersets(marginals, domain, widest)
    assert sorted(place for table in tables for place in table.members) == list(range(len(marginals)))
    for table in tables:
        assert len(set(table.attributes)) == len(table.attributes)
        assert all(set(marginals[place]) <= set(table.attributes) for place in table.members)
        alone = max(np.prod([domain[a] for a in marginals[place]]) for place in table.members)
        assert np.prod([domain[a] for a in table.attributes]) <= max(widest, alone)


def test_groups_save_tables():
    pairs = list(combinations(range(20), 2))
    assert len(supersets(pairs, [4] * 20, 1 << 16)) == 10, "five groups of four attributes"
    assert len(supersets(pairs, [300] * 20, 1 << 16)) == len(pairs), "nothing fits together"


@pytest.mark.parametrize("place", [0, 299])
def test_a_code_beyond_its_domain_adds_nothing(make_table, place):
    table = make_table([4, 3], 300)
    plan = counting_plan(table.schema.derived, [(0, 1), (1,)], 300)
    bad = table.columns[1].copy()
    bad[place] = 3
    found = np.zeros(plan.cells, dtype=np.int64)
    with pytest.raises(OutOfDomainError):
        plan.add({0: table.columns[0], 1: bad}, found)
    assert not found.any()


def test_a_table_beyond_its_rows_is_counted_where_it_stands(make_table):
    table = make_table([3000, 3000, 2], 40)
    marginals = [(0, 1), (1, 0), (2,)]
    for counts, marginal in zip(contingency_tables(table, marginals), marginals, strict=True):
        assert counts.sum() == table.rows
        rows = [table.column(a).astype(int) for a in marginal]
        assert all(counts[cell] >= 1 for cell in zip(*rows, strict=True))


def test_memory_grows_with_the_largest_table_alone():
    assert counting_bytes(10) == counting_bytes(1000)
    assert counting_bytes(10**8) > 16 * 10**8
