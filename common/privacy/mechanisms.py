"""The mechanisms that release anything about rows: what each one adds, what it costs, and by which theorem.

Each is a small frozen value. ``cost(sensitivity)`` is its privacy map: an exact budget, stated for the
relation of the sensitivity; a sensitivity in the wrong norm is refused. ``calibrated`` is the inverse map.
``sample`` makes the noise, before any row is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.budget import PureEpsilon, Zcdp, as_fraction
from privity.common.privacy.discrete_gaussian import check_sigma_squared, discrete_gaussian
from privity.common.privacy.discrete_laplace import discrete_laplace, noise_share
from privity.common.privacy.exponential_mechanism import Trials, exponential_choice, sample_trials
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation, check_same_relation
from privity.common.privacy.noisy_max import SelectionNoise, noisy_max, noisy_max_scale, sample_selection_noise
from privity.common.privacy.random_bits import Entropy, IntArray
from privity.common.privacy.sensitivity import Norm, Sensitivity
from privity.common.privacy.zcdp_budget import selection_rho


@dataclass(frozen=True)
class DiscreteLaplace:
    """Independent noise P(z) proportional to exp(-|z|/scale) on every coordinate of an integer vector.

    Theorem: if neighbours differ by at most D in L1, the release is (D/scale)-differentially private, as
    P(z - v)/P(z - v') <= exp(|v - v'|/scale) coordinate by coordinate.
    Assumptions: the vector is of integers; the noise is independent of it and seen by nobody.
    Source: Dwork, McSherry, Nissim, Smith 2006; discrete law: Ghosh, Roughgarden, Sundararajan 2009; exact
    sampler: Canonne, Kamath, Steinke 2020, Algorithm 2.
    Privacy map: L1 sensitivity D -> pure epsilon D/scale, for any relation.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive(self.scale, "the scale"))

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: PureEpsilon) -> DiscreteLaplace:
        """The one that costs exactly this budget: scale D/epsilon."""
        return cls(_laplace_scale(sensitivity, budget))

    def cost(self, sensitivity: Sensitivity) -> PureEpsilon:
        """D/scale, exactly."""
        return PureEpsilon(sensitivity.in_norm(Norm.L1).value / self.scale, sensitivity.relation)

    def sample(self, size: int, entropy: Entropy) -> IntArray:
        """int64 noise of shape (size,)."""
        return discrete_laplace(self.scale, size, entropy)


@dataclass(frozen=True)
class SharedDiscreteLaplace:
    """Discrete Laplace noise on a sum of the parties' integer vectors, that no party knows.

    Each of K = ``parties`` adds a share, the difference of two Polya(1/q) variables with q = K - t,
    t = ``tolerate``; only the sum of all K vectors and shares is revealed.
    Theorem: any q shares sum to exactly one discrete Laplace variable, and what more is added is independent
    of it. So against anyone who knows the shares of up to t parties, besides the revealed sum, the release is
    (D/scale)-differentially private for the rows of the others.
    Assumptions: all K shares are in, or nothing is revealed; at most t parties pool what they know; all sample
    their shares as agreed; nobody sees a party's own vector, noised or not, beside a sum that contains it.
    Source: Goryczka and Xiong 2017 (division into Polya shares, there with q = K); q = K - t: privacy.md, 2.
    Privacy map: L1 sensitivity D of the sum -> pure epsilon D/scale. Variance: K/(K-t) times that of one.
    """

    scale: Fraction
    parties: int
    tolerate: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive(self.scale, "the scale"))
        if any(isinstance(n, bool) or not isinstance(n, int) for n in (self.parties, self.tolerate)):
            raise TypeError("the numbers of parties are integers")
        if not 1 <= self.tolerate < self.parties:
            raise ValueError("the tolerated parties must be at least 1 (each knows its own share) and fewer than all")

    @classmethod
    def calibrated(
        cls, sensitivity: Sensitivity, budget: PureEpsilon, parties: int, tolerate: int
    ) -> SharedDiscreteLaplace:
        """The one that costs exactly this budget: scale D/epsilon."""
        return cls(_laplace_scale(sensitivity, budget), parties, tolerate)

    @property
    def quota(self) -> int:
        """How many shares make one full noise: q = K - t."""
        return self.parties - self.tolerate

    @property
    def variance_factor(self) -> Fraction:
        """Variance of the revealed noise in units of one discrete Laplace variable: K/(K-t)."""
        return Fraction(self.parties, self.quota)

    def cost(self, sensitivity: Sensitivity) -> PureEpsilon:
        """D/scale, exactly, against the public and any t of the parties."""
        return DiscreteLaplace(self.scale).cost(sensitivity)

    def sample(self, size: int, entropy: Entropy) -> IntArray:
        """One party's share: int64 of shape (size,)."""
        return noise_share(self.scale, self.quota, size, entropy)


@dataclass(frozen=True)
class NoisyMax:
    """The candidate of the largest score plus geometric noise: the exponential mechanism's better integer form.

    Theorem: with one-sided geometric noise of scale 2D/epsilon on integer scores, each of which neighbours
    move by at most D in any direction, and ties by an order drawn beforehand, the choice is
    epsilon-differentially private. Proof: `privity.common.privacy.noisy_max`.
    Assumptions: scores are exact integers; candidates and their number do not depend on rows.
    Source: McKenna and Sheldon 2020 (permute-and-flip, never worse than McSherry and Talwar's exponential
    mechanism 2007); Ding, Kifer, Steinke, Wang 2021 (as report-noisy-max); the integer form is ours.
    Privacy map: L-infinity sensitivity up to D -> pure epsilon. More than D is refused.
    """

    sensitivity: Sensitivity
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _positive(self.epsilon, "epsilon"))
        if self.sensitivity.in_norm(Norm.LINF).value.denominator != 1:
            raise ValueError("integer scores move by integers")

    @property
    def scale(self) -> Fraction:
        """Scale 2D/epsilon of the noise on each score."""
        return noisy_max_scale(self.sensitivity.value, self.epsilon)

    def cost(self, sensitivity: Sensitivity) -> PureEpsilon:
        """epsilon, if these scores move no more than the noise was made for.

        Raises:
            PrivacyMismatchError: another norm or another relation.
            ValueError: the scores move more.
        """
        check_same_relation(self.sensitivity.relation, sensitivity.relation)
        if sensitivity.in_norm(Norm.LINF).value > self.sensitivity.value:
            raise ValueError("these scores move more than the noise was made for")
        return PureEpsilon(self.epsilon, sensitivity.relation)

    def sample(self, candidates: int, entropy: Entropy) -> SelectionNoise:
        """All randomness of one choice; `privity.common.privacy.noisy_max.noisy_max` makes the choice with it."""
        return sample_selection_noise(candidates, int(self.sensitivity.value), self.epsilon, entropy)

    choose = staticmethod(noisy_max)


@dataclass(frozen=True)
class ExponentialMechanism:
    """The candidate i with probability proportional to exp(epsilon score_i/(2D)), drawn exactly.

    Theorem: where neighbours move each integer score by at most D, the logarithm of the ratio of an outcome's
    probabilities lies within an interval of length epsilon, the same for all outcomes; so the choice is
    epsilon^2/8-zCDP. Proof and sampler: `privity.common.privacy.exponential_mechanism`.
    Assumptions: scores are exact integers; candidates and their number do not depend on rows.
    Source: McSherry and Talwar 2007; Durfee and Rogers 2019 (bounded range); Cesar and Rogers 2021, Lemma 3.2.
    Privacy map: L-infinity sensitivity up to D -> rho epsilon^2/8. More than D is refused.
    """

    sensitivity: Sensitivity
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _positive(self.epsilon, "epsilon"))
        if self.sensitivity.in_norm(Norm.LINF).value.denominator != 1:
            raise ValueError("integer scores move by integers")

    def cost(self, sensitivity: Sensitivity) -> Zcdp:
        """epsilon^2/8, if these scores move no more than the mechanism was made for.

        Raises:
            PrivacyMismatchError: another norm or another relation.
            ValueError: the scores move more.
        """
        check_same_relation(self.sensitivity.relation, sensitivity.relation)
        if sensitivity.in_norm(Norm.LINF).value > self.sensitivity.value:
            raise ValueError("these scores move more than the mechanism was made for")
        return Zcdp(selection_rho(self.epsilon), sensitivity.relation)

    def sample(self, candidates: int, entropy: Entropy) -> Trials:
        """The first block of one choice's randomness; `exponential.exponential_choice` chooses."""
        return sample_trials(candidates, int(self.sensitivity.value), self.epsilon, entropy)

    choose = staticmethod(exponential_choice)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent noise P(z) proportional to exp(-z^2/(2 sigma^2)) on every coordinate of an integer vector.

    Theorem: if neighbours differ by at most D in L2, the release is D^2/(2 sigma^2)-zCDP.
    Assumptions: the vector is of integers; the noise is independent of it and seen by nobody. Discrete
    Gaussian variables do not add up to one: it is for one holder of all rows, not for shares.
    Source: Canonne, Kamath, Steinke 2020, Theorem 4 (one coordinate; independent coordinates compose to the
    L2 norm), sampler: Algorithm 3.
    Privacy map: L2 sensitivity D -> rho D^2/(2 sigma^2), for any relation.
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        check_sigma_squared(self.sigma_squared)
        object.__setattr__(self, "sigma_squared", Fraction(self.sigma_squared))

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: Zcdp) -> DiscreteGaussian:
        """The one that costs exactly this budget: sigma^2 = D^2/(2 rho)."""
        _check_kind(budget, Zcdp, sensitivity.relation)
        return cls(sensitivity.in_norm(Norm.L2).squared / (2 * _positive(budget.rho, "rho")))

    def cost(self, sensitivity: Sensitivity) -> Zcdp:
        """D^2/(2 sigma^2), exactly."""
        return Zcdp(sensitivity.in_norm(Norm.L2).squared / (2 * self.sigma_squared), sensitivity.relation)

    def sample(self, size: int, entropy: Entropy) -> IntArray:
        """int64 noise of shape (size,)."""
        return discrete_gaussian(self.sigma_squared, size, entropy)


@dataclass(frozen=True)
class SharedDiscreteGaussian:
    """Discrete Gaussian noise on a sum of the parties' integer vectors, that no party knows.

    Each of K = ``parties`` adds discrete Gaussian noise of sigma^2/q, q = K - t, t = ``tolerate``; only the sum of
    all K vectors and shares is revealed.
    Theorem: the sum S of any q shares is a discrete Gaussian variable of sigma^2 but for a factor within
    e^(+-``distance``) at every integer, so that (epsilon, delta) of the one with `Zcdp` cost D^2/(2 sigma^2) is
    (epsilon + 2 m distance, e^(m distance) delta) of S, where neighbours differ in m coordinates.
    Proof: exp(-x^2/2a) exp(-(z-x)^2/2b) = exp(-z^2/2(a+b)) exp(-(x-u)^2/2c), c = ab/(a+b), u = za/(a+b). Summed over
    the integers x the last factor is, by Poisson's formula, sqrt(2 pi c) times a number within 1 +- r,
    r = 2 sum_k exp(-2 pi^2 c k^2), whatever z. After normalising, joining two discrete Gaussian laws thus gives
    that of a + b within the factor ((1+r)/(1-r))^(+-1). Joining the j-th share has c = sigma^2/q * j/(j+1), at
    least half a share; the q - 1 factors multiply, since a convolution with a law keeps bounds on ratios.
    Coordinates in which neighbours agree have the same law in both; the m others give the factor e^(m distance)
    twice, once for each world.
    Source: after Kairouz, Liu, Steinke 2021 (section 4), with a bound of our own.
    Assumptions: as `SharedDiscreteLaplace`; q = K - t: privacy.md, 2. Variance: K/(K-t) times that of one.
    """

    sigma_squared: Fraction
    parties: int
    tolerate: int

    def __post_init__(self) -> None:
        check_sigma_squared(self.sigma_squared / self.quota)
        if not 1 <= self.tolerate < self.parties:
            raise ValueError("the tolerated parties must be at least 1 (each knows its own share) and fewer than all")

    @property
    def quota(self) -> int:
        """How many shares make one full noise: q = K - t."""
        return self.parties - self.tolerate

    @property
    def distance(self) -> float:
        """Bound on the logarithm of the ratio between the law of q shares and the discrete Gaussian law."""
        share = float(self.sigma_squared / self.quota)
        total = 0.0
        for j in range(1, self.quota):
            # r is below 2.2 exp(-2 pi^2 c) for c of 1/8 or more: the further terms are far smaller.
            r = 2.2 * math.exp(-2 * math.pi**2 * share * j / (j + 1))
            total += math.log1p(r) - math.log1p(-r) if r < 1 else math.inf
        return total

    def sample(self, size: int, entropy: Entropy) -> IntArray:
        """One party's share: int64 of shape (size,)."""
        return discrete_gaussian(self.sigma_squared / self.quota, size, entropy)


def _laplace_scale(sensitivity: Sensitivity, budget: PureEpsilon) -> Fraction:
    _check_kind(budget, PureEpsilon, sensitivity.relation)
    return sensitivity.in_norm(Norm.L1).value / _positive(budget.epsilon, "epsilon")


def _check_kind(budget: PureEpsilon | Zcdp, kind: type, relation: Relation) -> None:
    if not isinstance(budget, kind):
        raise PrivacyMismatchError(f"a budget of kind {kind.__name__} is needed, not {type(budget).__name__}")
    check_same_relation(relation, budget.relation)


def _positive(value: Fraction, what: str) -> Fraction:
    exact = as_fraction(value, what)
    if exact == 0:
        raise ValueError(f"{what} must be above 0")
    return exact
