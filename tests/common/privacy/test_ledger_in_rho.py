"""Charges in a run's budget in rho: along one order, whatever is charged, and wherever the run stops."""

import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.loss_conversion import converted
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RhoBudget
from tests.common.privacy.test_ledger import charge
from tests.harness.ledgers import charged, charges, declared

RHO = st.fractions(Fraction(1, 10**6), Fraction(1, 2), max_denominator=10**6)
SMALL = Fraction(1, 10**9)
RHO_BUDGET = RhoBudget(Fraction(1), SMALL)


def rho_charge(ledger, step, rho, *, run="r", rho_budget=RHO_BUDGET, **limits):
    asked = Charge(run, step, ZCDP(rho, RELATION))
    ledger.charge(asked, Allowance(**limits, budget=rho_budget), "hospital")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30), st.data())
def test_what_was_charged_in_rho_is_that_of_the_sum_after_any_prefix(steps, data):
    """Two runs in any order, steps repeated, the ledger opened anew in between, pure charges among them."""
    known, pure = {}, {"a": Fraction(0), "b": Fraction(0)}
    rho_budgets = {"a": RHO_BUDGET, "b": RhoBudget(Fraction(3), SMALL / 2)}
    rows = data.draw(st.sampled_from([1, 3]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        ledger = declared(path, rows=rows)
        for run, step, again in steps:
            if again:
                ledger.close()
                ledger = declared(path, rows=rows)
            if step == 5:
                if not pure[run]:
                    charge(ledger, "pure", "1/3", run=run, allowance=Allowance())
                    pure[run] = Fraction(rows, 3)
            else:
                rho = known.setdefault((run, step), data.draw(RHO))
                rho_charge(ledger, str(step), rho, run=run, rho_budget=rho_budgets[run])
            for name in "ab":
                spent = sum((amount for (of, _), amount in known.items() if of == name), Fraction(0))
                assert ledger.spent(name) == rho_budgets[name].filter(rows).spent(rows**2 * spent) + pure[name]
                assert ledger.spent(name) >= converted(rows**2 * spent, rho_budgets[name].delta) + pure[name]
                assert ledger.spent_delta(name) == (rho_budgets[name].delta if spent else 0)
        assert ledger.spent() == ledger.spent("a") + ledger.spent("b")
        ledger.close()
        other = declared(path, rows=rows)
        assert (other.spent(), other.spent_delta()) == (ledger_sum(other, 0), ledger_sum(other, 1))


def ledger_sum(ledger, what):
    return sum((line.added[what] for line in charged(ledger)), Fraction(0))


def test_a_step_in_rho_states_the_same_rho_delta_and_budget_or_is_refused():
    ledger = declared()
    rho_charge(ledger, "a", Fraction(1, 100))
    rho_charge(ledger, "b", Fraction(1, 50))
    spent = ledger.spent()
    rho_charge(ledger, "a", Fraction(1, 100))
    rho_charge(ledger, "b", Fraction(1, 50))
    assert (ledger.spent(), len(charges(ledger))) == (spent, 2)
    other_delta, other_epsilon = RhoBudget(Fraction(1), 2 * SMALL), RhoBudget(Fraction(2), SMALL)
    for step, rho, rho_budget in (
        ("a", "1/50", RHO_BUDGET), ("b", "1/50", other_delta), ("c", "1/50", other_delta),
        ("b", "1/50", other_epsilon), ("c", "1/50", other_epsilon),
    ):  # fmt: skip
        with pytest.raises(PrivityError, match="answered before with other content"):
            rho_charge(ledger, step, Fraction(rho), rho_budget=rho_budget)
    for epsilon in (0, charged(ledger)[1].added[0]):
        with pytest.raises(PrivityError, match="answered before with other content"):
            charge(ledger, "b", epsilon, allowance=Allowance())
    assert (ledger.spent(), len(charges(ledger))) == (spent, 2)
    rho_charge(ledger, "a", Fraction(1, 50), run="another", rho_budget=other_delta)
    for wrong in (None, PureBudget(Fraction(1)), AdvancedBudget(Fraction(1), SMALL)):
        with pytest.raises(ValueError, match="in rho"):
            ledger.charge(Charge("r", "d", ZCDP(SMALL, RELATION)), Allowance(budget=wrong), "hospital")
    with pytest.raises(ValueError, match="at least 0"):
        rho_charge(ledger, "d", Fraction(-1))
    assert len(charges(ledger)) == 3


def test_a_charge_in_rho_is_refused_where_the_sum_goes_beyond_the_limits():
    ledger, rho = declared(total=1, delta=SMALL), RHO_BUDGET.rho
    for step in range(4):
        rho_charge(ledger, str(step), rho / 4, epsilon=Fraction(1), delta=SMALL)
    assert (ledger.spent(), ledger.spent_delta()) == (1, SMALL)
    for limits in ({}, {"epsilon": Fraction(1), "delta": SMALL}):
        with pytest.raises(PrivityError, match="0 left of 1 "):
            rho_charge(ledger, "more", rho / 1000, **limits)
    # Another run's delta comes on top, where there is room for its epsilon.
    ledger.change(declared(total=9, delta=SMALL).population, ledger.population)
    with pytest.raises(PrivityError, match="asked delta 1e-9, 0 left of 1e-9 "):
        rho_charge(ledger, "0", rho / 1000, run="s")
    assert (ledger.spent(), ledger.spent_delta(), len(charges(ledger))) == (1, SMALL, 4)


def test_a_run_that_begins_pays_for_its_end_at_once():
    """What stopping early would cost is due with the first step: it is refused where that is not left."""
    rho, first = RHO_BUDGET.rho / 10**6, RHO_BUDGET.filter().spent(RHO_BUDGET.rho / 10**6)
    assert Fraction(2, 5) < first < 1
    ledger = declared(total=first * Fraction(99, 100), delta=SMALL)
    with pytest.raises(PrivityError) as caught:
        rho_charge(ledger, "a", rho)
    assert caught.value.code == "budget-exhausted"
    assert (ledger.spent(), charges(ledger)) == (0, [])


def test_rows_of_a_person_count_squared_in_rho():
    ledger = declared(rows=3)
    for step in "ab":
        rho_charge(ledger, step, Fraction(1, 100))
    assert ledger.spent() == RHO_BUDGET.filter(3).spent(Fraction(18, 100))


@pytest.mark.parametrize(
    "change",
    [
        "rho = NULL", "rho = '1/200'", "rho = ''", "terms = '{\"epsilon\": \"2\"}'", "terms = '{}'",
        "delta = '1/2'", "node = 'another'",
    ],
)  # fmt: skip
def test_what_a_line_in_rho_states_cannot_be_changed_or_taken_out(tmp_path, change):
    path = tmp_path / "ledger.sqlite"
    ledger = declared(path)
    rho_charge(ledger, "a", Fraction(1, 100))
    ledger.close()
    with sqlite3.connect(path) as db:
        assert db.execute(f"UPDATE lines SET {change} WHERE kind = 'charge'").rowcount == 1
    db.close()
    with pytest.raises(PrivityError, match="changed or taken out"):
        declared(path)
