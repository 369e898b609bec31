"""OptimalMerging: goldens of the paper, methods against exact enumeration, limits."""

import sys
from itertools import combinations

import pytest

from benchmarks.methods.clique_merging import GOLDENS, random_chordal
from privity.common.errors import PrivityError
from privity.common.synthesis.learning import clique_clusters, optimal_merging
from privity.common.synthesis.learning.clique_clusters import (
    attributes_of,
    check_cliques,
    merge_exactly,
    merge_greedily,
    total_variance,
)
from privity.common.synthesis.learning.optimal_merging import optimal_clusters

EXAMPLE, SIZES = GOLDENS["Example 2"]


def chordal(seed):
    """Of 5 to 9 attributes."""
    return random_chordal(seed, most=9)


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


def moves(found):
    """Every way to move one clique elsewhere."""
    for place, source in enumerate(found):
        rest = [c for k, c in enumerate(found) if k != place]
        for clique in source:
            left = [tuple(c for c in source if c != clique)] if len(source) > 1 else []
            yield [*rest, *left, (clique,)]
            for k in range(len(rest)):
                yield [*rest[:k], (*rest[k], clique), *rest[k + 1 :], *left]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_move_and_merge_are_those_of_brute_force(seed):
    cliques, domain = chordal(seed)
    start = clique_clusters.ordered([(clique,) for clique in cliques])
    for some in (start, clique_clusters.ordered([tuple(cliques[:2]), *((c,) for c in cliques[2:])])):
        least = min((total_variance(move, domain) for move in moves(some)), default=0)
        found = clique_clusters._best_move(some, domain)
        if found is None:
            assert least >= total_variance(some, domain)
        else:
            assert total_variance(found, domain) == least < total_variance(some, domain)
    work = clique_clusters._Merging(list(start), domain)
    current = list(start)
    while len(current) > 1:
        merges = [
            [*(c for k, c in enumerate(current) if k not in (i, j)), current[i] + current[j]]
            for i, j in combinations(range(len(current)), 2)
        ]
        assert work.merge()
        current = list(work.clusters)
        assert work.variance == total_variance(current, domain) == min(total_variance(m, domain) for m in merges)
    assert not work.merge()


@pytest.mark.long
@pytest.mark.statistical
def test_the_relaxed_programme_is_never_worse_than_greedy():
    """A hundred graphs: docs/benchmarks/junction_tree.md."""
    cccp = pytest.importorskip("privity.common.synthesis.learning.merging_by_cccp")
    for seed in range(15):
        cliques, domain = chordal(seed)
        greedy = merge_greedily(cliques, domain)
        found = cccp.merge_by_cccp(cliques, domain, greedy)
        assert sorted(clique for cluster in found for clique in cluster) == cliques
        assert total_variance(found, domain) <= total_variance(greedy, domain)


@pytest.mark.long
@pytest.mark.statistical
def test_the_relaxed_programme_by_itself_leads_to_the_optimum_most_of_the_time():
    """From clusters that were joined for few cells alone, and without the moves that improve a solution."""
    cccp = pytest.importorskip("privity.common.synthesis.learning.merging_by_cccp")
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
    monkeypatch.setitem(sys.modules, "privity.common.synthesis.learning.merging_by_cccp", None)
    assert optimal_clusters(cliques, [2] * 13) == merge_greedily(cliques, [2] * 13)
    assert "cvxpy cannot be imported" in caplog.text
    caplog.clear()
    # Few are enumerated, and for many the programme takes too long: nothing is lost.
    for count in (optimal_merging.EXACT_CLIQUES, optimal_merging.CCCP_CLIQUES + 1):
        optimal_clusters([(a, a + 1) for a in range(count)], [2] * 20)
    assert not caplog.text


def test_clusters_stay_within_the_limits_of_a_table(monkeypatch):
    monkeypatch.setattr(clique_clusters, "TABLE_CELLS", 40)
    for method in (merge_exactly, merge_greedily):
        found = method(EXAMPLE, SIZES)
        assert all(
            len(cluster) == 1 or clique_clusters.table_cells(attributes_of(cluster), SIZES) <= 40 for cluster in found
        )


def test_a_clique_that_no_table_holds_is_named(make_table):
    schema = make_table([300, 300, 300, 2], 1).schema
    with pytest.raises(PrivityError, match="x0, x1, x2") as caught:
        check_cliques([(0, 1, 2), (2, 3)], schema)
    assert "27000000" in caught.value.message.replace(",", "")
    with pytest.raises(PrivityError, match="20 cliques"):
        check_cliques([(a, a + 1) for a in range(20)], make_table([1000] * 21, 1).schema)


def merged_by_hand(cliques, domain):
    """Each time the two clusters whose joint table adds least, by trying all."""
    best = current = [(clique,) for clique in sorted(cliques)]
    while len(current) > 1:
        tried = []
        for i, j in combinations(range(len(current)), 2):
            rest = [c for k, c in enumerate(current) if k not in (i, j)]
            joined = tuple(sorted(current[i] + current[j]))
            tried.append((total_variance([*rest, joined], domain), i, j))
        _, i, j = min(tried)
        joined = tuple(sorted(current[i] + current[j]))
        current = [joined if k == i else c for k, c in enumerate(current) if k != j]
        if total_variance(current, domain) < total_variance(best, domain):
            best = current
    return clique_clusters.ordered(best)


@pytest.mark.parametrize("seed", range(20))
def test_the_greedy_merge_is_that_of_trying_all_two_by_two(seed, monkeypatch):
    monkeypatch.setattr(clique_clusters, "descend", lambda clusters, domain: clusters)
    cliques, domain = chordal(seed)
    assert merge_greedily(cliques, domain) == merged_by_hand(cliques, domain)
