"""Junction trees: chordal graphs, cliques, the running intersection property."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.synthesis.inference.junction_tree import (
    eliminate,
    junction_tree,
    maximal_cliques,
    table_cells,
    triangulate,
)

EXAMPLE = [(1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (4, 6)]
"""Example 1 of Chen et al. (KDD 2015): a cycle 2-3-5-4 with two tails."""

SIZES = [0, 2, 2, 3, 4, 3, 2]


@st.composite
def graphs(draw, most=9):
    nodes = draw(st.integers(1, most))
    pairs = list(combinations(range(nodes), 2))
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return graph, draw(st.lists(st.integers(2, 9), min_size=nodes, max_size=nodes))


def test_the_example_of_the_paper():
    """The chord 3-4 or 2-5 makes it chordal; with these sizes 3-4 costs 24 + 36, 2-5 costs 18 + 24 cells."""
    graph = nx.Graph(EXAMPLE)
    joined = graph.copy()
    joined.add_edge(3, 4)
    assert maximal_cliques(joined) == [(1, 2), (2, 3, 4), (3, 4, 5), (4, 6)]
    tree = junction_tree(maximal_cliques(joined))
    assert tree.cliques == ((1, 2), (2, 3, 4), (3, 4, 5), (4, 6))
    assert tree.separators == ((), (2,), (3, 4), (4,))
    chosen = triangulate(graph, SIZES)
    assert set(chosen.edges) - set(graph.edges) == {(2, 5)}
    assert maximal_cliques(chosen) == [(1, 2), (2, 3, 5), (2, 4, 5), (4, 6)]


@given(graphs())
def test_a_triangulation_is_chordal_and_holds_the_graph(drawn):
    graph, domain = drawn
    chordal = triangulate(graph, domain)
    assert nx.is_chordal(chordal)
    assert set(chordal.nodes) == set(graph.nodes)
    assert all(chordal.has_edge(*edge) for edge in graph.edges)
    minimal = nx.complete_to_chordal_graph(graph)[0]
    cells = [sum(table_cells(c, domain) for c in maximal_cliques(g)) for g in (chordal, minimal)]
    assert cells[0] <= cells[1]


def eliminated(graph, rule):
    """Node elimination by its definition, on sets, and the tables of its cliques."""
    current, filled = graph.copy(), graph.copy()
    while current:
        node = min(current, key=lambda n: (rule(current, n), n))
        new = [p for p in combinations(sorted(current[node]), 2) if not current.has_edge(*p)]
        filled.add_edges_from(new)
        current.add_edges_from(new)
        current.remove_node(node)
    return filled


@given(graphs(), st.integers(2, 9))
def test_elimination_follows_its_definition(drawn, largest):
    graph, domain = drawn

    def added(current, node):
        return sum(not current.has_edge(*pair) for pair in combinations(current[node], 2))

    def cells(current, node):
        return table_cells((node, *current[node]), domain)

    expected = [eliminated(graph, rule) for rule in (added, cells)]
    found = eliminate(graph, domain, lambda _: True)
    assert sorted(found.edges) in [sorted(g.edges) for g in expected]
    price = [sum(table_cells(c, domain) for c in maximal_cliques(g)) for g in (*expected, found)]
    assert price[2] == min(price[:2])
    within = [max(map(len, maximal_cliques(g))) <= largest for g in expected]
    limited = eliminate(graph, domain, lambda clique: len(clique) <= largest)
    assert (limited is not None) == any(within)


@given(graphs())
def test_running_intersection_holds_on_the_path_between_any_two_cliques(drawn):
    graph, domain = drawn
    cliques = maximal_cliques(triangulate(graph, domain))
    tree = junction_tree(cliques)
    assert sorted(tree.cliques) == cliques
    assert {a for clique in cliques for a in clique} == set(graph.nodes)
    links = nx.Graph()
    links.add_nodes_from(range(len(cliques)))
    links.add_edges_from((p, c) for c, p in enumerate(tree.parents) if p is not None)
    assert nx.is_forest(links)
    for i, j in combinations(range(len(cliques)), 2):
        shared = set(tree.cliques[i]) & set(tree.cliques[j])
        if nx.has_path(links, i, j):
            assert all(shared <= set(tree.cliques[k]) for k in nx.shortest_path(links, i, j))
        else:
            assert not shared
    for clique, parent in enumerate(tree.parents):
        assert parent is None or parent < clique
    # Components of the graph and of the tree are the same.
    assert nx.number_connected_components(links) == nx.number_connected_components(graph)


def test_attributes_without_edges_are_cliques_of_their_own():
    graph = nx.Graph()
    graph.add_nodes_from([3, 1])
    assert maximal_cliques(triangulate(graph, [2] * 4)) == [(1,), (3,)]
    assert junction_tree([(1,), (3,)]).separators == ((), ())


def test_cliques_that_close_a_cycle_have_no_tree():
    with pytest.raises(ValueError, match="chordal"):
        junction_tree([(0, 1), (1, 2), (2, 3), (0, 3)])
