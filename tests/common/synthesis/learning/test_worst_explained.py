"""The choice of the next table: what a draw is given where noise is far larger than all rows."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.run_record import RunRecord
from privity.common.synthesis.algorithms import ALGORITHMS
from tests.harness.consortium import make_schema, make_table


def learnt(algorithm: str, settings: dict[str, int]) -> RunRecord:
    epsilon = Fraction(1, 20)
    session = InProcessBackend([make_table(make_schema((400, 300, 2)), 300, seed=1)], PureBudget(epsilon)).session()
    asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, settings))
    return session.record


@pytest.mark.parametrize(("algorithm", "settings"), [("mst", {"edges": 2}), ("aim", {})])
def test_a_table_that_would_drown_many_times_over_is_no_reason_to_fail(algorithm: str, settings) -> None:
    record = learnt(algorithm, settings)
    assert record.epsilon("party-1") <= Fraction(1, 20)
    assert any("distance of tables from a model" in cost.mechanism for cost in record.costs)
