"""Every type round-trips: a value that is drawn, and written in any form, has its code, format and precision."""

from __future__ import annotations

import csv
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.attribute import TYPES
from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.data.temporal import temporal
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.data.written_values import as_arrow, as_pandas, as_texts
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table

FORMATS = {
    "date": [DEFAULT, "%d.%m.%Y", "%m/%d/%Y"],
    "time": [DEFAULT, "%H:%M", "%I:%M:%S %p"],
    "datetime": [DEFAULT, "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S"],
    "duration": [DEFAULT, "%H:%M:%S", "PT%MM"],
}
RANGES = {"date": (-50_000, 80_000), "time": (0, 23), "datetime": (-(10**7), 10**8), "duration": (0, 10**6)}


@st.composite
def fields(draw, name):
    kind = draw(st.sampled_from(TYPES))
    item = {"name": name, "type": kind}
    if kind in FORMATS:
        form = draw(st.sampled_from(FORMATS[kind]))
        if form != DEFAULT:
            item["format"] = form
        elif kind != "date" and draw(st.booleans()):
            item["decimals"] = draw(st.integers(0, 6))
        if kind == "datetime" and form == DEFAULT and draw(st.booleans()):
            item["timezone"] = draw(st.sampled_from(["UTC", "+01:00", "Europe/Vienna"]))
        written = temporal(kind, form, item.get("decimals"), item.get("timezone"))
        numbers = sorted(draw(st.lists(st.integers(*RANGES[kind]), min_size=3, max_size=6, unique=True)))
        texts = [written.iso(number) for number in numbers]
        item["categories" if draw(st.booleans()) else "edges"] = texts
    elif kind == "string":
        item["categories"] = draw(st.lists(st.text("abcé ,'\"1", min_size=1), min_size=2, max_size=5, unique=True))
    elif kind == "integer":
        key, least = draw(st.sampled_from([("categories", -(2**63) + 1), ("edges", -(2**61))]))
        item[key] = sorted(draw(st.lists(st.integers(least, -least), min_size=3, max_size=5, unique=True)))
    elif kind == "number":
        decimals = draw(st.integers(0, 4))
        points = draw(st.lists(st.integers(-(10**17), 10**17), min_size=3, max_size=5, unique=True))
        item |= {"decimals": decimals, "edges": [Decimal(point).scaleb(-decimals) for point in sorted(points)]}
    if draw(st.booleans()):
        item["missingValues"] = ["n/a", ""]
    return item


@st.composite
def tables(draw):
    fields_of = [draw(fields(f"x{place}")) for place in range(draw(st.integers(1, 4)))]
    schema = parse_schema({"fields": fields_of}, "drawn")
    rows = draw(st.integers(1, 20))
    columns = [draw(st.lists(st.integers(0, size - 1), min_size=rows, max_size=rows)) for size in schema.domain]
    return CodedTable(schema, tuple(map(np.array, columns)))


def assert_same(one: CodedTable, other: CodedTable) -> None:
    for name, left, right in zip(one.schema.names, one.columns, other.columns, strict=True):
        assert left.tolist() == right.tolist(), name


def keys_as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Integers from 2^53 on are read of a frame as texts only (docs/python.md)."""
    return frame.astype({name: "string" for name in frame if str(frame[name].dtype) in ("Int64", "int64[pyarrow]")})


@given(table=tables(), seed=st.integers(0, 2**32))
def test_whatever_is_drawn_has_its_code_in_every_form(tmp_path_factory, table, seed):
    schema, folder = table.schema, tmp_path_factory.mktemp("forms")
    assert parse_schema(schema.table_schema(), "again") == schema
    frame = decode(table, np.random.default_rng(seed))
    write_csv(as_texts(frame, schema), folder / "t.csv")
    assert_same(table, read_table(folder / "t.csv", schema))
    assert_same(table, encode(keys_as_texts(as_pandas(frame, schema)), schema, "pandas"))
    of_arrow = as_arrow(frame, schema).to_pandas(types_mapper=pd.ArrowDtype)
    assert_same(table, encode(keys_as_texts(of_arrow), schema, "Arrow"))


@settings(max_examples=10)
@given(table=tables(), seed=st.integers(0, 2**32))
def test_a_parquet_file_of_the_rows_has_their_codes(tmp_path_factory, table, seed):
    file = tmp_path_factory.mktemp("parquet") / "t.parquet"
    pq.write_table(as_arrow(decode(table, np.random.default_rng(seed)), table.schema), file)
    assert_same(table, load_table(parse_address(str(file)), table.schema))


ONE_OF_EACH = parse_schema({"fields": [
    {"name": "text", "type": "string", "categories": ["a", "b"], "missingValues": ["NA"]},
    {"name": "yes", "type": "boolean"},
    {"name": "yes or none", "type": "boolean", "missingValues": [""]},
    {"name": "whole", "type": "integer", "edges": [0, 5, 9], "missingValues": ["", "-9"]},
    {"name": "key", "type": "integer", "edges": [2**60, 2**60 + 5, 2**60 + 9]},
    {"name": "huge", "type": "integer", "categories": [0, 10**30]},
    {"name": "real", "type": "number", "edges": [0, 0.5, 1], "missingValues": [""]},
    {"name": "money", "type": "number", "decimals": 2, "edges": [0, "12345678901234567.89", "22345678901234567.89"]},
    {"name": "day", "type": "date", "format": "%d.%m.%Y", "edges": ["2020-01-01", "2020-02-01", "2020-03-01"],
     "missingValues": [""]},
    {"name": "clock", "type": "time", "format": "%H:%M", "edges": ["00:00", "12:00", "23:59"]},
    {"name": "moment", "type": "datetime", "decimals": 3, "edges": ["2020-01-01", "2020-02-01", "2020-03-01"]},
    {"name": "point", "type": "datetime", "timezone": "Europe/Vienna",
     "edges": ["2020-01-01T00:00:00Z", "2020-07-01T00:00:00Z", "2021-01-01T00:00:00Z"]},
    {"name": "length", "type": "duration", "edges": ["PT0S", "PT1H", "P9D"], "missingValues": [""]},
]}, "s")  # fmt: skip


def drawn(missing: bool) -> pd.DataFrame:
    """Rows of ``ONE_OF_EACH``; every other row has the last code, which is that of a missing value if there is one."""
    codes = [np.array([0, size - 1 if missing else 0] * 50) for size in ONE_OF_EACH.domain]
    return decode(CodedTable(ONE_OF_EACH, tuple(codes)), np.random.default_rng(1))


def test_a_csv_file_has_the_declared_formats(tmp_path):
    write_csv(as_texts(drawn(missing=True), ONE_OF_EACH), tmp_path / "t.csv")
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        first, second, *_ = csv.DictReader(file)
    forms = {
        "text": "a", "yes": "false", "yes or none": "false", "whole": r"\d", "key": r"11529215046068\d{5}", "huge": "0",
        "real": r"0\.\d+", "money": r"\d+\.\d\d", "day": r"\d\d\.01\.2020", "clock": r"\d\d:\d\d",
        "moment": r"2020-01-\d\dT\d\d:\d\d:\d\d\.\d{3}", "point": r"2020-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00",
        "length": r"PT[0-9HMS]+",
    }  # fmt: skip
    assert [name for name, form in forms.items() if not re.fullmatch(form, first[name])] == []
    missing = {
        name: second[name] for name, a in zip(ONE_OF_EACH.names, ONE_OF_EACH.attributes, strict=True) if a.missing
    }
    assert missing == {"text": "NA", "yes or none": "", "whole": "", "real": "", "day": "", "length": ""}
    assert second["huge"] == str(10**30)


def test_parquet_has_the_types_and_null_only_where_it_is_declared():
    table = as_arrow(drawn(missing=True), ONE_OF_EACH)
    assert {field.name: str(field.type) for field in table.schema} == {
        "text": "string", "yes": "bool", "yes or none": "bool", "whole": "int64", "key": "int64",
        "huge": "decimal128(38, 0)", "real": "double", "money": "decimal128(38, 2)", "day": "date32[day]",
        "clock": "time64[us]", "moment": "timestamp[ms]", "point": "timestamp[ms, tz=Europe/Vienna]",
        "length": "duration[ms]",
    }  # fmt: skip
    declared = {a.name for a in ONE_OF_EACH.attributes if a.missing}
    assert {field.name for field in table.schema if field.nullable} == declared
    assert {name for name in table.column_names if table[name].null_count == 50} == declared
    assert table["huge"][1].as_py() == Decimal(10**30)
    assert pa.types.is_decimal(table["money"].type)


def test_pandas_has_columns_of_the_types():
    assert {name: str(dtype) for name, dtype in as_pandas(drawn(missing=True), ONE_OF_EACH).dtypes.items()} == {
        "text": "str", "yes": "bool", "yes or none": "boolean", "whole": "Int64", "key": "Int64", "huge": "object",
        "real": "float64", "money": "object", "day": "datetime64[us]", "clock": "object", "moment": "datetime64[us]",
        "point": "datetime64[us, Europe/Vienna]", "length": "timedelta64[us]",
    }  # fmt: skip
    frame = as_pandas(drawn(missing=True), ONE_OF_EACH)
    declared = {a.name for a in ONE_OF_EACH.attributes if a.missing}
    assert {name for name in frame if frame[name].isna().sum() == 50} == declared
    assert not as_pandas(drawn(missing=False), ONE_OF_EACH).isna().any().any()
