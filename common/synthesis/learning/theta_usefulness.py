"""theta-usefulness: how many cells a table may have above the noise floor.

A table is theta-useful if its average count is at least theta times the scale of its noise (PrivBayes,
section 4.5, definition 4.7, in counts). With m tables for epsilon the scale is 2m/epsilon; in a run with a delta
it is that of Laplace noise of the same variance. So the limit follows from public numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privity.common.privacy.run_budget import Share
from privity.common.protocol.round import Tables
from privity.common.protocol.session import Session


def laplace_scale(tables: int, share: Share) -> Fraction:
    """b of the Laplace noise on a cell if so many tables of weight 1 cost this share of a pure budget."""
    return share.noise(Tables(((),) * tables)).scale


@dataclass(frozen=True)
class TableNoise:
    """What decides whether the tables of a run are below the noise floor; public.

    Attributes:
        rows: of all parties.
        scale: b of Laplace noise as wide as that on a cell, if so many tables of weight 1 are measured for this share.
    """

    rows: int
    scale: Callable[[int, Share], Fraction] = laplace_scale


def noise_of(session: Session) -> TableNoise:
    """Of a run's tables: Laplace noise, or noise of another law with the variance of this scale."""
    if not session.budget.delta:
        return TableNoise(session.rows)
    return TableNoise(session.rows, lambda m, share: Fraction(math.sqrt(session.noise_variance(m, share) / 2)))


def useful_cells(noise: TableNoise, tables: int, share: Share, theta: Fraction) -> int:
    """Most cells of a theta-useful table when ``tables`` of them cost the share; may be 0."""
    return math.floor(noise.rows / (theta * noise.scale(tables, share)))


def useful_degree(domain: Sequence[int], cells: int, largest: int) -> int:
    """Largest degree k, 1 <= k <= ``largest``, whose (k+1)-way tables have on average at most ``cells``.

    "On average" is the geometric mean of the domain sizes, which is exact for binary attributes.
    A degree of 1 is always allowed: a tree of pairs beats no structure in all our measurements.
    """
    degree = 1
    while degree < min(largest, len(domain) - 1) and holds_typical_table(domain, degree + 2, cells):
        degree += 1
    return degree


def typical_usefulness(domain: Sequence[int], ways: int, noise: TableNoise, tables: int, share: Share) -> float:
    """Theta of ``tables`` tables for the share, each of ``ways`` attributes of typical size (as above)."""
    bits = sum(math.log2(size) for size in domain) / len(domain)
    return float(noise.rows / noise.scale(tables, share)) * 2 ** (-ways * bits)


def holds_typical_table(domain: Sequence[int], ways: int, cells: int) -> bool:
    """Whether ``cells`` are enough for a table of ``ways`` attributes of the geometric mean of the sizes."""
    bits = sum(math.log2(size) for size in domain) / len(domain)
    return ways * bits <= math.log2(max(cells, 1))
