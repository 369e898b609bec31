"""The choice of one candidate by report-noisy-max with one-sided geometric noise on integer scores.

Theorem. Let candidate i have the integer score s_i, and let one replaced row move every score by at most
D, in any direction and not all the same way. Draw Z_i independently with P(Z_i >= m) = a^max(m, 0) for
integers m, a = exp(-eps/(2D)) (geometric of scale 2D/eps), and a total order of the candidates that does
not depend on the data. Reporting the candidate of largest s_i + Z_i, of equals the first in the order,
is eps-differentially private.

Proof. Fix i, the order, and all Z_j with j != i. Candidate i wins if and only if Z_i >= m(s), where
m(s) = max over j != i of (s_j + Z_j + [j stands before i]) - s_i, an integer. For a neighbour s' each
s'_j <= s_j + D and s'_i >= s_i - D, so m(s') <= m(s) + 2D. As max(m + 2D, 0) <= max(m, 0) + 2D,

    P(Z_i >= m(s')) >= P(Z_i >= m(s) + 2D) >= a^(2D) P(Z_i >= m(s)) = exp(-eps) P(Z_i >= m(s)).

Averaging over the Z_j and the order keeps the inequality, and summing over i carries it to every set of
outcomes. Scores and thresholds are integers, so nothing is lost by the discrete noise, and ties need no
special case. Because neither monotony nor a common direction was used, the factor 2 is needed.

With continuous exponential noise this is permute-and-flip (McKenna and Sheldon 2020; Ding et al. 2021),
which is never worse in expected score than the exponential mechanism; the geometric law is its integer
form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privity.common.privacy.discrete_laplace import geometric
from privity.common.privacy.random_bits import Entropy, IntArray, uniform_below


@dataclass(frozen=True, repr=False)
class SelectionNoise:
    """All randomness of one choice, drawn before data are touched.

    ``added`` and ``order`` are int64 of shape (candidates,): what is added to each score, and a
    permutation (each candidate's place) that decides ties.
    """

    added: IntArray
    order: IntArray

    def __repr__(self) -> str:
        return f"SelectionNoise(candidates={self.added.size})"


def noisy_max_scale(sensitivity: Fraction | int, epsilon: Fraction) -> Fraction:
    """Scale 2D/epsilon of the noise: twice the sensitivity, as two scores may move in opposite directions."""
    return 2 * Fraction(sensitivity) / epsilon


def sample_selection_noise(candidates: int, sensitivity: int, epsilon: Fraction, entropy: Entropy) -> SelectionNoise:
    """The noise of one choice among ``candidates`` scores of the given sensitivity, at ``epsilon``.

    Args:
        sensitivity: the most by which any one score moves when one row is replaced. 0 (scores that no
            row can move) needs no noise.
        epsilon: the exact privacy loss of this choice, above 0.

    Raises:
        ValueError: no candidate, a negative sensitivity, an epsilon not above 0, or a scale beyond
            the limits of `privity.common.privacy.discrete_laplace`.
    """
    if candidates < 1:
        raise ValueError("a choice needs at least one candidate")
    if sensitivity < 0:
        raise ValueError("the sensitivity must be at least 0")
    if epsilon <= 0:
        raise ValueError("epsilon must be above 0")
    if sensitivity:
        added = geometric(noisy_max_scale(sensitivity, epsilon), candidates, entropy)
    else:
        added = np.zeros(candidates, dtype=np.int64)
    return SelectionNoise(added, _random_order(candidates, entropy))


def noisy_max(scores: Sequence[int] | IntArray, noise: SelectionNoise) -> int:
    """The index of the candidate with the largest noisy score; see the module for the guarantee.

    Scores are exact integers of any size (numpy integers are taken too), so a sum never wraps.

    Raises:
        ValueError: the number of scores is not the number the noise was drawn for.
        TypeError: a score is not an integer.
    """
    if len(scores) != noise.added.size:
        raise ValueError("there must be as many scores as the noise was drawn for")
    if isinstance(scores, np.ndarray) and scores.dtype == np.int64:
        largest = int(np.abs(noise.added).max()) + max(int(scores.max()), -int(scores.min()))
        if largest < 2**63:
            noisy = scores + noise.added
            best = np.flatnonzero(noisy == noisy.max())
            return int(best[noise.order[best].argmin()])
    for score in scores:
        if not isinstance(score, (int, np.integer)):
            raise TypeError("scores must be integers")
    return max(range(len(scores)), key=lambda i: (int(scores[i]) + int(noise.added[i]), -int(noise.order[i])))


def _random_order(size: int, entropy: Entropy) -> IntArray:
    """A uniform random permutation of 0 .. size-1 (Fisher and Yates)."""
    order = list(range(size))
    for last, other in enumerate(uniform_below(np.arange(1, size + 1), entropy).tolist()):
        order[last], order[other] = order[other], order[last]
    return np.array(order, dtype=np.int64)
