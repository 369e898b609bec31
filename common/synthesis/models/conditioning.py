"""A model given weights of the codes of some attributes, exactly and without drawing rows that do not fit.

A weight is the part of a code's rows that is wanted: 0 or 1, or between where only some values of a bin are. The joint
distribution is a product of conditionals, each of what is drawn given what was drawn before. From the last one
backwards the weights are entered, what a conditional draws is summed out, and what is left, a function of what it is
given, is multiplied into an earlier conditional that has all of these attributes: the elimination of variables, against
the order of drawing (Koller, Friedman, Probabilistic Graphical Models, 2009, section 9.3). A junction tree always has
such a conditional, and so has a Bayesian network where each attribute has one parent. Other conditions are left to
whoever draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.common.synthesis.models.conditionals import conditional
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Drawn:
    """One conditional: ``table`` has the axes of ``new``, then those of ``given``."""

    new: tuple[int, ...]
    given: tuple[int, ...]
    table: Table

    @property
    def axes(self) -> tuple[int, ...]:
        return (*self.new, *self.given)


def conditioned(model: Model, weights: Mapping[int, Table]) -> tuple[Model, frozenset[int]]:
    """A model whose rows have the distribution of this one's given as many of the weights as can be entered.

    Whoever draws from it must still keep rows by those that were not. It is the model itself if none can be, or if rows
    may be absent.

    Args:
        weights: by attribute, of each of its codes, shape (codes,).

    Returns:
        the model, and the attributes whose weights were entered.
    """
    if not weights or model.schema.absent_rows:
        return model, frozenset()
    if isinstance(model, JunctionTreeModel):
        cliques = model.cliques
        axes = [(*clique.new, *clique.separator) for clique in cliques]
        orders = [[clique.attributes.index(a) for a in of] for clique, of in zip(cliques, axes, strict=True)]
        moved = [clique.weights.transpose(order) for clique, order in zip(cliques, orders, strict=True)]
        drawn = [_drawn(clique.new, clique.separator, table) for clique, table in zip(cliques, moved, strict=True)]
        possible, tables = _entered(drawn, weights)
        if not possible:
            return model, possible
        back = [table.transpose(np.argsort(order)) for table, order in zip(tables, orders, strict=True)]
        entered = [replace(clique, weights=table) for clique, table in zip(cliques, back, strict=True)]
        return JunctionTreeModel(model.schema, entered), possible
    if isinstance(model, BayesianNetwork):
        pairs = [(node.pair.attribute, node.pair.parents) for node in model.nodes]
        drawn = [_drawn((a,), given, node.weights) for (a, given), node in zip(pairs, model.nodes, strict=True)]
        possible, tables = _entered(drawn, weights)
        if not possible:
            return model, possible
        nodes = [replace(node, weights=table) for node, table in zip(model.nodes, tables, strict=True)]
        return BayesianNetwork(model.schema, nodes), possible
    return model, frozenset()


def _drawn(new: tuple[int, ...], given: tuple[int, ...], weights: Table) -> _Drawn:
    flat = weights.reshape(math.prod(weights.shape[: len(new)]), -1)
    return _Drawn(new, given, conditional(flat).reshape(weights.shape))


def _entered(drawn: Sequence[_Drawn], weights: Mapping[int, Table]) -> tuple[frozenset[int], list[Table]]:
    """The attributes whose weights are entered, and the conditionals' tables; none if no row has a weight."""
    holders = [_holder(drawn, place) for place in range(len(drawn))]
    possible = {
        attribute: of_codes
        for attribute, of_codes in weights.items()
        for place, one in enumerate(drawn)
        if attribute in one.new and _leads_to_the_start(place, drawn, holders)
    }
    tables = [one.table for one in drawn]
    for place in reversed(range(len(drawn))):
        one = drawn[place]
        for attribute, of_codes in possible.items():
            if attribute in one.new:
                tables[place] = tables[place] * _spread(of_codes, (attribute,), one.axes)
        left = tables[place].sum(axis=tuple(range(len(one.new))))
        largest = float(left.max())
        if largest <= 0:
            return frozenset(), tables
        holder = holders[place]
        if one.given and holder is not None and tables[place] is not one.table:
            # Only proportions count.
            tables[holder] = tables[holder] * _spread(left / largest, one.given, drawn[holder].axes)
    return frozenset(possible), tables


def _holder(drawn: Sequence[_Drawn], place: int) -> int | None:
    """An earlier conditional that has all attributes that this one is given."""
    given = set(drawn[place].given)
    return next((earlier for earlier in range(place) if given <= set(drawn[earlier].axes)), None)


def _leads_to_the_start(place: int, drawn: Sequence[_Drawn], holders: Sequence[int | None]) -> bool:
    """Whether what is left of this conditional can be handed on until it depends on nothing."""
    while drawn[place].given:
        holder = holders[place]
        if holder is None:
            return False
        place = holder
    return True


def _spread(values: Table, of: Sequence[int], axes: Sequence[int]) -> Table:
    """Values with axes ``of``, in an array that multiplies one with ``axes``."""
    order = sorted(range(len(of)), key=lambda place: axes.index(of[place]))
    sizes = dict(zip(of, values.shape, strict=True))
    return values.transpose(order).reshape([sizes.get(axis, 1) for axis in axes])
