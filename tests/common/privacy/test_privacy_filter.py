"""What a run in rho has cost when it stops: held against the best stopping rule, computed by backward induction.

The game: a run of equal releases of rho under Gaussian noise may stop after any of them, by what came out; the rest of
the population's epsilon then goes to another run. The best an adversary can do is an optimal stopping problem over the
privacy loss L so far. Its value is the delta that the whole really needs at the total epsilon; over the total delta
that is charged it must be at most 1. To convert the rho so far at the run's delta, which is no filter, fails.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import norm

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.loss_conversion import (
    _best_order,
    best_order,
    conversion_constant,
    converted,
    likely_rho,
    rho_within,
    zcdp_to_approximate,
)
from privity.common.privacy.mechanisms import ExponentialMechanism
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_filter import PrivacyFilter
from privity.common.privacy.privacy_loss import ZCDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from tests.harness.ledgers import declared

DELTA = Fraction(1, 10**9)
GRID = 6_001


def along_one_order(rho_budget, rho):
    return rho_budget.filter().spent(rho)


def rho_so_far_converted(rho_budget, rho):
    """What is no filter, up to the rounding of floats."""
    return _best_order(float(rho), -math.log(rho_budget.delta))[1]


def hockey(gap):
    """(1 - e^-gap)_+ of a loss that is ``gap`` above what was charged."""
    return np.maximum(0, -np.expm1(np.minimum(0, -gap)))


def rest_by_a_pure_run(loss, total, rest, _delta):
    """Delta that remains when the rest is spent by a pure mechanism with the worst loss, of two outcomes."""
    chance = 1 / (1 + math.exp(-rest))
    return chance * hockey(loss + rest - total) + (1 - chance) * hockey(loss - rest - total)


def rest_by_a_run_in_rho(loss, total, rest, delta):
    """The same when it is spent by one release of Gaussian noise that costs exactly (rest, delta)."""
    if rest < 1e-6:
        return hockey(loss - total)
    rho = float(likely_rho(Fraction(rest), delta))
    # L + L' with L' ~ N(rho, 2 rho): E (1 - e^(total - L - L'))_+ in closed form.
    gap, deviation = total - loss, math.sqrt(2 * rho)
    return norm.sf((gap - rho) / deviation) - np.exp(np.minimum(gap, 700)) * norm.sf((gap + rho) / deviation)


RESTS = {"pure": (rest_by_a_pure_run, 1), "rho": (rest_by_a_run_in_rho, 2)}
"""How the rest is spent, and how many deltas the two runs are charged together."""


def needed(epsilon, delta, steps, charged, spend_rest, deltas):
    """Delta that is needed at the total epsilon, over what is charged, under the best stopping rule."""
    rho_budget = RhoBudget(Fraction(epsilon), delta)
    rhos = [rho_budget.rho * k / steps for k in range(1, steps + 1)]
    spent = [min(float(charged(rho_budget, rho)), float(epsilon)) for rho in rhos]
    each = float(rho_budget.rho) / steps
    deviation = math.sqrt(2 * each)
    loss = np.linspace(-2 * epsilon, 3 * epsilon + 8 * math.sqrt(2 * float(rho_budget.rho)), GRID)
    width = loss[1] - loss[0]
    reach = math.ceil(10 * deviation / width)
    assert reach >= 8, "the grid is too coarse for so small a step"
    offsets = np.arange(-reach, reach + 1) * width
    weights = np.exp(-((offsets - each) ** 2) / (2 * deviation**2))
    weights /= weights.sum()

    def stopped(k):
        return spend_rest(loss, float(epsilon), max(0.0, float(epsilon) - spent[k]), delta)

    value = stopped(steps - 1)
    for k in range(steps - 2, -1, -1):
        goes_on = fftconvolve(np.pad(value, (reach, reach), mode="edge"), weights[::-1], mode="valid")
        value = np.maximum(goes_on, stopped(k))
    first = np.linspace(-12, 12, 40_001)
    chances = norm.pdf(first)
    chances /= chances.sum()
    return float((chances * np.interp(each + deviation * first, loss, value)).sum()) / (deltas * float(delta))


POINTS = [(1, DELTA), (1, Fraction(1, 10**6)), (4, Fraction(1, 10**6))]


@pytest.mark.statistical
@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize("steps", [1, 5, 20, 60, pytest.param(150, marks=pytest.mark.long)])
def test_no_stopping_rule_needs_more_delta_than_is_charged(steps, epsilon, delta, rest):
    spend_rest, deltas = RESTS[rest]
    assert needed(epsilon, delta, steps, along_one_order, spend_rest, deltas) <= 1


@pytest.mark.parametrize(("steps", "at_least"), [(20, 1.1), (60, 1.8), (150, 2.4)])
def test_rho_so_far_converted_fails_the_same_test(steps, at_least):
    spend_rest, deltas = RESTS["pure"]
    assert needed(1, DELTA, steps, rho_so_far_converted, spend_rest, deltas) > at_least


EPSILONS = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(1, 1000), Fraction(1, 2**30), DELTA, Fraction(1, 10**20)])


@given(EPSILONS, DELTAS, st.integers(1, 30), st.fractions(0, 2, max_denominator=10**6))
def test_the_charge_is_linear_at_least_the_theorems_and_the_whole_costs_exactly_epsilon(epsilon, delta, rows, part):
    rho_budget = RhoBudget(epsilon, delta)
    found = rho_budget.filter(rows)
    assert found.constant >= conversion_constant(found.order, delta)
    assert found.cap == rows**2 * rho_budget.rho
    assert found.spent(found.cap) == found.epsilon
    assert found.epsilon == (epsilon if rows == 1 else converted(found.cap, delta))
    assert found.spent(Fraction(0)) == 0
    rho = part * found.cap
    if rho:
        exact = max(Fraction(0), found.order * rho + found.constant)
        assert exact <= found.spent(rho) < exact + Fraction(2, 10**12)
        # At any stopping time at least what the rho so far converts to.
        assert found.spent(rho) >= zcdp_to_approximate(ZCDP(rho, RELATION), delta).epsilon - Fraction(1, 10**12)


@given(st.fractions(Fraction(1, 10**6), 3), DELTAS)
def test_the_order_is_short_and_no_neighbour_is_better(rho, delta):
    order = best_order(rho, delta)

    def bound(alpha):
        return alpha * rho + conversion_constant(alpha, delta)

    for factor in (Fraction(1, 3), Fraction(99, 100), Fraction(101, 100), Fraction(3)):
        assert bound(order) <= bound(1 + (order - 1) * factor)
    more = order - 1
    assert more.denominator & (more.denominator - 1) == 0
    assert bound(order) <= zcdp_to_approximate(ZCDP(rho, RELATION), delta).epsilon * (1 + Fraction(1, 10**6))


def test_a_cap_that_costs_more_than_it_claims_is_refused():
    rho = rho_within(Fraction(1), DELTA)
    PrivacyFilter(rho, Fraction(1), DELTA)
    with pytest.raises(ValueError, match="costs more"):
        PrivacyFilter(rho * Fraction(1001, 1000), Fraction(1), DELTA)


def test_a_run_that_stops_early_costs_more_than_its_rho_alone_and_a_full_one_exactly_epsilon():
    """In the ledger: about half of epsilon at the first step, the rest along a line, in whatever steps."""
    rho_budget, ledger = RhoBudget(Fraction(1), DELTA), declared()
    allowance = Allowance(Fraction(1), DELTA, budget=rho_budget)

    def charge(step, loss):
        ledger.charge(Charge("r", step, loss), allowance, "hospital")

    first = ExponentialMechanism(Fraction(1, 8)).loss(RELATION)
    charge("select", first)
    assert float(ledger.spent()) == pytest.approx(0.5461, abs=1e-3)
    assert float(converted(first.rho, DELTA)) == pytest.approx(0.3468, abs=1e-3)
    rest = rho_budget.rho - first.rho
    for step in range(4):
        charge(f"{step}", ZCDP(rest / 4, RELATION))
    assert (ledger.spent(), ledger.spent_delta()) == (1, DELTA)
    with pytest.raises(PrivityError, match="0 left of 1"):
        charge("more", ZCDP(rest / 1000, RELATION))


def test_interleaved_runs_and_pure_lines_add_up_and_each_delta_counts_once():
    ledger, rho_budgets = declared(), [RhoBudget(Fraction(1), DELTA), RhoBudget(Fraction(1, 2), 2 * DELTA)]
    spent = [Fraction(0), Fraction(0)]
    for step in range(6):
        rho_budget = rho_budgets[step % 2]
        rho = rho_budget.rho / 5
        allowance = Allowance(rho_budget.epsilon, rho_budget.delta, rho_budget)
        ledger.charge(Charge(f"run-{step % 2}", f"{step}", ZCDP(rho, RELATION)), allowance, "hospital")
        spent[step % 2] += rho
        ledger.charge(Charge(f"pure-{step}", "a", PureDP(Fraction(1, 100), RELATION)), Allowance(), "hospital")
        expected = sum(one.filter().spent(rho) for one, rho in zip(rho_budgets, spent, strict=True))
        assert ledger.spent() == expected + Fraction(step + 1, 100)
        deltas = (one.delta for one, rho in zip(rho_budgets, spent, strict=True) if rho)
        assert ledger.spent_delta() == sum(deltas)
