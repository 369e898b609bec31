"""Pairs of a page: counted some at a time, none that is too large, and the strongest of too many."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privity.common.release.report import pair_strengths
from privity.common.release.report.noisy_association import Strength, strength
from privity.common.release.report.pair_strengths import Pair, pairs, shown
from privity.common.release.report.quality import Standing, standing
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates
from tests.harness.consortium import make_schema, make_table

SCHEMA = make_schema((3, 2, 4, 2, 3))


def found_in(table):
    return pairs(PooledEstimates([], table.schema.derived, Fraction(1)), table)


def test_pairs_counted_some_at_a_time_are_those_counted_at_once(monkeypatch):
    table = make_table(SCHEMA, 400, seed=1)
    at_once = found_in(table)
    monkeypatch.setattr(pair_strengths, "CELLS_AT_ONCE", 10)
    monkeypatch.setattr(pair_strengths, "TABLES_CELLS", 10)
    assert found_in(table) == at_once
    assert [(pair.a, pair.b) for pair in at_once] == [(a, b) for a in range(5) for b in range(a + 1, 5)]
    a, b = table.columns[0].astype(int), table.columns[2].astype(int)
    by_hand = [[int(((a == x) & (b == y)).sum()) for y in range(4)] for x in range(3)]
    assert at_once[1].synthetic == strength(np.array(by_hand), 400)


def test_a_page_has_the_strongest_pairs_in_the_order_of_the_schema(monkeypatch):
    found = found_in(make_table(SCHEMA, 400, seed=1))
    monkeypatch.setattr(pair_strengths, "MOST_SHOWN", 3)
    kept = shown(found)
    assert sorted(kept, key=lambda pair: pair.rank) == sorted(found, key=lambda pair: pair.rank)[:3]
    assert kept == [pair for pair in found if pair in kept]


def test_pairs_that_are_too_large_to_be_counted_are_left_out():
    table = make_table(make_schema((1100, 1000, 2)), 50, seed=1)
    assert [(pair.a, pair.b) for pair in found_in(table)] == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("measured", "synthetic", "stands"),
    [
        (Strength(0.40, 0.05, 0, 0.05), 0.45, Standing.KEPT),
        (Strength(0.40, 0.05, 0, 0.05), 0.55, Standing.DIFFERENT),
        (Strength(0.82, 0.83, 0, 0.3), 0.12, Standing.HIDDEN),
        (Strength(0.22, 0.22, 0, 0.1), 0.20, Standing.HIDDEN),
        (Strength(0.60, 0.15, 0, 0.1), 0.30, Standing.DIFFERENT),
        (Strength(0.02, 0.05, 0, 0.05), 0.03, Standing.INDEPENDENT),
        (Strength(0.02, 0.30, 0, 0.3), 0.03, Standing.HIDDEN),
        (Strength(0.02, 0.05, 0, 0.05), 0.40, Standing.DIFFERENT),
        (None, 0.40, Standing.UNMEASURED),
    ],
)
def test_how_a_pair_stands_goes_by_its_error_bar(measured: Strength | None, synthetic: float, stands: Standing) -> None:
    assert standing(Pair(0, 1, measured, None, Strength(synthetic, 0, 0, 0))) is stands
