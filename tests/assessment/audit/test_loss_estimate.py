"""The estimate: Clopper and Pearson against scipy, validity where the loss is known, and power."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privity.assessment.audit.loss_estimate import clopper_pearson_lower, clopper_pearson_upper, lower_bound
from privity.assessment.audit.noise_evidence import log_law, statistics


@pytest.mark.parametrize("runs", [1, 7, 100, 12_345, 3_000_000])
@pytest.mark.parametrize("share", [0.0, 1e-5, 0.03, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("level", [0.05, 0.00025])
def test_clopper_pearson_as_scipy_has_it(runs: int, share: float, level: float) -> None:
    seen = round(runs * share)
    lower = stats.beta.ppf(level, seen, runs - seen + 1) if seen else 0.0
    upper = stats.beta.ppf(1 - level, seen + 1, runs - seen) if seen < runs else 1.0
    assert clopper_pearson_lower(seen, runs, level) == pytest.approx(lower, rel=1e-7, abs=1e-14)
    assert clopper_pearson_upper(seen, runs, level) == pytest.approx(upper, rel=1e-7, abs=1e-14)


@pytest.mark.parametrize(("seen", "runs"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(seen: int, runs: int) -> None:
    with pytest.raises(ValueError):
        clopper_pearson_lower(seen, runs, 0.01)


def randomised_response(epsilon: float, world: int, runs: int, generator: np.random.Generator) -> np.ndarray:
    kept = generator.random(runs) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.where(kept, world, 1 - world)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["labels", "statistic"])
def test_the_bound_lies_above_the_true_loss_as_rarely_as_promised(kind: str) -> None:
    """600 audits at 90 % of a mechanism with a loss of exactly 1: at most 10 % may err."""
    generator = np.random.default_rng(5)
    errors = 0
    for _ in range(600):
        worlds = [randomised_response(1.0, w, 400, generator) for w in (0, 1)]
        if kind == "statistic":
            worlds = [np.column_stack([w + generator.random(400) * 0.5, generator.random(400)]) for w in worlds]
        errors += lower_bound(worlds[0], worlds[1], confidence=0.9).epsilon > 1
    assert errors <= 60


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_bound_comes_close_with_many_runs(epsilon: float) -> None:
    generator = np.random.default_rng(1)
    zero, one = (randomised_response(epsilon, w, 400_000, generator) for w in (0, 1))
    assert 0.9 * epsilon < lower_bound(zero, one).epsilon <= epsilon


def test_an_event_that_one_world_cannot_show_gives_a_large_finite_bound() -> None:
    zero, one = np.zeros((4_000, 1)), np.ones((4_000, 1))
    bound = lower_bound(zero, one)
    assert bound.epsilon == pytest.approx(math.log(3_000 / math.log(4_000)), abs=0.2)
    assert bound.rarely == 0


@pytest.mark.statistical
def test_delta_is_granted() -> None:
    """With probability 0.01 the world is shown outright: no pure epsilon, but (0.5, 0.01)."""
    generator = np.random.default_rng(4)
    worlds = []
    for world in (0, 1):
        shown = randomised_response(0.5, world, 400_000, generator)
        worlds.append(np.where(generator.random(400_000) < 0.01, 2 + world, shown))
    assert lower_bound(*worlds).epsilon > 4
    assert 0.4 < lower_bound(*worlds, delta=0.01).epsilon <= 0.5


def test_equal_worlds_show_no_loss() -> None:
    generator = np.random.default_rng(2)
    zero, one = (generator.normal(size=(20_000, 3)) for _ in range(2))
    assert lower_bound(zero, one).epsilon < 0.2
    labels = [generator.integers(0, 40, 20_000) for _ in range(2)]
    assert lower_bound(*labels).epsilon < 0.2


def test_a_set_of_labels_is_found() -> None:
    """No single label shows the loss: the even ones together do."""
    generator = np.random.default_rng(3)
    even = [randomised_response(1.0, w, 60_000, generator) for w in (0, 1)]
    zero, one = (2 * generator.integers(0, 30, 60_000) + part for part in even)
    assert lower_bound(zero, one).epsilon > 0.85


def test_too_few_or_unlike_outcomes_are_refused() -> None:
    with pytest.raises(ValueError):
        lower_bound(np.zeros((4, 1)), np.zeros((100, 1)))
    with pytest.raises(ValueError):
        lower_bound(np.zeros(100), np.zeros((100, 1)))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(20)])
def test_the_law_of_shares(scale: Fraction) -> None:
    whole = np.exp(log_law(scale, Fraction(1))[:200])
    np.testing.assert_allclose(whole, stats.dlaplace.pmf(np.arange(200), float(1 / scale)), atol=1e-13)
    half = np.exp(log_law(scale, Fraction(1, 2)))
    both_sides = np.concatenate([half[2000:0:-1], half[:2001]])
    np.testing.assert_allclose(np.convolve(both_sides, both_sides)[4000:4050], whole[:50], atol=1e-10)


def test_evidence_is_bounded_by_epsilon_for_a_whole_laplace_noise() -> None:
    view = np.arange(-50, 50).repeat(2).reshape(-1, 2) * np.array([1, -1])
    shown = statistics(view, np.array([3, 0]), np.array([2, 1]), Fraction(2), Fraction(1))
    assert np.abs(shown[:, 0]).max() == pytest.approx(1)
