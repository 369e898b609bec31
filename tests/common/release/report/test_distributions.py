"""Distributions of a report: shares with their error bars beside those of synthetic rows."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.release.report.distributions import distributions
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 80}, "bins": 5},
    {"name": "ward", "type": "string", "categories": ["north", "south", "west"]},
    {"name": "smoker", "type": "boolean"},
]
SCHEMA = parse_schema({"fields": FIELDS}, "s")
AGE, WARD, SMOKER = range(3)
TWO = Fraction(2)


def noisy(attributes, scale=5, rows=1000, seed=0) -> NoisyTable:
    shape = [SCHEMA.derived.domain[a] for a in attributes]
    counts = np.random.default_rng(seed).integers(-20, 200, shape)
    return NoisyTable(tuple(attributes), counts, NoiseLaw(LAPLACE, Fraction(scale)), 4.0 * scale**2, rows)


def pooled(*tables) -> PooledEstimates:
    return PooledEstimates(tables, SCHEMA.derived, TWO)


def synthetic(rows=500) -> CodedTable:
    generator = np.random.default_rng(3)
    return CodedTable(SCHEMA, tuple(generator.integers(0, size, rows) for size in SCHEMA.domain))


def test_distributions_have_every_share_with_its_error_bar_and_the_synthetic_one():
    table, rows = noisy((AGE, WARD), scale=16), synthetic(60)
    age, ward, smoker = distributions(pooled(table), rows)
    assert [s.label for s in ward.whole.shares] == ["north", "south", "west"]
    sums = table.counts.sum(axis=0)
    assert [s.noisy for s in ward.whole.shares] == pytest.approx((sums + (1000 - sums.sum()) / 3) / 1000)
    # The number of rows is known: a fifth of what moves five shares does not.
    one = half_width(table.law, TWO, 3) * (4 / 5) ** 0.5
    assert [s.half_width for s in age.whole.shares] == pytest.approx([one / 1000] * 5, abs=2e-3)
    by_hand = [(rows.columns[AGE] == code).mean() for code in range(5)]
    assert [s.synthetic for s in age.whole.shares] == pytest.approx(by_hand)
    assert smoker.whole.margin is None
    assert all(s.noisy is None for s in smoker.whole.shares)
    by_chance = [1.96 * (s.synthetic * (1 - s.synthetic) / 60) ** 0.5 for s in age.whole.shares]
    far = [
        abs(s.noisy - s.synthetic) > (s.half_width**2 + d**2) ** 0.5
        for s, d in zip(age.whole.shares, by_chance, strict=True)
    ]
    assert age.whole.apart == sum(far)
    assert 0 < sum(far) < 5
    bounds = [abs(s.noisy - s.synthetic) + s.half_width for s in age.whole.shares]
    assert age.whole.off == pytest.approx(max(bounds))
    assert smoker.whole.off is None
    first = age.whole.together([0, 1], "first")
    assert first.noisy == pytest.approx(sum(s.noisy for s in age.whole.shares[:2]))
    assert first.half_width == pytest.approx(half_width(table.law, TWO, 6) * (3 / 5) ** 0.5 / 1000, rel=0.02)


def test_what_was_measured_of_an_attribute_in_its_place_is_shown_by_name():
    bit, level = SCHEMA.derived.bits(AGE)[0], SCHEMA.derived.levels(AGE)[1]
    age = distributions(pooled(noisy((bit,)), noisy((level,))), synthetic())[AGE]
    assert [name for name, _ in age.parts] == ["age:bit0", "age:level1"]
    labels = [share.label for share in age.parts[1][1].shares]
    assert labels[0] == "0: [0, 16), [16, 32)"
    assert age.parts[0][1].shares[0].synthetic == pytest.approx((synthetic().columns[AGE] < 4).mean())


def test_shares_are_of_the_rows_that_are_there():
    schema = parse_schema({"absentRows": True, "fields": FIELDS[1:]}, "s")
    counts = np.array([300, 100, 200, 400])
    table = NoisyTable((0,), counts, NoiseLaw(LAPLACE, Fraction(3)), 18.0, 1000)
    rows = CodedTable(schema, (np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1])))
    ward = distributions(PooledEstimates([table], schema.derived, Fraction(1)), rows)[0].whole
    assert [s.label for s in ward.shares] == ["north", "south", "west"]
    assert [s.noisy for s in ward.shares] == pytest.approx([0.5, 1 / 6, 1 / 3])
    assert ward.absent == 400
    assert ward.half_width == math.ceil(half_width(table.law, Fraction(1)) * (3 / 4) ** 0.5) / 600


def test_a_distribution_is_below_the_noise_floor_when_its_error_bar_is_wider_than_the_average_share():
    assert distributions(pooled(noisy((WARD,), scale=300)), synthetic())[WARD].whole.below_noise_floor
    assert not distributions(pooled(noisy((WARD,), scale=5)), synthetic())[WARD].whole.below_noise_floor
