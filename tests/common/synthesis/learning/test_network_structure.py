"""What a draw offers: all that may be useful, within the limits of one draw."""

import asyncio
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.step_limits import ROUND_CELLS, TABLE_CELLS
from privity.common.synthesis.learning import network_structure
from privity.common.synthesis.learning.countable_pairs import pairs_fit_one_selection
from privity.common.synthesis.learning.network_structure import (
    Limits,
    select_network,
    useful_candidates,
)

MANY = 120


def native(domain, cells=TABLE_CELLS, degree=3):
    return Limits({a: (a,) for a in range(len(domain))}, cells, degree)


def test_every_attribute_is_offered_with_every_set_of_the_degree_where_that_is_few():
    domain = [2, 3, 4, 5, 6]
    pairs = useful_candidates([4, 0], [1, 2, 3], native(domain, degree=2), domain)
    assert [(pair.attribute, pair.parents) for pair in pairs] == [
        (x, some) for x in (0, 4) for some in combinations((1, 2, 3), 2)
    ]


def test_where_that_is_too_much_the_first_of_the_turn_are_offered():
    domain = [2] * MANY
    placed = list(range(60))
    turn = [*range(90, MANY), *range(60, 90)]
    pairs = useful_candidates(turn, placed, native(domain, degree=2), domain, 50_000)
    offered = {pair.attribute for pair in pairs}
    assert {pair.parents for pair in pairs} == set(combinations(placed, 2))
    assert len(offered) >= network_structure.LEAST_OFFERED
    assert offered == set(turn[: len(offered)]) != set(turn)


def test_where_even_few_attributes_are_too_much_the_sets_are_smaller():
    domain = [2] * MANY
    placed = list(range(100))
    pairs = useful_candidates(range(100, MANY), placed, native(domain), domain, 50_000)
    assert {len(pair.parents) for pair in pairs} == {2}
    assert len(pairs) <= 50_000


@given(st.integers(20, 80), st.integers(1, 1024), st.integers(1, 3), st.sampled_from([0, 40, TABLE_CELLS]))
def test_a_selection_is_within_its_limits_and_offers_somebody(attributes, widest, degree, cells):
    domain = [max(2, widest - 7 * a) for a in range(attributes)]
    placed = range(0, attributes, 2)
    turn = range(1, attributes, 2)
    pairs = useful_candidates(turn, placed, native(domain, cells, degree), domain)
    assert 0 < len(pairs) <= network_structure.MOST_CANDIDATES
    assert pairs.cells(domain) <= ROUND_CELLS


def test_a_very_wide_attribute_is_offered_its_narrow_parents():
    domain = [1000] * 20 + [500] * 20
    pairs = useful_candidates([0], range(1, 40), native(domain), domain)
    assert len(pairs) < 39
    assert {pair.parents for pair in pairs} >= {(p,) for p in range(20, 40)}
    assert not pairs_fit_one_selection(domain)


@pytest.mark.statistical
@pytest.mark.parametrize("domain", [[2] * 40, [9] * 25, pytest.param([1000] * 16, marks=pytest.mark.long)])
def test_a_network_over_many_attributes_places_each_once(make_table, domain, monkeypatch):
    monkeypatch.setattr(network_structure, "MOST_CANDIDATES", 500)
    session = InProcessBackend([make_table(domain, 300)], PureBudget(Fraction(1))).session()
    levels = {a: session.schema.derived.levels(a) for a in range(len(domain))}
    limits = Limits(levels, 64, 2)
    network = asyncio.run(select_network(session, "draws", session.budget.whole, limits, list(levels), 7))
    assert sorted(network) == list(levels)
    assert next(iter(network)) == 7
    assert session.backend.releases[0].ledger.spent() == 1
    placed = set()
    for attribute, parents in network.items():
        assert {session.schema.derived.base[p] for p in parents} <= placed
        placed.add(attribute)
