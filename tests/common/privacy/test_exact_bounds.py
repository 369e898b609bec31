"""Bounds by fractions lie on the side that they are named after, and close."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy.exact_bounds import (
    as_fraction,
    exp_above,
    log_above,
    log_below,
    power_grid,
    short_above,
    short_below,
    sqrt_above,
)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_logarithms_are_bounded_from_both_sides(x):
    low, high = log_below(x), log_above(x)
    assert low <= high <= low + Fraction(1, 10**30)
    assert float(low) == pytest.approx(math.log(x), abs=1e-12)


def test_logarithms_of_known_numbers():
    ten = Fraction("2.302585092994045684017991454684364207601101488628772976033")
    assert log_below(Fraction(10)) <= ten <= log_above(Fraction(10)) + Fraction(1, 10**50)
    assert log_below(Fraction(1)) == log_above(Fraction(1)) == 0
    assert log_above(Fraction(1, 10**400)) < -921
    assert log_below(Fraction(7, 9)) < log_above(Fraction(7, 9))  # artanh(-1/8), no rounding: the series has a tail
    with pytest.raises(ValueError, match="above 0"):
        log_above(Fraction(0))


@given(st.fractions(Fraction(1, 10**9), 10**6), st.integers(2, 30))
def test_short_numbers_stand_on_both_sides(value, bits):
    below, above = short_below(value, bits), short_above(value, bits)
    assert below <= value <= above
    assert above - below <= value / 2 ** (bits - 1)
    for number in (below, above):
        odd = number.numerator if number.denominator > 1 else number.numerator // (number.numerator & -number.numerator)
        assert odd < 2**bits
        assert number.denominator & (number.denominator - 1) == 0


@given(st.fractions(Fraction(1, 10**9), 10**6), st.integers(2, 30))
def test_a_grid_is_the_power_of_two_of_which_a_value_has_so_many_bits(value, bits):
    grid = power_grid(value, bits)
    assert 2 ** (bits - 1) <= value / grid < 2**bits
    assert grid.numerator & (grid.numerator - 1) == grid.denominator & (grid.denominator - 1) == 0


@given(st.fractions(0, 40, max_denominator=10**6))
def test_the_exponential_is_bounded_from_above_within_a_part_in_a_thousand(x):
    # e^x <= bound, in fractions: ln(bound) is not below x.
    assert log_above(exp_above(x)) >= x
    assert float(exp_above(x)) <= math.exp(x) * 1.001


@given(st.fractions(0, 10**9, max_denominator=10**9))
def test_the_root_is_bounded_from_above_within_1e_minus_18(x):
    root = sqrt_above(x)
    assert root**2 >= x
    assert root == 0 or (root - Fraction(2, 10**18)) ** 2 < x or root <= Fraction(2, 10**18)


@pytest.mark.parametrize("bad", [0.5, True, "1", None, np.float64(1), np.int64(1)])
def test_what_is_not_exact_is_no_fraction(bad):
    with pytest.raises(TypeError, match="epsilon is an exact fraction, never"):
        as_fraction(bad, "epsilon")


def test_what_is_below_0_is_refused():
    assert as_fraction(3, "epsilon") == 3
    assert isinstance(as_fraction(3, "epsilon"), Fraction)
    with pytest.raises(ValueError, match="epsilon is at least 0"):
        as_fraction(Fraction(-1, 3), "epsilon")
