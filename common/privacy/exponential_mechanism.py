"""The exponential mechanism on integer scores, drawn exactly: the choice whose privacy loss has a bounded range.

Theorem. Let candidate i have the integer score s_i, and let one replaced row move every score by at most D, in any
direction. P(i) proportional to exp(epsilon s_i/(2D)) (McSherry and Talwar 2007) has log(P(i)/P'(i)) within an interval
of length epsilon, whatever the neighbours: it is epsilon (s_i - s'_i)/(2D), which lies within epsilon/2 of 0, and a
number that is the same for all i. So it is epsilon^2/8-zCDP (Cesar and Rogers 2021; the range: Durfee and
Rogers 2019), a quarter of what epsilon-differential privacy alone gives. Report noisy max with one-sided geometric
noise (``privity.common.privacy.noisy_max``) has a larger range, and is not for a budget in rho.

Sampler. Draw pairs of a candidate i, uniform among all, and G with P(G >= g) = exp(-g epsilon/(2D)); the first pair
with s_i + G >= max s is the choice. As P(G >= max s - s_i) = exp(epsilon (s_i - max s)/(2D)), this is rejection
sampling of exactly that law. Pairs come in blocks, of which the first is drawn before any row is looked at. Among up
to 1024 candidates it decides but for a chance below exp(-64); beyond that further blocks may be drawn, and how many
depends on scores. That shows in time only, as the counting behind the scores does: the law of the choice is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privity.common.privacy.discrete_laplace import geometric
from privity.common.privacy.noisy_max import noisy_max_scale
from privity.common.privacy.random_bits import Entropy, IntArray, uniform_below

TRIALS_A_CANDIDATE = 64
MOST_TRIALS = 1 << 16
"""Pairs of a block: 64 for each candidate, or so many."""


@dataclass(frozen=True, repr=False)
class Trials:
    """A block of pairs, drawn before data are touched: candidates and what is added to their scores.

    ``places`` and ``added`` are int64 of shape (trials,).
    """

    places: IntArray
    added: IntArray
    candidates: int

    def __repr__(self) -> str:
        return f"Trials(candidates={self.candidates})"


def sample_trials(candidates: int, sensitivity: int, epsilon: Fraction, entropy: Entropy) -> Trials:
    """A block of pairs for a choice among ``candidates`` scores of the given sensitivity.

    Args:
        sensitivity: the most by which any one score moves when one row is replaced; of 0 the best is chosen.
        epsilon: the exact range of the choice's privacy loss, above 0.

    Raises:
        ValueError: no candidate, a negative sensitivity, an epsilon not above 0, or a scale beyond the limits of
            `privity.common.privacy.discrete_laplace`.
    """
    if candidates < 1 or sensitivity < 0 or epsilon <= 0:
        raise ValueError("a choice needs a candidate, a sensitivity of at least 0 and an epsilon above 0")
    trials = min(TRIALS_A_CANDIDATE * candidates, MOST_TRIALS)
    places = uniform_below(candidates, entropy, trials)
    if not sensitivity:
        return Trials(places, np.zeros(trials, dtype=np.int64), candidates)
    return Trials(places, geometric(noisy_max_scale(sensitivity, epsilon), trials, entropy), candidates)


def first_accepted(scores: Sequence[int] | IntArray, trials: Trials) -> int | None:
    """The candidate of the first pair whose score reaches the largest one; None if no pair does.

    Scores are exact integers of any size (numpy integers are taken too), so a sum never wraps.

    Raises:
        ValueError: the number of scores is not the number the pairs were sampled for.
        TypeError: a score is not an integer.
    """
    if len(scores) != trials.candidates:
        raise ValueError("there must be as many scores as the pairs were sampled for")
    lacking = _lacking(scores)[trials.places]
    accepted = np.flatnonzero(trials.added >= lacking)
    return int(trials.places[accepted[0]]) if accepted.size else None


def _lacking(scores: Sequence[int] | IntArray) -> NDArray[np.int64] | NDArray[np.object_]:
    """By how much each score is below the largest one."""
    if isinstance(scores, np.ndarray) and scores.dtype == np.int64:
        most, least = int(scores.max()), int(scores.min())
        if most - least < 2**63:
            return most - scores
    if not all(isinstance(score, (int, np.integer)) for score in scores):
        raise TypeError("scores must be integers")
    exact = [int(score) for score in scores]
    most = max(exact)
    return np.array([most - score for score in exact], dtype=object)


def exponential_choice(
    scores: Sequence[int] | IntArray, sensitivity: int, epsilon: Fraction, first: Trials, entropy: Entropy
) -> int:
    """The index of the chosen candidate.

    Args:
        first: the block that was drawn beforehand; more are drawn if it decides nothing.
    """
    choice = first_accepted(scores, first)
    while choice is None:
        choice = first_accepted(scores, sample_trials(len(scores), sensitivity, epsilon, entropy))
    return choice
