"""What many tables cost together: golden figures, and every bound against an exact computation of small cases."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.advanced_composition import (
    Accounting,
    advanced_epsilon,
    calibrate,
    holds,
)
from privity.common.privacy.mechanisms import SharedDiscreteGaussian
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, LEAST_SHARE, NoiseLaw
from privity.common.privacy.zcdp_budget import SHARED_SLACK, GaussianTerms, RhoBudget

DELTA = Fraction(1, 2**30)
ONE = Fraction(1)


@pytest.mark.parametrize(("attributes", "part"), [(14, "0.014782"), (27, "0.007791"), (9, "0.022579")])
def test_advanced_composition_is_that_of_the_copula_paper(attributes, part):
    """Asghar et al. 2019, section 4.2: these parts of epsilon give just under 1."""
    tables = attributes + math.comb(attributes, 2)
    assert 0.9998 < advanced_epsilon(Counter({Fraction(part): tables}), DELTA) < 1
    found = 2 / calibrate([1] * tables, ONE, DELTA).unit
    assert float(found) == pytest.approx(float(part), abs=1.1e-6)


def found_for(composition, weights, epsilon, delta):
    """The least noise: of a round of its own, or with the whole of a run's budget in rho."""
    if composition == "zcdp":
        return RhoBudget(epsilon, delta).terms(epsilon, weights, 1)
    return calibrate(weights, epsilon, delta)


@pytest.mark.parametrize(("composition", "deviation"), [("advanced", 191.3), ("zcdp", 83.91)], ids=lambda v: str(v))
def test_the_noise_of_a_cell_of_105_tables(composition, deviation):
    """docs/privacy.md, "Budgets"."""
    law = found_for(composition, [1] * 105, ONE, DELTA).law(1)
    variance = law.share_variance(1)
    assert math.sqrt(variance) == pytest.approx(deviation, abs=0.1)


def one_cell(law):
    """The loss of a cell that moves by one, and its chances: by enumeration of the noise."""
    scale = float(law.scale)
    reach = int(40 * scale) if law.name == LAPLACE else int(10 * math.sqrt(scale)) + 10
    z = np.arange(-reach, reach + 1)
    logs = -np.abs(z) / scale if law.name == LAPLACE else -(z**2) / (2 * scale)
    chances = np.exp(logs) / np.exp(logs).sum()
    return np.diff(logs), chances[1:]


def exact_delta(laws, epsilon):
    """Delta of tables of which each moves in two cells, by convolution of their losses."""
    # Laplace losses lie on a grid; Gaussian ones are put on one, fine beside what the theorem gives away.
    digits = 9 if laws[0].name == LAPLACE else 3
    losses, chances = np.zeros(1), np.ones(1)
    for law in [law for law in laws for _cell in range(2)]:
        loss, chance = one_cell(law)
        joined = np.round((losses[:, None] + loss[None, :]).ravel(), digits)
        losses, places = np.unique(joined, return_inverse=True)
        chances = np.bincount(places, weights=(chances[:, None] * chance[None, :]).ravel())
    return float((chances * np.maximum(0, 1 - np.exp(np.minimum(0, epsilon - losses)))).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("composition", ["advanced", "zcdp"])
@pytest.mark.parametrize("weights", [[1], [1, 1], [3, 1, 1]])
@pytest.mark.parametrize(("epsilon", "delta"), [(ONE, Fraction(1, 1000)), (Fraction(3), Fraction(1, 10**5))])
def test_calibrated_noise_keeps_the_promise_and_less_is_refused(composition, weights, epsilon, delta):
    found = found_for(composition, weights, epsilon, delta)
    laws = [found.law(weight) for weight in weights]
    assert exact_delta(laws, float(epsilon)) <= float(delta) * 1.0001
    if isinstance(found, GaussianTerms):
        found.check(weights)
        with pytest.raises(PrivityError, match="the noise is too small for rho"):
            replace(found, unit=found.unit * Fraction(9999, 10000)).check(weights)
        return
    found.check(weights, epsilon)
    less = Accounting(delta, found.unit * Fraction(9999, 10000))
    with pytest.raises(PrivityError, match="the noise is too small for epsilon"):
        less.check(weights, epsilon)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.fractions(Fraction(1, 50), 5, max_denominator=100),
    st.integers(1, 12),
)
def test_calibrated_noise_is_certified_short_and_nearly_the_least(weights, epsilon, digits):
    delta = Fraction(1, 10**digits)
    found = calibrate(weights, epsilon, delta)
    groups = tuple(Counter(weights).items())
    assert holds(found.unit, groups, epsilon, delta)
    assert not holds(found.unit * Fraction(65_000, 65_536), groups, epsilon, delta)
    for weight in set(weights):
        law = found.law(weight)
        law.check(1)
        assert law.scale.denominator < 2**30


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Accounting(Fraction(0), ONE), "does not lie between"),
        (Accounting(ONE, ONE), "does not lie between"),
        (Accounting(DELTA, Fraction(0)), "not positive"),
        (Accounting(DELTA, Fraction(1, 100)), "too small for epsilon 1"),
    ],
)
def test_accounting_that_does_not_hold_is_refused(wrong, said):
    with pytest.raises(PrivityError, match=said) as caught:
        wrong.check([1, 1], ONE)
    assert caught.value.code == "step-refused"


def test_an_epsilon_for_which_no_noise_is_enough_ends():
    with pytest.raises(PrivityError, match="too small for noise that can be drawn"):
        calibrate([1], Fraction(1, 10**50), Fraction(1, 10**20))


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 20), Fraction(1, 2), Fraction(2), Fraction(5)])
def test_the_variance_of_little_gaussian_noise(sigma_squared):
    z = np.arange(-60, 61)
    law = np.exp(-(z**2) / (2 * float(sigma_squared)))
    wanted = (z**2 * law).sum() / law.sum()
    assert NoiseLaw(GAUSSIAN, sigma_squared).share_variance(1) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_shares_of_gaussian_noise_add_up_to_it_within_the_proved_distance(parties):
    """By convolution, at so small a noise that the distance is no rounding error."""
    share = Fraction(1, 2)
    shared = SharedDiscreteGaussian(share * (parties - 1), parties, 1)
    z = np.arange(-60, 61)
    one = np.exp(-(z**2) / (2 * float(share)))
    one /= one.sum()
    total = one
    for _ in range(shared.quota - 1):
        total = np.convolve(total, one, mode="same")
    whole = np.exp(-(z**2) / (2 * float(shared.sigma_squared)))
    whole /= whole.sum()
    middle = np.abs(z) <= 5
    apart = np.abs(np.log(total[middle] / whole[middle])).max()
    assert apart <= shared.distance
    assert apart > shared.distance / 100 or parties == 2


def test_shares_of_what_is_allowed_are_gaussian_for_all_purposes():
    shared = SharedDiscreteGaussian(LEAST_SHARE * Fraction(99), 100, 1)
    # Twice two cells of 2^24 tables, and still far within the slack of the accounting.
    assert shared.distance * 2**26 < SHARED_SLACK
