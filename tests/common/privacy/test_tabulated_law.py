"""Tables of laws against fractions of many digits, draws whose first word does not decide, and laws told apart."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy.discrete_gaussian import discrete_gaussian
from privity.common.privacy.discrete_laplace import noise_share
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.tabulated_law import (
    Ratios,
    TabulatedLaw,
    exp_bounds,
    gaussian_ratios,
    polya_ratios,
    worth_a_table,
)
from tests.common.privacy.test_discrete_gaussian import p_value
from tests.common.privacy.test_discrete_laplace import ACCEPT, REJECT, entropy, shares_pmf, surprise

SCALES = st.fractions(min_value=Fraction(1, 40), max_value=12, max_denominator=50)
QUOTAS = st.integers(1, 60)


class Given:
    """Words that are given, in their order."""

    private = False

    def __init__(self, words: Iterable[int]) -> None:
        self._data = b"".join(word.to_bytes(8, "little") for word in words)

    def take(self, count: int) -> bytes:
        taken, self._data = self._data[:count], self._data[count:]
        assert len(taken) == count
        return taken


def polya_below(quota: int, scale: Fraction, bits: int, most: int) -> list[int]:
    """floor(2^bits F(k)) for k below ``most``, from the law's formula in numbers of 600 digits."""
    with gmpy2.context(precision=2000):
        a = gmpy2.exp(-gmpy2.mpfr(1) * scale.denominator / scale.numerator)
        weight = (1 - a) ** (gmpy2.mpfr(1) / quota)
        below, found = gmpy2.mpfr(0), []
        for k in range(most):
            below += weight
            found.append(int(gmpy2.floor(below * gmpy2.mpfr(2) ** bits)))
            weight = weight * a * (k * quota + 1) / (quota * (k + 1))
    return found


def gaussian_below(sigma_squared: Fraction, bits: int, most: int) -> list[int]:
    with gmpy2.context(precision=2000):
        inverse = gmpy2.mpfr(1) * sigma_squared.denominator / sigma_squared.numerator
        weights = [(2 if k else 1) * gmpy2.exp(-inverse * k * k / 2) for k in range(most + 200)]
        whole, below, found = gmpy2.fsum(weights), gmpy2.mpfr(0), []
        for weight in weights[:most]:
            below += weight
            found.append(int(gmpy2.floor(below / whole * gmpy2.mpfr(2) ** bits)))
    return found


@given(st.fractions(min_value=0, max_value=300, max_denominator=10**6), st.integers(8, 300))
def test_exponentials_lie_within_their_bounds(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, bits)
    with gmpy2.context(precision=1200):
        true = gmpy2.exp(-gmpy2.mpfr(1) * x.numerator / x.denominator) * gmpy2.mpfr(2) ** bits
        assert low <= true <= high
    assert high - low <= 3


@given(QUOTAS, SCALES, st.sampled_from([64, 128]))
def test_the_table_of_shares_is_that_of_the_law(quota: int, scale: Fraction, bits: int) -> None:
    found = TabulatedLaw(polya_ratios(quota, scale))._floors(bits)
    assert found == polya_below(quota, scale, bits, len(found))
    assert found[-1] == 2**bits - 1
    assert found.index(found[-1]) == len(found) - 1


@given(st.fractions(min_value=Fraction(1, 40), max_value=60, max_denominator=50), st.sampled_from([64, 128]))
def test_the_table_of_gaussian_noise_is_that_of_the_law(sigma_squared: Fraction, bits: int) -> None:
    found = TabulatedLaw(gaussian_ratios(sigma_squared))._floors(bits)
    assert found == gaussian_below(sigma_squared, bits, len(found))


@given(st.data())
def test_a_draw_is_the_first_value_whose_probability_reaches_the_number(data: st.DataObject) -> None:
    """Of numbers next to the table's, too, which 64 or 128 bits do not decide."""
    quota, scale = data.draw(QUOTAS), data.draw(SCALES)
    law = TabulatedLaw(polya_ratios(quota, scale))
    size = len(law._floors(64))
    below = polya_below(quota, scale, 192, size + 200)
    near = st.sampled_from(below[:size])
    lower = st.integers(0, 2**64 - 1)
    number = data.draw(
        st.integers(0, 2**192 - 1)
        | near.flatmap(lambda floor: st.integers(floor - 2, floor + 2))
        | st.builds(lambda floor, more: floor >> 64 << 64 | more, near, lower)
        | st.builds(lambda floor, more: floor >> 128 << 128 | more << 64 | 7, near, lower)
    )
    words = [number >> 128, number >> 64 & 2**64 - 1, number & 2**64 - 1, 1]
    (value,) = law.draw(1, Given(words)).tolist()
    # Beyond the values that were worked out the next one is not known.
    assert value >= len(below) or number <= below[value]
    assert value == 0 or number >= below[min(value, len(below)) - 1]


def test_draws_of_many_words_are_those_of_each() -> None:
    law = TabulatedLaw(polya_ratios(2, Fraction(30)))
    words = np.frombuffer(entropy("words").take(8 * 20_000), dtype="<u8").tolist()
    floors = law._floors(64)
    assert law.draw(len(words), Given(words)).tolist() == [bisect_right(floors, word) for word in words]


def test_a_word_in_the_table_is_decided_by_the_words_after_it() -> None:
    law = TabulatedLaw(polya_ratios(2, Fraction(3)))
    first, second = law._floors(64), law._floors(128)
    for place in (0, 5, len(first) - 1):
        low = second[place] & 2**64 - 1 if second[place] >> 64 == first[place] else None
        assert low is not None
        for following, wanted in ((low - 1, place), (low + 1, place + 1)):
            assert law.draw(1, Given([first[place], following])).tolist() == [wanted]
        third = law._floors(192)[place]
        tail = third & 2**64 - 1
        assert law.draw(1, Given([first[place], low, tail - 1])).tolist() == [place]
        assert law.draw(1, Given([first[place], low, tail + 1])).tolist() == [place + 1]


@pytest.mark.parametrize(("scale", "quota"), [(Fraction(5, 2), 1), (Fraction(5, 2), 2), (Fraction(40), 3)])
def test_many_shares_follow_their_law(scale: Fraction, quota: int) -> None:
    size = 1 << 17
    assert worth_a_table(size, scale)
    draws = noise_share(scale, quota, size, entropy(f"many {scale} {quota}"))
    reach = int(4 * scale) + 2
    assert abs(surprise(draws, shares_pmf(float(scale), 1 / quota), -reach, reach)) < ACCEPT
    for wrong in (0.9, 1.1):
        assert surprise(draws, shares_pmf(wrong * float(scale), 1 / quota), -reach, reach) > REJECT


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 2), Fraction(37, 2), Fraction(900)])
def test_much_gaussian_noise_follows_its_law(sigma_squared: Fraction) -> None:
    size = 1 << 17
    assert worth_a_table(size, math.isqrt(math.ceil(sigma_squared)) + 1)
    draws = discrete_gaussian(sigma_squared, size, entropy(f"many {sigma_squared}"))
    assert p_value(draws, float(sigma_squared)) > 1e-5
    for wrong in (0.9, 1.1):
        assert p_value(draws, float(sigma_squared) * wrong**2) < 1e-10


def test_a_table_is_made_where_it_saves_more_than_it_takes() -> None:
    assert not worth_a_table(1000, 1)
    assert not worth_a_table(10**7, 10**6)
    assert worth_a_table(10**7, 210)
    assert noise_share(Fraction(7), 2, 1 << 17, SystemEntropy()).dtype == np.int64


def test_a_law_of_wrong_ratios_is_another_law() -> None:
    """What the brute force above compares: a ratio that is off by one part in a million shows."""

    def off(ratios: Ratios) -> Ratios:
        return lambda bits: ((low - (low >> 20), high - (high >> 20), later) for low, high, later in ratios(bits))

    right = polya_ratios(2, Fraction(10))
    assert TabulatedLaw(off(right))._floors(64) != TabulatedLaw(right)._floors(64)
