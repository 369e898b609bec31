"""JTree and PrivHD: what they cost, which graphs they draw, and what their models say."""

import asyncio
import math
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.methods.clique_merging import random_chordal
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS, privhd
from privity.common.synthesis.algorithms.privhd import bigger_cliques, useful_triangulation
from privity.common.synthesis.inference.junction_tree import (
    is_useful,
    junction_tree,
    maximal_cliques,
    table_cells,
    triangulate,
)
from privity.common.synthesis.learning.dependency_graph import (
    decomposable_edges,
    most_cells,
    most_edges,
    plan_edges,
    select_edges,
    visible_edges,
)
from privity.common.synthesis.learning.parameter_learning import PAIR_SHARE, PARAMETERS, learn_cliques
from privity.common.synthesis.learning.theta_usefulness import TableNoise
from tests.common.synthesis.inference.test_junction_tree import graphs
from tests.harness.long import long_but, thinned
from tests.harness.steps import pure

BOTH = ("jtree", "privhd")


def run(tables, algorithm, epsilon, chosen=None):
    session = InProcessBackend(tables, PureBudget(epsilon)).session()
    return session, asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, chosen or {}))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("parties", "epsilon", "domain", "algorithm"),
    thinned(
        product(
            [1, 3],
            [Fraction(1, 100), Fraction(3, 2), Fraction(100)],
            [[3], [2, 2], [2, 5, 16, 3], [2] * 8],
            BOTH,
        ),
        5,
    ),
)
def test_a_run_costs_epsilon_and_gives_every_attribute(make_table, algorithm, domain, epsilon, parties):
    tables = [make_table(domain, 400, seed) for seed in range(parties)]
    session, model = run(tables, algorithm, epsilon)
    assert max(release.ledger.spent() for release in session.backend.releases) == epsilon
    assert max(map(session.record.epsilon, session.backend.members)) == epsilon
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
    chosen = {"inference": "tables", **chosen}
    session, model = run([make_table([2, 3, 2, 4, 2], 3000)], algorithm, Fraction(2), chosen)
    assert session.backend.releases[0].ledger.spent() == 2
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
    session = InProcessBackend([make_table([3] * 4, 500)], PureBudget(Fraction(1))).session()
    allowed = lambda graph: decomposable_edges(graph, [3] * 4, 9, 2)  # noqa: E731
    edges = asyncio.run(select_edges(session, "draws", session.budget.whole, 6, range(4), allowed))
    assert len(edges) == 3
    assert nx.is_tree(nx.Graph(edges))
    assert session.backend.releases[0].ledger.spent() == 1


@given(st.integers(1, 30), st.integers(2, 9), st.integers(2, 5))
def test_most_edges_are_those_of_a_full_chordal_graph(attributes, clique, size):
    graph = nx.Graph()
    graph.add_nodes_from(range(attributes))
    graph.add_edges_from((a, b) for a, b in combinations(range(attributes), 2) if b - a < clique)
    assert nx.number_of_edges(graph) == most_edges([size] * attributes, 10**9, clique)
    assert nx.number_of_edges(graph) == most_edges([size] * attributes, size**clique, 30)


@given(st.lists(st.integers(2, 9), min_size=1, max_size=9), st.integers(1, 2000), st.integers(2, 6))
def test_most_edges_can_be_drawn(domain, cells, clique):
    """Joined to the smallest attributes before it, each attribute finds a place: all candidates, none left over."""
    by_size = sorted(domain)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(domain)))
    for place in range(1, len(domain)):
        for other in range(place):
            trial = (*range(other + 1), place)
            if len(trial) == 2 or (len(trial) <= clique and table_cells(trial, by_size) <= cells):
                graph.add_edge(other, place)
    assert nx.is_chordal(graph)
    assert nx.number_of_edges(graph) == most_edges(domain, cells, clique)


@given(
    st.lists(st.integers(2, 40), min_size=2, max_size=12),
    st.fractions(Fraction(1, 100), 100),
    st.fractions(Fraction(1, 10), 8),
    st.fractions(Fraction(1, 100), 1),
    st.integers(2, 12),
)
def test_more_epsilon_never_means_fewer_edges(domain, epsilon, theta, strength, largest):
    plans = [plan_edges(domain, TableNoise(5000), pure(e), theta, strength, largest) for e in (epsilon, 3 * epsilon)]
    assert 1 <= plans[0].edges <= plans[1].edges <= math.comb(len(domain), 2)
    assert 0 < plans[0].share <= plans[1].share < 1


def test_the_share_of_the_tables_follows_from_the_edges_that_are_asked_for():
    plans = [
        plan_edges([2] * 50, TableNoise(2000), pure(Fraction(1)), Fraction(2), Fraction(1, 10), 6, edges)
        for edges in (7, 49, 60)
    ]
    assert [plan.edges for plan in plans] == [7, 49, 60]
    assert plans[0].share < plans[1].share == plans[2].share == PAIR_SHARE


@pytest.mark.parametrize("domain", [[5] * 54, [2] * 300, [1000] * 5, [1448] * 4, [600, 600, 600, 2, 2]])
def test_cliques_of_the_most_cells_fit_into_a_round_whatever_the_graph(domain):
    """All wide cliques at the limit, and the heaviest pairs besides."""
    limit = most_cells(domain)
    pairs = sorted((a * b for a, b in combinations(domain, 2)), reverse=True)[: len(domain)]
    assert len(domain) * limit + sum(pairs) <= ROUND_CELLS
    assert 0 < limit <= TABLE_CELLS


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", long_but(["jtree"], BOTH))
def test_a_theta_that_allows_huge_tables_is_held_within_a_round(make_table, algorithm):
    session, model = run(
        [make_table([5] * 12, 500)], algorithm, Fraction(1), {"theta": "1/1000000", "inference": "tables"}
    )
    assert session.backend.releases[0].ledger.spent() == 1
    assert max(clique.weights.size for clique in model.cliques) <= most_cells([5] * 12)


def chain(size, values, rows=3000):
    """Each attribute repeats the one before in nine of ten rows: cells without rows, where noise is cut off."""
    generator = np.random.default_rng(8)
    columns = [generator.integers(0, values, rows)]
    for _ in range(size - 1):
        columns.append(np.where(generator.random(rows) < 0.9, columns[-1], generator.integers(0, values, rows)))
    fields = [{"name": f"a{i}", "type": "integer", "categories": list(range(values))} for i in range(size)]
    return CodedTable(parse_schema({"fields": fields}, "small"), tuple(c.astype(np.uint8) for c in columns))


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_a_clique_has_the_separator_of_the_one_that_it_hangs_from(algorithm, epsilon):
    chosen = {"strength": "1", "largest_clique": 3, "theta": "1/4"}
    _, model = run([chain(7, 3)], algorithm, epsilon, chosen)
    drawn = {}
    for clique in model.cliques:
        shares = clique.weights / clique.weights.sum()
        mine = shares.sum(axis=tuple(i for i, a in enumerate(clique.attributes) if a not in clique.separator))
        for other, table in drawn.items():
            if set(other) >= set(clique.separator):
                theirs = table.sum(axis=tuple(i for i, a in enumerate(other) if a not in clique.separator))
                assert mine == pytest.approx(theirs, abs=1e-6)
        drawn[clique.attributes] = shares
    assert epsilon < 1 or max(len(clique.separator) for clique in model.cliques) > 1


def measured(session):
    """The tables of more than one attribute that a run opened for its parameters."""
    return {
        table.attributes for phase, table in session.record.measured if phase == PARAMETERS and table.counts.ndim > 1
    }


@pytest.mark.parametrize("algorithm", BOTH)
def test_few_tables_get_little(algorithm):
    """At an epsilon of few edges the 1-way tables get more than the others."""
    session, _ = run([chain(12, 4)], algorithm, Fraction(1, 10), {"filter": "never"} if algorithm == "privhd" else {})
    wide, *single = [cost.loss.epsilon for cost in session.record.costs if cost.phase == PARAMETERS]
    plan = plan_edges([4] * 12, TableNoise(3000), pure(wide + sum(single)), Fraction(2), Fraction(1, 10), 10)
    assert plan.edges < 11
    assert wide == plan.share * (wide + sum(single)) < sum(single)


@pytest.mark.statistical
def test_settings_of_jtree_decide_what_is_measured(make_table):
    table = make_table([2] * 9, 20_000)
    few, forest = (measured(run([table], "jtree", Fraction(1), {"edges": edges})[0]) for edges in (3, 8))
    assert sum(len(t) - 1 for t in few) == 3
    assert len(forest) <= 8
    together, apart = (
        run([table], "jtree", Fraction(1), {"edges": 8, "clusters": clusters}) for clusters in ("optimal", "apart")
    )
    assert measured(apart[0]) == {clique.attributes for clique in apart[1].cliques}
    assert len(measured(together[0])) < 8  # pairs are joined into larger tables


def strong_pair():
    """0 and 1 are alike; 2 and 3 tell nothing."""
    generator = np.random.default_rng(3)
    same = generator.integers(0, 2, 30_000)
    columns = (same, same, *generator.integers(0, 2, (2, 30_000)))
    fields = [{"name": name, "type": "integer", "categories": [0, 1]} for name in "abcd"]
    return CodedTable(parse_schema({"fields": fields}, "small"), tuple(c.astype(np.uint8) for c in columns))


def test_the_filter_leaves_strong_pairs_only():
    _, filtered = run([strong_pair()], "privhd", Fraction(2), {"filter": "always", "threshold": "1/10"})
    assert {clique.attributes for clique in filtered.cliques} == {(0, 1), (2,), (3,)}
    session, free = run([strong_pair()], "privhd", Fraction(2), {"filter": "never"})
    assert len({a for clique in free.cliques if len(clique.attributes) > 1 for a in clique.attributes}) > 2
    # By default, where its tables do not drown.
    assert privhd.FILTER in {cost.phase for cost in run([strong_pair()], "privhd", Fraction(2))[0].record.costs}
    assert privhd.FILTER not in {cost.phase for cost in session.record.costs}


def test_what_the_filter_opened_serves_the_parameters(monkeypatch):
    given_over = []

    async def watched(session, tree, measured, opened, *others):
        given_over.extend(opened)
        return await learn_cliques(session, tree, measured, opened, *others)

    monkeypatch.setattr(privhd, "learn_cliques", watched)
    session, _ = run([strong_pair()], "privhd", Fraction(1), {"filter": "always"})
    filtered = [table for phase, table in session.record.measured if phase == privhd.FILTER]
    assert len(filtered) == 6
    for mine, theirs in zip(filtered, given_over, strict=True):
        assert mine.attributes == theirs.attributes
        assert (mine.counts == theirs.counts).all()


def test_an_edge_of_the_strength_asked_for_is_as_strong_as_its_noise():
    """Binary attributes, even margins, V = .2: squared residuals of n V / 4 in four cells; noise of scale 2m/eps."""
    rows, epsilon = 10_000, Fraction(1)
    edges = visible_edges([2] * 300, TableNoise(rows), pure(epsilon), 0.2)
    residual = 4 * (rows * 0.2 / 4) ** 2
    noise = [4 * 2 * (2 * m / float(epsilon)) ** 2 for m in (edges, edges + 1)]
    assert noise[0] <= residual < noise[1]
    assert visible_edges([2] * 9, TableNoise(rows), pure(epsilon), 0.2) == 8
    assert visible_edges([2] * 9, TableNoise(1), pure(epsilon), 0.2) == 1
    assert visible_edges([50] * 300, TableNoise(rows), pure(epsilon), 0.2) < edges


def noise_of_tables(cliques, domain):
    joint = [clique for clique in cliques if len(clique) > 1]
    return len(joint) ** 2 * sum(table_cells(clique, domain) for clique in joint)


@given(graphs(), st.integers(2, 500))
def test_bigger_cliques_are_those_of_a_larger_chordal_graph(drawn, cells):
    graph, domain = drawn
    edges = sorted(map(tuple, map(sorted, graph.edges)))
    chordal = useful_triangulation(sorted(graph), edges, domain, cells, 5)
    assert nx.is_chordal(chordal)
    cliques = maximal_cliques(chordal)
    assert all(len(c) <= 2 or (len(c) <= 5 and table_cells(c, domain) <= cells) for c in cliques)
    # Without limits nothing is left out.
    assert all(useful_triangulation(sorted(graph), edges, domain, 10**9, 9).has_edge(*edge) for edge in edges)
    bigger = bigger_cliques(cliques, domain, cells, 5)
    tree = junction_tree(bigger)
    assert all(any(set(c) <= set(b) for b in tree.cliques) for c in cliques)
    assert noise_of_tables(bigger, domain) <= noise_of_tables(cliques, domain)


@pytest.mark.parametrize(
    ("algorithm", "chosen", "said"),
    [
        ("jtree", {"edges": 0, "largest_clique": 13, "clusters": "odd"}, "3 problems"),
        ("jtree", {"beta": "1", "filter": "never"}, "2 problems"),
        ("privhd", {"filter": "sometimes", "threshold": -0.1}, "2 problems"),
    ],
)
def test_settings_that_cannot_be_are_named_together(people, algorithm, chosen, said):
    with pytest.raises(ProblemsFound) as caught:
        ALGORITHMS[algorithm].check(chosen, people)
    assert len(caught.value.problems) == int(said[0])


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", BOTH)
def test_pairs_that_are_too_large_for_a_selection_are_refused_beforehand(make_table, algorithm):
    with pytest.raises(PrivityError, match="19 pairs of 20 attributes"):
        ALGORITHMS[algorithm].check({}, make_table([1000] * 20, 1).schema)
    with pytest.raises(PrivityError, match="x0, x1"):
        ALGORITHMS[algorithm].check({}, make_table([1100, 1000], 1).schema)


def joined_by_hand(cliques, domain, cells, largest):
    """Every join of neighbours is tried, and what it leaves out is looked for among all."""
    current = sorted(cliques)
    while len(current) > 1:
        tree, joins = junction_tree(current), []
        for child, parent in enumerate(tree.parents):
            if parent is not None:
                joint = tuple(sorted({*tree.cliques[child], *tree.cliques[parent]}))
                if is_useful(joint, domain, cells, largest):
                    joins.append(sorted([*(c for c in current if not set(c) <= set(joint)), joint]))
        best = min(joins, key=lambda some: noise_of_tables(some, domain), default=current)
        if noise_of_tables(best, domain) >= noise_of_tables(current, domain):
            break
        current = best
    return current


@pytest.mark.parametrize("seed", range(20))
def test_joins_are_those_of_trying_all(seed):
    cliques, domain = random_chordal(seed, most=9)
    assert bigger_cliques(cliques, domain, 200, 5) == joined_by_hand(cliques, domain, 200, 5)
