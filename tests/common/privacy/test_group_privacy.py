"""What a person with several rows is charged: golden numbers, limits that hold, and an audit of the charge."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.advanced_composition import calibrate
from privity.common.privacy.budget import ApproxDP, Zcdp
from privity.common.privacy.budget_conversion import zcdp_to_approximate
from privity.common.privacy.group_privacy import cost_of_a_person, most_of_a_person, rho_of_a_person
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.run_record import Cost, RunRecord
from privity.common.privacy.statement import privacy_statement, rounded_up
from privity.common.privacy.zcdp_budget import RELATION, SHARED_SLACK, RhoBudget, converted, rho_within
from privity.common.protocol.round import Round
from privity.common.storage.journal import MEMORY, Journal
from privity.deploy.audit.loss_estimate import lower_bound
from privity.party.charged_releases import ChargedReleases
from privity.party.rows import InMemory
from privity.party.synthesizer import Copula, OneWay, declare_population
from tests.harness.ledgers import declared

ONE = Fraction(1)
DELTA = Fraction(1, 2**30)


def test_golden_numbers():
    assert cost_of_a_person(ONE / 3, Fraction(0), 3) == (1, 0)
    # rho nine times as large, at the same delta: by hand 9 rho + 2 sqrt(9 rho ln(1/delta)) = 3.4 is the simple bound.
    rho = Fraction(149, 10_000)
    exact = zcdp_to_approximate(Zcdp(9 * rho, RELATION), DELTA * (1 - SHARED_SLACK)).epsilon
    epsilon = converted(rho_of_a_person(rho, 3), DELTA)
    assert exact < epsilon <= exact + Fraction(2, 10**6)
    assert float(epsilon) == pytest.approx(3.1811, abs=1e-3)
    # 3, and 3 e^2 = 22.167 times the delta.
    epsilon, delta = cost_of_a_person(ONE, DELTA, 3)
    assert epsilon == 3
    assert ApproxDP(ONE, DELTA, RELATION).scaled(3).delta <= delta
    assert float(delta / DELTA) == pytest.approx(22.167, abs=0.02)
    assert cost_of_a_person(ONE, DELTA, 1) == (ONE, DELTA)
    assert cost_of_a_person(Fraction(50), DELTA, 1000) == (50_000, 1)


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_what_a_run_may_cost_a_person_is_enough_for_its_one_round(rows):
    weights = [5, 1, 1, 1]
    accounting = calibrate(weights, ONE, DELTA)
    assert accounting.delta == DELTA
    assert cost_of_a_person(ONE, DELTA, rows) == most_of_a_person(ONE, DELTA, rows)
    assert most_of_a_person(ONE, DELTA, rows)[0] == rows


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6),
    st.integers(1, 30),
    st.sampled_from([Fraction(1, 5), Fraction(1, 3), ONE, Fraction(4)]),
    st.sampled_from([DELTA, Fraction(1, 1000), Fraction(1, 10**20)]),
    st.sampled_from([Fraction(0), Fraction(1, 7)]),
)
def test_there_is_room_for_all_of_a_runs_rho_and_its_evaluation(shares, rows, learning, delta, evaluation):
    """In whatever steps it is spent, for whatever number of rows of a person; and hardly for more."""
    rho_budget = RhoBudget(learning, delta)
    most = most_of_a_person(learning + evaluation, delta, rows, rho_budget)
    ledger = declared(total=most[0], delta=most[1], rows=rows)
    allowance = Allowance(*most, rho_budget)
    if evaluation:
        ledger.charge(Charge("r", "scores", evaluation), allowance, "p")
    for step, share in enumerate(shares):
        rho = rho_budget.rho_of_share(learning * share / sum(shares))
        ledger.charge(Charge("r", f"{step}", Fraction(0), delta, rho), allowance, "p")
    assert ledger.spent_delta() == delta
    assert most[0] * Fraction(999, 1000) <= ledger.spent() <= most[0]
    more = Charge("r", "more", Fraction(0), delta, rho_budget.rho / 100)
    with pytest.raises(PrivityError, match="left of"):
        ledger.charge(more, allowance, "p")


def test_the_same_of_laplace_noise():
    parts = [Fraction(1, 3), Fraction(2, 3)]
    steps = [cost_of_a_person(part, DELTA * part, 4) for part in parts]
    most = most_of_a_person(ONE, DELTA, 4)
    assert sum(e for e, _ in steps) == most[0] == 4
    assert sum(d for _, d in steps) <= most[1]


@pytest.mark.parametrize(("epsilon", "delta"), [(10**400, 0.5), (Fraction(1, 10**400), DELTA), (10**9, DELTA)])
def test_amounts_that_no_run_may_have_are_no_reason_to_fail(epsilon, delta):
    assert most_of_a_person(Fraction(epsilon), Fraction(delta), 1000)[0] >= epsilon
    with pytest.raises(PrivityError, match="too small or too large"):
        most_of_a_person(Fraction(epsilon), Fraction(delta), 1000, RhoBudget(Fraction(epsilon), Fraction(delta)))


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


def charged_for(round_, table, ledger, rho_budget=None):
    allowance = Allowance(rho_budget=rho_budget)
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
    row, rho_budget = Fraction(1, 1000), None
    if composition == "zcdp":
        rho_budget = RhoBudget(ONE, row)
        terms = rho_budget.terms(ONE, (1,) * 4, 1)
        round_ = Round("run", "p", "1", TABLES, Fraction(0), terms=terms)
    else:
        round_ = Round("run", "p", "1", TABLES, ONE, accounting=calibrate([1] * 4, ONE, row))
    ledger = declared(rows=PLACES)
    charged_for(round_, worlds()[0], ledger, rho_budget)
    epsilon, delta = float(ledger.spent()), float(ledger.spent_delta())
    law = round_.law(1)
    assert exact_delta(law, 1, 8, 1.0) <= 1 / 1000
    assert exact_delta(law, PLACES, 8, epsilon) <= delta
    # To charge what a row costs would be too little.
    assert exact_delta(law, PLACES, 8, 1.0) > 5 / 1000


def test_a_pure_round_costs_a_person_three_times_as_much_and_no_less():
    round_ = Round("run", "p", "1", TABLES, ONE)
    ledger = declared(rows=PLACES)
    charged_for(round_, worlds()[1], ledger)
    assert (ledger.spent(), ledger.spent_delta()) == (3, 0)
    law = round_.law(1)
    assert exact_delta(law, PLACES, 8, 3.0) == pytest.approx(0, abs=1e-12)
    assert exact_delta(law, PLACES, 8, 2.9) > 0


@pytest.mark.statistical
@pytest.mark.parametrize("composition", [None, "zcdp"])
def test_many_answers_tell_a_person_apart_as_far_as_is_charged_and_farther_than_a_row(composition):
    """Production rounds of many tables, each an answer of its own, with the noise that it would have alone."""
    tables, runs, row = 2000, 12, Fraction(1, 2)
    delta = Fraction(0) if composition is None else Fraction(1, 1000)
    rho_budget = None if composition is None else RhoBudget(row, delta)
    one = None if rho_budget is None else rho_budget.terms(row, (1,), 1)
    fields = [{"name": f"x{a}", "type": "boolean"} for a in range(tables)]
    schema = parse_schema({"absentRows": True, "fields": fields}, "s")
    filled = CodedTable(schema, (np.zeros(5 + PLACES, dtype=int),) * tables)
    empty = CodedTable(schema, (np.zeros(5, dtype=int),) * tables).with_absent(PLACES)
    many = tuple((a,) for a in range(tables))
    wide = None if one is None else replace(one, rho=one.rho * tables)
    views = []
    for world, table in enumerate((filled, empty)):
        seen = []
        for run in range(runs):
            claim = tables * row if wide is None else Fraction(0)
            round_ = Round(f"run-{world}-{run}", "p", "1", many, claim, terms=wide)
            assert round_.law(1) == Round("", "", "", ((0,),), row, terms=one).law(1)
            counts = charged_for(round_, table, declared(total=10**6, rows=PLACES), rho_budget).reshape(tables, 3)
            seen.append(counts[:, 0] - counts[:, 2])
        views.append(np.concatenate(seen)[:, None].astype(float))
    epsilon, of_person = most_of_a_person(row, delta, PLACES, rho_budget)
    found = lower_bound(views[0], views[1], delta=float(of_person)).epsilon
    assert row * Fraction(6, 5) < found <= epsilon, "a row's epsilon would not cover it"


def test_the_statement_and_the_ledger_agree_and_delta_is_told_for_a_person():
    rho = rho_within(ONE, DELTA) / 2
    record = RunRecord(rho_budget=RhoBudget(ONE, DELTA))
    for phase in ("tables", "more"):
        record.add_cost(Cost(phase, "m", Fraction(0), ("owner",), DELTA, rho))
    record.add_cost(Cost("draws", "n", Fraction(1, 2), ("owner",)))
    statement = privacy_statement(
        run="r", parties={"owner": 30}, tolerate=0, protection=None, record=record,
        rows_per_person={"owner": 3}, absent_rows=True,
    )  # fmt: skip
    allowance = Allowance(rho_budget=RhoBudget(ONE, DELTA))
    ledger = declared(rows=3)
    for step, price in enumerate([(Fraction(0), DELTA, rho), (Fraction(0), DELTA, rho), (ONE / 2, Fraction(0), None)]):
        ledger.charge(Charge("r", str(step), *price), allowance, "p")
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
            parties_per_person=2,
        )  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("make", "delta", "composition"),
    [(OneWay, "0", None), (Copula, "0.000001", "zcdp"), (Copula, "0.000001", "advanced")],
)
def test_a_synthesizer_charges_a_person(tmp_path, monkeypatch, make, delta, composition):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    table = worlds()[1].take(np.tile(np.arange(8), 60))
    options = {} if composition is None else {"settings": {"composition": composition}}
    options |= {"population": "people", "delta": delta}
    declare_population("people", total_epsilon="6", total_delta="0.001", rows_per_person=3)
    synthesizer = make("1", **options)
    synthesizer.fit(table, SCHEMA)
    epsilon, spent_delta = synthesizer.charged
    rho_budget = RhoBudget(ONE, Fraction(delta)) if composition == "zcdp" else None
    most = most_of_a_person(ONE, Fraction(delta), 3, rho_budget)
    assert 3 <= epsilon <= most[0]
    assert (epsilon, spent_delta) == synthesizer.record.of_a_person("owner", 3)
    assert spent_delta == most[1]
    assert (synthesizer.spent, synthesizer.spent_delta) == (epsilon, spent_delta)
    short = make("1", **options)
    if most[0] + epsilon > 6:
        with pytest.raises(PrivityError, match="left of 6 "):
            short.fit(table, SCHEMA)
    else:
        short.fit(table, SCHEMA)
        assert short.spent == 6
    with pytest.raises(PrivityError, match="rows_per_person"):
        declare_population("nobody", total_epsilon="1", rows_per_person=0)


def test_e_is_never_smaller_for_more_rows():
    found = [most_of_a_person(ONE, DELTA, rows, RhoBudget(ONE, DELTA))[0] for rows in (1, 2, 3, 5, 9, 17)]
    assert found == sorted(found)
    assert math.isclose(float(found[0]), 1)
