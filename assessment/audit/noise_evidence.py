"""The evidence that a noisy count gives for one of two worlds, under the law that is claimed for the noise.

Only the power of the audit rests on it: the bound of `privity.assessment.audit.loss_estimate` holds for any statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.mechanisms import LaplaceNoise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.round import Tables

_GRID = 1 << 14
_FLOOR = 1e-14  # below it the transform's rounding speaks, not the law


def laplace(tables: Sequence[Marginal], epsilon: Fraction) -> LaplaceNoise:
    """The noise of these tables when all of them cost this epsilon."""
    return LaplaceNoise.calibrated(Tables(tuple(tables)), PureDP(epsilon, RELATION))


def scale_of_one(epsilon: Fraction) -> Fraction:
    """b of the noise on a table that costs this epsilon by itself."""
    return laplace([(0,)], epsilon).scale


@lru_cache(maxsize=64)
def log_law(scale: Fraction, shape: Fraction) -> NDArray[np.float64]:
    """ln P(z), z = 0 .. 8191, of the difference of two NB(shape) variables of ratio a = exp(-1/scale).

    Shape 1 is discrete Laplace; m shares of quota q have shape m/q. By the inverse Fourier transform of
    the characteristic function ((1-a)^2 / (1 - 2 a cos t + a^2))^shape.
    """
    a = float(np.exp(-float(1 / scale)))
    t = 2 * np.pi * np.arange(_GRID) / _GRID
    law = np.fft.ifft(((1 - a) ** 2 / (1 - 2 * a * np.cos(t) + a * a)) ** float(shape)).real[: _GRID // 2]
    logs = np.log(np.maximum(law, _FLOOR))
    beyond = np.flatnonzero(law < 10 * _FLOOR)
    if beyond.size:  # far out the law falls like a^z
        start = max(int(beyond[0]) - 1, 0)
        logs[start:] = logs[start] - float(1 / scale) * np.arange(logs.size - start)
    return np.asarray(logs, dtype=np.float64)


def evidence(
    view: NDArray[np.int64], zero: NDArray[np.int64], one: NDArray[np.int64], scale: Fraction, shape: Fraction
) -> NDArray[np.float64]:
    """ln P(view | zero) - ln P(view | one), cell by cell; all arrays broadcast together."""
    logs = log_law(scale, shape)
    top = logs.size - 1
    return np.asarray(logs[np.minimum(np.abs(view - zero), top)] - logs[np.minimum(np.abs(view - one), top)])


def table_evidence(
    view: NDArray[np.int64], zero: NDArray[np.int64], one: NDArray[np.int64], law: NoiseLaw, shape: Fraction
) -> NDArray[np.float64]:
    """`evidence` under any law of a table's noise."""
    if law.name == GAUSSIAN:
        return np.asarray(((view - one) ** 2 - (view - zero) ** 2) / float(2 * law.scale * shape))
    return evidence(view, zero, one, law.scale, shape)


def statistics(
    view: NDArray[np.int64], zero: NDArray[np.int64], one: NDArray[np.int64], scale: Fraction, shape: Fraction
) -> NDArray[np.float64]:
    """Three statistics of each view of a few cells (cells on the last axis): shape (..., 3).

    Evidence under the claimed law; the plain distance along the direction in which the worlds differ; and
    whether the view is exactly one world's counts, as it is where noise is missing.
    """
    along = ((zero - one) * view).sum(axis=-1)
    exact = (view == zero).all(axis=-1).astype(np.float64) - (view == one).all(axis=-1)
    # Rounded, so that sums that are equal but for their rounding stay one event.
    shown = np.round(evidence(view, zero, one, scale, shape).sum(axis=-1), 9)
    return np.stack([shown, along, exact], axis=-1)
