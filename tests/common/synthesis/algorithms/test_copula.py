"""The copula: the bivariate normal law, races, the model's file, and what is learned from noisy pair tables."""

import asyncio
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.release.shortcomings import notes
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS, copula
from privity.common.synthesis.algorithms.copula import COLUMNS, nearest_correlations
from privity.common.synthesis.learning.bivariate_normal import STRONGEST, correlation_for, orthant
from privity.common.synthesis.models.copula_model import CopulaModel, _log_times, _root_of, columns_of, winners
from privity.common.synthesis.models.load_model import load_model
from tests.common.synthesis.models.test_bayesian_network import schema_of
from tests.harness.long import thinned

NUMBERS = st.floats(-4, 4)


def run(tables, epsilon, chosen=None):
    session = InProcessBackend(tables, PureBudget(epsilon)).session()
    return session, asyncio.run(ALGORITHMS["copula"].learn(session, session.budget.whole, chosen or {}))


def table_of(*columns, sizes):
    fields = [{"name": f"a{i}", "type": "integer", "categories": list(range(size))} for i, size in enumerate(sizes)]
    schema = parse_schema({"fields": fields}, "small")
    return CodedTable(schema, tuple(np.asarray(column).astype(np.uint16 if size > 256 else np.uint8)
                                    for column, size in zip(columns, sizes, strict=True)))  # fmt: skip


@given(NUMBERS, NUMBERS, st.floats(-0.999, 0.999))
def test_the_orthant_is_that_of_the_bivariate_normal(first, second, correlation):
    law = multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    found = orthant(np.array([first]), np.array([second]), np.array([correlation]))
    assert found[0] == pytest.approx(law.cdf([first, second]), abs=1e-9)


@pytest.mark.parametrize("first", [0.0, -0.0, 1e-200, 5e-324, -5e-324, 5.0, -30.0])
@pytest.mark.parametrize("second", [0.0, 5e-324, 2.0, -37.0])
@pytest.mark.parametrize("correlation", [-STRONGEST, 0.0, 0.5, STRONGEST])
def test_the_orthant_is_finite_at_the_edges_and_within_its_bounds(first, second, correlation):
    found = orthant(np.array([first]), np.array([second]), np.array([correlation]))[0]
    assert 0 <= found <= 1
    assert found == pytest.approx(orthant(np.array([second]), np.array([first]), np.array([correlation]))[0], abs=1e-12)


@given(NUMBERS, NUMBERS, st.floats(-0.99, 0.99))
def test_the_correlation_gives_the_probability_back(first, second, correlation):
    h, k = np.array([first]), np.array([second])
    wanted = orthant(h, k, np.array([correlation]))
    assert orthant(h, k, correlation_for(h, k, wanted))[0] == pytest.approx(wanted[0], abs=1e-8)


def test_a_probability_that_no_correlation_gives_leads_to_the_strongest():
    h = np.array([0.5, 0.5])
    assert correlation_for(h, h, np.array([0.0, 1.0])) == pytest.approx([-1, 1], abs=1e-5)


def test_categories_win_in_proportion_to_their_rates():
    rates = np.array([0.1, 0.6, 0.0, 0.3])
    normals = np.random.default_rng(1).standard_normal((4, 200_000)).astype(np.float32)
    shares = np.bincount(winners(normals, rates), minlength=4) / 200_000
    assert shares == pytest.approx(rates, abs=0.005)


@given(st.integers(3, 300), st.integers(1, 50), st.integers(0, 10**6))
def test_the_first_to_win_is_that_of_brute_force(size, rows, seed):
    """Ties, categories that never win and times of all of them infinite too."""
    generator = np.random.default_rng(seed)
    normals = generator.choice(np.array([-40, -1, 0, 1, 40], dtype=np.float32), (size, rows))
    rates = generator.choice([0.0, 0.25, 0.5], size)
    with np.errstate(divide="ignore"):
        times = _log_times(normals) - np.log(rates).astype(np.float32)[:, None]
    assert winners(normals, rates).tolist() == times.argmin(axis=0).tolist()


def test_correlations_without_a_root_are_refused_and_those_of_few_directions_have_few():
    copies = np.kron(np.eye(2), np.ones((3, 3)))
    assert _root_of(copies).shape == (6, 2)
    assert _root_of(copies) @ _root_of(copies).T == pytest.approx(copies)
    apart = np.array([[1, 0.9, 0.9], [0.9, 1, -0.5], [0.9, -0.5, 1]])
    with pytest.raises(ValueError, match="negative eigenvalue"):
        _root_of(apart)


@pytest.mark.parametrize("domain", [(2,), (2, 2), (2, 3, 5)])
def test_an_attribute_of_two_categories_has_one_variable(domain):
    schema = schema_of(*domain)
    columns = sum(map(columns_of, domain))
    assert columns == sum({2: 1}.get(size, size) for size in domain)
    shares = [np.arange(1, size + 1) / sum(range(1, size + 1)) for size in domain]
    model = CopulaModel(schema, shares, np.eye(columns))
    assert model.alone == frozenset(range(len(domain)))
    sample = model.sample(40_000, np.random.default_rng(4))
    for column, share in zip(sample.columns, shares, strict=True):
        assert np.bincount(column, minlength=share.size) / 40_000 == pytest.approx(share, abs=0.02)


def test_one_category_wins_whatever_the_normals():
    extreme = np.array([[np.float32(40), np.float32(-40)], [np.float32(-40), np.float32(-40)]]).T
    assert winners(extreme, np.array([0.5, 0.5])).tolist() == [1, 0]


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_the_nearest_matrix_is_one_of_correlations(size, seed):
    drawn = np.random.default_rng(seed).uniform(-1, 1, (size, size))
    matrix = np.triu(drawn, 1) + np.triu(drawn, 1).T + np.eye(size)
    found = nearest_correlations(matrix)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    assert np.diag(found) == pytest.approx(1)
    fine = 0.5 * np.eye(size) + 0.5
    assert nearest_correlations(fine) == pytest.approx(fine, abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("parties", "epsilon", "domain"),
    thinned(
        product([1, 3], [Fraction(1, 100), Fraction(3, 2), Fraction(100)], [[3], [2, 2], [2, 5, 16, 3], [2] * 8]),
        5,
    ),
)
def test_a_run_costs_epsilon_and_gives_every_attribute(make_table, domain, epsilon, parties):
    session, model = run([make_table(domain, 400, seed) for seed in range(parties)], epsilon)
    assert max(release.ledger.spent() for release in session.backend.releases) == epsilon
    assert sum(cost.loss.epsilon for cost in session.record.costs) == epsilon
    sample = model.sample(70, np.random.default_rng(1))
    assert sample.rows == 70
    assert all(column.min() >= 0 and column.max() < size for column, size in zip(sample.columns, domain, strict=True))


@pytest.mark.statistical
def test_dependent_attributes_come_back_at_a_large_epsilon():
    generator = np.random.default_rng(5)
    a = generator.choice(4, size=40_000, p=[0.4, 0.3, 0.2, 0.1])
    b = np.where(generator.random(40_000) < 0.6, a % 3, generator.integers(0, 3, 40_000))
    c = generator.integers(0, 2, 40_000)
    table = table_of(a, b, c, sizes=(4, 3, 2))
    _, model = run([table], Fraction(1000))
    found = marginal_distances(table, model.sample(40_000, np.random.default_rng(1)), ways=(1, 2))
    assert found["tvd1_max"] < 0.02
    assert found["tvd2_max"] < 0.06
    _, alone = run([table], Fraction(1), {"certainty": "1000"})
    far = marginal_distances(table, alone.sample(40_000, np.random.default_rng(1)), ways=(2,))
    assert far["tvd2_max"] > 0.2


@pytest.mark.statistical
def test_a_pair_that_normal_variables_cannot_show_is_named():
    """Twelve categories that decide each other in a shuffled order."""
    a = np.random.default_rng(7).integers(0, 12, 60_000)
    order = np.random.default_rng(8).permutation(12)
    same, loose = order[a], np.random.default_rng(9).integers(0, 3, 60_000)
    _, model = run([table_of(a, same, loose, sizes=(12, 12, 3))], Fraction(100))
    said = notes(model, joins=True)
    assert model.weakened == ((0, 1),)
    assert any("a0 and a1" in note for note in said)
    assert notes(MODEL, joins=False) == [
        "A copula cannot show all of the dependence that was measured between: x0 and x1."
    ]


def test_without_any_certainty_all_attributes_are_alone(make_table):
    _, model = run([make_table([3, 4, 2], 50)], Fraction(1, 1000))
    assert model.alone == {0, 1, 2}


@pytest.mark.statistical
def test_odd_tables_give_numbers_only():
    """Constant columns, categories that never are, attributes that are equal or opposite."""
    generator = np.random.default_rng(2)
    a = generator.integers(0, 2, 3000)
    table = table_of(a, a, 1 - a, np.zeros(3000, dtype=int), generator.integers(1, 3, 3000), sizes=(2, 2, 2, 3, 5))
    for epsilon in (Fraction(1, 10), Fraction(10_000)):
        _, model = run([table], epsilon)
        assert np.isfinite(model.correlations).all()
        assert all(np.isfinite(rates).all() for rates in model.rates)
    sample = model.sample(3000, np.random.default_rng(1))
    assert (sample.columns[0] == sample.columns[1]).mean() > 0.95
    assert (sample.columns[0] == sample.columns[2]).mean() < 0.05
    assert (sample.columns[3] == 0).mean() > 0.99


def test_too_many_categories_are_refused_beforehand(make_table):
    with pytest.raises(PrivityError, match="attributes together"):
        ALGORITHMS["copula"].check({}, make_table([1000] * 5, 1).schema)
    assert COLUMNS < 5000
    with pytest.raises(ProblemsFound, match="certainty"):
        ALGORITHMS["copula"].check({"certainty": -2, "one_way": "1"}, make_table([2, 2], 1).schema)


SCHEMA = schema_of(2, 3)
MODEL = CopulaModel(SCHEMA, [np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])], 0.8 * np.eye(4) + 0.2, [(0, 1)])


def test_a_copula_comes_back_from_its_file():
    read = load_model(json.loads(json.dumps(MODEL.to_dict())), SCHEMA, "model.json")
    assert read.to_dict() == MODEL.to_dict()
    one, two = (some.sample(1000, np.random.default_rng(9)) for some in (MODEL, read))
    assert all((a == b).all() for a, b in zip(one.columns, two.columns, strict=True))


def changed(**keys):
    return {**json.loads(json.dumps(MODEL.to_dict())), **keys}


@pytest.mark.parametrize(
    "document",
    [
        changed(correlations=[[], [0.1], [0.1, 0.1]]),
        changed(correlations=[[], [0.1], [0.1, 0.1], [0.1]]),
        changed(correlations=[[], [-1], [-1, -1], [-1, -1, -1]]),
        changed(attributes=[{"attribute": "x1", "rates": [1, 1, 1]}, {"attribute": "x0", "rates": [1, 1]}]),
        changed(attributes=[{"attribute": "x0", "rates": [0, 0]}, {"attribute": "x1", "rates": [1, 1, 1]}]),
        changed(attributes=[{"attribute": "x0", "rates": [1, 1, 1]}, {"attribute": "x1", "rates": [1, 1, 1]}]),
        changed(attributes=[{"attribute": "x0", "rates": [1, 1]}]),
        changed(weakened=[["x1", "x0"]]),
        changed(weakened=[["x0", "height"]]),
    ],
)
def test_a_document_that_is_no_copula_is_refused_as_tampered(document):
    with pytest.raises(PrivityError, match=r"model\.json") as caught:
        load_model(document, SCHEMA, "model.json")
    assert caught.value.code == "tampered"


@pytest.mark.parametrize("document", [changed(correlations=[[], [2]]), changed(attributes=[]), changed(nodes=[])])
def test_faults_of_the_format_are_named(document):
    with pytest.raises(ProblemsFound):
        load_model(document, SCHEMA, "model.json")


@pytest.mark.long
def test_many_categories_that_decide_each_other_give_numbers_and_a_note():
    """1,201 categories over 9 attributes, most of which follow one of them: the kind of the paper's hospital table."""
    sizes = [400, 300, 200, 100, 100, 50, 40, 8, 3]
    assert sum(sizes) == 1201
    generator = np.random.default_rng(1)
    base = generator.zipf(1.3, 4000) % 400
    session, model = run([table_of(*(base % size for size in sizes), sizes=sizes)], Fraction(5))
    assert np.isfinite(model.correlations).all()
    assert all(np.isfinite(rates).all() and rates.sum() > 0 for rates in model.rates)
    assert "A copula cannot show all of the dependence" in notes(model, joins=True)[0]
    sample = model.sample(500, generator)
    assert all(column.max() < size for column, size in zip(sample.columns, sizes, strict=True))
    assert session.backend.releases[0].ledger.spent() == 5


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [PureBudget(Fraction(1)), RhoBudget(Fraction(1), Fraction(1, 10**9))])
@pytest.mark.parametrize("attributes", [3, 8, 20])
def test_the_one_way_tables_have_about_their_share(attributes, budget):
    """A table has a part of epsilon that goes with 1/b of its noise, and of rho with 1/sigma^2: with 1/scale both."""
    session = rehearse(planned_session(schema_of(*[2] * attributes), {"owner": 10**6}, 0, budget), "copula", {})
    parts = dict.fromkeys((1, 2), 0.0)
    for _, table in session.record.measured:
        parts[len(table.attributes)] += float(1 / table.law.scale)
    assert parts[1] / (parts[1] + parts[2]) == pytest.approx(0.3, abs=0.02)


def test_the_share_of_the_one_way_tables_may_be_nothing(make_table):
    table = make_table([2, 3, 4], 2000)
    for one_way, singles in (("0", 0), ("1/10", 3)):
        session, model = run([table], Fraction(1), {"one_way": one_way})
        measured = [table for _, table in session.record.measured]
        assert len([t for t in measured if len(t.attributes) == 1]) == singles
        assert len(session.record.tables) == 1  # one secure round
        assert session.backend.releases[0].ledger.spent() == 1
        assert len(model.rates) == 3


def test_what_is_promised_of_memory_grows_with_pairs_and_the_largest_table(make_table):
    memory = ALGORITHMS["copula"].memory
    few, many, large = (make_table(domain, 1).schema for domain in ([2] * 10, [2] * 300, [1000, 1000]))
    assert memory(few) < memory(many)
    assert memory(large) > 16 * 10**6


def test_blocks_of_correlations_are_looked_at_one_by_one():
    """What depends on nothing is not part of a large matrix."""
    block = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    matrix = np.eye(8)
    places = [1, 4, 6]
    matrix[np.ix_(places, places)] = block
    found = nearest_correlations(matrix)
    assert found[np.ix_(places, places)] == pytest.approx(nearest_correlations(block), abs=1e-9)
    others = [0, 2, 3, 5, 7]
    assert (found[np.ix_(others, others)] == np.eye(5)).all()
    assert (found[np.ix_(places, others)] == 0).all()


def test_a_large_matrix_takes_fewer_steps(monkeypatch):
    steps = []
    from statsmodels.stats import correlation_tools

    real = correlation_tools.corr_nearest
    monkeypatch.setattr(correlation_tools, "corr_nearest", lambda m, **of: steps.append(of["n_fact"]) or real(m, **of))
    block = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    nearest_correlations(block)
    monkeypatch.setattr(copula, "PROJECTION_WORK", 27)
    nearest_correlations(block)
    assert [int(3 * n) for n in steps] == [copula.PROJECTIONS, copula.LEAST_PROJECTIONS]
