"""The mechanisms that release anything about rows: what each one adds, what it costs, and by which theorem.

A step of a run holds one of these. The ledger charges its ``loss``, a party draws its noise with ``sample``, before any
row is looked at, and the audit does both: nothing else prices a step.

Noise on integer statistics is shared: each of K parties adds a share, only the sum of all vectors and shares is
revealed, and any q = K - t shares make a whole noise, t being the parties that may pool what they know
(docs/privacy.md, "The mechanisms that a run uses"). A single party has the quota 1. What all mechanisms of noise
assume: statistics are integers; all K shares are in, or nothing is revealed; at most t parties pool what they know;
all sample as agreed; nobody sees a party's own vector, noised or not, beside a sum that contains it. The revealed
noise has K/q times the variance of a whole one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.advanced_composition import holds
from privity.common.privacy.budget import SMALLEST_EPSILON
from privity.common.privacy.exact_bounds import as_fraction, short_above
from privity.common.privacy.exponential_mechanism import exponential_choice, sample_trials
from privity.common.privacy.loss_conversion import RHO_BITS
from privity.common.privacy.neighbouring_relation import RELATION, Relation, check_same_relation
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, LEAST_SHARE, NoiseLaw, check_scale
from privity.common.privacy.noisy_max import noisy_max, noisy_max_scale, sample_selection_noise
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss, PureDP, check_loss
from privity.common.privacy.random_bits import Entropy, IntArray
from privity.common.privacy.sensitivity import Norm, Query, Sensitivity

LARGEST_WEIGHT = 1024
MOST_WEIGHTS = 8
"""Different weights in a query."""

UNIT_BITS = 17
"""Of sigma squared, as the exact samplers need it short: it is at most a part in 65,536 too large."""

CONCENTRATED = "zero-concentrated differential privacy, charged along one order for the whole run"

Choosing = Callable[[Sequence[int] | IntArray], int]
"""From the exact integer scores of the candidates to the index of the one that is selected."""


class Mechanism(ABC):
    """What a step releases by, as it is charged."""

    @abstractmethod
    def loss(self, relation: Relation, group_size: int = 1) -> PrivacyLoss:
        """What a release costs somebody with so many rows.

        Raises:
            PrivacyMismatchError: nothing is known for this relation.
        """


@dataclass(frozen=True)
class Noise(Mechanism):
    """Independent noise on every statistic of a query; a statistic of weight w has noise 1/w times as wide.

    Attributes:
        query: what is released, and how far a row moves it.
        scale: exact, of the noise on a statistic of weight 1: b of discrete Laplace noise, sigma squared of Gaussian.
    """

    query: Query
    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "the scale of noise"))

    @abstractmethod
    def law(self, weight: int) -> NoiseLaw:
        """The whole noise on a statistic of this weight."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What it is, besides the query, for digests."""

    @abstractmethod
    def in_words(self, *, shared: bool) -> str:
        """What statements call it; ``shared``: whether several parties draw the noise."""

    @property
    def reach(self) -> Fraction:
        """b of the farthest reaching noise on any of its statistics (``NoiseLaw.reach``)."""
        return self.law(min(self.query.weights)).reach

    def check(self, quota: int) -> None:
        """Refuse noise that cannot be drawn, or does not give what it claims, before anything is charged.

        Raises:
            PrivityError: step-refused.
        """
        different = set(self.query.weights)
        if not different or min(different) < 1 or max(different) > LARGEST_WEIGHT:
            raise refused(f"its weights are not one of 1 to {LARGEST_WEIGHT} for each table")
        if len(different) > MOST_WEIGHTS:
            raise refused(f"it has more than {MOST_WEIGHTS} different weights")
        for weight in different:
            self.law(weight).check(quota)
        self.loss(RELATION)

    def sample(self, cells: Sequence[int] | IntArray, quota: int, entropy: Entropy) -> IntArray:
        """One party's share of the noise, of which any ``quota`` make a whole.

        Args:
            cells: of each statistic of the query, in order.

        Returns:
            int64 of shape (sum of cells,).
        """
        sizes = np.asarray(cells, dtype=np.int64)
        different = sorted(set(self.query.weights))
        if len(different) == 1:
            return self.law(different[0]).share(quota, int(sizes.sum()), entropy)
        of_tables = np.array(self.query.weights, dtype=np.int64)
        share = np.empty(int(sizes.sum()), dtype=np.int64)
        for weight in different:
            cells = np.repeat(of_tables == weight, sizes)
            share[cells] = self.law(weight).share(quota, int(np.count_nonzero(cells)), entropy)
        return share

    def _on(self, *, shared: bool, by: str = "") -> str:
        kind, revealed = ("multi-party ", f", revealed as {self.query.revealed_as}") if shared else ("", "")
        return f"{kind}{self.law(1).name} noise on {self.query.in_words}{revealed}{by and '; ' + by}"


@dataclass(frozen=True)
class LaplaceNoise(Noise):
    """Discrete Laplace noise P(z) proportional to exp(-|z| w/scale) on every statistic of weight w.

    Theorem: if neighbours differ by at most D in L1, each statistic counted w times, the release is
    (D/scale)-differentially private, as P(z - v)/P(z - v') <= exp(|v - v'| w/scale), statistic by statistic. A share is
    the difference of two Polya(1/q) variables; any q of them sum to exactly one discrete Laplace variable, and what
    more is added is independent of it. So the same holds against whoever knows the shares of up to t parties.
    Source: Dwork, McSherry, Nissim, Smith 2006; discrete law: Ghosh, Roughgarden, Sundararajan 2009; exact sampler:
    Canonne, Kamath, Steinke 2020, Algorithm 2; shares: Goryczka and Xiong 2017, there with q = K.
    """

    @classmethod
    def calibrated(cls, query: Query, loss: PureDP) -> LaplaceNoise:
        """The one that costs exactly this: scale D/epsilon."""
        epsilon = positive(check_loss(loss, PureDP, loss.relation).epsilon, "epsilon")
        return cls(query, _moves(query, Norm.L1, loss.relation).value / epsilon)

    def loss(self, relation: Relation, group_size: int = 1) -> PureDP:
        """epsilon = D/scale, exactly."""
        return PureDP(_moves(self.query, Norm.L1, relation).value / self.scale, relation).scaled(group_size)

    def law(self, weight: int) -> NoiseLaw:
        return NoiseLaw(LAPLACE, self.scale / weight)

    def content(self) -> dict[str, Any]:
        return {"noise": LAPLACE, "scale": str(self.scale)}

    def in_words(self, *, shared: bool) -> str:
        return self._on(shared=shared)


@dataclass(frozen=True)
class AdvancedLaplaceNoise(Noise):
    """Discrete Laplace noise as of ``LaplaceNoise``, priced by advanced composition of its tables.

    Theorem: tables that cost epsilon_i each cost (epsilon, delta) together, for every delta between 0 and 1, with

        epsilon = sqrt(2 ln(1/delta) sum epsilon_i^2) + sum epsilon_i (exp(epsilon_i) - 1).

    Source: Dwork and Roth 2014, Theorem 3.20; unequal parts: Dwork, Rothblum, Vadhan 2010; here
    ``privity.common.privacy.advanced_composition``, rounded up.

    Attributes:
        epsilon, delta: what it claims to cost; ``loss`` refuses a claim that the noise does not bear out.
    """

    epsilon: Fraction
    delta: Fraction

    def loss(self, relation: Relation, group_size: int = 1) -> ApproxDP:
        """(epsilon, delta), as claimed.

        Raises:
            PrivityError: step-refused: the noise is too small for it.
        """
        check_same_relation(RELATION, relation)
        if not 0 < self.delta < 1:
            raise refused("delta does not lie between 0 and 1")
        if self.epsilon < SMALLEST_EPSILON:
            raise refused(f"an epsilon below {float(SMALLEST_EPSILON):g} is none that can be served")
        if not holds(self.scale, self.query.weights, self.epsilon, self.delta):
            raise refused(f"the noise is too small for epsilon {self.epsilon} and delta {self.delta}")
        return ApproxDP(self.epsilon, self.delta, relation).scaled(group_size)

    def law(self, weight: int) -> NoiseLaw:
        return NoiseLaw(LAPLACE, self.scale / weight)

    def content(self) -> dict[str, Any]:
        claim = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return {"noise": LAPLACE, "composition": "advanced", "scale": str(self.scale), **claim}

    def in_words(self, *, shared: bool) -> str:
        return self._on(shared=shared, by="advanced composition")


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Discrete Gaussian noise P(z) proportional to exp(-z^2 w^2/(2 scale)) on every statistic of weight w.

    Theorem: if neighbours differ by at most D in L2, each statistic counted w times, the release is
    D^2/(2 scale)-zCDP. Each share is a discrete Gaussian variable of scale/q; the sum S of any q shares is one of the
    whole scale but for a factor within e^(+-``distance``) at every integer, so that what costs (epsilon, delta) without
    shares costs (epsilon + 2 m distance, e^(m distance) delta) with S, where neighbours differ in m statistics: far
    below ``privity.common.privacy.privacy_filter.SHARED_SLACK``, since shares are at least ``LEAST_SHARE``.
    Proof: exp(-x^2/2a) exp(-(z-x)^2/2b) = exp(-z^2/2(a+b)) exp(-(x-u)^2/2c), c = ab/(a+b), u = za/(a+b). Summed over
    the integers x the last factor is, by Poisson's formula, sqrt(2 pi c) times a number within 1 +- r,
    r = 2 sum_k exp(-2 pi^2 c k^2), whatever z. After normalising, joining two discrete Gaussian laws thus gives
    that of a + b within the factor ((1+r)/(1-r))^(+-1). Joining the j-th share has c = scale/q * j/(j+1), at least half
    a share; the q - 1 factors multiply, since a convolution with a law keeps bounds on ratios. Statistics in which
    neighbours agree have the same law in both; the m others give the factor e^(m distance) twice, once for each world.
    Source: Canonne, Kamath, Steinke 2020, Theorem 14 (several coordinates), sampler:
    Algorithm 3; shares: after Kairouz, Liu, Steinke 2021, section 4, with a bound of our own.

    Attributes:
        rho: what it claims to cost, a short number; ``loss`` refuses a claim that the noise does not bear out.
    """

    rho: Fraction

    @classmethod
    def calibrated(cls, query: Query, loss: ZCDP, quota: int = 1) -> GaussianNoise:
        """The one that costs this, and less only where shares of the noise would be smaller than ``LEAST_SHARE``."""
        rho = positive(check_loss(loss, ZCDP, loss.relation).rho, "rho")
        squared = _moves(query, Norm.L2, loss.relation).squared
        scale = short_above(squared / 2 / rho, UNIT_BITS)
        least = LEAST_SHARE * quota * max(query.weights) ** 2
        if quota > 1 and scale < least:
            scale = Fraction(least)
            rho = min(rho, short_above(squared / (2 * scale), RHO_BITS))
        return cls(query, scale, rho)

    def loss(self, relation: Relation, group_size: int = 1) -> ZCDP:
        """rho, as claimed.

        Raises:
            PrivityError: step-refused: the noise is too small for it.
        """
        if _moves(self.query, Norm.L2, relation).squared / (2 * self.scale) > self.rho:
            raise refused(f"the noise is too small for rho {self.rho}")
        return ZCDP(self.rho, relation).scaled(group_size)

    def distance(self, quota: int) -> float:
        """Bound on the logarithm of the ratio between the law of ``quota`` shares and the discrete Gaussian law."""
        share = float(self.scale / quota)
        total = 0.0
        for j in range(1, quota):
            # r is below 2.2 exp(-2 pi^2 c) for c of 1/8 or more: the further terms are far smaller.
            r = 2.2 * math.exp(-2 * math.pi**2 * share * j / (j + 1))
            total += math.log1p(r) - math.log1p(-r) if r < 1 else math.inf
        return total

    def law(self, weight: int) -> NoiseLaw:
        return NoiseLaw(GAUSSIAN, self.scale / weight**2)

    def content(self) -> dict[str, Any]:
        return {"noise": GAUSSIAN, "scale": str(self.scale), "rho": str(self.rho)}

    def in_words(self, *, shared: bool) -> str:
        return self._on(shared=shared, by=CONCENTRATED)


@dataclass(frozen=True)
class Selecting(Mechanism):
    """One selection among candidates by exact integer scores, of which candidates and number depend on no row.

    Attributes:
        epsilon: exact, above 0; ``NoisyMax`` and ``ExponentialMechanism`` say what it bounds.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @abstractmethod
    def sample(self, candidates: int, sensitivity: Sensitivity, entropy: Entropy) -> Choosing:
        """Draw the randomness of a selection among so many candidates, whose scores a row moves by no more."""

    @abstractmethod
    def in_words(self, score: str) -> str:
        """What statements call a selection by this score."""

    def content(self) -> dict[str, Any]:
        return {"selection": type(self).__name__, "epsilon": str(self.epsilon)}

    def check(self, sensitivity: Sensitivity) -> None:
        """Refuse noise that the exact samplers do not serve, before anything is charged.

        Raises:
            PrivityError: step-refused.
        """
        check_scale(noisy_max_scale(_move(sensitivity), self.epsilon))


class NoisyMax(Selecting):
    """The candidate of the largest score plus geometric noise: the exponential mechanism's better integer form.

    Theorem: with one-sided geometric noise of scale 2D/epsilon on integer scores, each of which neighbours move by at
    most D in any direction, and ties by an order drawn beforehand, the choice is epsilon-differentially private.
    Proof: ``privity.common.privacy.noisy_max``.
    Source: McKenna and Sheldon 2020 (permute-and-flip, never worse than McSherry and Talwar's exponential mechanism
    2007); Ding, Kifer, Steinke, Wang 2021 (as report-noisy-max); the integer form is ours.
    """

    def loss(self, relation: Relation, group_size: int = 1) -> PureDP:
        """epsilon."""
        check_same_relation(RELATION, relation)
        return PureDP(self.epsilon, relation).scaled(group_size)

    def sample(self, candidates: int, sensitivity: Sensitivity, entropy: Entropy) -> Choosing:
        return partial(noisy_max, noise=sample_selection_noise(candidates, _move(sensitivity), self.epsilon, entropy))

    def in_words(self, score: str) -> str:
        return f"report noisy max (integer form of the exponential mechanism) on {score}"


class ExponentialMechanism(Selecting):
    """The candidate i with probability proportional to exp(epsilon score_i/(2D)), drawn exactly.

    Theorem: where neighbours move each integer score by at most D, the logarithm of the ratio of an outcome's
    probabilities lies within an interval of length epsilon, the same for all outcomes; so the choice is
    epsilon^2/8-zCDP. Proof and sampler: ``privity.common.privacy.exponential_mechanism``.
    Source: McSherry and Talwar 2007; Durfee and Rogers 2019 (bounded range); Cesar and Rogers 2021 (bounded
    range implies zCDP).
    """

    def loss(self, relation: Relation, group_size: int = 1) -> ZCDP:
        """rho = epsilon^2/8."""
        check_same_relation(RELATION, relation)
        return ZCDP(self.epsilon**2 / 8, relation).scaled(group_size)

    def sample(self, candidates: int, sensitivity: Sensitivity, entropy: Entropy) -> Choosing:
        move = _move(sensitivity)
        first = sample_trials(candidates, move, self.epsilon, entropy)
        return partial(exponential_choice, sensitivity=move, epsilon=self.epsilon, first=first, entropy=entropy)

    def in_words(self, score: str) -> str:
        return f"exponential mechanism (bounded range) on {score}; {CONCENTRATED}"


def _moves(query: Query, norm: Norm, relation: Relation) -> Sensitivity:
    """How far a neighbour moves the query: in this norm and for this relation, or it is refused."""
    found = query.sensitivity(norm, relation).in_norm(norm)
    check_same_relation(relation, found.relation)
    return found


def _move(sensitivity: Sensitivity) -> int:
    """D, by which a replaced row moves any score at most."""
    check_same_relation(RELATION, sensitivity.relation)
    move = sensitivity.in_norm(Norm.LINF).value
    if move.denominator != 1:
        raise ValueError("integer scores move by integers")
    return int(move)


def positive(value: Fraction, what: str) -> Fraction:
    """The exact number; raises PrivityError (step-refused) if it is not above 0."""
    exact = as_fraction(value, what)
    if exact == 0:
        raise ValueError(f"{what} must be above 0")
    return exact


def refused(reason: str) -> PrivityError:
    """That a mechanism cannot be as it is claimed to be."""
    return PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)
