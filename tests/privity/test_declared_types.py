"""The types of an open schema: a person writes them, or declares that those which are stored are public."""

from __future__ import annotations

import ast
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privity import OneWay, Schema, declare_population
from privity.column_types import NOT_PRIVATE, open_schema
from privity.common.data.joined_schemas import join_schemas
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.ledger_folder import open_ledger

TYPES = {"age": "integer", "ward": "string", "well": "boolean"}
SPENT = {"epsilon": 4, "delta": 1e-6, "population": "people"}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("people", total_epsilon=50, total_delta=1e-3)


def columns(rows: int = 2000) -> dict[str, list]:
    draw = np.random.default_rng(3)
    return {
        "age": draw.integers(18, 90, rows).tolist(),
        "ward": draw.choice(["north", "south"], rows).tolist(),
        "well": (draw.random(rows) < 0.3).tolist(),
    }


def tables(folder: Path) -> list[object]:
    frame = pl.DataFrame(columns())
    frame.write_parquet(folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", frame.to_arrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    relation = duckdb.connect().from_arrow(frame.to_arrow())
    stored = [folder / "t.parquet", f"duckdb:///{folder}/t.duckdb#t"]
    return [pd.DataFrame(columns()), frame, frame.lazy(), pa.table(columns()), relation, *stored]


def spent() -> tuple[object, object]:
    with closing(open_ledger("people")) as ledger:
        return ledger.spent(), ledger.spent_delta()


def test_without_types_no_table_is_discovered_and_what_the_error_names_mends_it(tmp_path):
    for table in tables(tmp_path):
        with pytest.raises(PrivityError) as refused:
            Schema.discover(table, **SPENT)
        assert "types: nobody declared those of 'age', 'ward', 'well', and one row can change" in str(refused.value)
        assert "print(Schema.draft_types(table))" in str(refused.value)
        assert spent() == (0, 0)
        printed = Schema.draft_types(table)
        assert printed.startswith(NOT_PRIVATE)
        assert ast.literal_eval(printed) == TYPES
    found = Schema.discover(table, types=ast.literal_eval(printed), **SPENT)
    assert [field.type for field in found] == list(TYPES.values())
    assert "types" not in found.table_schema()


def test_types_as_stored_are_declared_by_whoever_says_so_and_the_schema_keeps_it(tmp_path):
    for place, table in enumerate(tables(tmp_path)[::2]):
        found = Schema.discover(table, types="as stored", **SPENT)
        assert {field.name: field.type for field in found} == TYPES
        assert found.table_schema()["types"] == "as stored"
        assert "types as stored, which whoever discovered it declared to be public" in repr(found)
        found.save(tmp_path / f"{place}.json")
        read = load_schema(tmp_path / f"{place}.json")
        assert read.stored_types
        assert read.digest == found.digest
    assert (
        OneWay(1, population="people").fit(pd.DataFrame(columns()), found).schema_.table_schema()["types"]
        == "as stored"
    )
    assert found.over(["age"]).table_schema()["types"] == "as stored"
    written = Schema({key: value for key, value in found.table_schema().items() if key != "types"})
    joined = join_schemas({"a": load_schema(tmp_path / "0.json"), "b": load_schema(tmp_path / "0.json")})
    assert joined.stored_types
    assert written.digest != found.digest, "members agree on whose word the types are"


def test_a_row_more_changes_no_type_and_is_refused_by_itself_where_it_does_not_fit():
    frame = pd.DataFrame(columns())
    for changed in (None, 44.0):
        other = pd.concat([frame, pd.DataFrame({**{name: [frame[name][0]] for name in frame}, "age": [changed]})])
        found = Schema.discover(other, types=TYPES, **SPENT)
        assert [field.type for field in found] == list(TYPES.values())
    paid = spent()
    for changed in ("?", 44.5):
        other = pd.concat([frame, pd.DataFrame({**{name: [frame[name][0]] for name in frame}, "age": [changed]})])
        with pytest.raises(ProblemsFound, match=r"age: \[out-of-domain\]"):
            Schema.discover(other, types=TYPES, **SPENT)
    assert spent() == paid
    types = {**TYPES, "age": {"type": "integer", "missingValues": ["", "?"]}}
    marked = pd.concat([frame, frame.head(1).assign(age="?")])
    assert Schema.discover(marked, types=types, **SPENT)["age"].missing_values == ["", "?"]


MOMENT = datetime(2024, 2, 29, 12, 30)
EACH: dict[str, tuple[pl.Series, object]] = {
    "text": (pl.Series(["a", None]), "string"),
    "category": (pl.Series(["a", None], dtype=pl.Categorical), "string"),
    "enum": (pl.Series(["a", None], dtype=pl.Enum(["a", "b"])), "string"),
    "small": (pl.Series([1, None], dtype=pl.Int8), "integer"),
    "large": (pl.Series([1, None], dtype=pl.UInt64), "integer"),
    "single": (pl.Series([0.5, None], dtype=pl.Float32), "number"),
    "price": (pl.Series([Decimal("1.50"), None]), "number"),
    "whole": (pl.Series([Decimal(1), None], dtype=pl.Decimal(20, 0)), "integer"),
    "flag": (pl.Series([True, None]), "boolean"),
    "day": (pl.Series([date(2024, 2, 29), None]), "date"),
    "moment": (pl.Series([MOMENT, None]), "datetime"),
    "instant": (pl.Series([MOMENT.replace(tzinfo=UTC), None]), {"type": "datetime", "timezone": "UTC"}),
    "clock": (pl.Series([time(12, 30), None]), "time"),
    "length": (pl.Series([timedelta(hours=1), None]), "duration"),
}


def test_every_type_of_polars_is_read_drafted_and_taken_as_it_is_stored():
    frame = pl.DataFrame({name: column for name, (column, _) in EACH.items()})
    expected = {name: kind for name, (_, kind) in EACH.items()}
    assert ast.literal_eval(Schema.draft_types(frame)) == expected
    fields = open_schema(frame, "as stored")["fields"]
    found = {field["name"]: field["type"] for field in fields}
    assert found == {name: kind["type"] if isinstance(kind, dict) else kind for name, kind in expected.items()}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_every_type_of_texts_is_one(kind):
    texts = pa.array(["a", None], kind)
    table = pa.table({"x": texts, "y": pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), texts)})
    assert [field["type"] for field in open_schema(table, "as stored")["fields"]] == ["string", "string"]


def test_texts_of_polars_are_discovered():
    frame = pl.DataFrame(columns()).with_columns(kind=pl.col("ward").cast(pl.Categorical))
    found = Schema.discover(frame, types={**TYPES, "kind": "string"}, **SPENT)
    assert set(found["ward"].categories) == set(found["kind"].categories) == {"north", "south", "(other)"}


def test_types_of_pandas_are_those_of_their_dtypes():
    moments = pd.Series([pd.Timestamp("2024-02-29", tz="Europe/Vienna")] * 3)
    frame = pd.DataFrame(
        {
            "moment": moments, "plain": moments.dt.tz_localize(None), "length": moments - moments,
            "offset": pd.to_datetime(["2024-02-29 12:30+01:00"] * 3),
            "sparse": pd.Series([0, 1, 0], dtype="Sparse[int]"),
            "nullable": pd.array([1, None, 2], "Int64"), "code": pd.Categorical([1, 2, 1]), "word": ["a", "b", "a"],
        }
    )  # fmt: skip
    kinds = [field["type"] for field in open_schema(frame, "as stored")["fields"]]
    assert kinds == ["datetime", "datetime", "duration", "datetime", "integer", "integer", "integer", "string"]
    zones = [field.timezone for field in Schema(open_schema(frame[["moment", "offset"]], "as stored"))]
    assert zones == ["Europe/Vienna", "+01:00"]


def test_a_column_that_is_stored_without_a_type_is_named():
    frame = pd.DataFrame({"day": [date(2024, 2, 29)] * 3, "kind": ["a", 1, None], "well": [True, None, False]})
    with pytest.raises(PrivityError, match=r"types: 'day' \(object\), 'kind' \(object\), 'well' \(object\)"):
        Schema.discover(frame, types="as stored", **SPENT)
    assert ast.literal_eval(Schema.draft_types(frame)) == {"day": "date", "kind": "string", "well": "boolean"}
    blobs = pa.table({"blob": [b"1"] * 3, "age": [1, 2, 3]})
    with pytest.raises(PrivityError, match=r"types: 'blob' \(binary\[pyarrow\]\)"):
        Schema.discover(blobs, types="as stored", **SPENT)
    printed = Schema.draft_types(blobs)
    assert ast.literal_eval(printed) == {"age": "integer"}
    assert "Left out, as no attribute can be of their type: 'blob'." in printed


@pytest.mark.parametrize(
    ("table", "arguments", "said"),
    [
        (3, {}, "a int is no table"),
        (pd.DataFrame({"x": [1]}), {"types": "stored"}, "types: it is 'stored'"),
        (pd.DataFrame({"x": [1]}), {"types": {"x": int}}, r"fields\[0\].type: \[enum\]"),
        (pd.DataFrame({"x": [1], "y": [1]}), {"types": {"x": "integer"}}, r"\[extra-column\] 'y'"),
        (pd.DataFrame({"x": [1]}), {"types": {"x": "integer", "y": "integer"}}, r"\[missing-column\] 'y'"),
        (pd.DataFrame({"x": [1]}), {"types": TYPES, "schema": {"fields": []}}, "types: the schema has them already"),
        (pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128)}), {"types": {"x": "integer"}}, "Arrow does not have"),
    ],
)
def test_what_is_no_declaration_is_refused_before_anything_is_spent(table, arguments, said):
    with pytest.raises((PrivityError, ProblemsFound), match=said):
        Schema.discover(table, **arguments, **SPENT)
    assert spent() == (0, 0)


def test_types_of_a_csv_file_are_declared_like_those_of_a_frame(tmp_path):
    pd.DataFrame(columns()).to_csv(tmp_path / "t.csv", index=False)
    for types in (None, "as stored"):
        with pytest.raises(PrivityError, match=r"types: nobody declared them, and a CSV file has none\nGive types=\{"):
            Schema.discover(tmp_path / "t.csv", types=types, **SPENT)
    found = Schema.discover(tmp_path / "t.csv", types=TYPES, **SPENT)
    assert [field.type for field in found] == list(TYPES.values())
