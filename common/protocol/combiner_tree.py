"""Who brings the blocks of a round together: a tree of combiners, so that nobody's load grows with the parties.

A combiner opens what at most `FAN_IN` others sealed to it. Its own result goes sealed to the combiner above, that of
the root to the curator. Up to `FAN_IN` parties there is one combiner.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

FAN_IN = 8
"""Most blobs that one combiner opens for one block."""


@lru_cache(maxsize=64)
def tree_of(leaves: int) -> tuple[tuple[int, ...], ...]:
    """The children of each node, the root last: leaves are numbered from 0, nodes go on from there."""
    if leaves < 1:
        raise ValueError("a tree needs a leaf")
    level: list[int] = list(range(leaves))
    nodes: list[tuple[int, ...]] = []
    while len(level) > 1 or not nodes:
        groups = -(-len(level) // FAN_IN)
        # Groups of as equal size as can be.
        cuts = [len(level) * place // groups for place in range(groups + 1)]
        parts = [tuple(level[a:b]) for a, b in pairwise(cuts)]
        level = list(range(leaves + len(nodes), leaves + len(nodes) + groups))
        nodes += parts
    return tuple(nodes)


def combiners_needed(parties: int) -> int:
    """How many combiners a round over so many parties has."""
    return len(tree_of(parties))


@dataclass(frozen=True)
class CombinerTree:
    """The members' tree with a combiner at each node; every one of them has one node at most.

    Attributes:
        members: names of the parties in the plan's order: the leaves.
        combiners: one a node, the root's last.
    """

    members: tuple[str, ...]
    combiners: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.combiners) != combiners_needed(len(self.members)):
            raise ValueError(f"{len(self.members)} parties need {combiners_needed(len(self.members))} combiners")
        if len(set(self.combiners)) != len(self.combiners) or not set(self.combiners) <= set(self.members):
            raise ValueError("combiners must be different members of the run")

    @property
    def root(self) -> int:
        """Number of the root among the nodes."""
        return len(self.combiners) - 1

    def is_leaf(self, child: int) -> bool:
        """Whether a child is a member itself."""
        return child < len(self.members)

    def children(self, node: int) -> tuple[int, ...]:
        """What the node brings together: leaves, or nodes numbered on from the leaves."""
        return tree_of(len(self.members))[node]

    def sender(self, child: int) -> str:
        """Whose blob it is: the member's at a leaf, the combiner's at a node."""
        return (*self.members, *self.combiners)[child]

    def senders(self, node: int) -> tuple[str, ...]:
        """Whose blobs the node's combiner opens, in the order of its children."""
        return tuple(self.sender(child) for child in self.children(node))

    def parent(self, child: int) -> int:
        """The node to which a leaf, or a node that is not the root, sends."""
        return self._parents[child]

    def recipient(self, child: int) -> str:
        """The combiner to which it is sealed."""
        return self.combiners[self.parent(child)]

    @cached_property
    def _parents(self) -> dict[int, int]:
        nodes = enumerate(tree_of(len(self.members)))
        return {child: node for node, children in nodes for child in children}
