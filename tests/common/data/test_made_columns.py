"""Totals and second faces: exact, in their place, and never read."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.row_texts import disagreeing
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.data.unread_columns import with_unread
from privity.common.data.written_values import as_arrow, as_texts
from privity.common.errors import ProblemsFound

FIELDS = [
    {"name": "total", "type": "number", "sum": ["drugs", "stay"], "less": ["refund"], "missingValues": ["", "NA"]},
    {"name": "drugs", "type": "number", "edges": [0, 10, 99.5, 1000], "decimals": 2, "missingValues": ["-"]},
    {"name": "stay", "type": "number", "categories": [100, 250, 400.5]},
    {"name": "grade", "type": "string", "categories": ["low", "mid", "high"], "missingValues": ["?"]},
    {"name": "grade-no", "type": "integer", "missingValues": ["NA"],
     "lookup": {"field": "grade", "values": {"low": 1, "mid": 2, "high": 1}}},
    {"name": "refund", "type": "integer", "edges": [0, 5, 20]},
]  # fmt: skip
NAMES = [field["name"] for field in FIELDS]


def schema_of(*fields):
    return parse_schema({"fields": list(fields or FIELDS)}, "s")


def written(schema, rows=500, seed=1):
    generator = np.random.default_rng(seed)
    table = CodedTable(schema, tuple(generator.integers(0, size, rows) for size in schema.domain))
    return with_unread(decode(table, generator), schema.attributes, schema.unread, generator)


def faults(*fields):
    with pytest.raises(ProblemsFound) as found:
        schema_of(*fields)
    return [(problem.field, problem.rule) for problem in found.value.problems]


def test_a_total_is_the_exact_sum_and_a_label_that_of_its_code():
    schema = schema_of()
    assert schema.names == ("drugs", "stay", "grade", "refund")
    frame = as_texts(written(schema), schema).astype(str)
    assert list(frame.columns) == NAMES
    for row in frame.to_dict("records"):
        if row["drugs"] == "-":
            assert row["total"] == ""
        else:
            assert Decimal(row["total"]) == Decimal(row["drugs"]) + Decimal(row["stay"]) - Decimal(row["refund"])
        assert row["grade-no"] == {"low": "1", "mid": "2", "high": "1", "?": "NA"}[row["grade"]]
    arrow = as_arrow(written(schema), schema)
    assert [str(arrow.schema.field(name).type) for name in ("total", "grade-no")] == ["double", "int64"]
    assert arrow["total"].null_count == arrow["drugs"].null_count > 0


@given(
    parts=st.lists(st.tuples(st.integers(-(10**7), 10**7), st.integers(0, 5)), min_size=1, max_size=4),
    seed=st.integers(0, 9),
)
def test_totals_of_decimals_of_any_precision_are_exact(parts, seed):
    fields = [
        {"name": f"p{place}", "type": "number", "edges": [low, low + 10, low + 1000], "decimals": decimals}
        for place, (low, decimals) in enumerate(parts)
    ]
    names = [field["name"] for field in fields]
    total = {"name": "t", "type": "number", "sum": names[:1], **({"less": names[1:]} if names[1:] else {})}
    frame = written(schema_of(*fields, total), 50, seed)
    for row in frame.to_dict("records"):
        values = [Decimal(str(row[name])) for name in names]
        assert Decimal(str(row["t"])) == values[0] - sum(values[1:])


def test_totals_of_more_digits_than_a_double_keeps_are_decimals():
    part = {"name": "a", "type": "number", "edges": [0, 10, 10**13], "decimals": 4}
    schema = schema_of(part, {**part, "name": "b"}, {"name": "t", "type": "number", "sum": ["a", "b"]})
    frame = as_texts(written(schema, 200), schema)
    assert all(Decimal(t) == Decimal(a) + Decimal(b) for a, b, t in zip(frame.a, frame.b, frame.t, strict=True))


def test_what_stands_in_the_columns_is_not_read_and_they_need_not_be_there():
    schema = schema_of()
    texts = as_texts(written(schema), schema).astype(str)
    codes = encode(texts, schema, "t")
    odd = encode(texts.assign(total="?", **{"grade-no": "x"}), schema, "t")
    without = encode(texts.drop(columns=["total", "grade-no"]), schema, "t")
    for other in (odd, without):
        assert [list(column) for column in other.columns] == [list(column) for column in codes.columns]


def test_rows_that_disagree_are_counted():
    schema = schema_of()
    texts = as_texts(written(schema), schema).astype(str)
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    total, label = schema.unread

    def count(column, frame):
        return disagreeing(column, {name: list(frame[name]) for name in frame}, attributes).tolist()

    assert not any(count(total, texts) + count(label, texts))
    there = np.flatnonzero(texts["drugs"] != "-")[:2]
    changed = texts.copy()
    changed.loc[there[0], "total"] = "1e9"
    changed.loc[there[1], "total"] = "NA"
    assert np.flatnonzero(count(total, changed)).tolist() == there.tolist()
    # The same number in other digits is the same.
    changed = texts.assign(total=[text + ("0" if "." in text else "") for text in texts["total"]])
    assert not any(count(total, changed))
    known = np.flatnonzero(texts["grade"] == "low")[0]
    unknown = np.flatnonzero(texts["grade"] == "?")[0]
    changed = texts.copy()
    changed.loc[[known, unknown], "grade-no"] = ["2", "1"]
    assert np.flatnonzero(count(label, changed)).tolist() == sorted([known, unknown])


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        ("string", {"false": "none", "true": "some"}, {"none", "some"}),
        ("number", {"false": 0.5, "true": 2}, {"0.5", "2.0"}),
        ("boolean", {"false": True, "true": False}, {"true", "false"}),
    ],
)
def test_a_boolean_may_have_a_second_face_of_any_type(kind, values, texts):
    base = {"name": "a", "type": "boolean"}
    schema = schema_of(base, {"name": "b", "type": kind, "lookup": {"field": "a", "values": values}})
    frame = as_texts(written(schema), schema)
    assert set(map(str, frame["b"])) == texts
    again = parse_schema(schema.table_schema(), "s")
    assert again == schema


def test_a_schema_of_some_attributes_has_the_columns_that_follow_from_these():
    schema = schema_of()
    assert [column.name for column in schema.over(["grade", "stay"]).unread] == ["grade-no"]
    frame = written(schema.over(["stay", "drugs", "refund"]))
    assert list(frame.columns) == ["total", "drugs", "stay", "refund"]


def test_faults_of_what_follows():
    number = {"name": "a", "type": "number", "edges": [0, 1, 2], "missingValues": [""]}
    text = {"name": "s", "type": "string", "categories": ["x", "y"]}
    made = {"name": "m", "type": "integer"}
    assert faults(number, {**made, "sum": ["a", "b"]}) == [("fields[1].sum", "made-column")] * 2
    assert faults(number, {**made, "type": "number", "sum": ["a"]}) == [("fields[1].missingValues", "made-column")]
    assert faults(number, {**made, "type": "number", "less": ["a"]})[0] == ("fields[1].less", "made-column")
    assert faults(text, {**made, "sum": ["s"]}) == [("fields[1].sum", "made-column")]
    assert faults(text, {**made, "sum": ["s"], "empty": True})[0][1] == "unread-column"
    assert faults(text, {**made, "sum": ["s"], "bins": 4})[0] == ("fields[1].bins", "unread-column")
    values = {"x": 1, "z": 2}
    lookup = {**made, "lookup": {"field": "s", "values": values}}
    assert faults(text, lookup) == [("fields[1].lookup", "made-column")] * 2
    assert faults(text, {**lookup, "lookup": {"field": "s", "values": {"x": 1, "y": "2"}}})[0][1] == "made-column"
    assert faults(number, {**lookup, "lookup": {"field": "a", "values": values}}) == [
        ("fields[1].lookup", "made-column")
    ]
    large = {"name": "a", "type": "integer", "edges": [0, 2**61, 2**62]}
    pair = {"name": "m", "type": "integer", "sum": ["a", "b", "c"]}
    assert faults(large, {**large, "name": "b"}, {**large, "name": "c"}, pair) == [("fields[3].sum", "number-range")]


def test_columns_stand_where_they_were_declared_in_a_frame_of_no_rows():
    schema = schema_of()
    assert list(written(schema, 0).columns) == NAMES
    assert isinstance(written(schema, 0), pd.DataFrame)


@given(days=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_a_date_is_another_one_and_a_number_of_days(days, seed):
    schema = schema_of(
        {"name": "end", "type": "date", "sum": ["start", "stay"], "less": ["off"], "format": "%d.%m.%Y",
         "missingValues": ["-"]},
        {"name": "start", "type": "date", "edges": ["2023-12-01", "2024-02-01", "2024-03-02"]},
        {"name": "stay", "type": "integer", "edges": [0, 3, 40, 900], "missingValues": ["-"]},
        {"name": "off", "type": "integer", "categories": [0, 1]},
    )  # fmt: skip
    generator = np.random.default_rng(seed)
    codes = (np.array([day[0] for day in days]), np.array([day[1] for day in days]), np.zeros(len(days), dtype=int))
    frame = with_unread(decode(CodedTable(schema, codes), generator), schema.attributes, schema.unread, generator)
    for row in as_texts(frame, schema).astype(str).to_dict("records"):
        if row["stay"] == "-":
            assert row["end"] == "-"
        else:
            wanted = date.fromisoformat(row["start"]) + timedelta(int(row["stay"]) - int(row["off"]))
            assert row["end"] == f"{wanted:%d.%m.%Y}"
    assert str(as_arrow(frame, schema).schema.field("end").type).startswith("date32")
    assert parse_schema(schema.table_schema(), "t") == schema


@pytest.mark.parametrize("form", [{}, {"format": "%y%m%d"}])
def test_a_date_beyond_the_calendar_is_its_last_day(form):
    ends = ["2060-01-01", "2060-01-02"] if form else ["9990-01-01", "9990-01-02"]
    schema = schema_of(
        {"name": "start", "type": "date", "edges": ends, **form},
        {"name": "stay", "type": "integer", "edges": [40_000, 41_000]},
        {"name": "end", "type": "date", "sum": ["start", "stay"], **form},
    )
    assert set(as_texts(written(schema, 3), schema)["end"]) == ({"681231"} if form else {"9999-12-31"})


@pytest.mark.parametrize(
    ("total", "key"),
    [
        ({"type": "date", "sum": ["day", "again"]}, "sum"),
        ({"type": "date", "sum": ["n"]}, "sum"),
        ({"type": "date", "sum": ["n"], "less": ["day"]}, "sum"),
        ({"type": "date", "sum": ["day", "x"]}, "sum"),
        ({"type": "datetime", "sum": ["day", "n"]}, "sum"),
        ({"type": "datetime", "sum": ["when", "n"], "decimals": 3}, "sum"),
        ({"type": "datetime", "sum": ["when", "n"], "timezone": "UTC"}, "sum"),
        ({"type": "integer", "sum": ["day"]}, "sum"),
        ({"type": "time", "sum": ["n"]}, "type"),
        ({"type": "date", "sum": ["day", "n"], "format": "%d/%m"}, "format"),
    ],
)
def test_parts_that_make_no_date_are_refused(total, key):
    fields = [
        {"name": "day", "type": "date", "domain": "discover"}, {"name": "again", "type": "date", "domain": "discover"},
        {"name": "when", "type": "datetime", "domain": "discover"},
        *({"name": name, "type": kind, "domain": "discover"} for name, kind in (("n", "integer"), ("x", "number"))),
    ]  # fmt: skip
    assert faults(*fields, {"name": "made", **total})[0][0] == f"fields[5].{key}"
