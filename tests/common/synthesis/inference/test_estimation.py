"""From noisy tables to consistent, non-negative ones."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privity.common.data.noisy_tables import NoisyTable
from privity.common.synthesis.inference import estimation
from privity.common.synthesis.inference.estimation import (
    SMOOTHING_STRENGTHS,
    Estimate,
    average,
    collect,
    fit_table,
    marginalise,
    nearest_counts,
    shrink_pair,
    smooth,
)
from privity.common.synthesis.inference.estimation import one_way_marginals as one_way

COUNTS = st.floats(-1000, 1000, allow_nan=False, width=32)
TABLES = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=COUNTS)
TOTALS = st.integers(1, 5000)


def test_average_weighs_by_inverse_variance():
    mean = average([Estimate(np.array([10.0, 0.0]), 1.0), Estimate(np.array([40.0, 6.0]), 2.0)])
    assert mean.counts == pytest.approx([20.0, 2.0])
    assert mean.variance == pytest.approx(2 / 3)
    single = average(iter([Estimate(np.array([3.0]), 5.0)]))
    assert (single.counts[0], single.variance) == (pytest.approx(3.0), pytest.approx(5.0))


@given(st.lists(st.tuples(COUNTS, st.floats(0.1, 1e6)), min_size=1, max_size=6))
def test_average_is_never_less_certain_than_the_best_and_lies_between(parts):
    mean = average([Estimate(np.array([value]), variance) for value, variance in parts])
    assert mean.variance <= min(v for _, v in parts) * (1 + 1e-9)
    assert min(c for c, _ in parts) - 1e-6 <= mean.counts[0] <= max(c for c, _ in parts) + 1e-6


def test_average_of_many_has_the_variance_it_claims():
    generator = np.random.default_rng(1)
    variances = [1.0, 4.0, 9.0]
    means = [average([Estimate(generator.normal(0, v**0.5, 1), v) for v in variances]) for _ in range(4000)]
    assert np.var([m.counts[0] for m in means]) == pytest.approx(means[0].variance, rel=0.1)


def noisy(attributes, counts, variance=2.0, rows=100):
    return NoisyTable(attributes, np.asarray(counts, dtype=np.int64), Fraction(1), variance, rows)


def test_collect_joins_tables_of_the_same_attributes_in_any_order():
    counts = np.arange(6).reshape(2, 3)
    found = collect([noisy((0, 4), counts), noisy((4, 0), counts.T + 6, variance=4.0), noisy((4,), [1, 2, 3])])
    assert set(found) == {(0, 4), (4,)}
    assert found[0, 4].counts == pytest.approx(counts + 2.0)
    assert found[0, 4].variance == pytest.approx(4 / 3)


def test_collect_puts_three_axes_in_the_order_of_the_attributes():
    counts = np.arange(24).reshape(2, 3, 4)
    found = collect([noisy((7, 1, 3), counts)])
    assert found[1, 3, 7].counts == pytest.approx(counts.transpose(1, 2, 0))


def test_marginalise_sums_out_and_adds_variances():
    counts = np.arange(24, dtype=float).reshape(2, 3, 4)
    kept = marginalise(Estimate(counts, 5.0), [0, 2])
    assert kept.counts == pytest.approx(counts.sum(axis=1))
    assert kept.variance == 15.0
    same = marginalise(Estimate(counts, 5.0), [0, 1, 2])
    assert same.counts == pytest.approx(counts)
    assert same.variance == 5.0


@given(TABLES, TOTALS)
def test_nearest_counts_meet_the_optimality_conditions(counts, total):
    found = nearest_counts(counts, float(total))
    assert found.shape == counts.shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    # KKT: every positive cell is shifted alike, every cell at 0 would have been shifted below it.
    positive = found > 1e-6
    shifts = (counts - found)[positive]
    assert np.ptp(shifts) == pytest.approx(0, abs=1e-6)
    assert (counts[~positive] <= shifts.max() + 1e-5).all()


@given(arrays(float, 4, elements=COUNTS), TOTALS)
def test_nearest_counts_are_nearer_than_those_on_any_other_support(counts, total):
    found = nearest_counts(counts, float(total))
    distance = ((found - counts) ** 2).sum()
    for size in range(1, 5):
        for support in combinations(range(4), size):
            other = np.zeros(4)
            chosen = list(support)
            other[chosen] = counts[chosen] + (total - counts[chosen].sum()) / size
            if other.min() >= 0:
                assert distance <= ((other - counts) ** 2).sum() * (1 + 1e-9) + 1e-6


@given(arrays(float, 5, elements=st.floats(0, 1000, width=32)))
def test_counts_that_fit_stay_as_they_are(counts):
    assume(counts.sum() > 1)
    assert nearest_counts(counts, counts.sum()) == pytest.approx(counts, abs=1e-6)


def test_one_way_marginals_use_every_table_that_has_the_attribute():
    true = np.array([[30.0, 10.0], [20.0, 40.0]])
    estimates = {(0, 1): Estimate(true, 1.0), (0,): Estimate(np.array([46.0, 54.0]), 2.0)}
    first, second = one_way(estimates, range(2), 100).values()
    assert first == pytest.approx([43.0, 57.0])  # both have variance 2: the mean of 40 and 46
    assert second == pytest.approx([50.0, 50.0])


@given(st.lists(TABLES, min_size=2, max_size=2), TOTALS)
def test_one_way_marginals_are_counts_of_all_rows(tables, rows):
    estimates = {(a,): Estimate(table.ravel(), 1.0 + a) for a, table in enumerate(tables)}
    for marginal in one_way(estimates, range(2), rows).values():
        assert marginal.min() >= 0
        assert marginal.sum() == pytest.approx(rows)


@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (2, 3, 4), (12, 10)])
@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_a_fitted_table_has_the_marginals_given_and_no_negative_cell(shape, scale):
    generator = np.random.default_rng(3)
    for _ in range(20):
        true = generator.dirichlet(np.full(np.prod(shape), 0.2)).reshape(shape) * 5000
        estimate = Estimate(true + generator.laplace(0, scale, shape), 2 * scale**2)
        axes = range(len(shape))
        marginals = [true.sum(axis=tuple(b for b in axes if b != a)) for a in axes]
        marginals = [nearest_counts(m + generator.laplace(0, scale / 5, m.shape), 5000.0) for m in marginals]
        fitted = fit_table(estimate, marginals, 5000)
        assert fitted.min() >= 0
        for a in axes:
            assert fitted.sum(axis=tuple(b for b in axes if b != a)) == pytest.approx(marginals[a], abs=1e-6)


def test_a_table_that_fits_already_stays_as_it_is():
    true = np.array([[30.0, 10.0, 5.0], [20.0, 0.0, 35.0]])
    fitted = fit_table(Estimate(true, 1.0), [true.sum(1), true.sum(0)], 100)
    assert fitted == pytest.approx(true, abs=1e-6)


def test_marginals_with_zeros_give_zeros_and_no_nan():
    estimate = Estimate(np.array([[50.0, 3.0, -2.0], [9.0, 40.0, 0.0]]), 1.0)
    with np.errstate(all="raise"):
        fitted = fit_table(estimate, [np.array([100.0, 0.0]), np.array([60.0, 40.0, 0.0])], 100)
    assert fitted == pytest.approx(np.array([[60.0, 40.0, 0.0], [0.0, 0.0, 0.0]]), abs=1e-9)


@given(TABLES, st.data())
def test_any_estimate_gives_finite_non_negative_counts_of_all_rows(counts, data):
    weights = [data.draw(arrays(float, size, elements=st.integers(0, 5))) for size in counts.shape]
    assume(all(w.sum() for w in weights))
    fitted = fit_table(Estimate(counts, 1.0), [w * 1000 / w.sum() for w in weights], 1000)
    assert np.isfinite(fitted).all()
    assert fitted.min() >= 0
    assert fitted.sum() == pytest.approx(1000)
    assert fitted.sum(axis=1) == pytest.approx(weights[0] * 1000 / weights[0].sum(), abs=1e-6)
    assert fitted.sum(axis=0) == pytest.approx(weights[1] * 1000 / weights[1].sum(), abs=1e-6)


@given(arrays(float, (2, 3, 4), elements=COUNTS), st.permutations(range(3)), st.data())
def test_a_fitted_table_has_a_separator_of_several_attributes_whatever_the_noise(counts, order, data):
    kept = sorted(order[:2])
    known = data.draw(arrays(float, [counts.shape[a] for a in kept], elements=st.integers(0, 5)))
    last = data.draw(arrays(float, counts.shape[order[2]], elements=st.integers(0, 5)))
    assume(known.sum() and last.sum())
    known, last = (table * 1000 / table.sum() for table in (known, last))
    marginals = {kept[0]: known.sum(1), kept[1]: known.sum(0), order[2]: last}
    fitted = fit_table(Estimate(counts, 1.0), [marginals[a] for a in range(3)], 1000, (kept, known))
    assert fitted.min() >= 0
    assert fitted.sum(axis=order[2]) == pytest.approx(known, abs=1e-6)
    for a in range(3):
        assert fitted.sum(axis=tuple(b for b in range(3) if b != a)) == pytest.approx(marginals[a], abs=1e-6)


def test_fitting_leaves_the_estimate_as_it_was():
    counts = np.array([[5.0, -1.0], [2.0, 4.0]])
    fit_table(Estimate(counts, 1.0), [np.array([4.0, 6.0]), np.array([7.0, 3.0])], 10)
    assert counts.tolist() == [[5.0, -1.0], [2.0, 4.0]]


def test_smoothing_lowers_the_error_of_noisy_smooth_counts():
    generator = np.random.default_rng(8)
    true = 1000 + 500 * np.sin(np.arange(16) / 5)
    before = after = 0.0
    for _ in range(200):
        counts = true + generator.normal(0, 300, 16)
        before += ((counts - true) ** 2).sum()
        after += ((smooth(Estimate(counts, 300.0**2)) - true) ** 2).sum()
    assert after < 0.6 * before


def test_smoothing_leaves_precise_and_spiky_counts_as_they_are():
    spiky = np.array([0.0, 5000.0, 0.0, 0.0, 9000.0, 10.0])
    assert (smooth(Estimate(spiky, 100.0)) == spiky).all()
    assert (smooth(Estimate(spiky, 0.0)) == spiky).all()


@given(arrays(float, st.integers(1, 9), elements=COUNTS), st.floats(0, 1e6))
def test_smoothing_keeps_the_total(counts, variance):
    smoothed = smooth(Estimate(counts, variance))
    assert smoothed.sum() == pytest.approx(counts.sum(), abs=1e-3)
    assert np.abs(smoothed).max() <= np.abs(counts).max() + 1e-6


def test_only_the_codes_in_an_order_are_smoothed():
    counts = np.array([100.0, 300.0, 100.0, 300.0, 200.0])
    estimates = {(0,): Estimate(counts, 1e6), (1,): Estimate(counts, 1e6)}
    first, second = one_way(estimates, range(2), 1000, {0: 4}).values()
    assert np.ptp(first[:4]) < 50
    assert first[4] == pytest.approx(200)
    assert second == pytest.approx(counts)


@pytest.mark.parametrize("strength", [0.0, 0.2, 1.0])
def test_a_clear_pair_table_stays_and_one_below_the_noise_floor_becomes_the_product(strength):
    generator = np.random.default_rng(9)
    product = np.full((6, 6), 5000 / 36)
    true = (1 - strength) * product + strength * np.eye(6) * 5000 / 6
    marginals = [true.sum(axis=1), true.sum(axis=0)]
    clear = shrink_pair(Estimate(true + generator.normal(0, 0.1, true.shape), 0.01), marginals, 5000)
    assert clear.counts == pytest.approx(true, abs=3)
    raw = shrunk = 0.0
    for _ in range(50):
        drowned = true + generator.normal(0, 3000, true.shape)
        found = shrink_pair(Estimate(drowned, 3000.0**2), marginals, 5000)
        raw += np.abs(drowned - true).sum()
        shrunk += np.abs(found.counts - true).sum()
    assert shrunk < 0.4 * raw


@given(TABLES, TOTALS, st.floats(0, 1e9))
def test_a_shrunk_table_is_finite_whatever_the_noise(counts, rows, variance):
    marginals = [nearest_counts(np.abs(counts).sum(axis=a), float(rows)) for a in (1, 0)]
    assert np.isfinite(shrink_pair(Estimate(counts, variance), marginals, rows).counts).all()


@pytest.mark.parametrize("size", [2, 3, 17, 40])
def test_smoothing_by_waves_is_that_of_the_inverse(size):
    generator = np.random.default_rng(size)
    estimate = Estimate(np.linspace(0, 50, size) + generator.normal(0, 9, size), 81.0)
    differences = np.diff(np.eye(size), axis=0)
    found = {0.0: (2 * 81.0 * size, estimate.counts)}
    for strength in SMOOTHING_STRENGTHS:
        smoother = np.linalg.inv(np.eye(size) + strength * differences.T @ differences)
        smoothed = smoother @ estimate.counts
        found[strength] = ((estimate.counts - smoothed) ** 2).sum() + 2 * 81.0 * np.trace(smoother), smoothed
    np.testing.assert_allclose(smooth(estimate), min(found.values(), key=lambda one: one[0])[1], atol=1e-9)


def test_a_marginal_is_made_of_the_tables_that_have_the_attribute_alone(monkeypatch):
    """Not by looking at all tables for each attribute: there are 124,750 pairs of 500."""
    pairs = {(a, a + 1): Estimate(np.ones((2, 2)), 1.0) for a in range(0, 40, 2)}
    looked = []
    real = estimation.marginalise
    monkeypatch.setattr(estimation, "marginalise", lambda *of: looked.append(of) or real(*of))
    one_way(pairs, range(40), 4)
    assert len(looked) == 40
    assert estimation.holders(pairs)[3] == [(2, 3)]
