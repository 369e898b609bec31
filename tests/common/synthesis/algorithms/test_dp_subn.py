"""How DP-SUBN divides epsilon, from public numbers only, and what it asks of a session."""

import asyncio
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.privacy.run_budget import PureBudget
from privity.common.synthesis.algorithms import ALGORITHMS, dp_subn
from privity.common.synthesis.algorithms.dp_subn import Settings, divide
from privity.common.synthesis.learning.network_structure import select_forest
from privity.common.synthesis.learning.parameter_learning import CLEAR, PAIR_SHARE, WIDE_SHARE, clarity
from privity.common.synthesis.learning.theta_usefulness import TableNoise, laplace_scale
from tests.harness.steps import pure

ALWAYS = Settings(frontier="always")
USEFUL = Settings()
EPSILONS = st.fractions(min_value=Fraction(1, 100), max_value=100)
DOMAIN = st.lists(st.integers(2, 40), min_size=2, max_size=12)


def spent(budget):
    """What a party pays that makes draws."""
    parts = [budget.selections, budget.parameters, *([budget.pairs, budget.update] if budget.frontier else [])]
    return sum(part.epsilon for part in parts)


@given(
    EPSILONS,
    st.integers(1, 10**6),
    DOMAIN,
    st.sampled_from([ALWAYS, USEFUL, Settings(initialisation=Fraction(9), parameters=Fraction(1, 10))]),
    st.integers(1, 99),
)
def test_the_phases_that_run_share_epsilon_exactly(epsilon, rows, domain, settings, parties):
    budget = divide(settings, pure(epsilon), TableNoise(rows), domain, parties)
    assert budget.frontier or settings is not ALWAYS
    assert spent(budget) == epsilon
    assert min(part.epsilon for part in (budget.selections, budget.parameters, budget.pairs, budget.update)) > 0
    assert 0 < budget.part < 1
    assert 1 <= budget.degree <= Settings().largest_degree
    assert budget.edges is None or 1 <= budget.edges < len(domain)


def test_few_rows_make_a_forest_without_a_frontier_and_leave_more_to_the_parameters():
    budget = divide(USEFUL, pure(Fraction(2)), TableNoise(45_222), [10] * 15)
    assert not budget.frontier
    assert (budget.degree, budget.edges, budget.part) == (1, None, PAIR_SHARE)
    assert (budget.selections.epsilon, budget.parameters.epsilon) == (Fraction(2, 10), Fraction(18, 10))
    fewer = divide(USEFUL, pure(Fraction(1, 5)), TableNoise(45_222), [10] * 15)
    assert fewer.edges == 4
    assert fewer.part < PAIR_SHARE / 3
    assert fewer.selections.epsilon < Fraction(1, 5) / 10
    assert divide(
        USEFUL, pure(Fraction(1, 5)), TableNoise(45_222), [10] * 15, parties=8
    ).selections == fewer.selections * Fraction(2)
    assert divide(
        USEFUL, pure(Fraction(1, 5)), TableNoise(45_222), [10] * 15, parties=99
    ).selections == fewer.selections * Fraction(3)
    assert divide(USEFUL, pure(Fraction(1, 1000)), TableNoise(45_222), [10] * 15).edges == 1


def test_there_is_no_forest_beside_a_frontier_wider_tables_or_too_many_pairs():
    assert divide(ALWAYS, pure(Fraction(1)), TableNoise(45_222), [10] * 15).edges is None
    assert divide(USEFUL, pure(Fraction(1)), TableNoise(21_574), [2] * 16).edges is None
    assert divide(USEFUL, pure(Fraction(1)), TableNoise(45_222), [1000] * 7).edges is None


@given(EPSILONS, st.integers(1, 10**6), DOMAIN)
def test_clarity_grows_with_epsilon_and_is_whole_where_a_tree_is_useful(epsilon, rows, domain):
    assert (
        0
        < clarity(domain, TableNoise(rows), pure(epsilon))
        <= clarity(domain, TableNoise(rows), pure(2 * epsilon))
        <= 1
    )
    least = CLEAR * laplace_scale(14, pure(PAIR_SHARE)) * 100
    assert clarity([10] * 15, TableNoise(1), pure(least * Fraction(101, 100))) == 1
    assert clarity([10] * 15, TableNoise(1), pure(least / 8)) == Fraction(1, 4)


@pytest.mark.parametrize("edges", [1, 3, 5])
def test_a_forest_has_the_strongest_edges_and_hangs_from_the_first_attribute(make_table, edges):
    table = make_table([3] * 6, 3_000)
    a, b, c = table.columns[:3]
    session = InProcessBackend(
        [type(table)(table.schema, (a, b, c, c, b, c))] * 2, PureBudget(Fraction(1000))
    ).session()
    network = asyncio.run(select_forest(session, "draws", session.budget.whole, edges, range(6), 5))
    assert sum(len(parents) for parents in network.values()) == edges
    assert next(iter(network)) == 5
    assert sorted(network) == list(range(6))
    if edges == 3:
        assert {network[2], network[3]} in ({(5,)}, {(5,), (2,)}, {(5,), (3,)})
        assert network[4] == (1,)
        assert network[0] == network[1] == ()


def test_narrow_tables_make_a_higher_degree_and_leave_more_to_the_selections():
    budget = divide(USEFUL, pure(Fraction(1)), TableNoise(21_574), [2] * 16)
    assert not budget.frontier
    assert (budget.degree, budget.part) == (3, WIDE_SHARE)
    assert (budget.selections.epsilon, budget.parameters.epsilon) == (Fraction(1, 5), Fraction(4, 5))


def test_there_is_a_frontier_from_where_the_tables_of_the_first_phase_are_useful():
    domain = [2] * 16
    # 120 pair tables of 4 cells share a fiftieth of epsilon.
    rows = int(4 * 2 * laplace_scale(120, pure(Fraction(5) / 50)))
    assert divide(USEFUL, pure(Fraction(5)), TableNoise(rows), domain).frontier
    assert not divide(USEFUL, pure(Fraction(5)), TableNoise(rows - 1), domain).frontier
    assert divide(Settings(frontier_theta=Fraction(1, 100)), pure(Fraction(1)), TableNoise(2_000), domain).frontier


def run(make_table, domain, epsilon, rows=400, settings=None, parties=3):
    tables = [make_table(domain, rows, seed) for seed in range(parties)]
    session = InProcessBackend(tables, PureBudget(epsilon)).session()
    # The light fit's model is the network itself.
    model = asyncio.run(
        ALGORITHMS["dp-subn"].learn(session, session.budget.whole, {"inference": "tables", **(settings or {})})
    )
    return session, model


@pytest.mark.parametrize("domain", [[3], [2, 2], [2, 5, 16, 3], [4] * 5])
@pytest.mark.parametrize("settings", [{}, {"frontier": "always"}, {"frontier_theta": "1/1000"}])
def test_a_run_costs_exactly_epsilon_and_gives_every_attribute_a_node(make_table, domain, settings):
    session, model = run(make_table, domain, Fraction(3, 7), settings=settings)
    totals = [release.ledger.spent() for release in session.backend.releases]
    assert max(totals) == Fraction(3, 7)
    assert set(model.parents) == set(range(len(domain)))
    phases = {cost.phase for cost in session.record.costs}
    assert (dp_subn.UPDATE in phases) == (dp_subn.CORRELATIONS in phases) == (settings != {} and len(domain) > 1)


@pytest.mark.parametrize("frontier", ["useful", "always"])
@pytest.mark.parametrize("domain", [[3], [2, 5, 16, 3]])
def test_the_nodes_may_be_bits(make_table, domain, frontier):
    """Few and many rows, so that there are forests and networks of 3-way tables."""
    for rows in (100, 30_000):
        session, model = run(
            make_table, domain, Fraction(2), rows, {"attributes": "binary", "frontier": frontier}, parties=1
        )
        assert session.backend.releases[0].ledger.spent() == 2
        derived = model.schema.derived
        assert sorted(model.parents) == sorted(bit for a in range(len(domain)) for bit in derived.bits(a))


def test_only_codes_in_an_order_are_smoothed(people):
    ordered = people.ordered_codes
    names = {people.names[a]: count for a, count in ordered.items()}
    assert names == {"age": 16, "gain": 3, "weight": 3, "grade": 3}


@pytest.mark.statistical
def test_the_model_of_strong_pairs_is_near_them(make_table):
    table = make_table([4, 4, 4], 30_000)
    column = table.columns[0]
    copied = type(table)(table.schema, (column, column, table.columns[2]))
    session = InProcessBackend([copied, copied], PureBudget(Fraction(2))).session()
    model = asyncio.run(ALGORITHMS["dp-subn"].learn(session, session.budget.whole, {}))
    sample = model.sample(5_000, np.random.default_rng(1))
    assert (sample.columns[0] == sample.columns[1]).mean() > 0.97
