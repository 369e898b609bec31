"""The law of a noise: its variance, as reports tell it, and what the exact samplers do not serve."""

from fractions import Fraction

import numpy as np
import pytest

from privity.common.errors import PrivityError
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, LEAST_SHARE, NoiseLaw, check_scale


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 20), Fraction(1, 2), Fraction(2), Fraction(5)])
def test_the_variance_of_little_gaussian_noise(sigma_squared):
    z = np.arange(-60, 61)
    law = np.exp(-(z**2) / (2 * float(sigma_squared)))
    wanted = (z**2 * law).sum() / law.sum()
    assert NoiseLaw(GAUSSIAN, sigma_squared).share_variance(1) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "quota", "said"),
    [
        (NoiseLaw(LAPLACE, Fraction(10**17)), 1, "too large"),
        (NoiseLaw(LAPLACE, Fraction(1, 10**299)), 1, "too many digits"),
        (NoiseLaw(GAUSSIAN, Fraction(10**17)), 1, "too large"),
        (NoiseLaw(GAUSSIAN, Fraction(0)), 1, "at least 2"),
        (NoiseLaw(GAUSSIAN, LEAST_SHARE * 3 - Fraction(1, 100)), 3, "too small to be shared"),
        (NoiseLaw("rounded Gaussian", Fraction(1)), 1, "no noise of the name"),
    ],
)
def test_noise_that_cannot_be_drawn_is_refused(law, quota, said):
    with pytest.raises(PrivityError, match=said) as caught:
        law.check(quota)
    assert caught.value.code == "step-refused"


def test_noise_that_can_be_drawn_is_served():
    NoiseLaw(LAPLACE, Fraction(1, 3)).check(5)
    NoiseLaw(GAUSSIAN, Fraction(1, 3)).check(1)
    NoiseLaw(GAUSSIAN, Fraction(LEAST_SHARE * 3)).check(3)
    check_scale(Fraction(1, 3))
