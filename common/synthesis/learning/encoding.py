"""The nodes of a network: attributes of the schema, their generalisations, or the bits of their codes.

Source: PrivBayes (Zhang et al., TODS 2017), section 5.1, the four encodings.
"""

from __future__ import annotations

from collections.abc import Sequence

from privity.common.data.schema import Schema

BITS = ("binary", "gray")
ENCODINGS = ("hierarchical", "vanilla", *BITS)


def nodes_of(schema: Schema, encoding: str) -> list[int]:
    """Attributes of the schema, or all bits (``binary``, ``gray``) of their codes."""
    derived = schema.derived
    spelling = {"binary": derived.bits, "gray": derived.gray}.get(encoding, lambda a: (a,))
    return [node for a in range(len(schema.attributes)) for node in spelling(a)]


def levels_of(schema: Schema, encoding: str) -> dict[int, tuple[int, ...]]:
    """What may stand for each node as a parent, the finest first: its generalisations too if ``hierarchical``."""
    generalised = encoding == "hierarchical"
    return {node: schema.derived.levels(node) if generalised else (node,) for node in nodes_of(schema, encoding)}


def node_of(schema: Schema, nodes: Sequence[int], name: str) -> int:
    """The first of the nodes that stand for the attribute of this name."""
    attribute = schema.index(name)
    return next(node for node in nodes if schema.derived.base[node] == attribute)
