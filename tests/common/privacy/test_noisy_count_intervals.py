"""Error bars: the least half-width that the exact law of all shares gives, held against sums term by term and draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import LEVEL, deviations, half_width
from privity.common.privacy.random_bits import SeededEntropy


def laplace(scale) -> NoiseLaw:
    return NoiseLaw(LAPLACE, Fraction(scale))


def inside_by_hand(scale: float, variables: float, h: int) -> float:
    """Pr[|A - B| <= h] of two negative binomial variables, summed term by term."""
    values = np.arange(int(scale * (60 + 6 * variables)) + 50)
    chances = nbinom.pmf(values, variables, -math.expm1(-1 / scale))
    law = np.convolve(chances, chances[::-1])
    middle = len(values) - 1
    return float(law[middle - h : middle + h + 1].sum())


@given(
    st.fractions(Fraction(1, 2), 60, max_denominator=20),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(1, 5),
)
def test_the_half_width_is_the_least_that_holds_the_level(scale, quota, more, cells):
    variables = Fraction(quota + more - 1, quota)
    h = half_width(laplace(scale), variables, cells)
    together = float(variables) * cells
    assert inside_by_hand(float(scale), together, h) >= float(LEVEL) - 1e-9
    assert h == 0 or inside_by_hand(float(scale), together, h - 1) < float(LEVEL) + 1e-9


def test_one_variable_has_the_closed_form():
    # Pr[|X| > h] = 2 a^(h+1) / (1 + a), a = exp(-1/b).
    for b in (3, 70, 4200):
        h = half_width(laplace(b), Fraction(1))
        beyond = [2 * math.exp(-(k + 1) / b) / (1 + math.exp(-1 / b)) for k in (h - 1, h)]
        assert beyond[1] <= 0.05 < beyond[0]


@pytest.mark.long
@pytest.mark.statistical
def test_a_wide_law_is_a_narrow_one_stretched():
    for variables in (Fraction(1), Fraction(3, 2), Fraction(40)):
        narrow, wide = (half_width(laplace(b), variables) for b in (10_000, 10_000_000))
        assert wide == pytest.approx(1000 * narrow, rel=2e-4)


@pytest.mark.parametrize("law", [laplace(40), NoiseLaw(GAUSSIAN, Fraction(900))], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(("parties", "tolerate"), [(1, 0), (3, 1), (5, 2)])
def test_the_noise_of_all_shares_is_within_as_often_as_said(law, parties, tolerate):
    quota, draws = parties - tolerate, 20_000
    noise = sum(law.share(quota, draws, SeededEntropy(b"error bars", f"{law.name} {k}")) for k in range(parties))
    inside = np.mean(np.abs(noise) <= half_width(law, Fraction(parties, quota)))
    # Five standard deviations of the part of so many draws.
    assert abs(inside - 0.95) < 5 * math.sqrt(0.05 * 0.95 / draws) + 0.005
    # One variable alone would promise too much where there are more.
    if parties > 1:
        assert np.mean(np.abs(noise) <= half_width(law, Fraction(1))) < 0.945


def test_what_is_no_level_or_no_noise_is_refused():
    for level in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="level"):
            half_width(laplace(3), Fraction(1), 1, level)
    with pytest.raises(ValueError, match="one variable"):
        half_width(laplace(3), Fraction(1, 2))


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("cells", [1, 3, 200])
def test_deviations_of_a_kurtosis_are_those_of_the_law_that_has_it(law, cells):
    noise = NoiseLaw(law, Fraction(400 if law == GAUSSIAN else 20))
    deviation = math.sqrt(noise.share_variance(1) * cells)
    for level in (Fraction(1, 2), Fraction(19, 20), Fraction(9999, 10000)):
        wanted = half_width(noise, Fraction(1), cells, level)
        found = deviations(3 / cells if law == LAPLACE else 0.0, level)
        assert found * deviation == pytest.approx(wanted, abs=1, rel=0.02)
