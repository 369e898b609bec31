"""Parts of the experiments on PrivBayes: rivals against brute force, and sessions without noise."""

import asyncio
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from benchmarks.experiments import single_party
from benchmarks.experiments.single_party import METHODS
from benchmarks.methods import marginal_baselines, private_classifiers
from benchmarks.methods.classification_tasks import TASKS
from benchmarks.methods.learning import learn
from benchmarks.methods.partly_exact_session import NO_NOISE, partly_exact_session
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import load_schema, parse_schema
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.release.evaluation.classifier_utility import Task
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.answers_from_rows import PairScores
from privity.party.sources.rows import InMemory
from tests.harness.steps import pure

SURE = Fraction(10**9)  # an epsilon so large that noise is 0


def table_of(sizes, rows, seed=1):
    """Random rows; each attribute repeats the one before half of the time."""
    generator = np.random.default_rng(seed)
    columns = []
    for size in sizes:
        column = generator.integers(size, size=rows)
        if columns:
            column = np.where(generator.random(rows) < 0.5, columns[-1] % size, column)
        columns.append(column.astype(np.uint8))
    fields = [{"name": f"a{i}", "type": "integer", "categories": list(range(size))} for i, size in enumerate(sizes)]
    return CodedTable(parse_schema({"name": "toy", "fields": fields}, "toy.json"), tuple(columns))


@pytest.fixture
def binary():
    return table_of((2,) * 6, 500)


@pytest.fixture
def mixed():
    """Sizes that are not powers of 2, so codes of bits that decode to nothing exist."""
    return table_of((3, 5, 2, 4), 400)


@pytest.mark.parametrize("name", ["laplace", "fourier", "contingency"])
@pytest.mark.parametrize("way", [2, 3])
def test_rivals_are_exact_without_noise(binary, mixed, name, way):
    for table in (binary, mixed):
        noisy = marginal_baselines.BASELINES[name](table, way, SURE)
        for marginal, counts in marginal_baselines.exact(table, way).items():
            assert noisy[marginal] == pytest.approx(counts, abs=1e-6)


def test_walsh_coefficients_are_sums_of_signs(binary):
    counts = contingency_tables(binary, [(0, 1, 2)])[0].astype(float)
    found = marginal_baselines._walsh(counts)
    for mask in product((0, 1), repeat=3):
        signs = np.prod([(-1.0) ** (m * binary.columns[a].astype(int)) for a, m in enumerate(mask)], axis=0)
        assert found[mask] == pytest.approx(signs.sum())


def test_a_replaced_row_moves_each_coefficient_by_at_most_two(mixed):
    columns = [column.copy() for column in mixed.columns]
    for column, size in zip(columns, mixed.schema.domain, strict=True):
        column[0] = (column[0] + 1) % size
    other = CodedTable(mixed.schema, tuple(columns))
    for marginal in marginal_baselines.marginals(mixed, 2):
        one, two = (contingency_tables(t, [marginal])[0].astype(float) for t in (mixed, other))
        pad = [(0, (1 << (n - 1).bit_length()) - n) for n in one.shape]
        assert np.abs(marginal_baselines._walsh(np.pad(one - two, pad))).max() <= 2


@pytest.mark.parametrize(("name", "scale"), [("laplace", 2 * 15), ("contingency", 2)])
def test_the_noise_has_the_stated_scale(binary, name, scale):
    """Variance of a cell: 2 b^2 for b large; of a sum over the rest of the domain as many times that."""
    true = marginal_baselines.exact(binary, 2)
    errors = []
    for _ in range(60):
        noisy = marginal_baselines.BASELINES[name](binary, 2, Fraction(1))
        errors += [float(((noisy[m] - true[m]) ** 2).mean()) for m in true]
    cells = 1 if name == "laplace" else 2**4
    exact_variance = 2 * np.exp(-1 / scale) / (1 - np.exp(-1 / scale)) ** 2
    # Cells of one table share noise: the mean of 60 tables varies by 8 %.
    assert np.mean(errors) == pytest.approx(cells * exact_variance, rel=0.35)


@pytest.mark.long
@pytest.mark.statistical
def test_fourier_noise_is_of_all_coefficients(binary):
    """6 + 15 coefficients: scale 42, and a cell is their mean over 4 with three of them noisy."""
    true = marginal_baselines.exact(binary, 2)
    noisy = [marginal_baselines.fourier(binary, 2, Fraction(1)) for _ in range(300)]
    found = np.mean([float(((n[m] - true[m]) ** 2).mean()) for n in noisy for m in true])
    assert found == pytest.approx(3 * 2 * 42**2 / 16, rel=0.25)


def test_projections_are_marginals(mixed):
    projected = marginal_baselines.project(marginal_baselines._whole(mixed), mixed.schema.domain, 3)
    assert list(projected) == marginal_baselines.marginals(mixed, 3)
    for marginal, counts in marginal_baselines.exact(mixed, 3).items():
        assert (projected[marginal] == counts).all()


def test_mwem_comes_near_the_truth_without_noise(mixed):
    true = marginal_baselines.exact(mixed, 2)
    blind = marginal_baselines.mean_distance(true, marginal_baselines.uniform(mixed, 2, SURE))
    few, many = (
        marginal_baselines.mean_distance(true, marginal_baselines.mwem(mixed, 2, SURE, rounds=rounds))
        for rounds in (1, 20)
    )
    assert many < few < blind
    assert many < 0.01


def test_mwem_rounds_follow_epsilon(mixed, monkeypatch):
    drawn = []
    real = marginal_baselines._noise
    monkeypatch.setattr(marginal_baselines, "_noise", lambda size, s, e: drawn.append(e) or real(size, s, e))
    marginal_baselines.mwem(mixed, 2, Fraction(1, 5))
    assert drawn == [Fraction(1, 40)] * 4


def test_shares_are_distributions():
    assert marginal_baselines.shares(np.array([3.0, -1.0, 1.0])) == pytest.approx([0.75, 0, 0.25])
    assert marginal_baselines.shares(np.array([-3.0, -1.0])) == pytest.approx([0.5, 0.5])


def test_a_large_domain_is_not_written_down():
    wide = table_of((16,) * 6, 50)
    assert not marginal_baselines.holds_all(wide)
    with pytest.raises(ValueError, match="16,777,216 cells"):
        marginal_baselines.contingency(wide, 2, Fraction(1))


def test_exact_selections_take_the_largest_score(binary):
    session = partly_exact_session(binary, Fraction(1, 1000), exact_draws=True, exact_tables=False)
    pairs = [AttributeParentPair(x, (p,)) for x in range(6) for p in range(x)]
    scores = PairScores(InMemory(binary)).of(pairs, "F")
    drawn = asyncio.run(session.selection("draws", 1, pure(Fraction(1, 1000)), score="F").select(pairs))
    assert scores[pairs.index(drawn)] == max(scores)


def test_exact_selections_take_the_table_that_is_farthest(binary):
    session = partly_exact_session(binary, Fraction(1, 1000), exact_draws=True, exact_tables=False)
    expected = ExpectedTables(((0,), (1,), (2,)), np.array([1, 0, 0, 1, 1, 1]), 2, (0, 0, 0))
    counts = [found.ravel() for found in contingency_tables(binary, expected.tables)]
    series = session.selection("draws", 1, pure(Fraction(1, 1000)), score=DISTANCE)
    drawn = asyncio.run(series.select_farthest(expected))
    scores = expected.scores(counts, binary.rows)
    assert scores[drawn] == scores.max() > scores.min()


def test_exact_tables_are_the_counts(mixed):
    session = partly_exact_session(mixed, Fraction(1, 1000), exact_draws=False, exact_tables=True)
    (opened,) = asyncio.run(session.measure("tables", [(2, 0)], pure(Fraction(1, 1000))))
    assert (opened.counts == contingency_tables(mixed, [(2, 0)])[0]).all()
    assert (opened.variance, opened.rows) == (NO_NOISE, 400)


def test_without_exact_answers_the_session_is_noisy(mixed):
    session = partly_exact_session(mixed, Fraction(1, 1000), exact_draws=False, exact_tables=False)
    (opened,) = asyncio.run(session.measure("tables", [(2, 0)], pure(Fraction(1, 1000))))
    assert opened.variance > 10**6


def test_a_network_of_exact_tables_has_the_exact_marginals(mixed):
    session = partly_exact_session(mixed, Fraction(1, 10), exact_draws=True, exact_tables=True)
    model = learn(session, "privbayes", {"inference": "tables"})
    for node in model.nodes:
        true = contingency_tables(mixed, [node.pair.marginal])[0]
        assert node.weights / node.weights.sum() == pytest.approx(true / true.sum(), abs=0.01)


def test_information_is_that_of_the_rows(mixed):
    entropy = single_party.mutual_information(np.diag([1, 1, 1, 1]))
    assert entropy == pytest.approx(2)
    assert single_party.mutual_information(np.ones((3, 4))) == pytest.approx(0)
    joint = contingency_tables(mixed, [(1, 0, 3)])[0].reshape(5, -1)
    network = {0: (), 1: (0, 3), 2: (), 3: ()}
    assert single_party.information(mixed, network) == pytest.approx(single_party.mutual_information(joint))


def test_huber_slope_is_the_derivative():
    margins = np.linspace(-2, 3, 101)
    step = 1e-6
    above, below = (private_classifiers.huber(margins + d)[0] for d in (step, -step))
    assert private_classifiers.huber(margins)[1] == pytest.approx((above - below) / (2 * step), abs=1e-5)


def test_features_have_norm_one(mixed):
    rows = private_classifiers._features(mixed, Task("t", "a2", (1,), ("a3",))).toarray()
    assert rows.shape == (400, 3 + 5 + 1)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)


def test_private_classifiers_learn_with_much_epsilon():
    generator = np.random.default_rng(1)
    first = generator.integers(2, size=2000).astype(np.uint8)
    other = generator.integers(2, size=2000).astype(np.uint8)
    table = CodedTable(table_of((2, 2, 2), 1).schema, (first, other, first))
    task = Task("t", "a2", (1,))
    assert private_classifiers.private_erm(table, table, task, 1000.0) == 0
    assert private_classifiers.majority(table, table, task, SURE) == pytest.approx(min(first.mean(), 1 - first.mean()))


def test_the_perturbation_pays_for_the_curvature():
    c = 1 / (2 * private_classifiers.HUBER)
    assert private_classifiers._perturbation(5, 10**6, 1.0, 1e-3)[1] == 0
    extra = private_classifiers._perturbation(5, 100, 0.01, 1e-3)[1]
    assert extra == pytest.approx(c / (100 * np.expm1(0.0025)) - 1e-3)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_name_what_the_tables_have(shared_data, name):
    schema = load_schema(shared_data / f"{name}.schema.json")
    assert len(TASKS[name]) == 4
    for task in TASKS[name]:
        assert set(task.positive) <= set(schema.attributes[schema.index(task.attribute)].categories)
        assert set(task.dropped) < set(schema.names)


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if "score" not in m.settings or "F" not in n])
def test_methods_are_of_the_registry(mixed, name):
    method = METHODS[name]
    settings = {k: v for k, v in method.settings.items() if (k, v) != ("score", "F")}
    ALGORITHMS[method.algorithm].check(settings, mixed.schema)
