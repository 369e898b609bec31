"""Distributions of a report: margins of noisy tables and their error bars, held against sums by hand."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.release.report.best_marginals import BestMargins
from privity.common.release.report.distributions import distributions

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


def best_of(*tables) -> BestMargins:
    return BestMargins([(f"phase {i}", t) for i, t in enumerate(tables)], SCHEMA.derived, TWO)


def test_a_margin_is_the_sum_over_the_other_axes_with_the_error_bar_of_that_sum():
    table = noisy((WARD, AGE, SMOKER))
    margin = best_of(table).one(AGE)
    assert margin.cells == 6
    by_hand = [sum(table.counts[w, a, s] for w, s in product(range(3), range(2))) for a in range(5)]
    assert margin.counts.tolist() == by_hand
    assert margin.variance == 6 * table.variance
    assert margin.half_width == half_width(table.law, TWO, 6)
    assert margin.half_width > half_width(table.law, TWO, 1)


def test_the_axes_of_a_pair_are_in_the_order_asked_for():
    table = noisy((SMOKER, WARD, AGE))
    best = best_of(table)
    by_hand = table.counts.sum(axis=1)
    assert (best.pair(SMOKER, AGE).counts == by_hand).all()
    assert (best.pair(AGE, SMOKER).counts == by_hand.T).all()


def test_the_margin_with_the_least_noise_is_taken_whatever_the_scale_of_the_table():
    wide, narrow = noisy((AGE, WARD), scale=5), noisy((AGE,), scale=8, seed=1)
    # 3 cells of variance 100 are noisier than one of 256.
    assert best_of(wide, narrow).one(AGE).table is narrow
    assert best_of(wide, noisy((AGE,), scale=9, seed=1)).one(AGE).table is wide


def test_a_table_over_all_rows_goes_before_a_clearer_one_over_some():
    partial, whole = noisy((AGE,), scale=1, rows=400), noisy((AGE,), scale=9)
    assert best_of(partial, whole).one(AGE).table is whole
    assert best_of(partial).one(AGE).table is partial


def test_all_bits_of_an_attribute_are_read_as_its_codes():
    derived = SCHEMA.derived
    for bits in (derived.bits(AGE), derived.gray(AGE)):
        table = noisy(bits[::-1])
        margin = best_of(table).one(AGE)
        by_hand = [
            table.counts[tuple(int(derived.derive(i, np.array([code]))[0]) for i in table.attributes)]
            for code in range(5)
        ]
        assert margin.counts.tolist() == by_hand
        assert margin.whole


def test_a_pair_measured_through_a_generalisation_says_so():
    level = SCHEMA.derived.levels(AGE)[1]
    best = best_of(noisy((WARD, level)))
    assert best.one(AGE) is None
    pair = best.pair(AGE, WARD)
    assert not pair.whole
    assert pair.groups == ((level,), (WARD,))
    assert best_of(noisy((WARD, level)), noisy((WARD, AGE), scale=50)).pair(AGE, WARD).whole


def synthetic(rows=500) -> CodedTable:
    generator = np.random.default_rng(3)
    return CodedTable(SCHEMA, tuple(generator.integers(0, size, rows) for size in SCHEMA.domain))


def test_distributions_have_every_share_with_its_error_bar_and_the_synthetic_one():
    table, rows = noisy((AGE, WARD), scale=16), synthetic(60)
    age, ward, smoker = distributions(best_of(table), rows)
    assert [s.label for s in ward.whole.shares] == ["north", "south", "west"]
    assert [s.noisy for s in ward.whole.shares] == pytest.approx(table.counts.sum(axis=0) / 1000)
    assert {s.half_width for s in age.whole.shares} == {half_width(table.law, TWO, 3) / 1000}
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
    assert first.noisy == pytest.approx(table.counts.sum(axis=1)[:2].sum() / 1000)
    assert first.half_width == half_width(table.law, TWO, 6) / 1000


def test_what_was_measured_of_an_attribute_in_its_place_is_shown_by_name():
    bit, level = SCHEMA.derived.bits(AGE)[0], SCHEMA.derived.levels(AGE)[1]
    age = distributions(best_of(noisy((bit,)), noisy((level,))), synthetic())[AGE]
    assert [name for name, _ in age.parts] == ["age:bit0", "age:level1"]
    labels = [share.label for share in age.parts[1][1].shares]
    assert labels[0] == "0: [0, 16), [16, 32)"
    assert age.parts[0][1].shares[0].synthetic == pytest.approx((synthetic().columns[AGE] < 4).mean())


def test_shares_are_of_the_rows_that_are_there():
    schema = parse_schema({"absentRows": True, "fields": FIELDS[1:]}, "s")
    counts = np.array([300, 100, 200, 400])
    table = NoisyTable((0,), counts, NoiseLaw(LAPLACE, Fraction(3)), 18.0, 1000)
    rows = CodedTable(schema, (np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1])))
    ward = distributions(BestMargins([("p", table)], schema.derived, Fraction(1)), rows)[0].whole
    assert [s.label for s in ward.shares] == ["north", "south", "west"]
    assert [s.noisy for s in ward.shares] == pytest.approx([0.5, 1 / 6, 1 / 3])
    assert ward.absent == 400
    assert ward.half_width == half_width(table.law, Fraction(1)) / 600


def test_a_distribution_is_below_the_noise_floor_when_its_error_bar_is_wider_than_the_average_share():
    assert distributions(best_of(noisy((WARD,), scale=300)), synthetic())[WARD].whole.below_noise_floor
    assert not distributions(best_of(noisy((WARD,), scale=5)), synthetic())[WARD].whole.below_noise_floor
