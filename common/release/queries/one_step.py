"""One step from the released model towards what was measured, with the errors of both.

A log-linear model whose features are the measured cells has the released model as its point. Let y be the noisy counts,
V the variances of their noise, mu the features' means and F their covariance under the model, n the rows. A mean of a
function f of a row is estimated by

    mean of f under the model + a'(y - n mu),   n F a = C, the covariance of the features with f,   a'Va least,

which is one Fisher-scoring step of maximum likelihood under the noise, without any shrinkage. Where f is a sum of
measured cells it is the best linear unbiased estimate, whatever the model. Its error by noise is a'Va, by sampling
n a'Fa. What the features do not span of f is taken from the model; R2 is the part that they span.

Source: the Laplace part of NAPSU-MQ (Raisa, Jalko, Kaski, Honkela, AISTATS 2023), with the prior left out; a'Va least
is the Gauss-Markov estimate, which is the same for V and for V + nF.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.release.queries.evidence import ModelRows, Numbers
from privity.common.release.queries.linear_estimates import Linear
from privity.common.synthesis.inference.pooled_estimates import LEAST_VARIANCE, excess_of

MOST_FEATURES, MOST_NEAR = 5000, 2500
"""Of one system of equations, which has their square of numbers, and serves all questions. Where there are more, each
question has a system of its own, of the tables near it, with so many at the most."""

MOST_TABLES = 40
"""Near a question: a system takes time with the square of their number."""

DENSE = 10
"""Features for each table up to which a full matrix is multiplied faster than a sparse one."""

ROWS_AT_ONCE = 1 << 13
"""Of a full matrix."""

RIDGE = 1e-9
"""Of the mean of the equations' diagonal: features that others add up to are no more than these."""


@dataclass(frozen=True)
class Features:
    """Measured cells, each table summed over the attributes that are left out.

    Attributes:
        keys: indices of each table's axes.
        counts, variances, excesses: noisy counts, variance of their noise and its kurtosis over that of a normal law;
            shape (cells of all tables,).
    """

    keys: tuple[Marginal, ...]
    counts: Numbers
    variances: Numbers
    excesses: Numbers

    @classmethod
    def of(
        cls,
        tables: Sequence[NoisyTable],
        derived: DerivedAttributes,
        variables: Fraction,
        attributes: Collection[int],
    ) -> Features:
        """What the tables tell of these attributes; tables of the same axes are averaged by inverse variance."""
        found: dict[Marginal, list[tuple[float, float, Numbers]]] = {}
        for table in tables:
            order = sorted(range(len(table.attributes)), key=lambda axis: table.attributes[axis])
            kept = [axis for axis in order if derived.base[table.attributes[axis]] in attributes]
            if not kept:
                continue
            gone = tuple(axis for axis in order if axis not in kept)
            cells = prod(table.counts.shape[axis] for axis in gone)
            counts = table.counts.transpose([*kept, *gone]).reshape([table.counts.shape[axis] for axis in kept] + [-1])
            weight = 1 / (max(table.variance, LEAST_VARIANCE) * cells)
            excess = excess_of(table, variables, cells)
            sums = counts.sum(axis=-1, dtype=np.float64)
            found.setdefault(tuple(table.attributes[axis] for axis in kept), []).append((weight, excess, sums))
        counts_of, variances, excesses = [], [], []
        for alike in found.values():
            whole = sum(weight for weight, _, _ in alike)
            counts_of.append(np.sum([weight * sums / whole for weight, _, sums in alike], axis=0).ravel())
            variances.append(np.full(counts_of[-1].size, 1 / whole))
            kurtosis = sum((weight / whole) ** 2 * excess for weight, excess, _ in alike)
            excesses.append(np.full(counts_of[-1].size, kurtosis))
        empty: list[Numbers] = [np.empty(0)]
        return cls(tuple(found), *(np.concatenate(each or empty) for each in (counts_of, variances, excesses)))


def near(
    tables: Sequence[NoisyTable], derived: DerivedAttributes, attributes: Collection[int], most: int
) -> frozenset[int]:
    """These attributes with others that are measured with them, as long as the features are no more than ``most``.

    Whatever shares the most tables with those that there are comes next; of several, what adds the fewest features.
    """
    views = [{derived.base[index] for index in table.attributes} for table in tables]
    chosen, left = set(attributes), set().union(*views) - set(attributes)
    while left:
        shared = {one: sum(one in view and not chosen.isdisjoint(view) for view in views) for one in left}
        one = min(left, key=lambda each: (-shared[each], derived.domain[each], each))
        keys = keys_within(tables, derived, chosen | {one})
        if features_of(keys, derived) <= most and len(keys) <= MOST_TABLES:
            chosen.add(one)
        left.discard(one)
    return frozenset(chosen)


def fits_whole(keys: Collection[Marginal], derived: DerivedAttributes) -> bool:
    """Whether one system of all these tables is soon made."""
    features = features_of(keys, derived)
    return features <= MOST_FEATURES and (len(keys) <= 2 * MOST_TABLES or features <= DENSE * len(keys))


def keys_within(tables: Sequence[NoisyTable], derived: DerivedAttributes, attributes: Collection[int]) -> set[Marginal]:
    """Axes of the tables, summed over all but these attributes."""
    found = {tuple(sorted(i for i in table.attributes if derived.base[i] in attributes)) for table in tables}
    return found - {()}


def features_of(keys: Collection[Marginal], derived: DerivedAttributes) -> int:
    """How many cells tables of these axes have."""
    return sum(prod(derived.domain[index] for index in key) for key in keys)


class OneStep:
    """One factorisation, for all questions about some attributes.

    Args:
        rows: public number.
    """

    def __init__(self, features: Features, model: ModelRows, rows: int) -> None:
        from scipy.linalg import cho_factor
        from scipy.sparse import csr_array

        self._features, self._model, self._n = features, model, rows
        self._many = len(model.columns[0])
        offsets = np.cumsum([0, *(self._cells(key) for key in features.keys)])
        places = [model.cells(key) + offset for key, offset in zip(features.keys, offsets[:-1], strict=True)]
        columns = np.stack(places, axis=1).astype(np.int32)
        pointers = np.arange(0, columns.size + 1, columns.shape[1])
        shape = (self._many, int(offsets[-1]))
        self._matrix = csr_array((np.ones(columns.size, dtype=np.float32), columns.ravel(), pointers), shape=shape)
        self._mean = self._matrix.sum(axis=0, dtype=np.float64) / self._many
        self._own = self._matrix[: model.own]
        self._expected = self._own.sum(axis=0, dtype=np.float64) / model.own
        scale = np.sqrt(features.variances)
        system = self._squares() / self._many
        system -= np.outer(self._mean, self._mean)
        system *= rows / np.outer(scale, scale)
        system[np.diag_indices_from(system)] += RIDGE * max(system.trace() / len(system), 1e-300)
        self._scale, self._factor = scale, cho_factor(system, overwrite_a=True, check_finite=False)

    def _squares(self) -> Numbers:
        """How many rows have each two features."""
        rows, features = self._matrix.shape
        if features > DENSE * len(self._features.keys):
            return np.asarray((self._matrix.T @ self._matrix).toarray(), dtype=np.float64)
        found = np.zeros((features, features))
        for start in range(0, rows, ROWS_AT_ONCE):
            block = self._matrix[start : start + ROWS_AT_ONCE].toarray()
            found += block.T @ block
        return found

    def _cells(self, key: Marginal) -> int:
        return prod(self._model.schema.derived.domain[index] for index in key)

    @cached_property
    def _rank(self) -> int:
        """How many features are not sums of others, about."""
        derived = self._model.schema.derived
        seen: set[Marginal] = set()
        for key in self._features.keys:
            for size in range(1, len(key) + 1):
                seen.update(combinations(key, size))
        return sum(prod(derived.domain[index] - 1 for index in each) for each in seen)

    def tell(self, functions: npt.NDArray[np.floating]) -> Linear:
        """Means of functions of a row.

        Args:
            functions: shape (rows of the model, functions).
        """
        from scipy.linalg import cho_solve

        n, own = self._n, self._model.own
        centred = functions - functions.mean(axis=0)
        covariance = (self._matrix.T @ centred) / self._many
        solved = cho_solve(self._factor, covariance / self._scale[:, None], check_finite=False)
        weights = solved / self._scale[:, None]
        plug = functions[:own].mean(axis=0)
        values = plug + weights.T @ (self._features.counts - n * self._expected)
        noise = weights.T @ (weights * self._features.variances[:, None])
        fourth = (weights**4).T @ (self._features.variances**2 * self._features.excesses)
        # That of a sum is never more than the most of its parts; of a constant it is nothing.
        most = float(self._features.excesses.max(initial=0.0))
        excess = np.minimum(fourth / np.maximum(noise.diagonal() ** 2, 1e-300), most)
        told = n * (self._own @ weights)
        told -= told.mean(axis=0)
        rest = functions[:own] - plug - told
        free = self._many / max(1, self._many - self._rank)
        whole = centred.T @ centred / self._many
        unspanned = (whole - n * weights.T @ covariance) * free
        return Linear(
            values=values,
            plug=plug,
            noise=noise,
            sampling=told.T @ told / own / n,
            of_rows=rest.T @ rest / own / n,
            unspanned=(unspanned + unspanned.T) / 2,
            r2=np.clip(1 - unspanned.diagonal() / np.maximum(whole.diagonal(), 1e-300), 0.0, 1.0),
            excess=excess,
        )
