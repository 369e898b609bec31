"""Ends of intervals from linear estimates and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import atanh, exp, log, sqrt, tanh

import numpy as np

from privity.common.privacy.noisy_count_intervals import deviations
from privity.common.release.queries.evidence import Numbers
from privity.common.release.queries.linear_estimates import Linear

CLEAR = 3.0
"""Standard errors that what an estimate is divided by, or is the logarithm of, must be above 0."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its ends.

    Attributes:
        value: None where it is not determined; an end is infinite on a side of which nothing is told.
        sampling, noise, model: standard errors; their squares add up.
    """

    value: float | None
    low: float
    high: float
    sampling: float
    noise: float
    model: float

    @property
    def determined(self) -> bool:
        """Whether it tells anything."""
        return self.value is not None


def undetermined() -> Interval:
    """Where the noise hides what is asked for."""
    return Interval(None, -np.inf, np.inf, np.nan, np.nan, np.nan)


def of_sum(told: Linear, direction: Numbers, level: Fraction, value: float | None = None) -> Interval:
    """Of a weighted sum of the estimates, or of a smooth function with this gradient and value."""
    variances = [max(0.0, float(direction @ each @ direction)) for each in (told.sampling, told.noise, told.by_model)]
    value = float(direction @ told.values) if value is None else value
    reach = _deviations(told, direction, level) * sqrt(sum(variances))
    return Interval(value, value - reach, value + reach, *map(sqrt, variances))


def of_quotient(told: Linear, top: int, bottom: int, level: Fraction, *, share: bool) -> Interval:
    """All quotients r for which top - r bottom may be 0 (Fieller).

    Args:
        share: whether the top is a part of the bottom: then the error of sampling is that at r (Wilson), and the
            quotient is between 0 and 1.
    """
    up, down = float(told.values[top]), float(told.values[bottom])
    if down <= 0:
        return undetermined()
    direction = np.zeros(len(told.values))
    direction[top], direction[bottom] = 1.0, -up / down
    estimate = of_sum(told, direction / down, level, up / down)
    z2 = _deviations(told, direction, level) ** 2
    known = told.noise + told.by_model + (0 if share else told.sampling)
    # (up - r down)^2 less z^2 times its variance at r: a parabola in r.
    parabola = np.array(
        [
            down**2 - z2 * known[bottom, bottom],
            -2 * up * down + 2 * z2 * known[top, bottom],
            up**2 - z2 * known[top, top],
        ]
    )
    if share:
        chance = _of_sampling(told, top, bottom)
        parabola += np.array([z2 * chance, -z2 * chance, 0.0])
    a, b, c = parabola.tolist()
    if a <= 0:
        return undetermined()
    root = sqrt(max(0.0, b * b - 4 * a * c))
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    value = up / down
    if share:
        low, high, value = (min(1.0, max(0.0, each)) for each in (low, high, value))
    return Interval(value, low, high, estimate.sampling, estimate.noise, estimate.model)


def _of_sampling(told: Linear, top: int, bottom: int) -> float:
    """What r (1 - r) is taken times for the variance by sampling of top - r bottom."""
    down = float(told.plug[bottom])
    share = min(1.0, max(0.0, float(told.plug[top]) / down)) if down > 0 else 0.0
    if not 0 < share < 1:
        return 0.0
    direction = np.zeros(len(told.plug))
    direction[top], direction[bottom] = 1.0, -share
    return max(0.0, float(direction @ told.sampling @ direction)) / (share * (1 - share))


def clear(told: Linear, place: int) -> bool:
    """Whether an estimate is so far above 0 that one may divide by it."""
    error = told.noise[place, place] + told.by_model[place, place]
    return bool(told.values[place] > CLEAR * sqrt(max(0.0, error)))


def difference(
    told: Linear, first: tuple[int, int], second: tuple[int, int], level: Fraction, *, ratio: bool
) -> Interval:
    """Of two quotients, each a top and a bottom: their difference, or the one over the other."""
    if not (clear(told, first[1]) and clear(told, second[1])):
        return undetermined()
    quotients, directions = [], []
    for top, bottom in (first, second):
        down = float(told.values[bottom])
        direction = np.zeros(len(told.values))
        direction[top] += 1 / down
        direction[bottom] -= float(told.values[top]) / down**2
        quotients.append(float(told.values[top]) / down)
        directions.append(direction)
    if not ratio:
        return of_sum(told, directions[0] - directions[1], level, quotients[0] - quotients[1])
    if min(quotients) <= 0 or not (clear(told, first[0]) and clear(told, second[0])):
        return undetermined()
    logarithm = directions[0] / quotients[0] - directions[1] / quotients[1]
    found = of_sum(told, logarithm, level, log(quotients[0] / quotients[1]))
    assert found.value is not None
    value = exp(found.value)
    errors = (value * each for each in (found.sampling, found.noise, found.model))
    return Interval(value, exp(found.low), exp(found.high), *errors)


def of_correlation(told: Linear, direction: Numbers, level: Fraction, value: float) -> Interval:
    """By Fisher's transformation, between -1 and 1."""
    if not -1 < value < 1:
        return undetermined()
    slope = 1 - value**2
    found = of_sum(told, direction / slope, level, atanh(value))
    errors = (slope * each for each in (found.sampling, found.noise, found.model))
    return Interval(value, tanh(found.low), tanh(found.high), *errors)


def _deviations(told: Linear, direction: Numbers, level: Fraction) -> float:
    """Standard errors that the ends are away, by the level and how far the noise is from a normal law."""
    noise = max(0.0, float(direction @ told.noise @ direction))
    rest = max(0.0, float(direction @ (told.sampling + told.by_model) @ direction))
    # The part of the noise in the variance, and the largest kurtosis of what it is made of.
    part = noise / (noise + rest) if noise else 0.0
    excess = float(np.max(told.excess * (direction != 0), initial=0.0))
    return deviations(round(part**2 * excess, 3), level)
