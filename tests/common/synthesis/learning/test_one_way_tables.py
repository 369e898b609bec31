"""The 1-way tables of a run: their weights, their price, and what they gain."""

import asyncio
from fractions import Fraction

import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget
from privity.common.synthesis.learning.one_way_tables import WEIGHTS, measure_single, single_weights

WIDE = (2, 3, 20, 100, 7, 40, 11, 5, 60, 30, 900)


@pytest.mark.parametrize("pure", [True, False])
def test_wide_tables_weigh_more_and_few_weights_are_used(pure):
    weights = single_weights(WIDE, pure=pure)
    by_size = [weight for _, weight in sorted(zip(WIDE, weights, strict=True))]
    assert by_size == sorted(by_size)
    assert set(weights) <= set(WEIGHTS)
    assert single_weights((7, 7), pure=pure) == [WEIGHTS[0]] * 2


@pytest.mark.parametrize("domain", [WIDE, (2, 2, 2, 30, 40, 30), (5,) * 6])
def test_the_mean_error_is_no_larger_than_with_one_scale(domain):
    """Error of a cell: in proportion to the sum of the weights over its own, or to the root of their squares."""
    for power in (1, 2):
        weights = single_weights(domain, pure=power == 1)
        cost = sum(w**power for w in weights) ** (1 / power)
        error = sum(size * cost / w for size, w in zip(domain, weights, strict=True))
        assert error <= sum(domain) * len(domain) ** (1 / power) * 1.001


@pytest.mark.parametrize("attributes", [None, [3, 0]])
def test_they_are_one_round_for_exactly_their_epsilon(make_table, attributes):
    session = InProcessBackend([make_table([2, 5, 16, 3], 400)], PureBudget(Fraction(2, 3))).session()
    tables = asyncio.run(measure_single(session, "tables", session.budget.whole, attributes))
    assert [table.attributes for table in tables] == [(a,) for a in sorted(attributes or range(4))]
    assert [cost.loss.epsilon for cost in session.record.costs] == [Fraction(2, 3)]
    by_size = sorted(tables, key=lambda table: table.counts.size, reverse=True)
    assert [table.variance for table in by_size] == sorted(table.variance for table in tables)
    assert by_size[0].variance < by_size[-1].variance or attributes
