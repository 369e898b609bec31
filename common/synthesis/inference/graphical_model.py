"""A distribution as potentials on the cliques of a junction tree: belief propagation, and the marginals of all pairs.

Source: Lauritzen and Spiegelhalter (1988), as in McKenna, Sheldon and Miklau, "Graphical-model based estimation and
inference for differential privacy" (ICML 2019), which fits such a model to noisy marginals. Written in numpy for what
is fitted here: a few hundred small tables, again and again with one more (``docs/inference.md`` has it beside ``mbi``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.synthesis.inference.junction_tree import JunctionTree, eliminate, junction_tree, maximal_cliques
from privity.common.synthesis.inference.stacked_pairs import StackedPairs
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel

Numbers = npt.NDArray[np.float64]


def tree_over(marginals: Iterable[Marginal], domain: Sequence[int]) -> JunctionTree:
    """A junction tree over all attributes in which each of the marginals is within a clique."""
    import networkx as nx

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(domain)))
    graph.add_edges_from(pair for marginal in marginals for pair in combinations(sorted(marginal), 2))
    # A forest stays one: an elimination may join what costs as many cells together, of attributes of two values.
    # Always allowed, so there is one. Minimal triangulations are seldom cheaper, and take a second for 60 attributes.
    chordal = graph if nx.is_chordal(graph) else eliminate(graph, domain, lambda _: True)
    assert chordal is not None
    return junction_tree(maximal_cliques(chordal))


def cells_of_tree(tree: JunctionTree, domain: Sequence[int]) -> int:
    """Cells of all clique tables together."""
    return sum(math.prod(domain[a] for a in clique) for clique in tree.cliques)


def cells_added_by_pairs(tree: JunctionTree, domain: Sequence[int]) -> Numbers:
    """For each pair of attributes how many more cells the cliques need at most, if one is to hold the pair.

    0 for a pair that is in a clique. Otherwise one of the two, say a, is carried along the tree to the other, b: past
    the separators S_1 .. S_m of the path, the cliques a + S_i + S_(i+1), and at its end a + S_m + b, make a junction
    tree together with those that there are. Whichever of the two is carried with fewer cells.

    Returns:
        Shape (attributes, attributes), the same for both orders of a pair; exact below 2^53.
    """
    sizes = np.asarray(domain, dtype=np.float64)
    found = np.outer(sizes, sizes)  # of two attributes in components of their own
    near = neighbours(tree)
    for a in range(len(domain)):
        for b, cells in _carried_to_all(a, tree, domain, near).items():
            found[a, b] = cells
    return np.minimum(found, found.T)


def _carried_to_all(
    a: int, tree: JunctionTree, domain: Sequence[int], near: Sequence[Sequence[tuple[int, Marginal]]]
) -> dict[int, int]:
    """Cells that carrying the attribute to each other one of its component adds; on the shortest path of the tree."""
    added: dict[int, int] = {}
    waiting: list[tuple[int, int, Marginal, int]] = []
    for place in tree.holders[a]:
        added |= {b: 0 for b in tree.cliques[place] if b != a}
        waiting += [(place, other, shared, 0) for other, shared in near[place] if a not in tree.cliques[other]]
    while waiting:
        came, place, entered, before = waiting.pop()
        for b in tree.cliques[place]:
            if b not in entered:
                added[b] = before + domain[a] * math.prod(domain[x] for x in {*entered, b})
        for other, shared in near[place]:
            if other != came:
                through = domain[a] * math.prod(domain[x] for x in {*entered, *shared})
                waiting.append((place, other, shared, before + through))
    return added


def neighbours(tree: JunctionTree) -> list[list[tuple[int, Marginal]]]:
    """Of each clique, with what they share."""
    near: list[list[tuple[int, Marginal]]] = [[] for _ in tree.cliques]
    for place, (parent, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        if parent is not None:
            near[place].append((parent, separator))
            near[parent].append((place, separator))
    return near


@dataclass(frozen=True)
class _Link:
    """How a clique hangs from its parent.

    Attributes:
        summed: axes of the clique that are not in the separator.
        above: axes of the parent that are not.
        shape, shape_above: of the separator's table, beside the clique's axes and beside the parent's.
    """

    parent: int
    summed: tuple[int, ...]
    above: tuple[int, ...]
    shape: tuple[int, ...]
    shape_above: tuple[int, ...]


class Propagation:
    """What belief propagation on one junction tree needs, made once for many fits on it."""

    def __init__(self, tree: JunctionTree, domain: Sequence[int]) -> None:
        self.tree, self.domain = tree, domain
        self.shapes = [tuple(domain[a] for a in clique) for clique in tree.cliques]
        self._links = [self._link(place) for place in range(len(tree.cliques))]

    def _link(self, place: int) -> _Link | None:
        parent = self.tree.parents[place]
        if parent is None:
            return None
        shared = set(self.tree.separators[place])

        def beside(clique: Marginal) -> tuple[tuple[int, ...], tuple[int, ...]]:
            summed = tuple(axis for axis, a in enumerate(clique) if a not in shared)
            return summed, tuple(self.domain[a] if a in shared else 1 for a in clique)

        (summed, shape), (above, shape_above) = beside(self.tree.cliques[place]), beside(self.tree.cliques[parent])
        return _Link(parent, summed, above, shape, shape_above)

    def home(self, marginal: Marginal) -> int:
        """The clique with the fewest cells that holds these attributes."""
        wanted = set(marginal)
        holders = [i for i in self.tree.holders[marginal[0]] if wanted <= set(self.tree.cliques[i])]
        return min(holders, key=lambda i: (math.prod(self.shapes[i]), i))

    def beliefs(self, potentials: Sequence[Numbers]) -> tuple[list[Numbers], float]:
        """The probabilities of each clique's cells, and the logarithm of the partition function.

        The product of exp(potentials) over the cliques is the distribution, but for a factor. Potentials are used up.
        """
        sums = list(potentials)
        given: list[Numbers] = [np.empty(0)] * len(sums)
        logarithm = 0.0
        for place in range(len(sums) - 1, -1, -1):
            link = self._links[place]
            axes = tuple(range(sums[place].ndim)) if link is None else link.summed
            largest = sums[place].max(axis=axes, keepdims=True)
            weights = np.exp(sums[place] - largest)
            total = weights.sum(axis=axes, keepdims=True)
            given[place] = weights / total
            message = np.log(total) + largest
            if link is None:
                logarithm += float(message.item())
            else:
                # In place: nobody else holds these arrays.
                sums[link.parent] += message.reshape(link.shape_above)
        for place, link in enumerate(self._links):
            if link is not None:
                given[place] *= given[link.parent].sum(axis=link.above).reshape(link.shape)
        return given, logarithm


class GraphicalModel:
    """Probabilities on the cliques of a junction tree that agree on its separators."""

    def __init__(self, propagation: Propagation, beliefs: Sequence[Numbers]) -> None:
        self._propagation, self._beliefs = propagation, beliefs
        self.tree, self.domain = propagation.tree, propagation.domain

    @property
    def cells(self) -> int:
        """Of all clique tables."""
        return sum(belief.size for belief in self._beliefs)

    def _within(self, place: int, attributes: Sequence[int]) -> Numbers:
        """The marginal inside one clique, axes in the order given."""
        clique = self.tree.cliques[place]
        table = self._beliefs[place].sum(axis=tuple(axis for axis, a in enumerate(clique) if a not in attributes))
        kept = [a for a in clique if a in attributes]
        return np.asarray(table.transpose([kept.index(a) for a in attributes]))

    @cached_property
    def single(self) -> tuple[Numbers, ...]:
        """Probabilities of each attribute's codes."""
        return tuple(self._within(self._propagation.home((a,)), (a,)) for a in range(len(self.domain)))

    @property
    def pairs(self) -> StackedPairs:
        """Probabilities of every pair of attributes, first the smaller one."""
        return self.tables_of(list(combinations(range(len(self.domain)), 2)))

    def tables_of(self, pairs: Sequence[tuple[int, int]]) -> StackedPairs:
        """Probabilities of these pairs of attributes, first the smaller one.

        From each attribute on along the tree: P(a, T) = sum over the separator S of P(a, S) P(T | S). Attributes in
        components of their own are independent.
        """
        found = StackedPairs(pairs, self.domain)
        component = np.array(self._components)
        joined = component[found.pairs[:, 0]] == component[found.pairs[:, 1]]
        of_size = {size: [a for a, other in enumerate(self.domain) if other == size] for size in set(self.domain)}
        stacked = {size: np.stack([self.single[a] for a in members]) for size, members in of_size.items()}
        rank = {a: place for members in of_size.values() for place, a in enumerate(members)}
        ranks = np.array([rank[a] for a in range(len(self.domain))])
        for places, cells in found.by_shape():
            apart = ~joined[places]
            first, second = found.pairs[places[apart]].T
            left, right = (stacked[size] for size in cells.shape[1:])
            found.vector[cells[apart]] = left[ranks[first], :, None] * right[ranks[second], None, :]
        wanted: dict[int, set[int]] = {}
        for a, b in found.pairs[joined].tolist():
            wanted.setdefault(a, set()).add(b)
        for a, others in wanted.items():
            for x, table in self._pairs_of(a):
                if x in others:
                    found[a, x][:] = table
        return found

    @cached_property
    def _components(self) -> list[int]:
        """Of each attribute, the first clique of its component."""
        of_clique: list[int] = []
        found = [0] * len(self.domain)
        for place, (clique, parent) in enumerate(zip(self.tree.cliques, self.tree.parents, strict=True)):
            of_clique.append(place if parent is None else of_clique[parent])
            for a in clique:
                found[a] = of_clique[place]
        return found

    def _pairs_of(self, a: int) -> Iterator[tuple[int, Numbers]]:
        """Tables of the attribute with all that are after it and reached from it; some twice."""
        size = self.domain[a]
        waiting: list[tuple[int, int, Numbers]] = []
        for place in self.tree.holders[a]:
            for x in self.tree.cliques[place]:
                if x > a:
                    yield x, self._within(place, (a, x))
            waiting += [
                (place, other, self._within(place, (a, *separator)).reshape(size, -1))
                for other, separator in self._neighbours[place]
                if a not in self.tree.cliques[other]
            ]
        while waiting:
            came, place, joint = waiting.pop()
            separator = next(s for other, s in self._neighbours[place] if other == came)
            for x in self.tree.cliques[place]:
                if x > a and x not in separator:
                    yield x, self._carried(joint, place, separator, (x,))
            waiting += [
                (place, other, self._carried(joint, place, separator, onward))
                for other, onward in self._neighbours[place]
                if other != came
            ]

    def _carried(self, joint: Numbers, place: int, separator: Marginal, target: Marginal) -> Numbers:
        """P(a, target), shape (size of a, cells of the target), from P(a, separator)."""
        kept = tuple(x for x in target if x in separator)
        gone = tuple(x for x in separator if x not in kept)
        new = tuple(x for x in target if x not in separator)
        cells = [math.prod(self.domain[x] for x in some) for some in (kept, gone, new)]
        split = joint.reshape(len(joint), *(self.domain[x] for x in separator))
        split = split.transpose([0, *(1 + separator.index(x) for x in (*kept, *gone))]).reshape(len(joint), *cells[:2])
        carried = split.transpose(1, 0, 2) @ self._given(place, kept, gone, new).reshape(cells)
        # Axes as in the target's order.
        ordered = carried.transpose(1, 0, 2).reshape(len(joint), *(self.domain[x] for x in (*kept, *new)))
        axes = [1 + (*kept, *new).index(x) for x in target]
        return np.asarray(ordered.transpose([0, *axes]).reshape(len(joint), -1))

    def _given(self, place: int, kept: Marginal, gone: Marginal, new: Marginal) -> Numbers:
        """P(new | kept, gone) inside a clique, axes in this order; 0 where there is nothing."""
        key = (place, kept, gone, new)
        if key not in self._conditionals:
            joint = self._within(place, (*kept, *gone, *new))
            below = joint.sum(axis=tuple(range(joint.ndim - len(new), joint.ndim)), keepdims=True)
            self._conditionals[key] = np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)
        return self._conditionals[key]

    @cached_property
    def _conditionals(self) -> dict[tuple[int, Marginal, Marginal, Marginal], Numbers]:
        return {}

    @cached_property
    def _neighbours(self) -> list[list[tuple[int, Marginal]]]:
        return neighbours(self.tree)

    def release(self, schema: Schema, rows: int) -> JunctionTreeModel:
        """What is published of it: weights in rows."""
        parts = zip(self.tree.cliques, self.tree.separators, self._beliefs, strict=True)
        return JunctionTreeModel(schema, [Clique(clique, separator, b * rows) for clique, separator, b in parts])
