"""The exponential mechanism: its exact law, its bounded range on worst-case neighbours, and what noisy max lacks."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privity.common.privacy.exponential_mechanism import (
    MOST_TRIALS,
    Trials,
    exponential_choice,
    first_accepted,
    sample_trials,
)
from privity.common.privacy.mechanisms import ExponentialMechanism
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.sensitivity import Norm, Sensitivity, scores
from tests.common.privacy.test_noisy_max import law as law_of_noisy_max

REPLACE = Relation.REPLACE_ONE


def law(values, sensitivity, epsilon):
    weights = np.exp(float(epsilon) * (np.array(values, dtype=float) - max(values)) / (2 * sensitivity))
    return weights / weights.sum()


def chi_square(counts, chances):
    expected = counts.sum() * chances
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("values", "sensitivity", "epsilon", "draws"),
    [
        ([0, 2, 5], 2, Fraction(4, 3), 5_000),
        pytest.param([7, 7, 7, 7], 3, Fraction(1), 5_000, marks=pytest.mark.long),
        pytest.param([-9, 0, 1, 4, -2], 1, Fraction(1, 3), 10_000, marks=pytest.mark.long),
    ],
)
def test_the_choice_has_its_exact_law(values, sensitivity, epsilon, draws):
    """A right sampler fails with a chance of 1e-6, and comes so near to another epsilon's law with at most 3e-6 more.

    The latter by the exact mean and variance of chi-square against that law. At epsilon 1/3, where the laws are
    closest, 3,000 draws would come so near with a chance of 8 %.
    """
    entropy = SeededEntropy(b"exponential", f"law {values}")
    exact, free = law(values, sensitivity, epsilon), len(values) - 1
    won = np.zeros(len(values))
    for _ in range(draws):
        first = sample_trials(len(values), sensitivity, epsilon, entropy)
        won[exponential_choice(values, sensitivity, epsilon, first, entropy)] += 1
    assert chi_square(won, exact) < stats.chi2.isf(1e-6, free)
    if len(set(values)) > 1:
        for wrong in (Fraction(13, 10), Fraction(7, 10)):
            assert chi_square(won, law(values, sensitivity, wrong * epsilon)) > stats.chi2.isf(1e-9, free)


def test_the_law_of_the_first_accepted_pair_by_enumeration():
    """Every pair of two trials with G up to 30, weighed by its chance: rejection sampling gives the law exactly."""
    values, sensitivity, epsilon = [0, 1, 3], 1, 2.0
    a = math.exp(-epsilon / (2 * sensitivity))
    reach = 30
    pairs = [(i, g, (1 - a) * a**g / 3) for i in range(3) for g in range(reach)]
    won, none = np.zeros(3), 0.0
    for (i, g, p), (j, h, r) in itertools.product(pairs, repeat=2):
        trials = Trials(np.array([i, j]), np.array([g, h]), 3)
        choice = first_accepted(values, trials)
        if choice is None:
            none += p * r
        else:
            won[choice] += p * r
    assert won / won.sum() == pytest.approx(law(values, sensitivity, epsilon), rel=1e-9)
    accepted = np.exp(epsilon * (np.array(values) - 3) / (2 * sensitivity)).mean()
    assert none == pytest.approx((1 - accepted) ** 2, rel=1e-9)


@pytest.mark.statistical
def test_blocks_are_drawn_until_one_decides():
    """A first block of nothing but rejections changes nothing in the law."""
    values, epsilon, entropy = [0, 4], Fraction(2), SeededEntropy(b"exponential", "blocks")
    rejected = Trials(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), 2)
    assert first_accepted(values, rejected) is None
    won = np.zeros(2)
    for _ in range(2_000):
        won[exponential_choice(values, 1, epsilon, rejected, entropy)] += 1
    assert chi_square(won, law(values, 1, epsilon)) < 1 + 5 * math.sqrt(2)


def loss_range(here, there):
    losses = np.log(here) - np.log(there)
    return float(losses.max() - losses.min())


def test_no_neighbour_has_a_loss_of_a_wider_range_than_epsilon_and_some_have_it():
    """Every move of three scores by at most the sensitivity; and its divergence is within epsilon^2/8 alpha."""
    sensitivity, epsilon = 2, 1.5
    widest = 0.0
    for values in ([0, 0, 0], [0, 4, 1], [0, 12, 3]):
        here = law(values, sensitivity, epsilon)
        for moves in itertools.product(range(-sensitivity, sensitivity + 1), repeat=3):
            there = law([v + m for v, m in zip(values, moves, strict=True)], sensitivity, epsilon)
            widest = max(widest, loss_range(here, there))
            for alpha in (1.01, 2.0, 5.0, 50.0):
                moment = float((here**alpha * there ** (1 - alpha)).sum())
                assert math.log(moment) / (alpha - 1) <= alpha * epsilon**2 / 8 * (1 + 1e-9)
    assert widest == pytest.approx(epsilon)


def test_noisy_max_has_a_wider_range_and_more_divergence_than_would_be_charged():
    """Why runs in rho draw otherwise: report noisy max at epsilon is not epsilon^2/8-zCDP."""
    sensitivity, epsilon = 1, 1.0
    scale = 2 * sensitivity / epsilon
    here, there = law_of_noisy_max([0, 2], scale, 120), law_of_noisy_max([1, 1], scale, 120)
    assert max(abs(np.log(here / there))) <= epsilon + 1e-9  # it is pure
    assert loss_range(here, there) > 1.15 * epsilon
    found = max(
        math.log(float((p**alpha * q ** (1 - alpha)).sum())) / (alpha - 1) / alpha
        for p, q in ((here, there), (there, here))
        for alpha in (1.01, 1.5, 2.0, 4.0)
    )
    assert found > 1.1 * epsilon**2 / 8


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=6), st.integers(0, 2**40))
def test_scores_of_any_size_are_compared_exactly(values, sensitivity):
    entropy = SeededEntropy(b"exponential", "sizes")
    trials = sample_trials(len(values), sensitivity, Fraction(1, 3), entropy)
    slow = next(
        (i for i, g in zip(trials.places.tolist(), trials.added.tolist(), strict=True) if values[i] + g >= max(values)),
        None,
    )
    assert first_accepted(values, trials) == slow
    if max(map(abs, values)) < 2**62:
        assert first_accepted(np.array(values), trials) == slow


def test_scores_that_no_row_moves_are_chosen_by_their_best():
    entropy = SeededEntropy(b"exponential", "still")
    chosen = {
        exponential_choice([1, 3, 3], 0, Fraction(1), sample_trials(3, 0, Fraction(1), entropy), entropy)
        for _ in range(200)
    }
    assert chosen == {1, 2}


def test_a_block_is_bounded_however_many_candidates_there_are():
    assert sample_trials(200_000, 1, Fraction(1), SeededEntropy(b"e", "b")).places.size == MOST_TRIALS
    assert sample_trials(3, 1, Fraction(1), SeededEntropy(b"e", "b")).places.size == 192


def test_what_is_no_choice_is_refused():
    entropy = SeededEntropy(b"e", "r")
    for candidates, sensitivity, epsilon in ((0, 1, 1), (1, -1, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="a choice needs"):
            sample_trials(candidates, sensitivity, Fraction(epsilon), entropy)
    trials = sample_trials(2, 1, Fraction(1), entropy)
    with pytest.raises(ValueError, match="as many scores"):
        first_accepted([1, 2, 3], trials)
    with pytest.raises(TypeError, match="integers"):
        first_accepted([1.0, 2.0], trials)
    assert "candidates=2" in repr(trials)
    assert "[" not in repr(trials)


def test_the_mechanism_states_its_rho_and_refuses_scores_that_move_otherwise():
    mechanism = ExponentialMechanism(Fraction(2))
    assert mechanism.loss(REPLACE) == ZCDP(Fraction(1, 2), REPLACE)
    with pytest.raises(PrivacyMismatchError):
        mechanism.loss(Relation.ADD_OR_REMOVE_ONE)
    for use in (lambda move: mechanism.check(move), lambda move: mechanism.sample(3, move, SeededEntropy(b"e", "m"))):
        with pytest.raises(PrivacyMismatchError):
            use(scores(3, Relation.ADD_OR_REMOVE_ONE))
        with pytest.raises(ValueError, match="by integers"):
            use(Sensitivity(Fraction(1, 2), Norm.LINF, REPLACE))
    assert mechanism.sample(3, scores(3, REPLACE), SeededEntropy(b"e", "m"))([0, 0, 9999]) == 2
