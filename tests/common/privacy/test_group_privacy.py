"""What a person with several rows is charged: golden numbers, limits that hold, and an audit of the charge."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity import GaussianCopula, OneWay
from privity.assessment.audit.loss_estimate import lower_bound
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.loss_conversion import SHARED_SLACK, converted, rho_within, zcdp_to_approximate
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP, compose
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RhoBudget
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.run_record import Cost, RunRecord
from privity.common.release.statement import privacy_statement, rounded_up
from privity.common.storage.journal import MEMORY, Journal
from privity.ledgers import declare_population
from privity.party.charged_releases import ChargedReleases
from privity.party.sources.rows import InMemory
from tests.harness.ledgers import declared
from tests.harness.releases import NOTHING_STATED
from tests.harness.steps import laplace_round

ONE = Fraction(1)
DELTA = Fraction(1, 2**30)


def budget_of(epsilon, delta=Fraction(0), composition="advanced"):
    if not delta:
        return PureBudget(epsilon)
    return {"advanced": AdvancedBudget, "zcdp": RhoBudget}[composition](epsilon, delta)


def test_golden_numbers():
    assert PureDP(ONE / 3, RELATION).scaled(3) == PureDP(1, RELATION)
    assert ApproxDP(ONE / 3, Fraction(0), RELATION).scaled(3) == ApproxDP(ONE, Fraction(0), RELATION)
    # rho nine times as large, at the same delta: by hand 9 rho + 2 sqrt(9 rho ln(1/delta)) = 3.4 is the simple bound.
    rho = Fraction(149, 10_000)
    exact = zcdp_to_approximate(ZCDP(9 * rho, RELATION), DELTA * (1 - SHARED_SLACK)).epsilon
    epsilon = converted(ZCDP(rho, RELATION).scaled(3).rho, DELTA)
    assert exact < epsilon <= exact + Fraction(2, 10**6)
    assert float(epsilon) == pytest.approx(3.1811, abs=1e-3)
    # 3, and 3 e^2 = 22.167 times the delta.
    one = ApproxDP(ONE, DELTA, RELATION)
    several = one.scaled(3)
    assert several.epsilon == 3
    assert several.delta >= 3 * DELTA * Fraction(math.exp(2))
    assert float(several.delta / DELTA) == pytest.approx(22.167, abs=0.02)
    assert one.scaled(1) == one
    assert ApproxDP(Fraction(50), DELTA, RELATION).scaled(1000) == ApproxDP(Fraction(50_000), ONE, RELATION)


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_what_a_run_may_cost_a_person_is_enough_for_its_one_round(rows):
    budget = AdvancedBudget(ONE, DELTA)
    noise = budget.whole.noise(Tables(((),) * 4, (5, 1, 1, 1)))
    assert noise.loss(RELATION) == ApproxDP(ONE, DELTA, RELATION)
    assert noise.loss(RELATION, rows) == budget.most_of_a_person(rows)
    assert budget.most_of_a_person(rows).epsilon == rows


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6),
    st.integers(1, 30),
    st.sampled_from([Fraction(1, 5), Fraction(1, 3), ONE, Fraction(4)]),
    st.sampled_from([DELTA, Fraction(1, 1000), Fraction(1, 10**20)]),
    st.sampled_from([Fraction(0), Fraction(1, 7)]),
)
def test_there_is_room_for_all_of_a_runs_rho_and_its_evaluation(shares, rows, learning, delta, evaluation):
    """In whatever steps it is spent, for whatever number of rows of a person; and hardly for more."""
    budget = RhoBudget(learning, delta)
    most = budget.most_of_a_person(rows, evaluation)
    ledger = declared(total=most.epsilon, delta=most.delta, rows=rows)
    allowance = Allowance(most.epsilon, most.delta, budget)
    if evaluation:
        ledger.charge(Charge("r", "scores", PureDP(evaluation, RELATION)), allowance, "p")
    for step, share in enumerate(shares):
        rho = budget.rho_of_share(learning * share / sum(shares))
        ledger.charge(Charge("r", f"{step}", ZCDP(rho, RELATION)), allowance, "p")
    assert ledger.spent_delta() == delta
    assert most.epsilon * Fraction(999, 1000) <= ledger.spent() <= most.epsilon
    more = Charge("r", "more", ZCDP(budget.rho / 100, RELATION))
    with pytest.raises(PrivityError, match="left of"):
        ledger.charge(more, allowance, "p")


def test_the_same_of_laplace_noise():
    parts = [Fraction(1, 3), Fraction(2, 3)]
    steps = [ApproxDP(part, DELTA * part, RELATION).scaled(4) for part in parts]
    most = AdvancedBudget(ONE, DELTA).most_of_a_person(4)
    assert sum(step.epsilon for step in steps) == most.epsilon == 4
    assert sum(step.delta for step in steps) <= most.delta


@pytest.mark.parametrize(("epsilon", "delta"), [(10**400, 0.5), (Fraction(1, 10**400), DELTA), (10**9, DELTA)])
def test_amounts_that_no_run_may_have_are_no_reason_to_fail(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    assert AdvancedBudget(epsilon, delta).most_of_a_person(1000).epsilon >= epsilon
    with pytest.raises(PrivityError, match="too small or too large"):
        RhoBudget(epsilon, delta).most_of_a_person(1000)


SCHEMA = parse_schema(
    {"absentRows": True, "fields": [{"name": f"x{a}", "type": "string", "categories": ["a", "b"]} for a in range(4)]},
    "s",
)
PLACES = 3


def worlds():
    """One person's three places, all filled against all empty: every table differs by three in two cells."""
    others = CodedTable(SCHEMA, (np.zeros(5, dtype=int),) * 4)
    filled = CodedTable(SCHEMA, (np.zeros(5 + PLACES, dtype=int),) * 4)
    return filled, others.with_absent(PLACES)


TABLES = tuple((a,) for a in range(4))


def charged_for(round_, table, ledger, budget=None):
    allowance = Allowance(budget=budget)
    releases = ChargedReleases("owner", InMemory(table), Journal(MEMORY), ledger)
    return releases.noisy_vector(round_, 1, allowance)


def exact_delta(law, shift, cells, epsilon):
    """Hockey-stick divergence of so many cells under this noise, each moved by ``shift``: losses by convolution."""
    z, scale = np.arange(-400, 401), float(law.scale)
    if law.name == "discrete Gaussian":
        # ((z + s)^2 - z^2) / (2 sigma^2) is a multiple of s / (2 sigma^2).
        logs, losses, unit = -(z**2) / (2 * scale), z + shift / 2, shift / scale
    else:
        logs, losses, unit = -np.abs(z) / scale, np.abs(z + shift) - np.abs(z), 1 / scale
    chances = np.exp(logs) / np.exp(logs).sum()
    places = np.round(2 * losses).astype(int)
    one = np.bincount(places - places.min(), weights=chances)
    whole, low = one, places.min()
    for _ in range(cells - 1):
        whole, low = np.convolve(whole, one), low + places.min()
    loss = (low + np.arange(whole.size)) * unit / 2
    above = loss > epsilon
    return float((whole[above] * (1 - np.exp(epsilon - loss[above]))).sum())


@pytest.mark.parametrize("composition", ["advanced", "zcdp"])
def test_the_exact_loss_of_a_person_is_within_the_charge_and_above_that_of_a_row(composition):
    """The worst neighbours that three places allow, under the noise of a round as it is opened."""
    budget = budget_of(ONE, Fraction(1, 1000), composition)
    round_ = Round("run", "p", "1", budget.whole.noise(Tables(TABLES)))
    ledger = declared(rows=PLACES)
    charged_for(round_, worlds()[0], ledger, budget)
    epsilon, delta = float(ledger.spent()), float(ledger.spent_delta())
    law = round_.noise.law(1)
    assert exact_delta(law, 1, 8, 1.0) <= 1 / 1000
    assert exact_delta(law, PLACES, 8, epsilon) <= delta
    # To charge what a row costs would be too little.
    assert exact_delta(law, PLACES, 8, 1.0) > 5 / 1000


def test_a_pure_round_costs_a_person_three_times_as_much_and_no_less():
    round_ = laplace_round("run", "p", "1", TABLES, ONE)
    ledger = declared(rows=PLACES)
    charged_for(round_, worlds()[1], ledger)
    assert (ledger.spent(), ledger.spent_delta()) == (3, 0)
    law = round_.noise.law(1)
    assert exact_delta(law, PLACES, 8, 3.0) == pytest.approx(0, abs=1e-12)
    assert exact_delta(law, PLACES, 8, 2.9) > 0


@pytest.mark.statistical
@pytest.mark.parametrize("composition", [pytest.param(None, marks=pytest.mark.long), "zcdp"])
def test_many_answers_tell_a_person_apart_as_far_as_is_charged_and_farther_than_a_row(composition):
    """Production rounds of many tables, each an answer of its own, with the noise that it would have alone."""
    tables, runs, row = 2000, 12, Fraction(1, 2)
    delta = Fraction(0) if composition is None else Fraction(1, 1000)
    budget = budget_of(row, delta, composition)
    one = budget.whole.noise(Tables(((0,),)))
    fields = [{"name": f"x{a}", "type": "boolean"} for a in range(tables)]
    schema = parse_schema({"absentRows": True, "fields": fields}, "s")
    filled = CodedTable(schema, (np.zeros(5 + PLACES, dtype=int),) * tables)
    empty = CodedTable(schema, (np.zeros(5, dtype=int),) * tables).with_absent(PLACES)
    many = Tables(tuple((a,) for a in range(tables)))
    wide = replace(one, query=many)
    if composition is not None:
        wide = replace(wide, rho=one.rho * tables)
    assert wide.law(1) == one.law(1)
    loss = one.loss(RELATION)
    assert wide.loss(RELATION) == compose([loss] * tables)
    views = []
    for world, table in enumerate((filled, empty)):
        seen = []
        for run in range(runs):
            round_ = Round(f"run-{world}-{run}", "p", "1", wide)
            counts = charged_for(round_, table, declared(total=10**6, rows=PLACES), budget).reshape(tables, 3)
            seen.append(counts[:, 0] - counts[:, 2])
        views.append(np.concatenate(seen)[:, None].astype(float))
    most = budget.most_of_a_person(PLACES)
    found = lower_bound(views[0], views[1], delta=float(most.delta)).epsilon
    assert row * Fraction(6, 5) < found <= most.epsilon, "a row's epsilon would not cover it"


def test_the_statement_and_the_ledger_agree_and_delta_is_told_for_a_person():
    rho = rho_within(ONE, DELTA) / 2
    record = RunRecord(budget=RhoBudget(ONE, DELTA))
    in_rho, pure = ZCDP(rho, RELATION), PureDP(ONE / 2, RELATION)
    for phase in ("tables", "more"):
        record.add_cost(Cost(phase, "m", in_rho, ("owner",)))
    record.add_cost(Cost("draws", "n", pure, ("owner",)))
    statement = privacy_statement(
        run="r", parties={"owner": 30}, tolerate=0, protection=None, record=record,
        rows_per_person={"owner": 3}, schema={**NOTHING_STATED, "absent_rows": True},
    )  # fmt: skip
    allowance = Allowance(budget=RhoBudget(ONE, DELTA))
    ledger = declared(rows=3)
    for step, loss in enumerate([in_rho, in_rho, pure]):
        ledger.charge(Charge("r", str(step), loss), allowance, "p")
    (party,) = statement["parties"]
    assert Fraction(party["epsilon_per_person"]) == ledger.spent()
    assert Fraction(party["delta_per_person"]) == ledger.spent_delta() == DELTA
    assert Fraction(party["epsilon_per_row"]) == Fraction(3, 2)
    assert [Fraction(phase["rho_per_row"]) for phase in statement["phases"]] == [rho, rho, 0]
    assert sum(Fraction(phase["epsilon_per_row"]) for phase in statement["phases"]) == Fraction(3, 2)
    assert Fraction(party["rho_per_row"]) == 2 * rho
    words = " ".join(statement["in_words"])
    assert "all of that person's rows were used as they are" in statement["in_words"][0]
    assert rounded_up(ledger.spent()) in statement["in_words"][0]
    assert "For a single row they are epsilon = 1.5" in statement["in_words"][1]
    assert "how many rows a person has is protected too" in words
    assert "How many rows a person has is not protected" not in words
    with pytest.raises(ValueError, match="at one party each"):
        privacy_statement(
            run="r", parties={"owner": 30}, tolerate=0, protection=None, record=record,
            parties_per_person=2, schema=NOTHING_STATED,
        )  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("make", "delta", "composition"),
    [(OneWay, "0", None), (GaussianCopula, "0.000001", "zcdp"), (GaussianCopula, "0.000001", "advanced")],
)
def test_a_synthesizer_charges_a_person(tmp_path, monkeypatch, make, delta, composition):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    table = worlds()[1].take(np.tile(np.arange(8), 60))
    options = {} if composition is None else {"composition": composition}
    options |= {"population": "people", "delta": delta}
    declare_population("people", total_epsilon="6", total_delta="0.001", rows_per_person=3)
    synthesizer = make("1", **options)
    synthesizer.fit(table, SCHEMA)
    charged = synthesizer.charged_
    most = budget_of(ONE, Fraction(delta), composition).most_of_a_person(3)
    assert 3 <= charged.epsilon <= most.epsilon
    assert charged == synthesizer.record_.of_a_person("owner", 3)
    assert charged.delta == most.delta
    assert (synthesizer.spent_.epsilon, synthesizer.spent_.delta) == (charged.epsilon, charged.delta)
    short = make("1", **options)
    if most.epsilon + charged.epsilon > 6:
        with pytest.raises(PrivityError, match="left of 6 "):
            short.fit(table, SCHEMA)
    else:
        short.fit(table, SCHEMA)
        assert short.spent_.epsilon == 6
    with pytest.raises(PrivityError, match="rows_per_person"):
        declare_population("nobody", total_epsilon="1", rows_per_person=0)


def test_e_is_never_smaller_for_more_rows():
    found = [RhoBudget(ONE, DELTA).most_of_a_person(rows).epsilon for rows in (1, 2, 3, 5, 9, 17)]
    assert found == sorted(found)
    assert math.isclose(float(found[0]), 1)
