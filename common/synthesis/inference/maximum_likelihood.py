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
from privity.common.synthesis.inference.pooled_codes import WIDE, Pools, pooled
from privity.common.synthesis.inference.shared_sums import SharedSums
from privity.common.synthesis.inference.table_consistency import make_consistent
from privity.common.synthesis.single_threaded_blas import one_blas_thread

Numbers = npt.NDArray[np.float64]

STEPS, STEPS_BETWEEN = 1000, 100
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
        ridge: in rows, of each cell.
    """

    key: Marginal
    attributes: Marginal
    groups: tuple[Codes | None, ...]
    counts: Numbers
    ridge: Numbers

    def expand(self, potential: Numbers) -> Numbers:
        """A potential of the table's cells as one of the attributes' codes."""
        for axis, groups in enumerate(self.groups):
            potential = expand(potential, axis, groups)
        return potential

    def pooled(self, pools: Mapping[int, Pools]) -> list[tuple[int, int]]:
        """The axes that are over pools, with their attributes."""
        axes = enumerate(zip(self.attributes, self.groups, strict=True))
        return [(axis, a) for axis, (a, groups) in axes if a in pools and groups is None]

    def condense(self, table: Numbers) -> Numbers:
        """The table's cells from those of the attributes' codes."""
        for axis, groups in enumerate(self.groups):
            table = condense(table, axis, groups)
        return table


@dataclass(frozen=True)
class Fit:
    """A fitted model, with what the next fit starts from.

    Attributes:
        potentials: of the cells of each measured table, over codes and not pools.
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
    single = one_way_marginals(estimates, range(len(schema.attributes)), rows, schema.ordered_codes)
    pools = pooled(estimates, single, schema, SINGLE_RIDGE)
    terms = _terms(estimates, single, schema, rows, pools)
    tree = tree_over([term.attributes for term in terms], schema.domain)
    domain = [int(pools[a].members.size) if a in pools else size for a, size in enumerate(schema.domain)]
    with one_blas_thread():
        potentials, beliefs = _Problem(terms, Propagation(tree, domain), rows).solve(
            [_start(term, pools, None if start is None else start.potentials.get(term.key)) for term in terms], steps
        )
    return Fit(
        GraphicalModel(Propagation(tree, schema.domain), _divided(tree.cliques, beliefs, pools)),
        {term.key: _of_codes(term, found, pools) for term, found in zip(terms, potentials, strict=True)},
    )


def told_apart(tables: Sequence[NoisyTable], schema: Schema, rows: int) -> list[int]:
    """How many pools of codes each attribute has in a fit to these tables."""
    whole = {a for table in tables for a in table.attributes}
    if max(schema.domain) <= WIDE or not whole >= set(range(len(schema.domain))):
        return list(schema.domain)
    estimates = collect(tables)
    single = one_way_marginals(estimates, range(len(schema.domain)), rows, schema.ordered_codes)
    pools = pooled(estimates, single, schema, SINGLE_RIDGE)
    return [int(pools[a].members.size) if a in pools else size for a, size in enumerate(schema.domain)]


def _start(term: _Term, pools: Mapping[int, Pools], before: Numbers | None) -> Numbers:
    """Potentials to start from, by those that a former fit gave the table's codes."""
    if before is None:
        return np.zeros(term.counts.shape)
    for axis, attribute in term.pooled(pools):
        before = np.take(before, pools[attribute].first_codes, axis=axis)
    return before


def _of_codes(term: _Term, potentials: Numbers, pools: Mapping[int, Pools]) -> Numbers:
    for axis, attribute in term.pooled(pools):
        potentials = expand(potentials, axis, pools[attribute].of_code)
    return potentials


def _divided(cliques: Sequence[Marginal], beliefs: Sequence[Numbers], pools: Mapping[int, Pools]) -> list[Numbers]:
    """The cliques' probabilities of codes."""
    found = []
    for clique, table in zip(cliques, beliefs, strict=True):
        for axis, attribute in enumerate(clique):
            if attribute in pools:
                table = pools[attribute].divided(table, axis)
        found.append(table)
    return found


def _terms(
    estimates: Mapping[Marginal, Estimate],
    single: Mapping[int, Numbers],
    schema: Schema,
    rows: int,
    pools: Mapping[int, Pools],
) -> list[_Term]:
    derived = schema.derived
    of_code = {a: found.of_code for a, found in pools.items()}
    terms = []
    for a, counts in single.items():
        counts = condense(counts, 0, of_code.get(a))
        terms.append(_Term((a,), (a,), (None,), counts, np.full(counts.shape, SINGLE_RIDGE)))
    for key, estimate in _with_pairs(estimates, rows).items():
        if len(key) == 1:
            continue
        bases = [derived.base[a] for a in key]
        axes = [int(axis) for axis in np.argsort(bases)]
        groups = [groups_of(derived, a, schema.domain[base]) for a, base in zip(key, bases, strict=True)]
        marginals = [condense(single[base], 0, codes) for base, codes in zip(bases, groups, strict=True)]
        estimate = Estimate(_with_margins(estimate.counts, marginals), estimate.variance)
        # How many cells each one stands for.
        held = np.ones([1] * len(key))
        for axis, (attribute, base, codes) in enumerate(zip(key, bases, groups, strict=True)):
            if base not in pools:
                continue
            if attribute != base:
                assert codes is not None
                groups[axis] = codes[pools[base].first_codes]
                continue
            estimate = Estimate(condense(estimate.counts, axis, of_code[base]), estimate.variance)
            marginals[axis] = condense(marginals[axis], 0, of_code[base])
            held = held * pools[base].members.reshape([-1 if other == axis else 1 for other in range(len(key))])
        strength = _strength(estimate, _independent(marginals, rows), held)
        ridge = np.broadcast_to(
            np.maximum(LEAST_RIDGE, PRIOR * estimate.variance * held * rows / strength), estimate.counts.shape
        )
        order = tuple(bases[i] for i in axes), tuple(groups[i] for i in axes)
        terms.append(_Term(key, *order, estimate.counts.transpose(axes), ridge.transpose(axes)))
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


def _strength(estimate: Estimate, independent: Numbers, held: Numbers) -> float:
    """Return tau: the squares of the residuals against independence, less those of the noise.

    It is hardly above 0 for a table below the noise floor.

    Args:
        held: how many measured cells each cell is the sum of, beside the table's axes; it counts so much less.
    """
    residual = estimate.counts - independent
    for axis in range(residual.ndim):
        # The marginals' own error is not association.
        residual = residual - residual.mean(axis=axis, keepdims=True)
    freedom = math.prod(1 - 1 / size for size in residual.shape)
    chance = estimate.variance * freedom * (residual.size + CHANCE * math.sqrt(2 * residual.size))
    known = float((independent / held).sum()) / max(float(independent.sum()), LEAST_STRENGTH)
    return max(LEAST_STRENGTH, (float((residual**2 / held).sum()) - chance) / max(known, LEAST_STRENGTH))


class _Problem:
    """The objective of one fit, in potentials that are scaled so that steps suit all of them."""

    def __init__(self, terms: Sequence[_Term], propagation: Propagation, rows: int) -> None:
        self._terms, self._propagation, self._rows = terms, propagation, rows
        sizes = [term.counts.size for term in terms]
        ends = np.cumsum([0, *sizes])
        self._parts = [slice(start, end) for start, end in pairwise(ends.tolist())]
        self._counts = np.concatenate([term.counts.ravel() for term in terms])
        self._ridge = np.concatenate([term.ridge.ravel() for term in terms])
        self._scale = 1 / np.sqrt(self._ridge + np.maximum(self._counts, SCALE_ROWS))
        self._of_clique: list[list[int]] = [[] for _ in propagation.tree.cliques]
        for place, term in enumerate(terms):
            self._of_clique[propagation.home(term.attributes)].append(place)
        cliques = zip(propagation.tree.cliques, propagation.shapes, self._of_clique, strict=True)
        self._sums = [
            SharedSums(clique, shape, [terms[place].attributes for place in places])
            for clique, shape, places in cliques
        ]

    def solve(self, start: Sequence[Numbers], steps: int) -> tuple[list[Numbers], list[Numbers]]:
        """The potentials of the terms, and the probabilities of the cliques' cells."""
        from scipy.optimize import minimize  # half a second to load, which every command would pay for

        found = minimize(
            self._value,
            np.concatenate([potentials.ravel() for potentials in start]) / self._scale,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-4},
        )
        potentials = found.x * self._scale
        beliefs, _ = self._propagation.beliefs(self._clique_potentials(potentials))
        parts = zip(self._terms, self._parts, strict=True)
        return [potentials[part].reshape(term.counts.shape) for term, part in parts], beliefs

    def _clique_potentials(self, potentials: Numbers) -> list[Numbers]:
        parts = zip(self._terms, self._parts, strict=True)
        spread = [term.expand(potentials[part].reshape(term.counts.shape)) for term, part in parts]
        held = zip(self._sums, self._of_clique, strict=True)
        return [sums.spread([spread[place] for place in places]) for sums, places in held]

    def _value(self, scaled: Numbers) -> tuple[float, Numbers]:
        potentials = scaled * self._scale
        beliefs, logarithm = self._propagation.beliefs(self._clique_potentials(potentials))
        expected = np.empty(potentials.size)
        for sums, places, belief in zip(self._sums, self._of_clique, beliefs, strict=True):
            for place, table in zip(places, sums.sums(belief), strict=True):
                expected[self._parts[place]] = self._terms[place].condense(table).ravel()
        pull = self._ridge * potentials
        value = self._rows * logarithm - float(potentials @ self._counts) + 0.5 * float(potentials @ pull)
        return value, (self._rows * expected - self._counts + pull) * self._scale
