"""OptimalMerging: goldens of the paper, methods against exact enumeration, limits."""

import random
import sys

import networkx as nx
import pytest

from common.algorithms import clusters, optimal_merging
from common.algorithms.clusters import (
    attributes_of,
    check_cliques,
    merge_exactly,
    merge_greedily,
    total_variance,
)
from common.algorithms.junction_tree import maximal_cliques, triangulate
from common.algorithms.optimal_merging import optimal_clusters
from common.errors import PrivityError

EXAMPLE = [(1, 2), (2, 3, 4), (3, 4, 5), (4, 6)]
SIZES = [0, 2, 2, 3, 4, 3, 2]


def chordal(seed):
    """Cliques of a random chordal graph of 5 to 9 attributes, and their sizes."""
    generator = random.Random(seed)
    nodes = generator.randint(5, 9)
    domain = [generator.randint(2, 6) for _ in range(nodes)]
    graph = nx.gnp_random_graph(nodes, 0.3, seed=seed)
    return maximal_cliques(triangulate(graph, domain)), domain


def test_the_example_of_the_paper():
    """Example 2 of Chen et al. (KDD 2015); the paper prints 8960 for the four cliques."""
    apart = [(clique,) for clique in EXAMPLE]
    assert total_variance(apart, SIZES) == 9216
    assert total_variance([tuple(EXAMPLE[:2]), tuple(EXAMPLE[2:])], SIZES) == 7680
    best = merge_exactly(EXAMPLE, SIZES)
    assert total_variance(best, SIZES) == 6656
    assert {attributes_of(cluster) for cluster in best} == {(1, 2, 4, 6), (2, 3, 4, 5)}
    assert merge_greedily(EXAMPLE, SIZES) == best


@pytest.mark.parametrize("seed", range(30))
def test_every_method_puts_each_clique_in_one_cluster_and_exact_is_best(seed):
    cliques, domain = chordal(seed)
    if len(cliques) > 8:
        pytest.skip("too many for all partitions in a quick test")
    found = [merge_exactly(cliques, domain), merge_greedily(cliques, domain)]
    for some in found:
        assert sorted(clique for cluster in some for clique in cluster) == cliques
    exact, greedy = (total_variance(some, domain) for some in found)
    assert exact <= greedy <= total_variance([(c,) for c in cliques], domain)
    assert optimal_clusters(cliques, domain) == found[0]


def test_the_relaxed_programme_is_never_worse_than_greedy():
    """A hundred graphs: benchmarks/junction_tree.py."""
    cccp = pytest.importorskip("common.algorithms.cccp")
    for seed in range(15):
        cliques, domain = chordal(seed)
        greedy = merge_greedily(cliques, domain)
        found = cccp.merge_by_cccp(cliques, domain, greedy)
        assert sorted(clique for cluster in found for clique in cluster) == cliques
        assert total_variance(found, domain) <= total_variance(greedy, domain)


def test_the_relaxed_programme_by_itself_leads_to_the_optimum_most_of_the_time():
    """From clusters that were joined for few cells alone, and without the moves that improve a solution."""
    cccp = pytest.importorskip("common.algorithms.cccp")
    best = tried = 0
    for cliques, domain in [(EXAMPLE, SIZES), *map(chordal, range(14))]:
        if len(cliques) <= 8:
            exact = merge_exactly(cliques, domain)
            start = cccp._resize(tuple((c,) for c in cliques), len(exact), domain)
            programme = cccp._Programme(cliques, domain, len(exact))
            solution = programme.solve(cccp._soften(cccp._memberships(start, cliques)))
            found = total_variance(cccp._round(solution, cliques), domain)
            best += found == total_variance(exact, domain)
            tried += 1
    assert best > 0.7 * tried


def test_without_cvxpy_many_cliques_are_merged_greedily_and_it_is_said(monkeypatch, caplog):
    cliques = [(a, a + 1) for a in range(12)]
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    monkeypatch.setitem(sys.modules, "common.algorithms.cccp", None)
    monkeypatch.setattr(optimal_merging, "has_cccp", lambda: False)
    assert optimal_clusters(cliques, [2] * 13) == merge_greedily(cliques, [2] * 13)
    assert "cvxpy is not installed" in caplog.text
    caplog.clear()
    # Few are enumerated, and for many the programme takes too long: nothing is lost.
    for count in (optimal_merging.EXACT_CLIQUES, optimal_merging.CCCP_CLIQUES + 1):
        optimal_clusters([(a, a + 1) for a in range(count)], [2] * 20)
    assert not caplog.text


def test_clusters_stay_within_the_limits_of_a_table(monkeypatch):
    monkeypatch.setattr(clusters, "TABLE_CELLS", 40)
    for method in (merge_exactly, merge_greedily):
        found = method(EXAMPLE, SIZES)
        assert all(len(cluster) == 1 or clusters.table_cells(attributes_of(cluster), SIZES) <= 40 for cluster in found)


def test_a_clique_that_no_table_holds_is_named(make_table):
    schema = make_table([300, 300, 300, 2], 1).schema
    with pytest.raises(PrivityError, match="x0, x1, x2") as caught:
        check_cliques([(0, 1, 2), (2, 3)], schema)
    assert "27000000" in caught.value.message.replace(",", "")
    with pytest.raises(PrivityError, match="20 cliques"):
        check_cliques([(a, a + 1) for a in range(20)], make_table([1000] * 21, 1).schema)
