"""Pooled estimates, held against generalised least squares by dense matrices over all that the tables tell."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.synthesis.inference import pooled_estimates
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 80}, "bins": 5},
    {"name": "ward", "type": "string", "categories": ["north", "south", "west"]},
    {"name": "smoker", "type": "boolean"},
    {"name": "stay", "type": "integer", "constraints": {"minimum": 0, "maximum": 40}, "bins": 4},
]
SCHEMA = parse_schema({"fields": FIELDS}, "s")
DERIVED = SCHEMA.derived
AGE, WARD, SMOKER, STAY = range(4)
ROWS = 1000
ONE = Fraction(1)


def noisy(attributes, variance=50.0, rows=ROWS, seed=0) -> NoisyTable:
    shape = [DERIVED.domain[a] for a in attributes]
    counts = np.random.default_rng([seed, *attributes]).integers(-20, 200, shape)
    law = NoiseLaw(GAUSSIAN, Fraction(variance).limit_denominator(1000))
    return NoisyTable(tuple(attributes), counts, law, variance, rows)


def pooled(*tables) -> PooledEstimates:
    return PooledEstimates(tables, DERIVED, ONE)


def by_matrices(tables, over, functionals):
    """Best linear unbiased estimate of functionals of the table over some attributes, and its covariance.

    Each cell of a table is a row of a matrix on all cells of ``over``; cells that no code has are left out.
    """
    shape = [SCHEMA.domain[a] for a in over]
    codes = dict(zip(over, np.indices(shape).reshape(len(over), -1), strict=True))
    cells = math.prod(shape)
    normal, right = np.zeros((cells, cells)), np.zeros(cells)
    for table in tables:
        kept = [axis for axis, a in enumerate(table.attributes) if DERIVED.base[a] in codes]
        # Of another attribute's axes only the cells that a code has are summed.
        counts, variance = table.counts.astype(float), table.variance
        outside = {DERIVED.base[a] for a in table.attributes} - set(over)
        mask = np.ones(counts.shape, dtype=bool)
        for attribute in outside:
            axes = [axis for axis, a in enumerate(table.attributes) if DERIVED.base[a] == attribute]
            possible = np.zeros([counts.shape[axis] for axis in axes], dtype=bool)
            own = np.arange(SCHEMA.domain[attribute])
            possible[tuple(DERIVED.derive(table.attributes[axis], own) for axis in axes)] = True
            order = [axes.index(axis) if axis in axes else None for axis in range(counts.ndim)]
            spread = possible.transpose([o for o in order if o is not None])
            mask &= spread.reshape([counts.shape[axis] if axis in axes else 1 for axis in range(counts.ndim)])
        summed = tuple(axis for axis in range(counts.ndim) if axis not in kept)
        variance *= int(mask.sum(axis=summed).max()) if summed else 1
        counts = np.where(mask, counts, 0).sum(axis=summed).ravel()
        if not kept:
            continue
        names = [table.attributes[axis] for axis in kept]
        values = [DERIVED.derive(a, codes[DERIVED.base[a]]) for a in names]
        place = np.ravel_multi_index(values, [DERIVED.domain[a] for a in names])
        matrix = (np.arange(counts.size)[:, None] == place[None, :]).astype(float)
        normal += matrix.T @ matrix / variance
        right += matrix.T @ counts / variance
    # The exact sum as an equation, by a multiplier.
    one = np.ones((1, cells))
    whole = np.block([[normal, one.T], [one, np.zeros((1, 1))]])
    inverse = np.linalg.pinv(whole, rcond=1e-12, hermitian=True)
    estimate = (inverse @ np.append(right, ROWS))[:cells]
    return functionals @ estimate, functionals @ inverse[:cells, :cells] @ functionals.T


def functionals_of(found, attributes, over):
    """Of each cell of an estimate, the cells of ``over`` that it is the sum of."""
    codes = dict(zip(over, np.indices([SCHEMA.domain[a] for a in over]).reshape(len(over), -1), strict=True))
    labels = []
    for a, key in zip(attributes, found.groups, strict=True):
        sizes = [DERIVED.domain[i] for i in key]
        spelled = np.ravel_multi_index([DERIVED.derive(i, np.arange(SCHEMA.domain[a])) for i in key], sizes)
        labels.append(np.unique(spelled, return_inverse=True)[1][codes[a]])
    place = np.ravel_multi_index(labels, found.counts.shape)
    return (np.arange(found.counts.size)[:, None] == place[None, :]).astype(float)


def agrees(tables, found, attributes, over) -> None:
    wanted, covariance = by_matrices(tables, over, functionals_of(found, attributes, over))
    np.testing.assert_allclose(found.counts.ravel(), wanted, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(found.estimate.covariance(), covariance, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.estimate.variances.ravel(), covariance.diagonal(), rtol=1e-6, atol=1e-6)
    weights = np.random.default_rng(1).normal(size=found.counts.shape)
    by_hand = weights.ravel() @ covariance @ weights.ravel()
    assert found.estimate.variance(weights) == pytest.approx(by_hand, rel=1e-6, abs=1e-6)
    assert found.counts.sum() == pytest.approx(ROWS)
    centred = np.ones((1, 1))
    for size in found.counts.shape:
        centred = np.kron(centred, np.eye(size) - 1 / size)
    free = max(1, math.prod(size - 1 for size in found.counts.shape))
    by_trace = np.trace(centred @ covariance) / free
    every = range(found.counts.ndim)
    assert found.estimate.component_variance(every) == pytest.approx(by_trace, rel=1e-6, abs=1e-6)
    for axis in every:
        others = [np.ones((1, size)) if i != axis else np.eye(size) for i, size in enumerate(found.counts.shape)]
        sums = others[0]
        for other in others[1:]:
            sums = np.kron(sums, other)
        size = found.counts.shape[axis]
        alone = np.trace((np.eye(size) - 1 / size) @ sums @ covariance @ sums.T) / max(1, size - 1)
        assert found.estimate.component_variance([axis]) == pytest.approx(alone, rel=1e-6, abs=1e-6)


variances = st.sampled_from([0.5, 3.0, 50.0, 4000.0])
whole_tables = st.builds(
    lambda attributes, variance, seed: noisy(tuple(attributes), variance, seed=seed),
    st.lists(st.sampled_from([AGE, WARD, SMOKER]), min_size=1, max_size=3, unique=True), variances, st.integers(0, 99),
)  # fmt: skip


@given(st.lists(whole_tables, min_size=1, max_size=6))
def test_of_tables_of_codes_nothing_better_can_be_made(tables):
    """Held against the whole table over all attributes, not only what each tells of the two."""
    best = pooled(*tables)
    for size in (1, 2, 3):
        for attributes in combinations((AGE, WARD, SMOKER), size):
            found = best.of(*attributes[::-1])
            if found is None:
                assert not any(set(attributes) <= set(table.attributes) for table in tables)
            else:
                agrees(tables, found, attributes[::-1], (AGE, WARD, SMOKER))


of_age = [(AGE,), DERIVED.bits(AGE), DERIVED.gray(AGE)[:2], DERIVED.bits(AGE)[1:], (DERIVED.levels(AGE)[1],)]
of_stay = [(STAY,), DERIVED.bits(STAY), (DERIVED.levels(STAY)[1],), DERIVED.gray(STAY)[1:], ()]
of_ward = [(WARD,), ()]
derived_tables = st.builds(
    lambda age, stay, ward, variance, seed, turned: noisy(
        (*age, *stay, *ward)[:: -1 if turned else 1], variance, seed=seed
    ),
    st.sampled_from([*of_age, ()]), st.sampled_from(of_stay), st.sampled_from(of_ward), variances, st.integers(0, 99),
    st.booleans(),
)  # fmt: skip


@given(st.lists(derived_tables.filter(lambda table: table.attributes), min_size=1, max_size=6))
def test_of_bits_and_generalisations_it_is_what_each_table_tells_of_the_attributes(tables):
    best = pooled(*tables)
    for attributes in ((AGE,), (STAY,), (WARD,), (STAY, AGE), (AGE, WARD), (AGE, WARD, STAY)):
        found = best.of(*attributes)
        if found is not None:
            agrees(tables, found, attributes, attributes)


def test_repeats_share_their_noise_and_the_number_of_rows_takes_some_away():
    tables = [noisy((AGE,), variance=80.0, seed=seed) for seed in range(4)]
    found = pooled(*tables).one(AGE)
    mean = np.mean([table.counts for table in tables], axis=0)
    assert found.counts == pytest.approx(mean + (ROWS - mean.sum()) / 5)
    assert found.estimate.variances == pytest.approx(80 / 4 * (1 - 1 / 5))
    assert found.tables == (0, 1, 2, 3)


def test_a_pair_is_read_from_wider_tables_with_its_axes_in_the_order_asked_for():
    wide = noisy((SMOKER, WARD, AGE))
    best = pooled(wide)
    assert best.of(SMOKER, AGE).counts == pytest.approx(best.of(AGE, SMOKER).counts.T)
    assert best.of(AGE, SMOKER).estimate.component_variance((0, 1)) == pytest.approx(3 * wide.variance)
    assert best.of(AGE, STAY) is None
    assert best.one(STAY) is None


def test_tables_over_fewer_rows_count_where_there_are_no_others():
    partial, whole = noisy((AGE,), variance=1.0, rows=400), noisy((AGE,), variance=90.0)
    assert pooled(partial, whole).one(AGE).counts == pytest.approx(pooled(whole).one(AGE).counts)
    alone = pooled(partial).one(AGE)
    assert (alone.rows, alone.counts.sum()) == (400, pytest.approx(400))


def test_a_pair_measured_through_a_generalisation_says_so():
    level = DERIVED.levels(AGE)[1]
    coarse = noisy((WARD, level))
    best = pooled(coarse, noisy((AGE,)))
    assert best.one(AGE).whole
    found = best.of(AGE, WARD)
    assert (found.whole, found.groups) == (False, ((level,), (WARD,)))
    assert pooled(coarse, noisy((WARD, AGE), variance=9000.0)).of(AGE, WARD).whole


def test_what_was_measured_of_an_attribute_in_its_place_is_averaged():
    bit, other = DERIVED.bits(AGE)[:2]
    tables = noisy((bit,), variance=30.0), noisy((other, bit), variance=30.0)
    best = pooled(*tables)
    assert best.one(AGE) is None
    assert best.parts == {AGE: (bit, other)}
    found = best.part(bit)
    one, two = tables[0].counts, tables[1].counts.sum(axis=0)
    mean = (2 * one + two) / 3
    assert found.counts == pytest.approx(mean + (ROWS - mean.sum()) / 2)
    assert found.estimate.variances == pytest.approx(30 * 2 / 3 / 2)


def test_a_system_that_is_too_large_leaves_out_what_tells_something_else(monkeypatch):
    level = DERIVED.levels(AGE)[1]
    tables = noisy((AGE, STAY)), noisy((AGE,)), noisy((level, STAY))
    monkeypatch.setattr(pooled_estimates, "MOST_UNKNOWNS", 1)
    agrees(tables[:2], pooled(*tables).of(AGE, STAY), (AGE, STAY), (AGE, STAY))
    coarse = pooled(*tables[1:]).of(AGE, STAY)
    groups = tables[2].counts
    assert coarse.groups == ((level,), (STAY,))
    assert coarse.counts == pytest.approx(groups + (ROWS - groups.sum()) / groups.size)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(15)])
def test_error_bars_hold_the_truth(scale):
    law, generator = NoiseLaw(LAPLACE, scale), np.random.default_rng(5)
    truth = generator.integers(0, 60, [SCHEMA.domain[a] for a in (AGE, WARD)])
    kept, all_bars = 0, 0
    for _ in range(60):
        tables = []
        for axes in ((0,), (0, 1), (1,), (0, 1)):
            true = truth.sum(axis=tuple({0, 1} - set(axes)))
            noise = _laplace(generator, float(scale), true.shape)
            tables.append(
                NoisyTable(
                    tuple((AGE, WARD)[i] for i in axes), true + noise, law, law.share_variance(1), int(truth.sum())
                )
            )
        best = pooled(*tables)
        for found, true in ((best.one(AGE), truth.sum(axis=1)), (best.of(AGE, WARD), truth)):
            inside = np.abs(found.counts - true) <= found.half_widths + 1e-6
            kept, all_bars = kept + int(inside.sum()), all_bars + inside.size
    assert kept / all_bars >= 0.93


def _laplace(generator, scale, shape):
    """Discrete: the difference of two geometric variables."""
    chance = 1 - math.exp(-1 / scale)
    return generator.geometric(chance, shape) - generator.geometric(chance, shape)
