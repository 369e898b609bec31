"""Schemas as objects: edited, shown, saved, drafted, discovered."""

from __future__ import annotations

import copy
import html
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from privity import AIM, OneWay, Schema, declare_population
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError, ProblemsFound

DOCUMENT = {
    "name": "visits",
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "bins": 10},
        {"name": "ward", "type": "string", "categories": ["north", "south"], "missingValues": ["", "NA"]},
    ],
    "rowConstraints": ["age >= 18 or ward == 'north'", "not missing(ward)"],
}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("people", total_epsilon=50, total_delta=1e-3)


def rows(count: int = 4000) -> pd.DataFrame:
    draw = np.random.default_rng(2)
    pay = np.where(draw.random(count) < 0.4, 0, draw.integers(1, 90, count) * 100)
    return pd.DataFrame({"pay": pay, "ward": draw.choice(["north", "south"], count), "well": draw.random(count) < 0.3})


def test_fields_are_items_and_attributes_and_what_does_not_fit_changes_nothing():
    schema = Schema(DOCUMENT)
    age = schema["age"]
    assert (age.bins, age["bins"], age.missing_values) == (10, 10, None)
    assert list(age) == ["name", "type", "constraints", "bins"]
    before = schema.digest
    with pytest.raises(ProblemsFound, match="two-domains"):
        age.update(edges=[0, 50, 99], bins=3)
    assert (schema.digest, schema["age"].edges) == (before, None)
    age.update(edges=[0, 50, 99], out_of_domain="edge")
    assert (age.bins, age.constraints) == (None, None)
    assert age.outOfDomain == age.out_of_domain == "edge"
    del age["outOfDomain"]
    assert schema.digest != before
    schema["age"].title = "Age in years"
    assert schema.table_schema()["fields"][0]["title"] == "Age in years"


def test_a_renamed_attribute_is_refused_while_a_rule_names_it():
    with pytest.raises(ProblemsFound, match="rule-attribute"):
        Schema(DOCUMENT)["ward"].name = "place"


def test_it_is_not_changed_through_what_it_hands_out():
    schema = Schema(DOCUMENT)
    schema["ward"].categories.append("west")
    schema.table_schema()["fields"].clear()
    assert schema["ward"].categories == ["north", "south"]
    assert Schema(schema) == schema
    assert Schema(schema) is not schema


def test_a_field_knows_its_keys_and_is_copied_and_pickled():
    schema = Schema(DOCUMENT)
    field = schema["age"]
    assert copy.copy(field)["bins"] == pickle.loads(pickle.dumps(field))["bins"] == 10
    with pytest.raises(AttributeError, match="no key 'levels': there are"):
        _ = field.levels


def test_some_attributes_keep_the_rules_about_them():
    assert [field.name for field in Schema(DOCUMENT).over("ward")] == ["ward"]
    assert Schema(DOCUMENT).over(["ward"]).table_schema()["rowConstraints"] == ["not missing(ward)"]
    with pytest.raises(KeyError, match="'pay' is no attribute: there are age, ward"):
        Schema(DOCUMENT).over(["pay"])


def test_it_is_saved_as_it_is_and_never_over_another_file(tmp_path):
    Schema(DOCUMENT).save(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == DOCUMENT
    assert load_schema(tmp_path / "s.json").digest == Schema(tmp_path / "s.json").digest
    with pytest.raises(FileExistsError, match="choose another name"):
        Schema(DOCUMENT).save(tmp_path / "s.json")


def test_a_draft_is_refused_until_it_is_reviewed(tmp_path):
    draft = Schema.draft(rows(), name="pay of people")
    assert draft["well"].type == "boolean"
    with pytest.raises(PrivityError, match=r"schema\.reviewed\(NAME"):
        OneWay(1, population="people").fit(rows(), draft)
    assert "not declared public: pay, ward, well" in repr(draft)
    assert draft.reviewed("pay").undeclared == ("ward", "well")
    listing = r"ward \(string, north, south\); well \(boolean, .*\n.*reviewed\('ward', 'well'\)"
    with pytest.raises(PrivityError, match=listing) as listed:
        draft.reviewed("pay").reviewed()
    assert "pay" not in str(listed.value)
    reviewed = draft.reviewed(*draft.undeclared)
    assert reviewed.reviewed() == reviewed
    assert "declared public" not in repr(reviewed)
    assert OneWay(1, population="people").fit(rows(), reviewed).schema_["pay"].domain is None
    rows().to_csv(tmp_path / "t.csv", index=False)
    assert Schema.draft(tmp_path / "t.csv").names == draft.names


def test_a_field_that_was_to_be_discovered_takes_another_domain_in_one_call():
    draft = Schema.draft(rows())
    assert draft["pay"]["domain"] == "discover"
    draft["pay"].update(minimum=-5, maximum=9000)
    assert draft["pay"].constraints == {"minimum": -5, "maximum": 9000}
    assert (draft["pay"].minimum, draft["pay"].maximum, draft["ward"].minimum) == (-5, 9000, None)
    assert draft["pay"]["domain"] == "discover"
    draft["pay"].update(bins=10, minimum=0)
    assert (draft["pay"].bins, draft["pay"].domain) == (10, None)
    assert "0 to 9000 in 10 bins" in repr(draft)
    draft["pay"].edges = [0, 100, 10_000]
    assert {*draft["pay"]} == {"name", "type", "edges", "readOffRows"}
    with pytest.raises(ProblemsFound, match="need a minimum and a maximum"):
        draft["pay"].bins = 10
    assert draft.undeclared == draft.names
    draft["pay"].update(categories=[0, 1], categories_ordered=True, read_off_rows=None)
    draft["pay"].domain = "discover"
    assert dict(draft["pay"]) == {"name": "pay", "type": "integer", "domain": "discover"}
    assert draft.undeclared == ("ward", "well")


def test_texts_of_which_nothing_would_be_discovered_are_left_out_of_a_draft():
    words = ["".join(chr(97 + place // 26**at % 26) for at in range(3)) for place in range(450)]
    table = pd.DataFrame({"name": words * 2, "sex": ["m", "f", "f"] * 300})
    draft = Schema.draft(table)
    assert draft.names == ("sex",)
    assert "'name': 450 different texts in 900 rows; none of them would be discovered at" in repr(draft)
    assert Schema.draft(table, keep=["name"]).table_schema()["fields"][0]["domain"] == "discover"
    assert Schema.draft(table, leave_out=["sex"], keep=["name"]).names == ("name",)
    for more, said in (({"keep": ["age"]}, "no age"), ({"leave_out": ["sex"]}, "every column")):
        with pytest.raises(PrivityError, match=said):
            Schema.draft(table, **more)


def test_a_draft_shows_what_stood_out_until_it_is_reviewed():
    numbered = rows().assign(number=range(len(rows())))
    draft = Schema.draft(numbered)
    assert "number" not in draft.names
    for shown in (repr(draft), draft._repr_html_()):
        assert "looks like an identifier" in html.unescape(shown)
    reviewed = draft.reviewed(*draft.names)
    assert "identifier" not in repr(reviewed)
    assert "columns that are left out: number" in repr(reviewed)
    assert "number" not in OneWay(1, population="people").fit(numbered, draft.reviewed(*draft.names)).sample(3).columns


def test_a_draft_of_few_rows_names_the_numbers_that_need_bins_and_the_call():
    few = rows(200).assign(age=np.arange(200) % 90)
    draft = Schema.draft(few)
    told = "pay, age: 200 rows are too few to discover their domains"
    call = "schema['pay'].update(minimum=..., maximum=..., bins=10)"
    for shown in (repr(draft), html.unescape(draft._repr_html_()), repr(draft.reviewed(*draft.undeclared))):
        assert told in shown
        assert call in shown
    with pytest.raises(PrivityError, match="too few to discover"):
        draft.reviewed()
    draft["pay"].update(minimum=0, maximum=10000, bins=10)
    assert "pay, age" not in repr(draft)
    draft["age"].update(minimum=0, maximum=120, bins=10)
    assert "too few" not in repr(draft)
    assert len(OneWay(1, population="people").fit(few, draft.reviewed(*draft.undeclared)).sample(3)) == 3


def test_a_schema_is_discovered_and_charged():
    types = {"ward": "string", "pay": "integer", "well": "boolean"}
    schema = Schema.discover(rows(), types=types, epsilon=4, delta=1e-6, population="people")
    assert set(schema["ward"].categories) == {"north", "south", "(other)"}
    assert 0 in schema["pay"].edges
    model = AIM(2, delta=1e-6, population="people").fit(rows(), schema)
    assert 5.7 < model.spent_.epsilon <= 6
    made = model.sample(4000, seed=1)
    assert abs((pd.to_numeric(made["pay"]) == 0).mean() - (rows()["pay"] == 0).mean()) < 0.03
    with pytest.raises(PrivityError, match="delta"):
        Schema.discover(rows(), types=types, epsilon=1, population="people")


@pytest.mark.process
def test_a_draft_is_reviewed_by_answers():
    """As in a notebook: each question is answered by a line; an end of the input is no."""
    script = (
        "import pandas as pd; from privity.schemas import Schema\n"
        "table = pd.DataFrame({'age': range(900), 'sex': ['m', 'f', 'f'] * 300, 'town': ['Bern', 'Chur'] * 450})\n"
        "draft = Schema.draft(table, keep=['age']); found = draft.review()\n"
        "print(found.table_schema()['fields'][0]['constraints'], found.undeclared, draft.undeclared)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="0 120\ny\nn\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(
        "{'minimum': 0, 'maximum': 120} ('sex', 'town') ('age', 'sex', 'town')"
    )
    assert "sex: string, f, m" in done.stdout


def test_several_fields_are_changed_in_one_call_or_none_is() -> None:
    schema = Schema({"fields": DOCUMENT["fields"]})
    before, (first, second) = schema.table_schema(), schema.names
    with pytest.raises(ProblemsFound) as faults:
        schema.update({first: {"categories": ["a", "a"]}, second: {"bins": 0, "edges": [2, 1]}})
    assert {problem.field.split(".")[0] for problem in faults.value.problems} == {"fields[0]", "fields[1]"}
    with pytest.raises(KeyError, match="nobody"):
        schema.update({first: {"title": "one"}, "nobody": {"title": "two"}})
    assert schema.table_schema() == before
    schema.update({first: {"name": second, "title": "one"}, second: {"name": first, "out_of_domain": None}})
    assert schema.names == (second, first)
    assert schema[second].title == "one"
