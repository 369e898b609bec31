"""The budget of a run, and shares of it: all that an algorithm can pay with.

A share becomes a mechanism, whose loss the ledger charges. Shares read the same whatever the budget is made of:

=====================  ===============================  ========================================================
``PureBudget``         epsilon                          Laplace noise, report noisy max; epsilons add
``RhoBudget``          epsilon and delta, spent as rho  Gaussian noise, exponential mechanism; rhos add, and all
                                                        of it costs (epsilon, delta)
``AdvancedBudget``     epsilon and delta, at once       one query under Laplace noise, by advanced composition
=====================  ===============================  ========================================================

In a run in rho, rhos of all its releases add up, however the later ones were chosen from the outcomes of the earlier
ones (Bun and Steinke 2016, Lemma 1.7); what a part has cost is ``privity.common.privacy.privacy_filter``'s. Converted
release by release, k of them would cost about sqrt(k) times as much.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.advanced_composition import least_scale
from privity.common.privacy.budget import LARGEST_DENOMINATOR
from privity.common.privacy.exact_bounds import power_grid, short_below
from privity.common.privacy.loss_conversion import RHO_BITS, converted, rho_within
from privity.common.privacy.mechanisms import (
    AdvancedLaplaceNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoisyMax,
    Selecting,
)
from privity.common.privacy.neighbouring_relation import RELATION, PrivacyMismatchError
from privity.common.privacy.privacy_filter import PrivacyFilter
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss, PureDP
from privity.common.privacy.sensitivity import Query

RANGE_BITS = 14
"""Of the range of a selection, as the exact samplers need it short: it is at most a part in 8192 too small."""


@dataclass(frozen=True)
class Share:
    """A part of a run's budget.

    Parts of it are taken with ``share * part``, ``share / count`` and ``split``, and added up again.

    Attributes:
        epsilon: exact, so much of the budget's epsilon; in a run in rho it stands for as much of its rho.
    """

    budget: RunBudget
    epsilon: Fraction

    def __mul__(self, part: Fraction) -> Share:
        return replace(self, epsilon=self.epsilon * part)

    def __add__(self, other: Share) -> Share:
        if self.budget != other.budget:
            raise PrivacyMismatchError("shares of two budgets do not add")
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def __sub__(self, other: Share) -> Share:
        if self.budget != other.budget:
            raise PrivacyMismatchError("a share of another budget is no part of it")
        if other.epsilon > self.epsilon:
            raise ValueError("it is larger")
        return replace(self, epsilon=self.epsilon - other.epsilon)

    def __truediv__(self, count: int) -> Share:
        return replace(self, epsilon=self.epsilon / count)

    def split(self, weights: Sequence[Fraction]) -> list[Share]:
        """Shares in proportion to the weights, exactly this one together.

        A part with more digits than exact integer noise can serve is rounded down to a millionth of epsilon; the last
        part takes up what is left.

        Raises:
            PrivityError: epsilon is too small for such a split.
        """
        total = sum(weights, Fraction(0))
        parts = [_rounded_down(self.epsilon * weight / total) for weight in weights[:-1]]
        parts.append(self.epsilon - sum(parts, Fraction(0)))
        if min(parts) <= 0:
            raise PrivityError(
                Catalogue.BAD_OPTION,
                option="epsilon",
                reason=f"{self.epsilon} is too small to be split over the algorithm's phases",
                hint="Use a larger epsilon.",
            )
        return [replace(self, epsilon=part) for part in parts]

    def noise(self, query: Query, quota: int = 1) -> Noise:
        """The noise under which the query costs this share, and less only where the noise would be too small to share.

        Args:
            quota: of how many shares a whole noise consists.
        """
        return self.budget.noise(self.epsilon, query, quota)

    @property
    def loss(self) -> PrivacyLoss:
        """The most that noise for this share may cost."""
        return self.budget.loss(self.epsilon)

    def selecting(self, selections: int) -> Selecting:
        """The mechanism of each of so many selections by one party, which cost it this share together."""
        return self.budget.selecting(self.epsilon, selections)


@dataclass(frozen=True)
class RunBudget(ABC):
    """What the algorithm of a run may spend for one replaced row, besides an evaluation.

    Attributes:
        epsilon: exact, above 0.
        delta: exact; 0 is pure differential privacy.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def whole(self) -> Share:
        """All of it."""
        return Share(self, self.epsilon)

    @abstractmethod
    def loss(self, epsilon: Fraction) -> PrivacyLoss:
        """As ``Share.loss``, for the share of this epsilon."""

    @abstractmethod
    def noise(self, epsilon: Fraction, query: Query, quota: int) -> Noise:
        """As ``Share.noise``, for the share of this epsilon."""

    @abstractmethod
    def selecting(self, epsilon: Fraction, selections: int) -> Selecting:
        """As ``Share.selecting``, for the share of this epsilon."""

    def fault(self, loss: PrivacyLoss) -> str | None:
        """Why no step of the run can cost this; None if one can. What all cost together is the ledger's to bound."""
        if isinstance(loss, ZCDP):
            return "it asks for rho, and the run has no budget in rho"
        delta = loss.delta if isinstance(loss, ApproxDP) else 0
        return (
            "it asks for more epsilon or delta than the run's"
            if (loss.epsilon > self.epsilon or delta > self.delta)
            else None
        )

    def most_of_a_person(self, rows: int, evaluation: Fraction = Fraction(0)) -> ApproxDP:
        """What the steps of the run may cost a person with so many rows, together.

        A limit for what is charged step by step, which is what the guarantee rests on. It is reached by a run that
        spends everything in one step. Nothing is gained by several: m epsilon, and m e^((m-1) epsilon) delta, grow no
        slower than their sum. A run in rho reaches it when all of its rho is spent, in whatever steps.

        Args:
            evaluation: epsilon of its evaluation, which is pure.

        Raises:
            PrivityError: bad-option for an epsilon and a delta that no run may have.
        """
        return ApproxDP(self.epsilon + evaluation, self.delta, RELATION).scaled(rows)


@dataclass(frozen=True)
class PureBudget(RunBudget):
    """Pure differential privacy: epsilons add up."""

    def __post_init__(self) -> None:
        if self.delta:
            raise ValueError("a pure budget has no delta")

    def loss(self, epsilon: Fraction) -> PureDP:
        return PureDP(epsilon, RELATION)

    def noise(self, epsilon: Fraction, query: Query, quota: int) -> LaplaceNoise:
        return LaplaceNoise.calibrated(query, self.loss(epsilon))

    def selecting(self, epsilon: Fraction, selections: int) -> NoisyMax:
        return NoisyMax(epsilon / selections)


@dataclass(frozen=True)
class AdvancedBudget(RunBudget):
    """(epsilon, delta) that one query spends at once, by advanced composition of its tables."""

    def loss(self, epsilon: Fraction) -> ApproxDP:
        return ApproxDP(epsilon, self.delta, RELATION)

    def noise(self, epsilon: Fraction, query: Query, quota: int) -> AdvancedLaplaceNoise:
        if epsilon != self.epsilon:
            raise ValueError("advanced composition is of one query, for all of the budget")
        scale = least_scale(query.weights, epsilon, self.delta)
        return AdvancedLaplaceNoise(query, scale, epsilon, self.delta)

    def selecting(self, epsilon: Fraction, selections: int) -> Selecting:
        raise ValueError("advanced composition is of tables")


@dataclass(frozen=True)
class RhoBudget(RunBudget):
    """rho, of which all costs (epsilon, delta); delta is above 0."""

    @cached_property
    def rho(self) -> Fraction:
        """All of it."""
        return rho_within(self.epsilon, self.delta)

    def filter(self, rows: int = 1) -> PrivacyFilter:
        """What the run has cost a person with so many rows, at any time at which it may stop."""
        return _filter(self, rows)

    def rho_of_share(self, epsilon: Fraction) -> Fraction:
        """The rho for which a share of epsilon stands, rounded down."""
        return short_below(self.rho * epsilon / self.epsilon, RHO_BITS)

    def loss(self, epsilon: Fraction) -> ZCDP:
        return ZCDP(self.rho_of_share(epsilon), RELATION)

    def noise(self, epsilon: Fraction, query: Query, quota: int) -> GaussianNoise:
        return GaussianNoise.calibrated(query, self.loss(epsilon), quota)

    def selecting(self, epsilon: Fraction, selections: int) -> ExponentialMechanism:
        return ExponentialMechanism(selection_range(self.rho_of_share(epsilon), selections))

    def fault(self, loss: PrivacyLoss) -> str | None:
        if not isinstance(loss, ZCDP):
            return "it asks for an epsilon of its own, and the run has a budget in rho"
        return "it asks for more rho than the run's" if loss.rho > self.rho else None

    def most_of_a_person(self, rows: int, evaluation: Fraction = Fraction(0)) -> ApproxDP:
        whole = self.filter(rows).epsilon
        return ApproxDP(max(self.epsilon + evaluation, rows * evaluation + whole), self.delta, RELATION)


def selection_range(rho: Fraction, quota: int) -> Fraction:
    """The largest epsilon, of RANGE_BITS bits, of which ``quota`` selections cost at most ``rho`` together."""
    square = 8 * rho / quota
    grid = power_grid(square, 2 * RANGE_BITS)
    # An even power of two has an exact root.
    if grid.numerator.bit_length() % 2 == 0 or grid.denominator.bit_length() % 2 == 0:
        grid /= 2
    whole = math.isqrt(math.floor(square / grid))
    root = Fraction(math.isqrt(grid.numerator), math.isqrt(grid.denominator))
    return short_below(whole * root, RANGE_BITS)


def _rounded_down(epsilon: Fraction) -> Fraction:
    if epsilon.denominator <= LARGEST_DENOMINATOR:
        return epsilon
    return Fraction(math.floor(epsilon * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)


@lru_cache(maxsize=256)
def _filter(budget: RhoBudget, rows: int) -> PrivacyFilter:
    if rows == 1:
        return PrivacyFilter(budget.rho, budget.epsilon, budget.delta)
    cap = ZCDP(budget.rho, RELATION).scaled(rows).rho
    return PrivacyFilter(cap, converted(cap, budget.delta), budget.delta)
