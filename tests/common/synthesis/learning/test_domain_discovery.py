"""Domains from noisy marginals: near what the rows hold, whatever they hold, and never beyond what noise allows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, code_type, decode
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.run_budget import PureBudget, RhoBudget, RunBudget
from privity.common.protocol.session import complete
from privity.common.release.shortcomings import beyond_note
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.learning import domain_discovery
from privity.common.synthesis.learning.domain_discovery import (
    GAP,
    POINT,
    check_noise,
    discover,
    grid_tables,
    grids_of,
    stand_in,
    undiscovered,
    with_domains,
)
from privity.common.synthesis.learning.grid_histogram import grid_of
from privity.party.sources.rows import InMemory
from tests.harness.long import thinned

SURE = PureBudget(Fraction(10**6))
WITH_DELTA = RhoBudget(Fraction(1), Fraction(1, 10**9))


def open_schema(*fields: dict) -> Schema:
    named = [{"name": f"x{place}", "domain": "discover", **one} for place, one in enumerate(fields)]
    return parse_schema({"fields": named}, "s")


def coded(schema: Schema, *columns) -> CodedTable:
    codes = []
    for attribute, column in zip(schema.attributes, columns, strict=True):
        found = [attribute.code_of_nothing() if value is None else attribute.code_of(str(value)) for value in column]
        assert None not in found
        codes.append(np.array(found, dtype=code_type(attribute.size)))
    return CodedTable(schema, tuple(codes))


def discovered(schema: Schema, columns, budget: RunBudget = SURE, parties: int = 1) -> Schema:
    table = coded(schema, *columns)
    tables = [table.take(np.arange(k, table.rows, parties)) for k in range(parties)]
    session = InProcessBackend(tables, budget).session()
    return complete(discover(session, "domains", budget.whole)).schema


def drawn(schema: Schema, columns) -> np.ndarray:
    """The first column coded by the schema and drawn again: what a perfect model would give."""
    table = coded(schema, *columns)
    return decode(table, np.random.default_rng(0)).iloc[:, 0].to_numpy(dtype=float)


INTEGER = {"type": "integer"}
GENERATOR = np.random.default_rng(5)
SHAPES = {
    "ages": GENERATOR.binomial(90, 0.45, 4000),
    "money": np.where(GENERATOR.random(4000) < 0.8, 0, np.exp(GENERATOR.normal(9, 1.5, 4000)).astype(int)),
    "both signs": GENERATOR.normal(0, 5000, 4000).astype(int),
    "a mark far off": np.where(GENERATOR.random(4000) < 0.1, 999_999, GENERATOR.integers(0, 50, 4000)),
    "all distinct": GENERATOR.permutation(4000) + 100_000,
}


@pytest.mark.parametrize("name", SHAPES)
def test_with_hardly_any_noise_values_are_those_of_the_rows(name):
    values = SHAPES[name]
    schema = open_schema(INTEGER)
    found = discovered(schema, [values])
    (attribute,) = found.attributes
    assert not attribute.discover
    again = drawn(found, [values])
    assert ks_2samp(values, again).statistic < 0.02
    for point in np.unique(values):
        share = float((values == point).mean())
        if share >= POINT and abs(point) < 10_000:
            assert (again == point).mean() == pytest.approx(share, abs=GAP / 2), "it has a bin, nearly of its own"
    assert attribute.edges[0] >= values.min() - abs(values.min()) * 0.01
    assert attribute.edges[-1] <= values.max() + 1 + abs(values.max()) * 0.01


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "parties"), thinned(product(["ages", "money", "both signs", "a mark far off"], [1, 3]), 3)
)
def test_under_noise_values_are_near_those_of_the_rows(name, parties):
    values = np.tile(SHAPES[name], 5)
    found = discovered(open_schema(INTEGER), [values], WITH_DELTA, parties)
    again = drawn(found, [values])
    assert ks_2samp(values, again).statistic < 0.05
    assert abs((again == 0).mean() - (values == 0).mean()) < 0.01


def under_noise(values, sd: float, runs: int, attributes: int = 1, field: dict = INTEGER) -> list[Attribute]:
    """What as many discoveries find under Laplace noise of three parties, drawn from a seed."""
    schema, generator = open_schema(field), np.random.default_rng(11)
    table = coded(schema, values)
    counted = [InMemory(table).count([(level,)]) for level in schema.derived.levels(0)]
    # Any two of three shares are a whole variable.
    variables, scale = 1.5, sd / math.sqrt(3)
    law = NoiseLaw(LAPLACE, Fraction(scale).limit_denominator(1000))
    found = []
    for _ in range(runs):
        noisy = [
            counts + np.rint(np.subtract(*generator.gamma(variables, scale, (2, len(counts))))).astype(np.int64)
            for counts in counted
        ]
        tables = [
            NoisyTable((level,), counts, law, sd**2, table.rows)
            for level, counts in zip(schema.derived.levels(0), noisy, strict=True)
        ]
        grid = grid_of(schema.attributes[0], tables[::-1], attributes)
        found += with_domains(schema, {0: grid})
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("part", [0.0045, 0.02])
def test_noise_in_a_far_cell_is_not_taken_for_rows(part):
    values = np.minimum((np.random.default_rng(4).pareto(1.6, 10_000) * 1.9).astype(int), 77)
    ends = np.array([attribute.edges[-1] for attribute in under_noise(values, part * 10_000, 100)], dtype=float)
    # A run in five hundred at the most goes wrong; of a hundred runs three do so with probability 0.001.
    assert (ends > 10 * 77).sum() <= 2
    assert np.median(ends) < 2 * 77


@pytest.mark.long
@pytest.mark.statistical
def test_values_of_many_rows_far_out_stay():
    generator = np.random.default_rng(6)
    values = np.where(generator.random(10_000) < 0.1, 999_999, generator.integers(0, 50, 10_000))
    found = under_noise(values, 0.0045 * 10_000, 30)
    assert all(attribute.edges[0] <= 0 for attribute in found)
    assert all(999_999 < attribute.edges[-1] <= 10**7 for attribute in found)
    both = generator.normal(0, 5000, 10_000).astype(int)
    for attribute in under_noise(both, 0.0257 * 10_000, 50, attributes=6):
        assert max(-attribute.edges[0], attribute.edges[-1]) < 10 * np.abs(both).max()


def test_decimals_and_missing_values_stay_what_they_are():
    generator = np.random.default_rng(1)
    prices = [None if generator.random() < 0.3 else f"{generator.gamma(2, 20):.2f}" for _ in range(3000)]
    number = {"type": "number", "decimals": 2, "missingValues": [""]}
    found = discovered(open_schema(number), [prices])
    table = coded(found, prices)
    (attribute,) = found.attributes
    assert (table.columns[0] == attribute.missing_code).sum() == prices.count(None)
    again = decode(table, generator).iloc[:, 0]
    texts = [str(value) for value in again if value != ""]
    assert all(len(text.partition(".")[2]) <= 2 for text in texts)
    real = np.array([float(price) for price in prices if price])
    assert ks_2samp(real, np.array(texts, dtype=float)).statistic < 0.03


@pytest.mark.parametrize(
    "values",
    [
        [2014] * 500,
        [None] * 499 + [3],
        *(
            pytest.param(values, marks=pytest.mark.long)
            for values in [
                [0] * 500,
                [999_999_999] * 500,
                [-99_999] * 500,
                [10**12] * 500,
                [-(10**12)] * 500,
                [None] * 500,
            ]
        ),
    ],
)
def test_columns_of_one_value_or_of_none_are_no_trouble(values):
    schema = open_schema({**INTEGER, "missingValues": [""]})
    for budget in (SURE, WITH_DELTA):
        (attribute,) = discovered(schema, [values], budget).attributes
        assert attribute.values >= 2
        parse_schema(Schema("s", (attribute,)).table_schema(), "s")
    number = open_schema({"type": "number", "missingValues": [""]})
    (attribute,) = discovered(number, [values]).attributes
    parse_schema(Schema("s", (attribute,)).table_schema(), "s")
    if values[0] == 2014:
        assert set(drawn(discovered(schema, [values]), [values])) == {2014}


@given(st.lists(st.integers(-(10**13), 10**13) | st.integers(-50, 50), min_size=1, max_size=60), st.integers(0, 10))
def test_whatever_the_rows_hold_a_schema_follows(values, times):
    schema = open_schema(INTEGER)
    budget = PureBudget(Fraction(1, 10) * 10**times)
    table = coded(schema, values * 20)
    session = InProcessBackend([table], budget).session()
    tables = complete(session.measure("domains", grid_tables(schema), budget.whole))
    found = replace(schema, attributes=tuple(with_domains(schema, grids_of(schema, tables))))
    again = parse_schema(found.table_schema(), "s")
    assert again == found
    assert undiscovered(again) == []
    assert found.attributes[0].values <= stand_in(schema).attributes[0].values
    assert coded(again, values).rows == len(values)


def test_the_tables_alone_decide():
    """Post-processing: the same noisy tables give the same schema, and no row is looked at again."""
    schema = open_schema(INTEGER, INTEGER)
    columns = SHAPES["ages"], SHAPES["money"]
    session = InProcessBackend([coded(schema, *columns)], WITH_DELTA).session()
    tables = complete(session.measure("domains", grid_tables(schema), WITH_DELTA.whole))
    assert with_domains(schema, grids_of(schema, tables)) == with_domains(
        schema, grids_of(schema, list(reversed(tables)))
    )


def test_a_domain_below_the_noise_is_refused_before_anything_is_spent():
    schema = open_schema(*[INTEGER] * 20)
    few = PureBudget(Fraction(1, 10))
    session = InProcessBackend([coded(schema, *[range(300)] * 20)], few).session()
    with pytest.raises(PrivityError, match=r"the domain of x0, x1, .* would be below the noise") as refused:
        complete(discover(session, "domains", few.whole))
    assert session.record.costs == []
    assert "minimum and maximum" in refused.value.remedy


@pytest.mark.parametrize("budget", [PureBudget(Fraction(1, 10)), RhoBudget(Fraction(1, 10), Fraction(1, 10**6))])
@pytest.mark.parametrize("numbers", [1, 4, 20])
def test_the_epsilon_that_is_advised_is_enough_and_a_smaller_one_is_not(budget, numbers):
    schema = open_schema(*[INTEGER] * numbers)

    def check(epsilon: Fraction) -> None:
        asked = replace(budget, epsilon=epsilon)
        check_noise(planned_session(schema, {"a": 300}, 0, asked), asked.whole * Fraction(1, 5))

    with pytest.raises(PrivityError) as refused:
        check(budget.epsilon)
    advised = Fraction(refused.value.remedy.split("epsilon of ")[1].split(",")[0])
    check(advised)
    with pytest.raises(PrivityError):
        check(advised * Fraction(8, 10))


def test_a_number_with_declared_ends_is_not_lost_and_others_are_judged_by_themselves():
    ends = {"constraints": {"minimum": 0, "maximum": 120}}
    few = PureBudget(Fraction(1, 10))
    bounded, both = open_schema({**INTEGER, **ends}), open_schema({**INTEGER, **ends}, INTEGER)
    check_noise(planned_session(bounded, {"a": 300}, 0, few), few.whole)
    with pytest.raises(PrivityError, match="the domain of x1 would be below the noise"):
        check_noise(planned_session(both, {"a": 300}, 0, few), few.whole)


@pytest.mark.parametrize("limits", [(0, 1), (5, 7), (-1, 0)])
@pytest.mark.parametrize("kind", [{"type": "integer"}, {"type": "number", "decimals": 0}, {"type": "number"}])
def test_the_smallest_grids_are_no_trouble(limits, kind):
    low, high = limits
    bounds = {"constraints": {"minimum": low, "maximum": high}, "missingValues": [""]}
    schema = open_schema({**kind, **bounds})
    for values in ([low] * 300, [high] * 300, [low, high, None] * 100):
        found = discovered(schema, [values])
        assert parse_schema(found.table_schema(), "s") == found
        if None not in values and kind != {"type": "number"}:
            assert set(drawn(found, [values])) == set(values)


def test_declared_ends_are_the_outer_edges_and_nothing_is_drawn_where_nothing_was_measured():
    values = np.clip(np.random.default_rng(1).normal(45, 8, 4000), 20, 70).astype(int)
    schema = open_schema({**INTEGER, "constraints": {"minimum": 0, "maximum": 120}})
    found = discovered(schema, [values])
    (attribute,) = found.attributes
    assert attribute.point_edges[0] == 0
    assert attribute.point_edges[-1] - 1 == 120
    assert attribute.labels[0].endswith("and less")
    assert attribute.labels[attribute.values - 1].endswith("and more")
    again = drawn(found, [values])
    assert again.min() >= values.min() - 1
    assert again.max() <= values.max() + 1
    (strict,) = discovered(replace_field(schema, out_of_domain="refuse"), [values]).attributes
    assert strict.out_of_domain == "refuse"
    assert strict.labels[strict.values - 1].endswith("120]")


def test_one_declared_end_is_enough():
    (attribute,) = discovered(open_schema({**INTEGER, "constraints": {"minimum": 0}}), [SHAPES["money"]]).attributes
    assert attribute.edges[0] == 0
    assert attribute.edges[-1] < 10**9


def test_where_the_number_of_rows_is_not_public_the_share_beyond_is_not_determined():
    field = {"name": "x0", "domain": "discover", **INTEGER}
    schema = parse_schema({"fields": [field], "absentRows": True}, "s")
    found = discovered(schema, [SHAPES["ages"]])
    measured = found.attributes[0].measured
    assert measured is not None
    assert measured.beyond is None
    assert "not determined" in beyond_note(found.attributes)
    assert parse_schema(found.table_schema(), "s") == found


def replace_field(schema: Schema, **keys: Any) -> Schema:
    return replace(schema, attributes=tuple(replace(one, **keys) for one in schema.attributes))


def test_declared_domains_are_left_alone():
    age = {"name": "age", "type": "integer", "bins": 4, "constraints": {"minimum": 0, "maximum": 100}}
    schema = parse_schema({"fields": [age, {"name": "pay", "type": "integer", "domain": "discover"}]}, "s")
    found = discovered(schema, [range(100), range(100)])
    assert found.attributes[0] == schema.attributes[0]
    assert undiscovered(schema) == [1]
    assert undiscovered(stand_in(schema)) == []


def test_tails_have_cuts_of_their_own(monkeypatch):
    values = np.sort(np.exp(np.random.default_rng(2).normal(5, 1, 8000)).astype(int))
    (with_tails,) = discovered(open_schema(INTEGER), [values]).attributes
    monkeypatch.setattr(domain_discovery, "TAILS", ())
    (without,) = discovered(open_schema(INTEGER), [values]).attributes
    top = np.quantile(values, 0.94)
    assert sum(edge > top for edge in with_tails.edges) > sum(edge > top for edge in without.edges)
