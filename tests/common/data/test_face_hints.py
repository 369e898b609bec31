"""A draft points at columns that are two faces of one attribute, with a field that can be declared."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from privity.common.data.face_hints import face_hints
from privity.common.data.file_look import look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.common.data.table_reading import read_batches

GRADES = {"low": "1", "mid": "2", "high": "3", "": ""}


def hints(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    draft = drafted(look_at(path)).document
    return draft, face_hints(draft["fields"], read_batches(path))


def rows(**more):
    grade = np.random.default_rng(1).choice(list(GRADES), 400)
    return pd.DataFrame({"no": [GRADES[g] for g in grade], "grade": grade, **more})


def test_a_code_and_its_label_are_pointed_at_and_the_field_can_be_declared(tmp_path):
    draft, (hint,) = hints(tmp_path, rows(other=np.random.default_rng(2).choice(["x", "y", "z", ""], 400)))
    assert hint.startswith("no follows from grade in every row.")
    field = json.loads(hint[hint.index("{") :])
    values = {"low": 1, "mid": 2, "high": 3}
    assert field == {
        "name": "no",
        "type": "integer",
        "missingValues": [""],
        "lookup": {"field": "grade", "values": values},
    }
    fields = [field if one["name"] == "no" else one for one in draft["fields"]]
    assert parse_schema({**draft, "fields": fields}, "s").names == ("grade", "other")


def test_a_column_that_disagrees_once_is_not(tmp_path):
    frame = rows()
    frame.loc[7, "no"] = "2" if frame.loc[7, "no"] != "2" else "3"
    assert hints(tmp_path, frame)[1] == []


def test_of_three_faces_each_follows_from_the_first(tmp_path):
    frame = rows()
    found = hints(tmp_path, frame.assign(word=frame["grade"].map(lambda text: text.upper())))[1]
    assert [hint.split(" in every row")[0] for hint in found] == ["no follows from grade", "word follows from grade"]
