"""The rare ones of many codes are fitted together, and nothing that a table tells clearly is lost by it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.synthesis.inference import pooled_codes
from privity.common.synthesis.inference.estimation import Estimate
from privity.common.synthesis.inference.maximum_likelihood import SINGLE_RIDGE, fit_model
from privity.common.synthesis.inference.pooled_codes import WIDE, Pools, pooled

SIZE = WIDE + 44
GROUPS = 30
ROWS = 6_000


def schema(size=SIZE, taxonomy=True):
    codes = [f"c{place:04d}" for place in range(size)]
    groups = {f"g{group}": codes[group::GROUPS] for group in range(GROUPS)}
    field = {"name": "code", "type": "string", "categories": codes, "missingValues": [""]}
    if taxonomy:
        field["taxonomy"] = groups
    kind = {"name": "kind", "type": "string", "categories": ["x", "y", "z"]}
    return parse_schema({"fields": [field, kind]}, "schema")


def truth(seed=5):
    """Counts of both attributes: codes as Zipf has them, each with a law of its own for the other attribute."""
    generator = np.random.default_rng(seed)
    rows = ROWS / (1 + np.arange(SIZE + 1.0))
    law = generator.dirichlet(np.ones(3), SIZE + 1)
    return rows[:, None] * law


def noisy_table(attributes, counts, scale):
    law = NoiseLaw(LAPLACE, Fraction(scale))
    return NoisyTable(attributes, np.rint(counts).astype(np.int64), law, float(scale) ** 2, ROWS)


def tables_of(counts, scale, seed=6):
    generator = np.random.default_rng(seed)

    def noisy(attributes, exact):
        return noisy_table(attributes, exact + generator.normal(0, scale, exact.shape), scale)

    return [noisy((0,), counts.sum(axis=1)), noisy((1,), counts.sum(axis=0)), noisy((0, 1), counts)]


def distance(model, counts):
    return 0.5 * np.abs(model.pairs[0, 1] - counts / counts.sum()).sum()


@pytest.mark.parametrize("taxonomy", [True, False])
def test_a_fit_with_pools_is_as_near_to_the_truth_as_one_of_all_codes(monkeypatch, taxonomy):
    counts = truth()
    rows = round(counts.sum())
    tables = tables_of(counts, 60)
    near = distance(fit_model(tables, schema(taxonomy=taxonomy), rows).model, counts)
    monkeypatch.setattr(pooled_codes, "WIDE", SIZE + 1)
    assert near <= distance(fit_model(tables, schema(taxonomy=taxonomy), rows).model, counts)


def test_where_noise_is_small_every_code_is_told_apart_and_the_fit_is_the_same(monkeypatch):
    counts = truth()
    rows = round(counts.sum())
    tables = tables_of(counts, 1)
    found = fit_model(tables, schema(), rows).model.pairs[0, 1]
    monkeypatch.setattr(pooled_codes, "WIDE", SIZE + 1)
    assert np.array_equal(found, fit_model(tables, schema(), rows).model.pairs[0, 1])


def test_the_1_way_table_of_a_pooled_attribute_is_that_of_a_fit_without_pools(monkeypatch):
    counts = truth()
    rows = round(counts.sum())
    single = tables_of(counts, 60)
    # A table below the noise floor: nothing but the 1-way tables counts.
    nothing = np.random.default_rng(8).normal(0, 1e6, counts.shape)
    tables = [*single[:2], noisy_table((0, 1), nothing, 1e7)]
    found = fit_model(tables, schema(), rows).model.single[0]
    monkeypatch.setattr(pooled_codes, "WIDE", SIZE + 1)
    assert np.abs(found - fit_model(tables, schema(), rows).model.single[0]).max() < 1e-4


def test_a_fit_goes_on_from_another_one_with_other_pools():
    counts = truth()
    rows = round(counts.sum())
    first = fit_model(tables_of(counts, 200), schema(), rows, steps=20)
    assert all(part.shape[0] in (SIZE + 1, 3) for part in first.potentials.values())
    tables = tables_of(counts, 20)
    again, anew = (fit_model(tables, schema(), rows, start).model for start in (first, None))
    assert np.abs(again.pairs[0, 1] - anew.pairs[0, 1]).max() < 1e-4


@given(seed=st.integers(0, 999), scale=st.sampled_from([1.0, 30.0, 1000.0, 1e6]), derived=st.booleans())
def test_pools_hold_rare_codes_only_and_reach_over_no_group_that_was_measured(seed, scale, derived):
    declared = schema()
    counts = np.random.default_rng(seed).dirichlet(np.full(SIZE + 1, 0.2)) * ROWS
    level = declared.derived.levels(0)[1]
    key = (1, level) if derived else (0, 1)
    pools = pooled({key: Estimate(np.zeros((1, 1)), scale**2)}, {0: counts}, declared, SINGLE_RIDGE).get(0)
    if pools is None:
        assert (counts < scale).sum() <= 1 or scale == 1.0
        return
    members = pools.members[pools.of_code]
    assert (counts[members > 1] < scale).all()
    assert members[-1] == 1, "missing values stay apart"
    groups = declared.derived.derive(level, np.arange(SIZE + 1))
    within = [len(set(groups[pools.of_code == pool])) == 1 for pool in range(len(pools.members))]
    if derived:
        assert all(within)
    # A pool over several groups gathers those that are rare even together.
    assert len(pools.members) <= SIZE + 1
    assert np.isclose(pools.shares.sum(), len(pools.members))
    assert np.isclose(pools.counts.sum(), counts.sum(), rtol=1e-6)


def test_a_pool_is_divided_as_its_codes_counts_say():
    pools = Pools(np.array([0, 1, 1, 2, 2]), np.array([3.0, 1.0, 3.0, 0.0, 0.0]))
    table = np.array([[1.0, 2.0], [4.0, 8.0], [6.0, 0.0]])
    expected = [[1.0, 2.0], [1.0, 2.0], [3.0, 6.0], [3.0, 0.0], [3.0, 0.0]]
    assert pools.divided(table, 0).tolist() == expected
    assert pools.divided(table.T, 1).T.tolist() == expected
