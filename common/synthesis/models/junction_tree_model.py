"""A junction tree over coded attributes: sampled clique by clique, saved and loaded as JSON.

The joint distribution is the product of the cliques' over that of their separators (Chen, Xiao, Zhang, Xu, KDD 2015,
equation 1), drawn as in section 4.4: each clique's new attributes given its separator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.noisy_tables import Marginal
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.synthesis.models.conditionals import sample_codes
from privity.common.synthesis.models.weights import check_weights, read_weights

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Clique:
    """Weights of a clique, one axis for each attribute; those of the separator have been drawn before."""

    attributes: Marginal
    separator: Marginal
    weights: np.ndarray

    @property
    def new(self) -> Marginal:
        """The attributes that this clique draws."""
        return tuple(a for a in self.attributes if a not in self.separator)


class JunctionTreeModel:
    """Cliques in an order in which each finds the attributes of its separator drawn, and draws others.

    Raises:
        ValueError: an attribute of the schema that is not drawn or drawn twice, a clique that draws none, a separator
            that is not within an earlier clique, or what are no weights.
    """

    def __init__(self, schema: Schema, cliques: Sequence[Clique]) -> None:
        everything = set(range(len(schema.attributes)))
        if sorted(a for clique in cliques for a in clique.new) != sorted(everything):
            raise ValueError("a junction tree draws each attribute exactly once")
        if not all(clique.new for clique in cliques):
            raise ValueError("a clique draws no attribute")
        earlier: list[set[int]] = [set()]
        for clique in cliques:
            members, separator = set(clique.attributes), set(clique.separator)
            if len(members) != len(clique.attributes) or not members <= everything:
                raise ValueError("a clique names an attribute twice, or one that the schema does not have")
            if len(separator) != len(clique.separator):
                raise ValueError("a separator names an attribute twice")
            if not separator <= members or not any(separator <= known for known in earlier):
                raise ValueError("a separator is not within its clique and an earlier one")
            check_weights(clique.weights, tuple(schema.domain[a] for a in clique.attributes))
            earlier.append(members)
        self.schema = schema
        self.cliques = tuple(cliques)

    @property
    def alone(self) -> frozenset[int]:
        """Attributes that are in no clique with another one."""
        return frozenset(range(len(self.schema.attributes))).difference(
            *(clique.attributes for clique in self.cliques if len(clique.attributes) > 1)
        )

    def sample(self, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
        """Rows of the tree's joint distribution."""
        domain = self.schema.domain
        columns: dict[int, np.ndarray] = {}
        for clique in self.cliques:
            axes = [clique.attributes.index(a) for a in (*clique.new, *clique.separator)]
            weights = clique.weights.transpose(axes).reshape(math.prod(domain[a] for a in clique.new), -1)
            given = np.zeros(rows, dtype=np.int64)
            for attribute in clique.separator:
                given = given * domain[attribute] + columns[attribute]
            drawn = sample_codes(weights, given, generator, independent=independent)
            cells = np.unravel_index(drawn, [domain[a] for a in clique.new])
            for attribute, codes in zip(clique.new, cells, strict=True):
                columns[attribute] = codes.astype(code_type(domain[attribute]))
        return CodedTable(self.schema, tuple(columns[a] for a in range(len(domain))))

    def to_dict(self) -> dict[str, Any]:
        names = self.schema.names
        return {
            "format_version": FORMAT_VERSION,
            "kind": "junction-tree",
            "schema_digest": self.schema.digest,
            "cliques": [
                {
                    "attributes": [names[a] for a in clique.attributes],
                    "separator": [names[a] for a in clique.separator],
                    "weights": clique.weights.tolist(),
                }
                for clique in self.cliques
            ],
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any], schema: Schema, file: str) -> JunctionTreeModel:
        """Read ``model.json``; raises PrivityError if it does not fit its format or the schema."""
        require(document, "model", file)
        if document["schema_digest"] != schema.digest:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason="the model belongs to another schema")
        try:
            cliques = [
                Clique(
                    tuple(schema.index(name) for name in c["attributes"]),
                    tuple(schema.index(name) for name in c["separator"]),
                    read_weights(c["weights"]),
                )
                for c in document["cliques"]
            ]
            return cls(schema, cliques)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise PrivityError(Catalogue.TAMPERED, what=file, reason=str(error)) from error
