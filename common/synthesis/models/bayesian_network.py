"""A Bayesian network over coded attributes: sampled, saved and loaded as JSON.

An attribute is drawn itself or bit by bit; a parent may be any attribute, or one derived of it, that what
was drawn before determines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.synthesis.models.conditionals import sample_codes
from privity.common.synthesis.models.weights import check_weights, read_weights

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Node:
    """Pr[X, Pi] as non-negative weights, X on the first axis, parents on the others."""

    pair: AttributeParentPair
    weights: np.ndarray


class BayesianNetwork:
    """For each attribute of the schema one node, or one for each of its bits; the edges form a DAG.

    Raises:
        ValueError: an attribute that is not drawn or drawn twice, a wrong shape, or a cycle.
    """

    def __init__(self, schema: Schema, nodes: Sequence[Node]) -> None:
        import networkx as nx

        by_attribute = {node.pair.attribute: node for node in nodes}
        if len(by_attribute) != len(nodes):
            raise ValueError("a network has one node for an attribute")
        derived = schema.derived
        sources = _sources(derived, len(schema.attributes), set(by_attribute))
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(by_attribute)
        for node in nodes:
            if len(set(node.pair.marginal)) != len(node.pair.marginal):
                raise ValueError("a node names an attribute twice")
            check_weights(node.weights, tuple(derived.domain[a] for a in node.pair.marginal))
            for parent in node.pair.parents:
                needed = (parent,) if parent in by_attribute else sources[derived.base[parent]]
                graph.add_edges_from((source, node.pair.attribute) for source in needed)
        if not nx.is_directed_acyclic_graph(graph):
            raise ValueError("the network has a cycle")
        self.schema = schema
        self.nodes = tuple(by_attribute[a] for a in nx.lexicographical_topological_sort(graph))

    @property
    def parents(self) -> dict[int, tuple[int, ...]]:
        return {node.pair.attribute: node.pair.parents for node in self.nodes}

    @property
    def alone(self) -> frozenset[int]:
        """Attributes without an edge to another one."""
        base = self.schema.derived.base
        edges = ((base[node.pair.attribute], base[p]) for node in self.nodes for p in node.pair.parents)
        joined = {attribute for edge in edges if edge[0] != edge[1] for attribute in edge}
        return frozenset(range(len(self.schema.attributes))) - joined

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
        """Rows of the network's joint distribution, by ancestral sampling."""
        derived = self.schema.derived
        columns: dict[int, np.ndarray] = {}
        for node in self.nodes:
            given = np.zeros(rows, dtype=np.int64)
            for parent, width in zip(node.pair.parents, node.weights.shape[1:], strict=True):
                given = given * width + self._values(parent, columns)
            weights = node.weights.reshape(len(node.weights), -1)
            drawn = sample_codes(weights, given, generator, independent=independent)
            columns[node.pair.attribute] = drawn.astype(code_type(len(node.weights)))
        restored = (derived.restore(a, columns) for a in range(len(self.schema.attributes)))
        codes = (c.astype(code_type(a.size)) for c, a in zip(restored, self.schema.attributes, strict=True))
        return CodedTable(self.schema, tuple(codes))

    def _values(self, attribute: int, columns: dict[int, np.ndarray]) -> np.ndarray:
        """The column of an attribute that the columns drawn so far determine; kept among them."""
        if attribute not in columns:
            derived = self.schema.derived
            codes = derived.derive(attribute, derived.restore(derived.base[attribute], columns))
            columns[attribute] = codes.astype(code_type(derived.domain[attribute]))
        return columns[attribute]

    def to_dict(self) -> dict[str, Any]:
        names = self.schema.derived.names
        return {
            "format_version": FORMAT_VERSION,
            "kind": "bayesian-network",
            "schema_digest": self.schema.digest,
            "nodes": [
                {
                    "attribute": names[node.pair.attribute],
                    "parents": [names[p] for p in node.pair.parents],
                    "weights": node.weights.tolist(),
                }
                for node in self.nodes
            ],
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any], schema: Schema, file: str) -> BayesianNetwork:
        """Read ``model.json``; raises PrivityError if it does not fit its format or the schema."""
        require(document, "model", file)
        if document["schema_digest"] != schema.digest:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason="the model belongs to another schema")
        index = schema.derived.index
        try:
            nodes = [
                Node(
                    AttributeParentPair(index(n["attribute"]), tuple(index(p) for p in n["parents"])),
                    read_weights(n["weights"]),
                )
                for n in document["nodes"]
            ]
            return cls(schema, nodes)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason=str(error)) from error


def _sources(derived: DerivedAttributes, attributes: int, drawn: set[int]) -> list[tuple[int, ...]]:
    """For each attribute the nodes that determine it; ValueError if they are not exactly the nodes drawn."""
    sources = []
    for attribute in range(attributes):
        found = [s for s in dict.fromkeys(derived.sources(attribute)) if drawn.issuperset(s)]
        if len(found) != 1:
            raise ValueError("a network draws each attribute exactly once")
        sources += found
    if {node for source in sources for node in source} != drawn:
        raise ValueError("a network draws each attribute exactly once")
    return sources
