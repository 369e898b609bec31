"""PriView with the ripple step, for k-way marginals of binary attributes: the rival of JTree's Figure 2.

Source: Qardaji, Yang, Li, "PriView: Practical Differentially Private Release of Marginal Contingency Tables" (SIGMOD
2014): noisy views that hold every pair of attributes, made consistent, freed of negative counts, made consistent
again; a marginal is the distribution of greatest entropy with what the views say of it. What is ours:

- The views. The paper takes them from a catalogue of covering designs; here they are lines of a plane, see ``views``.
- Neighbours differ by one replaced row, as everywhere in this project: noise of scale 2 V / epsilon for V views.
- Consistency in one step (``privity.common.synthesis.inference.table_consistency``) in the place of the paper's
  sequence, with its result.
- The ripple step treats all cells that are too low at once, round after round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.random_bits import SystemEntropy
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.round import Tables
from privity.common.synthesis.inference.estimation import Estimate
from privity.common.synthesis.inference.table_consistency import make_consistent

Counts = npt.NDArray[np.float64]

PRIME = 7
"""Order of the plane: lines of 7 attributes, or 8 with the point at infinity; the paper's views have 8."""

TOO_LOW = -1.0
"""Count below which the ripple step takes a cell's deficit to its neighbours."""

RIPPLE_ROUNDS = 100_000
FITTING_ROUNDS = 200
FITTED = 1e-7

TRACE = 1e-12
"""The least share of a cell while views are fitted."""


def views(attributes: int) -> list[Marginal]:
    """Sets of at most 8 attributes that hold every pair of them.

    The fewer of two: all pairs of groups of four (6 views for 16 attributes), or the lines of the projective plane of
    order 7 without the points that are left over (56 views for 50 attributes). Sets within another are left out.

    Raises:
        ValueError: more than 57 attributes.
    """
    groups = [range(start, min(start + 4, attributes)) for start in range(0, attributes, 4)]
    pairs = [tuple(sorted({*a, *b})) for a, b in combinations(groups, 2)] or [tuple(range(attributes))]
    if attributes > PRIME**2 + PRIME + 1:
        raise ValueError(f"{attributes} attributes are more than the plane has points")
    # Points: PRIME^2 of the affine plane, then one at infinity for each slope.
    sloped = [
        (*(PRIME * x + (slope * x + shift) % PRIME for x in range(PRIME)), PRIME**2 + slope)
        for slope in range(PRIME)
        for shift in range(PRIME)
    ]
    upright = [(*(PRIME * x + y for y in range(PRIME)), PRIME**2 + PRIME) for x in range(PRIME)]
    lines = [*sloped, *upright, tuple(range(PRIME**2, PRIME**2 + PRIME + 1))]
    kept = {tuple(point for point in line if point < attributes) for line in lines}
    plane = sorted(line for line in kept if len(line) > 1)
    plane = [line for line in plane if not any(set(line) < set(other) for other in plane)]
    return min(pairs, plane, key=len) if plane else pairs


class PriView:
    """Noisy views of a binary table, from which any marginal is reconstructed."""

    def __init__(self, table: CodedTable, epsilon: Fraction) -> None:
        if set(table.schema.domain) != {2}:
            raise ValueError("PriView is for binary attributes")
        self._rows = table.rows
        chosen = views(len(table.schema.domain))
        mechanism = PureBudget(epsilon).whole.noise(Tables(tuple(chosen)))
        counts = contingency_tables(table, chosen)
        noise = mechanism.sample([some.size for some in counts], 1, SystemEntropy())
        pieces = np.split(noise, np.cumsum([some.size for some in counts])[:-1])
        noisy = {
            view: some + piece.reshape(some.shape) for view, some, piece in zip(chosen, counts, pieces, strict=True)
        }
        without_negative = {view: ripple(some) for view, some in self._consistent(noisy).items()}
        self._views = self._consistent(without_negative)

    def _consistent(self, tables: Mapping[Marginal, npt.NDArray[Any]]) -> dict[Marginal, Counts]:
        found = make_consistent({view: Estimate(some, 1.0) for view, some in tables.items()}, self._rows)
        return {view: estimate.counts for view, estimate in found.items()}

    def marginal(self, attributes: Marginal) -> Counts:
        """The distribution over ``attributes``: as far as views tell, and beyond that of greatest entropy."""
        shared: dict[Marginal, Counts] = {}
        for view, counts in self._views.items():
            common = tuple(a for a in view if a in attributes)
            if common and common not in shared:
                rest = tuple(axis for axis, a in enumerate(view) if a not in common)
                shared[common] = np.maximum(counts.sum(axis=rest), 0)
        largest = [key for key in shared if not any(set(key) < set(other) for other in shared)]
        known = [(tuple(attributes.index(a) for a in key), shared[key] / shared[key].sum()) for key in largest]
        return most_uncertain(len(attributes), known)


def ripple(counts: Counts) -> Counts:
    """The table without counts below ``TOO_LOW``: what one lacks, its neighbours (one bit apart) give."""
    current = counts.copy()
    for _ in range(RIPPLE_ROUNDS):
        lacking = np.where(current < TOO_LOW, current, 0)
        if not lacking.any():
            break
        current -= lacking
        for axis in range(current.ndim):
            current += np.flip(lacking, axis) / current.ndim
    return current


def most_uncertain(size: int, known: Sequence[tuple[tuple[int, ...], Counts]]) -> Counts:
    """The distribution over ``size`` bits of greatest entropy with these marginals, by iterative fitting.

    Args:
        known: ascending axes and the shares over them.
    """
    found = np.full((2,) * size, 0.5**size)
    for _ in range(FITTING_ROUNDS):
        before = found
        for axes, shares in known:
            rest = tuple(axis for axis in range(size) if axis not in axes)
            sums = found.sum(axis=rest, keepdims=True)
            wanted = shares.reshape(sums.shape)
            # Views may contradict each other where one is 0: a trace is left, or all would become 0.
            found = np.maximum(found * (wanted / sums), TRACE)
        if np.abs(found - before).max() < FITTED:
            break
    return found / found.sum()
