"""Analyses that a run declares: their tables are measured, and the release has their estimates."""

from __future__ import annotations

import contextlib
import json
import re
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import privity
from privity.common.data.regression_formula import read_formula
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.formats import require
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.release.queries.declared_analyses import analyses_of, nearly
from privity.common.runs.automatic_choice import choose
from privity.common.runs.carried_runs import check_carried
from privity.common.runs.planned_run import planned_session, rehearse
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.declared_analyses import tables_of
from privity.interfaces.cli.main import app
from tests.harness.consortium import make_schema
from tests.harness.ledgers import declared
from tests.harness.releases import release_of

SCHEMA = parse_schema(
    {
        "name": "survey",
        "fields": [
            {"name": "income", "type": "string", "categories": ["low", "high"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 100}, "bins": 10},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "region", "type": "string", "categories": ["n", "e", "s", "w"]},
            {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 80}, "bins": 8},
            {"name": "many", "type": "integer", "categories": list(range(70))},
        ],
    },
    "survey",
)
FORMULAS = ["income ~ age + sex + C(region)", "hours ~ age + sex + age:sex + region"]
MEASURING = ("aim", "all-pairs")


def survey(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age, sex = random.integers(0, 100, rows), random.choice(["f", "m"], rows)
    region = random.choice(["n", "e", "s", "w"], rows)
    hours = np.clip(20 + age * 0.3 * (sex == "m") + random.normal(0, 8, rows), 0, 79).astype(int)
    logit = -2 + 0.03 * age + 0.7 * (sex == "m")
    income = np.where(random.random(rows) < 1 / (1 + np.exp(-logit)), "high", "low")
    many = random.integers(0, 70, rows)
    return pd.DataFrame({"income": income, "age": age, "sex": sex, "region": region, "hours": hours, "many": many})


def planned(epsilon: Fraction, delta: Fraction, schema=SCHEMA, rows=20_000):
    budget = RhoBudget(epsilon, delta) if delta else PureBudget(epsilon)
    return planned_session(schema, {"a": rows // 2, "b": rows // 2}, 1, budget)


@pytest.mark.parametrize("algorithm", MEASURING)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction("1e-9")])
def test_every_pair_and_product_of_a_declared_analysis_is_measured(algorithm, delta):
    session = rehearse(planned(Fraction(1), delta), algorithm, {"analyses": FORMULAS})
    measured = [{*table.attributes} for _, table in session.record.measured]
    for text in FORMULAS:
        formula = read_formula(text, SCHEMA, midpoints=True)
        for wanted in [*combinations(formula.attributes, 2), *formula.moments]:
            assert any({*wanted} <= table for table in measured)


@given(
    alone=st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True),
    joined=st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=3, unique=True), max_size=3, unique_by=frozenset),
    sizes=st.lists(st.integers(2, 3), min_size=6, max_size=6),
    pure=st.booleans(),
)
def test_tables_of_any_formula_hold_all_that_least_squares_needs(alone, joined, sizes, pure):
    schema = make_schema(sizes)
    terms = [[a] for a in sorted({*alone, *(a for term in joined for a in term)})] + joined
    text = "A5 ~ " + " + ".join(":".join(f"A{a}" for a in term) for term in terms)
    columns = 1 + sum(prod(sizes[a] - 1 for a in term) for term in terms)
    assume(columns <= 64)
    formula = read_formula(text, schema, midpoints=True)
    tables = tables_of([formula], schema.domain, pure=pure)
    sides = [{5}, *({*term} for term in terms)]
    assert all(any(one | other <= {*table} for table in tables) for one, other in combinations(sides, 2))
    assert not any({*one} < {*other} for one in tables for other in tables)


@pytest.mark.parametrize("algorithm", MEASURING)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction("1e-9")])
def test_what_the_noise_would_hide_is_refused_with_an_epsilon_that_then_works(algorithm, delta):
    settings, rows = {"analyses": FORMULAS}, [400, 300]
    with pytest.raises(PrivityError, match=r"noise alone would move a correlation within .* and 0.1 is") as bad:
        check_carried(algorithm, settings, SCHEMA, rows, 1, Fraction(1), delta)
    found = re.search(r"Give epsilon ([0-9.]+) or more", bad.value.remedy)
    assert found
    wanted = Fraction(found[1])
    check_carried(algorithm, settings, SCHEMA, rows, 1, wanted, delta)
    with pytest.raises(PrivityError):
        check_carried(algorithm, settings, SCHEMA, rows, 1, wanted * Fraction(4, 5), delta)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wage ~ age", "'wage' is unknown"),
        ("income ~ age + height", "'height' is unknown"),
        ("income", "no ~ between a response and terms"),
        ("income ~ age ~ sex", "more than one ~"),
        ("income ~ age + ", "a side of it, or a term, is empty"),
        ("income ~ age*sex", "only +, : and C() are understood"),
        ("C(income) ~ age", "C() is for terms"),
        ("income ~ sex + sex", "sex stands there twice"),
        ("income ~ age + C(age)", "some terms are sums of others"),
        ("income ~ age + age:sex", "age:sex stands there without sex"),
        ("income ~ region + region:region", "no row can have region[e]:region[s]"),
        ("income ~ " + " " * 2000 + "age", "a formula has at most 1000"),
        ("income ~\nage", "in one line"),
        ("income ~ " + " " * 900 + "(", "is no name"),
        ("income ~ age + C(many)", "many has 70 values, at most 64"),
        ("income ~ region + C(age) + region:C(age) + C(hours) + region:C(hours)", "at most 64 are fitted"),
        ("region ~ age", "region has 4 values, and is no number"),
        ("income ~ income", "on both sides"),
    ],
)
def test_a_formula_that_the_schema_does_not_have_is_refused_before_the_run(text, said):
    with pytest.raises(ProblemsFound, match=re.escape(said)):
        ALGORITHMS["aim"].check({"analyses": [text]}, SCHEMA)


def test_all_formulas_that_are_wrong_are_told_at_once():
    with pytest.raises(ProblemsFound, match=r"'wage ~ age': .*; 'income ~ height': "):
        ALGORITHMS["aim"].check({"analyses": ["wage ~ age", FORMULAS[0], "income ~ height"]}, SCHEMA)


@pytest.mark.parametrize("settings", ["income ~ age", [], [1], [FORMULAS[0]] * 2, ["income ~ age"] * 17])
def test_what_is_no_list_of_different_formulas_is_refused(settings):
    with pytest.raises(ProblemsFound, match="is no list of 1 to 16 formulas"):
        ALGORITHMS["aim"].check({"analyses": settings}, SCHEMA)


def test_an_analysis_of_too_many_attributes_is_refused_at_once():
    for sizes in ([2, *[13] * 5], [2] * 60):
        wide = make_schema(sizes)
        text = "A0 ~ " + " + ".join(f"C(A{a})" for a in range(1, len(sizes)))
        with pytest.raises(PrivityError, match="it takes a model of"):
            ALGORITHMS["aim"].check({"analyses": [text]}, wide)


def test_the_epsilon_that_is_told_is_all_that_is_asked_for():
    settings, evaluation = {"analyses": FORMULAS}, Fraction(9, 10)
    with pytest.raises(PrivityError) as bad:
        check_carried(
            "aim", settings, SCHEMA, [700], 0, Fraction(1, 10), Fraction(0), asked=lambda own: own + evaluation
        )
    found = re.search(r"Give epsilon ([0-9.]+) or more", bad.value.remedy)
    assert found
    check_carried("aim", settings, SCHEMA, [700], 0, Fraction(found[1]) - evaluation, Fraction(0))


def test_categories_that_are_yet_to_be_discovered_are_refused():
    document = SCHEMA.table_schema()
    for place, formula in ((0, "income ~ age"), (3, "income ~ region")):
        fields = [*document["fields"]]
        fields[place] = {"name": fields[place]["name"], "type": "string", "domain": "discover"}
        open_ = parse_schema({**document, "fields": fields}, "s")
        with pytest.raises(ProblemsFound, match="or declare them, if they are yet to be discovered"):
            check_carried("aim", {"analyses": [formula]}, open_, [20_000], 0, Fraction(1), Fraction("1e-6"))


def test_a_category_with_one_value_has_no_term():
    document = SCHEMA.table_schema()
    document["fields"][2]["categories"] = ["f"]
    formula = read_formula("income ~ age + sex", parse_schema(document, "s"), midpoints=True)
    assert [name for name, _ in formula.columns] == ["(intercept)", "age"]


@given(text=st.text('ab~+:C()" 1*', max_size=60))
def test_any_text_is_a_formula_or_is_refused_in_words(text):
    with contextlib.suppress(PrivityError):
        assert read_formula(text, make_schema([2, 3]), midpoints=True).terms


def test_the_automatic_choice_takes_what_measures_them_and_no_other_settings():
    for epsilon in ("0.05", "1", "100"):
        taken = choose(SCHEMA, [20_000], 0, Fraction(epsilon), Fraction(0), {"analyses": FORMULAS})
        assert taken.algorithm in MEASURING
    with pytest.raises(PrivityError, match="they belong to one algorithm"):
        choose(SCHEMA, [20_000], 0, Fraction(1), Fraction(0), {"tables": 3})


def test_other_algorithms_say_which_ones_measure_them():
    with pytest.raises(ProblemsFound, match="Algorithms that measure declared analyses: aim, all-pairs"):
        ALGORITHMS["mst"].check({"analyses": FORMULAS}, SCHEMA)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("declared")
    declared(folder / "ledger").close()
    survey(20_000).to_csv(folder / "survey.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA.table_schema()))
    command = [
        "synthesize", "--data", folder / "survey.csv", "--schema", folder / "schema.json", "--epsilon", "4",
        "--algorithm", "aim", "--population", "people", "--ledger", folder / "ledger", "--out", folder / "release",
        *(part for text in FORMULAS for part in ("--analysis", text)),
    ]  # fmt: skip
    done = CliRunner().invoke(app, [*map(str, command)])
    assert done.exit_code == 0, done.output
    return folder / "release"


def test_a_release_has_estimates_that_hold_the_truth_and_agree_with_its_rows(released):
    document = json.loads((released / "analyses.json").read_text())
    assert [each["formula"] for each in document["analyses"]] == FORMULAS
    assert [each["regression"] for each in document["analyses"]] == ["logistic", "linear"]
    terms = {each["term"]: each for each in document["analyses"][0]["terms"]}
    assert [*terms] == ["(intercept)", "age", "sex[m]", "region[e]", "region[s]", "region[w]"]
    for name, truth in (("age", 0.03), ("sex[m]", 0.7), ("region[e]", 0.0)):
        term = terms[name]
        # Far from the truth, and rows far from the estimate, once in a million runs.
        width = term["high"] - term["low"]
        assert abs(term["value"] - truth) < 1.3 * width
        assert abs(term["value"] - term["synthetic"]) < 1.3 * width
        assert width < (0.02 if name == "age" else 1)
    for analysis in document["analyses"]:
        assert analysis["support"]["kind"] in ("measured", "implied")
        assert not analysis["support"]["missing"]


def test_the_report_shows_them_first_and_verify_makes_them_again(released):
    page = (released / "report.html").read_text()
    assert page.index("Declared analyses") < page.index("Every attribute")
    assert "income ~ age + sex + C(region)" in page
    read = privity.Release(released)
    table = read.analyses
    assert [*table.index.get_level_values("term")][:3] == ["(intercept)", "age", "sex[m]"]
    assert (table["low"] < table["value"]).all()
    assert (table["value"] < table["high"]).all()
    shown = CliRunner().invoke(app, ["show", str(released)]).stdout
    assert "Declared analysis: hours ~ age + sex + age:sex + region" in shown
    assert "analyses.json" in shown
    assert read.query("logistic", FORMULAS[0], midpoints=True)


def test_values_of_any_length_are_told(tmp_path):
    long = "x" * 9000
    fields = [
        {"name": "y", "type": "string", "categories": ["no", long]},
        *({"name": name, "type": "string", "categories": ["no", f"{name}{long}"]} for name in "ab"),
    ]
    random = np.random.default_rng(0)
    frame = pd.DataFrame({each["name"]: random.choice(each["categories"], 900) for each in fields})
    schema = parse_schema({"name": "texts", "fields": fields}, "texts")
    settings = {"analyses": ["y ~ a + b + a:b"]}
    release, synthetic = release_of(tmp_path, "aim", frame, schema, "9", settings=settings)
    require(analyses_of(release, synthetic.table), "analyses", "analyses.json")


def test_a_figure_of_another_machine_is_the_same_and_one_that_was_altered_is_not(released):
    document = json.loads((released / "analyses.json").read_text())
    again = json.loads(json.dumps(document))
    term = again["analyses"][0]["terms"][1]
    term["value"] *= 1 + 1e-9
    assert nearly(document, again)
    term["value"] += 0.1 * (term["high"] - term["low"])
    assert not nearly(document, again)
    again = json.loads(json.dumps(document))
    del again["analyses"][1]
    assert not nearly(document, again)
