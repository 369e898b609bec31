"""All pairs at once: one round, charged as it says, alike over one owner and parties that differ, or refused before."""

from __future__ import annotations

import asyncio
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.all_pairs import LARGEST_MODEL, forecast
from tests.harness.consortium import make_schema

ROWS = 6000
BUDGETS = [PureBudget(Fraction(1)), RhoBudget(Fraction(1), Fraction(1, 10**9))]


def chained(domain):
    """Each attribute repeats the one before it in eight of ten rows."""
    generator = np.random.default_rng(5)
    columns = [generator.integers(0, size, ROWS) for size in domain]
    for place in range(1, len(domain)):
        repeated = generator.random(ROWS) < 0.8
        columns[place] = np.where(repeated, columns[place - 1] % domain[place], columns[place])
    return CodedTable(make_schema(domain), tuple(column.astype(np.uint8) for column in columns))


def learnt(parts, budget):
    session = InProcessBackend(parts, budget).session()
    model = asyncio.run(ALGORITHMS["all-pairs"].learn(session, budget.whole, {}))
    return session, model.sample(20_000, np.random.default_rng(0))


def distance(real, synthetic, ways):
    marginals = list(combinations(range(len(real.columns)), ways))
    shares = [[found / table.rows for found in contingency_tables(table, marginals)] for table in (real, synthetic)]
    return float(np.mean([abs(one - other).sum() / 2 for one, other in zip(*shares, strict=True)]))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("domain", [(3,), (2, 5), (3, 4, 2, 2), (2,) * 9])
def test_one_round_is_charged_in_full_and_pairs_are_near_the_rows(budget, domain):
    table = chained(domain)
    session, synthetic = learnt([table], budget)
    (cost,) = session.record.costs
    assert session.record.epsilon(*cost.payers) == (1 if budget.delta == 0 else pytest.approx(1, abs=1e-3))
    if len(domain) > 1:
        expected = forecast(session, budget.whole)
        assert expected < 0.08
        # Of 20,000 rows, sampling moves a pair's table by about a hundredth.
        assert distance(table, synthetic, 2) < 1.5 * expected + 0.015


def test_parties_that_share_no_value_lose_nothing():
    table = chained((3, 4, 2, 2))
    order = np.argsort(table.columns[1], kind="stable")
    parts = [table.take(part) for part in np.array_split(order, 3)]
    _, synthetic = learnt(parts, BUDGETS[1])
    assert distance(table, synthetic, 2) < 0.04


def test_a_dependence_that_no_pair_shows_is_learnt_where_all_is_one_table():
    generator = np.random.default_rng(2)
    first, second = generator.integers(0, 2, (2, ROWS))
    columns = [first, second, first ^ second]
    table = CodedTable(make_schema((2, 2, 2)), tuple(column.astype(np.uint8) for column in columns))
    _, synthetic = learnt([table], BUDGETS[0])
    assert distance(table, synthetic, 3) < 0.03


def test_what_is_too_large_for_one_model_is_refused():
    schema = make_schema((2,) * (int(math.log2(LARGEST_MODEL)) + 1))
    with pytest.raises(PrivityError) as refused:
        ALGORITHMS["all-pairs"].check({}, schema)
    assert refused.value.kind is Catalogue.DOMAIN_TOO_LARGE
    assert "all 18 attributes together" in str(refused.value)
