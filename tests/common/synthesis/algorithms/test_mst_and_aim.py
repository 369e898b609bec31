"""MST and AIM over one and three parties: structure found, charges, settings, pairs that do not fit a draw."""

from __future__ import annotations

import asyncio
import math
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.session import complete
from privity.common.runs.planned_run import planned_session
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithms import ALGORITHMS, aim, mst
from privity.common.synthesis.inference.fit_choice import PGM
from privity.common.synthesis.learning import budget_split, worst_explained
from privity.common.synthesis.learning.budget_split import tables_for
from privity.common.synthesis.learning.worst_explained import (
    JOINT,
    PARTIES,
    candidate_pairs,
    coarse_pairs,
    most_edges,
    noise_of_selections,
    selection_for,
)
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.rows import InMemory
from tests.harness.consortium import make_schema
from tests.harness.ledgers import declared
from tests.harness.long import long_but, thinned
from tests.harness.steps import pure, share_of

BOTH = ("aim", "mst")
DELTA = Fraction(1, 10**9)
EDGES = {(0, 1), (1, 2), (1, 4)}
"""Of the tree that the rows of ``known`` are drawn from; 3 hangs from nothing."""

DOMAIN = (3, 4, 3, 2, 5)
PHASES = {"aim": aim.ROUNDS, "mst": mst.EDGES}


def known(rows, seed=0, domain=DOMAIN):
    """Rows of a tree: attributes repeat the one before them in eight of ten rows."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, size, rows) for size in domain]
    for parent, child in sorted(EDGES):
        copied = columns[parent] % domain[child]
        columns[child] = np.where(generator.random(rows) < 0.8, copied, columns[child])
    return CodedTable(make_schema(domain), tuple(c.astype(np.uint8) for c in columns))


def run(tables, algorithm, epsilon, chosen=None, delta=Fraction(0)):
    budget = ALGORITHMS[algorithm].budget(chosen or {}, epsilon, delta)
    assert isinstance(budget, RhoBudget) == bool(delta)
    session = InProcessBackend(tables, budget).session()
    return session, asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, chosen or {}))


def chosen_pairs(session, algorithm):
    """Pairs of attributes whose tables were measured once they had been chosen."""
    found = [table.attributes for phase, table in session.record.measured if phase == PHASES[algorithm]]
    return [tuple(sorted(pair)) for pair in found]


def distance(model, table):
    """Mean total variation distance of all pairs, of a sample as large as the table."""
    sample = model.sample(table.rows, np.random.default_rng(1))
    size = len(table.schema.domain)
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    apart = zip(contingency_tables(table, pairs), contingency_tables(sample, pairs), strict=True)
    return np.mean([np.abs(one - other).sum() / 2 / table.rows for one, other in apart])


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_an_owner_alone_finds_the_structure_of_its_rows(algorithm, delta):
    table, epsilon = known(20_000), Fraction(2 if delta else 20)
    ledger = declared()
    releases = ChargedReleases("owner", InMemory(table), Journal(MEMORY), ledger)
    budget = RhoBudget(epsilon, delta) if delta else PureBudget(epsilon)
    session = local_session("r", releases, Allowance(epsilon, delta, budget))
    model = complete(ALGORITHMS[algorithm].learn(session, session.budget.whole, {}))
    assert set(chosen_pairs(session, algorithm)) >= EDGES
    assert distance(model, table) < 0.02
    assert (ledger.spent() <= epsilon) if delta else (ledger.spent() == epsilon)
    assert ledger.spent_delta() == delta


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("delta", "selection", "algorithm"), thinned(product([Fraction(0), DELTA], ["parties", "joint"], BOTH), 3)
)
def test_three_parties_find_the_structure_of_their_rows_and_pay_at_most_what_the_run_costs(algorithm, selection, delta):
    # With a delta, noise has a least width: a larger epsilon would not be spent.
    tables, epsilon = [known(20_000, seed) for seed in range(3)], Fraction(2 if delta else 20)
    session, model = run(tables, algorithm, epsilon, {"selection": selection}, delta)
    assert set(chosen_pairs(session, algorithm)) >= EDGES
    together = CodedTable(
        tables[0].schema, tuple(np.concatenate(parts) for parts in zip(*(t.columns for t in tables), strict=True))
    )
    assert distance(model, together) < 0.03
    for name, release in zip(session.backend.members, session.backend.releases, strict=True):
        assert release.ledger.spent() == session.record.epsilon(name) <= epsilon
        assert release.ledger.spent_delta() == session.record.delta(name) == delta
        # Nothing is left over but what rounding to exact short numbers takes.
        assert session.record.epsilon(name) > epsilon * Fraction(999, 1000)
        if not delta:
            assert release.ledger.spent() == epsilon
    drawn = {cost.phase for cost in session.record.costs if "distance of tables" in cost.mechanism}
    assert len(drawn) == (selection == "parties")


def tenth_of(session):
    return share_of(session, Fraction(1, 10))


def planned(domain, rows=1000, parties=1, delta=Fraction(0)):
    budget = RhoBudget(Fraction(1), delta) if delta else PureBudget(Fraction(1))
    shares = {f"p{k}": rows // parties for k in range(parties)}
    return planned_session(make_schema(domain), shares, min(parties - 1, 1), budget)


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_an_overview_is_asked_where_many_parties_draw_by_few_rows_each(delta):
    """Here only with a delta and two values: of many values, or pure, an overview of so many pairs is drowned."""
    binary, wide = (lambda k, size=size: planned((size,) * 16, 50_000, k, delta) for size in (2, 16))
    for count in (1, 2, 25):
        assert selection_for(wide(count), 20, tenth_of(wide(count))) == PARTIES
    assert selection_for(binary(25), 20, tenth_of(binary(25))) == (JOINT if delta else PARTIES)
    # There is nobody who could be unlike the others.
    assert selection_for(binary(1), 20, tenth_of(binary(1))) == PARTIES
    # The party with nearly all rows makes nearly all draws, and by nearly all rows.
    unequal = {"large": 47_600, **{f"small-{k}": 100 for k in range(24)}}
    budget = RhoBudget(Fraction(1), delta) if delta else PureBudget(Fraction(1))
    session = planned_session(make_schema((2,) * 16), unequal, 1, budget)
    assert selection_for(session, 20, tenth_of(session)) == PARTIES
    noise = [noise_of_selections(binary(count), 50, tenth_of(binary(count))) for count in (2, 5, 10, 25)]
    assert noise == sorted(noise)


@pytest.mark.parametrize(("parties", "delta"), [(1, DELTA), (2, DELTA), (2, Fraction(0))])
def test_mst_asks_several_parties_for_an_overview_where_there_is_a_delta(parties, delta):
    session, _ = run([known(900, seed) for seed in range(parties)], "mst", Fraction(1), delta=delta)
    drawn = any("distance of tables" in cost.mechanism for cost in session.record.costs)
    assert drawn == (parties == 1 or not delta)


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", long_but(["mst"], BOTH))
@pytest.mark.parametrize("chosen", [{}, {"selection": "parties"}, {"selection": "joint"}])
def test_who_chooses_follows_from_public_numbers_unless_it_is_asked_for(algorithm, chosen):
    tables = [known(40, seed, (2,) * 5) for seed in range(20)]
    session, _ = run(tables, algorithm, Fraction(1), chosen, DELTA)
    drawn = any("distance of tables" in cost.mechanism for cost in session.record.costs)
    assert drawn == (chosen.get("selection") == "parties")
    other, _ = run([known(40, seed, (2,) * 5) for seed in range(20, 40)], algorithm, Fraction(1), chosen, DELTA)
    assert [cost.mechanism for cost in other.record.costs] == [cost.mechanism for cost in session.record.costs]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("selection", "domain", "epsilon", "algorithm"),
    thinned(
        product(
            ["parties", "joint"],
            [(3,), (2, 3), (2, 5, 16, 3), (2,) * 8],
            [Fraction(1, 100), Fraction(3, 7), Fraction(50)],
            BOTH,
        ),
        5,
    ),
)
def test_a_run_costs_its_epsilon_and_gives_every_attribute(make_table, algorithm, epsilon, domain, selection):
    tables = [make_table(domain, 300, seed) for seed in range(2)]
    session, model = run(tables, algorithm, epsilon, {"selection": selection})
    assert max(release.ledger.spent() for release in session.backend.releases) == epsilon
    assert {a for clique in model.cliques for a in clique.attributes} == set(range(len(domain)))
    assert model.sample(50, np.random.default_rng(0)).rows == 50
    if len(domain) == 1:
        assert {cost.phase for cost in session.record.costs} == {"one-way tables"}
    if len(domain) == 2:
        assert set(chosen_pairs(session, algorithm)) == {(0, 1)}


@pytest.mark.parametrize("algorithm", BOTH)
def test_a_party_that_makes_no_draw_pays_for_tables_only(algorithm):
    sizes = {"aim": {"tables": 3}, "mst": {"edges": 3}}[algorithm]
    session, _ = run([known(900), known(880, 1), known(20, 2)], algorithm, Fraction(2), sizes)
    draws = [cost for cost in session.record.costs if "distance of tables" in cost.mechanism]
    assert {name for cost in draws for name in cost.payers} == {"party-1", "party-2"}
    spent = [release.ledger.spent() for release in session.backend.releases]
    assert {tuple(spent)} == {(2, 2, 2 - cost.loss.epsilon) for cost in draws}


def test_mst_measures_a_forest_of_as_many_edges_as_it_is_told():
    session, model = run([known(5000)], "mst", Fraction(5), {"edges": 2})
    found = chosen_pairs(session, "mst")
    assert len(found) == 2
    assert nx.is_forest(nx.Graph(found))
    assert set(found) < EDGES
    assert model.alone


@pytest.mark.parametrize("selection", ["parties", "joint"])
@pytest.mark.parametrize("inference", ["tables", PGM])
def test_mst_ends_in_either_fit_and_an_overview_is_part_of_it(selection, inference):
    table = known(20_000, domain=(3, 8, 3, 2, 9))
    session, model = run([table], "mst", Fraction(20), {"selection": selection, "inference": inference})
    assert session.record.inference.method == inference
    assert distance(model, table) < 0.03


@pytest.mark.statistical
def test_aim_makes_as_many_rounds_as_it_is_told_and_its_model_stays_within_its_cells():
    session, model = run([known(5000)], "aim", Fraction(50), {"tables": 9, "cells": 1 << 10})
    assert len(chosen_pairs(session, "aim")) == 9
    used = session.record.inference
    assert (used.method, used.asked) == (PGM, PGM)
    assert used.size.cells == sum(clique.weights.size for clique in model.cliques)
    wide = [known(300, domain=(40, 40, 40, 40, 2))]
    _, narrow = run(wide, "aim", Fraction(500), {"tables": 12, "cells": 1 << 11})
    # A table of one pair may be larger than the bound; three attributes together are not.
    assert sum(clique.weights.size for clique in narrow.cliques) < 40**3


def test_aim_measures_a_pair_again_where_nothing_else_is_left(make_table):
    session, _ = run([make_table((2, 2), 100)], "aim", Fraction(1), {"tables": 4})
    assert chosen_pairs(session, "aim") == [(0, 1)] * 4


@pytest.mark.parametrize("tables", [1, 4, 6])
@pytest.mark.parametrize("parties", [1, 2])
def test_aim_measures_all_pairs_with_a_target_before_it_selects_any(tables, parties):
    owners = [known(900, seed) for seed in range(parties)]
    session, _ = run(owners, "aim", Fraction(3), {"target": "A3", "tables": tables})
    with_target = [table.attributes for phase, table in session.record.measured if phase == aim.DECLARED]
    assert with_target == [(0, 3), (1, 3), (2, 3), (3, 4)]
    assert len(chosen_pairs(session, "aim")) == max(0, tables - 4)
    assert {release.ledger.spent() for release in session.backend.releases} == {3}


@given(tables=st.integers(1, 400), forest=st.integers(1, 120), later=st.integers(1, 12))
def test_rounds_of_aim_measure_all_tables_and_none_more_than_a_forest(tables, forest, later):
    sizes = aim.sizes_of_rounds(tables, forest, later)
    assert sum(sizes) == tables
    assert all(1 <= size <= forest for size in sizes)
    assert sizes[1:] == sorted(sizes[1:], reverse=True)
    assert len(sizes) <= max(1 + later, 1 + -(-tables // forest))


def test_a_round_of_aim_selects_a_forest_first_and_then_tables_without_a_common_attribute():
    session, _ = run([known(20_000, seed) for seed in range(2)], "aim", Fraction(50), {"tables": 9})
    first, *later = aim.sizes_of_rounds(9, 4, aim.LATER_ROUNDS)
    found = chosen_pairs(session, "aim")
    assert nx.is_forest(nx.Graph(found[:first]))
    for size in later:
        now, found = found[first : first + size], found[:first] + found[first + size :]
        assert len({a for pair in now for a in pair}) == 2 * len(now)


@pytest.mark.parametrize(
    ("algorithm", "chosen", "fields"),
    [
        (
            "aim",
            {
                "one_way": "1",
                "selecting": "3/4",
                "tables": 0,
                "cells": 10,
                "selection": "all",
                "target": "nobody",
                "inference": "pgm",
            },
            {"one_way", "selecting", "tables", "cells", "selection", "target", "inference"},
        ),
        (
            "mst",
            {"one_way": 1.5, "selecting": "0", "edges": 7, "selection": "both", "inference": "mbi", "tables": 3},
            {"one_way", "selecting", "edges", "selection", "inference", "tables"},
        ),
    ],
)
def test_settings_that_cannot_be_are_named_together(people, algorithm, chosen, fields):
    with pytest.raises(ProblemsFound) as caught:
        ALGORITHMS[algorithm].check(chosen, people)
    assert {problem.field for problem in caught.value.problems} == fields


@pytest.mark.parametrize("algorithm", BOTH)
def test_pairs_that_no_table_holds_are_refused_beforehand(make_table, algorithm):
    with pytest.raises(PrivityError, match="x0, x1"):
        ALGORITHMS[algorithm].check({}, make_table([1100, 1000], 1).schema)


# More pairs than a draw may have cells for


def test_of_too_many_pairs_the_smallest_are_candidates(monkeypatch):
    session = planned((2, 3, 4, 50))
    everything = candidate_pairs(session)
    assert len(everything) == 6
    # 6, 8 and 12 cells; a pair with the last attribute has 100 or more.
    monkeypatch.setattr(worst_explained, "SELECTION_CELLS", 26)
    assert candidate_pairs(session) == [(0, 1), (0, 2), (1, 2)]
    monkeypatch.setattr(worst_explained, "SELECTION_CELLS", 25)
    assert candidate_pairs(session) == [(0, 1), (0, 2)]


def test_a_pair_that_fills_a_selection_is_a_candidate():
    """The largest table that is counted has as many cells as a draw may have."""
    assert len(candidate_pairs(planned((1024, 1024, 1024)))) == 1


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("selection", ["parties", "joint"])
def test_attributes_in_no_candidate_are_modelled_alone(monkeypatch, algorithm, selection):
    monkeypatch.setattr(worst_explained, "SELECTION_CELLS", 26)
    tables = [known(2000, domain=(2, 3, 4, 2, 50)).over(["A0", "A1", "A2", "A4"])]
    session, model = run(tables, algorithm, Fraction(20), {"selection": selection})
    assert session.backend.releases[0].ledger.spent() == 20
    assert {a for pair in chosen_pairs(session, algorithm) for a in pair} <= {0, 1, 2}
    assert model.alone >= {3}


def test_edges_are_those_of_a_spanning_forest_of_the_candidates():
    assert most_edges([(0, 1), (0, 2), (1, 2)]) == 2
    assert most_edges([(0, 1), (2, 3), (3, 4)]) == 3
    assert most_edges([]) == 0


# Numbers that follow from public ones


def test_more_tables_are_worth_measuring_the_less_noise_there_is():
    session = planned((4,) * 10, rows=20_000)
    assert tables_for(planned((4,) * 10, rows=10), pure(Fraction(1, 1000))) == 1
    counts = [tables_for(session, share_of(session, epsilon)) for epsilon in (Fraction(1, 1000), 1, 10, 1000)]
    assert counts == sorted(counts)
    assert counts[0] <= 2
    assert counts[-1] == 10 * budget_split.PURE.tables.largest


def test_an_overview_is_over_few_groups(people):
    session = planned((2, 3))
    session.schema = people
    derived = people.derived
    pairs = [(0, 1), (2, 5)]
    for pair, table in zip(pairs, coarse_pairs(session, pairs, 4), strict=True):
        assert tuple(derived.base[a] for a in table) == pair
        for a, base in zip(table, pair, strict=True):
            smallest = min(derived.domain[level] for level in derived.levels(base))
            assert derived.domain[a] <= max(4, smallest)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_split_hardly_depends_on_the_number_of_parties(make_table, delta):
    """Of 25 parties no share of Gaussian noise may be too narrow, which matters to a table alone and not to many."""
    budget = RhoBudget(Fraction(2), delta) if delta else PureBudget(Fraction(2))
    sessions = [
        InProcessBackend(
            [make_table([5] * 12, 5000 // k, seed) for seed in range(k)],
            budget,
        ).session()
        for k in (1, 25)
    ]
    one, many = (budget_split.noise_of_table(session, session.budget.whole) for session in sessions)
    assert many == pytest.approx(one * math.sqrt(25 / 24), rel=0.02)
