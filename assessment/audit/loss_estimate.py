"""From samples of two neighbouring worlds to a lower confidence bound on the privacy loss.

A mechanism that is eps-differentially private has P(E | world) <= e^eps P(E | other world) for every event
E. So for any one event, ln(P(E | 0) / P(E | 1)) is at most eps; a confidence bound on it from below is one
on eps.

Theorem (validity). Let the samples of each world be independent. Split them into a choosing part and a
testing part. From the choosing part alone take one event for each of the two directions. On the testing
part compute, for each direction, the Clopper-Pearson lower bound p of the numerator and the upper bound q
of the denominator, each at level alpha/4. Then P(max over directions of ln(p/q) > eps) <= alpha for every
eps-differentially private mechanism, whatever the sample sizes, the statistics and the way of choosing.

Proof. Given the choosing part the events are fixed, and the testing part is independent of it. Each of
the four counts of the testing part is then binomial, and each Clopper-Pearson bound is wrong with
probability at most alpha/4 (Clopper and Pearson 1934). Outside of these four errors, of at most alpha
together, p <= P(E | w) <= e^eps P(E | w') <= e^eps q for both directions. Averaging over the choosing part
keeps the inequality. QED.

For (eps, delta)-differential privacy, P(E | 0) <= e^eps P(E | 1) + delta, the same holds of
ln((p - delta)/q), by the same proof.

An event that was never seen in one world gives no infinite bound, which no finite sample could prove, but
ln(p/q) with q of about ln(4/alpha)/runs.

The method is the usual one: Jagielski, Ullman, Oprea, "Auditing differentially private machine learning"
(2020); Ding, Wang, Wang, Zhang, Kifer, "Detecting violations of differential privacy" (2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.999
CHOOSING_PART = 4  # one in four samples, and never more than
MOST_FOR_CHOOSING = 500_000
_MOST_THRESHOLDS = 400
_MOST_LABELS = 64

Scores = NDArray[np.floating[Any]]
Outcomes = NDArray[Any]
"""Real statistics of shape (runs, statistics), or integer labels of shape (runs,)."""


@dataclass(frozen=True)
class Bound:
    """A lower confidence bound on the loss, and the event behind it.

    Attributes:
        epsilon: the bound; at least 0.
        likely, rarely: how often the event was seen in either world, of ``tested`` runs each.
        event: the event in words.
    """

    epsilon: float
    likely: int
    rarely: int
    tested: tuple[int, int]
    event: str


def lower_bound(zero: Outcomes, one: Outcomes, confidence: float = CONFIDENCE, delta: float = 0.0) -> Bound:
    """The bound of the module's theorem, with alpha = 1 - ``confidence``.

    Args:
        delta: what the claim of approximate differential privacy grants; 0 for a pure one.
        zero, one: the outcomes of the two worlds: statistics (runs, statistics), in which large and small
            values speak for different worlds; or labels (runs,), of which any set may be the event.
    """
    if zero.ndim != one.ndim or min(len(zero), len(one)) < 8:
        raise ValueError("both worlds need at least 8 outcomes of the same kind")
    parts = [min(len(part) // CHOOSING_PART, MOST_FOR_CHOOSING) for part in (zero, one)]
    if zero.ndim == 1:
        zero, one = _scored_labels(zero, one, parts)
    level = (1 - confidence) / 4
    best = Bound(0.0, 0, 0, (len(zero) - parts[0], len(one) - parts[1]), "none")
    for flipped in (False, True):
        likely, rarely = (one, zero) if flipped else (zero, one)
        n, m = (parts[1], parts[0]) if flipped else (parts[0], parts[1])
        column, threshold, above = _choose(likely[:n], rarely[:m], delta)
        seen = []
        for tested in (likely[n:], rarely[m:]):
            values = tested[:, column]
            seen.append(int(np.count_nonzero(values >= threshold if above else values <= threshold)))
        sizes = len(likely) - n, len(rarely) - m
        lower = clopper_pearson_lower(seen[0], sizes[0], level)
        upper = clopper_pearson_upper(seen[1], sizes[1], level)
        epsilon = math.log((lower - delta) / upper) if lower > delta else 0.0
        if epsilon > best.epsilon:
            sign = ">=" if above else "<="
            event = f"statistic {column} {sign} {threshold:.6g}, likely in world {int(flipped)}"
            best = Bound(epsilon, seen[0], seen[1], sizes, event)
    return best


def _choose(likely: Scores, rarely: Scores, delta: float) -> tuple[int, float, bool]:
    """(statistic, threshold, at or above) of the event that promises the largest bound."""
    best, chosen = -math.inf, (0, math.inf, True)
    for column in range(likely.shape[1]):
        up, down = np.sort(likely[:, column]), np.sort(rarely[:, column])
        places = np.unique(np.concatenate([up, down]))
        if places.size > _MOST_THRESHOLDS:
            # Evenly spread ranks, and the extremes one by one: rare events may be the strongest.
            ranks = np.linspace(0, places.size - 1, _MOST_THRESHOLDS).astype(np.int64)
            edge = np.arange(20)
            places = places[np.unique(np.concatenate([ranks, edge, places.size - 1 - edge]))]
        for above in (True, False):
            k, m = (_count(part, places, above) for part in (up, down))
            promise = _promise(k, up.size, m, down.size, delta)
            top = int(np.argmax(promise))
            if promise[top] > best:
                best, chosen = float(promise[top]), (column, float(places[top]), above)
    return chosen


def _count(ordered: Scores, places: Scores, above: bool) -> NDArray[np.int64]:
    if above:
        return np.asarray(ordered.size - np.searchsorted(ordered, places, side="left"), dtype=np.int64)
    return np.asarray(np.searchsorted(ordered, places, side="right"), dtype=np.int64)


def _promise(k: NDArray[np.int64], n: int, m: NDArray[np.int64], size: int, delta: float) -> NDArray[np.float64]:
    """About what the testing part will show: the logarithm's estimate less its error; a guide only."""
    p, q = (k + 0.5) / (n + 1), (m + 1.0) / (size + 1)
    beyond = np.maximum(p - delta, 1e-12)
    error = np.sqrt(p * (1 - p) / (n + 1) / beyond**2 + (1 - m / (size + 1)) / (m + 1.0))
    ratio = np.log(beyond) - np.log(q)
    return np.asarray(np.where(k > 0, ratio - 3.5 * error / math.sqrt(CHOOSING_PART - 1), -math.inf))


def _scored_labels(zero: Outcomes, one: Outcomes, parts: list[int]) -> tuple[Scores, Scores]:
    """Labels as statistics: the learned evidence of each label, and of the commonest each by itself."""
    labels, places = np.unique(np.concatenate([zero, one]), return_inverse=True)
    zero_places, one_places = places[: len(zero)], places[len(zero) :]
    seen = [
        np.bincount(p[:part], minlength=labels.size) for p, part in zip((zero_places, one_places), parts, strict=True)
    ]
    evidence = np.log((seen[0] + 0.5) / (parts[0] + 1)) - np.log((seen[1] + 0.5) / (parts[1] + 1))
    commonest = np.argsort(-(seen[0] + seen[1]), kind="stable")[:_MOST_LABELS]
    table = np.column_stack([evidence, np.eye(labels.size)[:, commonest]]).astype(np.float32)
    return table[zero_places], table[one_places]


def clopper_pearson_lower(seen: int, runs: int, level: float) -> float:
    """The p with P(X >= seen | p) = level, X binomial(runs, p); rounded down. 0 if nothing was seen."""
    if not 0 <= seen <= runs or runs < 1:
        raise ValueError("there must be at least one run, and seen must lie in 0 .. runs")
    if seen == 0:
        return 0.0
    low, high = 0.0, 1.0
    while high - low > 1e-16:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _beta_tail(seen, runs - seen + 1, middle) < level:
            low = middle
        else:
            high = middle
    return low


def clopper_pearson_upper(seen: int, runs: int, level: float) -> float:
    """The p with P(X <= seen | p) = level, X binomial(runs, p); rounded up. 1 if every run showed it."""
    return 1.0 - clopper_pearson_lower(runs - seen, runs, level)


def _beta_tail(a: int, b: int, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) = P(binomial(a+b-1, x) >= a).

    By the continued fraction of Numerical Recipes (section 6.4, modified Lentz), on the side on which it
    converges quickly.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_tail(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / _off_zero(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _off_zero(1 + term * d, tiny)
            c = _off_zero(1 + term / c, tiny)
            fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return math.exp(log_front) * fraction / a


def _off_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
