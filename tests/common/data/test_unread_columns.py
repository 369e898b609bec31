"""Constants, keys and types of columns: exact, never read, and the same whatever is drawn."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.cast_columns import as_types
from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.file_look import look_at
from privity.common.data.key_columns import looks_like_weight
from privity.common.data.row_texts import disagreeing
from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import drafted
from privity.common.data.schema_review import declared_public, undeclared_in_words
from privity.common.data.table_reading import encode
from privity.common.data.unread_columns import with_unread
from privity.common.data.written_values import as_arrow, as_pandas, as_texts
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.release.rows_file import read_decoded

READ = {"name": "a", "type": "integer", "edges": [0, 3, 9]}
CONSTANTS = [
    ({"type": "string", "constant": "AT"}, "AT"),
    ({"type": "integer", "constant": -7}, "-7"),
    ({"type": "integer", "constant": 10**20}, str(10**20)),
    ({"type": "number", "constant": 1.25}, "1.25"),
    ({"type": "boolean", "constant": False}, "false"),
    ({"type": "boolean", "constant": True, "format": "TRUE/FALSE"}, "TRUE"),
    ({"type": "date", "constant": "2024-02-29", "format": "%d.%m.%Y"}, "29.02.2024"),
    ({"type": "time", "constant": "12:30:00"}, "12:30:00"),
    ({"type": "datetime", "constant": "2024-02-29T12:00:00+01:00", "timezone": "Europe/Vienna"},
     "2024-02-29T12:00:00+01:00"),
    ({"type": "duration", "constant": "PT90M"}, "PT1H30M"),
]  # fmt: skip


def schema_of(*fields, **more):
    return parse_schema({"fields": [*fields, READ], **more}, "s")


def drawn(schema, rows=20, seed=1, skipped=0):
    generator = np.random.default_rng(seed)
    table = CodedTable(schema, tuple(generator.integers(0, size, rows) for size in schema.domain))
    return with_unread(decode(table, generator), schema.attributes, schema.unread, generator, skipped)


def rules(*fields):
    with pytest.raises(ProblemsFound) as found:
        schema_of(*fields)
    return [(problem.field, problem.rule) for problem in found.value.problems]


@pytest.mark.parametrize(("field", "text"), CONSTANTS)
def test_a_constant_is_that_value_in_every_row_and_form(field, text, tmp_path):
    schema = schema_of({"name": "k", **field})
    frame = drawn(schema)
    assert schema.names == ("a",)
    assert set(as_texts(frame, schema)["k"].astype(str)) == {text}
    assert as_pandas(frame, schema)["k"].nunique() == 1
    assert as_arrow(frame, schema)["k"].null_count == 0
    assert parse_schema(schema.table_schema(), "s") == schema
    write_csv(as_texts(frame, schema), tmp_path / "t.csv")
    again = read_decoded(tmp_path / "t.csv", schema)
    pd.testing.assert_frame_equal(as_pandas(again, schema), as_pandas(frame, schema))
    # Its column is not read, whatever stands there, and need not be there.
    texts = as_texts(frame, schema).astype(str)
    for other in (texts, texts.assign(k="?"), texts.drop(columns="k")):
        assert encode(other, schema, "t").rows == len(texts)
    (column,) = schema.unread
    assert not disagreeing(column, {"k": [text] * 3}, {}).any()
    assert disagreeing(column, {"k": [text, "?", ""]}, {}).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "constant": 5}, {"type": "integer", "constant": 1.5},
        {"type": "boolean", "constant": "true"},
        {"type": "integer", "constant": True}, {"type": "date", "constant": "tomorrow"},
        {"type": "string", "constant": "a\tb"}, {"type": "string", "constant": "a", "empty": True},
        {"type": "string", "constant": "a", "categories": ["a"]}, {"type": "string", "constant": "a", "start": 3},
    ],
)  # fmt: skip
def test_a_constant_that_cannot_be_is_refused(field):
    assert {where.split(".")[0] for where, _ in rules({"name": "k", **field})} == {"fields[0]"}


def test_a_constant_read_off_rows_is_declared_public_like_any_field():
    field = {"name": "k", "type": "string", "constant": "AT", "readOffRows": "undeclared"}
    schema = schema_of(field)
    assert schema.undeclared == ("k",)
    assert undeclared_in_words(schema, schema.table_schema()) == {"k": "string, always 'AT'"}
    with pytest.raises(PrivityError):
        schema.require_reviewed(None)
    public = parse_schema(declared_public(schema.table_schema(), ["k"], "data owner"), "s")
    assert public.stated["read_off_rows"] == [{"attributes": ["k"], "declared_by": "data owner"}]
    other = schema_of({**field, "constant": "DE", "readOffRows": "data owner"})
    plain = schema_of({"name": "k", "type": "string", "constant": "AT"})
    assert len({schema.digest, public.digest, other.digest, plain.digest}) == 4
    assert plain.digest == schema_of({"name": "k", "type": "string", "constant": "DE"}).digest == schema_of().digest


def draft(path, frame, **how):
    frame.to_csv(path, index=False)
    found = drafted(look_at(path), **how)
    return {field["name"]: field for field in found.document["fields"]}, found


def test_columns_of_one_value_are_drafted_as_constants(tmp_path):
    rows = 150
    frame = pd.DataFrame({
        "land": "AT", "nothing": "", "zero": 0, "half": 0.5, "day": "29.02.2024", "yes": "TRUE", "code": "007",
        "x": [["u", "v", "w"][row % 3] for row in range(rows)], "survey_weight": range(1, rows + 1),
        "body_weight": [50.5 + row % 40 for row in range(rows)],
    })  # fmt: skip
    fields, found = draft(tmp_path / "t.csv", frame)
    constants = {name: field["constant"] for name, field in fields.items() if "constant" in field}
    assert constants == {"land": "AT", "zero": 0, "half": 0.5, "day": "2024-02-29", "yes": True, "code": "007"}
    assert fields["nothing"]["empty"] is True
    assert "survey_weight" not in fields
    assert "body_weight" in fields
    assert {field["readOffRows"] for field in fields.values()} == {"undeclared"}
    said = " ".join(found.findings)
    assert "left out as survey weights" in said
    assert "one value in every row" in said
    schema = parse_schema(found.document, "s")
    assert set(schema.names) == {"x", "body_weight"}
    kept, _ = draft(tmp_path / "k.csv", frame, keep=["survey_weight"])
    assert kept["survey_weight"]["type"] == "integer"
    alone, _ = draft(tmp_path / "a.csv", frame[["land"]])
    assert "constant" not in alone["land"]


@pytest.mark.parametrize(
    ("name", "weight"),
    [("fnlwgt", True), ("surveyWeight", True), ("person_wt", True), ("SAMPLE-WEIGHT", True), ("weight", False),
     ("body_weight", False), ("birth weight", False), ("final_grade", False), ("WTFA", True)],
)  # fmt: skip
def test_survey_weights_are_known_by_their_names(name, weight):
    assert looks_like_weight(name) is weight


@given(start=st.integers(0, 10**6), skipped=st.integers(0, 10**6), rows=st.integers(1, 30), width=st.integers(1, 8))
def test_keys_go_on_after_those_of_other_tables(start, skipped, rows, width):
    pattern = "P-" + "#" * width + "/x"
    schema = schema_of(
        {"name": "n", "type": "integer", "generate": "number", "start": start},
        {"name": "p", "type": "string", "generate": "number", "pattern": pattern, "start": start},
    )
    first, second = drawn(schema, rows, skipped=skipped), drawn(schema, 5, skipped=skipped + rows)
    numbers = [*first["n"], *second["n"]]
    assert numbers == list(range(start + skipped, start + skipped + rows + 5))
    assert [*first["p"], *second["p"]] == [f"P-{number:0{width}}/x" for number in numbers]


def test_keys_that_cannot_be_are_refused():
    key = {"name": "n", "generate": "number"}
    assert rules({**key, "type": "integer", "pattern": "P##"}) == [("fields[0].type", "unread-column")]
    assert rules({**key, "type": "string"}) == [("fields[0].type", "unread-column")]
    assert rules({"name": "n", "type": "string", "generate": "uuid", "start": 4}) == [
        ("fields[0].start", "unread-column")
    ]
    for pattern in ("P", "#-#", "P\n#"):
        assert rules({**key, "type": "string", "pattern": pattern})


FIELDS = [
    {"name": "day", "type": "date", "format": "%d.%m.%Y", "edges": ["2024-01-01", "2024-02-01", "2024-03-01"]},
    {"name": "when", "type": "datetime", "edges": ["2024-01-01", "2024-02-01"], "missingValues": [""]},
    {"name": "wait", "type": "duration", "edges": ["PT1H", "PT5H"]},
    {"name": "n", "type": "integer", "edges": [0, 300], "missingValues": ["NA"]},
    {"name": "x", "type": "number", "edges": [0, 1], "decimals": 3},
    {"name": "w", "type": "string", "categories": ["u", "v"], "missingValues": [""]},
    {"name": "flag", "type": "boolean"},
]


def test_types_of_columns_follow_from_the_schema_alone():
    schema = parse_schema({"fields": FIELDS}, "s")
    expected = {
        "day": "datetime64[us]", "when": "datetime64[us]", "wait": "timedelta64[us]", "n": "Int64", "x": "float64",
        "w": "str", "flag": "bool",
    }  # fmt: skip
    for rows, seed in ((0, 1), (1, 2), (50, 3)):
        frame = as_pandas(drawn(schema, rows, seed), schema)
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == expected


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("day", "datetime64[s]"), ("day", "str"), ("when", "datetime64[ns]"), ("wait", "timedelta64[s]"), ("n", "Int16"),
     ("n", "float32"), ("x", "float32"), ("w", pd.CategoricalDtype(["u", "v", "z"])), ("w", "object"),
     ("flag", "Int8"), ("flag", "str"), ("day", "string[pyarrow]"), ("n", "str")],
)  # fmt: skip
def test_columns_are_cast_to_types_that_hold_them(name, dtype):
    schema = parse_schema({"fields": FIELDS}, "s")
    rows = drawn(schema, 60)
    plain, cast = as_pandas(rows, schema), as_types(rows, schema, {name: dtype})
    assert cast[name].dtype == pd.api.types.pandas_dtype(dtype)
    assert (cast[name].isna() == plain[name].isna()).all()
    assert cast.drop(columns=name).equals(plain.drop(columns=name))
    real = as_types(rows, schema, cast.dtypes)
    assert dict(real.dtypes) == dict(cast.dtypes)
    if str(dtype) == "str":
        texts = as_texts(rows, schema)[name].astype(str)
        assert cast[name].dropna().tolist() == texts[~plain[name].isna()].tolist()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("n", "int8"), ("n", "int64"), ("x", "int64"), ("w", pd.CategoricalDtype(["u"])), ("when", "int32"), ("y", "str"),
     ("w", "nonsense"), ("w", "float64"), ("n", "uint8")],
)  # fmt: skip
def test_a_type_that_does_not_hold_the_values_is_refused(name, dtype):
    schema = parse_schema({"fields": FIELDS}, "s")
    with pytest.raises(PrivityError) as found:
        as_types(drawn(schema, 200), schema, {name: dtype})
    assert name in found.value.message
    assert json.dumps(found.value.message)
