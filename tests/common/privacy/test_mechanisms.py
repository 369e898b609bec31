"""The loss of every mechanism is that of its theorem, calibration is its inverse, and the noise has the stated law."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.advanced_composition import least_scale
from privity.common.privacy.budget import SMALLEST_EPSILON
from privity.common.privacy.discrete_gaussian import discrete_gaussian
from privity.common.privacy.discrete_laplace import discrete_laplace, noise_share
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.loss_conversion import RHO_BITS, SHARED_SLACK
from privity.common.privacy.mechanisms import (
    LARGEST_WEIGHT,
    MOST_WEIGHTS,
    UNIT_BITS,
    AdvancedLaplaceNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
)
from privity.common.privacy.neighbouring_relation import RELATION, PrivacyMismatchError, Relation
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, LEAST_SHARE, NoiseLaw
from privity.common.privacy.noisy_max import noisy_max, noisy_max_scale, sample_selection_noise
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP, compose
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.run_budget import AdvancedBudget, PureBudget, RhoBudget
from privity.common.privacy.score_r import r_sensitivity
from privity.common.privacy.sensitivity import Norm, Sensitivity, contingency_tables, scores
from privity.common.protocol.round import Round, Scores, Tables
from privity.common.protocol.steps import Learn, Select
from tests.harness.consortium import make_schema, make_table
from tests.harness.ledgers import charges, declared

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE_ONE
AMOUNTS = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000)
WEIGHTS = st.lists(st.sampled_from([1, 2, 3, 7, LARGEST_WEIGHT]), min_size=1, max_size=30)
RELATIONS = st.sampled_from(Relation)
GROUPS = st.integers(1, 30)
ONE, DELTA = Fraction(1), Fraction(1, 10**6)


def entropy(label: str) -> SeededEntropy:
    return SeededEntropy(b"mechanism tests", label)


def tables(*weights):
    """Tables of these weights."""
    return Tables(((),) * len(weights), weights)


def alike(count):
    """So many tables of weight 1."""
    return Tables(((),) * count)


@given(WEIGHTS, st.fractions(min_value=Fraction(1, 100), max_value=10**6, max_denominator=1000), RELATIONS, GROUPS)
def test_the_loss_of_laplace_noise_is_its_sensitivity_over_its_scale(weights, scale, relation, rows):
    noise = LaplaceNoise(tables(*weights), scale)
    moved = {REPLACE: 2, ADD: 1}[relation]
    exact = moved * sum(weights) / scale
    assert noise.loss(relation) == PureDP(exact, relation)
    assert noise.loss(relation, rows) == PureDP(rows * exact, relation)
    # Each table alone, at the scale of its own noise: basic composition.
    alone = [LaplaceNoise(alike(1), noise.law(weight).scale).loss(relation) for weight in weights]
    assert compose(alone) == noise.loss(relation)


@given(st.integers(1, 30), AMOUNTS)
def test_scores_cost_one_each_over_the_scale_and_for_a_replaced_row_only(count, scale):
    noise = LaplaceNoise(Scores((None,) * count), scale)
    assert noise.loss(REPLACE) == PureDP(count / scale, REPLACE)
    with pytest.raises(PrivacyMismatchError, match="bounded for a replaced row"):
        noise.loss(ADD)


@given(WEIGHTS, AMOUNTS, RELATIONS, GROUPS, st.fractions(0, 1), st.fractions(0, 1))
def test_gaussian_noise_refuses_a_rho_that_is_too_small(weights, scale, relation, rows, less, more):
    """Right at the bound, anywhere above it, and anywhere below it."""
    query = tables(*weights)
    bound = {REPLACE: 2, ADD: 1}[relation] * sum(w * w for w in weights) / (2 * scale)
    for rho in (bound, bound * (1 + more), bound * (1 + Fraction(1, 10**30))):
        noise = GaussianNoise(query, scale, rho)
        assert noise.loss(relation) == ZCDP(rho, relation)
        assert noise.loss(relation, rows) == ZCDP(rows**2 * rho, relation)
    for rho in (bound * less * Fraction(999_999, 1_000_000), bound * (1 - Fraction(1, 10**30)), Fraction(0)):
        for group in (1, rows):
            with pytest.raises(PrivityError, match="the noise is too small for rho") as caught:
                GaussianNoise(query, scale, rho).loss(relation, group)
            assert caught.value.code == "step-refused"


CLAIMS = st.fractions(Fraction(1, 10), 5, max_denominator=100)


@given(WEIGHTS, CLAIMS, st.integers(3, 12), GROUPS)
def test_advanced_laplace_noise_costs_what_it_claims_and_less_noise_is_refused(weights, epsilon, digits, rows):
    query, delta = tables(*weights), Fraction(1, 10**digits)
    scale = least_scale(weights, epsilon, delta)
    noise = AdvancedLaplaceNoise(query, scale, epsilon, delta)
    assert noise.loss(REPLACE) == ApproxDP(epsilon, delta, REPLACE)
    assert noise.loss(REPLACE, rows) == ApproxDP(epsilon, delta, REPLACE).scaled(rows)
    for group in (1, rows):
        with pytest.raises(PrivityError, match="the noise is too small for epsilon") as caught:
            replace(noise, scale=scale * Fraction(65_000, 65_536)).loss(REPLACE, group)
        assert caught.value.code == "step-refused"


@given(WEIGHTS, CLAIMS, st.integers(3, 12), st.fractions(Fraction(1, 2), 2, max_denominator=1000), CLAIMS)
def test_advanced_laplace_noise_refuses_claims_that_do_not_hold(weights, epsilon, digits, wider, claim):
    """The theorem by hand: no claim below it is taken, and every claim that is clearly above it."""
    delta = Fraction(1, 10**digits)
    scale = wider * least_scale(weights, epsilon, delta)
    parts = [float(2 * weight / scale) for weight in weights]
    squares, rest = sum(e * e for e in parts), sum(e * math.expm1(e) for e in parts)
    exact = math.sqrt(2 * digits * math.log(10) * squares) + rest
    noise = AdvancedLaplaceNoise(tables(*weights), scale, claim, delta)
    if max(parts) > 1 + 1e-9 or exact > claim * (1 + 1e-9):
        with pytest.raises(PrivityError, match="the noise is too small for epsilon"):
            noise.loss(REPLACE)
    elif max(parts) < 1 - 1e-9 and exact * 1.002 < claim:
        assert noise.loss(REPLACE) == ApproxDP(claim, delta, REPLACE)


def test_advanced_laplace_noise_refuses_a_delta_that_is_none_and_other_neighbours():
    noise = AdvancedBudget(ONE, DELTA).whole.noise(alike(3))
    for delta in (Fraction(0), Fraction(1), Fraction(2), Fraction(-1)):
        with pytest.raises(PrivityError, match="delta does not lie between 0 and 1"):
            replace(noise, delta=delta).loss(REPLACE)
    for epsilon in (Fraction(0), Fraction(-1), SMALLEST_EPSILON * Fraction(99, 100)):
        with pytest.raises(PrivityError, match="none that can be served"):
            replace(noise, epsilon=epsilon).loss(REPLACE)
    with pytest.raises(PrivacyMismatchError, match="add or remove one row"):
        noise.loss(ADD)


@given(AMOUNTS, GROUPS)
def test_a_selection_costs_its_epsilon_or_an_eighth_of_its_square_for_a_replaced_row_only(epsilon, rows):
    assert NoisyMax(epsilon).loss(REPLACE) == PureDP(epsilon, REPLACE)
    assert NoisyMax(epsilon).loss(REPLACE, rows) == PureDP(rows * epsilon, REPLACE)
    assert ExponentialMechanism(epsilon).loss(REPLACE) == ZCDP(epsilon**2 / 8, REPLACE)
    assert ExponentialMechanism(epsilon).loss(REPLACE, rows) == ZCDP(rows**2 * epsilon**2 / 8, REPLACE)
    for mechanism in (NoisyMax(epsilon), ExponentialMechanism(epsilon)):
        with pytest.raises(PrivacyMismatchError, match="add or remove one row"):
            mechanism.loss(ADD)
        with pytest.raises(PrivacyMismatchError, match="add or remove one row"):
            mechanism.loss(ADD, rows)


EVERY_MECHANISM = (
    LaplaceNoise(tables(1, 3), Fraction(9)),
    GaussianNoise(tables(1, 3), Fraction(9), Fraction(2)),
    AdvancedBudget(ONE, DELTA).whole.noise(tables(1, 3)),
    NoisyMax(ONE),
    ExponentialMechanism(ONE),
)


@pytest.mark.parametrize("mechanism", EVERY_MECHANISM, ids=lambda mechanism: type(mechanism).__name__)
def test_a_group_of_m_rows_costs_m_epsilon_or_m_squared_rho_or_the_approximate_formula(mechanism):
    one = mechanism.loss(REPLACE)
    assert mechanism.loss(REPLACE, 1) == one
    for rows in (2, 3, 10):
        several = mechanism.loss(REPLACE, rows)
        if isinstance(one, PureDP):
            assert several == PureDP(rows * one.epsilon, REPLACE)
        elif isinstance(one, ZCDP):
            assert several == ZCDP(rows**2 * one.rho, REPLACE)
        else:
            exact = rows * math.exp((rows - 1) * one.epsilon) * one.delta
            assert several.epsilon == rows * one.epsilon
            assert exact * (1 - 1e-12) <= several.delta <= exact * (1 + 2e-3)
    for rows in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="rows per person"):
            mechanism.loss(REPLACE, rows)


@given(WEIGHTS, AMOUNTS, RELATIONS)
def test_laplace_calibration_and_loss_are_inverse_to_each_other(weights, epsilon, relation):
    query, loss = tables(*weights), PureDP(epsilon, relation)
    found = LaplaceNoise.calibrated(query, loss)
    assert found.loss(relation) == loss
    assert LaplaceNoise.calibrated(query, found.loss(relation)) == found
    assert LaplaceNoise.calibrated(query, PureDP(2 * epsilon, relation)).scale == found.scale / 2


@given(WEIGHTS, AMOUNTS, RELATIONS, st.integers(1, 25))
def test_gaussian_calibration_and_loss_are_inverse_to_each_other(weights, rho, relation, quota):
    """But where shares would be too small; the scale is what the theorem needs, rounded up to few bits."""
    query, loss = tables(*weights), ZCDP(rho, relation)
    found = GaussianNoise.calibrated(query, loss, quota)
    needed = query.sensitivity(Norm.L2, relation).squared / (2 * rho)
    least = LEAST_SHARE * quota * max(weights) ** 2
    if quota > 1 and needed < least * (1 - Fraction(1, 2 ** (UNIT_BITS - 1))):
        assert found.scale == least
        cost = query.sensitivity(Norm.L2, relation).squared / (2 * found.scale)
        assert cost <= found.loss(relation).rho <= min(rho, cost * (1 + Fraction(1, 2 ** (RHO_BITS - 1))))
    else:
        assert found.loss(relation) == loss
        assert needed <= found.scale <= max(needed * (1 + Fraction(1, 2 ** (UNIT_BITS - 1))), least if quota > 1 else 0)
        assert GaussianNoise.calibrated(query, found.loss(relation), quota) == found


@given(WEIGHTS, st.fractions(Fraction(1, 10), 5, max_denominator=100), st.integers(3, 12))
def test_the_share_of_each_budget_is_what_its_mechanisms_cost(weights, epsilon, digits):
    query, delta = tables(*weights), Fraction(1, 10**digits)
    assert PureBudget(epsilon).whole.noise(query).loss(REPLACE) == PureDP(epsilon, REPLACE)
    assert PureBudget(epsilon).whole.selecting(1).loss(REPLACE) == PureDP(epsilon, REPLACE)
    assert AdvancedBudget(epsilon, delta).whole.noise(query).loss(REPLACE) == ApproxDP(epsilon, delta, REPLACE)
    in_rho = RhoBudget(epsilon, delta)
    assert in_rho.whole.noise(query).loss(REPLACE) == ZCDP(in_rho.rho, REPLACE)
    # A range has few bits: nearly all of the share.
    selection = in_rho.whole.selecting(1).loss(REPLACE)
    assert in_rho.rho * (1 - Fraction(1, 2**12)) < selection.rho <= in_rho.rho


@given(st.integers(1, 200), AMOUNTS)
def test_steps_cost_what_the_mechanisms_cost(count, epsilon):
    assert LaplaceNoise(alike(count), 2 * count / epsilon).loss(RELATION) == PureDP(epsilon, RELATION)
    assert LaplaceNoise.calibrated(alike(count), PureDP(epsilon, RELATION)).scale == 2 * count / epsilon
    assert LaplaceNoise.calibrated(alike(count), PureDP(epsilon, RELATION)).scale == (
        contingency_tables(count, RELATION).value / epsilon
    )
    assert LaplaceNoise.calibrated(Scores((None,) * count), PureDP(epsilon, RELATION)).scale == count / epsilon
    assert noisy_max_scale(count, epsilon) == 2 * scores(count, RELATION).value / epsilon
    part = PureBudget(epsilon).whole.selecting(count)
    assert compose([part.loss(RELATION)] * count) == PureDP(epsilon, RELATION)


def test_worked_numbers():
    assert LaplaceNoise(alike(105), Fraction(210)).loss(REPLACE) == PureDP(1, REPLACE)
    assert LaplaceNoise(alike(105), Fraction(210)).loss(ADD) == PureDP(Fraction(1, 2), ADD)
    rho = Fraction(105, 7039)
    assert GaussianNoise(alike(105), Fraction(7039), rho).loss(REPLACE) == ZCDP(rho, REPLACE)
    with pytest.raises(PrivityError, match="too small for rho"):
        GaussianNoise(alike(105), Fraction(7038), rho).loss(REPLACE)
    assert noisy_max_scale(r_sensitivity(100, 3, 3), Fraction(1, 3)) == 6 * 604


def test_noise_scale_is_two_tables_moved_over_epsilon():
    for count, epsilon, scale in ((1, Fraction(1), 2), (21, Fraction("0.1"), 420), (5, Fraction(1, 3), 30)):
        assert LaplaceNoise.calibrated(alike(count), PureDP(epsilon, REPLACE)).scale == scale


def test_selection_scale_is_twice_the_sensitivity_over_epsilon():
    assert noisy_max_scale(7, Fraction(1, 3)) == 42
    assert noisy_max_scale(1, Fraction("0.7")) == Fraction(20, 7)


@dataclass(frozen=True)
class Stated:
    """A query that states one sensitivity, whatever it is asked for."""

    stated: Sensitivity
    weights = (1,)
    in_words = "numbers"
    revealed_as = "one sum"

    def sensitivity(self, _norm, _relation):
        return self.stated


WRONG = [(norm, relation) for norm in Norm for relation in Relation]


@pytest.mark.parametrize(("norm", "relation"), WRONG)
def test_a_query_that_states_the_wrong_norm_or_relation_is_refused(norm, relation):
    query = Stated(Sensitivity(ONE, norm, relation))
    needed = {
        Norm.L1: (
            lambda: LaplaceNoise(query, Fraction(2)).loss(REPLACE),
            lambda: LaplaceNoise.calibrated(query, PureDP(1, REPLACE)),
        ),
        Norm.L2: (
            lambda: GaussianNoise(query, Fraction(2), ONE).loss(REPLACE),
            lambda: GaussianNoise.calibrated(query, ZCDP(1, REPLACE)),
        ),
    }
    for right, actions in needed.items():
        for action in actions:
            if (norm, relation) == (right, REPLACE):
                action()
            else:
                with pytest.raises(PrivacyMismatchError, match=r"L1|L2|L-infinity|add or remove"):
                    action()


@pytest.mark.parametrize(("norm", "relation"), WRONG)
def test_scores_in_the_wrong_norm_or_for_another_relation_are_refused(norm, relation):
    move = Sensitivity(ONE, norm, relation)
    for mechanism in (NoisyMax(ONE), ExponentialMechanism(ONE)):
        for action in (lambda m: m.check(move), lambda m: m.sample(3, move, entropy("norm"))):
            if (norm, relation) == (Norm.LINF, REPLACE):
                action(mechanism)
            else:
                with pytest.raises(PrivacyMismatchError, match=r"L1|L2|L-infinity|add or remove"):
                    action(mechanism)


def test_relations_and_kinds_do_not_mix():
    query = alike(3)
    for wrong in (ZCDP(1, REPLACE), ApproxDP(ONE, DELTA, REPLACE)):
        with pytest.raises(PrivacyMismatchError, match="PureDP"):
            LaplaceNoise.calibrated(query, wrong)
    for wrong in (PureDP(1, REPLACE), ApproxDP(ONE, DELTA, REPLACE)):
        for quota in (1, 2):
            with pytest.raises(PrivacyMismatchError, match="ZCDP"):
                GaussianNoise.calibrated(query, wrong, quota)
    with pytest.raises(PrivacyMismatchError, match="a replaced row"):
        LaplaceNoise.calibrated(Scores((None,)), PureDP(1, ADD))
    # Calibrated for one relation, it is priced anew for another.
    assert LaplaceNoise.calibrated(query, PureDP(1, ADD)).loss(REPLACE) == PureDP(2, REPLACE)
    with pytest.raises(PrivityError, match="too small for rho"):
        GaussianNoise.calibrated(query, ZCDP(1, ADD)).loss(REPLACE)
    for raw in (ONE, 1, 1.0):
        for kind in (LaplaceNoise, GaussianNoise):
            with pytest.raises((TypeError, AttributeError)):
                kind.calibrated(query, raw)


NOISES = {
    "Laplace": lambda scale: LaplaceNoise(alike(1), scale),
    "Gaussian": lambda scale: GaussianNoise(alike(1), scale, Fraction(10**6)),
    "advanced": lambda scale: AdvancedLaplaceNoise(alike(1), scale, Fraction(100), DELTA),
}


@pytest.mark.parametrize("noise", NOISES)
def test_no_loss_is_told_for_a_scale_that_is_not_exact_and_above_0(noise):
    with pytest.raises(TypeError):
        NOISES[noise](1000.5).loss(REPLACE)
    for bad in (Fraction(0), Fraction(-1), Fraction(-(10**9))):
        with pytest.raises((ValueError, PrivityError)):
            NOISES[noise](bad).loss(REPLACE)
        with pytest.raises((ValueError, PrivityError)):
            NOISES[noise](bad).check(1)


def test_parameters_of_selections_are_exact_and_positive():
    for kind in (NoisyMax, ExponentialMechanism):
        with pytest.raises(ValueError, match="above 0"):
            kind(Fraction(0))
        with pytest.raises(ValueError, match="at least 0"):
            kind(Fraction(-1))
        for bad in (1.5, True, "1", None):
            with pytest.raises(TypeError, match="exact fraction"):
                kind(bad)
        half = Sensitivity.linf(Fraction(1, 2), REPLACE)
        for action in (lambda m, s: m.check(s), lambda m, s: m.sample(3, s, entropy("half"))):
            with pytest.raises(ValueError, match="integers"):
                action(kind(ONE), half)
        kind(ONE).check(scores(604, REPLACE))
        with pytest.raises(PrivityError, match="too large") as caught:
            kind(Fraction(1, 10**6)).check(scores(10**17, REPLACE))
        assert caught.value.code == "step-refused"


def test_nothing_is_calibrated_to_no_loss():
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        LaplaceNoise.calibrated(alike(1), PureDP(0, REPLACE))
    with pytest.raises(ValueError, match="rho must be above 0"):
        GaussianNoise.calibrated(alike(1), ZCDP(0, REPLACE))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((), "one of 1 to 1024 for each table"),
        ((1, 0), "one of 1 to 1024 for each table"),
        ((1, -1), "one of 1 to 1024 for each table"),
        ((1, LARGEST_WEIGHT + 1), "one of 1 to 1024 for each table"),
        (tuple(range(1, MOST_WEIGHTS + 2)), "more than 8 different weights"),
    ],
)
@pytest.mark.parametrize("noise", NOISES)
def test_weights_that_no_noise_is_made_for_are_refused(noise, weights, said):
    made = replace(NOISES[noise](Fraction(10**6)), query=tables(*weights))
    with pytest.raises(PrivityError, match=said) as caught:
        made.check(1)
    assert caught.value.code == "step-refused"


def test_what_is_checked_before_a_charge_holds_for_every_weight_and_share():
    noise = GaussianNoise.calibrated(tables(1, 3), ZCDP(1, REPLACE), 4)
    assert noise.scale == LEAST_SHARE * 4 * 9
    noise.check(4)
    with pytest.raises(PrivityError, match="too small to be shared"):
        noise.check(5)
    with pytest.raises(PrivityError, match="too small for rho"):
        replace(noise, rho=noise.rho / 2).check(4)
    assert (noise.law(3), noise.reach) == (NoiseLaw(GAUSSIAN, Fraction(64)), noise.law(1).reach)
    laplace = LaplaceNoise.calibrated(tables(1, 3), PureDP(1, REPLACE))
    laplace.check(4)
    assert (laplace.law(3), laplace.reach) == (NoiseLaw(LAPLACE, Fraction(8, 3)), 8)


def test_draws_are_those_of_the_samplers():
    scale = Fraction(25, 2)
    noise = LaplaceNoise(alike(2), scale)
    plain, shared = noise.sample([100, 200], 1, entropy("l")), noise.sample([100, 200], 3, entropy("s"))
    assert np.array_equal(plain, discrete_laplace(scale, 300, entropy("l")))
    assert np.array_equal(shared, noise_share(scale, 3, 300, entropy("s")))
    advanced = AdvancedLaplaceNoise(alike(2), scale, ONE, DELTA)
    assert np.array_equal(advanced.sample([100, 200], 3, entropy("s")), shared)
    gauss = GaussianNoise(alike(1), Fraction(48), ONE)
    assert np.array_equal(gauss.sample([10], 1, entropy("g")), discrete_gaussian(Fraction(48), 10, entropy("g")))
    assert np.array_equal(gauss.sample([10], 3, entropy("h")), discrete_gaussian(Fraction(16), 10, entropy("h")))
    chosen = NoisyMax(Fraction(1, 2))
    mine = chosen.sample(50, scores(4, REPLACE), entropy("m"))
    theirs = sample_selection_noise(50, 4, Fraction(1, 2), entropy("m"))
    assert mine(range(50)) == noisy_max(range(50), theirs)
    assert mine([0] * 50) == noisy_max([0] * 50, theirs)


def test_each_statistic_has_the_noise_of_its_own_weight():
    noise = LaplaceNoise(tables(1, 4, 1), Fraction(12))
    drawn, stream = noise.sample([2, 3, 4], 3, entropy("w")), entropy("w")
    assert np.array_equal(drawn[[0, 1, 5, 6, 7, 8]], noise_share(Fraction(12), 3, 6, stream))
    assert np.array_equal(drawn[[2, 3, 4]], noise_share(Fraction(3), 3, 3, stream))


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
    size, query = 150_000, Stated(Sensitivity.l1(2, REPLACE))
    right = LaplaceNoise.calibrated(query, PureDP(epsilon, REPLACE))
    halved = replace(right, scale=right.scale / 2)
    for mechanism, sound in ((right, True), (halved, False)):
        loss = largest_loss(lambda label, m=mechanism: m.sample([size], 1, entropy(f"{m.scale} {label}")), 2, size)
        assert (loss <= float(epsilon)) is sound
    assert halved.loss(REPLACE) == PureDP(2 * epsilon, REPLACE)


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(2), Fraction(9)])
def test_the_discrete_gaussian_has_the_renyi_divergence_of_its_rho(sigma_squared):
    """Computed from the law itself: at most alpha * rho at every order, equal to it up to the discrete part."""
    query, exact = Stated(Sensitivity.l2_squared(1, REPLACE)), 1 / (2 * sigma_squared)
    rho = float(GaussianNoise(query, sigma_squared, exact).loss(REPLACE).rho)
    with pytest.raises(PrivityError, match="too small for rho"):
        GaussianNoise(query, sigma_squared, exact * (1 - Fraction(1, 10**9))).loss(REPLACE)
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


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_shares_of_gaussian_noise_add_up_to_it_within_the_proved_distance(parties):
    """By convolution, at so small a noise that the distance is no rounding error."""
    share, quota = Fraction(1, 2), parties - 1
    shared = GaussianNoise(alike(1), share * quota, ONE)
    distance = shared.distance(quota)
    z = np.arange(-60, 61)
    one = np.exp(-(z**2) / (2 * float(share)))
    one /= one.sum()
    total = one
    for _ in range(quota - 1):
        total = np.convolve(total, one, mode="same")
    whole = np.exp(-(z**2) / (2 * float(shared.scale)))
    whole /= whole.sum()
    middle = np.abs(z) <= 5
    apart = np.abs(np.log(total[middle] / whole[middle])).max()
    assert apart <= distance
    assert apart > distance / 100 or parties == 2


def test_shares_of_what_is_allowed_are_gaussian_for_all_purposes():
    shared = GaussianNoise(alike(1), LEAST_SHARE * Fraction(99), ONE)
    # Twice two cells of 2^24 tables, and still far within the slack of the accounting.
    assert shared.distance(99) * 2**26 < SHARED_SLACK


PAIRS = (AttributeParentPair(0, (1,)), AttributeParentPair(1, (0,)))
PRICES = {
    "a charge": lambda price: Charge("r", "s", price),
    "a round": lambda price: Round("r", "p", "1", price),
    "a selection": lambda price: Select("r", "p", "1", PAIRS, price),
    "a model": lambda price: Learn("r", "p", "1", "one-way", {}, price),
}


@pytest.mark.parametrize("price", [ONE, 1, 1.0, "1", None], ids=repr)
@pytest.mark.parametrize("step", PRICES)
def test_a_raw_number_prices_no_step(step, price):
    with pytest.raises(TypeError):
        PRICES[step](price)


def test_a_loss_prices_only_what_it_is_a_loss_of():
    """A round and a selection hold a mechanism, which says what it costs: a loss alone is no noise."""
    for step in ("a round", "a selection"):
        for loss in (PureDP(1, REPLACE), ZCDP(1, REPLACE), ApproxDP(ONE, DELTA, REPLACE)):
            with pytest.raises(TypeError):
                PRICES[step](loss)
    with pytest.raises(TypeError):
        PRICES["a round"](NoisyMax(ONE))
    with pytest.raises(TypeError):
        PRICES["a selection"](LaplaceNoise(alike(1), ONE))
    for loss in (ZCDP(1, REPLACE), ApproxDP(ONE, DELTA, REPLACE)):
        with pytest.raises(TypeError):
            PRICES["a model"](loss)


@pytest.mark.parametrize("step", ["a charge", "a model"])
def test_a_loss_for_other_neighbours_prices_no_step(step):
    PRICES[step](PureDP(1, REPLACE))
    with pytest.raises(PrivacyMismatchError, match="add or remove one row"):
        PRICES[step](PureDP(1, ADD))


@pytest.mark.parametrize("price", [ONE, 1, 1.0, PureDP(1, REPLACE)], ids=repr)
@pytest.mark.parametrize("budget", [PureBudget(ONE), RhoBudget(ONE, DELTA)], ids=lambda budget: type(budget).__name__)
def test_a_session_takes_no_raw_number_and_charges_nothing_for_it(budget, price):
    schema = make_schema((2, 3))
    session = InProcessBackend([make_table(schema, 20, k) for k in (1, 2)], budget).session()
    asked = (
        lambda: session.measure("p", [(0,)], price).send(None),
        lambda: session.measure("p", [(0,), (1,)], price, (1, 2)).send(None),
        lambda: session.score("p", [], price).send(None),
        lambda: session.running_sums("p", [(0,)], price, [Fraction(1, 2)] * 2),
        lambda: session.selection("p", 3, price),
        lambda: session.noise_variance(1, price),
        lambda: session.selection_epsilon(1, price),
    )
    for ask in asked:
        with pytest.raises((TypeError, AttributeError)):
            ask()
    assert session.record.costs == []
    for releases in session.backend.releases:
        assert charges(releases.ledger) == []
        assert (releases.ledger.spent(), releases.ledger.spent_delta()) == (0, 0)


def test_a_ledger_takes_no_raw_number_and_writes_nothing():
    ledger = declared(total=1)
    for asked in (lambda: Charge("r", "s", ONE), lambda: Charge("r", "s", ONE, True)):
        with pytest.raises(TypeError, match="a charge is a privacy loss, never Fraction"):
            ledger.charge(asked(), Allowance(), "hospital")
    with pytest.raises((TypeError, AttributeError)):
        ledger.charge(ONE, Allowance(), "hospital")
    with pytest.raises((TypeError, AttributeError)):
        ledger.check(ONE, "hospital")
    assert (ledger.spent(), charges(ledger)) == (0, [])
