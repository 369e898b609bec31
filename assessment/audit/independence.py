"""Whether samples of noise are independent: signs and magnitudes, of any two a fixed distance apart.

The other cases of the audit look at one cell or at a few: noise that is shared by cells, texts, columns, tables, rounds
or parties has the right law in each of them, and falls out of a difference.

*Method.* Samples stand in series (columns, tables, rounds), of one law each. Of each there are two coins: its sign,
and whether its magnitude is above a bound that the first quarter of its series alone decides. z is the sign itself
where laws are symmetric about 0, and otherwise a coin of 0 and 1 less the share of its series. For each distance d, in
all series one after another, the z that lie d apart are multiplied and added up: within a series for short distances,
between series for long ones.

Theorem: let all N samples in K series be independent, those of a series of one law. Let l = ln(1/alpha), alpha being
``FALSE_ALARM`` over 4 (N + K). But for a probability of ``FALSE_ALARM``, the sums of all distances and of both coins
stay within sqrt((N - d) l/2) + 7 K l/2, and of signs of symmetric laws within sqrt(2 (N - d) l).
Proof: let y be a coin less its true mean. The products of the y that lie d apart are martingale differences: given all
earlier samples, each is a fixed number of magnitude at most 1 times a y of mean 0 and width 1 (2 of symmetric signs, of
which the mean is 0). By Hoeffding and Azuma their sum is beyond sqrt((N - d) l/2) (twice that) in one direction with
probability alpha. The share of a series of n samples is off by e = (sum of its y)/n; by the maximal form of the same
inequality, all partial sums of its y from its start are within A = sqrt(n l/2) but for 2 alpha, so that sums over any
part of it are within 2 A, and e within A/n. As z = y - e, the sum of z z' is that of y y' less two sums of e times y,
and one of e e'. A series lies opposite a part each of at most two others, of which one begins at a start: each of the
two is at most K (A/n) 3 A = 3 K l/2, and the last at most K n (A/n)^2 = K l/2. That is 7 K l/2. Two coins have
2 (N - 1) directions each, and 2 K partial sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privity.assessment.audit.subject import Source
from privity.common.privacy.random_bits import IntArray

FALSE_ALARM = 1e-10
"""Chance that independent samples of one sampler are taken for dependent ones."""

CHOOSING_PART = 4
"""One sample in so many only chooses which magnitudes are large."""

Draw = Callable[[Source], IntArray]
"""Randomness by label -> samples of shape (series, cells), each series of one law."""


@dataclass(frozen=True)
class Sampler:
    """Something that draws noise in production.

    Attributes:
        draw: samples that are to be independent of each other, in series.
        symmetric: whether the laws of all series are symmetric about 0.
    """

    name: str
    draw: Draw
    symmetric: bool = True


@dataclass(frozen=True)
class Dependence:
    """The two samples that go together most.

    Attributes:
        coins: "signs" or "magnitudes".
        distance: how far apart, in the tested parts of all series one after another.
        strength: what was found, in units of the bound.
        cells: tested of each series.
        samples: tested of all.
    """

    coins: str
    distance: int
    strength: float
    cells: int
    samples: int

    @property
    def in_words(self) -> str:
        series, cells = divmod(self.distance, self.cells)
        return f"{self.coins}, {series} series and {cells} cells apart"


@dataclass(frozen=True)
class Judged:
    """What was found of a sampler."""

    sampler: str
    found: Dependence

    @property
    def holds(self) -> bool:
        """Whether its samples may be independent."""
        return self.found.strength <= 1


def judge(sampler: Sampler, source: Source) -> Judged:
    """Draw, and look for dependence."""
    return Judged(sampler.name, dependence(sampler.draw(source), symmetric=sampler.symmetric))


def dependence(samples: IntArray, *, symmetric: bool = True) -> Dependence:
    """What stands out most of samples of shape (series, cells), by the theorem of the module."""
    chosen, tested = np.split(samples, [samples.shape[1] // CHOOSING_PART], axis=1)
    sizes = np.abs(tested)
    large = np.array([size > _middle(np.abs(first)) for size, first in zip(sizes, chosen, strict=True)])
    signs = np.sign(tested).astype(np.float64) if symmetric else _centred(tested > 0)
    found = [_strongest("signs", signs, centred=not symmetric), _strongest("magnitudes", _centred(large), centred=True)]
    return max(found, key=lambda each: each.strength)


def _middle(sizes: IntArray) -> int:
    """The magnitude above which there are about half."""
    middle = int(np.median(sizes))
    return min((middle, middle - 1), key=lambda bound: abs(float(np.mean(sizes > bound)) - 0.5))


def _centred(coins: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(coins - coins.mean(axis=1, keepdims=True))


def _strongest(name: str, z: NDArray[np.float64], *, centred: bool) -> Dependence:
    (series, cells), number = z.shape, z.size
    spectrum = np.fft.rfft(z.ravel(), 1 << (2 * number - 1).bit_length())
    sums = np.abs(np.fft.irfft(spectrum.real**2 + spectrum.imag**2))[1:number]
    rare = math.log(4 * (number + series) / FALSE_ALARM)
    bounds = np.sqrt(np.arange(number - 1, 0, -1) * rare * (0.5 if centred else 2))
    strengths = sums / (bounds + (3.5 * series * rare if centred else 0))
    place = int(np.argmax(strengths))
    return Dependence(name, place + 1, float(strengths[place]), cells, number)
