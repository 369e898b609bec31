"""A run without rows that only tells what is asked for: the same as the whole of it, and far less work."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from privity.common.privacy.privacy_loss import ZCDP, compose
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning import parameter_learning
from tests.harness.consortium import make_schema
from tests.harness.long import long_but

PARTIES = ("north", "south", "east")
NARROW, MIXED, ALONE = (2, 3, 4), (2, 2, 3, 5, 9, 4), (40,)
CASES: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    *((name, {}, domain) for name in ALGORITHMS if name != "discover" for domain in (NARROW, MIXED, ALONE)),
    *(("dp-subn", {"schedule": schedule}, MIXED) for schedule in ("uniform", "back-loaded")),
    *(("dp-subn", {"attributes": "binary", "frontier": frontier}, MIXED) for frontier in ("useful", "always")),
    *((name, {"selection": chosen}, MIXED) for name in ("aim", "mst") for chosen in ("parties", "joint")),
    *(("aim", {"target": "A3", "tables": tables}, MIXED) for tables in (1, 9)),
    ("privhd", {"filter": "always"}, MIXED),
    ("jtree", {"edges": 9}, MIXED),
]


def asked(
    case: tuple[str, dict[str, Any], tuple[int, ...]], epsilon: str, delta: str, rows: int, *, only_tells: bool
) -> dict[tuple[str, str], Fraction]:
    """What each phase and mechanism costs the first party, in epsilon or rho."""
    name, settings, domain = case
    schema, budget = make_schema(domain), ALGORITHMS[name].budget(settings, Fraction(epsilon), Fraction(delta))
    session = planned_session(schema, dict.fromkeys(PARTIES, rows), 1, budget, only_tells=only_tells)
    rehearse(session, name, settings)
    found: dict[tuple[str, str], list[Any]] = {}
    for cost in session.record.costs:
        if PARTIES[0] in cost.payers:
            found.setdefault((cost.phase, cost.mechanism), []).append(cost.loss)
    losses = {key: compose(some) for key, some in found.items()}
    return {key: loss.rho if isinstance(loss, ZCDP) else loss.epsilon for key, loss in losses.items()}


@pytest.mark.parametrize("rows", long_but([10_000], [1_000, 10_000, 1_000_000]))
@pytest.mark.parametrize(("epsilon", "delta"), [("1/10", "0"), ("1", "1e-9"), ("20", "1e-9")])
def test_what_is_told_to_be_asked_for_is_what_is_asked_for(epsilon: str, delta: str, rows: int) -> None:
    for case in CASES:
        given = delta if ALGORITHMS[case[0]].spends_delta else "0"
        whole = asked(case, epsilon, given, rows, only_tells=False)
        told = asked(case, epsilon, given, rows, only_tells=True)
        assert told.keys() == whole.keys(), case
        for key, most in told.items():
            # Where noise would be too small to share, a table costs less than its share, by how many there are.
            assert most >= whole[key], (case, key)
            assert most <= whole[key] * Fraction(1001, 1000) or epsilon == "20", (case, key)


def test_an_evaluation_is_told_of_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted(*_args: object, **_more: object) -> None:
        raise AssertionError("nothing is fitted when all has been asked for")

    monkeypatch.setattr(parameter_learning, "fit_graphical", fitted)
    schema, evaluation = make_schema(MIXED), Evaluation(Fraction(1, 20))
    budget = ALGORITHMS["dp-subn"].budget({}, Fraction(1), Fraction(0))
    session = planned_session(schema, dict.fromkeys(PARTIES, 1000), 1, budget, only_tells=True)
    assert rehearse(session, "dp-subn", {}, evaluation).record.costs[-1].loss.epsilon == evaluation.epsilon


@pytest.mark.parametrize("tables", [1, 17, 400])
def test_rounds_that_are_alike_are_gone_through_once_and_paid_for_all(tables: int) -> None:
    case = ("aim", {"tables": tables, "selection": "parties"}, MIXED)
    assert asked(case, "1", "0", 1000, only_tells=True) == pytest.approx(asked(case, "1", "0", 1000, only_tells=False))
