"""Fits of all noisy tables at once: the gradient, the optimum by brute force, warm starts, what drowned tables say."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.synthesis.inference.estimation import collect, one_way_marginals
from privity.common.synthesis.inference.graphical_model import Propagation, tree_over
from privity.common.synthesis.inference.groups import condense
from privity.common.synthesis.inference.maximum_likelihood import STEPS, _Problem, _terms, fit_model

ROWS = 2000
DOMAIN = (4, 3, 2, 3)
TO_THE_END = 3000
"""Steps within which L-BFGS has converged on tables of this size."""

LOOP = [(0, 1), (1, 2), (2, 3), (0, 3)]
SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "x0", "type": "integer", "edges": [0, 1, 2, 3, 4]},
            *(
                {"name": f"x{a}", "type": "string", "categories": [str(code) for code in range(size)]}
                for a, size in enumerate(DOMAIN)
                if a
            ),
        ]
    },
    "s",
)
HALVES = SCHEMA.derived.levels(0)[1]
"""The bins of x0 by twos."""


def joint(seed=0):
    """A table of counts over all attributes, each leaning on the one before."""
    generator = np.random.default_rng(seed)
    rows = np.zeros((4, ROWS), dtype=int)
    for a, size in enumerate(DOMAIN):
        fresh = generator.integers(0, size, ROWS)
        rows[a] = np.where(generator.random(ROWS) < 0.6, rows[a - 1] % size, fresh) if a else fresh
    counts = np.zeros(DOMAIN)
    np.add.at(counts, tuple(rows), 1)
    return counts


def measured(attributes, counts, variance=4.0, seed=0):
    """The table of derived or plain attributes, as it would be opened with normal noise."""
    derived = SCHEMA.derived
    bases = [derived.base[a] for a in attributes]
    shape = [derived.domain[a] for a in attributes]
    codes = [
        derived.derive(a, np.arange(DOMAIN[b])) if a != b else np.arange(DOMAIN[b])
        for a, b in zip(attributes, bases, strict=True)
    ]
    kept = counts.sum(axis=tuple(a for a in range(4) if a not in bases)).transpose(
        [sorted(bases).index(b) for b in bases]
    )
    table = np.zeros(shape)
    np.add.at(table, np.ix_(*codes), kept)
    noise = np.random.default_rng([seed, *attributes]).normal(0, np.sqrt(variance), shape)
    return NoisyTable(
        tuple(attributes), np.rint(table + noise).astype(np.int64), NoiseLaw(LAPLACE, Fraction(2)), variance, ROWS
    )


def all_measured(wide, variance=4.0, seed=0):
    counts = joint()
    return [measured(t, counts, variance, seed) for t in [*((a,) for a in range(4)), *wide]]


def by_brute_force(fit, terms):
    """The joint distribution that the potentials make, by adding up over every cell there is."""
    logs = np.zeros(DOMAIN)
    for term in terms:
        shape = [DOMAIN[a] if a in term.attributes else 1 for a in range(4)]
        transposed = fit.potentials[term.key].transpose(range(len(term.key)))
        logs += term.expand(transposed).reshape(shape)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def onto(table, attributes):
    return table.sum(axis=tuple(a for a in range(4) if a not in attributes))


def terms_of(tables):
    estimates = collect(tables)
    single = one_way_marginals(estimates, range(len(SCHEMA.names)), ROWS, SCHEMA.ordered_codes)
    return _terms(estimates, single, SCHEMA, ROWS, {})


@pytest.mark.parametrize("wide", [LOOP, [(0, 1, 2), (2, 3)], [(1, HALVES), (HALVES, 2), (0, 3)]])
def test_the_gradient_is_that_of_the_objective(wide):
    tables = all_measured(wide)
    terms = terms_of(tables)
    problem = _Problem(terms, Propagation(tree_over([t.attributes for t in terms], DOMAIN), DOMAIN), ROWS)
    generator = np.random.default_rng(3)
    size = sum(term.counts.size for term in terms)
    point = generator.normal(0, 3, size)
    _, gradient = problem._value(point)
    for _ in range(5):
        way = generator.normal(size=size)
        step = 1e-4
        slope = (problem._value(point + step * way)[0] - problem._value(point - step * way)[0]) / (2 * step)
        assert slope == pytest.approx(gradient @ way, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("wide", [LOOP, [(0, 1), (0, 2), (0, 3)], [(1, HALVES), (HALVES, 2), (0, 3)], [(3, HALVES, 1)]])
def test_the_model_is_what_its_potentials_make_and_meets_the_condition_of_the_optimum(wide):
    """n p = y - r l in every cell, p by the full joint table; tables of generalised attributes among them."""
    tables = all_measured(wide)
    fit = fit_model(tables, SCHEMA, ROWS, steps=TO_THE_END)
    terms = terms_of(tables)
    asked = {tuple(sorted(t.attributes)) for t in tables}
    held = {pair for key in asked if len(key) > 2 for pair in combinations(key, 2)}
    assert {term.key for term in terms} == asked | held
    found = by_brute_force(fit, terms)
    for pair in combinations(range(4), 2):
        np.testing.assert_allclose(fit.model.pairs[pair], onto(found, pair), atol=1e-9)
    for term in terms:
        expected = ROWS * term.condense(onto(found, term.attributes))
        np.testing.assert_allclose(expected, term.counts - term.ridge * fit.potentials[term.key], atol=5e-3)


def test_one_clique_over_everything_with_hardly_any_noise_gives_the_table_itself():
    counts = joint()
    tables = [measured(t, counts, 1e-9) for t in [(0,), (1,), (2,), (3,), (0, 1, 2, 3)]]
    model = fit_model(tables, SCHEMA, ROWS).model
    assert model.cells == np.prod(DOMAIN)
    (clique,) = model.release(SCHEMA, ROWS).cliques
    # x0 is smoothed where that is of use, and a code without rows keeps a part of one.
    np.testing.assert_allclose(clique.weights, counts, atol=1.5)


def test_a_warm_start_ends_at_the_same_optimum():
    few, more = all_measured(LOOP[:2]), all_measured(LOOP)
    cold = fit_model(more, SCHEMA, ROWS, steps=TO_THE_END)
    warm = fit_model(more, SCHEMA, ROWS, start=fit_model(few, SCHEMA, ROWS), steps=TO_THE_END)
    for pair in combinations(range(4), 2):
        np.testing.assert_allclose(warm.model.pairs[pair], cold.model.pairs[pair], atol=1e-5)
    # And from the optimum itself nothing is left to do.
    again = fit_model(more, SCHEMA, ROWS, start=cold, steps=1)
    np.testing.assert_allclose(again.model.pairs[0, 1], cold.model.pairs[0, 1], atol=1e-5)


@pytest.mark.parametrize("wide", [LOOP, [(0, 1, 2), (2, 3)]])
def test_what_the_usual_steps_leave_is_less_than_half_a_row_in_any_cell(wide):
    """They may end before the optimum, in directions that the objective hardly tells apart."""
    tables = all_measured(wide)
    fit = fit_model(tables, SCHEMA, ROWS)
    end = fit_model(tables, SCHEMA, ROWS, steps=TO_THE_END)
    for pair in combinations(range(4), 2):
        np.testing.assert_allclose(ROWS * fit.model.pairs[pair], ROWS * end.model.pairs[pair], atol=0.5)


def test_the_same_tables_give_the_same_bits():
    """A run taken up again must ask what it asked before."""
    one, other = (fit_model(all_measured(LOOP), SCHEMA, ROWS) for _ in range(2))
    assert all((one.potentials[key] == other.potentials[key]).all() for key in one.potentials)


@pytest.mark.parametrize("wide", [(0, 1), (2, HALVES), (0, 1, 3)])
def test_the_margins_of_a_wide_table_are_those_of_the_one_way_tables_before_the_fit(wide):
    counts = joint()
    tables = [*(measured((a,), counts) for a in range(4)), measured(wide, counts, 900.0)]
    terms = terms_of(tables)
    single, term = terms[:4], next(t for t in terms if t.key == tuple(sorted(wide)))
    for axis, (a, groups) in enumerate(zip(term.attributes, term.groups, strict=True)):
        others = tuple(other for other in range(term.counts.ndim) if other != axis)
        np.testing.assert_allclose(term.counts.sum(axis=others), condense(single[a].counts, 0, groups))
    # What is moved is no association: residuals stay as they were.
    opened = collect(tables)[term.key].counts.transpose(np.argsort([SCHEMA.derived.base[a] for a in term.key]))
    apart = term.counts - opened
    first, last = (np.take(apart, place, axis=0) for place in (0, -1))
    np.testing.assert_allclose(first - last, (first - last).flat[0] * np.ones_like(first))


def test_precise_tables_that_disagree_a_little_are_fitted_within_the_usual_steps():
    """Their ridges are next to nothing: what margins differ by would take huge potentials to tell."""
    counts = joint()
    tables = [measured((a,), counts, 4.0) for a in range(4)]
    tables += [measured(pair, counts, 1.0) for pair in combinations(range(4), 2)]
    usual, end = (fit_model(tables, SCHEMA, ROWS, steps=steps).model for steps in (STEPS, TO_THE_END))
    for pair in combinations(range(4), 2):
        assert np.abs(ROWS * (usual.pairs[pair] - end.pairs[pair])).sum() / 2 < 1


def test_a_table_below_the_noise_floor_says_nothing():
    """Its residuals are below those of its noise, whatever they are."""
    counts = joint()
    clear = [measured((a,), counts, 1.0) for a in range(4)]
    alone = fit_model(clear, SCHEMA, ROWS).model
    drowned = measured((0, 1), counts, 1.0)
    loud = NoisyTable(drowned.attributes, drowned.counts, drowned.law, 1e6, ROWS)
    np.testing.assert_allclose(fit_model([*clear, loud], SCHEMA, ROWS).model.pairs[0, 1], alone.pairs[0, 1], atol=1e-4)
    # The same counts with little noise do say something.
    assert np.abs(fit_model([*clear, drowned], SCHEMA, ROWS).model.pairs[0, 1] - alone.pairs[0, 1]).max() > 0.02


def test_the_axes_of_a_table_may_stand_in_any_order():
    counts = joint()
    single = [measured((a,), counts) for a in range(4)]
    straight = measured((0, 1), counts)
    turned = NoisyTable((1, 0), straight.counts.T, straight.law, straight.variance, ROWS)
    one, other = (fit_model([*single, table], SCHEMA, ROWS).model for table in (straight, turned))
    assert (one.pairs[0, 1] == other.pairs[0, 1]).all()


def test_negative_counts_and_codes_without_rows_give_probabilities():
    tables = all_measured([(0, 1), (1, 2)])
    broken = []
    for table in tables:
        counts = table.counts.copy()
        counts[..., 0] = -40
        broken.append(NoisyTable(table.attributes, counts, table.law, table.variance, ROWS))
    model = fit_model(broken, SCHEMA, ROWS).model
    for table in (*model.single, *model.pairs.values()):
        assert np.isfinite(table).all()
        assert (table >= 0).all()
        assert table.sum() == pytest.approx(1)


def test_a_wide_table_below_the_noise_floor_still_tells_of_the_clear_pairs_that_it_holds():
    """One ridge for all its cells would take the pairs away with the cells."""
    counts = joint()
    wide = measured((0, 1, 2, 3), counts, 100.0)
    model = fit_model([*(measured((a,), counts, 4.0) for a in range(4)), wide], SCHEMA, ROWS).model
    independent = np.multiply.outer(onto(counts, (0,)), onto(counts, (1,))) / ROWS
    far = np.abs(independent - onto(counts, (0, 1))).sum()
    assert np.abs(ROWS * model.pairs[0, 1] - onto(counts, (0, 1))).sum() < far / 4
