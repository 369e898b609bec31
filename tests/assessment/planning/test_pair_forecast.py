"""Which pairs a plan says that the report will tell of: those that it tells of after a run of the same terms."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.assessment.planning.pair_forecast import pair_forecast
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.release.report.pair_strengths import pairs
from privity.common.release.report.quality import Standing, standing
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS, learn
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates
from tests.harness.consortium import make_schema, make_table

SCHEMA = make_schema((2, 3, 4, 3))


def forecast(algorithm: str, epsilon: Fraction, rows: int):
    budget = PureBudget(epsilon)
    return pair_forecast(rehearse(planned_session(SCHEMA, {"owner": rows}, 0, budget), algorithm, {}))


@pytest.mark.parametrize(("epsilon", "hidden"), [(Fraction(40), False), (Fraction(1, 50), True)])
def test_a_report_tells_of_the_pairs_that_the_plan_says(epsilon: Fraction, hidden: bool) -> None:
    rows = 600
    planned = forecast("copula", epsilon, rows)
    assert planned is not None
    table, budget = make_table(SCHEMA, rows, seed=1), PureBudget(epsilon)
    session = InProcessBackend([table], budget).session()
    complete(learn(session, "copula", {}))
    pooled = PooledEstimates([one for _, one in session.record.measured], SCHEMA.derived, session.noise_variables)
    found = pairs(pooled, table)
    assert (planned.pairs, planned.measured) == (len(found), sum(pair.measured is not None for pair in found))
    # The rows are about as frequent as each other, as the plan takes them to be.
    assert planned.told == (0 if hidden else 6)
    assert {standing(pair) is Standing.HIDDEN for pair in found} == {hidden}
    errors = [min(1.0, pair.margin.distance) for pair in found if pair.margin is not None]
    assert planned.error == pytest.approx(sum(errors) / len(errors))


def test_where_no_two_attributes_are_measured_together_it_says_so() -> None:
    planned = forecast("one-way", Fraction(1), 500)
    assert planned is not None
    assert planned.to_dict() == {"pairs": 6, "measured": 0, "told": 0, "error": None}


def test_an_algorithm_that_reveals_no_tables_has_no_forecast() -> None:
    assert "independent" in ALGORITHMS
    budget = PureBudget(Fraction(1))
    session = rehearse(planned_session(SCHEMA, {"north": 300, "south": 300}, 1, budget), "independent", {})
    assert pair_forecast(session) is None
