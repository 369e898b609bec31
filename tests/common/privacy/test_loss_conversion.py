"""Conversions between kinds of privacy loss: golden values, directions of rounding, and what is refused."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr

from privity.common.privacy.exact_bounds import log_above, log_below
from privity.common.privacy.loss_conversion import (
    converted,
    rho_within,
    zcdp_to_approximate,
    zcdp_to_approximate_simple,
)
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.privacy_loss import ZCDP, PureDP

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
RHOS = st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6)
DELTAS = st.integers(1, 60).map(lambda k: Fraction(3, 4) ** k) | st.integers(1, 40).map(lambda k: Fraction(1, 10**k))
UNIT = Fraction(1, 10**12)
ONE, DELTA = Fraction(1), Fraction(1, 10**9)
EPSILONS = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)
DELTAS_OF_RUNS = st.sampled_from([Fraction(1, 1000), Fraction(1, 2**30), DELTA, Fraction(1, 10**20)])


def test_the_simple_bound():
    loss = zcdp_to_approximate_simple(ZCDP(Fraction(1, 2), REPLACE), Fraction(1, 10**6))
    assert float(loss.epsilon) == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(10**6)), abs=2e-12)
    assert float(loss.epsilon) == pytest.approx(5.7565, abs=1e-4)
    assert loss.delta == Fraction(1, 10**6)
    assert loss.relation is REPLACE


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [  # as computed by OpenDP 0.16 (make_zCDP_to_approxDP), which searches with floats
        (Fraction(1, 2), Fraction(1, 10**6), 5.22153444453),
        (Fraction("2.56"), Fraction(1, 10**10), 17.1583087121),
        (Fraction(1, 8), Fraction(1, 10**6), 2.41909317687),
        (Fraction(1, 2), Fraction(1, 10**5), 4.72838698494),
        (Fraction("4.5"), Fraction(1, 10**9), 22.8896138391),
    ],
)
def test_the_tighter_bound_as_others_compute_it(rho, delta, epsilon):
    found = float(zcdp_to_approximate(ZCDP(rho, REPLACE), delta).epsilon)
    # Never below the best order's, and above it only by what an order of a few bits costs.
    assert epsilon - 1e-9 <= found <= epsilon * (1 + 2**-22)


def test_the_noise_of_a_hundred_and_five_tables():
    """Epsilon 1 at delta 2^-30: a standard deviation of 83.9 a cell (privacy.md, 6)."""
    delta = Fraction(1, 2**30)
    for deviation, enough in ((Fraction("83.8"), False), (Fraction("83.92"), True)):
        rho = 105 / deviation**2  # squared L2 sensitivity 2*105, over 2 sigma^2
        assert (zcdp_to_approximate(ZCDP(rho, REPLACE), delta).epsilon <= 1) is enough


def gaussian_epsilon(rho: float, delta: float) -> float:
    """The exact epsilon of the Gaussian mechanism with this rho (Balle and Wang 2018), by root finding."""
    sigma = 1 / math.sqrt(2 * rho)

    def excess(eps: float) -> float:
        away = 1 / (2 * sigma)
        return math.exp(log_ndtr(away - eps * sigma)) - math.exp(eps + log_ndtr(-away - eps * sigma)) - delta

    return brentq(excess, 0, 1000, xtol=1e-12) if excess(0) > 0 else 0.0


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000),
    st.integers(2, 9).map(lambda k: Fraction(1, 10**k)),
)
def test_the_bounds_stand_in_order_above_the_exact_epsilon_of_a_gaussian(rho, delta):
    """A Gaussian has this rho, so a sound conversion is never below its exact epsilon."""
    simple = zcdp_to_approximate_simple(ZCDP(rho, REPLACE), delta)
    tight = zcdp_to_approximate(ZCDP(rho, REPLACE), delta)
    assert gaussian_epsilon(float(rho), float(delta)) <= float(tight.epsilon) + 1e-9
    assert tight.epsilon < simple.epsilon


@given(RHOS, DELTAS)
def test_the_tighter_bound_is_never_above_the_simple_one_and_both_are_rounded_up(rho, delta):
    loss = ZCDP(rho, ADD)
    simple, tight = zcdp_to_approximate_simple(loss, delta), zcdp_to_approximate(loss, delta)
    assert tight.epsilon <= simple.epsilon
    assert tight.delta == simple.delta == delta
    assert tight.relation is ADD
    for bound in (simple, tight):
        assert (bound.epsilon * 10**12).denominator == 1
    # (eps - rho)^2 >= 4 rho ln(1/delta), in fractions: the simple bound is not below the theorem's.
    assert (simple.epsilon - rho) ** 2 >= 4 * rho * log_below(1 / delta)
    less = simple.epsilon - 3 * UNIT - rho
    assert less < 0 or less**2 <= 4 * rho * log_above(1 / delta)


@given(RHOS, DELTAS)
def test_no_order_nearby_gives_a_much_better_bound(rho, delta):
    found = float(zcdp_to_approximate(ZCDP(rho, REPLACE), delta).epsilon)
    r, log_delta = float(rho), math.log(1 / delta)
    middle = math.sqrt(log_delta / r)
    for factor in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 2.0, 5.0, 100.0):
        more = middle * factor
        inner = log_delta - more * math.log1p(1 / more) - math.log1p(more)
        assert found <= max(0.0, r * (1 + more) + inner / more) + 1e-8 * (1 + found)


def test_extremes():
    tiny = Fraction(1, 10**200)
    assert zcdp_to_approximate(ZCDP(0, REPLACE), Fraction(1, 2)).epsilon == 0
    assert 0 < zcdp_to_approximate(ZCDP(tiny, REPLACE), Fraction(1, 10**6)).epsilon <= UNIT
    huge = zcdp_to_approximate(ZCDP(10**12, REPLACE), tiny)
    assert huge == zcdp_to_approximate_simple(ZCDP(10**12, REPLACE), tiny)
    assert zcdp_to_approximate(ZCDP(Fraction(1, 2), REPLACE), Fraction(9, 10)).epsilon == 0


def test_what_is_refused():
    for delta in (Fraction(0), Fraction(1), Fraction(2)):
        for convert in (zcdp_to_approximate, zcdp_to_approximate_simple):
            with pytest.raises(ValueError, match="delta"):
                convert(ZCDP(1, REPLACE), delta)
    with pytest.raises(TypeError, match="exact fraction"):
        zcdp_to_approximate(ZCDP(1, REPLACE), 1e-6)
    with pytest.raises(PrivacyMismatchError, match="ZCDP"):
        zcdp_to_approximate(PureDP(1, REPLACE), Fraction(1, 2))


@given(EPSILONS, DELTAS_OF_RUNS)
def test_the_rho_of_an_epsilon_is_never_above_it_and_within_a_part_in_2_18_of_the_best(epsilon, delta):
    rho = rho_within(epsilon, delta)
    assert zcdp_to_approximate(ZCDP(rho, REPLACE), delta).epsilon <= converted(rho, delta) <= epsilon
    more = rho * (1 + Fraction(1, 2**18))
    assert zcdp_to_approximate(ZCDP(more, REPLACE), delta).epsilon > epsilon
    assert rho.numerator < 2**22


def test_golden_numbers_of_the_rho_of_a_run():
    # 1 = rho + 2 sqrt(rho ln 10^9) gives 0.01185 by the simple bound; the tighter one leaves more.
    assert float(rho_within(ONE, DELTA)) == pytest.approx(0.014973, abs=1e-6)
    assert float(rho_within(Fraction(1, 10), DELTA)) == pytest.approx(1.77138e-4, rel=1e-4)
    for epsilon in ("1", "0.1", "0.4", "1.6", "1.234567", "100", "12.5"):
        # A run that spends all of it has cost its epsilon, in figures that people read.
        assert converted(rho_within(Fraction(epsilon), DELTA), DELTA) == Fraction(epsilon)
    assert converted(Fraction(0), DELTA) == 0


@given(st.lists(st.fractions(Fraction(1, 10**6), 3), min_size=2, max_size=12), DELTAS_OF_RUNS)
def test_less_rho_never_costs_more(rhos, delta):
    ordered = sorted(rhos)
    close = [rho for value in ordered for rho in (value, value * (1 + Fraction(1, 10**9)))]
    found = [converted(rho, delta) for rho in sorted(close)]
    assert all(a <= b for a, b in pairwise(found))
