"""Parts of the experiments on junction trees: rivals against brute force, made tables, merging."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiments import junction_tree
from benchmarks.methods import clique_merging, market_baskets, private_classifiers, priview, table_distances
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.schema import parse_schema
from privity.common.release.evaluation.classifier_utility import Task, labels

SURE = Fraction(10**9)  # an epsilon so large that noise is 0


@pytest.fixture(scope="module")
def small_baskets():
    return market_baskets.make_baskets(4000, 3)


def test_baskets_follow_their_model():
    table = market_baskets.make_baskets(60_000, 2)
    taken = [column.astype(bool) for column in table.columns]
    assert [len(table.columns), table.rows] == [50, 60_000]
    assert taken[0].mean() > taken[1].mean() > taken[30].mean() > 0
    # Complements: an odd item goes with the one before it, and one of the same bundle with its like.
    assert taken[13][taken[12]].mean() > 2 * taken[13][~taken[12]].mean()
    assert taken[14][taken[8]].mean() > 1.5 * taken[14][~taken[8]].mean()
    again = market_baskets.make_baskets(60_000, 2)
    assert all((a == b).all() for a, b in zip(table.columns, again.columns, strict=True))


@pytest.mark.parametrize("attributes", [2, 3, 4, 5, 9, 16, 17, 30, 49, 50, 57])
def test_views_hold_every_pair_in_at_most_eight_attributes(attributes):
    found = priview.views(attributes)
    held = {pair for view in found for pair in combinations(view, 2)}
    assert held == set(combinations(range(attributes), 2))
    assert max(map(len, found)) <= 8
    assert not any(set(a) < set(b) for a in found for b in found)
    assert {16: 6, 50: 56, 57: 57}.get(attributes, len(found)) == len(found)


def test_more_attributes_than_the_plane_has_points_are_refused():
    with pytest.raises(ValueError, match="58"):
        priview.views(58)


@given(st.lists(st.integers(-40, 60), min_size=16, max_size=16))
def test_the_ripple_step_keeps_the_sum_and_leaves_nothing_too_low(counts):
    table = np.array(counts, dtype=float).reshape((2,) * 4)
    table += max(0, 2 - table.mean())  # views have rows
    rippled = priview.ripple(table)
    assert rippled.sum() == pytest.approx(table.sum())
    assert rippled.min() >= priview.TOO_LOW - 1e-9
    if table.min() >= priview.TOO_LOW:
        assert (rippled == table).all()


def test_one_ripple_takes_from_the_neighbours():
    table = np.array([[-4.0, 10], [6, 20]])
    assert priview.ripple(table).tolist() == [[0, 8], [4, 20]]


def test_the_most_uncertain_distribution_has_the_marginals_and_is_independent_otherwise():
    generator = np.random.default_rng(1)
    first, second = generator.random((2, 2)), generator.random((2, 2))
    first /= first.sum()
    second = second / second.sum(axis=1, keepdims=True) * first.sum(axis=0)[:, None]
    found = priview.most_uncertain(4, [((0, 1), first), ((1, 2), second)])
    assert found.sum(axis=(2, 3)) == pytest.approx(first, abs=1e-6)
    assert found.sum(axis=(0, 3)) == pytest.approx(second, abs=1e-6)
    for a, b, c, d in product(range(2), repeat=4):
        assert found[a, b, c, d] == pytest.approx(first[a, b] * second[b, c] / first.sum(axis=0)[b] / 2, abs=1e-6)


def test_views_that_contradict_each_other_give_a_distribution():
    here, there = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    found = priview.most_uncertain(3, [((0, 1), here), ((1, 2), there)])
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1)


def test_priview_without_noise_has_the_pairs_exactly(small_baskets):
    found = priview.PriView(small_baskets, SURE)
    for pair in [(0, 1), (12, 13), (3, 40)]:
        true = contingency_tables(small_baskets, [pair])[0] / small_baskets.rows
        assert found.marginal(pair) == pytest.approx(true, abs=1e-6)
    assert junction_tree.dense_shares(small_baskets, (3, 12, 13)).sum(axis=0) == pytest.approx(
        contingency_tables(small_baskets, [(12, 13)])[0] / small_baskets.rows
    )


def test_priview_is_for_binary_attributes(make_table):
    with pytest.raises(ValueError, match="binary"):
        priview.PriView(make_table([2, 3], 10), SURE)


def test_errors_over_occupied_cells_are_those_over_all_cells(make_table):
    one, two = make_table([2, 5, 3], 10, 1), make_table([2, 5, 3], 15, 2)  # some marginals have more cells than rows
    for marginal in [(0,), (0, 2), (0, 1, 2)]:
        dense = [contingency_tables(t, [marginal])[0].ravel() / t.rows for t in (one, two)]
        shares = table_distances.shares_of(one, two, marginal)
        assert table_distances.l2(*shares) == pytest.approx(np.linalg.norm(dense[0] - dense[1]))
        assert table_distances.variation(*shares) == pytest.approx(np.abs(dense[0] - dense[1]).sum() / 2)


def test_random_marginals_are_sets_that_repeat_with_the_seed():
    one, two = (junction_tree.random_marginals(9, 4, np.random.default_rng(5)) for _ in range(2))
    assert one == two
    assert all(len(set(m)) == 4 and list(m) == sorted(m) and max(m) < 9 for m in one)


@pytest.mark.statistical
def test_private_svm_without_noise_learns_and_with_noise_does_not():
    generator = np.random.default_rng(2)
    answer = generator.integers(0, 2, 3000)
    columns = (answer, np.where(generator.random(3000) < 0.95, answer, 1 - answer), generator.integers(0, 3, 3000))
    fields = [{"name": name, "type": "integer", "categories": [0, 1, 2]} for name in "abc"]
    table = CodedTable(parse_schema({"fields": fields}, "small"), tuple(c.astype(np.uint8) for c in columns))
    task = Task("a", "a", (1,))
    assert private_classifiers.private_svm(table, table, task, 1e9) < 0.08
    noisy = [private_classifiers.private_svm(table, table, task, 1e-6) for _ in range(20)]
    assert max(noisy) > 0.4
    assert labels(table, task).mean() == pytest.approx(answer.mean())


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_methods_of_merging_are_compared_on_one_graph(seed):
    found = clique_merging.compare(*clique_merging.random_chordal(seed, most=8))
    assert found["exact"] <= found["cccp"] <= found["greedy"] <= found["apart"]
    assert clique_merging.compare(*clique_merging.GOLDENS["Example 2"])["exact"] == 6656
