"""Codes of some attributes given those of all others, each row its own: what histories are continued by.

The joint distribution is a product of conditionals. At the codes of a row each of them is a table over the attributes
that are yet to be drawn, and these are eliminated one after another, and drawn in the opposite order (Koller, Friedman,
Probabilistic Graphical Models, 2009, sections 9.3 and 12.1). Many rows are drawn at once. Exact but for bits that spell
no code, whose mass is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.common.synthesis.models.conditionals import conditional
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

CELLS_AT_ONCE = 1 << 22
"""Of all rows that are drawn together."""

LEAST = 1e-9
"""Takes the place of no mass at all: what the model never saw may stand beside what it did."""


@dataclass(frozen=True)
class _Factor:
    """A conditional: which known attributes choose one of its tables, and over which of the others these are.

    Attributes:
        known: derived ones may be among them.
        scope: places among the attributes to be drawn, rising.
        tables: shape (cells of the known ones, sizes of the scope).
    """

    known: tuple[int, ...]
    sizes: tuple[int, ...]
    scope: tuple[int, ...]
    tables: Numbers


@dataclass(frozen=True)
class _Part:
    """A function of some of the attributes to be drawn, for each row: shape (rows, sizes of the scope)."""

    scope: tuple[int, ...]
    values: Numbers


class GivenCodes:
    """Draws of these attributes of a model, all others being known.

    Raises:
        ValueError: the model is no product of conditionals, or the attributes depend on too many of each other at once.
    """

    def __init__(self, model: Model, unknown: Sequence[int]) -> None:
        self._derived = model.schema.derived
        self._unknown = tuple(unknown)
        self._sizes = tuple(model.schema.domain[a] for a in unknown)
        self._factors = [factor for each in _conditionals(model) if (factor := self._factor(*each)) is not None]
        self._order = self._elimination()
        widest = max((math.prod(self._sizes[v] for v in scope) for scope in self._scopes(self._order)), default=1)
        if widest > CELLS_AT_ONCE:
            raise ValueError(f"attributes to be drawn depend on each other in {widest:,} cells at once")
        self.rows_at_once = max(1, CELLS_AT_ONCE // widest)

    def draw(
        self, known: Mapping[int, Codes], generator: np.random.Generator, weights: Mapping[int, Numbers]
    ) -> dict[int, Codes]:
        """Codes of each attribute to be drawn, shape (rows,).

        Args:
            known: codes of all others, by attribute, shape (rows,).
            weights: by attribute to be drawn, of its codes: shape (codes,), or (rows, codes); the law is multiplied by
                them.
        """
        rows = len(next(iter(known.values())))
        found = {a: np.empty(rows, dtype=np.int64) for a in self._unknown}
        for start in range(0, rows, self.rows_at_once):
            block = slice(start, min(start + self.rows_at_once, rows))
            drawn: dict[int, Codes] = {}
            for variable, part in reversed(self._eliminated(self._parts(known, weights, block), self._order)):
                drawn[variable] = _drawn(part, variable, drawn, generator)
            for variable, codes in drawn.items():
                found[self._unknown[variable]][block] = codes
        return found

    def law(
        self, attribute: int, known: Mapping[int, Codes], weights: Mapping[int, Numbers], of_rows: Numbers
    ) -> Numbers:
        """The law of one attribute, as ``draw`` would have it, averaged over the rows by their weights: shape (codes,).

        Args:
            of_rows: shape (rows,); no more rows than ``rows_at_once``.
        """
        variable = self._unknown.index(attribute)
        order = [*(v for v in self._order if v != variable), variable]
        _, last = self._eliminated(self._parts(known, weights, slice(None)), order)[-1]
        found: Numbers = of_rows @ (last.values / last.values.sum(axis=1, keepdims=True)) / of_rows.sum()
        return found

    def _factor(self, new: tuple[int, ...], given: tuple[int, ...], table: Numbers) -> _Factor | None:
        """A conditional with its axes in order; None if nothing that is to be drawn has a part in it."""
        base = self._derived.base
        places = {a: place for place, a in enumerate(self._unknown)}
        axes = [(base[a] if base[a] in places else a) for a in (*new, *given)]
        if not places.keys() & set(axes):
            return None
        for axis, a in enumerate((*new, *given)):
            if axes[axis] != a:
                # By the code that the derived one follows from.
                table = np.take(table, self._derived.derive(a, np.arange(self._derived.domain[axes[axis]])), axis=axis)
        known = tuple(dict.fromkeys(a for a in axes if a not in places))
        scope = tuple(sorted({places[a] for a in axes if a in places}))
        letters = {a: letter for letter, a in enumerate(dict.fromkeys(axes))}
        wanted = [letters[a] for a in (*known, *(self._unknown[v] for v in scope))]
        # A repeated letter takes the diagonal: both axes are of one attribute.
        moved: Numbers = np.einsum(table, [letters[a] for a in axes], wanted)  # type: ignore[arg-type]
        sizes = tuple(self._derived.domain[a] for a in known)
        return _Factor(known, sizes, scope, moved.reshape(math.prod(sizes), *(self._sizes[v] for v in scope)) + LEAST)

    def _parts(self, known: Mapping[int, Codes], weights: Mapping[int, Numbers], block: slice) -> list[_Part]:
        parts = []
        rows = len(next(iter(known.values()))[block])
        for factor in self._factors:
            at = np.zeros(rows, dtype=np.int64)
            for attribute, size in zip(factor.known, factor.sizes, strict=True):
                codes = known[self._derived.base[attribute]][block]
                at = at * size + self._derived.derive(attribute, codes)
            parts.append(_Part(factor.scope, factor.tables[at]))
        for variable, attribute in enumerate(self._unknown):
            of_codes = weights.get(attribute, np.ones(self._sizes[variable]))
            parts.append(_Part((variable,), of_codes[block] if of_codes.ndim > 1 else of_codes[None, :]))
        return parts

    def _eliminated(self, parts: Sequence[_Part], order: Sequence[int]) -> list[tuple[int, _Part]]:
        """Of each attribute, in this order, its law given those after it, which is not normalised."""
        left, found = list(parts), []
        for variable in order:
            some = [part for part in left if variable in part.scope]
            left = [part for part in left if variable not in part.scope]
            both = _product(some)
            # Only proportions count, and small numbers would vanish.
            values = both.values / np.maximum(
                both.values.max(axis=tuple(range(1, both.values.ndim)), keepdims=True), 1e-300
            )
            both = _Part(both.scope, values)
            found.append((variable, both))
            rest = tuple(v for v in both.scope if v != variable)
            if rest:
                left.append(_Part(rest, both.values.sum(axis=1 + both.scope.index(variable))))
        return found

    def _elimination(self) -> list[int]:
        """An order of the attributes to be drawn in which tables stay small: the smallest next one first."""
        scopes = [set(factor.scope) for factor in self._factors]
        left, order = set(range(len(self._unknown))), []
        while left:
            joined = {v: set().union({v}, *(scope for scope in scopes if v in scope)) for v in left}
            best = min(sorted(left), key=lambda v: math.prod(self._sizes[u] for u in joined[v]))
            scopes = [scope for scope in scopes if best not in scope] + [joined[best] - {best}]
            left.remove(best)
            order.append(best)
        return order

    def _scopes(self, order: Sequence[int]) -> list[set[int]]:
        """The attributes that each elimination looks at together."""
        scopes, found = [set(factor.scope) for factor in self._factors], []
        for variable in order:
            joined = set().union({variable}, *(scope for scope in scopes if variable in scope))
            scopes = [scope for scope in scopes if variable not in scope] + [joined - {variable}]
            found.append(joined)
        return found


def _conditionals(model: Model) -> list[tuple[tuple[int, ...], tuple[int, ...], Numbers]]:
    """The attributes that each conditional draws, those that it is given, and its table with axes in that order."""
    found = []
    if isinstance(model, JunctionTreeModel):
        for clique in model.cliques:
            order = [clique.attributes.index(a) for a in (*clique.new, *clique.separator)]
            found.append((clique.new, clique.separator, clique.weights.transpose(order)))
    elif isinstance(model, BayesianNetwork):
        found = [((node.pair.attribute,), node.pair.parents, node.weights) for node in model.nodes]
    else:
        raise ValueError(f"a {type(model).__name__} has no conditionals")
    return [(new, given, _normalised(len(new), table)) for new, given, table in found]


def _normalised(new: int, weights: Numbers) -> Numbers:
    flat = np.asarray(weights, dtype=np.float64).reshape(math.prod(weights.shape[:new]), -1)
    return conditional(flat).reshape(weights.shape)


def _product(parts: Sequence[_Part]) -> _Part:
    scope = tuple(sorted(set().union(*(part.scope for part in parts))))
    values = np.ones((1,) * (len(scope) + 1))
    for part in parts:
        sizes = dict(zip(part.scope, part.values.shape[1:], strict=True))
        values = values * part.values.reshape(len(part.values), *(sizes.get(v, 1) for v in scope))
    return _Part(scope, values)


def _drawn(part: _Part, variable: int, drawn: Mapping[int, Codes], generator: np.random.Generator) -> Codes:
    """Codes of one attribute by its law given what was drawn already."""
    moved = np.moveaxis(part.values, 1 + part.scope.index(variable), -1)
    others = [v for v in part.scope if v != variable]
    rows = len(next(iter(drawn.values()))) if drawn else len(moved)
    at = np.arange(rows) if len(moved) > 1 else np.zeros(rows, dtype=np.int64)
    law = moved[(at, *(drawn[v] for v in others))]
    upto = law.cumsum(axis=1)
    points = generator.random(rows) * upto[:, -1]
    return np.minimum((upto <= points[:, None]).sum(axis=1), law.shape[1] - 1)
