"""The 1-way tables of a run, in one round: wide ones, which suffer more from a scale, have less noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session

WEIGHTS = (4, 6, 8, 11, 16, 23, 32, 45)
"""Of 1-way tables by their size: as many different ones as a round may have."""


def single_weights(domain: Sequence[int], *, pure: bool) -> list[int]:
    """Weights of the 1-way tables for the least mean error.

    A table of c cells and weight w has an error in proportion to c/w, and costs w of epsilon, or w^2 of rho: so w goes
    with the square root of c, or with its cube root.
    """
    power = 1 / 2 if pure else 1 / 3
    return near_weights([size**power for size in domain])


def near_weights(wanted: Sequence[float]) -> list[int]:
    """Weights in about these proportions."""
    ratios = np.log(np.array(wanted) / min(wanted))
    levels = np.log(np.array(WEIGHTS) / WEIGHTS[0])
    return [WEIGHTS[int(np.abs(levels - ratio).argmin())] for ratio in ratios]


async def measure_single(
    session: Session, phase: str, share: Share, attributes: Iterable[int] | None = None
) -> list[NoisyTable]:
    """The 1-way tables of these attributes (derived ones too), or of all of the schema, for the share in all."""
    domain = session.schema.derived.domain
    names = sorted(range(len(session.schema.domain)) if attributes is None else attributes)
    weights = single_weights([domain[a] for a in names], pure=not share.budget.delta)
    return list(await session.measure(phase, [(a,) for a in names], share, weights))
