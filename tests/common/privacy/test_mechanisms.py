"""The mechanisms' privacy maps are exact and refuse wrong sensitivities; their noise has the stated law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.privacy.budget import PureEpsilon, Zcdp
from privity.common.privacy.discrete_laplace import discrete_laplace, noise_share
from privity.common.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, NoisyMax, SharedDiscreteLaplace
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.noisy_max import noisy_max, sample_selection_noise
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.score_r import r_sensitivity
from privity.common.privacy.sensitivity import Norm, Sensitivity, contingency_tables, scores
from privity.common.privacy.step_cost import RELATION, noise_scale, selection_scale

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
TABLES = st.integers(1, 200)
BUDGETS = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000)
RELATIONS = st.sampled_from(Relation)


def entropy(label: str) -> SeededEntropy:
    return SeededEntropy(b"mechanism tests", label)


@given(TABLES, BUDGETS, RELATIONS)
def test_calibration_and_cost_are_inverse_to_each_other(tables, amount, relation):
    l1, l2 = contingency_tables(tables, relation), contingency_tables(tables, relation, Norm.L2)
    pure, rho = PureEpsilon(amount, relation), Zcdp(amount, relation)
    assert DiscreteLaplace.calibrated(l1, pure).cost(l1) == pure
    assert SharedDiscreteLaplace.calibrated(l1, pure, 5, 2).cost(l1) == pure
    assert DiscreteGaussian.calibrated(l2, rho).cost(l2) == rho
    chosen = scores(tables, relation)
    assert NoisyMax(chosen, amount).cost(chosen) == pure


@given(TABLES, BUDGETS)
def test_steps_cost_what_the_mechanisms_cost(tables, epsilon):
    exact = contingency_tables(tables, RELATION)
    assert DiscreteLaplace(noise_scale(tables, epsilon)).cost(exact) == PureEpsilon(epsilon, RELATION)
    assert NoisyMax(scores(tables, RELATION), epsilon).scale == selection_scale(tables, epsilon)


def test_worked_numbers():
    assert DiscreteLaplace(Fraction(210)).cost(contingency_tables(105, REPLACE)) == PureEpsilon(1, REPLACE)
    assert DiscreteLaplace(Fraction(210)).cost(contingency_tables(105, ADD)) == PureEpsilon(Fraction(1, 2), ADD)
    gauss = DiscreteGaussian(Fraction(7039))
    assert gauss.cost(contingency_tables(105, REPLACE, Norm.L2)) == Zcdp(Fraction(105, 7039), REPLACE)
    assert NoisyMax(scores(r_sensitivity(100, 3, 3), REPLACE), Fraction(1, 3)).scale == 6 * 604
    assert SharedDiscreteLaplace(Fraction(9), 4, 1).variance_factor == Fraction(4, 3)
    assert SharedDiscreteLaplace(Fraction(9), 2, 1).quota == 1


def test_a_sensitivity_in_the_wrong_norm_is_refused():
    wrong = {
        Norm.L1: (DiscreteLaplace(Fraction(2)), SharedDiscreteLaplace(Fraction(2), 3, 1)),
        Norm.L2: (DiscreteGaussian(Fraction(2)),),
        Norm.LINF: (NoisyMax(scores(1, REPLACE), Fraction(1)),),
    }
    for norm, mechanisms in wrong.items():
        for other in set(Norm) - {norm}:
            for mechanism in mechanisms:
                with pytest.raises(PrivacyMismatchError, match=r"L1|L2|L-infinity"):
                    mechanism.cost(Sensitivity(Fraction(1), other, REPLACE))


def test_relations_and_kinds_do_not_mix():
    l1, l2 = contingency_tables(3, REPLACE), contingency_tables(3, REPLACE, Norm.L2)
    with pytest.raises(PrivacyMismatchError, match="replace one row"):
        DiscreteLaplace.calibrated(l1, PureEpsilon(1, ADD))
    with pytest.raises(PrivacyMismatchError, match="PureEpsilon"):
        DiscreteLaplace.calibrated(l1, Zcdp(1, REPLACE))
    with pytest.raises(PrivacyMismatchError, match="PureEpsilon"):
        SharedDiscreteLaplace.calibrated(l1, Zcdp(1, REPLACE), 3, 1)
    with pytest.raises(PrivacyMismatchError, match="Zcdp"):
        DiscreteGaussian.calibrated(l2, PureEpsilon(1, REPLACE))
    with pytest.raises(PrivacyMismatchError, match="add or remove"):
        DiscreteGaussian.calibrated(l2, Zcdp(1, ADD))
    with pytest.raises(PrivacyMismatchError, match="L1"):
        DiscreteLaplace.calibrated(l2, PureEpsilon(1, REPLACE))
    with pytest.raises(PrivacyMismatchError):
        NoisyMax(scores(1, REPLACE), Fraction(1)).cost(scores(1, ADD))
    with pytest.raises(PrivacyMismatchError, match="L-infinity"):
        NoisyMax(l1, Fraction(1))


def test_a_choice_prices_only_scores_that_its_noise_covers():
    local = NoisyMax(scores(604, REPLACE), Fraction(1))
    assert local.cost(scores(396, REPLACE)) == PureEpsilon(1, REPLACE)
    with pytest.raises(ValueError, match="move more"):
        local.cost(scores(605, REPLACE))


def test_parameters_are_exact_and_positive():
    for make in (DiscreteLaplace, DiscreteGaussian, lambda s: SharedDiscreteLaplace(s, 3, 1)):
        with pytest.raises(TypeError):
            make(1.5)
        for bad in (Fraction(0), Fraction(-1)):
            with pytest.raises(ValueError):
                make(bad)
    for parties, tolerate in ((1, 1), (3, 3), (3, 0), (3, -1)):
        with pytest.raises(ValueError, match="tolerated"):
            SharedDiscreteLaplace(Fraction(1), parties, tolerate)
    with pytest.raises(TypeError, match="integers"):
        SharedDiscreteLaplace(Fraction(1), 3, 1.0)
    with pytest.raises(ValueError, match="above 0"):
        NoisyMax(scores(1, REPLACE), Fraction(0))
    with pytest.raises(ValueError, match="integers"):
        NoisyMax(Sensitivity.linf(Fraction(1, 2), REPLACE), Fraction(1))
    with pytest.raises(ValueError, match="above 0"):
        DiscreteLaplace.calibrated(contingency_tables(1, REPLACE), PureEpsilon(0, REPLACE))


def test_draws_are_those_of_the_samplers():
    scale = Fraction(25, 2)
    plain, shared = DiscreteLaplace(scale), SharedDiscreteLaplace(scale, 5, 2)
    assert np.array_equal(plain.sample(300, entropy("l")), discrete_laplace(scale, 300, entropy("l")))
    assert np.array_equal(shared.sample(300, entropy("s")), noise_share(scale, 3, 300, entropy("s")))
    chosen = NoisyMax(scores(4, REPLACE), Fraction(1, 2))
    mine, theirs = chosen.sample(50, entropy("m")), sample_selection_noise(50, 4, Fraction(1, 2), entropy("m"))
    assert np.array_equal(mine.added, theirs.added)
    assert np.array_equal(mine.order, theirs.order)
    assert chosen.choose(range(50), mine) == noisy_max(range(50), theirs)
    assert DiscreteGaussian(Fraction(9)).sample(10, entropy("g")).shape == (10,)


def largest_loss(draw, move: int, size: int, least: int = 400) -> float:
    """Largest log-ratio of frequencies between the noise and the noise moved, over half-lines and cells."""
    noise, moved = draw("here"), draw("there") + move
    worst = 0.0
    for cut in range(-20, 21):
        for test in (lambda x, c=cut: x <= c, lambda x, c=cut: x >= c, lambda x, c=cut: x == c):
            a, b = int(test(noise).sum()), int(test(moved).sum())
            if min(a, b) >= least:
                worst = max(worst, abs(math.log(a / b)) - 3 * math.sqrt(1 / a + 1 / b))
    return worst


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1)])
def test_the_stated_epsilon_holds_and_half_the_noise_is_caught(epsilon):
    """A worst-case pair: a lower bound of the loss stays below the claim; at half the scale it does not."""
    size, sensitivity = 150_000, Sensitivity.l1(2, REPLACE)
    right = DiscreteLaplace.calibrated(sensitivity, PureEpsilon(epsilon, REPLACE))
    halved = DiscreteLaplace(right.scale / 2)
    for mechanism, sound in ((right, True), (halved, False)):
        loss = largest_loss(lambda label, m=mechanism: m.sample(size, entropy(f"{m.scale} {label}")), 2, size)
        assert (loss <= float(epsilon)) is sound
    assert halved.cost(sensitivity) == PureEpsilon(2 * epsilon, REPLACE)


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(2), Fraction(9)])
def test_the_discrete_gaussian_has_the_renyi_divergence_of_its_rho(sigma_squared):
    """Computed from the law itself: at most alpha * rho at every order, equal to it up to the discrete part."""
    rho = float(DiscreteGaussian(sigma_squared).cost(Sensitivity.l2_squared(1, REPLACE)).rho)
    values = np.arange(-200, 201, dtype=float)
    variance = float(sigma_squared)
    logs = -(values**2) / (2 * variance)
    logs -= np.log(np.exp(logs).sum())
    moved = np.roll(logs, 1)
    for alpha in (1.5, 2.0, 3.0, 7.0):
        inner = alpha * logs[1:] + (1 - alpha) * moved[1:]
        divergence = np.log(np.exp(inner).sum()) / (alpha - 1)
        assert divergence <= alpha * rho + 1e-9
        if alpha == int(alpha):
            assert divergence == pytest.approx(alpha * rho, rel=1e-6)
