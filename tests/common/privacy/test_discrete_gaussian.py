"""The discrete Gaussian sampler follows its law; a sigma of 30 % more or less is told apart."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privity.common.privacy import discrete_gaussian as sampler
from privity.common.privacy.discrete_gaussian import LARGEST_GRID, check_sigma_squared, discrete_gaussian
from privity.common.privacy.discrete_laplace import bernoulli_exp_product
from privity.common.privacy.random_bits import SeededEntropy


def entropy(label: str) -> SeededEntropy:
    return SeededEntropy(b"gaussian tests", label)


def p_value(draws: np.ndarray, sigma_squared: float) -> float:
    """Chi-square of draws against the law, in at most 60 classes of which each expects 20 or more."""
    reach = math.ceil(12 * math.sqrt(sigma_squared)) + 2
    values = np.arange(-reach, reach + 1)
    law = np.exp(-(values.astype(float) ** 2) / (2 * sigma_squared))
    expected = law / law.sum() * draws.size
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=values.size)
    target = max(20.0, draws.size / 60)
    sums: list[list[float]] = [[0.0, 0.0]]
    for e, o in zip(expected, observed, strict=True):
        if sums[-1][0] >= target:
            sums.append([0.0, 0.0])
        sums[-1][0] += e
        sums[-1][1] += o
    if sums[-1][0] < 20:
        last = sums.pop()
        sums[-1] = [sums[-1][0] + last[0], sums[-1][1] + last[1]]
    table = np.array(sums)
    return float(stats.chi2.sf(((table[:, 1] - table[:, 0]) ** 2 / table[:, 0]).sum(), len(sums) - 1))


@pytest.mark.parametrize(
    "sigma_squared",
    [Fraction(text) for text in ("1/3", "4/5", "1", "2", "7/2", "49", "7039", "105000000/14913", "100000000")],
)
def test_the_law_is_accepted_and_a_sigma_30_percent_off_is_not(sigma_squared):
    draws = discrete_gaussian(sigma_squared, 40_000, entropy(str(sigma_squared)))
    assert draws.dtype == np.int64
    assert p_value(draws, float(sigma_squared)) > 1e-5
    assert p_value(draws, float(sigma_squared) * 1.3**2) < 1e-20
    assert p_value(draws, float(sigma_squared) / 1.3**2) < 1e-20


def test_fractions_with_long_terms_have_the_same_law():
    """sigma^2 of about 3.5 whose terms use up the limits; and the largest and smallest sigma."""
    long = Fraction(3_500_000_000_000_017, 10**15)
    assert p_value(discrete_gaussian(long, 20_000, entropy("long")), 3.5) > 1e-5
    wide = discrete_gaussian(Fraction(2**50 - 1), 2_000, entropy("wide"))
    assert 0.85 < np.var(wide / 2**25) < 1.15
    assert not discrete_gaussian(Fraction(1, 2**40), 1_000, entropy("narrow")).any()


def test_moments():
    draws = discrete_gaussian(Fraction(100), 100_000, entropy("moments"))
    assert abs(draws.mean()) < 4.5 * 10 / math.sqrt(draws.size)
    assert abs(draws.var() / 100 - 1) < 4.5 * math.sqrt(2 / draws.size)
    assert abs(stats.kurtosis(draws)) < 0.1  # a Laplace variable has 3


def test_odd_neighbours_keep_their_exact_ratio():
    """P(1)/P(0) = exp(-1/(2 s2)) at a small sigma, where a rounded continuous Gaussian would differ."""
    draws = discrete_gaussian(Fraction(1, 4), 200_000, entropy("ratio"))
    ratio = np.sum(np.abs(draws) == 1) / 2 / np.sum(draws == 0)
    assert ratio == pytest.approx(math.exp(-2), rel=0.03)
    rounded = (stats.norm.cdf(3) - stats.norm.cdf(1)) / (stats.norm.cdf(1) - stats.norm.cdf(-1))
    assert abs(ratio - rounded) > 0.05


@given(st.integers(1, 10**12), st.integers(1, 10**9), st.integers(0, 40))
def test_every_parameter_within_the_limits_gives_plausible_draws(top, bottom, size):
    sigma_squared = Fraction(top, bottom)
    try:
        check_sigma_squared(sigma_squared)
    except ValueError:
        with pytest.raises(ValueError, match="sigma squared"):
            discrete_gaussian(sigma_squared, size, entropy("any"))
        return
    draws = discrete_gaussian(sigma_squared, size, entropy(f"any {sigma_squared}"))
    assert draws.shape == (size,)
    assert np.all(np.abs(draws) <= 12 * math.sqrt(sigma_squared) + 2)


def test_a_product_of_factors_is_one_probability():
    size = 60_000
    for u, w in ((Fraction(1, 2), Fraction(2, 3)), (Fraction(1), Fraction(1)), (Fraction(0), Fraction(1))):
        factors = [(np.full(size, x.numerator), x.denominator) for x in (u, w)]
        p = math.exp(-u * w)
        rate = np.mean(bernoulli_exp_product(factors, entropy(f"{u} {w}")))
        assert abs(rate - p) <= 4.5 * math.sqrt(p * (1 - p) / size)


def test_what_is_refused():
    for bad in (Fraction(0), Fraction(-1), Fraction(1, 2**41), Fraction(2**52), Fraction(1, LARGEST_GRID + 1)):
        with pytest.raises(ValueError, match="sigma squared"):
            discrete_gaussian(bad, 1, entropy(""))
    for bad in (1.5, True, "1"):
        with pytest.raises(TypeError, match="exact"):
            discrete_gaussian(bad, 1, entropy(""))
    with pytest.raises(ValueError, match="samples"):
        discrete_gaussian(Fraction(1), -1, entropy(""))
    assert discrete_gaussian(Fraction(1), 0, entropy("")).size == 0


def test_a_proposal_that_could_wrap_is_an_error(monkeypatch):
    for far in (2**10, -(2**10)):
        monkeypatch.setattr(
            sampler, "discrete_laplace", lambda scale, size, _, far=far: np.full(size, far * int(scale))
        )
        with pytest.raises(OverflowError):
            discrete_gaussian(Fraction(5), 3, entropy(""))


def test_the_same_seed_and_label_give_the_same_noise():
    first, second = (discrete_gaussian(Fraction(50), 500, entropy("again")) for _ in range(2))
    assert np.array_equal(first, second)
