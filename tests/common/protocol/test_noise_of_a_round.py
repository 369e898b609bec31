"""The law of what is opened: through production engines, exactly one shared noise of the stated scale."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privity.common.data.contingency_tables import contingency_tables
from privity.common.protocol.steps import Revealed, Step
from tests.harness.consortium import make_consortium
from tests.harness.steps import pure

DOMAIN = (50, 40)


def opened_noise(parties: int, tolerate: int, epsilon: Fraction, seed: int) -> np.ndarray:
    """Noise of one opened table of 2,000 cells: opened minus the true sum."""
    consortium = make_consortium(parties, domain=DOMAIN, rows=30, seed=seed)
    plan = consortium.begin(consortium.spec(epsilon=epsilon, tolerate=tolerate))
    (table,) = asyncio.run(consortium.session(plan).measure("test", [(0, 1)], pure(epsilon)))
    true = sum(contingency_tables(p.table, [(0, 1)])[0] for p in consortium.parties.values())
    return (table.counts - true).ravel()


def rejected(noise: np.ndarray, scale: float) -> float:
    """p-value of a chi-square test against discrete Laplace noise of this scale, in 20 bins of equal mass."""
    law = stats.dlaplace(1 / scale)
    edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    observed = np.bincount(np.searchsorted(edges, noise, side="left"), minlength=len(edges) + 1)
    expected = np.diff(np.concatenate([[0], law.cdf(edges), [1]])) * noise.size
    return float(stats.chisquare(observed, expected).pvalue)


# K shares of shape 1/(K-t) sum to one discrete Laplace variable exactly when t = 0; with t = K - 1 each
# share is a whole one. The sum over K - t parties is the claim; the noise of all K is K/(K-t) of it.
@pytest.mark.process
@pytest.mark.parametrize(("parties", "tolerate"), [(2, 1), (3, 1), (3, 2), (5, 2)])
def test_the_variance_of_the_opened_noise_is_that_of_k_shares(parties: int, tolerate: int) -> None:
    epsilon = Fraction(1, 10)
    scale = float(2 / epsilon)
    noise = np.concatenate([opened_noise(parties, tolerate, epsilon, seed) for seed in range(3)])
    one = float(stats.dlaplace(1 / scale).var())
    expected = one * parties / (parties - tolerate)
    # The standard error of the variance of 6,000 such variables is below 4 %.
    assert noise.var() == pytest.approx(expected, rel=0.15)
    assert noise.mean() == pytest.approx(0, abs=4 * np.sqrt(expected / noise.size))


@pytest.mark.process
def test_what_remains_for_t_parties_that_subtract_their_shares_is_one_discrete_laplace() -> None:
    """Against a coalition the noise of the other K - t parties is exactly the noise that is claimed."""
    parties, tolerate, epsilon = 3, 1, Fraction(1, 10)
    remains = []
    for seed in range(3):
        consortium = make_consortium(parties, domain=DOMAIN, rows=30, seed=seed)
        plan = consortium.begin(consortium.spec(epsilon=epsilon, tolerate=tolerate))
        journal, kept = consortium.parties["party-1"].journal, []

        def before_it_is_erased(party: str, step: Step, journal=journal, kept=kept) -> Step:
            if party == "party-1" and isinstance(step, Revealed):
                kept.append(journal.content("run-1/vector/1-test"))
            return step

        consortium.tamper = before_it_is_erased
        (table,) = asyncio.run(consortium.session(plan).measure("test", [(0, 1)], pure(epsilon)))
        own = np.frombuffer(kept[0], dtype="<i8")
        others = [consortium.parties[f"party-{k}"].table for k in (2, 3)]
        true = sum(contingency_tables(t, [(0, 1)])[0] for t in others)
        remains.append(table.counts.ravel() - own - true.ravel())
    noise = np.concatenate(remains)
    scale = float(2 / epsilon)
    assert rejected(noise, scale) > 1e-4
    assert rejected(noise, scale * 1.3) < 1e-6
    assert rejected(noise, scale * 0.7) < 1e-6
