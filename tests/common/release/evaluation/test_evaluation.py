"""The figures of ``privity evaluate`` against references written out, and what it says when it cannot make one."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from privity.common import formats
from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_table
from privity.common.data.schema import parse_schema
from privity.common.release.evaluation import evaluation_document
from privity.common.release.evaluation.classifier_utility import (
    METHODS,
    Task,
    answers,
    majority_error,
    misclassification,
    usual_tasks,
)
from privity.common.release.evaluation.evaluation_document import Question, evaluate_tables
from privity.common.release.evaluation.features import one_hot
from privity.common.release.evaluation.k_marginal import k_marginal_score
from privity.common.release.evaluation.propensity import expected_pmse, pmse, propensity
from privity.common.release.evaluation.reference_tables import independent_columns, resampled
from privity.deploy.evaluation.evaluation_report import evaluation_page

FIELDS = [
    {"name": "age", "type": "integer", "edges": [0, 20, 40, 60, 80]},
    {"name": "ward", "type": "string", "categories": ["north", "south <b>"]},
    {"name": "sick", "type": "boolean"},
    {"name": "pay", "type": "number", "edges": [0, 1, 2, 3], "missingValues": ["NA"]},
]


def table(rows, seed=0, *, absent=False):
    """Rows in which age decides who is sick, and pay is missing for some."""
    schema = parse_schema({"fields": FIELDS, **({"absentRows": True} if absent else {})}, "s")
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 4, rows)
    sick = ((age >= 2) ^ (generator.random(rows) < 0.1)).astype(int)
    return CodedTable(schema, (age, generator.integers(0, 2, rows), sick, generator.integers(0, 4, rows)))


def evaluated(question):
    made = evaluate_tables(question, lambda section: None)
    formats.require(made, "evaluation", "evaluation.json")
    return made


@pytest.fixture(scope="module")
def made():
    real, synthetic = table(600), table(400, 1)
    return evaluated(Question(real, synthetic, tasks=tuple(usual_tasks(real.schema))))


@pytest.mark.process
def test_the_k_marginal_score_is_that_of_all_tables_counted_one_by_one(made):
    real, synthetic = table(600), table(400, 1)
    for entry in made["k_marginal"]:
        scores = []
        for places in combinations(range(4), entry["k"]):
            left, right = (contingency_table(one, places) / one.rows for one in (real, synthetic))
            scores.append(1000 * (1 - np.abs(left - right).sum() / 2))
        assert entry["synthetic"] == pytest.approx(np.mean(scores), rel=1e-5)
    assert [entry["k"] for entry in made["k_marginal"]] == [2, 3]
    assert k_marginal_score([0.25, 0.75]) == 500


@pytest.mark.statistical
def test_distances_stand_between_no_structure_and_mere_sampling(made):
    for entry in made["distances"][1:]:
        assert entry["independent"]["mean"] > entry["synthetic"]["mean"]
        assert entry["independent"]["largest"] > 0.3, "age and sick hang together"
        assert entry["resampled"]["mean"] < 0.1
        worst = [one["distance"] for one in entry["worst"]]
        assert worst == sorted(worst, reverse=True)
        assert worst[0] == entry["synthetic"]["largest"]


@pytest.mark.statistical
def test_the_worst_pair_is_the_one_whose_structure_was_lost():
    real = table(600)
    lost = independent_columns(real, np.random.default_rng(3))
    made = evaluated(Question(real, lost))
    assert made["distances"][0]["synthetic"]["largest"] == 0, "shuffled columns keep their marginals"
    assert made["distances"][1]["worst"][0]["attributes"] == ["age", "sick"]
    assert resampled(real, 250, np.random.default_rng(0)).rows == 250


def test_pmse_of_one_attribute_is_that_of_its_shares():
    """With one attribute the regression gives each category its share of synthetic rows."""
    real, synthetic = table(500), table(300, 1)
    codes = np.concatenate([real.columns[0], synthetic.columns[0]])
    made = np.arange(800) >= 500
    shares = np.array([made[codes == code].mean() for code in codes])
    schema = real.schema.over(["age"])
    assert pmse(one_hot(CodedTable(schema, (codes,)), [0]), made) == pytest.approx(
        np.mean((shares - 3 / 8) ** 2), rel=1e-3
    )


def test_pmse_of_samples_of_the_real_rows_is_what_is_expected_of_a_true_model():
    real, generator = table(800), np.random.default_rng(5)
    made = np.arange(1600) >= 800
    found, expected = [], []
    for _ in range(25):
        sample = resampled(real, 800, generator)
        both = CodedTable(real.schema, tuple(map(np.concatenate, zip(real.columns, sample.columns, strict=True))))
        features = one_hot(both, range(4))
        found.append(pmse(features, made))
        expected.append(expected_pmse(features, made))
    parameters = 1 + 3 + 1 + 1 + 3
    assert expected == [pytest.approx((parameters - 1) * 0.5**3 / 1600)] * 25
    # Chi-squared with 8 degrees: the mean of 25 is known to within a tenth, and three times that is allowed.
    assert np.mean(found) == pytest.approx(expected[0], rel=0.3)


@pytest.mark.statistical
def test_trees_tell_rows_apart_where_only_the_structure_is_lost():
    real = table(2000)
    found = propensity(real, independent_columns(real, np.random.default_rng(0)))
    assert found.pmse < found.expected / 100, "the marginals are the same"
    assert found.auc_logistic < 0.55
    assert found.auc_trees > 0.65
    same = propensity(real, table(2000, 1))
    assert same.auc_trees == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("name", METHODS)
def test_a_classifier_learns_from_a_table_with_structure_and_not_from_one_without(name):
    real, other = table(1500), table(1500, 1)
    task = Task("sick", "sick")
    without = independent_columns(other, np.random.default_rng(0))
    assert misclassification(other, real, task, METHODS[name]) < 0.15
    assert misclassification(without, real, task, METHODS[name]) > 0.35


def test_a_question_without_values_asks_for_all_of_them():
    real = table(100)
    assert set(answers(real, Task("age", "age"))) == {0, 1, 2, 3}
    assert (answers(real, Task("old", "age", ("[40, 60)", "[60, 80]"))) == (real.columns[0] >= 2)).all()
    shares = np.bincount(real.columns[0]) / 100
    assert majority_error(real, Task("age", "age")) == pytest.approx(1 - shares.max())


def test_usual_targets_have_few_categories_and_are_no_bins():
    assert [task.attribute for task in usual_tasks(table(1).schema)] == ["ward", "sick"]
    assert [task.attribute for task in usual_tasks(table(1).schema, ("ward",))] == ["sick"]


def test_the_libraries_scores_of_columns_and_pairs_are_theirs(made):
    pytest.importorskip("sdmetrics")
    real, synthetic = table(600), table(400, 1)
    by_name = {one["attributes"][0]: one for one in made["shapes"]["columns"]["worst"]}
    gaps = [np.cumsum(np.bincount(one.columns[0], minlength=4)) / one.rows for one in (real, synthetic)]
    assert by_name["age"]["metric"] == "KSComplement"
    assert by_name["age"]["score"] == pytest.approx(1 - np.abs(gaps[0] - gaps[1]).max(), rel=1e-5)
    shares = [np.bincount(one.columns[3], minlength=4) / one.rows for one in (real, synthetic)]
    assert by_name["pay"]["metric"] == "TVComplement", "a number that may be missing is a category"
    assert by_name["pay"]["score"] == pytest.approx(1 - np.abs(shares[0] - shares[1]).sum() / 2, rel=1e-5)
    pairs = {tuple(one["attributes"]): one["score"] for one in made["shapes"]["pairs"]["worst"]}
    tables = [contingency_table(one, (0, 3)) / one.rows for one in (real, synthetic)]
    assert pairs["age", "pay"] == pytest.approx(1 - np.abs(tables[0] - tables[1]).sum() / 2, rel=1e-5)


def test_a_column_with_a_single_value_has_no_correlation_and_that_is_said():
    pytest.importorskip("sdmetrics")
    schema = parse_schema({"fields": [FIELDS[0], {"name": "b", "type": "integer", "edges": [0, 1, 2]}]}, "s")
    constant = CodedTable(schema, (np.zeros(30, int), np.arange(30) % 2))
    pairs = evaluated(Question(constant, constant))["shapes"]["pairs"]
    assert (pairs["mean"], pairs["scored"], pairs["of"], pairs["worst"]) == (None, 0, 1, [])


@pytest.mark.statistical
def test_the_same_tables_give_the_same_document(made):
    real, synthetic = table(600), table(400, 1)
    assert evaluated(Question(real, synthetic, tasks=tuple(usual_tasks(real.schema)))) == made


def test_large_tables_are_cut_for_classifiers_and_not_for_distances(monkeypatch):
    monkeypatch.setattr(evaluation_document, "MOST_ROWS", 100)
    real, synthetic = table(600), table(400, 1)
    made = evaluated(Question(real, synthetic, tasks=(Task("sick", "sick"),)))
    assert made["utility"]["trained_on"] == {"real": 100, "synthetic": 100}
    assert made["propensity"]["rows"] == {"real": 100, "synthetic": 100}
    distance = made["distances"][0]["worst"][0]["distance"]
    shares = [np.bincount(one.columns[0], minlength=4) / one.rows for one in (real, synthetic)]
    assert distance >= round(np.abs(shares[0] - shares[1]).sum() / 2, 6)


def test_what_cannot_be_made_is_said_with_a_remedy(monkeypatch):
    monkeypatch.setattr(evaluation_document, "_there", lambda library: False)
    real = table(60)
    made = evaluated(Question(real, table(3, 1), control=table(60, 2), attacks=3))
    left_out = {one["section"]: one for one in made["left_out"]}
    assert set(left_out) == {"shapes", "utility", "propensity", "attacks"}
    assert "privity[evaluation]" in left_out["shapes"]["remedy"]
    assert "anonymeter" in left_out["attacks"]["remedy"]
    without = evaluated(Question(real, table(60, 1)))
    assert "--control" in next(one["remedy"] for one in without["left_out"] if one["section"] == "attacks")
    page = evaluation_page(without)
    assert "without control rows" in page


@pytest.mark.statistical
def test_absent_rows_and_a_single_attribute_are_no_trouble():
    real, synthetic = (table(80, seed, absent=True).with_absent(5) for seed in (0, 1))
    made = evaluated(Question(real, synthetic, tasks=tuple(usual_tasks(real.schema))))
    assert made["rows"]["real"] == 85
    single = real.over(["sick"])
    made = evaluated(Question(single, synthetic.over(["sick"]), tasks=(Task("sick", "sick"),)))
    assert [one["way"] for one in made["distances"]] == [1]
    assert made["k_marginal"] == []
    assert "utility" not in made


@pytest.mark.statistical
def test_parties_have_rows_of_their_own():
    real, synthetic = table(600), table(600, 1)
    parts = tuple((f"party-{k}", real.take(np.arange(600) % 3 == k)) for k in range(3))
    made = evaluated(replace(Question(real, synthetic), parties=parts))
    assert [one["rows"] for one in made["parties"]] == [200, 200, 200]
    assert "One machine saw the rows of all parties" in made["notice"]
    shares = [np.bincount(one.columns[0], minlength=4) / one.rows for one in (parts[1][1], synthetic)]
    assert made["parties"][1]["distances"][0]["largest"] >= round(np.abs(shares[0] - shares[1]).sum() / 2, 6)


def test_the_page_says_at_its_top_that_it_is_not_for_release(made):
    page = evaluation_page(made)
    assert 0 < page.index("NOT FOR RELEASE") < page.index("<h2")
    assert "<script" not in page
    assert "://" not in page
    assert "south <b>" not in page
    assert page.count("<table>") == page.count("<caption>") > 4
    assert page.count("<th>") == 0, "every heading says what it heads"
