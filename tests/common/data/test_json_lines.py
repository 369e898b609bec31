"""JSON lines are read as the CSV file of the same texts."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.csv_text import csv_rows, open_text
from privity.common.data.dialect import COMMON
from privity.common.data.file_look import look_at
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.common.data.table_reading import read_table
from privity.common.errors import PrivityError

LINES = [
    '{"n": 9007199254740993, "x": 1.50, "s": "a,\\"b", "t": true, "gone": null}',
    "",
    '{"s": "c", "n": 7, "late": ["q"]}',
]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.csv.gz"])
def test_each_value_is_its_text(tmp_path, name):
    data = "\n".join(LINES).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with open_text(tmp_path / name, COMMON) as text:
        assert list(csv_rows(text, COMMON)) == [
            ["n", "x", "s", "t", "gone", "late"],
            ["9007199254740993", "1.50", 'a,"b', "true", "", ""],
            ["7", "", "c", "", "", '["q"]'],
        ]


@given(
    cells=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5),
    delimiter=st.sampled_from([",", ";", "|"]),
)
def test_every_text_comes_through_in_every_dialect(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    path.write_text("".join(json.dumps({"a": cell, "b": "1"}) + "\n" for cell in cells))
    dialect = COMMON.changed({"delimiter": delimiter})
    with open_text(path, dialect) as text:
        assert list(csv_rows(text, dialect)) == [["a", "b"], *([cell, "1"] for cell in cells)]


def test_a_draft_of_json_lines_is_read(tmp_path):
    lines = [
        {"age": place % 50, "ward": f"Ward {place % 3}", "seen": None if place % 4 else "yes"} for place in range(200)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    draft = drafted(look_at(tmp_path / "t.jsonl")).document
    assert [field["type"] for field in draft["fields"]] == ["integer", "string", "string"]
    assert read_table(tmp_path / "t.jsonl", parse_schema(draft, "draft")).rows == 200


@pytest.mark.parametrize("line", ["[1]", "{", "5", '{"a": 1} x'])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    (tmp_path / "t.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(PrivityError, match="line 2 is no JSON object"):
        look_at(tmp_path / "t.jsonl")
