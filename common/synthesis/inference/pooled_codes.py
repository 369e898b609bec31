"""Attributes of many codes, of which a graphical model tells only those apart that noise leaves something to tell of.

Of thousands of codes most have fewer rows than the noise on one cell of a table. What such a table says of them alone
is noise, and costs as much to fit as what it says of the others. They are pooled before the fit, with their neighbours
in a taxonomy or among bins as far as these make a pool that is clear, and with all others that are rare otherwise.
After it a pool is divided as the 1-way tables say: within a pool, codes are alike in all else.

Which codes these are follows from noisy marginals: post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privity.common.data.schema import Schema
from privity.common.synthesis.inference.estimation import Estimate
from privity.common.synthesis.inference.groups import Codes, condense, expand

Numbers = npt.NDArray[np.float64]

WIDE = 256
"""Codes from which on those that are rare are pooled: a model of fewer is quick."""

MOST_APART = 1024
"""Codes of an attribute that may be alone in their pools, the most frequent ones: it bounds the time of a fit."""


@dataclass(frozen=True)
class Pools:
    """The pools of one attribute's codes.

    Attributes:
        of_code: the pool of each code; a code may be alone in its pool.
        counts: of the codes, above 0 if the pool's are.
    """

    of_code: Codes
    counts: Numbers

    @cached_property
    def members(self) -> npt.NDArray[np.int64]:
        """Number of codes of each pool."""
        return np.bincount(self.of_code)

    @cached_property
    def first_codes(self) -> npt.NDArray[np.int64]:
        """One code of each pool."""
        return np.unique(self.of_code, return_index=True)[1]

    @cached_property
    def shares(self) -> Numbers:
        """Of each code in its pool."""
        sums = condense(self.counts, 0, self.of_code)[self.of_code]
        return np.where(sums > 0, self.counts / np.where(sums > 0, sums, 1.0), 1 / self.members[self.of_code])

    def divided(self, table: Numbers, axis: int) -> Numbers:
        """A table over pools as one over codes."""
        shape = [-1 if place == axis else 1 for place in range(table.ndim)]
        return np.asarray(expand(table, axis, self.of_code) * self.shares.reshape(shape))


def pooled(
    estimates: Mapping[tuple[int, ...], Estimate], single: Mapping[int, Numbers], schema: Schema, ridge: float
) -> dict[int, Pools]:
    """The pools of each attribute that has some.

    Args:
        estimates: all tables that the model is fitted to.
        single: counts of each attribute's codes.
        ridge: of the 1-way tables.
    """
    derived, found = schema.derived, {}
    for attribute, counts in single.items():
        if counts.size <= WIDE:
            continue
        tables = {
            key: estimate.variance
            for key, estimate in estimates.items()
            if len(key) > 1 and attribute in (derived.base[a] for a in key)
        }
        if not tables:
            continue
        # Codes of a pool are in one group of every generalisation that a table is over.
        measured = {a for key in tables for a in key if derived.base[a] == attribute != a}
        codes = np.arange(counts.size)
        apart = [derived.derive(a, codes) for a in sorted(measured)]
        levels = [derived.derive(a, codes) for a in derived.levels(attribute)[1:]]
        values = schema.attributes[attribute].values
        least = math.sqrt(min(tables.values()))
        if counts.size > MOST_APART:
            least = max(least, float(np.partition(counts, -MOST_APART)[-MOST_APART]))
        of_code = _pools(counts, least, values, levels, apart)
        if int(of_code.max()) + 1 < counts.size:
            found[attribute] = Pools(of_code, _with_ridge(counts, ridge))
    return found


def _pools(counts: Numbers, least: float, values: int, levels: Iterable[Codes], apart: Sequence[Codes]) -> Codes:
    """The pool of each code: alone if it has ``least`` rows, else with others of a group that together have as many.

    Args:
        values: number of the codes that stand for values; the others are alone.
        levels: groups, from the finest on.
        apart: groups that no pool reaches beyond.
    """
    pools = np.arange(counts.size)
    rare = np.flatnonzero((counts < least) & (pools < values))
    for level in (*levels, np.zeros(counts.size, dtype=np.int64)):
        if not rare.size:
            break
        keys = np.stack([level[rare], *(groups[rare] for groups in apart)])
        _, groups = np.unique(keys, axis=1, return_inverse=True)
        groups = groups.ravel()
        pools[rare] = pools.max() + 1 + groups
        rare = rare[np.bincount(groups, weights=counts[rare])[groups] < least]
    return np.unique(pools, return_inverse=True)[1].ravel()


def _with_ridge(counts: Numbers, ridge: float) -> Numbers:
    """What the fit makes of a 1-way table by itself: the solution p of n p + ridge log(p Z) = counts, in rows."""
    from scipy.optimize import brentq  # half a second to load, which every command would pay for
    from scipy.special import wrightomega

    # With u = n p / ridge each code has u + log u = counts / ridge - shift; the shift makes the rows n in all.
    most = max(1.0, float(counts.sum())) / ridge
    largest = float(counts.max()) / ridge

    def parts(shift: float) -> Numbers:
        return np.asarray(wrightomega(counts / ridge - shift), dtype=np.float64)

    # The largest u is at most all, and at least its equal part.
    low, high = (largest - u - math.log(u) for u in (most, most / counts.size))
    shift = brentq(lambda shift: float(parts(shift).sum()) - most, low, high)
    return ridge * parts(float(shift))
