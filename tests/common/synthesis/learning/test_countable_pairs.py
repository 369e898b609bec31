"""Pairs that are too large are no candidates, by sizes alone; what cannot be joined at all is refused before a run."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from itertools import combinations

import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.errors import PrivityError
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning import dependency_graph
from privity.common.synthesis.learning.countable_pairs import (
    check_all_pairs,
    check_some_pair,
    check_tree,
    largest_pair,
    pairs_within,
    within_a_selection,
)
from tests.harness.consortium import make_schema, make_table

TREES = ("mst", "aim", "jtree", "privhd", "privbayes", "dp-subn", "independent")
TWO_LARGE = (1100, 1000, 2, 3, 2)


def by_hand(domain) -> int:
    """The largest bound under which the heaviest tree there could be fits into half a round, or into one."""
    cells = sorted(a * b for a, b in combinations(domain, 2) if a * b <= TABLE_CELLS)
    for most in (ROUND_CELLS // 2, ROUND_CELLS):
        for bound in sorted(set(cells), reverse=True):
            kept = [size for size in cells if size <= bound]
            if sum(kept[-(len(domain) - 1) :]) <= most:
                return TABLE_CELLS if bound == cells[-1] else bound
    return 0


@pytest.mark.parametrize(
    "domain", [(2, 3), TWO_LARGE, (5000,) * 2 + (7,) * 60, (1000,) * 18, (700, 600) * 9, (90,) * 30, (5000, 100) * 40]
)
def test_the_bound_is_that_of_the_heaviest_tree(domain):
    assert largest_pair(domain) == by_hand(domain)
    kept = pairs_within(domain, largest_pair(domain)).tolist()
    assert kept == [[a, b] for a, b in combinations(range(len(domain)), 2) if domain[a] * domain[b] <= by_hand(domain)]


@pytest.mark.parametrize("algorithm", TREES)
def test_two_large_attributes_are_joined_with_others_and_never_with_each_other(algorithm):
    session = InProcessBackend([make_table(make_schema(TWO_LARGE), 200, seed=1)], PureBudget(Fraction(50))).session()
    asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, {}))
    measured = [set(table.attributes) for _, table in session.record.measured]
    assert len({a for table in measured for a in table}) == len(TWO_LARGE)
    assert not any({0, 1} <= table for table in measured)


@pytest.mark.parametrize("domain", [(3, 4, 5), (700,) * 9, (10, 100, 1000) * 8])
def test_a_selection_is_offered_as_many_of_the_smallest_pairs_as_it_may_count(domain):
    pairs = pairs_within(domain, TABLE_CELLS)
    kept = list(map(tuple, within_a_selection(pairs, domain).tolist()))
    assert sum(domain[a] * domain[b] for a, b in kept) <= ROUND_CELLS
    left_out = [pair for pair in map(tuple, pairs.tolist()) if pair not in kept]
    assert kept == sorted(kept)
    if left_out:
        least = min(domain[a] * domain[b] for a, b in left_out)
        assert all(domain[a] * domain[b] <= least for a, b in kept)
        assert sum(domain[a] * domain[b] for a, b in kept) + least > ROUND_CELLS


@pytest.mark.parametrize("algorithm", ["jtree", "privhd"])
def test_pairs_of_which_not_all_may_be_offered_together_are_no_trouble(algorithm):
    domain = (700,) * 9
    session = InProcessBackend([make_table(make_schema(domain), 200, seed=1)], PureBudget(Fraction(5))).session()
    asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, {}))
    assert session.record.measured


@pytest.mark.parametrize("algorithm", ["jtree", "privhd"])
def test_a_plan_refuses_a_selection_that_a_party_would_refuse(algorithm, monkeypatch):
    session = planned_session(make_schema((700,) * 9), {"a": 9000, "b": 9000}, 1, PureBudget(Fraction(5)))
    monkeypatch.setattr(dependency_graph, "within_a_selection", lambda pairs, domain: pairs)
    with pytest.raises(PrivityError, match="36 tables has 17640000 cells, more than 16777216"):
        rehearse(session, algorithm, {})


@pytest.mark.parametrize(
    "algorithm", [pytest.param(a, marks=pytest.mark.long) if a in {"independent", "privbayes"} else a for a in TREES]
)
def test_a_plan_of_many_attributes_of_which_some_are_large_stays_within_a_round(algorithm):
    schema = make_schema((5000, 5000, *(2 + place % 11 for place in range(40))))
    session = planned_session(schema, {"a": 9000, "b": 9000}, 1, PureBudget(Fraction(20)))
    rehearse(session, algorithm, {})
    for round_ in session.rounds:
        assert round_.query.cells(schema.derived.domain).sum() <= ROUND_CELLS


@pytest.mark.parametrize("algorithm", TREES)
def test_attributes_of_which_no_two_fit_are_refused_with_what_would_do(algorithm):
    with pytest.raises(PrivityError) as refused:
        ALGORITHMS[algorithm].check({}, make_schema((1100, 1050, 1200)))
    assert "A0, A1 has 1155000 cells, more than 1048576" in refused.value.message
    assert "one-way counts no pairs" in refused.value.remedy


def test_what_counts_all_pairs_names_the_largest():
    schema = make_schema(TWO_LARGE)
    check_some_pair(schema)
    check_tree(schema)
    for name in ("copula", "dp-ccbn"):
        with pytest.raises(PrivityError, match="A0, A1 has 1100000 cells"):
            ALGORITHMS[name].check({}, schema)
    with pytest.raises(PrivityError, match="A0, A1 has 1100000 cells"):
        check_all_pairs(schema)


def test_a_tree_of_which_no_bound_leaves_a_pair_is_refused():
    with pytest.raises(PrivityError, match="39 pairs of 40 attributes, the smallest ones, has"):
        check_tree(make_schema((1000,) * 40))
