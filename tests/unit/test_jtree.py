"""JTree and PrivHD: what they cost, which graphs they draw, and what their models say."""

import asyncio
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.in_process import InProcessSession
from common.algorithms import ALGORITHMS, dependency_graph, privhd
from common.algorithms.dependency_graph import (
    decomposable_edges,
    draw_edges,
    largest_number_of_edges,
    plan_edges,
    visible_edges,
)
from common.algorithms.junction_tree import junction_tree, maximal_cliques, table_cells, triangulate
from common.algorithms.privhd import bigger_cliques, useful_triangulation
from common.errors import PrivityError, ProblemsFound
from common.evaluation.distance import marginal_distances
from common.schema import parse_schema
from common.table import CodedTable
from tests.unit.test_junction_tree import graphs

BOTH = ("jtree", "privhd")


def run(tables, algorithm, epsilon, chosen=None):
    session = InProcessSession(tables, epsilon)
    return session, asyncio.run(ALGORITHMS[algorithm].learn(session, epsilon, chosen or {}))


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("domain", [[3], [2, 2], [2, 5, 16, 3], [2] * 8])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(3, 2), Fraction(100)])
@pytest.mark.parametrize("parties", [1, 3])
def test_a_run_costs_epsilon_and_gives_every_attribute(make_table, algorithm, domain, epsilon, parties):
    tables = [make_table(domain, 400, seed) for seed in range(parties)]
    session, model = run(tables, algorithm, epsilon)
    assert max(release.ledger.spent() for release in session.releases) == epsilon
    assert sum(cost.epsilon for cost in session.record.costs) == epsilon
    sample = model.sample(70, np.random.default_rng(1))
    assert sample.rows == 70
    assert {a for clique in model.cliques for a in clique.attributes} == set(range(len(domain)))


@pytest.mark.parametrize(
    ("algorithm", "chosen"),
    [
        ("jtree", {"edges": 3}),
        ("jtree", {"edges": 10, "largest_clique": 2}),
        ("jtree", {"strength": "1", "beta": "1/2", "theta": "1/8", "largest_clique": 8}),
        ("jtree", {"clusters": "apart"}),
        ("privhd", {"filter": "always", "filtering": "1/3"}),
        ("privhd", {"filter": "never", "strength": "1/1000"}),
        ("privhd", {"filter": "always", "threshold": "1/2"}),
    ],
)
def test_settings_change_what_is_drawn_but_not_what_it_costs(make_table, algorithm, chosen):
    session, model = run([make_table([2, 3, 2, 4, 2], 3000)], algorithm, Fraction(2), chosen)
    assert session.releases[0].ledger.spent() == 2
    phases = {cost.phase for cost in session.record.costs}
    if algorithm == "privhd":
        assert (privhd.FILTER in phases) == (chosen["filter"] == "always")
    if chosen.get("largest_clique") == 2:
        assert max(len(clique.attributes) for clique in model.cliques) == 2
        assert len([clique for clique in model.cliques if len(clique.attributes) == 2]) == 4


@pytest.mark.parametrize("algorithm", BOTH)
def test_three_attributes_that_only_all_together_tell_stand_in_one_clique(algorithm):
    """Strong pairs, and a third attribute that follows from both: a clique of three keeps it, pairs do not."""
    generator = np.random.default_rng(5)
    a, b = generator.integers(0, 4, 60_000), generator.integers(0, 4, 60_000)
    c = np.minimum(a, b)
    fields = [{"name": name, "type": "integer", "edges": [0, 1, 2, 3, 4]} for name in "abc"]
    table = CodedTable(parse_schema({"fields": fields}, "small"), tuple(x.astype(np.uint8) for x in (a, b, c)))
    _, model = run([table], algorithm, Fraction(8))
    assert [clique.attributes for clique in model.cliques] == [(0, 1, 2)]
    sample = model.sample(60_000, np.random.default_rng(1))
    assert marginal_distances(table, sample, ways=(3,))["tvd3"] < 0.02


@given(graphs(), st.integers(4, 200), st.integers(2, 5))
def test_candidates_within_a_component_are_the_edges_that_leave_the_graph_chordal(drawn, cells, largest):
    graph, domain = drawn
    chordal = triangulate(graph, domain)
    found = decomposable_edges(chordal, domain, cells, largest)
    if nx.is_connected(chordal):
        expected = []
        for pair in combinations(sorted(chordal), 2):
            trial = chordal.copy()
            trial.add_edge(*pair)
            if not chordal.has_edge(*pair) and nx.is_chordal(trial):
                (new,) = (c for c in maximal_cliques(trial) if set(pair) <= set(c))
                if len(new) <= largest and table_cells(new, domain) <= cells:
                    expected.append(pair)
        assert found == expected
    else:
        assert all(not nx.has_path(chordal, *pair) for pair in found)


def test_what_is_drawn_when_nothing_is_allowed_any_more_is_paid_for_and_not_used(make_table):
    session = InProcessSession([make_table([3] * 4, 500)], Fraction(1))
    edges = asyncio.run(
        draw_edges(session, "draws", Fraction(1), 6, range(4), lambda g: decomposable_edges(g, [3] * 4, 9, 2))
    )
    assert len(edges) == 3
    assert nx.is_tree(nx.Graph(edges))
    assert session.releases[0].ledger.spent() == 1


@given(st.integers(1, 30), st.integers(2, 9))
def test_the_largest_number_of_edges_is_that_of_a_full_chordal_graph(attributes, clique):
    graph = nx.Graph()
    graph.add_nodes_from(range(attributes))
    graph.add_edges_from((a, b) for a, b in combinations(range(attributes), 2) if b - a < clique)
    assert nx.number_of_edges(graph) == largest_number_of_edges(attributes, clique)


@given(st.lists(st.integers(2, 40), min_size=2, max_size=12), st.fractions(Fraction(1, 100), 100))
def test_more_epsilon_never_means_fewer_edges(domain, epsilon):
    plans = [plan_edges(domain, 5000, e, Fraction(2), Fraction(1, 10), 6) for e in (epsilon, 3 * epsilon)]
    assert 1 <= plans[0].edges <= plans[1].edges
    assert 0 < plans[0].share <= plans[1].share < 1


def test_an_edge_of_the_strength_asked_for_is_as_strong_as_its_noise():
    """Binary attributes, even margins, V = .2: squared residuals of n V / 4 in four cells; noise of scale 2m/eps."""
    rows, epsilon = 10_000, Fraction(1)
    edges = visible_edges([2] * 9, rows, epsilon, 0.2)
    residual = 4 * (rows * 0.2 / 4) ** 2
    noise = [4 * 2 * (2 * m / float(epsilon)) ** 2 for m in (edges, edges + 1)]
    assert noise[0] <= residual < noise[1]
    assert visible_edges([2] * 9, 1, epsilon, 0.2) == 1
    assert dependency_graph.visible_edges([50] * 9, rows, epsilon, 0.2) < edges


@given(graphs(), st.integers(2, 500))
@settings(max_examples=50)
def test_bigger_cliques_are_those_of_a_larger_chordal_graph(drawn, cells):
    graph, domain = drawn
    chordal = useful_triangulation(sorted(graph), sorted(map(tuple, map(sorted, graph.edges))), domain, cells)
    assert nx.is_chordal(chordal)
    cliques = maximal_cliques(chordal)
    assert all(len(c) <= 2 or table_cells(c, domain) <= cells for c in cliques)
    bigger = bigger_cliques(cliques, domain, cells)
    tree = junction_tree(bigger)
    assert all(any(set(c) <= set(b) for b in tree.cliques) for c in cliques)
    assert privhd._noise(bigger, domain) <= privhd._noise(cliques, domain)


@pytest.mark.parametrize(
    ("algorithm", "chosen", "said"),
    [
        ("jtree", {"edges": 0, "largest_clique": 9, "clusters": "odd"}, "3 problems"),
        ("jtree", {"beta": "1", "filter": "never"}, "2 problems"),
        ("privhd", {"filter": "sometimes", "threshold": 0.1}, "2 problems"),
    ],
)
def test_settings_that_cannot_be_are_named_together(people, algorithm, chosen, said):
    with pytest.raises(ProblemsFound) as caught:
        ALGORITHMS[algorithm].check(chosen, people)
    assert len(caught.value.problems) == int(said[0])


@pytest.mark.parametrize("algorithm", BOTH)
def test_pairs_that_are_too_large_for_a_draw_are_refused_beforehand(make_table, algorithm):
    with pytest.raises(PrivityError, match="190 tables"):
        ALGORITHMS[algorithm].check({}, make_table([1000] * 20, 1).schema)
    with pytest.raises(PrivityError, match="x0, x1"):
        ALGORITHMS[algorithm].check({}, make_table([1100, 1000, 2], 1).schema)
