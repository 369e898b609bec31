"""The pure parts of the sweep over PrivBayes: rivals against brute force, exact sessions, tables."""

import asyncio
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from benchmarks import classifiers
from benchmarks.cache import Cache, Results
from benchmarks.datasets import Dataset
from benchmarks.single_party import baselines, measure, tables
from benchmarks.single_party.__main__ import KINDS, PACKAGE, main, plan_of
from benchmarks.single_party.exact import NO_NOISE, PartlyExactSession
from benchmarks.single_party.points import (
    DEFAULT,
    ERM,
    METHODS,
    ONE_WAY,
    QUICK,
    REAL_ROWS,
    TARGET_DATA,
    Plan,
    Point,
    is_binary,
)
from benchmarks.single_party.series import all_series, marginals
from benchmarks.single_party.text import document
from benchmarks.sweep import command_of, make_parser, read_options
from benchmarks.utility import TASKS
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import load_schema, parse_schema
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.release.evaluation.classifier_utility import Task
from privity.common.synthesis.algorithms import ALGORITHMS

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
        noisy = baselines.BASELINES[name](table, way, SURE)
        for marginal, counts in baselines.exact(table, way).items():
            assert noisy[marginal] == pytest.approx(counts, abs=1e-6)


def test_walsh_coefficients_are_sums_of_signs(binary):
    counts = contingency_tables(binary, [(0, 1, 2)])[0].astype(float)
    found = baselines._walsh(counts)
    for mask in product((0, 1), repeat=3):
        signs = np.prod([(-1.0) ** (m * binary.columns[a].astype(int)) for a, m in enumerate(mask)], axis=0)
        assert found[mask] == pytest.approx(signs.sum())


def test_a_replaced_row_moves_each_coefficient_by_at_most_two(mixed):
    columns = [column.copy() for column in mixed.columns]
    for column, size in zip(columns, mixed.schema.domain, strict=True):
        column[0] = (column[0] + 1) % size
    other = CodedTable(mixed.schema, tuple(columns))
    for marginal in baselines.marginals(mixed, 2):
        one, two = (contingency_tables(t, [marginal])[0].astype(float) for t in (mixed, other))
        pad = [(0, (1 << (n - 1).bit_length()) - n) for n in one.shape]
        assert np.abs(baselines._walsh(np.pad(one - two, pad))).max() <= 2


@pytest.mark.parametrize(("name", "scale"), [("laplace", 2 * 15), ("contingency", 2)])
def test_the_noise_has_the_stated_scale(binary, name, scale):
    """Variance of a cell: 2 b^2 for b large; of a sum over the rest of the domain as many times that."""
    true = baselines.exact(binary, 2)
    errors = []
    for _ in range(60):
        noisy = baselines.BASELINES[name](binary, 2, Fraction(1))
        errors += [float(((noisy[m] - true[m]) ** 2).mean()) for m in true]
    cells = 1 if name == "laplace" else 2**4
    exact_variance = 2 * np.exp(-1 / scale) / (1 - np.exp(-1 / scale)) ** 2
    assert np.mean(errors) == pytest.approx(cells * exact_variance, rel=0.2)


def test_fourier_noise_is_of_all_coefficients(binary):
    """6 + 15 coefficients: scale 42, and a cell is their mean over 4 with three of them noisy."""
    true = baselines.exact(binary, 2)
    noisy = [baselines.fourier(binary, 2, Fraction(1)) for _ in range(300)]
    found = np.mean([float(((n[m] - true[m]) ** 2).mean()) for n in noisy for m in true])
    assert found == pytest.approx(3 * 2 * 42**2 / 16, rel=0.25)


def test_projections_are_marginals(mixed):
    projected = baselines.project(baselines._whole(mixed), mixed.schema.domain, 3)
    assert list(projected) == baselines.marginals(mixed, 3)
    for marginal, counts in baselines.exact(mixed, 3).items():
        assert (projected[marginal] == counts).all()


def test_mwem_comes_near_the_truth_without_noise(mixed):
    true = baselines.exact(mixed, 2)
    blind = baselines.mean_distance(true, baselines.uniform(mixed, 2, SURE))
    few, many = (baselines.mean_distance(true, baselines.mwem(mixed, 2, SURE, rounds=rounds)) for rounds in (1, 20))
    assert many < few < blind
    assert many < 0.01


def test_mwem_rounds_follow_epsilon(mixed, monkeypatch):
    drawn = []
    real = baselines._noise
    monkeypatch.setattr(baselines, "_noise", lambda size, s, e: drawn.append(e) or real(size, s, e))
    baselines.mwem(mixed, 2, Fraction(1, 5))
    assert drawn == [Fraction(1, 40)] * 4


def test_shares_are_distributions():
    assert baselines.shares(np.array([3.0, -1.0, 1.0])) == pytest.approx([0.75, 0, 0.25])
    assert baselines.shares(np.array([-3.0, -1.0])) == pytest.approx([0.5, 0.5])


def test_a_large_domain_is_not_written_down():
    wide = table_of((16,) * 6, 50)
    assert not baselines.holds_all(wide)
    with pytest.raises(ValueError, match="16,777,216 cells"):
        baselines.contingency(wide, 2, Fraction(1))


def test_exact_selections_take_the_largest_score(binary):
    session = PartlyExactSession(binary, Fraction(1, 1000), exact_draws=True, exact_tables=False)
    pairs = [AttributeParentPair(x, (p,)) for x in range(6) for p in range(x)]
    scores = session._pair_scores.of(pairs, "F")
    drawn = asyncio.run(session.selection("draws", 1, Fraction(1, 1000), score="F").select(pairs))
    assert scores[pairs.index(drawn)] == max(scores)


def test_exact_selections_take_the_table_that_is_farthest(binary):
    session = PartlyExactSession(binary, Fraction(1, 1000), exact_draws=True, exact_tables=False)
    expected = ExpectedTables(((0,), (1,), (2,)), np.array([1, 0, 0, 1, 1, 1]), 2, (0, 0, 0))
    counts = [found.ravel() for found in contingency_tables(binary, expected.tables)]
    series = session.selection("draws", 1, Fraction(1, 1000), score=DISTANCE)
    drawn = asyncio.run(series.select_farthest(expected))
    scores = expected.scores(counts, binary.rows)
    assert scores[drawn] == scores.max() > scores.min()


def test_exact_tables_are_the_counts(mixed):
    session = PartlyExactSession(mixed, Fraction(1, 1000), exact_draws=False, exact_tables=True)
    (opened,) = asyncio.run(session.measure("tables", [(2, 0)], Fraction(1, 1000)))
    assert (opened.counts == contingency_tables(mixed, [(2, 0)])[0]).all()
    assert (opened.variance, opened.rows) == (NO_NOISE, 400)


def test_without_exact_answers_the_session_is_noisy(mixed):
    session = PartlyExactSession(mixed, Fraction(1, 1000), exact_draws=False, exact_tables=False)
    (opened,) = asyncio.run(session.measure("tables", [(2, 0)], Fraction(1, 1000)))
    assert opened.variance > 10**6


def test_a_network_of_exact_tables_has_the_exact_marginals(mixed):
    session = PartlyExactSession(mixed, Fraction(1, 10), exact_draws=True, exact_tables=True)
    model = asyncio.run(ALGORITHMS["privbayes"].learn(session, Fraction(1, 10), {"inference": "tables"}))
    for node in model.nodes:
        true = contingency_tables(mixed, [node.pair.marginal])[0]
        assert node.weights / node.weights.sum() == pytest.approx(true / true.sum(), abs=0.01)


def test_information_is_that_of_the_rows(mixed):
    entropy = measure.mutual_information(np.diag([1, 1, 1, 1]))
    assert entropy == pytest.approx(2)
    assert measure.mutual_information(np.ones((3, 4))) == pytest.approx(0)
    joint = contingency_tables(mixed, [(1, 0, 3)])[0].reshape(5, -1)
    network = {0: (), 1: (0, 3), 2: (), 3: ()}
    assert measure.information(mixed, network) == pytest.approx(measure.mutual_information(joint))


def test_huber_slope_is_the_derivative():
    margins = np.linspace(-2, 3, 101)
    step = 1e-6
    above, below = (classifiers.huber(margins + d)[0] for d in (step, -step))
    assert classifiers.huber(margins)[1] == pytest.approx((above - below) / (2 * step), abs=1e-5)


def test_features_have_norm_one(mixed):
    rows = classifiers._features(mixed, Task("t", "a2", (1,), ("a3",))).toarray()
    assert rows.shape == (400, 3 + 5 + 1)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)


def test_private_classifiers_learn_with_much_epsilon():
    generator = np.random.default_rng(1)
    first = generator.integers(2, size=2000).astype(np.uint8)
    other = generator.integers(2, size=2000).astype(np.uint8)
    table = CodedTable(table_of((2, 2, 2), 1).schema, (first, other, first))
    task = Task("t", "a2", (1,))
    assert classifiers.private_erm(table, table, task, 1000.0) == 0
    assert classifiers.majority(table, table, task, SURE) == pytest.approx(min(first.mean(), 1 - first.mean()))


def test_the_perturbation_pays_for_the_curvature():
    c = 1 / (2 * classifiers.HUBER)
    assert classifiers._perturbation(5, 10**6, 1.0, 1e-3)[1] == 0
    extra = classifiers._perturbation(5, 100, 0.01, 1e-3)[1]
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


def test_a_plan_has_what_fits_the_table(binary, mixed):
    plan = Plan()
    of_binary = plan.points("nltcs", binary.schema, list(baselines.BASELINES))
    assert {p.way for p in of_binary if p.kind == "marginals"} == {3, 4}
    assert not [p for p in of_binary if p.method in ("binary-F", "gray-F", "vanilla-R")]
    of_mixed = plan.points(TARGET_DATA, mixed.schema, ["laplace"])
    assert {p.way for p in of_mixed if p.kind == "marginals"} == {2, 3}
    assert of_mixed[Point("whole", TARGET_DATA, DEFAULT, "1")] == plan.target_seeds >= 5
    assert of_mixed[Point("held out", TARGET_DATA, "gray-F", "1.6")] == 1
    assert not [p for p in of_mixed if p.method == "score F"]


def whole(method, epsilon, means, data=TARGET_DATA):
    values = [{"mean2": m, "largest2": 2 * m, "mean3": m, "seconds": 0.1} for m in means]
    return Point("whole", data, method, epsilon), values


def results_of(*found):
    results = Results()
    for point, values in found:
        for seed, value in enumerate(values, start=1):
            results.add(point, seed, value)
    return results


def test_targets_are_told_from_the_means():
    results = results_of(
        whole(DEFAULT, "0.1", [0.11, 0.13]), whole(ONE_WAY, "0.1", [0.11]), whole(DEFAULT, "0.4", [0.07, 0.08])
    )
    rows = [line for line in tables.targets(results) if line.startswith("| 0")]
    assert [row.rsplit("|", 2)[1].strip() for row in rows] == ["**no**, within chance", "yes, within chance", "yes"]
    assert "1-way release: 0.1100" in rows[0]
    assert "| 2 | 0.0750 (0.0700-0.0800) ± 0.0050" in rows[1]
    assert len([line for line in tables.moonshots(results) if line.startswith("| 0")]) == 2


def test_better_rivals_are_named_beyond_chance():
    plan = Plan(epsilons=("0.2", "0.4", "0.8"))
    mine = [(Point("whole", "toy", DEFAULT, e), [{"mean3": 0.2}, {"mean3": 0.22}]) for e in plan.epsilons]
    means = {"0.2": 0.3, "0.4": 0.2, "0.8": 0.1}
    theirs = [(Point("marginals", "toy", "mwem", e, 3), [{"mean": m}, {"mean": m}]) for e, m in means.items()]
    found = marginals("toy", plan, binary=True)[:1]
    row = tables.better_rivals(results_of(*mine, *theirs), found)[-1]
    assert row == "| toy: 3-way marginals | mwem | 0.8: 0.100 < 0.210 |"
    assert tables.better_rivals(results_of(*mine), found) == ["", "Nowhere."]


@pytest.fixture
def files(tmp_path, binary):
    """A binary table with the tasks of nltcs, as files."""
    schema = tmp_path / "nltcs.schema.json"
    names = [task.attribute for task in TASKS["nltcs"]] + ["eating", "dressing"]
    fields = [{"name": name, "type": "integer", "categories": [0, 1]} for name in names]
    schema.write_text(json.dumps({"name": "nltcs", "fields": fields}))
    lines = [",".join(map(str, row)) for row in zip(*binary.columns, strict=True)]
    (tmp_path / "nltcs.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    return tmp_path / "nltcs.csv", schema


def test_the_cache_knows_settings_and_not_their_name(files):
    dataset = Dataset.read(*files)
    beta, theta, default = (Point("held out", "nltcs", m, "0.2") for m in ("beta 0.3", "theta 4", DEFAULT))
    keys = [measure.cache_key(dataset, p, 1) for p in (beta, theta, default)]
    assert keys[0]["method"]["settings"] == {"beta": "0.3"}
    assert len({json.dumps(key, sort_keys=True) for key in keys}) == 3


def test_a_sweep_goes_on_where_it_stopped(files, tmp_path, monkeypatch):
    dataset = Dataset.read(*files)
    point = Point("marginals", "nltcs", "laplace", "0.2", 2)
    said = []

    def run(*, only_cached=False):
        caches = {kind: Cache(tmp_path / "c.jsonl", "code") for kind in KINDS}
        return measure.run_all({"nltcs": dataset}, {point: 2}, caches, said.append, only_cached=only_cached)

    first = run()
    monkeypatch.setattr(measure, "measure", lambda *_: pytest.fail("it was in the cache"))
    assert run().values(point, "mean") == first.values(point, "mean") == run(only_cached=True).values(point, "mean")
    assert "2 / 2 in the cache" in said


def test_the_code_digest_of_rivals_is_not_that_of_models():
    assert measure.digest_of("marginals") == measure.digest_of("classifier") != measure.digest_of("whole")


def test_a_document_of_nothing_says_so(binary, mixed):
    data = {"nltcs": binary, TARGET_DATA: mixed}
    text = document(Results(), data, Plan(), {}, "the command")
    assert "the command" in text
    assert "reproduced" in text
    assert "/" + "work" not in text


def test_every_section_has_its_series(binary, mixed):
    for data, table in (("nltcs", binary), (TARGET_DATA, mixed)):
        found = all_series(data, Plan(), binary=is_binary(table.schema))
        assert ("encodings" in found) == (data == TARGET_DATA)
        for series in (one for several in found.values() for one in several):
            assert all(len(cells) == len(series.x) for cells in series.rows.values())


def test_the_quick_sweep_from_files_to_the_document(files, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    data, schema = files
    monkeypatch.setattr("benchmarks.single_party.__main__.QUICK", Plan(("0.8",), ("0.4",), 1, 2, bits=False))
    arguments = ["--data", str(data), "--schema", str(schema), "--out", str(tmp_path), "--quick"]
    main(arguments)
    text = (tmp_path / "single_party.md").read_text()
    assert str(tmp_path) not in text
    for title in ("## F, R and I", "## Scores", "## Source of error", f"| {REAL_ROWS} |", f"| {ERM} |"):
        assert title in text
    assert "## Not measured" not in text
    for name in ("scores", "parameters", "sources", "marginals", "classifiers"):
        assert (tmp_path / "single_party" / f"{name}_nltcs.svg").exists()


def test_the_command_is_shown_without_folders():
    given = ["--data", "/x/a.csv", "--schema", "/x/a.json", "--out", "/x", "--quick", "--cache", "/x/c"]
    options = read_options(make_parser(PACKAGE, None), given)
    shown = command_of(PACKAGE, options)
    assert shown == "python -m benchmarks.single_party --data a.csv --schema a.json --out docs/benchmarks --quick"
    assert plan_of(options) == QUICK
