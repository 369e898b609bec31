"""What a step costs: pure functions of the step, computed by the curator and again by each party.

Neighbouring tables differ in one replaced row, the row counts are public, and one person has one row.
A replaced row moves two cells of every contingency table by one each, so m tables have the L1
sensitivity 2m (`contingency_tables`); independent discrete Laplace noise of scale b on every cell is
(2m/b)-differentially private (`privity.common.privacy.mechanisms.DiscreteLaplace`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privity.common.privacy.neighbouring_relation import Relation
from privity.common.privacy.noisy_max import noisy_max_scale
from privity.common.privacy.sensitivity import contingency_tables, scores

RELATION = Relation.REPLACE_ONE
"""The neighbouring relation of every step."""


def noise_scale(tables: int, epsilon: Fraction) -> Fraction:
    """Scale b = 2m/epsilon of the noise on every cell when m = ``tables`` contingency tables are released."""
    return contingency_tables(tables, RELATION).value / epsilon


def score_scale(scores: int, epsilon: Fraction) -> Fraction:
    """Scale b = m/epsilon of the noise on each of m scores that a replaced row changes by one at most, either way."""
    return Fraction(scores) / epsilon


def selection_epsilon(epsilon: Fraction, quota: int) -> Fraction:
    """Epsilon of each of a party's ``quota`` selections, when the whole series costs it ``epsilon``."""
    return epsilon / quota


def selection_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Scale 2D/epsilon, D = ``sensitivity``, of a selection's noise: two scores may move in opposite directions."""
    return noisy_max_scale(scores(sensitivity, RELATION).value, epsilon)


def quotas(selections: int, rows: Sequence[int], *, balanced: bool = False) -> tuple[int, ...]:
    """Number of selections for each party: in proportion to the public row counts, or as equal as can be.

    Largest remainders, ties to the earlier party; the sum is ``selections``. A party may get none, and is
    then charged nothing. Every party's own total is the series' epsilon: its selections share it out, and
    its rows enter no other party's selection (parallel composition over disjoint rows).
    """
    weights = [1] * len(rows) if balanced else list(rows)
    total = sum(weights)
    shares = [Fraction(selections * weight, total) for weight in weights]
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(rows)), key=lambda k: (counts[k] - shares[k], k))
    for k in by_remainder[: selections - sum(counts)]:
        counts[k] += 1
    return tuple(counts)
