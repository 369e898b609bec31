"""Which fit an algorithm ends in if nobody asked for one; what it costs is the same."""

import asyncio
from fractions import Fraction

import numpy as np
import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget
from privity.common.synthesis.algorithms import ALGORITHMS

GRAPHICAL = {"dp-subn", "privbayes", "jtree", "aim"}
LIGHT = {"dp-ccbn", "privhd", "mst"}
BITS = [
    ("dp-subn", {"attributes": "binary"}),
    ("privbayes", {"encoding": "binary"}),
    ("privbayes", {"encoding": "gray"}),
]


def fitted(make_table, algorithm, settings):
    session = InProcessBackend(
        [make_table([2, 5, 3, 4], 3000, seed) for seed in (1, 2)], PureBudget(Fraction(2))
    ).session()
    model = asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, settings))
    assert max(release.ledger.spent() for release in session.backend.releases) == 2
    assert model.sample(70, np.random.default_rng(1)).rows == 70
    return session.record.inference


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", sorted(GRAPHICAL | LIGHT))
def test_an_algorithm_ends_in_the_fit_that_was_measured_to_be_better(make_table, algorithm):
    used = fitted(make_table, algorithm, {})
    assert used.method == used.asked == ("pgm" if algorithm in GRAPHICAL else "tables")


@pytest.mark.parametrize(("algorithm", "settings"), BITS)
def test_bits_are_not_asked_to_be_a_graphical_model_unless_somebody_does(make_table, algorithm, settings):
    used = fitted(make_table, algorithm, settings)
    assert (used.method, used.asked, used.reason) == ("tables", "tables", "")
    used = fitted(make_table, algorithm, {**settings, "inference": "pgm"})
    assert (used.method, used.asked) == ("tables", "pgm")
    assert "bits of codes" in used.reason
