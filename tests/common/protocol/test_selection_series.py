"""Draws among tables over several parties: whose rows they are on, what they cost whom, and what is answered again."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import ExponentialMechanism, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noisy_max import noisy_max, sample_selection_noise
from privity.common.privacy.run_budget import RhoBudget
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Close, Enrol, Refusal, Selected, SelectTable
from tests.harness.consortium import TestConsortium, make_schema, make_table, open_policy, seeded
from tests.harness.ledgers import charged
from tests.harness.steps import share_of

SCHEMA = make_schema((2, 3, 4))
TABLES = ((0, 1), (0, 2), (1, 2), (0,), (1,), (2,))
ROWS = {"party-1": 30, "party-2": 200, "party-3": 70}
MODEL = 1 << 20
PLENTY = Fraction(900)
SEED = 11
DELTA = Fraction(1, 2**30)


def consortium_of(**options) -> TestConsortium:
    return TestConsortium({name: make_table(SCHEMA, rows, seed=rows) for name, rows in ROWS.items()}, **options)


def expected_of(seed: int) -> ExpectedTables:
    """What a table of other rows would make one expect, with handicaps by the size of a table."""
    model = [counts.ravel() for counts in contingency_tables(make_table(SCHEMA, 64, seed), TABLES)]
    penalties = tuple(counts.size * MODEL // 400 for counts in model)
    return ExpectedTables(TABLES, np.concatenate(model) * (MODEL // 64), MODEL, penalties)


def brute_force(table: CodedTable, expected: ExpectedTables) -> list[int]:
    found, start = [], 0
    for own, penalty in zip(contingency_tables(table, TABLES), expected.penalties, strict=True):
        theirs = expected.counts[start : start + own.size].tolist()
        start += own.size
        apart = sum(
            abs(Fraction(c, table.rows) - Fraction(s, MODEL)) for c, s in zip(own.ravel().tolist(), theirs, strict=True)
        )
        found.append(math.floor(table.rows * (apart / 2 - Fraction(penalty, MODEL))))
    return found


async def draws_of(session: Session, draws: int, epsilon: Fraction) -> list[tuple[int, int]]:
    """Of each draw, on how many rows it was and what was chosen; each expects something else."""
    series = session.selection("structure", draws, share_of(session, epsilon), score=DISTANCE)
    return [(series.rows_next, await series.select_farthest(expected_of(place))) for place in range(draws)]


def test_each_selection_is_on_the_rows_of_the_party_whose_turn_it_is() -> None:
    consortium = consortium_of()
    session = consortium.session(consortium.begin(consortium.spec(epsilon=PLENTY)))
    found = asyncio.run(draws_of(session, 10, PLENTY))
    assert [rows for rows, _ in found] == [30] + [200] * 7 + [70] * 2
    for place, (rows, index) in enumerate(found):
        scores = brute_force(make_table(SCHEMA, rows, seed=rows), expected_of(place))
        assert scores[index] == max(scores)
    assert len({index for _, index in found}) > 1


def test_the_choice_is_that_of_report_noisy_max_on_the_party_own_noise() -> None:
    consortium = consortium_of(seed=SEED)
    session = consortium.session(consortium.begin(consortium.spec(epsilon=PLENTY)))
    found, epsilon = asyncio.run(draws_of(session, 10, Fraction(2))), Fraction(2, 7)
    best = 0
    for place, (rows, index) in enumerate(found):
        if rows != ROWS["party-2"]:
            continue
        entropy = seeded(SEED, "party-2")(f"run-1/selection/1-structure/{place}")
        noise = sample_selection_noise(len(TABLES), 1, epsilon, entropy)
        scores = brute_force(consortium.parties["party-2"].table, expected_of(place))
        assert index == noisy_max(scores, noise)
        best += scores[index] == max(scores)
    assert best < 7, "there is noise"


def test_a_party_pays_for_its_own_selections_and_for_no_others() -> None:
    consortium = consortium_of()
    session = consortium.session(consortium.begin(consortium.spec(epsilon=PLENTY)))
    asyncio.run(draws_of(session, 3, Fraction(6)))
    # Largest remainders: 3/10, 2 and 7/10 of 3 draws.
    assert [party.ledger.spent() for party in consortium.parties.values()] == [0, 6, 6]
    assert [session.record.epsilon(name) for name in ROWS] == [0, 6, 6]
    costs = session.record.costs
    assert [(cost.payers, cost.charge["selections"]) for cost in costs] == [(("party-2",), 2), (("party-3",), 1)]
    assert all(cost.mechanism.endswith("on the distance of tables from a model") for cost in costs)
    told = [(name, step.mechanism.epsilon) for name, step in consortium.told if isinstance(step, SelectTable)]
    assert told == [("party-2", 3), ("party-2", 3), ("party-3", 6)]


def test_in_a_run_with_a_budget_in_rho_a_selection_costs_its_part_of_it() -> None:
    policy = open_policy(total_delta=Fraction(1, 1000))
    consortium = consortium_of(policies=dict.fromkeys(ROWS, policy))
    session = consortium.session(consortium.begin(consortium.spec(epsilon=Fraction(2), delta=DELTA)))
    asyncio.run(draws_of(session, 10, Fraction(1)))
    rho_budget = RhoBudget(Fraction(2), DELTA)
    for name, quota in zip(ROWS, (1, 7, 2), strict=True):
        own = [line.charge for line in charged(consortium.parties[name].ledger)]
        assert [charge.loss for charge in own] == [rho_budget.selecting(Fraction(1), quota).loss(RELATION)] * quota
        assert sum(charge.loss.rho for charge in own) == session.record.rho(name)
        assert session.record.rho(name) <= rho_budget.rho_of_share(Fraction(1))
    assert all("exponential mechanism" in cost.mechanism for cost in session.record.costs)
    for price, said in (
        (SelectTable("run-1", "p", "x", expected_of(1), NoisyMax(Fraction(1))), "an epsilon of its own"),
        (SelectTable("run-1", "p", "x", expected_of(1), ExponentialMechanism(Fraction(9))), "more rho than the run's"),
    ):
        reply = consortium.tell("party-1", price)
        assert isinstance(reply, Refusal)
        assert said in reply.message


def test_an_answer_is_given_once_and_again_after_a_crash_of_either_side(tmp_path: Path) -> None:
    consortium = consortium_of(folder=tmp_path)
    plan = consortium.begin(consortium.spec(epsilon=PLENTY))
    found = asyncio.run(draws_of(consortium.session(plan), 10, Fraction(5)))
    spent = [charged(party.ledger) for party in consortium.parties.values()]
    asked = [told for told in consortium.told if isinstance(told[1], SelectTable)]
    told = len(consortium.told)
    assert asyncio.run(draws_of(consortium.session(plan), 10, Fraction(5))) == found
    assert len(consortium.told) == told, "a curator that starts again asks nobody twice"
    for name in ROWS:
        consortium.restart(name)
    for (name, step), (_, index) in zip(asked, found, strict=True):
        assert consortium.tell(name, step) == Selected(index)
    assert [charged(party.ledger) for party in consortium.parties.values()] == spent
    name, step = asked[0]
    for other in (
        replace(step, expected=expected_of(77)),
        replace(step, mechanism=NoisyMax(step.mechanism.epsilon / 2)),
    ):
        reply = consortium.tell(name, other)
        assert isinstance(reply, Refusal)
        assert reply.code == "step-changed"


def test_what_was_counted_is_forgotten_with_the_run() -> None:
    consortium = consortium_of()
    some = ("A0", "A2")
    for run, attributes in (("run-1", None), ("run-2", some)):
        consortium.begin(consortium.spec(run=run, attributes=attributes))
        expected = ExpectedTables(((0, 1),), np.ones(6 if attributes is None else 8, dtype=np.int64), 1, (0,))
        reply = consortium.tell("party-1", SelectTable(run, "p", "d", expected, NoisyMax(Fraction(1, 2))))
        assert isinstance(reply, Selected)
        seen = consortium.parties["party-1"].releases.over(attributes)
        assert [counts.sum() for counts in seen._counts._kept.values()] == [30]
        consortium.tell("party-1", Close(run, "COMPLETED"))
        assert not seen._counts._kept
        assert not seen._counts._cells


def test_a_choice_that_there_is_not_ends_the_run_by_name() -> None:
    consortium = consortium_of()
    ask = consortium.ask

    async def lying(party, step, phase):
        return Selected(len(TABLES)) if isinstance(step, SelectTable) else await ask(party, step, phase)

    consortium.ask = lying
    session = consortium.session(consortium.begin(consortium.spec()))
    with pytest.raises(PrivityError, match="none of the candidates"):
        asyncio.run(draws_of(session, 1, Fraction(1)))


def test_an_owner_is_asked_before_any_draw() -> None:
    """A run that was not begun draws nothing."""
    consortium = consortium_of()
    consortium.tell("party-1", Enrol(consortium.spec()))
    reply = consortium.tell("party-1", SelectTable("run-1", "p", "d", expected_of(1), NoisyMax(Fraction(1, 2))))
    assert isinstance(reply, Refusal)
    assert "the run has not begun" in reply.message
