"""How often a guess is right at most: against numerical integration, what reaches the bound, and what it is made of."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from privity.common.privacy.guessing import divergence_of_a_person, right_at_most
from privity.common.privacy.loss_conversion import converted, rho_within
from privity.common.privacy.mechanisms import CONCENTRATED

HUGE = Fraction(10**6)
RHOS = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(15, 1000), Fraction(1, 10), Fraction(1), Fraction(3)]
GRAIN = 1e-3 + 1e-9


def by_rho(rho):
    return float(right_at_most(HUGE, Fraction(0), rho))


@pytest.mark.parametrize("rho", RHOS)
def test_gaussian_noise_stays_below_and_comes_near(rho):
    """The trade-off of N(0, 1) and N(mu, 1), mu^2/2 = rho, by numerical integration."""
    mu = math.sqrt(2 * rho)
    distance = quad(lambda x: abs(norm.pdf(x) - norm.pdf(x - mu)) / 2, -12, 12 + mu, points=[mu / 2], limit=200)[0]
    right = (1 + distance) / 2
    assert distance == pytest.approx(2 * norm.cdf(mu / 2) - 1, abs=1e-9)
    assert right <= by_rho(rho) <= right + 0.14 * distance + GRAIN


@pytest.mark.parametrize("rho", RHOS)
def test_a_coin_that_is_in_zcdp_reaches_it(rho):
    odds = brentq(lambda x: x * math.tanh(x / 2) - float(rho), 1e-9, 100)
    p = 1 / (1 + math.exp(-odds))
    for alpha in (1.0001, 1.01, 1.5, 2, 5, 50, 1000):
        log_terms = [alpha * math.log(x) + (1 - alpha) * math.log(1 - x) for x in (p, 1 - p)]
        assert np.logaddexp(*log_terms) / (alpha - 1) <= alpha * float(rho) * (1 + 1e-6)
    assert p <= by_rho(rho) <= p + GRAIN


def test_gaussian_noise_and_a_selection_together():
    """Both are in rho: discrete Gaussian counts, then a selection by the exponential mechanism among two."""
    for of_noise, of_selection in ((0.01, 0.01), (0.2, 0.05), (0.001, 0.5)):
        scale = 1 / (2 * of_noise)
        values = np.arange(-400, 402)
        first, second = (np.exp(-((values - mean) ** 2) / (2 * scale)) for mean in (0, 1))
        first, second = first / first.sum(), second / second.sum()
        half = math.sqrt(8 * of_selection) / 2
        chosen = [np.exp([s * half / 2, -s * half / 2]) / (2 * math.cosh(half / 2)) for s in (1, -1)]
        distance = np.abs(np.outer(second, chosen[0]) - np.outer(first, chosen[1])).sum() / 2
        assert (1 + distance) / 2 <= by_rho(Fraction(str(of_noise)) + Fraction(str(of_selection)))


@given(st.fractions(Fraction(1, 1000), 10, max_denominator=1000), st.integers(2, 12).map(lambda k: Fraction(1, 10**k)))
def test_it_is_never_above_what_epsilon_and_delta_give(rho, delta):
    epsilon = converted(rho, delta)
    assert right_at_most(epsilon, delta, rho) <= right_at_most(epsilon, delta)
    # At whatever delta rho is converted: none does better.
    assert by_rho(rho) <= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)) + GRAIN


def test_it_grows_with_rho_and_ends_at_certainty():
    found = [by_rho(Fraction(k, 50)) for k in range(1, 400)]
    assert found == sorted(found)
    assert by_rho(Fraction(1000)) == 1
    assert by_rho(Fraction(1, 10**20)) == 0.501
    assert right_at_most(Fraction(1), Fraction(0)) == Fraction(732, 1000)
    assert right_at_most(Fraction(1, 1000), Fraction(0), Fraction(3)) == Fraction(501, 1000)


EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)
R = rho_within(EPSILON, DELTA)


def statement(*phases, rows=1, spent=R, parties=1, epsilon="1", evaluation=None, discoveries=()):
    """Of (phase, mechanism, epsilon, delta, rho)."""
    privacy = {
        "parties_per_person": parties,
        "schema": {"discoveries": discoveries},
        "parties": [
            {
                "name": "a",
                "rows_per_person": rows,
                "rho_per_row": str(spent),
                "epsilon_per_row_by_phase": {phase: cost for phase, _, cost, _, _ in phases},
            }
        ],
        "phases": [
            {
                "phase": phase,
                "mechanisms": [words],
                "delta_per_row": delta,
                **({} if rho is None else {"rho_per_row": rho}),
            }
            for phase, words, _, delta, rho in phases
        ],
    }
    run = {"epsilon": epsilon, "delta": str(DELTA)}
    return privacy, run if evaluation is None else run | {"evaluation": {"epsilon": evaluation, "targets": []}}


IN_RHO = ("tables", f"noise; {CONCENTRATED}", "1", str(DELTA), str(R))


def test_a_run_that_stopped_early_is_bounded_by_all_that_it_might_have_spent():
    assert divergence_of_a_person(*statement(IN_RHO, spent=R / 100)) == R
    assert divergence_of_a_person(*statement(IN_RHO, rows=3)) == 9 * R


def test_an_evaluation_counts_besides():
    scores = ("evaluation", "discrete Laplace noise", "1/10", "0", "0")
    found = divergence_of_a_person(*statement(IN_RHO, scores, rows=2, epsilon="11/10", evaluation="1/10"))
    assert found == 4 * R + Fraction(2, 10) ** 2 / 2


def discovered(epsilon, delta="0"):
    return [{"attributes": ["x"], "run": "r", "population": "p", "epsilon": epsilon, "delta": delta}]


def test_what_the_schema_cost_counts_besides():
    found = divergence_of_a_person(*statement(IN_RHO, discoveries=discovered("1/5")))
    assert found == R + Fraction(1, 5) ** 2 / 2


@pytest.mark.parametrize(
    "of",
    [
        statement(("tables", "discrete Laplace noise", "1", "0", None)),
        statement(("tables", "advanced composition", "1", str(DELTA), None)),
        statement(IN_RHO, ("texts", "texts above a threshold", "1/2", "1/2000000000", "0")),
        statement(("tables", "noise of its own", "1", str(DELTA), str(R))),
        statement(IN_RHO, parties=2),
        statement(IN_RHO, discoveries=discovered("1/5", "1/1000000")),
        statement(IN_RHO, epsilon="1/1000000000000000"),
    ],
)
def test_without_rho_or_with_a_delta_besides_it_is_not_known(of):
    assert divergence_of_a_person(*of) is None
