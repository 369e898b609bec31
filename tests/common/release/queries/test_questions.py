"""What may be asked of a release, and what is refused, with a remedy that works."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.regression_formula import design, read_formula
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.release.queries import regressions
from privity.common.release.queries.ask import STATISTICS, ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.synthesis import algorithms
from privity.common.synthesis.algorithms import ALGORITHMS
from tests.common.release.queries.test_estimates import FIELDS, ROWS, population, released

OPEN = [
    *FIELDS[:2],
    {"name": "dose", "type": "number", "edges": [0, 1, 2], "outOfDomain": "edge", "decimals": 1},
    {"name": "seen", "type": "date", "edges": ["2020-01-01", "2021-01-01", "2022-01-01"]},
    {"name": "weight:1", "type": "integer", "categories": [1, 2, 3, 4], "missingValues": ["NA"]},
]


@pytest.fixture(scope="module")
def full() -> Estimator:
    """Of every pair."""
    return Estimator(released(population(ROWS), "all-pairs", epsilon=4))


@pytest.fixture(scope="module")
def odd() -> Estimator:
    generator = np.random.default_rng(5)
    codes = [generator.integers(0, size, ROWS) for size in (3, 2, 2, 2, 5)]
    schema = parse_schema({"fields": OPEN}, "s")
    return Estimator(released(CodedTable(schema, tuple(each.astype(np.uint8) for each in codes)), "all-pairs"))


def test_every_statistic_is_answered_from_a_release_near_the_truth(full):
    table = population(ROWS)
    ward, smoker, visits, _, age = (column.astype(int) for column in table.columns)
    (share,) = ask(full, "share", where=[("age", ">=", [50])], given=[("ward", "==", ["south"])])
    assert share.value == pytest.approx((age[ward == 1] >= 3).mean(), abs=0.06)
    (count,) = ask(full, "count", where=[("smoker", "==", [True])])
    assert count.value == pytest.approx(smoker.sum(), abs=150)
    means = ask(full, "mean", ["visits"], by="smoker")
    assert [each.of for each in means] == [{"smoker": "false"}, {"smoker": "true"}]
    for value, each in enumerate(means):
        assert each.value == pytest.approx(visits[smoker == value].mean(), abs=0.1)
    (apart,) = ask(full, "mean", ["visits"], by="smoker", compare="difference")
    assert apart.of == {"smoker": "true less false"}
    assert apart.value == pytest.approx(means[1].value - means[0].value)
    (ratio,) = ask(full, "share", where=[("ill", "==", [True])], by="smoker", compare="ratio")
    assert ratio.low < ratio.value < ratio.high
    (median,) = ask(full, "quantile", ["visits"])
    assert median.low <= np.median(visits) <= median.high
    (correlation,) = ask(full, "correlation", ["visits", "age"], midpoints=True)
    assert correlation.value == pytest.approx(np.corrcoef(visits, age)[0, 1], abs=0.1)
    cells = ask(full, "crosstab", ["ward", "smoker"])
    assert len(cells) == 6
    assert sum(each.value for each in cells) == pytest.approx(1)
    (odds,) = ask(full, lambda p: p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0]), ["smoker", "ill"])
    real = [[((smoker == a) & (table.columns[3] == b)).mean() for b in (0, 1)] for a in (0, 1)]
    assert odds.low < real[0][0] * real[1][1] / (real[0][1] * real[1][0]) < odds.high
    slope = ask(full, "linear", ["visits ~ smoker + C(ward)"])[1]
    assert slope.of == {"term": "smoker[true]"}
    assert slope.low < 1.2
    assert slope.high > 0.5


def test_errors_add_up_and_levels_are_nested(full):
    asked = {"where": [("ill", "==", [True])], "given": [("ward", "==", ["east"])]}
    found = [ask(full, "share", **asked, level=level)[0] for level in (0.9, 0.95, 0.99)]
    assert found[0].standard_error == pytest.approx(np.sqrt(sum(each**2 for each in found[0].errors.values())))
    assert found[2].low < found[1].low < found[0].low < found[0].high < found[1].high < found[2].high
    rows = ask(full, "share", **asked, target="rows")[0]
    assert rows.errors["sampling"] == 0
    assert rows.high - rows.low < found[1].high - found[1].low
    document = found[1].document()
    assert document["support"]["kind"] == "measured"
    assert document["low"] == found[1].low


def test_a_mean_of_bins_covers_every_place_in_them(full):
    table = population(ROWS)
    age = 20 + 10 * table.columns[4].astype(float)
    (found,) = ask(full, "mean", ["age"])
    assert found.low < age.mean()
    assert found.high > age.mean() + 9
    assert any("finer bins" in note for note in found.notes)
    (middle,) = ask(full, "mean", ["age"], midpoints=True)
    assert found.low < middle.low < middle.value < middle.high < found.high
    (apart,) = ask(full, "mean", ["age"], by="smoker", compare="difference")
    assert apart.low < apart.value - 9
    assert apart.high > apart.value + 9


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("median", ["age"]), "'median' is unknown"),
        (("mean", ["agee"]), "'agee' is unknown"),
        (("mean", ["ward"]), "ward has texts"),
        (("mean", []), "mean is of 1 attributes"),
        (("share", ["ward"]), "a share is of rows"),
        (("crosstab", ["ward", "ward"]), "stands there twice"),
        (("correlation", ["age", "visits"]), "age is in bins"),
        (("linear", ["age ~ smoker"]), "age is in bins"),
        (("linear", ["visits ~ age"]), "age is in bins"),
        (("linear", ["visits"]), "no ~ between a response and terms"),
        (("linear", ["visits ~ visits"]), "on both sides"),
        (("linear", ["visits ~ smoker + smoker"]), "smoker stands there twice"),
        (("linear", ["visits ~ (ward"]), "is no name"),
        (("logistic", ["visits ~ smoker"]), "has 4 values"),
    ],
)
def test_a_question_that_is_none_is_refused(full, asked, said):
    with pytest.raises(PrivityError, match=re.escape(said)):
        ask(full, *asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 0.8}, "none of 0.9, 0.95 and 0.99"),
        ({"target": "everybody"}, "'everybody' is unknown"),
        ({"weights": "age"}, "noisy marginals count rows"),
        ({"compare": "difference"}, "no groups to compare"),
        ({"by": "agee"}, "'agee' is unknown"),
        ({"by": "ward", "compare": "less"}, "'less' is unknown"),
        ({"at": 0.5}, "it is for quantiles"),
        ({"where": [("ward", "==", ["north"])]}, "it is for count and share"),
        ({"given": [("age", ">=", [25])]}, r"cuts through '[20, 30)'"),
    ],
)
def test_an_option_that_is_not_possible_is_refused(full, options, said):
    with pytest.raises(PrivityError, match=re.escape(said)):
        ask(full, "mean", ["visits"], **options)


def test_conditions_are_checked_as_those_of_samples(full):
    with pytest.raises(ProblemsFound, match="no column is called so"):
        ask(full, "count", where=[("agee", "==", [1])])
    with pytest.raises(ProblemsFound, match="moon"):
        ask(full, "count", where=[("ward", "==", ["moon"])])


def test_a_group_that_the_noise_hides_is_not_determined():
    table = population(300)
    few = CodedTable(table.schema, (np.minimum(table.columns[0], 1), *table.columns[1:]))
    estimator = Estimator(released(few, "all-pairs", epsilon=Fraction(1, 10), delta=0))
    found = ask(estimator, "mean", ["visits"], given=[("ward", "==", ["east"])])
    assert found[0].value is None or found[0].high - found[0].low > 1
    hidden = [each for each in ask(estimator, "mean", ["visits"], by="ward") if each.value is None]
    for each in hidden:
        assert each.document()["low"] is None
        assert "not determined" in each.notes[-1]


def test_a_mean_without_an_end_is_refused_and_its_quantile_is_not(odd):
    with pytest.raises(PrivityError, match=r"(?s)dose has a bin without an end.*midpoints") as caught:
        ask(odd, "mean", ["dose"])
    assert "quantiles" in str(caught.value)
    (found,) = ask(odd, "mean", ["dose"], midpoints=True)
    assert found.value == pytest.approx(1, abs=0.2)
    (found,) = ask(odd, "quantile", ["dose"], at=0.9)
    assert found.high == np.inf
    assert found.document()["high"] is None


def test_dates_have_no_mean_and_missing_values_do_not_count(odd):
    with pytest.raises(PrivityError, match="no mean"):
        ask(odd, "mean", ["seen"])
    (found,) = ask(odd, "mean", ["weight:1"])
    assert found.value == pytest.approx(2.5, abs=0.3)
    assert "of the rows that have a value" in found.notes
    (found,) = ask(odd, "share", where=[("weight:1", "==", [None])])
    assert found.value == pytest.approx(0.2, abs=0.06)


def test_several_rows_of_a_person_are_no_sample_of_a_population(full):
    evidence = replace(full.evidence, rows_per_person=3)
    with pytest.raises(PrivityError, match="up to 3 rows"):
        ask(Estimator(evidence), "mean", ["visits"])
    assert ask(Estimator(evidence), "mean", ["visits"], target="rows")[0].errors["sampling"] == 0


def test_rows_that_may_be_absent_count_in_no_share():
    fields = [{"name": "x", "type": "boolean"}, {"name": "y", "type": "boolean"}]
    schema = parse_schema({"fields": fields, "absentRows": True}, "s")
    generator = np.random.default_rng(2)
    there = generator.random(ROWS) < 0.5
    columns = [np.where(there, generator.random(ROWS) < p, 2).astype(np.uint8) for p in (0.3, 0.6)]
    evidence = replace(released(CodedTable(schema, tuple(columns)), "all-pairs", epsilon=4), rows_per_person=2)
    (found,) = ask(Estimator(evidence), "share", where=[("x", "==", [True])], target="rows")
    assert found.low < columns[0][there].mean() < found.high
    assert found.value == pytest.approx(0.3, abs=0.05)
    (count,) = ask(Estimator(evidence), "count", where=[("x", "==", [True])], target="rows")
    assert count.value == pytest.approx((columns[0] == 1).sum(), abs=150)


def test_separation_is_refused():
    terms = np.stack([np.ones(100), np.arange(100) % 2], axis=1)
    with pytest.raises(PrivityError, match="separation"):
        regressions._logistic(terms, terms[:, 1], np.ones(100))
    beside = terms[:, 1] * (np.arange(100) > 9)
    coefficients, residuals, _ = regressions._logistic(terms, (beside + (np.arange(100) < 4)) % 2, np.ones(100))
    assert np.isfinite(coefficients).all()
    assert np.abs(terms.T @ residuals).max() < 1e-6


@pytest.mark.parametrize("rare", [0, 2])
def test_where_noise_hides_how_rare_a_response_is_an_end_is_open(rare):
    """Of a response that occurs with one value of a term only, or in few rows besides."""
    fields = [{"name": name, "type": "boolean"} for name in ("x", "y", "z")]
    schema = parse_schema({"fields": fields}, "s")
    generator = np.random.default_rng(rare)
    x, z = generator.integers(0, 2, (2, ROWS))
    y = x * (generator.random(ROWS) < 0.4)
    y[np.flatnonzero(x == 0)[:rare]] = 1
    table = CodedTable(schema, tuple(each.astype(np.uint8) for each in (x, y, z)))
    truth = log((x * y).sum() / (x * (1 - y)).sum()) - (log(rare / ((x == 0).sum() - rare)) if rare else -inf)
    for _ in range(3):
        estimator = Estimator(released(table, "all-pairs", epsilon=1))
        told = {each.of["term"]: each for each in ask(estimator, "logistic", ["y ~ x + z"])}
        assert told["x[true]"].high == inf
        assert told["x[true]"].low < truth
        assert isfinite(told["z[true]"].low)
        assert isfinite(told["z[true]"].high)
        assert regressions.OPEN in told["x[true]"].notes or told["x[true]"].value is None


def test_a_response_that_is_rare_on_both_sides_of_a_term_has_no_narrow_interval():
    fields = [{"name": name, "type": "boolean"} for name in ("x", "y", "z")]
    schema = parse_schema({"fields": fields}, "s")
    generator = np.random.default_rng(3)
    x, z = generator.integers(0, 2, (2, ROWS))
    y = np.zeros(ROWS, int)
    y[np.flatnonzero(x == 0)[:9]] = y[np.flatnonzero(x == 1)[:1]] = 1
    table = CodedTable(schema, tuple(each.astype(np.uint8) for each in (x, y, z)))
    for epsilon in (1, 5, 20):
        (_, term) = ask(Estimator(released(table, "all-pairs", epsilon=epsilon)), "logistic", ["y ~ x"], target="rows")
        assert term.value is None or term.low == -inf
        assert term.high > log(1 / 9) - 0.5


def test_a_category_whose_rows_the_noise_hides_has_no_mean():
    fields = [
        {"name": "c", "type": "string", "categories": ["a", "b", "rare"]},
        {"name": "v", "type": "integer", "categories": [0, 1, 2, 3]},
    ]
    generator = np.random.default_rng(3)
    c = generator.choice(3, ROWS, p=[0.5, 0.499, 0.001])
    table = CodedTable(
        parse_schema({"fields": fields}, "s"), (c.astype(np.uint8), generator.integers(0, 4, ROWS).astype(np.uint8))
    )
    for _ in range(3):
        told = ask(Estimator(released(table, "all-pairs", epsilon=1)), "linear", ["v ~ C(c)"])
        assert [each.value is None for each in told] == [False, False, True]


def test_names_in_formulas_may_have_any_sign_in_quotes(odd):
    schema = odd.evidence.schema
    formula = read_formula('smoker ~ "weight:1" + ward + "weight:1":ward', schema, midpoints=False)
    names, values = design(formula, odd.evidence.model_rows.columns)
    assert names == [
        "(intercept)",
        "weight:1",
        "ward[south]",
        "ward[east]",
        "weight:1:ward[south]",
        "weight:1:ward[east]",
    ]
    categories = read_formula('smoker ~ C("weight:1") + ward + C("weight:1"):ward', schema, midpoints=False)
    assert categories.columns[-1][0] == "weight:1[4]:ward[east]"
    assert values.shape == (len(odd.evidence.model_rows.columns[0]), len(names))
    code = odd.evidence.model_rows.columns[4]
    assert (values[:, 1] == np.where(code < 4, code + 1, 0)).all()


@given(st.sampled_from(sorted(STATISTICS)), st.lists(st.text(max_size=6), max_size=3))
def test_whatever_is_asked_an_error_is_one_of_ours(full, statistic, about):
    try:
        found = ask(full, statistic, about)
    except (PrivityError, ProblemsFound):
        return
    assert found


def test_models_of_single_parties_tell_nothing_of_all_rows():
    table = population(ROWS)
    parts = [table.take(np.arange(ROWS // 2)), table.take(np.arange(ROWS // 2, ROWS))]
    session = InProcessBackend(parts, ALGORITHMS["independent"].budget({}, Fraction(2), Fraction(0))).session()
    model = asyncio.run(algorithms.learn(session, "independent", {}))
    evidence = Evidence(model, list(session.record.measured), session.noise_variables, "independent", session.rows)
    estimator = Estimator(evidence)
    with pytest.raises(PrivityError, match="no noisy marginal over the rows of all owners"):
        ask(estimator, "mean", ["visits"], extrapolate=True)
    assert estimator.support([0, 1]).r2 == 0


def test_what_would_take_all_memory_is_refused(full):
    wide = {"name": "wide", "type": "integer", "edges": list(range(3001))}
    schema = parse_schema({"fields": [wide, {**wide, "name": "other"}]}, "s")
    evidence = replace(full.evidence, model=replace_schema(full.evidence.model, schema), measured=())
    with pytest.raises(PrivityError, match="these are too many"):
        ask(Estimator(evidence), "crosstab", ["wide", "other"])


def replace_schema(model, schema):
    class Other:
        sample, to_dict, alone = model.sample, model.to_dict, model.alone

    Other.schema = schema
    return Other()
