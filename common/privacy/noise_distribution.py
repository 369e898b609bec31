"""The law of the noise on the cells of a table, of which every party adds a share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.discrete_gaussian import check_sigma_squared, discrete_gaussian
from privity.common.privacy.discrete_laplace import LARGEST_SCALE, LARGEST_TERM, noise_share, share_variance
from privity.common.privacy.random_bits import Entropy, IntArray

LAPLACE = "discrete Laplace"
GAUSSIAN = "discrete Gaussian"

LEAST_SHARE = 16
"""Least sigma squared of a share of Gaussian noise. Shares of so much add up to a discrete Gaussian variable but
for a factor of 1 + 1e-67 (``privity.common.privacy.mechanisms.GaussianNoise``)."""


def check_scale(scale: Fraction) -> None:
    """Refuse a noise scale that the exact integer samplers do not serve, before anything is charged.

    Raises:
        PrivityError: step-refused.
    """
    if scale.numerator > LARGEST_TERM or scale.denominator > LARGEST_TERM or scale > LARGEST_SCALE:
        reason = "the noise would be too large, or epsilon has too many digits, for exact integer noise"
        raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)


def _gaussian_variance(sigma_squared: float) -> float:
    """Of the discrete Gaussian law: that of its parameter to the last digit once it is 4 or more."""
    if sigma_squared >= 4:
        return sigma_squared
    terms = [(z * z, math.exp(-z * z / (2 * sigma_squared))) for z in range(1, 80)]
    return 2 * sum(square * chance for square, chance in terms) / (1 + 2 * sum(chance for _, chance in terms))


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of one law on every cell; what parties add up to it at least.

    Attributes:
        name: ``LAPLACE`` or ``GAUSSIAN``.
        scale: exact; b of the discrete Laplace law, sigma squared of the discrete Gaussian.
    """

    name: str
    scale: Fraction

    def check(self, quota: int) -> None:
        """Refuse noise that the exact integer samplers do not serve, before anything is charged.

        Args:
            quota: any so many shares make one whole noise.

        Raises:
            PrivityError: step-refused.
        """
        check_scale(self.scale)
        reason, scale = None, self.scale
        if self.name == GAUSSIAN and quota > 1 and scale / quota < LEAST_SHARE:
            reason = "the noise would be too small to be shared: its parts would not add up to Gaussian noise"
        elif self.name == GAUSSIAN:
            try:
                check_sigma_squared(scale / quota)
            except ValueError as error:
                reason = str(error)
        elif self.name != LAPLACE:
            reason = f"there is no noise of the name {self.name!r}"
        if reason is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="noise", reason=reason)

    def share(self, quota: int, size: int, entropy: Entropy) -> IntArray:
        """int64 of shape (size,): one party's part, of which any ``quota`` sum to the whole noise."""
        if self.name == GAUSSIAN:
            return discrete_gaussian(self.scale / quota, size, entropy)
        return noise_share(self.scale, quota, size, entropy)

    def share_variance(self, quota: int) -> float:
        """Of one share, in squared counts. For reports and estimates, never for sampling."""
        if self.name == GAUSSIAN:
            return _gaussian_variance(float(self.scale / quota))
        return share_variance(self.scale, quota)

    @property
    def reach(self) -> Fraction:
        """b of the discrete Laplace noise for which slots are made wide enough (``privity.common.crypto.packing``).

        The proof there is by E exp(l X) <= (1 - theta^2)^(-r), theta = l b. r Gaussian variables with
        sigma <= b have E exp(l X) <= exp(r theta^2/2), which is less.
        """
        if self.name == GAUSSIAN:
            return Fraction(math.isqrt(math.ceil(self.scale)) + 1)
        return self.scale
