"""The accountant: each kind of loss is priced by its own theorem, for all rows of a person, and no number is a loss."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy import accountant as module
from privity.common.privacy.accountant import FINE, Accountant, is_short, kept_short
from privity.common.privacy.neighbouring_relation import RELATION, PrivacyMismatchError, Relation
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget

ADD = Relation.ADD_OR_REMOVE_ONE
ONE, DELTA = Fraction(1), Fraction(1, 10**9)
BUDGET = RhoBudget(ONE, DELTA)
SMALL = st.fractions(0, 3, max_denominator=1000)
PURE = st.builds(PureDP, SMALL, st.just(RELATION))
APPROXIMATE = st.builds(ApproxDP, SMALL, st.fractions(0, Fraction(1, 1000), max_denominator=10**9), st.just(RELATION))
IN_RHO = st.builds(ZCDP, st.fractions(0, Fraction(1, 100), max_denominator=10**6), st.just(RELATION))
WHOLE = ZCDP(BUDGET.rho, RELATION)


def after(accountant, *losses):
    for loss in losses:
        accountant = accountant.charged(loss, BUDGET if isinstance(loss, ZCDP) else None)
    return accountant


@given(st.lists(PURE | APPROXIMATE | IN_RHO, max_size=12), st.integers(1, 5))
def test_each_kind_is_priced_for_a_person_by_its_own_theorem(losses, rows):
    """epsilon and delta step by step, rho along the order of the run's budget, and its delta once."""
    found = after(Accountant(rows), *losses)
    rho = sum((loss.rho for loss in losses if isinstance(loss, ZCDP)), Fraction(0))
    others = [loss.scaled(rows) for loss in losses if not isinstance(loss, ZCDP)]
    epsilon = sum((loss.epsilon for loss in others), Fraction(0))
    delta = sum((loss.delta for loss in others if isinstance(loss, ApproxDP)), Fraction(0))
    began = any(isinstance(loss, ZCDP) for loss in losses)
    assert found.spent == ApproxDP(
        epsilon + BUDGET.filter(rows).spent(rows**2 * rho), min(ONE, delta + (DELTA if began else 0)), RELATION
    )
    assert found.exact


@given(st.lists(PURE | APPROXIMATE | IN_RHO, max_size=8), st.integers(1, 5), st.randoms())
def test_the_order_of_charges_changes_nothing(losses, rows, order):
    others = list(losses)
    order.shuffle(others)
    assert after(Accountant(rows), *losses).spent == after(Accountant(rows), *others).spent


def test_all_of_a_budget_in_rho_costs_its_epsilon_and_delta_and_two_budgets_each_their_own():
    other = RhoBudget(Fraction(2), 2 * DELTA)
    assert Accountant().charged(WHOLE, BUDGET).spent == ApproxDP(ONE, DELTA, RELATION)
    both = Accountant().charged(WHOLE, BUDGET).charged(ZCDP(other.rho, RELATION), other)
    assert both.spent == ApproxDP(Fraction(3), 3 * DELTA, RELATION)
    assert Accountant().spent == ApproxDP(Fraction(0), Fraction(0), RELATION)


def test_a_loss_of_a_person_is_not_priced_for_every_row_again():
    loss = ApproxDP(ONE, DELTA, RELATION)
    assert Accountant(3).charged(loss, for_a_person=True).spent == loss
    assert Accountant(3).charged(loss).spent == loss.scaled(3)


@pytest.mark.parametrize("loss", [PureDP(1, ADD), ApproxDP(ONE, DELTA, ADD), ZCDP(Fraction(1, 1000), ADD)])
def test_losses_for_other_neighbours_are_refused(loss):
    """They would be told as losses for a replaced row."""
    budget = BUDGET if isinstance(loss, ZCDP) else None
    for ask in (
        lambda: Accountant().charged(loss, budget),
        lambda: Accountant(3).charged(loss, budget),
        lambda: Accountant(3).charged(loss, budget, for_a_person=True),
    ):
        with pytest.raises(PrivacyMismatchError, match="add or remove one row"):
            ask()


def test_rho_without_a_budget_has_no_price():
    """It adds to no epsilon, and no order is there to charge it along."""
    with pytest.raises((ValueError, TypeError)):
        Accountant().charged(ZCDP(Fraction(1, 1000), RELATION))


@pytest.mark.parametrize("number", [ONE, 1, 1.0, "1", None], ids=repr)
def test_a_raw_number_is_no_charge(number):
    before = Accountant()
    for ask in (
        lambda: before.charged(number),
        lambda: before.charged(number, BUDGET),
        lambda: before.charged(number, for_a_person=True),
    ):
        with pytest.raises((TypeError, AttributeError)):
            ask()
    assert before == Accountant()


def test_a_sum_whose_denominator_grows_long_is_rounded_up_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_BITS", 100)
    first, second = Fraction(1, 2**61 - 1), Fraction(1, 2**89 - 1)
    found = after(Accountant(), PureDP(first, RELATION))
    assert found.exact
    found = after(found, PureDP(second, RELATION))
    assert not found.exact
    assert first + second <= found.epsilon <= first + second + Fraction(1, FINE)
    assert not after(found, PureDP(0, RELATION)).exact, "once rounded, it stays so"
    assert is_short(first)
    assert not is_short(first, first * second)
    assert kept_short(first) == first
