"""Thresholded counts of texts: what they claim to cost holds for every neighbour, exactly; what costs less fails."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import ThresholdedCounts
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.random_bits import SystemEntropy
from privity.party.answers_from_rows import frequent_texts

EPSILONS = st.fractions(Fraction(1, 100), 4, max_denominator=100)
DELTAS = st.sampled_from([Fraction(1, 10**digits) for digits in (3, 6, 9, 12)])


def above(scale: float, most: int) -> float:
    """P(Z > most) of discrete Laplace noise."""
    alpha = exp(-1 / scale)
    return alpha ** (most + 1) / (1 + alpha) if most >= 0 else 1 - alpha**-most / (1 + alpha)


def revealed(scale: float, threshold: int, count: int) -> float:
    """Chance that a text of so many rows is revealed; nobody looks for one of none."""
    return above(scale, threshold - count) if count else 0.0


def excess(scale: float, threshold: int, epsilon: float, lost: int, won: int) -> float:
    """The least delta for two tables, of which the second has one row less of one text and one more of another."""
    total = 0.0
    for first, second in product((True, False), repeat=2):
        chances = []
        for counts in ((lost, won), (lost - 1, won + 1)):
            shown = [revealed(scale, threshold, count) for count in counts]
            chances.append([p if event else 1 - p for p, event in zip(shown, (first, second), strict=True)])
        (a, b), (c, d) = chances
        total += max(0.0, a * b - exp(epsilon) * c * d)
    return total


def worst(mechanism: ThresholdedCounts, scale: float, threshold: int) -> float:
    counts = [1, 2, 3, threshold // 2, *range(max(1, threshold - 3), threshold + 4)]
    return max(
        excess(scale, threshold, float(mechanism.epsilon), lost, won)
        for lost, won in product(counts, [0, *counts])
    )  # fmt: skip


@given(EPSILONS, DELTAS)
def test_no_neighbour_tells_more_than_is_claimed(epsilon, delta):
    mechanism = ThresholdedCounts(1, epsilon, delta)
    assert worst(mechanism, float(mechanism.scale), mechanism.threshold) <= float(delta) * (1 + 1e-6)


@given(EPSILONS, DELTAS)
def test_a_row_moves_two_counts_and_half_the_noise_is_too_little(epsilon, delta):
    mechanism = ThresholdedCounts(1, epsilon, delta)
    assert worst(mechanism, float(mechanism.scale) / 2, mechanism.threshold // 2) > float(delta)


@given(EPSILONS, DELTAS)
def test_a_lower_threshold_shows_a_text_of_one_row_too_often(epsilon, delta):
    mechanism = ThresholdedCounts(1, epsilon, delta)
    lower = mechanism.threshold - round(mechanism.scale) - 2
    assert worst(mechanism, float(mechanism.scale), max(1, lower)) > float(delta)


@given(EPSILONS, DELTAS, st.integers(1, 20))
def test_columns_share_epsilon_and_delta(epsilon, delta, columns):
    mechanism = ThresholdedCounts(columns, epsilon, delta)
    assert mechanism.scale == 2 * columns / epsilon
    assert columns * above(float(mechanism.scale), mechanism.threshold - 1) <= float(delta) * (1 + 1e-6)
    assert mechanism.loss(RELATION) == ApproxDP(epsilon, delta, RELATION)


@pytest.mark.parametrize(("columns", "epsilon", "delta"), [(0, 1, Fraction(1, 9)), (1, 0, Fraction(1, 9)), (1, 1, 0),
                                                           (1, Fraction(1, 10), Fraction(1, 10))])  # fmt: skip
def test_what_it_does_not_hold_for_is_refused(columns, epsilon, delta):
    with pytest.raises((PrivityError, ValueError)):
        ThresholdedCounts(columns, Fraction(epsilon), Fraction(delta))


@pytest.mark.statistical
def test_texts_of_many_rows_are_revealed_and_those_of_few_are_not():
    mechanism = ThresholdedCounts(2, Fraction(1), Fraction(1, 10**9))
    counts = {"common": 10_000, "near": mechanism.threshold, **{f"person {place}": 1 for place in range(2000)}}
    shown = []
    for _ in range(200):
        noise = mechanism.sample(len(counts), SystemEntropy())
        found = frequent_texts(["a", "b"], lambda _: counts, noise, mechanism.threshold)
        shown += found.values()
    assert all(set(texts) <= {"common", "near"} for texts in shown)
    assert all("common" in texts for texts in shown)
    assert 140 < sum("near" in texts for texts in shown) < 260
