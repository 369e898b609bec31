"""A forest whose tables would not fit one round is refused before anything is asked for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.step_limits import ROUND_CELLS
from privity.common.runs.planned_run import planned_session, rehearse
from tests.harness.consortium import make_schema


@pytest.mark.parametrize("rows", [1_000, 1_000_000])
def test_nothing_is_spent_on_a_structure_whose_tables_do_not_fit(rows: int) -> None:
    domain = (1000,) * 20
    assert ROUND_CELLS < 19 * 1000**2
    held = dict.fromkeys(("a", "b", "c"), rows)
    budget = PureBudget(Fraction(4))
    session = planned_session(make_schema(domain), held, 1, budget)
    with pytest.raises(PrivityError) as refused:
        rehearse(session, "dp-subn", {})
    assert refused.value.kind is Catalogue.DOMAIN_TOO_LARGE
    assert not session.record.costs
