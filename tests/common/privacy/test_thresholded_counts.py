"""Thresholded counts of texts: what they claim to cost holds for every neighbour, exactly; what costs less fails."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, isqrt, pi, prod, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.gaussian_threshold import LEAST_VARIANCE
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.party.answers_from_rows import frequent_texts

EPSILONS = st.fractions(Fraction(1, 100), 4, max_denominator=100)
DELTAS = st.sampled_from([Fraction(1, 10**digits) for digits in (3, 6, 9, 12)])


def above(law: NoiseLaw, most: int) -> float:
    """P(Z > most), added up."""
    if law.name == LAPLACE:
        alpha = exp(-1 / law.scale)
        return alpha ** (most + 1) / (1 + alpha) if most >= 0 else 1 - alpha**-most / (1 + alpha)
    beyond = np.arange(most + 1, most + 2 + 40 * isqrt(int(law.scale) + 1), dtype=np.float64)
    return float(np.exp(-(beyond**2) / (2 * float(law.scale))).sum() / sqrt(2 * pi * float(law.scale)))


def excess(law: NoiseLaw, threshold: int, epsilon: float, lost: int, won: int, columns: int) -> float:
    """The least delta for two tables: in each column the second has a row less of one text and one more of another."""
    shown = [[above(law, threshold - count) if count else 0.0 for count in counts]
             for counts in ((lost, won), (lost - 1, won + 1))]  # fmt: skip
    total = 0.0
    for revealed in product((True, False), repeat=2 * columns):
        here, there = (
            prod(p if event else 1 - p for p, event in zip(chances * columns, revealed, strict=True))
            for chances in shown
        )
        total += max(0.0, here - exp(epsilon) * there)
    return total


def worst(mechanism: ThresholdedCounts, law: NoiseLaw, threshold: int) -> float:
    counts = [1, 2, threshold // 2, *range(max(1, threshold - 1), threshold + 2)]
    return max(
        excess(law, threshold, float(mechanism.epsilon), lost, won, mechanism.columns)
        for lost, won in product(counts, [0, *counts])
    )  # fmt: skip


@given(EPSILONS, DELTAS, st.integers(1, 3))
def test_no_neighbour_tells_more_than_is_claimed(epsilon, delta, columns):
    mechanism = ThresholdedCounts(columns, epsilon, min(delta, epsilon / 4))
    for law, threshold in (mechanism._laplace, mechanism._gaussian):
        assert worst(mechanism, law, threshold) <= float(mechanism.delta) * (1 + 1e-6)


@given(EPSILONS, DELTAS)
def test_a_row_moves_two_counts_and_half_the_noise_is_too_little(epsilon, delta):
    mechanism = ThresholdedCounts(1, epsilon, min(delta, epsilon / 4))
    law, threshold = mechanism._laplace
    assert worst(mechanism, NoiseLaw(LAPLACE, law.scale / 2), threshold // 2) > float(mechanism.delta)


@given(EPSILONS, DELTAS)
def test_a_lower_threshold_shows_a_text_of_one_row_too_often(epsilon, delta):
    mechanism = ThresholdedCounts(1, epsilon, min(delta, epsilon / 4))
    law, threshold = mechanism._laplace
    assert worst(mechanism, law, max(1, threshold - round(law.scale) - 2)) > float(mechanism.delta)


def _lost(variance: float, epsilon: float, columns: int) -> float:
    """The least delta of noise on 2c counts of which each moves by one: the sum of the noise tells as much as all."""
    of_sum, far = 2 * columns * variance, 20 * isqrt(int(2 * columns * variance) + 1)
    k = np.arange(-far, far, dtype=np.float64)
    here, there = (np.exp(-((k + move) ** 2) / (2 * of_sum)) for move in (0, 2 * columns))
    return float(np.maximum(here - exp(epsilon) * there, 0).sum() / sqrt(2 * pi * of_sum))


@given(EPSILONS, DELTAS, st.integers(1, 3))
def test_half_of_the_gaussian_noise_or_a_lower_threshold_is_too_little(epsilon, delta, columns):
    mechanism = ThresholdedCounts(columns, epsilon, min(delta, epsilon / 4))
    law, threshold = mechanism._gaussian
    assert _lost(float(law.scale), float(epsilon), columns) <= float(mechanism.delta) / 2
    if law.scale > LEAST_VARIANCE:
        assert _lost(float(law.scale) / 4, float(epsilon), columns) > float(mechanism.delta) / 2
    rare = float(mechanism.delta) / (2 * columns * (1 + exp(epsilon)))
    assert above(law, threshold - 1) <= rare * (1 + 1e-6) < above(law, threshold - 2) * (1 + 2e-6)


@given(EPSILONS, DELTAS, st.integers(1, 20))
def test_columns_share_epsilon_and_delta(epsilon, delta, columns):
    mechanism = ThresholdedCounts(columns, epsilon, min(delta, epsilon / 4))
    law, threshold = mechanism._laplace
    assert law.scale == 2 * columns / epsilon
    assert columns * above(law, threshold - 1) <= float(mechanism.delta) * (1 + 1e-6)
    assert mechanism.loss(RELATION) == ApproxDP(epsilon, mechanism.delta, RELATION)
    assert mechanism.threshold == min(threshold, mechanism._gaussian[1])


@pytest.mark.parametrize("delta", ["1e-20", "1e-60", "1e-99"])
def test_the_smallest_deltas_have_a_threshold_that_noise_hardly_reaches(delta):
    mechanism = ThresholdedCounts(3, Fraction(1), Fraction(delta))
    law, threshold = mechanism._gaussian
    rare = float(mechanism.delta) / (2 * 3 * (1 + exp(1)))
    assert above(law, threshold - 1) <= rare < above(law, threshold - 2)


@pytest.mark.parametrize(
    ("columns", "epsilon", "delta", "law", "rows"),
    [
        (8, "1/10", "1/1000000000", GAUSSIAN, 1348),
        (8, "1/10", "1/2000000000", GAUSSIAN, 1401),
        (1, "1/5", "1/1000000000", LAPLACE, 208),
    ],
)
def test_the_noise_with_the_lower_threshold_is_taken(columns, epsilon, delta, law, rows):
    mechanism = ThresholdedCounts(columns, Fraction(epsilon), Fraction(delta))
    assert mechanism.law.name == law
    assert abs(mechanism.threshold - rows) <= rows / 100


@pytest.mark.parametrize(("columns", "epsilon", "delta"), [(0, 1, Fraction(1, 9)), (1, 0, Fraction(1, 9)), (1, 1, 0),
                                                           (1, Fraction(1, 10), Fraction(1, 10))])  # fmt: skip
def test_what_it_does_not_hold_for_is_refused(columns, epsilon, delta):
    with pytest.raises((PrivityError, ValueError)):
        ThresholdedCounts(columns, Fraction(epsilon), Fraction(delta))


def test_a_text_is_revealed_above_the_threshold_alone():
    """Its noise included; delta allows for no text that reaches it."""
    counts, noise = {"a": 5, "b": 9, "c": 10, "d": 11}, np.array([[5, 1, 1, 0], [6, 0, 0, -1]])
    found = frequent_texts(["x", "y"], lambda _: counts, noise, 10)
    assert found == {"x": ["c", "d"], "y": ["a"]}


@pytest.mark.statistical
def test_texts_of_many_rows_are_revealed_and_those_of_few_are_not():
    mechanism = ThresholdedCounts(2, Fraction(1), Fraction(1, 10**9))
    counts = {"common": 10_000, "near": mechanism.threshold, **{f"person {place}": 1 for place in range(500)}}
    shown = []
    for _ in range(200):
        noise = mechanism.sample(len(counts), SystemEntropy())
        found = frequent_texts(["a", "b"], lambda _: counts, noise, mechanism.threshold)
        shown += found.values()
    assert all(set(texts) <= {"common", "near"} for texts in shown)
    assert all("common" in texts for texts in shown)
    assert 140 < sum("near" in texts for texts in shown) < 260
