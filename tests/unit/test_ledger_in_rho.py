"""Charges in a run's account in rho: after any of them the run has paid what the sum of its rho costs, and no more."""

import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import PrivityError
from common.privacy.concentrated import converted, rho_within
from common.privacy.ledger import Allowance, Charge
from tests.unit.test_ledger import book, charge, charges, settle

RHO = st.fractions(Fraction(1, 10**6), Fraction(1, 2), max_denominator=10**6)
SMALL = Fraction(1, 10**9)
OPEN = Allowance(None, None, None, Fraction(1))


def rho_charge(ledger, step, rho, *, run="r", delta=SMALL, allowance=OPEN):
    ledger.charge(Charge(run, step, Fraction(0), delta, rho), allowance, "hospital")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30), st.data())
def test_what_was_charged_in_rho_is_that_of_the_sum_after_any_prefix(steps, data):
    """Two runs in any order, steps repeated, the ledger opened anew in between, pure charges among them."""
    known, pure = {}, {"a": Fraction(0), "b": Fraction(0)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        ledger = book(path)
        for run, step, again in steps:
            if again:
                ledger.close()
                ledger = book(path)
            if step == 5:
                if not pure[run]:
                    charge(ledger, "pure", "1/3", run=run, allowance=OPEN)
                    pure[run] = Fraction(1, 3)
            else:
                rho = known.setdefault((run, step), data.draw(RHO))
                rho_charge(ledger, str(step), rho, run=run)
            for name in "ab":
                spent = sum((amount for (of, _), amount in known.items() if of == name), Fraction(0))
                assert ledger.spent(name) == converted(spent, SMALL) + pure[name]
                assert ledger.spent_delta(name) == (SMALL if spent else 0)
        assert ledger.spent() == ledger.spent("a") + ledger.spent("b")
        ledger.close()
        other = book(path)
        assert (other.spent(), other.spent_delta()) == (ledger_sum(other, "epsilon"), ledger_sum(other, "delta"))


def ledger_sum(ledger, what):
    return sum((getattr(line, what) for line in charges(ledger)), Fraction(0))


def test_a_step_in_rho_states_the_same_rho_and_delta_or_is_refused():
    ledger = book()
    rho_charge(ledger, "a", Fraction(1, 100))
    rho_charge(ledger, "b", Fraction(1, 50))
    spent = ledger.spent()
    rho_charge(ledger, "a", Fraction(1, 100))
    rho_charge(ledger, "b", Fraction(1, 50))
    assert (ledger.spent(), len(charges(ledger))) == (spent, 2)
    for step, rho, delta in (("a", "1/50", SMALL), ("b", "1/50", 2 * SMALL), ("c", "1/50", 2 * SMALL)):
        with pytest.raises(PrivityError, match="answered before with other content"):
            rho_charge(ledger, step, Fraction(rho), delta=delta)
    with pytest.raises(PrivityError, match="answered before with other content"):
        charge(ledger, "b", charges(ledger)[1].epsilon, allowance=OPEN)
    rho_charge(ledger, "a", Fraction(1, 50), run="another", delta=2 * SMALL)
    for wrong in (Charge("r", "d", Fraction(1), SMALL, Fraction(1)), Charge("r", "d", Fraction(0), Fraction(0), SMALL)):
        with pytest.raises(ValueError, match="in rho"):
            ledger.charge(wrong, OPEN, "hospital")
    with pytest.raises(ValueError, match="negative"):
        rho_charge(ledger, "d", Fraction(-1))


def test_a_charge_in_rho_is_refused_where_the_sum_goes_beyond_the_limits():
    ledger, rho = book(), rho_within(Fraction(1), SMALL)
    allowance = Allowance(Fraction(1), Fraction(1), SMALL, SMALL)
    for step in range(4):
        rho_charge(ledger, str(step), rho / 4, allowance=allowance)
    assert (ledger.spent(), ledger.spent_delta()) == (1, SMALL)
    with pytest.raises(PrivityError, match="0 left of 1 "):
        rho_charge(ledger, "more", rho / 1000, allowance=allowance)
    with pytest.raises(PrivityError, match="asked delta"):
        rho_charge(ledger, "0", rho / 1000, run="s", allowance=Allowance(None, None, SMALL, SMALL))


def test_rows_of_a_person_count_squared_in_rho():
    ledger, allowance = book(), Allowance(None, None, None, Fraction(1), rows_per_person=3)
    for step in "ab":
        asked = allowance.for_a_person(Charge("r", step, Fraction(0), SMALL, Fraction(1, 100)))
        ledger.charge(asked, allowance, "hospital")
    assert ledger.spent() == converted(Fraction(18, 100), SMALL)


def test_a_ledger_of_the_version_before_is_continued(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = book(path)
    charge(ledger, "a", "1/4")
    settle(ledger, "answer")
    end = ledger.end()
    ledger.close()
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE charges DROP COLUMN rho")
        db.execute("UPDATE about SET value = '1' WHERE key = 'format_version'")
    ledger = book(path)
    assert charges(ledger) == [Charge("r", "a", Fraction(1, 4))]
    ledger.check_extends(*end)
    rho_charge(ledger, "b", Fraction(1, 100))
    ledger.close()
    assert len(charges(book(path))) == 2


@pytest.mark.parametrize("rho", [None, "1/200", ""])
def test_the_rho_of_a_line_cannot_be_changed_or_taken_out(tmp_path, rho):
    path = tmp_path / "ledger.sqlite"
    ledger = book(path)
    rho_charge(ledger, "a", Fraction(1, 100))
    ledger.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE charges SET rho = ?", (rho,))
    with pytest.raises(PrivityError, match="changed or taken out"):
        book(path)
