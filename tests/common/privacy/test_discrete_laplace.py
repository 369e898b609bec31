"""The samplers follow their stated laws, and a law of 30 % more or less scale is told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from privity.common.privacy.discrete_laplace import (
    bernoulli_exp,
    discrete_laplace,
    geometric,
    noise_share,
    polya,
    share_variance,
)
from privity.common.privacy.random_bits import SeededEntropy, SystemEntropy, uniform_below

ACCEPT, REJECT = 4.5, 10.0  # standard deviations of the chi-square statistic


def entropy(label: str) -> SeededEntropy:
    return SeededEntropy(b"noise tests", label)


def surprise(draws: np.ndarray, pmf: Callable[[np.ndarray], np.ndarray], low: int, high: int) -> float:
    """Chi-square of draws against a law on low..high and two tails, in standard deviations.

    Neighbouring values are joined until about 20 are expected. Wilson and Hilferty (1931).
    """
    values = np.arange(low, high + 1)
    inside = pmf(values)
    counts = np.array([np.sum(draws == v) for v in values], dtype=float)
    expected = np.append(inside, max(0.0, 1 - inside.sum())) * draws.size
    observed = np.append(counts, draws.size - counts.sum())
    bins: list[list[float]] = [[0.0, 0.0]]
    for e, o in zip(expected, observed, strict=True):
        if bins[-1][0] >= 20:
            bins.append([0.0, 0.0])
        bins[-1][0] += e
        bins[-1][1] += o
    if len(bins) > 1 and bins[-1][0] < 20:
        last = bins.pop()
        bins[-1][0] += last[0]
        bins[-1][1] += last[1]
    free = len(bins) - 1
    chi = sum((o - e) ** 2 / e for e, o in bins)
    spread = 2 / (9 * free)
    return ((chi / free) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def geometric_pmf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    a = math.exp(-1 / scale)
    return lambda v: np.where(v >= 0, (1 - a) * a ** np.abs(v), 0.0)


def polya_pmf(scale: float, quota: int) -> Callable[[np.ndarray], np.ndarray]:
    a, r = math.exp(-1 / scale), 1 / quota

    def pmf(values: np.ndarray) -> np.ndarray:
        logs = [math.lgamma(v + r) - math.lgamma(r) - math.lgamma(v + 1) + v * math.log(a) for v in values]
        return np.exp(np.array(logs) + r * math.log1p(-a))

    return pmf


def shares_pmf(scale: float, shape: float) -> Callable[[np.ndarray], np.ndarray]:
    """The law of a sum of shares of total shape r, from its characteristic function."""
    size = 1 << 16
    a = math.exp(-1 / scale)
    angle = 2 * np.pi * np.arange(size) / size
    law = np.real(np.fft.ifft(((1 - a) ** 2 / (1 - 2 * a * np.cos(angle) + a * a)) ** shape))
    return lambda v: law[v % size]


def laplace_pmf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    a = math.exp(-1 / scale)
    return lambda v: (1 - a) / (1 + a) * a ** np.abs(v)


def told_apart(draws: np.ndarray, law: Callable[[float], Callable], scale: float) -> None:
    """The stated scale is accepted, 30 % more and 30 % less are refused."""
    reach = int(4 * scale) + 2
    low = 0 if draws.min() >= 0 else -reach
    assert abs(surprise(draws, law(scale), low, reach)) < ACCEPT
    assert surprise(draws, law(1.3 * scale), low, reach) > REJECT
    assert surprise(draws, law(0.7 * scale), low, reach) > REJECT


def test_seeded_entropy_repeats_itself_and_says_that_it_is_not_private() -> None:
    first, second, other = entropy("x"), entropy("x"), entropy("y")
    assert not first.private
    assert SystemEntropy().private
    one = first.take(5) + first.take(11)
    assert one == second.take(16)
    assert one != other.take(16)
    assert len(SystemEntropy().take(9)) == 9


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 8, 210])
def test_uniform_below_is_uniform(bound: int) -> None:
    draws = uniform_below(bound, entropy(f"uniform {bound}"), 20_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert draws.max() < bound
    if bound > 1:
        assert abs(surprise(draws, lambda v: np.full(v.size, 1 / bound), 0, bound - 1)) < ACCEPT


def test_uniform_below_takes_one_bound_for_each() -> None:
    bounds = np.array([1, 2, 5, 2**62, 2**62 - 1, 2**40 + 1] * 3_000)
    for kind in (np.int64, np.uint64):
        draws = uniform_below(bounds.astype(kind), entropy("each"))
        assert np.all((draws >= 0) & (draws < bounds))
        assert abs(surprise(draws[2::6], lambda v: np.full(v.size, 0.2), 0, 4)) < ACCEPT
        assert draws[3::6].max() > 2**61
    assert abs(np.mean(uniform_below(2**62, entropy("big"), 20_000) / 2**62) - 0.5) < 0.01


def test_uniform_below_refuses_what_it_cannot_do() -> None:
    for bound in (0, -1, 2**62 + 1):
        with pytest.raises(ValueError, match="bound"):
            uniform_below(bound, entropy(""), 3)
        with pytest.raises(ValueError, match="bound"):
            uniform_below(np.array([3, bound]), entropy(""))
    with pytest.raises(ValueError, match="size"):
        uniform_below(3, entropy(""))
    with pytest.raises(ValueError, match="size"):
        uniform_below(np.array([3, 3]), entropy(""), 3)
    assert uniform_below(np.array([], dtype=np.int64), entropy("")).size == 0


@pytest.mark.parametrize(("x", "denominator"), [(0, 1), (1, 1), (1, 3), (150, 210), (2**61, 2**62)])
def test_bernoulli_exp(x: int, denominator: int) -> None:
    size = 40_000
    rate = np.mean(bernoulli_exp(np.full(size, x), denominator, entropy(f"b {x}/{denominator}")))
    p = math.exp(-x / denominator)
    assert abs(rate - p) <= 4.5 * math.sqrt(p * (1 - p) / size)


def test_bernoulli_exp_takes_x_in_0_to_1_only() -> None:
    with pytest.raises(ValueError, match="numerator"):
        bernoulli_exp(np.array([4]), 3, entropy(""))
    with pytest.raises(ValueError, match="numerator"):
        bernoulli_exp(np.array([-1]), 3, entropy(""))
    with pytest.raises(ValueError, match="denominator"):
        bernoulli_exp(np.array([0]), 0, entropy(""))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40), Fraction(2111, 100)])
def test_geometric_has_its_scale_and_no_other(scale: Fraction) -> None:
    draws = geometric(scale, 30_000, entropy(f"g {scale}"))
    told_apart(draws, geometric_pmf, float(scale))


@pytest.mark.parametrize(("quota", "scale"), [(1, 6), (2, 6), (3, 25), (10, 12)])
def test_polya_has_its_law(quota: int, scale: int) -> None:
    draws = polya(quota, Fraction(scale), 60_000, entropy(f"p {quota}"))
    told_apart(draws, lambda b: polya_pmf(b, quota), scale)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5), Fraction(63, 2)])
def test_discrete_laplace_has_its_scale_and_no_other(scale: Fraction) -> None:
    told_apart(discrete_laplace(scale, 30_000, entropy(f"l {scale}")), laplace_pmf, float(scale))


@pytest.mark.parametrize(("parties", "tolerate"), [(2, 1), (3, 1), (4, 2), (6, 1), (5, 4)])
def test_shares_sum_to_the_stated_laws(parties: int, tolerate: int) -> None:
    """Any K-t shares are one discrete Laplace variable; all K have shape K/(K-t)."""
    quota, scale, size = parties - tolerate, Fraction(9), 40_000
    shares = [noise_share(scale, quota, size, entropy(f"{parties} {tolerate} {k}")) for k in range(parties)]
    told_apart(sum(shares[:quota]), laplace_pmf, 9.0)
    told_apart(sum(shares[tolerate:]), laplace_pmf, 9.0)
    told_apart(sum(shares), lambda b: shares_pmf(b, parties / quota), 9.0)
    told_apart(shares[0], lambda b: shares_pmf(b, 1 / quota), 9.0)
    together = np.var(sum(shares))
    stated = parties * share_variance(scale, quota)
    assert abs(together / stated - 1) < 0.06


def test_the_reference_laws_agree_with_each_other() -> None:
    v = np.arange(-200, 201)
    assert np.allclose(shares_pmf(9, 1)(v), laplace_pmf(9)(v))
    assert share_variance(Fraction(9), 1) == pytest.approx(float(np.sum(v**2 * laplace_pmf(2)(v))) * 81 / 4, rel=0.02)
    assert share_variance(Fraction(9), 3) == pytest.approx(share_variance(Fraction(9), 1) / 3)
    assert share_variance(Fraction(1, 2000), 1) == 0


def test_long_fractions_stay_exact() -> None:
    """A scale of about 3 with terms near 2**62 goes the long way and has the same law."""
    scale = Fraction(2**62 - 57, 2**60 + 2**58 + 7)
    draws = geometric(scale, 8_000, entropy("long"))
    told_apart(draws, geometric_pmf, float(scale))
    large = geometric(Fraction(2**52), 200, entropy("large"))
    assert large.min() >= 0
    assert 0.7 < np.mean(large) / 2**52 < 1.3


@pytest.mark.parametrize(
    "scale",
    [Fraction(0), Fraction(-1), Fraction(2**52 + 1), Fraction(1, 2**62 + 1), Fraction(2**62 + 1, 2**61)],
)
def test_scales_beyond_the_limits_are_refused(scale: Fraction) -> None:
    for draw in (
        lambda: geometric(scale, 1, entropy("")),
        lambda: polya(2, scale, 1, entropy("")),
        lambda: noise_share(scale, 2, 1, entropy("")),
        lambda: discrete_laplace(scale, 1, entropy("")),
    ):
        with pytest.raises(ValueError, match="scale"):
            draw()


def test_sizes_and_quotas() -> None:
    assert noise_share(Fraction(5), 2, 0, entropy("")).size == 0
    assert noise_share(Fraction(5), 2, 70_000, entropy("")).size == 70_000
    with pytest.raises(ValueError, match="samples"):
        geometric(Fraction(5), -1, entropy(""))
    with pytest.raises(ValueError, match="quota"):
        noise_share(Fraction(5), 0, 1, entropy(""))


def test_the_same_seed_and_label_give_the_same_noise() -> None:
    assert np.array_equal(
        noise_share(Fraction(210), 2, 1000, entropy("again")),
        noise_share(Fraction(210), 2, 1000, entropy("again")),
    )
