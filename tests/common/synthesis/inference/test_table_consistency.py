"""Mutual consistency of tables, and the threshold against the bias of rounding."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privity.common.synthesis.inference.estimation import Estimate, average, marginalise
from privity.common.synthesis.inference.table_consistency import keep_above_threshold, make_consistent

ATTRIBUTES = 5
ROWS = 1000


@st.composite
def table_sets(draw, most=6):
    """Sets of attributes, sizes of domains, variances and a seed."""
    domain = draw(st.lists(st.integers(1, 4), min_size=ATTRIBUTES, max_size=ATTRIBUTES))
    key = st.sets(st.integers(0, ATTRIBUTES - 1), min_size=1, max_size=4).map(lambda s: tuple(sorted(s)))
    keys = draw(st.lists(key, min_size=1, max_size=most, unique=True))
    variances = draw(st.lists(st.floats(0.1, 100), min_size=len(keys), max_size=len(keys)))
    return domain, keys, variances, draw(st.integers(0, 2**32))


def random_tables(domain, keys, variances, seed):
    """Noisy tables and the exact ones, of a skewed joint distribution with many empty cells."""
    generator = np.random.default_rng(seed)
    joint = generator.multinomial(ROWS, generator.dirichlet(np.full(math.prod(domain), 0.1))).reshape(domain)
    exact = {k: joint.sum(axis=tuple(a for a in range(ATTRIBUTES) if a not in k)).astype(float) for k in keys}
    variance = dict(zip(keys, variances, strict=True))
    noisy = {k: exact[k] + generator.laplace(0, (variance[k] / 2) ** 0.5, exact[k].shape) for k in keys}
    return {k: Estimate(noisy[k], variance[k]) for k in keys}, {k: Estimate(exact[k], variance[k]) for k in keys}


def marginal(key, estimate, attributes):
    return marginalise(estimate, [key.index(a) for a in attributes])


def by_steps(estimates, rows):
    """The source's algorithm as it stands there: intersections from the smallest up, each one shifting tables."""
    keys = list(estimates)
    closed = {frozenset()} | {frozenset(a) & frozenset(b) for a, b in combinations(keys, 2)}
    while more := {a & b for a, b in combinations(closed, 2)} - closed:
        closed |= more
    counts = {key: estimates[key].counts.copy() for key in keys}
    for shared in sorted(map(sorted, closed), key=len):
        holders = [key for key in keys if set(shared) <= set(key)]
        parts = [marginal(key, Estimate(counts[key], estimates[key].variance), shared) for key in holders]
        mean = average(parts).counts if shared else float(rows)
        for key, part in zip(holders, parts, strict=True):
            summed = tuple(place for place, a in enumerate(key) if a not in shared)
            shift = (mean - part.counts) * part.counts.size / counts[key].size
            counts[key] += np.expand_dims(shift, summed)
    return counts


def by_least_squares(estimates, rows, domain):
    """Weighted least squares over all joint tables, of any sign: brute force on the joint's cells."""
    cells = list(product(*map(range, domain)))
    blocks, values = [], []
    for key, estimate in estimates.items():
        block = np.zeros((estimate.counts.size, len(cells)))
        for column, cell in enumerate(cells):
            block[np.ravel_multi_index([cell[a] for a in key], estimate.counts.shape), column] = 1
        blocks.append(block)
        values.append(estimate.counts.ravel())
    # The total is exact: a uniform joint has it, and the rest is sought among joints with the sum 0.
    uniform = np.full(len(cells), rows / len(cells))
    zero_sum = np.vstack([np.eye(len(cells) - 1), np.full(len(cells) - 1, -1.0)])
    roots = [e.variance**-0.5 for e in estimates.values()]
    left = np.vstack([root * block @ zero_sum for root, block in zip(roots, blocks, strict=True)])
    gaps = [root * (v - block @ uniform) for root, block, v in zip(roots, blocks, values, strict=True)]
    joint = uniform + zero_sum @ np.linalg.lstsq(left, np.concatenate(gaps), rcond=None)[0]
    return {k: (b @ joint).reshape(e.counts.shape) for b, (k, e) in zip(blocks, estimates.items(), strict=True)}


@given(table_sets())
def test_every_shared_marginal_is_one_table_and_totals_are_the_rows(case):
    noisy, _ = random_tables(*case)
    found = make_consistent(noisy, ROWS)
    assert list(found) == list(noisy)
    for key, estimate in found.items():
        assert estimate.counts.shape == noisy[key].counts.shape
        assert estimate.counts.sum() == pytest.approx(ROWS, abs=1e-6)
        assert 0 <= estimate.variance <= noisy[key].variance * (1 + 1e-12)
    for first, second in combinations(found, 2):
        shared = sorted(set(first) & set(second))
        mine, theirs = marginal(first, found[first], shared), marginal(second, found[second], shared)
        assert mine.counts == pytest.approx(theirs.counts, abs=1e-6)


@given(table_sets())
def test_exact_tables_stay_as_they_are(case):
    _, exact = random_tables(*case)
    for key, estimate in make_consistent(exact, ROWS).items():
        assert estimate.counts == pytest.approx(exact[key].counts, abs=1e-8)


@given(table_sets())
def test_a_second_time_changes_nothing_and_zeros_become_uniform(case):
    noisy, _ = random_tables(*case)
    once = make_consistent(noisy, 7)
    twice = make_consistent({k: Estimate(e.counts, noisy[k].variance) for k, e in once.items()}, 7)
    level = make_consistent({k: Estimate(0 * e.counts, e.variance) for k, e in noisy.items()}, 100)
    for key, estimate in noisy.items():
        assert twice[key].counts == pytest.approx(once[key].counts, abs=1e-8)
        assert level[key].counts == pytest.approx(100 / estimate.counts.size)


@given(table_sets(), st.integers(0, 2**32), st.integers(-3, 3))
def test_tables_and_rows_together_are_mapped_linearly(case, seed, factor):
    domain, keys, variances, _ = case
    one, _ = random_tables(*case)
    two, _ = random_tables(domain, keys, variances, seed)
    mixed = {k: Estimate(one[k].counts + factor * two[k].counts, one[k].variance) for k in keys}
    found, first, second = make_consistent(mixed, 90 + factor * 20), make_consistent(one, 90), make_consistent(two, 20)
    for key in keys:
        assert found[key].counts == pytest.approx(first[key].counts + factor * second[key].counts, abs=1e-6)


@given(table_sets())
def test_the_error_weighted_by_variance_never_grows(case):
    noisy, exact = random_tables(*case)
    found = make_consistent(noisy, ROWS)

    def error(tables):
        return sum(((tables[k].counts - exact[k].counts) ** 2).sum() / exact[k].variance for k in exact)

    assert error(found) <= error(noisy) * (1 + 1e-9) + 1e-9


@given(table_sets(), st.randoms())
def test_the_order_of_the_tables_does_not_matter(case, random):
    noisy, _ = random_tables(*case)
    shuffled = list(noisy)
    random.shuffle(shuffled)
    found, other = make_consistent(noisy, ROWS), make_consistent({k: noisy[k] for k in shuffled}, ROWS)
    for key in noisy:
        assert (found[key].counts == other[key].counts).all()
        assert found[key].variance == other[key].variance


@given(table_sets(most=8))
def test_it_is_what_the_steps_over_all_intersections_give(case):
    noisy, _ = random_tables(*case)
    stepped = by_steps(noisy, ROWS)
    for key, estimate in make_consistent(noisy, ROWS).items():
        assert estimate.counts == pytest.approx(stepped[key], abs=1e-6)


@pytest.mark.parametrize(
    "keys",
    [
        [(0, 1), (1, 2)],
        [(0, 1, 2), (1, 2, 3)],
        [(0, 1, 2), (1,)],
        [(0,), (1,), (0, 1)],
        [(0, 1), (1, 2), (0, 2)],
        [(0, 1), (1, 2), (2, 3), (0, 3), (0, 1, 2)],
        [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)],
    ],
    ids=str,
)
def test_it_is_the_weighted_least_squares_solution(keys):
    domain = [2, 3, 1, 4, 1]
    noisy, _ = random_tables(domain, keys, [0.5 * 3**i for i in range(len(keys))], 5)
    solved = by_least_squares(noisy, ROWS, domain)
    for key, estimate in make_consistent(noisy, ROWS).items():
        assert estimate.counts == pytest.approx(solved[key], abs=1e-6)


@given(table_sets(most=4))
def test_it_is_the_weighted_least_squares_solution_on_random_tables(case):
    domain = [min(size, 3) for size in case[0]]
    noisy, _ = random_tables(domain, *case[1:])
    solved = by_least_squares(noisy, ROWS, domain)
    for key, estimate in make_consistent(noisy, ROWS).items():
        assert estimate.counts == pytest.approx(solved[key], abs=1e-6)


def test_two_tables_with_one_separator_by_hand():
    first = Estimate(np.array([[1.0, 2.0], [3.0, 4.0]]), 1.0)  # (0, 1), sums of 1: 4, 6
    second = Estimate(np.array([[5.0, 0.0, 1.0], [2.0, 2.0, 0.0]]), 2.0)  # (1, 2), sums of 1: 6, 4
    found = make_consistent({(0, 1): first, (1, 2): second}, 10)
    # Variances of the sums 1 * 2 and 2 * 3: weights 3 to 1, the mean 4.5 and 5.5.
    assert found[0, 1].counts == pytest.approx(np.array([[1.25, 1.75], [3.25, 3.75]]))
    assert found[1, 2].counts == pytest.approx(np.array([[4.5, -0.5, 0.5], [2.5, 2.5, 0.5]]))


@pytest.mark.statistical
def test_means_are_the_truth_and_variances_as_claimed():
    domain, keys, variances = [2, 3, 2, 1, 2], [(0, 1), (1, 2, 4), (0, 1, 4), (1,)], [1.0, 4.0, 9.0, 25.0]
    _, exact = random_tables(domain, keys, variances, 1)
    generator = np.random.default_rng(2)

    def errors():
        noise = {k: generator.normal(0, e.variance**0.5, e.counts.shape) for k, e in exact.items()}
        found = make_consistent({k: Estimate(exact[k].counts + noise[k], exact[k].variance) for k in keys}, ROWS)
        return found, {k: found[k].counts - exact[k].counts for k in keys}

    runs = [errors() for _ in range(4000)]
    for key in keys:
        found = np.array([run[1][key] for run in runs])
        variance = runs[0][0][key].variance
        assert found.mean(axis=0) == pytest.approx(0, abs=5 * (variance / len(runs)) ** 0.5)
        assert found.var(axis=0) == pytest.approx(variance, rel=0.15)
        assert variance < exact[key].variance


def test_hundreds_of_overlapping_tables():
    """Closed under intersection, 1167 sets of attributes are shared."""
    generator = np.random.default_rng(3)
    keys = {tuple(sorted(generator.choice(24, 5, replace=False).tolist())) for _ in range(300)}
    found = make_consistent({k: Estimate(generator.normal(0, 9, (3,) * 5), 81.0) for k in keys}, ROWS)
    assert all(e.counts.sum() == pytest.approx(ROWS) for e in found.values())


def test_nothing_gives_nothing_and_one_cell_is_the_total():
    assert make_consistent({}, 5) == {}
    found = make_consistent({(3,): Estimate(np.array([8.0]), 2.0)}, 5)
    assert found[3,].counts == pytest.approx([5.0])
    assert found[3,].variance == 0.0


@pytest.mark.parametrize(
    ("key", "counts", "variance", "rows"),
    [
        ((), np.array(1.0), 1.0, 5),
        ((1, 0), np.ones((2, 2)), 1.0, 5),
        ((0, 0), np.ones((2, 2)), 1.0, 5),
        ((0, 1), np.ones(2), 1.0, 5),
        ((0,), np.ones(0), 1.0, 5),
        ((0,), np.array([1.0, np.nan]), 1.0, 5),
        ((0,), np.ones(2), 0.0, 5),
        ((0,), np.ones(2), -1.0, 5),
        ((0,), np.ones(2), np.inf, 5),
        ((0,), np.ones(2), np.nan, 5),
        ((0,), np.ones(2), 1.0, -1),
        ((7,), np.ones(2), 1.0, 5),
    ],
)
def test_bad_tables_are_refused(key, counts, variance, rows):
    with pytest.raises(ValueError, match=r".+"):
        make_consistent({(7, 8): Estimate(np.ones((3, 2)), 1.0), key: Estimate(counts, variance)}, rows)


COUNTS = arrays(
    float,
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    elements=st.integers(-50, 50) | st.floats(-1000, 1000, width=32),
)


@given(COUNTS, st.integers(0, 5000))
def test_kept_counts_are_those_above_a_threshold_nearest_to_the_total(counts, total):
    found = keep_above_threshold(counts, total)
    assert found.shape == counts.shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    positive = counts[counts > 0]
    if not total or not positive.size:
        assert found == pytest.approx(total / counts.size if total else 0.0)
        return
    thresholds = [0.0, *positive[positive < positive.max()]]
    gaps = [abs(counts[counts > t].sum() - total) for t in thresholds]
    kept = counts[found > 0]
    assert abs(kept.sum() - total) == pytest.approx(min(gaps), abs=1e-6)
    assert kept.min() > max(0, *counts[found == 0], 0)
    assert found[found > 0] / kept == pytest.approx(total / kept.sum())


def test_threshold_by_hand():
    counts = np.array([50, 30, 12, 12, 4, 0, -3])
    assert keep_above_threshold(counts, 100.0) == pytest.approx(np.array([50, 30, 12, 12, 0, 0, 0]) * 100 / 104)
    assert keep_above_threshold(counts, 200.0) == pytest.approx(np.array([50, 30, 12, 12, 4, 0, 0]) * 200 / 108)
    assert keep_above_threshold(counts, 1.0) == pytest.approx([1, 0, 0, 0, 0, 0, 0])
    assert keep_above_threshold(np.array([20, 10, 90]), 100.0) == pytest.approx([0, 0, 100])
    assert keep_above_threshold(np.array([[-1.0, 0.0]]), 6.0) == pytest.approx(np.array([[3.0, 3.0]]))


@given(arrays(float, st.integers(1, 9), elements=st.integers(0, 100)))
def test_an_exact_table_is_kept(counts):
    assert keep_above_threshold(counts, counts.sum()) == pytest.approx(counts)


@pytest.mark.parametrize(
    ("counts", "total"),
    [(np.ones(0), 1), (np.array([np.inf]), 1), (np.ones(2), -1), (np.ones(2), np.inf), (np.ones(2), np.nan)],
)
def test_a_threshold_refuses_what_has_no_answer(counts, total):
    with pytest.raises(ValueError, match=r".+"):
        keep_above_threshold(counts, total)
