"""Which values are missing together: found where there is something to find, and kept by what is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.session import complete
from privity.common.synthesis.algorithms import learn
from privity.common.synthesis.learning.missing_together import SHARE, missing_together
from privity.common.synthesis.learning.one_way_tables import measure_single

BUDGET = RhoBudget(Fraction(1), Fraction(1, 10**9))
CERTAIN = PureBudget(Fraction(2000))
ROWS = 20_000


def flights(together: bool = True, parties: int = 1, missing: float = 0.03, others: int = 1) -> list[CodedTable]:
    """Times of flights, of which some have none; others miss other rows."""
    binned = {"type": "integer", "bins": 12, "constraints": {"minimum": 0, "maximum": 120}, "missingValues": [""]}
    schema = parse_schema({"fields": [{"name": f"x{place}", **binned} for place in range(3 + others)]}, "s")
    generator = np.random.default_rng(2)
    columns = [generator.integers(0, 12, ROWS) for _ in schema.attributes]
    cancelled = generator.random(ROWS) < missing
    for place, column in enumerate(columns):
        column[cancelled if together and place < 3 else generator.random(ROWS) < missing] = 12
    whole = CodedTable(schema, tuple(column.astype(np.uint8) for column in columns))
    return [whole.take(np.arange(k, ROWS, parties)) for k in range(parties)]


@pytest.mark.parametrize("parties", [1, 3])
def test_attributes_that_are_missing_together_are_found(parties):
    session = InProcessBackend(flights(parties=parties), CERTAIN).session()
    whole = CERTAIN.whole
    single = complete(measure_single(session, "one", whole / 2))
    found = complete(missing_together(session, "missing", whole / 2, single))
    assert len(found.pairs) == 2
    assert {a for pair in found.pairs for a in pair} == {0, 1, 2}
    assert found.left.epsilon == whole.epsilon / 2 * (1 - SHARE)
    for table in found.tables[len(single) :]:
        assert table.counts[0, 1] == table.counts[1, 0] == 0
        assert table.counts[1, 1] == pytest.approx(0.03 * ROWS, rel=0.1)


@pytest.mark.parametrize("missing", [0.03, 0])
def test_nothing_is_made_up_where_nothing_is_missing_together(missing):
    session = InProcessBackend(flights(together=False, missing=missing), CERTAIN).session()
    single = complete(measure_single(session, "one", CERTAIN.whole / 2))
    found = complete(missing_together(session, "missing", CERTAIN.whole / 2, single))
    assert found.pairs == []
    assert (found.left == CERTAIN.whole / 2) is (not missing), "what is not missing costs nothing"


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", [pytest.param("aim", marks=pytest.mark.long), "mst"])
def test_what_is_missing_together_stays_so(algorithm, monkeypatch):
    def apart() -> float:
        session = InProcessBackend(flights(others=9), BUDGET).session()
        model = complete(learn(session, algorithm, {}))
        columns = model.sample(ROWS, np.random.default_rng(1)).columns
        gone = columns[0] == 12
        return float(np.mean([(columns[place][gone] != 12).mean() for place in (1, 2)]))

    assert apart() < 0.35
    if algorithm == "mst":
        monkeypatch.setattr("privity.common.synthesis.learning.missing_together.MOST_PATTERNS", 1)
        assert apart() > 0.5, "tables of all values do not see it"
