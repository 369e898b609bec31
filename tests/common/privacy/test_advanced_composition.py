"""What many tables cost together: golden figures, and every bound against an exact computation of small cases."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy.advanced_composition import advanced_epsilon, holds, least_scale
from privity.common.privacy.mechanisms import AdvancedLaplaceNoise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import LAPLACE
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP
from privity.common.privacy.run_budget import AdvancedBudget, RhoBudget
from privity.common.protocol.round import Tables

DELTA = Fraction(1, 2**30)
ONE = Fraction(1)


def tables(weights):
    return Tables(((),) * len(weights), tuple(weights))


@pytest.mark.parametrize(("attributes", "part"), [(14, "0.014782"), (27, "0.007791"), (9, "0.022579")])
def test_advanced_composition_is_that_of_the_copula_paper(attributes, part):
    """Asghar et al. 2019, section 4.2: these parts of epsilon give just under 1."""
    count = attributes + math.comb(attributes, 2)
    assert 0.9998 < advanced_epsilon(Counter({Fraction(part): count}), DELTA) < 1
    found = 2 / least_scale([1] * count, ONE, DELTA)
    assert float(found) == pytest.approx(float(part), abs=1.1e-6)


def found_for(composition, weights, epsilon, delta):
    """The least noise: of a round of its own, or with the whole of a run's budget in rho."""
    budget = {"zcdp": RhoBudget, "advanced": AdvancedBudget}[composition](epsilon, delta)
    return budget.whole.noise(tables(weights))


@pytest.mark.parametrize(("composition", "deviation"), [("advanced", 191.3), ("zcdp", 83.91)], ids=lambda v: str(v))
def test_the_noise_of_a_cell_of_105_tables(composition, deviation):
    """docs/privacy.md, "Budgets"."""
    law = found_for(composition, [1] * 105, ONE, DELTA).law(1)
    variance = law.share_variance(1)
    assert math.sqrt(variance) == pytest.approx(deviation, abs=0.1)


def one_cell(law):
    """The loss of a cell that moves by one, and its chances: by enumeration of the noise."""
    scale = float(law.scale)
    reach = int(40 * scale) if law.name == LAPLACE else int(10 * math.sqrt(scale)) + 10
    z = np.arange(-reach, reach + 1)
    logs = -np.abs(z) / scale if law.name == LAPLACE else -(z**2) / (2 * scale)
    chances = np.exp(logs) / np.exp(logs).sum()
    return np.diff(logs), chances[1:]


def exact_delta(laws, epsilon):
    """Delta of tables of which each moves in two cells, by convolution of their losses."""
    # Laplace losses lie on a grid; Gaussian ones are put on one, fine beside what the theorem gives away.
    digits = 9 if laws[0].name == LAPLACE else 3
    losses, chances = np.zeros(1), np.ones(1)
    for law in [law for law in laws for _cell in range(2)]:
        loss, chance = one_cell(law)
        joined = np.round((losses[:, None] + loss[None, :]).ravel(), digits)
        losses, places = np.unique(joined, return_inverse=True)
        chances = np.bincount(places, weights=(chances[:, None] * chance[None, :]).ravel())
    return float((chances * np.maximum(0, 1 - np.exp(np.minimum(0, epsilon - losses)))).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("composition", ["advanced", "zcdp"])
@pytest.mark.parametrize("weights", [[1], [1, 1], [3, 1, 1]])
@pytest.mark.parametrize(("epsilon", "delta"), [(ONE, Fraction(1, 1000)), (Fraction(3), Fraction(1, 10**5))])
def test_calibrated_noise_keeps_the_promise_and_less_is_refused(composition, weights, epsilon, delta):
    found = found_for(composition, weights, epsilon, delta)
    laws = [found.law(weight) for weight in weights]
    assert exact_delta(laws, float(epsilon)) <= float(delta) * 1.0001
    found.check(1)
    less = replace(found, scale=found.scale * Fraction(9999, 10000))
    claim = {"zcdp": "rho", "advanced": "epsilon"}[composition]
    for refuse in (lambda: less.check(1), lambda: less.loss(RELATION)):
        with pytest.raises(PrivityError, match=f"the noise is too small for {claim}"):
            refuse()
    if composition == "zcdp":
        assert found.loss(RELATION) == ZCDP(RhoBudget(epsilon, delta).rho, RELATION)
    else:
        assert found.loss(RELATION) == ApproxDP(epsilon, delta, RELATION)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.fractions(Fraction(1, 50), 5, max_denominator=100),
    st.integers(1, 12),
)
def test_calibrated_noise_is_certified_short_and_nearly_the_least(weights, epsilon, digits):
    delta = Fraction(1, 10**digits)
    scale = least_scale(weights, epsilon, delta)
    assert holds(scale, weights, epsilon, delta)
    assert not holds(scale * Fraction(65_000, 65_536), weights, epsilon, delta)
    found = AdvancedBudget(epsilon, delta).whole.noise(tables(weights))
    assert (found.scale, found.loss(RELATION)) == (scale, ApproxDP(epsilon, delta, RELATION))
    for weight in set(weights):
        law = found.law(weight)
        law.check(1)
        assert law.scale.denominator < 2**30


@pytest.mark.parametrize(
    ("scale", "delta", "said"),
    [
        (ONE, Fraction(0), "does not lie between"),
        (ONE, ONE, "does not lie between"),
        (Fraction(1, 100), DELTA, "too small for epsilon 1"),
    ],
)
def test_a_claim_that_does_not_hold_is_refused(scale, delta, said):
    with pytest.raises(PrivityError, match=said) as caught:
        AdvancedLaplaceNoise(tables([1, 1]), scale, ONE, delta).check(1)
    assert caught.value.code == "step-refused"


def test_an_epsilon_for_which_no_noise_is_enough_ends():
    with pytest.raises(PrivityError, match="too small for noise that can be drawn"):
        least_scale([1], Fraction(1, 10**50), Fraction(1, 10**20))
