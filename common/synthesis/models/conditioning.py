"""A model given the codes of some attributes, exactly and without drawing rows that do not fit.

The joint distribution is a product of conditionals, each of what is drawn given what was drawn before. From the last
one backwards the codes are entered, what a conditional draws is summed out, and what is left, a function of what it is
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


def conditioned(model: Model, codes: Mapping[int, int]) -> Model:
    """A model whose rows have the distribution of this one's given as many of the codes as can be entered.

    Whoever draws from it must still refuse rows that do not have all of them. It is the model itself if none can be,
    or if rows may be absent.
    """
    if not codes or model.schema.absent_rows:
        return model
    if isinstance(model, JunctionTreeModel):
        cliques = model.cliques
        axes = [(*clique.new, *clique.separator) for clique in cliques]
        orders = [[clique.attributes.index(a) for a in of] for clique, of in zip(cliques, axes, strict=True)]
        moved = [clique.weights.transpose(order) for clique, order in zip(cliques, orders, strict=True)]
        drawn = [_drawn(clique.new, clique.separator, table) for clique, table in zip(cliques, moved, strict=True)]
        tables = _entered(drawn, codes)
        if tables is None:
            return model
        back = [table.transpose(np.argsort(order)) for table, order in zip(tables, orders, strict=True)]
        entered = [replace(clique, weights=table) for clique, table in zip(cliques, back, strict=True)]
        return JunctionTreeModel(model.schema, entered)
    if isinstance(model, BayesianNetwork):
        pairs = [(node.pair.attribute, node.pair.parents) for node in model.nodes]
        drawn = [_drawn((a,), given, node.weights) for (a, given), node in zip(pairs, model.nodes, strict=True)]
        tables = _entered(drawn, codes)
        if tables is None:
            return model
        nodes = [replace(node, weights=table) for node, table in zip(model.nodes, tables, strict=True)]
        return BayesianNetwork(model.schema, nodes)
    return model


def _drawn(new: tuple[int, ...], given: tuple[int, ...], weights: Table) -> _Drawn:
    flat = weights.reshape(math.prod(weights.shape[: len(new)]), -1)
    return _Drawn(new, given, conditional(flat).reshape(weights.shape))


def _entered(drawn: Sequence[_Drawn], codes: Mapping[int, int]) -> list[Table] | None:
    """The conditionals' tables given the codes, as weights; None if no code can be entered, or no row has them."""
    holders = [_holder(drawn, place) for place in range(len(drawn))]
    possible = {
        attribute: code
        for attribute, code in codes.items()
        for place, one in enumerate(drawn)
        if attribute in one.new and _leads_to_the_start(place, drawn, holders)
    }
    if not possible:
        return None
    tables = [one.table for one in drawn]
    for place in reversed(range(len(drawn))):
        one = drawn[place]
        for attribute, code in possible.items():
            if attribute in one.new:
                tables[place] = _only(tables[place], one.axes.index(attribute), code)
        left = tables[place].sum(axis=tuple(range(len(one.new))))
        largest = float(left.max())
        if largest <= 0:
            return None
        holder = holders[place]
        if one.given and holder is not None and tables[place] is not one.table:
            # Only proportions count.
            tables[holder] = tables[holder] * _spread(left / largest, one.given, drawn[holder].axes)
    return tables


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


def _only(table: Table, axis: int, code: int) -> Table:
    """The table with nothing but zeros at other codes."""
    kept = np.zeros_like(table)
    at = (slice(None),) * axis + (code,)
    kept[at] = table[at]
    return kept


def _spread(values: Table, of: Sequence[int], axes: Sequence[int]) -> Table:
    """Values with axes ``of``, in an array that multiplies one with ``axes``."""
    order = sorted(range(len(of)), key=lambda place: axes.index(of[place]))
    sizes = dict(zip(of, values.shape, strict=True))
    return values.transpose(order).reshape([sizes.get(axis, 1) for axis in axes])
