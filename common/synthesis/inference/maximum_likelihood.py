"""A graphical model fitted to all noisy marginals at once: penalised maximum likelihood, free of privacy cost.

The potentials are one number for each cell of each measured table, added up over the tables that a clique holds. With
y the noisy counts of a cell, n the rows and p its probability under the model, the fit solves n p = y - r l for all
cells at once, l being the cell's potential and r its ridge: the gradient of

    n log Z(l) - sum l y + sum r l^2/2,

which is convex. Without a ridge it is maximum likelihood, and has no solution where a noisy count is negative. The
ridge is what the noise calls for. Of a table of several attributes it is v n/tau: v the variance of a cell, tau the
strength of its association by the residuals' squares less the noise's. Then a residual y - n q against independence q
keeps the part tau q/(tau q + v), as in ``estimation.shrink_pair``; a table below the noise floor says nothing. 1-way
tables are made non-negative beforehand (``estimation.one_way_marginals``), and have next to no ridge; the margins of
all other tables are moved to them.

Source: the objective is the dual of McKenna, Sheldon and Miklau's (ICML 2019) least squares with an entropy term; the
ridge by empirical Bayes is ours. Solved by L-BFGS (Liu and Nocedal 1989, scipy's).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.schema import Schema
from privity.common.synthesis.inference.estimation import Estimate, average, collect, marginalise, one_way_marginals
from privity.common.synthesis.inference.graphical_model import GraphicalModel, Propagation, tree_over
from privity.common.synthesis.inference.groups import Codes, condense, expand, groups_of
from privity.common.synthesis.inference.table_consistency import make_consistent
from privity.common.synthesis.single_threaded_blas import one_blas_thread

Numbers = npt.NDArray[np.float64]

STEPS, STEPS_BETWEEN = 1000, 40
"""Of L-BFGS: of a fit that is released, and of one that only says what to measure next."""

SINGLE_RIDGE = 0.5
"""Of 1-way tables, in rows: a code without rows then keeps a few. Tried in docs/benchmarks/budgets.md."""

PRIOR = 0.5
"""Part of the ridge of empirical Bayes that is used. Tried in docs/benchmarks/budgets.md."""

LEAST_RIDGE = 0.1
"""Of any table, in rows. Without noise to speak of nothing else holds the potentials of cells without rows."""

LEAST_STRENGTH = 1e-9
SCALE_ROWS = 10.0
"""Added to counts for the scale of a potential's step."""

CHANCE = 1.0
"""As in ``estimation``: standard deviations of the noise's squares that do not count as association."""


@dataclass(frozen=True)
class _Term:
    """One table in the fit.

    Attributes:
        attributes: of the schema, ascending; the clique table's axes that it is over.
        groups: for each axis the derived code of each code, or None if the table is over the attribute itself.
        counts: target, axes as ``attributes``.
        ridge: in rows.
    """

    key: Marginal
    attributes: Marginal
    groups: tuple[Codes | None, ...]
    counts: Numbers
    ridge: float

    def expand(self, potential: Numbers) -> Numbers:
        """A potential of the table's cells as one of the attributes' codes."""
        for axis, groups in enumerate(self.groups):
            potential = expand(potential, axis, groups)
        return potential

    def condense(self, table: Numbers) -> Numbers:
        """The table's cells from those of the attributes' codes."""
        for axis, groups in enumerate(self.groups):
            table = condense(table, axis, groups)
        return table


@dataclass(frozen=True)
class Fit:
    """A fitted model, with what the next fit starts from.

    Attributes:
        potentials: of the cells of each measured table.
    """

    model: GraphicalModel
    potentials: Mapping[Marginal, Numbers] = field(repr=False)


def fit_model(
    tables: Sequence[NoisyTable],
    schema: Schema,
    rows: int,
    start: Fit | None = None,
    steps: int = STEPS,
) -> Fit:
    """The model of all the tables, of which the 1-way tables of all attributes are some.

    Args:
        tables: over attributes of the schema, or derived ones.
        start: a fit to some of the tables.
    """
    estimates = collect(tables)
    terms = _terms(estimates, schema, rows)
    propagation = Propagation(tree_over([term.attributes for term in terms], schema.domain), schema.domain)
    with one_blas_thread():
        return _Problem(terms, propagation, rows).solve({} if start is None else start.potentials, steps)


def _terms(estimates: Mapping[Marginal, Estimate], schema: Schema, rows: int) -> list[_Term]:
    derived, attributes = schema.derived, range(len(schema.attributes))
    single = one_way_marginals(estimates, attributes, rows, schema.ordered_codes)
    terms = [_Term((a,), (a,), (None,), single[a], SINGLE_RIDGE) for a in attributes]
    for key, estimate in _with_pairs(estimates, rows).items():
        if len(key) == 1:
            continue
        bases = [derived.base[a] for a in key]
        axes = [int(axis) for axis in np.argsort(bases)]
        groups = [groups_of(derived, a, schema.domain[base]) for a, base in zip(key, bases, strict=True)]
        marginals = [condense(single[base], 0, codes) for base, codes in zip(bases, groups, strict=True)]
        strength = _strength(estimate, _independent(marginals, rows))
        ridge = max(LEAST_RIDGE, PRIOR * estimate.variance * rows / strength)
        counts = _with_margins(estimate.counts, marginals).transpose(axes)
        terms.append(_Term(key, tuple(bases[i] for i in axes), tuple(groups[i] for i in axes), counts, ridge))
    return terms


def _with_pairs(estimates: Mapping[Marginal, Estimate], rows: int) -> dict[Marginal, Estimate]:
    """The tables, agreeing with each other, and the pair tables that wider ones hold; variances as they were measured.

    A wide table whose cells are below the noise floor may hold clear pairs. One ridge for all its cells would take
    these away too.
    """
    consistent = make_consistent(estimates, rows)
    found = {key: Estimate(consistent[key].counts, estimate.variance) for key, estimate in estimates.items()}
    within: dict[Marginal, list[Estimate]] = {}
    for key, estimate in estimates.items():
        if len(key) > 2:
            for axes in combinations(range(len(key)), 2):
                held = tuple(key[axis] for axis in axes)
                within.setdefault(held, []).append(marginalise(estimate, axes))
                found.setdefault(held, marginalise(consistent[key], axes))
    for pair, parts in within.items():
        known = [*parts, estimates[pair]] if pair in estimates else parts
        found[pair] = Estimate(found[pair].counts, average(known).variance)
    return found


def _independent(marginals: Sequence[Numbers], rows: int) -> Numbers:
    return np.asarray(functools.reduce(np.multiply.outer, [m / max(rows, 1) for m in marginals])) * rows


def _with_margins(counts: Numbers, marginals: Sequence[Numbers]) -> Numbers:
    """The nearest table with these 1-way tables, which know more of them than its own cells do.

    Clear tables have next to no ridge. If their margins differed, only huge potentials could tell, and the steps would
    end far from the optimum.
    """
    # Once the total fits, what one axis is moved by leaves the margins of the others as they are.
    found = counts + (float(marginals[0].sum()) - counts.sum()) / counts.size
    for axis, marginal in enumerate(marginals):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        apart = (marginal - found.sum(axis=others)) * marginal.size / counts.size
        found = found + np.expand_dims(apart, others)
    return np.asarray(found)


def _strength(estimate: Estimate, independent: Numbers) -> float:
    """Return tau: the squares of the residuals against independence, less those of the noise.

    It is hardly above 0 for a table below the noise floor.
    """
    residual = estimate.counts - independent
    for axis in range(residual.ndim):
        # The marginals' own error is not association.
        residual = residual - residual.mean(axis=axis, keepdims=True)
    freedom = math.prod(1 - 1 / size for size in residual.shape)
    chance = estimate.variance * freedom * (residual.size + CHANCE * math.sqrt(2 * residual.size))
    return max(LEAST_STRENGTH, float((residual**2).sum()) - chance)


class _Problem:
    """The objective of one fit, in potentials that are scaled so that steps suit all of them."""

    def __init__(self, terms: Sequence[_Term], propagation: Propagation, rows: int) -> None:
        self._terms, self._propagation, self._rows = terms, propagation, rows
        sizes = [term.counts.size for term in terms]
        ends = np.cumsum([0, *sizes])
        self._parts = [slice(start, end) for start, end in pairwise(ends.tolist())]
        self._counts = np.concatenate([term.counts.ravel() for term in terms])
        self._ridge = np.repeat([term.ridge for term in terms], sizes)
        self._scale = 1 / np.sqrt(self._ridge + np.maximum(self._counts, SCALE_ROWS))
        self._homes = [propagation.home(term.attributes) for term in terms]
        self._beside = [self._shape_beside(term, home) for term, home in zip(terms, self._homes, strict=True)]

    def _shape_beside(self, term: _Term, home: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape of the term's table beside the clique's axes, and the axes that it sums over."""
        clique, domain = self._propagation.tree.cliques[home], self._propagation.domain
        shape = tuple(domain[a] if a in term.attributes else 1 for a in clique)
        return shape, tuple(axis for axis, a in enumerate(clique) if a not in term.attributes)

    def solve(self, start: Mapping[Marginal, Numbers], steps: int) -> Fit:
        from scipy.optimize import minimize  # half a second to load, which every command would pay for

        known = [start.get(term.key) for term in self._terms]
        first = [np.zeros(t.counts.size) if k is None else k.ravel() for t, k in zip(self._terms, known, strict=True)]
        found = minimize(
            self._value,
            np.concatenate(first) / self._scale,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-4},
        )
        potentials = found.x * self._scale
        beliefs, _ = self._propagation.beliefs(self._clique_potentials(potentials))
        parts = zip(self._terms, self._parts, strict=True)
        return Fit(
            GraphicalModel(self._propagation, beliefs),
            {term.key: potentials[part].reshape(term.counts.shape) for term, part in parts},
        )

    def _clique_potentials(self, potentials: Numbers) -> list[Numbers]:
        sums = [np.zeros(shape) for shape in self._propagation.shapes]
        for term, part, home, (shape, _) in zip(self._terms, self._parts, self._homes, self._beside, strict=True):
            sums[home] += term.expand(potentials[part].reshape(term.counts.shape)).reshape(shape)
        return sums

    def _value(self, scaled: Numbers) -> tuple[float, Numbers]:
        potentials = scaled * self._scale
        beliefs, logarithm = self._propagation.beliefs(self._clique_potentials(potentials))
        expected = [
            term.condense(beliefs[home].sum(axis=summed)).ravel()
            for term, home, (_, summed) in zip(self._terms, self._homes, self._beside, strict=True)
        ]
        pull = self._ridge * potentials
        value = self._rows * logarithm - float(potentials @ self._counts) + 0.5 * float(potentials @ pull)
        return value, (self._rows * np.concatenate(expected) - self._counts + pull) * self._scale
