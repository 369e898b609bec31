"""What many noisy tables cost together as (epsilon, delta), and the least noise for which that holds.

Tables have weights: one of weight w has noise 1/w times as wide. A replaced row moves two cells of each table by one.

==============  =================  ========================================================================
composition     law of the noise   theorem
==============  =================  ========================================================================
``zcdp``        discrete Gaussian  rhos add up, and are converted once (``common.privacy.conversion``)
``pld``         discrete Laplace   the distribution of the privacy loss itself, by the library dp-accounting
``advanced``    discrete Laplace   advanced composition (Dwork and Roth 2014, Theorem 3.20; for unequal parts
                                   Dwork, Rothblum and Vadhan 2010): what the copula paper uses
==============  =================  ========================================================================

Basic composition, in which pure epsilons add up, needs no delta: it is a round without ``Accounting``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from common.errors import Catalogue, PrivityError
from common.privacy.budget import Zcdp, exp_above
from common.privacy.conversion import log_above, sqrt_above, zcdp_to_approximate
from common.privacy.noise_law import GAUSSIAN, LAPLACE, LEAST_SHARE, NoiseLaw
from common.privacy.relation import Relation
from common.privacy.sensitivity import CELLS_MOVED

RELATION = Relation.REPLACE_ONE
CELLS = CELLS_MOVED[RELATION]

SHARED_SLACK = Fraction(1, 10**40)
"""Of epsilon and of delta in proportion: more than what shares of Gaussian noise miss by, see ``LEAST_SHARE``."""

LEAST_DELTA = Fraction(1, 10**10)
"""Of ``pld``: its floats err by about 1e-15."""

FLOAT_SLACK = Fraction(1, 1000)
"""Part of delta that ``pld`` leaves unused, for the same reason."""

GRID_BITS = 30
"""Bits of the step of the grid on which ``pld`` has the losses."""

PRECISION = 17
"""Bits of a calibrated scale: it is at most a part in 65,536 above the least one."""

Weights = Sequence[int]


@dataclass(frozen=True)
class Accounting:
    """How a round's tables come to cost (epsilon, delta).

    Attributes:
        composition: a name in ``COMPOSITIONS``.
        delta: above 0, below 1.
        unit: exact; scale of a table of weight 1: b of discrete Laplace noise, or sigma squared.
    """

    composition: str
    delta: Fraction
    unit: Fraction

    def content(self) -> dict[str, str]:
        return {"composition": self.composition, "delta": str(self.delta), "unit": str(self.unit)}

    @property
    def noise(self) -> str:
        """Name of the law."""
        return COMPOSITIONS[self.composition].law

    @property
    def words(self) -> str:
        """For a statement: by which theorem."""
        return COMPOSITIONS[self.composition].words

    def law(self, weight: int) -> NoiseLaw:
        """The noise on a table of this weight."""
        if self.noise == GAUSSIAN:
            return NoiseLaw(GAUSSIAN, self.unit / weight**2)
        return NoiseLaw(LAPLACE, self.unit / weight)

    def check(self, weights: Weights, epsilon: Fraction) -> None:
        """Refuse noise that does not give the guarantee it claims: what every party computes for itself.

        Raises:
            PrivityError: step-refused; or bad-option if the library that ``pld`` needs is not installed.
        """
        reason = None
        if self.composition not in COMPOSITIONS:
            reason = f"there is no composition of the name {self.composition!r}"
        elif not 0 < self.delta < 1 or self.unit <= 0 or min(weights, default=0) < 1:
            reason = "delta does not lie between 0 and 1, or a scale or a weight is not positive"
        elif not COMPOSITIONS[self.composition].holds(self.unit, weights, epsilon, self.delta):
            reason = f"the noise is too small for epsilon {epsilon} and delta {self.delta}"
        if reason is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


@dataclass(frozen=True)
class Composition:
    """One way to add up: the law it is for, its words in a statement, and whether it certifies a guarantee.

    Attributes:
        holds: (unit, weights, epsilon, delta) -> whether tables of these weights cost no more.
    """

    law: str
    words: str
    holds: Callable[[Fraction, Weights, Fraction, Fraction], bool]


def calibrate(composition: str, weights: Weights, epsilon: Fraction, delta: Fraction, quota: int = 1) -> Accounting:
    """The least noise, to a part in 65,536, with which tables of these weights cost at most (epsilon, delta).

    Args:
        quota: of how many shares a whole noise consists; Gaussian shares are never smaller than ``LEAST_SHARE``.

    Raises:
        PrivityError: bad-option if delta is out of the composition's range or its library is not installed.
    """
    holds = COMPOSITIONS[composition].holds
    high = Fraction(1)
    while not holds(high, weights, epsilon, delta):
        high *= 2
    while holds(high / 2, weights, epsilon, delta):
        high /= 2
    # Multiples of so much keep scales short.
    step = high / 2**PRECISION
    enough, lacking = 2**PRECISION, 2 ** (PRECISION - 1)
    while enough - lacking > 1:
        middle = (enough + lacking) // 2
        if holds(middle * step, weights, epsilon, delta):
            enough = middle
        else:
            lacking = middle
    unit = enough * step
    if COMPOSITIONS[composition].law == GAUSSIAN and quota > 1:
        unit = max(unit, Fraction(LEAST_SHARE * quota * max(weights) ** 2))
    return Accounting(composition, delta, unit)


def zcdp_rho(unit: Fraction, weights: Weights) -> Fraction:
    """rho of tables with discrete Gaussian noise of sigma squared unit/w^2: CELLS w^2/(2 unit) each."""
    return CELLS * sum(w * w * count for w, count in Counter(weights).items()) / (2 * unit)


def advanced_epsilon(parts: Counter[Fraction], delta: Fraction) -> Fraction:
    """sqrt(2 ln(1/delta) sum e^2) + sum e (exp(e) - 1) over pure epsilons and how often they come, rounded up.

    With k equal parts it is Theorem 3 of Asghar et al. 2019, as published.
    """
    squares = sum((e * e * count for e, count in parts.items()), Fraction(0))
    rest = sum((e * (exp_above(e) - 1) * count for e, count in parts.items()), Fraction(0))
    return sqrt_above(2 * log_above(1 / delta) * squares) + rest


def _zcdp_holds(unit: Fraction, weights: Weights, epsilon: Fraction, delta: Fraction) -> bool:
    budget = Zcdp(zcdp_rho(unit, weights), RELATION)
    return zcdp_to_approximate(budget, delta * (1 - SHARED_SLACK)).epsilon + SHARED_SLACK <= epsilon


def _advanced_holds(unit: Fraction, weights: Weights, epsilon: Fraction, delta: Fraction) -> bool:
    parts = Counter({CELLS * w / unit: count for w, count in Counter(weights).items()})
    return max(parts) <= 1 and advanced_epsilon(parts, delta) <= epsilon


def _pld_holds(unit: Fraction, weights: Weights, epsilon: Fraction, delta: Fraction) -> bool:
    if delta < LEAST_DELTA:
        hint = "Use a larger delta, or the composition zcdp."
        reason = f"the composition pld needs at least {float(LEAST_DELTA)}"
        raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint=hint)
    # One cell moved by one loses exactly +-weight/unit: losses lie on a grid of 1/unit, and nothing is rounded but
    # the grid's step, upwards, to so few bits that its multiples are floats.
    places = GRID_BITS + math.ceil(unit).bit_length()
    step = math.ldexp(math.ceil(2**places / unit), -places)
    loss: Any = None
    for weight, count in sorted(Counter(weights).items()):
        one = _discrete_laplace_loss()(weight * step, sensitivity=1, value_discretization_interval=step)
        # The two cells of a table are two such mechanisms.
        composed = one.self_compose(CELLS * count)
        loss = composed if loss is None else loss.compose(composed)
    return bool(loss.get_delta_for_epsilon(float(epsilon)) <= float(delta * (1 - FLOAT_SLACK)))


def _discrete_laplace_loss() -> Callable[..., Any]:
    try:
        from dp_accounting.pld.privacy_loss_distribution import from_discrete_laplace_mechanism
    except ImportError as error:
        reason = "the composition pld needs the library dp-accounting, which is not installed"
        hint = "Install Privity with the extra `accounting`, or use the composition zcdp or advanced."
        raise PrivityError(Catalogue.BAD_OPTION, option="composition", reason=reason, hint=hint) from error
    return from_discrete_laplace_mechanism


COMPOSITIONS: dict[str, Composition] = {
    "zcdp": Composition(GAUSSIAN, "zero-concentrated differential privacy, converted to (epsilon, delta)", _zcdp_holds),
    "pld": Composition(LAPLACE, "the distribution of the privacy loss (tight composition)", _pld_holds),
    "advanced": Composition(LAPLACE, "advanced composition", _advanced_holds),
}
"""Every composition that spends delta, by name."""
