"""The search frontier: the network plus promising edges, still without a cycle."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.synthesis.learning.search_frontier import build_frontier, impact, sparsity

# Fig. 1 of Su et al. (ICDE 2016): X1 .. X7 are attributes 0 .. 6.
ROWS = ["84", "74 68", "70 42 76", "34 21 47 51", "28 14 57 46 10", "32 56 23 15 18 25"]
INFORMATION = {(i, j + 1): int(v) / 100 for j, row in enumerate(ROWS) for i, v in enumerate(row.split())}
NETWORK = {0: (), 1: (0,), 2: (0,), 3: (2,), 4: (3,), 5: (2,), 6: (1,)}
BINARY = [2] * 7


def graph_of(parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((p, x) for x, ps in parents.items() for p in ps)
    return graph


def test_sparsity_and_impact_of_the_published_example():
    graph = graph_of(NETWORK)
    assert sparsity(graph, NETWORK, 2, 1) == 3
    assert sparsity(graph, NETWORK, 2, 2) == 3
    assert impact(graph, INFORMATION, 1, 2) == pytest.approx(2.83)
    assert impact(graph, INFORMATION, 2, 1) == pytest.approx(1.39)


def test_the_published_example_gives_its_edges_and_those_that_follow():
    # Comparable: X1 -> X4 (.70). Incomparable: X3 -> X2 (.68) by the products above. Then X3 -> X5 (.47);
    # X4 - X6 (.46) is incomparable and X4 is full; X1 -> X7 (.32); X1 -> X6 (.28); all others are full.
    assert build_frontier(NETWORK, INFORMATION, 2, BINARY, 4) == {
        0: (),
        1: (0, 2),
        2: (0,),
        3: (2, 0),
        4: (3, 2),
        5: (2, 0),
        6: (1, 0),
    }


def test_nothing_is_added_at_the_network_s_own_degree():
    chain = {0: (), 1: (0,), 2: (1,)}
    association = {(0, 1): 0.5, (0, 2): 0.4, (1, 2): 0.3}
    assert build_frontier(chain, association, 1, [2, 2, 2], 4) == {0: (), 1: (0,), 2: (1,)}


def test_an_edge_between_comparable_attributes_follows_their_order():
    network = {0: (2,), 1: (), 2: (1,)}  # 1 -> 2 -> 0
    association = {(0, 1): 0.9, (0, 2): 0.1, (1, 2): 0.1}
    assert build_frontier(network, association, 2, [2] * 3, 4) == {0: (2, 1), 1: (), 2: (1,)}


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0)])
def test_an_edge_between_comparable_attributes_needs_room_at_the_child_only(order):
    a, b, c, d, e = order
    network = {a: (), b: (), c: (a, b), d: (c,), e: (d,)}  # c is full at degree 2 and stands above e
    association = dict.fromkeys(combinations(range(5), 2), 0.0)
    association[min(c, e), max(c, e)] = 0.9
    assert build_frontier(network, association, 2, [2] * 5, 4)[e] == (d, c)


def test_an_incomparable_pair_needs_room_on_both_sides():
    network = {0: (), 1: (0,), 2: (), 3: ()}
    association = dict.fromkeys(combinations(range(4), 2), 0.0)
    association[1, 2] = 0.9  # 1 is full at degree 1, and 2 is not comparable with it
    frontier = build_frontier(network, association, 1, [2] * 4, 4)
    assert 2 not in frontier[1]
    assert 1 not in frontier[2]


def test_ties_of_strength_break_by_the_index_of_the_attributes():
    network = {0: (), 1: (), 2: (), 3: ()}
    association = dict.fromkeys(combinations(range(4), 2), 0.5)
    first = build_frontier(network, association, 1, [2] * 4, 4)
    assert first == build_frontier(network, dict(reversed(association.items())), 1, [2] * 4, 4)
    # (0, 1) comes first; its two products are equal, and then the edge leads from the second to the first.
    assert first[0] == (1,)


def test_an_edge_with_too_large_a_table_is_not_added_but_the_network_s_own_stay():
    network = {0: (), 1: (0,), 2: (), 3: ()}
    association = dict.fromkeys(combinations(range(4), 2), 0.5)
    domain = [10, 10, 2, 5]
    frontier = build_frontier(network, association, 3, domain, 20)
    assert frontier[1][0] == 0
    added = {frozenset((x, p)) for x, ps in frontier.items() for p in ps} - {frozenset((0, 1))}
    assert added == {frozenset(p) for p in [(0, 2), (1, 2), (2, 3)]}
    assert build_frontier(network, association, 3, domain, 0) == network


@st.composite
def cases(draw):
    size = draw(st.integers(1, 8))
    order = draw(st.permutations(range(size)))
    most = draw(st.integers(0, 3))
    network = {}
    for place, x in enumerate(order):
        network[x] = tuple(draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=most))) if place else ()
    strength = st.sampled_from([0.0, 0.1, 0.5, -0.2]) | st.floats(-1, 3)
    association = {pair: draw(strength) for pair in combinations(range(size), 2)}
    domain = draw(st.lists(st.integers(2, 30), min_size=size, max_size=size))
    return network, association, draw(st.integers(1, 4)), domain, draw(st.integers(0, 500))


@given(cases())
def test_the_frontier_has_no_cycle_contains_the_network_and_keeps_every_limit(case):
    network, association, degree, domain, largest = case
    frontier = build_frontier(*case)
    graph = graph_of(frontier)
    assert nx.is_directed_acyclic_graph(graph)
    assert set(frontier) == set(graph) == set(network)
    for x, parents in frontier.items():
        assert parents[: len(network[x])] == network[x]
        assert len(set(parents)) == len(parents) <= max(degree, len(network[x]))
        assert all(domain[x] * domain[p] <= largest for p in parents[len(network[x]) :])
    assert set(association) >= {(min(x, p), max(x, p)) for x, ps in frontier.items() for p in ps}


@given(cases())
def test_no_pair_is_left_that_the_rules_would_still_add(case):
    _, association, degree, domain, largest = case
    frontier = build_frontier(*case)
    graph = graph_of(frontier)
    room = {x: len(ps) < degree for x, ps in frontier.items()}
    for x, y in association:
        if domain[x] * domain[y] > largest or graph.has_edge(x, y) or graph.has_edge(y, x):
            continue
        if not nx.has_path(graph, x, y) and not nx.has_path(graph, y, x):
            assert not (room[x] and room[y])


@given(cases(), st.data())
def test_the_order_of_the_dictionaries_does_not_matter(case, data):
    network, association, *rest = case
    mixed = dict(data.draw(st.permutations(list(network.items()))))
    shuffled = dict(data.draw(st.permutations(list(association.items()))))
    assert build_frontier(mixed, shuffled, *rest) == build_frontier(network, association, *rest)


@given(cases())
def test_the_arguments_stay_as_they_were(case):
    network, association = dict(case[0]), dict(case[1])
    build_frontier(*case)
    assert (case[0], case[1]) == (network, association)
