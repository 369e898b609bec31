"""What was learnt, as graphs to be drawn and lists to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.common.synthesis.models.copula_model import CopulaModel, blocks_of
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.common.synthesis.models.mixture_model import Mixture

NETWORK, TREE, COPULA = "network", "tree", "copula"


@dataclass(frozen=True)
class Box:
    """A node of a picture: the names in it; those above its line are shared with the node that it hangs from."""

    names: tuple[str, ...]
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tie:
    """An edge from one box to another, by place; ``label`` is its strength."""

    start: int
    end: int
    label: str = ""


@dataclass(frozen=True)
class Structure:
    """One learnt structure.

    Attributes:
        kind: NETWORK (arrows from parents), TREE (cliques hang from each other) or COPULA (ties have no direction).
        title: whose it is, where there are several.
        boxes, ties: acyclic; boxes in an order in which every tie goes forward.
        lines: the same as a list: name, and the names that it is drawn given.
    """

    kind: str
    title: str
    boxes: tuple[Box, ...]
    ties: tuple[Tie, ...]
    lines: tuple[tuple[str, tuple[str, ...]], ...]


def structures(model: Model, owners: Sequence[str], title: str = "") -> list[Structure]:
    """The structures of a model: one, or those of each part of a mixture.

    Args:
        owners: of the parts of a mixture, in their order.
    """
    if isinstance(model, BayesianNetwork):
        return [_network(model, title)]
    if isinstance(model, JunctionTreeModel):
        return [_tree(model, title)]
    if isinstance(model, CopulaModel):
        return [_copula(model, title)]
    found = []
    if isinstance(model, Mixture):
        named = len(owners) == len(model.parts)
        for place, part in enumerate(model.parts):
            whose = owners[place] if named else f"part {place + 1}"
            found += structures(part.model, owners, f"{whose}, {part.rows} rows")
    return found


def _network(model: BayesianNetwork, title: str) -> Structure:
    """Arrows come from the nodes that determine a parent: itself, or what it is derived of."""
    derived = model.schema.derived
    place = {node.pair.attribute: i for i, node in enumerate(model.nodes)}
    ties = []
    for node in model.nodes:
        from_ = set()
        for parent in node.pair.parents:
            needed = next(
                source for source in ((parent,), *derived.sources(derived.base[parent])) if place.keys() >= set(source)
            )
            from_ |= {place[source] for source in needed}
        ties += [Tie(start, place[node.pair.attribute]) for start in sorted(from_)]
    names = derived.names
    return Structure(
        NETWORK,
        title,
        tuple(Box((names[node.pair.attribute],)) for node in model.nodes),
        tuple(ties),
        tuple((names[n.pair.attribute], tuple(names[p] for p in n.pair.parents)) for n in model.nodes),
    )


def _tree(model: JunctionTreeModel, title: str) -> Structure:
    names = model.schema.names
    boxes, ties, lines = [], [], []
    for place, clique in enumerate(model.cliques):
        shared = tuple(names[a] for a in clique.separator)
        new = tuple(names[a] for a in clique.new)
        boxes.append(Box(new, shared))
        lines.append((", ".join(new), shared))
        if clique.separator:
            earlier = (i for i in range(place) if set(clique.separator) <= set(model.cliques[i].attributes))
            ties.append(Tie(next(earlier), place))
    return Structure(TREE, title, tuple(boxes), tuple(ties), tuple(lines))


def correlations(model: CopulaModel) -> list[tuple[float, int, int]]:
    """(correlation, a, b) of every pair, the strongest first.

    Of two attributes the root of the mean square of their categories' correlations, weighted by their rates: a single
    rare category, whose correlations are mostly noise, does not decide.
    """
    blocks = blocks_of(model.schema.domain)
    weights = [np.ones(1) if len(rates) == 2 else rates / rates.sum() for rates in model.rates]
    found = []
    for b, block in enumerate(blocks):
        for a, other in enumerate(blocks[:b]):
            # The part that is published: below the diagonal.
            squares = model.correlations[block, other] ** 2
            mean = (squares * np.outer(weights[b], weights[a])).sum()
            found.append((float(np.sqrt(mean)), a, b))
    return sorted(found, key=lambda entry: (-round(entry[0], 9), entry[1], entry[2]))


def _copula(model: CopulaModel, title: str) -> Structure:
    """The forest of the strongest correlations: each attribute hangs from the one that it is tied to most."""
    import networkx as nx

    names = model.schema.names
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(len(names)))
    strongest = nx.utils.UnionFind(range(len(names)))
    for value, a, b in correlations(model):
        if value >= 0.005 and strongest[a] != strongest[b]:
            strongest.union(a, b)
            graph.add_edge(a, b, label=f"{value:.2f}")
    order, ties, seen = [], [], set()
    for root in sorted(graph, key=lambda a: (-graph.degree(a), a)):
        if root in seen:
            continue
        seen.add(root)
        order.append(root)
        for a, b in nx.bfs_edges(graph, root, sort_neighbors=sorted):
            seen.add(b)
            order.append(b)
            ties.append((a, b, graph.edges[a, b]["label"]))
    place = {a: i for i, a in enumerate(order)}
    given = {b: f"{names[a]} ({label})" for a, b, label in ties}
    return Structure(
        COPULA,
        title,
        tuple(Box((names[a],)) for a in order),
        tuple(Tie(place[a], place[b], label) for a, b, label in ties),
        tuple((names[a], (given[a],) if a in given else ()) for a in order),
    )
