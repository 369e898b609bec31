"""Rules entered into a model: cells that no row may have get no mass, and each attribute keeps its marginal.

Of a model that is a product of tables over attributes (a junction tree, a network) the distribution nearest to it in
which rules hold is such a product too: the model's tables, a table of zeros and ones for each rule, and one factor for
each code of the attributes that rules are about. The factors make these attributes' marginals those of the model, which
were measured: the I-projection (Csiszar, Annals of Probability 1975), found by its dual, which is convex. A little
ridge keeps it finite where no distribution has all of them.

A cell of bins counts as possible if some of its values meet the rule: the values are drawn under the rule afterwards.
Post-processing of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.row_constraints import RowConstraint
from privity.common.data.schema import Schema
from privity.common.synthesis.inference.graphical_model import GraphicalModel, Propagation, cells_of_tree, tree_over
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.common.synthesis.models.conditionals import conditional
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.common.synthesis.single_threaded_blas import one_blas_thread

Numbers = npt.NDArray[np.float64]

MOST_CELLS = 1 << 21
"""Of the cliques of a model with its rules."""

IMPOSSIBLE = -700.0
"""Logarithm of what stands for no mass at all."""

LEAST_MASS = -14.0
"""Logarithm of the model's mass of rows that meet the rules, below which they are not entered: rows would be made of
what the model takes to be impossible."""

LARGEST_FACTOR = 30.0
"""Logarithm. What the model takes to be impossible stays so."""

RIDGE = 1e-7
STEPS = 200


@dataclass(frozen=True)
class _Table:
    """A factor of a distribution: logarithms, axes ascending by attribute."""

    attributes: tuple[int, ...]
    logs: Numbers


def with_rules(model: Model, rules: Sequence[RowConstraint]) -> tuple[Model, tuple[RowConstraint, ...]]:
    """The model with the rules that can be entered, and these rules; the model itself if none can be."""
    tables = _tables_of(model)
    if tables is None:
        return model, ()
    schema = model.schema
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    entered: list[RowConstraint] = []
    zeros: list[_Table] = []
    for rule in rules:
        possible = rule.possible(attributes)
        if possible is None:
            continue
        indices = [schema.index(name) for name in rule.attributes]
        order = np.argsort(indices)
        table = _Table(tuple(sorted(indices)), np.where(possible, 0.0, IMPOSSIBLE).transpose(order))
        marginals = [t.attributes for t in (*tables, *zeros, table)]
        if cells_of_tree(tree_over(marginals, schema.domain), schema.domain) <= MOST_CELLS:
            entered.append(rule)
            zeros.append(table)
    if not entered:
        return model, ()
    touched = sorted({a for table in zeros for a in table.attributes})
    with one_blas_thread():
        found = _projected(schema, tables, zeros, touched)
    return (model, ()) if found is None else (found, tuple(entered))


def _tables_of(model: Model) -> list[_Table] | None:
    """The tables whose product is the model's distribution; None if it is no such product."""
    if isinstance(model, JunctionTreeModel):
        drawn = [(clique.attributes, clique.new, clique.weights) for clique in model.cliques]
    elif isinstance(model, BayesianNetwork):
        derived = model.schema.derived
        drawn = []
        for node in model.nodes:
            bases = tuple(derived.base[a] for a in node.pair.marginal)
            if node.pair.attribute != bases[0] or len(set(bases)) < len(bases):
                return None
            weights = node.weights
            for axis, (attribute, base) in enumerate(zip(node.pair.marginal, bases, strict=True)):
                weights = np.take(weights, derived.derive(attribute, np.arange(derived.domain[base])), axis=axis)
            drawn.append((bases, bases[:1], weights))
    else:
        return None
    return [_logs(*parts) for parts in drawn]


def _logs(attributes: tuple[int, ...], new: tuple[int, ...], weights: Numbers) -> _Table:
    """The table of what is drawn given the other attributes."""
    given = [a for a in attributes if a not in new]
    order = [attributes.index(a) for a in (*new, *given)]
    moved = weights.transpose(order)
    drawn = conditional(moved.reshape(math.prod(moved.shape[: len(new)]), -1)).reshape(moved.shape)
    back = [(*new, *given).index(a) for a in sorted(attributes)]
    with np.errstate(divide="ignore"):
        return _Table(tuple(sorted(attributes)), np.maximum(np.log(drawn), IMPOSSIBLE).transpose(back))


def _projected(
    schema: Schema, tables: Sequence[_Table], zeros: Sequence[_Table], touched: Sequence[int]
) -> JunctionTreeModel | None:
    from scipy.optimize import minimize  # half a second to load, which every command would pay for

    domain = schema.domain
    tree = tree_over([table.attributes for table in (*tables, *zeros)], domain)
    propagation = Propagation(tree, domain)

    def beside(attributes: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        home = propagation.home(tuple(attributes))
        return home, tuple(domain[a] if a in attributes else 1 for a in tree.cliques[home])

    def added(some: Sequence[_Table], potentials: list[Numbers]) -> list[Numbers]:
        for table in some:
            home, shape = beside(table.attributes)
            potentials[home] += table.logs.reshape(shape)
        return potentials

    def marginals(beliefs: Sequence[Numbers]) -> Numbers:
        return np.concatenate([beliefs[home].sum(axis=summed) for home, summed in places])

    places = []
    for a in touched:
        home = propagation.home((a,))
        places.append((home, tuple(axis for axis, b in enumerate(tree.cliques[home]) if b != a)))
    ends = np.cumsum([domain[a] for a in touched])[:-1]
    potentials = added(tables, [np.zeros(shape) for shape in propagation.shapes])
    beliefs, whole = propagation.beliefs([part.copy() for part in potentials])
    target = marginals(beliefs)
    ruled = added(zeros, potentials)
    if propagation.beliefs([part.copy() for part in ruled])[1] - whole < LEAST_MASS:
        return None

    def with_factors(factors: Numbers) -> list[Numbers]:
        some = [_Table((a,), logs) for a, logs in zip(touched, np.split(factors, ends), strict=True)]
        return added(some, [part.copy() for part in ruled])

    def value(factors: Numbers) -> tuple[float, Numbers]:
        beliefs, logarithm = propagation.beliefs(with_factors(factors))
        slope = marginals(beliefs) - target + RIDGE * factors
        return logarithm - float(factors @ target) + 0.5 * RIDGE * float(factors @ factors), slope

    options = {"maxiter": STEPS, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-7}
    bounds = [(-LARGEST_FACTOR, LARGEST_FACTOR)] * len(target)
    found = minimize(value, np.zeros(len(target)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    beliefs, _ = propagation.beliefs(with_factors(found.x))
    for table in zeros:
        # What is impossible has no mass at all, and not hardly any.
        home, shape = beside(table.attributes)
        beliefs[home] = beliefs[home] * (table.logs == 0).reshape(shape)
    return GraphicalModel(propagation, beliefs).release(schema, 1)
