"""The whole evaluation: models, verdicts in words, the document and the page."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privity.assessment.evaluation import evaluation as module
from privity.assessment.evaluation.evaluation import Candidate, Question, evaluate
from privity.assessment.evaluation.evaluation_document import evaluation_document
from privity.assessment.evaluation.evaluation_report import evaluation_page
from privity.assessment.evaluation.pictures import FORMATS, pictures, write_pictures
from privity.assessment.evaluation.prediction import PredictionTarget, answer
from privity.assessment.evaluation.propensity import expected_pmse, pmse, propensity
from privity.assessment.evaluation.value_tables import no_structure, only_sampling, values_of_frame
from privity.assessment.evaluation.verdict import Grade, in_sentences, verdict
from privity.common import formats
from privity.common.data.coded_table import joined
from privity.common.data.schema import parse_schema
from privity.common.release.evaluation.classifier_utility import Task
from privity.common.release.evaluation.features import one_hot
from tests.assessment.evaluation.made_tables import RULES, frame, schema, table


def unsaid(_what):
    pass


def judged(question):
    evaluation = evaluate(question, unsaid)
    document = evaluation_document(evaluation)
    formats.require(document, "evaluation", "evaluation.json")
    return evaluation, document


def without_zeros(rows):
    """What a release does that draws each number anywhere in its bin."""
    drawn = np.random.default_rng(1).integers(0, 999, len(rows))
    return rows.assign(loss=np.where(rows["loss"] == "0", drawn, rows["loss"].astype(int)).astype(str))


@pytest.fixture(scope="module")
def made():
    spoiled = values_of_frame(without_zeros(frame(1500, 1)), schema(RULES), "rows")
    fair = Candidate("fair", table(1500, 2, RULES), "run-1")
    return judged(Question(table(2000, rules=RULES), (fair, Candidate("spoiled", spoiled))))


def test_a_variable_whose_zeros_vanished_is_not_to_be_used_and_the_reason_is_said(made):
    evaluation, document = made
    fair, spoiled = (verdict(evaluation, place) for place in range(2))
    assert {column.name: column.grade for column in fair.columns} == dict.fromkeys(schema().names, Grade.SERVES)
    assert [column.name for column in spoiled.of(Grade.NOT)] == ["loss"]
    first = in_sentences(spoiled)[0]
    assert first.startswith("Do not use loss: of loss, 9")
    assert "of the real values are 0, of the synthetic ones 0" in first
    assert document["verdicts"][1]["in_words"][0] == first
    distances = [table["distances"][0]["mean"] for table in document["tables"]]
    assert distances[1] < 0.02, "the bins of the two are equal, and would have hidden it"


@pytest.mark.statistical
def test_questions_are_judged_beside_mere_sampling_and_no_structure():
    real = table(3000)
    lost = Candidate("lost", no_structure(table(3000, 1)))
    evaluation, _ = judged(Question(real, (lost, Candidate("fair", table(3000, 2)))))
    found = [{one.question: one.grade for one in verdict(evaluation, place).findings} for place in range(2)]
    assert set(found[1].values()) == {Grade.SERVES}
    assert not verdict(evaluation, 0).of(Grade.NOT), "each variable alone is fine"
    for question in ("Correlations", "Regressions", "Predicting sick", "Predicting pay"):
        assert found[0][question] is Grade.NOT, question
    assert found[0]["How two variables go together"] is not Grade.SERVES


@pytest.mark.statistical
def test_a_table_that_holds_the_test_rows_is_noticed():
    rows = frame(800)
    rows["sick"] = np.random.default_rng(0).permutation(rows["sick"])
    real = values_of_frame(rows, schema(), "rows")
    copied = Candidate("copied", only_sampling(real, 800))
    evaluation, _ = judged(Question(real, (copied,), targets=(PredictionTarget("sick", (), Task("sick", "sick")),)))
    (finding,) = [one for one in verdict(evaluation, 0).findings if one.question == "Predicting sick"]
    assert finding.grade is not Grade.SERVES
    assert "copies of rows" in finding.words


def test_rules_that_the_synthetic_rows_break_are_named():
    rows = frame(600, 1)
    ages = rows["age"].astype(int)
    kept = rows[(ages >= 18) | (rows["sick"] == "false")]
    kept = kept[kept["loss"].astype(int) <= 4000]
    real = values_of_frame(kept, schema(RULES), "rows")
    evaluation, document = judged(Question(real, (Candidate("t", table(600, 2, RULES)),)))
    (finding,) = [one for one in verdict(evaluation, 0).findings if one.question == "Declared rules"]
    assert finding.grade is Grade.NOT
    assert all(rule in finding.words for rule in RULES)
    assert [one["real"] for one in document["tables"][0]["broken_rules"]] == [0, 0]


def test_a_model_is_scored_beside_the_best_constant_and_the_real_rows():
    real, test = table(1500), table(700, 1)
    lost, gone = no_structure(real), table(1500, 2)
    target = PredictionTarget("sick", (), Task("sick", "sick"))
    found = answer(target, real, test, [gone, lost])
    share = (frame(700, 1)["sick"] == "true").mean()
    assert found.constant == pytest.approx(max(share, 1 - share), abs=0.08)
    assert found.real > 0.8 < found.found[0]
    assert found.found[1] < found.constant + 0.05
    number = answer(PredictionTarget("pay"), real, test, [gone, lost])
    assert number.constant == pytest.approx(0, abs=0.02)
    assert number.real > 0.85 < number.found[0]
    assert number.found[1] < 0.1
    without = answer(PredictionTarget("pay", ("age", "sick")), real, test, [gone])
    assert without.real < 0.2, "what is dropped is not seen"
    assert answer(target, real.take(np.arange(20)), test, [gone]) is None


def test_trees_see_what_a_regression_on_bins_cannot():
    real = table(3000)
    lost = propensity(real, no_structure(real))
    assert lost.pmse < 3 * lost.expected, "the marginals are the same"
    assert lost.area > 0.65
    spoiled = propensity(real, values_of_frame(without_zeros(frame(3000, 1)), schema(), "rows"))
    assert spoiled.pmse < 3 * spoiled.expected
    assert spoiled.area > 0.9
    same = propensity(real, table(3000, 1))
    assert same.area == pytest.approx(0.5, abs=0.06)
    assert sum(same.real) == pytest.approx(1) == sum(same.found)
    assert propensity(real, table(20)) is None


@pytest.mark.statistical
def test_pmse_of_samples_of_the_real_rows_is_what_is_expected_of_a_true_model():
    real, generator = table(800).coded.over(["age", "ward", "sick"]), np.random.default_rng(5)
    made, found = np.arange(1600) >= 800, []
    for _ in range(25):
        features = one_hot(joined([real, real.take(generator.integers(0, 800, 800))]), range(3))
        found.append(pmse(features, made))
        assert expected_pmse(features, made) == pytest.approx(6 * 0.5**3 / 1600)
    # Chi-squared with 6 degrees: the mean of 25 is known to within an eighth, and more than twice that is allowed.
    assert np.mean(found) == pytest.approx(expected_pmse(features, made), rel=0.3)


def test_the_same_tables_give_the_same_document(made):
    _, document = made
    spoiled = values_of_frame(without_zeros(frame(1500, 1)), schema(RULES), "rows")
    fair = Candidate("fair", table(1500, 2, RULES), "run-1")
    _, again = judged(Question(table(2000, rules=RULES), (fair, Candidate("spoiled", spoiled))))
    assert json.dumps(again) == json.dumps(document)


def test_what_cannot_be_made_is_said_with_a_remedy(monkeypatch):
    real, few = table(60), Candidate("few", table(3, 1))
    _, document = judged(Question(real, (few,)))
    left_out = {one["section"]: one for one in document["left_out"]}
    assert "--control" in left_out["attacks"]["remedy"]
    assert document["tables"][0]["propensity"] is None
    monkeypatch.setattr(module, "_can_attack", lambda: False)
    _, document = judged(Question(real, (few,), table(60, 2), attacks=3))
    assert "anonymeter" in document["left_out"][-1]["remedy"]
    _, document = judged(Question(real, (few,), quick=True))
    assert "--quick" in document["left_out"][-1]["remedy"]


@pytest.mark.long
@pytest.mark.parametrize("names", [["age"], ["ward"], ["sick"], ["pay", "note"], ["loss"]])
def test_few_attributes_are_no_trouble(names):
    real, other = (table(300, seed).over(names) for seed in (0, 1))
    evaluation, document = judged(Question(real, (Candidate("t", other),)))
    assert [one["way"] for one in document["tables"][0]["distances"]] == [1, 2][: len(names)]
    assert "NOT FOR RELEASE" in evaluation_page(evaluation, document, unsaid)


@pytest.mark.parametrize("are_real", [False, pytest.param(True, marks=pytest.mark.long)])
def test_values_that_are_all_missing_or_all_equal_are_no_trouble(are_real):
    rows = frame(200).assign(pay="NA", loss="0", note="a", ward="north")
    real, other = table(200), values_of_frame(rows, schema(), "rows")
    if are_real:
        real, other = other, real
    evaluation, document = judged(Question(real, (Candidate("t", other),)))
    assert document["tables"][0]["columns"][3]["distance"] == 1
    assert "NOT FOR RELEASE" in evaluation_page(evaluation, document, unsaid)
    assert verdict(evaluation, 0).columns[3].grade is Grade.NOT


@pytest.mark.statistical
def test_parties_have_rows_of_their_own():
    real = table(600)
    parts = tuple((f"party-{k}", real.coded.take(np.flatnonzero(np.arange(600) % 3 == k))) for k in range(3))
    question = Question(real, (Candidate("t", table(600, 1)),))
    _, document = judged(replace(question, parties=parts))
    assert [one["rows"] for one in document["parties"]] == [200, 200, 200]
    assert "One machine saw the rows of all parties" in document["notice"]
    shares = [np.bincount(one.columns[0], minlength=4) / one.rows for one in (parts[1][1], table(600, 1).coded)]
    assert document["parties"][1]["distances"][0]["largest"] >= round(np.abs(shares[0] - shares[1]).sum() / 2, 6)


def test_the_page_says_first_what_it_is_and_then_the_verdict(made):
    evaluation, document = made
    page = evaluation_page(evaluation, document, unsaid)
    assert 0 < page.index("NOT FOR RELEASE") < page.index("Do not use loss") < page.index('id="distributions"')
    assert "<script" not in page
    assert "://" not in page
    assert "south <b>" not in page
    assert page.count("<table>") == page.count("<caption>") > 4
    assert page.count("<th>") == 0, "every heading says what it heads"
    assert page.count("<img ") == page.count(" alt=") == len(list(pictures(evaluation)))
    assert "img-src data:" in page


@pytest.mark.long
def test_pictures_are_svg_and_png_for_their_owner_alone(made, tmp_path):
    evaluation, _ = made
    write_pictures(evaluation, tmp_path / "pictures", unsaid)
    files = sorted((tmp_path / "pictures").iterdir())
    assert len(files) == len(FORMATS) * len(list(pictures(evaluation)))
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    for file in files:
        start = {".svg": b"<?xml", ".png": b"\x89PNG"}[file.suffix]
        assert file.read_bytes().startswith(start)
    sections = [picture.section for picture in pictures(evaluation)]
    assert set(sections) == {"predictions", "telling apart", "all pairs", "distributions", "pairs"}
    assert sections.count("distributions") == len(schema().names)
    again = {picture.name: picture.rendered("svg") for picture in pictures(evaluation)}
    assert all(picture.rendered("svg") == again[picture.name] for picture in pictures(evaluation))


def test_names_that_would_break_a_picture_are_drawn():
    names = ["a$b$_{c", "<svg onload=1>", "x" * 90, "\u202eabc"]
    fields = [{"name": name, "type": "string", "categories": ["$1", "<b>", "\u202e"]} for name in names]
    rows = pd.DataFrame({name: np.array(["$1", "<b>", "\u202e"])[np.arange(120) % 3] for name in names}, dtype=object)
    values = values_of_frame(rows, parse_schema({"fields": fields}, "s"), "rows")
    evaluation, document = judged(Question(values, (Candidate("$t$", values),)))
    assert "<svg onload" not in evaluation_page(evaluation, document, unsaid)


def test_of_too_many_pairs_some_are_drawn_by_the_number_of_attributes_alone_and_that_is_said(monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 4)
    found = []
    for seed in (1, 2):
        evaluation, document = judged(Question(table(300, seed), (Candidate("c", table(300, 9)),), quick=True))
        assert "of 15 pairs 4 were drawn" in document["left_out"][0]["reason"]
        assert len(evaluation.results[0].distances[1]) == 6
        assert set(evaluation.results[0].distances[2]) == set(evaluation.results[0].pairs.distances)
        found.append(sorted(evaluation.sampling.pairs.distances))
    assert found[0] == found[1]
    assert len(found[0]) == 4
    assert module._sets(5, 2, 10) == [(a, b) for a in range(5) for b in range(a + 1, 5)]


def test_a_class_of_a_single_row_in_a_large_table_stops_no_prediction():
    """From 10,000 rows on trees hold back rows of every class."""
    rows = frame(10_100).drop(columns=["pay", "loss", "note"])
    rows["ward"] = ["west", *(["north", "south <b>"] * len(rows))[1 : len(rows)]]
    over = schema().over(["age", "ward", "sick"])
    train, test = values_of_frame(rows, over, "rows"), values_of_frame(rows.iloc[:300], over, "rows")
    found = answer(PredictionTarget("ward", (), Task("ward", "ward")), train, test, [train])
    assert found is not None
    assert found.found == (found.real,)
