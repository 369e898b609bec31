"""Every kind of model under rules: they hold, and what they touch keeps the marginals that the model has."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.release.synthetic_rows import synthesise_release
from privity.common.synthesis.models.load_model import load_model
from tests.harness.long import long_but
from tests.harness.releases import release_of

ROWS = 4000
FIELDS = [
    {"name": "admitted", "type": "integer", "edges": [0, 50, 100, 150, 200, 250, 300, 366]},
    {"name": "left", "type": "integer", "edges": [0, 60, 120, 180, 240, 300, 366], "missingValues": [""]},
    {"name": "outcome", "type": "string", "categories": ["home", "moved", "died"], "missingValues": [""]},
    {"name": "outcome-no", "type": "integer", "missingValues": [""],
     "lookup": {"field": "outcome", "values": {"home": 1, "moved": 2, "died": 3}}},
    {"name": "child", "type": "boolean"},
    {"name": "state", "type": "string", "categories": ["single", "married"]},
    {"name": "sum", "type": "integer", "sum": ["admitted", "left"], "missingValues": [""]},
]  # fmt: skip
RULES = ["admitted <= left", "not missing(left) or missing(outcome)", "not child or state == 'single'"]


def stays():
    draw = np.random.default_rng(3)
    admitted = draw.integers(0, 366, ROWS)
    there = draw.random(ROWS) < 0.06
    left = np.minimum(365, admitted + draw.integers(0, 80, ROWS)).astype(object)
    child = draw.random(ROWS) < 0.3
    outcome = draw.choice(["home", "moved", "died"], ROWS, p=[0.8, 0.15, 0.05]).astype(object)
    left[there] = outcome[there] = ""
    state = np.where(child | (draw.random(ROWS) < 0.4), "single", "married")
    smoker = np.where(child, "true", "false")
    return pd.DataFrame({"admitted": admitted, "left": left, "outcome": outcome, "child": smoker, "state": state})


def shares(column, size):
    return np.bincount(column, minlength=size) / len(column)


@pytest.mark.parametrize(
    "algorithm",
    long_but(["privbayes"], ["dp-subn", "privbayes", "aim", "mst", "copula", "privhd", "jtree"]),
)
def test_rows_meet_the_rules_and_marginals_stay(tmp_path, algorithm):
    ruled = parse_schema({"fields": FIELDS, "rowConstraints": RULES}, "s")
    plain = parse_schema({"fields": FIELDS}, "s")
    # So much that noise decides little: what is tested is the rules.
    release, _ = release_of(tmp_path, algorithm, stays().map(str), ruled, "20")
    document = json.loads(json.dumps(release.model.to_dict()))
    without = synthesise_release(load_model(document, plain, "m"), 8000, 1).table
    made = synthesise_release(load_model(document, ruled, "m"), 8000, 1)
    frame = made.frame
    there = frame["left"] != ""
    assert (frame["admitted"][there] <= frame["left"][there].astype(int)).all()
    assert (frame["outcome"][~there] == "").all()
    assert set(frame["state"][frame["child"] == "true"]) == {"single"}
    assert [entry["rule"] for entry in made.documents()["constraints"]] == RULES
    assert all(entry.get("enforced", True) for entry in made.documents()["constraints"])
    assert (frame["sum"][there] == (frame["admitted"] + frame["left"].where(there, 0).astype(int))[there]).all()
    assert (frame["sum"][~there] == "").all()
    assert list(frame.columns) == [field["name"] for field in FIELDS]
    numbers = {"home": 1, "moved": 2, "died": 3, "": ""}
    assert (frame["outcome-no"] == frame["outcome"].map(numbers)).all()
    # The codes of the table are those of its values, which were drawn again within their bins.
    again = encode(frame.map(str), ruled, "t")
    assert all(np.array_equal(*columns) for columns in zip(again.columns, made.table.columns, strict=True))
    for place, size in enumerate(ruled.domain):
        apart = 0.5 * np.abs(shares(without.columns[place], size) - shares(made.table.columns[place], size)).sum()
        assert apart < 0.03, ruled.names[place]
