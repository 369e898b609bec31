"""Report-noisy-max: its law, its privacy on worst-case neighbours, and exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privity.common.privacy.noisy_max import SelectionNoise, noisy_max, sample_selection_noise
from privity.common.privacy.random_bits import SeededEntropy


def law(scores: list[int], scale: float, reach: int) -> np.ndarray:
    """Exact winning probabilities by summation over the winning sum; ties by a uniform random order."""
    a = math.exp(-1 / scale)

    def at(m: int) -> float:
        return (1 - a) * a**m if m >= 0 else 0.0

    def below(m: int) -> float:
        return 1 - a**m if m > 0 else 0.0

    wins = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        for i, s in enumerate(scores):
            for v in range(s, s + reach):
                chance = at(v - s)
                for j, other in enumerate(scores):
                    if j != i:
                        chance *= below(v - other + (1 if order[j] > order[i] else 0))
                wins[i] += chance
    return wins / math.factorial(len(scores))


@pytest.mark.statistical
def test_the_choice_has_its_exact_law() -> None:
    scores, sensitivity, epsilon = [0, 2, 5], 2, Fraction(4, 3)
    exact = law(scores, 2 * sensitivity / epsilon, 200)
    assert exact.sum() == pytest.approx(1, abs=1e-12)
    entropy = SeededEntropy(b"selection", "law")
    runs = 10_000
    won = np.zeros(3)
    for _ in range(runs):
        won[noisy_max(scores, sample_selection_noise(3, sensitivity, epsilon, entropy))] += 1
    assert np.all(np.abs(won / runs - exact) < 4.5 * np.sqrt(exact * (1 - exact) / runs))
    for wrong in (1.3, 0.7):
        other = law(scores, wrong * 2 * sensitivity / epsilon, 200)
        assert np.max(np.abs(won / runs - other) / np.sqrt(other * (1 - other) / runs)) > 8


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (3, 0.5), (2, 2.0)])
def test_no_neighbour_tells_more_than_epsilon(sensitivity: int, epsilon: float) -> None:
    """Every move of every score by at most the sensitivity, in any direction; and ties."""
    scale = 2 * sensitivity / epsilon
    reach = int(60 * scale)
    worst = 0.0
    for scores in ([0, 0], [0, 2 * sensitivity], [0, 6 * sensitivity]):
        here = law(scores, scale, reach)
        for moves in itertools.product((-sensitivity, 0, sensitivity), repeat=2):
            there = law([s + m for s, m in zip(scores, moves, strict=True)], scale, reach)
            worst = max(worst, float(np.max(np.abs(np.log(here / there)))))
    assert worst <= epsilon + 1e-9
    assert worst > 0.95 * epsilon  # and the factor 2 is needed: the bound is met by opposite moves


def test_three_candidates_and_opposite_moves() -> None:
    here, there = law([4, 0, 0], 4.0, 300), law([2, 2, 2], 4.0, 300)
    assert np.max(np.abs(np.log(here / there))) <= 1 + 1e-9  # sensitivity 2, epsilon 1


def test_without_the_factor_two_the_loss_is_twice_the_claim() -> None:
    here, there = law([6, 0], 1.0, 100), law([4, 2], 1.0, 100)  # sensitivity 2, claimed epsilon 2
    assert np.max(np.abs(np.log(here / there))) > 1.7 * 2


def test_scores_beyond_64_bits_stay_exact() -> None:
    noise = SelectionNoise(np.array([2**62, 2**62 + 1, 0]), np.arange(3))
    assert noisy_max([2**63, 2**63 - 1, 2**63 + 2**62 - 1], noise) == 0
    assert noisy_max([2**63, 2**63, 2**63 + 2**62], noise) == 1
    assert noisy_max([0, 0, 2**63], noise) == 2


def test_ties_go_by_the_order_drawn_before() -> None:
    zero = np.zeros(3, dtype=np.int64)
    assert noisy_max([7, 7, 7], SelectionNoise(zero, np.array([2, 0, 1]))) == 1
    assert noisy_max([7, 7, 7], SelectionNoise(zero, np.array([2, 1, 0]))) == 2


def test_scores_that_no_row_moves_need_no_noise() -> None:
    noise = sample_selection_noise(3, 0, Fraction(1), SeededEntropy(b"s", "zero"))
    assert noisy_max([1, 5, 2], noise) == 1


def test_orders_are_uniform() -> None:
    entropy = SeededEntropy(b"selection", "orders")
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(sample_selection_noise(3, 0, Fraction(1), entropy).order.tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert max(abs(count - 1000) for count in seen.values()) < 4.5 * math.sqrt(1000)


def test_what_is_refused() -> None:
    entropy = SeededEntropy(b"s", "bad")
    with pytest.raises(ValueError, match="candidate"):
        sample_selection_noise(0, 1, Fraction(1), entropy)
    with pytest.raises(ValueError, match="sensitivity"):
        sample_selection_noise(1, -1, Fraction(1), entropy)
    with pytest.raises(ValueError, match="epsilon"):
        sample_selection_noise(1, 1, Fraction(0), entropy)
    noise = sample_selection_noise(2, 1, Fraction(1), entropy)
    with pytest.raises(ValueError, match="as many"):
        noisy_max([1], noise)
    with pytest.raises(TypeError, match="integers"):
        noisy_max([1, 2.5], noise)  # type: ignore[list-item]
    assert repr(noise) == "SelectionNoise(candidates=2)"
