"""The tree of combiners: everybody's blob goes in once, and nobody's load grows with the parties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.protocol.combiner_tree import FAN_IN, CombinerTree, combiners_needed, tree_of


@given(st.integers(1, 2000))
def test_every_leaf_and_node_but_the_root_has_one_parent_that_comes_later(leaves: int) -> None:
    nodes = tree_of(leaves)
    children = [child for part in nodes for child in part]
    assert sorted(children) == list(range(leaves + len(nodes) - 1))
    assert all(child < leaves + node for node, part in enumerate(nodes) for child in part)
    assert all(1 <= len(part) <= FAN_IN for part in nodes)


@given(st.integers(2, 2000))
def test_there_are_members_enough_but_one(parties: int) -> None:
    """The member that operates the curator is no combiner, and one may fail."""
    assert combiners_needed(parties) <= max(1, parties - 2)


@given(st.integers(2, 2000))
def test_runs_of_more_than_8_parties_have_3_combiners_or_more(parties: int) -> None:
    """SECURITY.md, "What is protected"."""
    assert combiners_needed(parties) >= 3 if parties > 8 else combiners_needed(parties) == 1


def test_groups_are_of_like_size() -> None:
    assert tree_of(8) == (tuple(range(8)),)
    assert tree_of(9) == ((0, 1, 2, 3), (4, 5, 6, 7, 8), (9, 10))
    assert [len(part) for part in tree_of(50)] == [7, 7, 7, 7, 7, 7, 8, 7]


@given(st.integers(2, 80), st.data())
def test_blobs_climb_from_every_member_to_the_root(parties: int, data) -> None:
    members = tuple(f"p{k}" for k in range(parties))
    combiners = tuple(data.draw(st.permutations(members))[: combiners_needed(parties)])
    tree = CombinerTree(members, combiners)
    holds = {child: {member} for child, member in enumerate(members)}
    for node in range(len(combiners)):
        for child, sender in zip(tree.children(node), tree.senders(node), strict=True):
            assert tree.parent(child) == node
            assert tree.recipient(child) == combiners[node]
            assert tree.sender(child) == sender
        parts = [holds.pop(child) for child in tree.children(node)]
        assert sum(map(len, parts)) == len(set().union(*parts))
        holds[parties + node] = set().union(*parts)
    assert holds == {parties + tree.root: set(members)}


@pytest.mark.parametrize("combiners", [(), ("a", "b"), ("d",), ("a", "a")])
def test_combiners_are_as_many_different_members_as_there_are_nodes(combiners: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="combiners"):
        CombinerTree(("a", "b", "c"), combiners)
