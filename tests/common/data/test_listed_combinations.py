"""Only the combinations of a public list occur: those of rows are read as they stand, and rows of a model have them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import privity
from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.listed_combinations import with_combinations
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.data.unread_columns import with_unread
from privity.common.data.written_values import as_texts
from privity.common.errors import PrivityError, ProblemsFound
from privity.interfaces.cli.main import app
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table

FIELDS: list[dict[str, Any]] = [
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "city", "type": "string", "domain": "discover"},
    {"name": "state", "type": "string", "categories": ["A", "B"], "title": "State"},
    {"name": "zone", "type": "integer", "categories": [1, 2, 3]},
]
LIST = {"city": ["x", "y", "x", "z"], "state": ["A", "A", "B", "B"], "zone": ["1", "1", "2", "3"]}


def schema_of(listed: dict[str, list[str]], fields: list[dict[str, Any]] = FIELDS, **keys: Any) -> Schema:
    return parse_schema(with_combinations({"fields": fields, **keys}, listed, "a list", "l.csv"), "s")


def sampled(schema: Schema, rows: int = 300) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    table = CodedTable(schema, tuple(generator.integers(0, size, rows) for size in schema.domain))
    frame = with_unread(decode(table, generator), schema.attributes, schema.unread, generator)
    return as_texts(frame, schema).astype(str)


def test_rows_of_a_model_have_listed_combinations_alone() -> None:
    schema = schema_of(LIST)
    assert schema.names == ("sex", "city, state, zone")
    assert list(sampled(schema).columns) == ["sex", "city, state, zone", "city", "state", "zone"]
    found = {tuple(row) for row in sampled(schema)[["city", "state", "zone"]].to_numpy().tolist()}
    assert found == set(zip(*LIST.values(), strict=True))
    assert parse_schema(schema.table_schema(), "t") == schema


def test_a_column_that_tells_the_rows_apart_is_the_attribute() -> None:
    listed = {"city": ["x", "y", "z"], "state": ["B", "A", "B"]}
    schema = schema_of(listed)
    assert schema.names == ("sex", "city", "zone")
    attribute = schema.attributes[1]
    assert (attribute.categories, attribute.taxonomy[0].name) == (("y", "x", "z"), "A")
    assert {tuple(row) for row in sampled(schema)[["city", "state"]].to_numpy().tolist()} == set(
        zip(*listed.values(), strict=True)
    )


def test_what_is_on_no_list_is_refused_or_another_one() -> None:
    frame = pd.DataFrame({"sex": "f", "city": ["x", "y"], "state": ["A", "B"], "zone": ["1", "1"]})
    with pytest.raises(ProblemsFound, match=r"outside the domain: 'y \| B \| 1'"):
        encode(frame, schema_of(LIST), "t")
    key = {**FIELDS[1], "categories": ["x", "other"], "outOfDomain": "other", "other": "other"}
    key.pop("domain")
    schema = schema_of({"city": ["x", "y"], "state": ["A", "B"]}, [FIELDS[0], key, FIELDS[2]])
    assert encode(frame.drop(columns="zone").assign(city=["x", "nowhere"]), schema, "t").column(1).tolist() == [0, 2]
    assert {tuple(row) for row in sampled(schema)[["city", "state"]].to_numpy().tolist()} == {
        ("x", "A"), ("y", "B"), ("other", "other"),
    }  # fmt: skip


@given(
    rows=st.lists(
        st.tuples(*(st.none() | st.sampled_from(some) for some in (["x", "y", "z"], ["A", "B"], [1, 2, 3]))),
        min_size=1, max_size=8,
    )
)  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_combinations_are_read_alike_in_every_source(rows: list[tuple[Any, ...]], tmp_path: Path) -> None:
    fields = [field | {"missingValues": ["", "?"]} for field in FIELDS[1:]]
    schema = schema_of(LIST, fields)
    (attribute,) = schema.attributes
    listed = set(zip(*LIST.values(), strict=True))
    rows = [row for row in rows if None in row or tuple(map(str, row)) in listed] or [("x", "A", 1)]
    expected = [
        attribute.missing_code if None in row else attribute.categories.index(" | ".join(map(str, row))) for row in rows
    ]
    frame = pd.DataFrame(rows, columns=["city", "state", "zone"], dtype=object)
    pq.write_table(
        pa.table({"city": pa.array(frame["city"], pa.string()), "state": pa.array(frame["state"], pa.string()),
                  "zone": pa.array(frame["zone"], pa.int64())}), tmp_path / "t.parquet",
    )  # fmt: skip
    frame.fillna("?").to_csv(tmp_path / "t.csv", index=False)
    tables = [
        encode(frame, schema, "t"), encode(pq.read_table(tmp_path / "t.parquet").to_pandas(), schema, "t"),
        read_table(tmp_path / "t.csv", schema), load_table(parse_address(str(tmp_path / "t.parquet")), schema),
    ]  # fmt: skip
    assert [table.column(0).tolist() for table in tables] == [expected] * 4


@pytest.mark.parametrize(
    ("listed", "named"),
    [
        ({"city": ["x", "y"]}, "two columns"),
        ({"city": ["x", "y"], "town": ["A", "B"]}, "no field of this name"),
        ({"city": ["x", "a | b"], "state": ["A", "B"]}, "cannot be listed"),
        ({"city": ["x", " "], "state": ["A", "B"]}, "empty"),
        ({"city": ["x", "x"], "zone": ["1", "02"]}, "plain integer"),
    ],
)
def test_a_list_that_cannot_be_is_refused(listed: dict[str, list[str]], named: str) -> None:
    with pytest.raises(ProblemsFound, match=named):
        schema_of(listed)


def test_the_command_writes_a_schema_that_says_which_list_it_is_of(tmp_path: Path) -> None:
    pd.DataFrame(LIST).to_csv(tmp_path / "places.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps({"fields": FIELDS}))
    where = [str(tmp_path / name) for name in ("places.csv", "s.json", "o.json")]
    assert (
        CliRunner().invoke(app, ["schema", "combinations", where[0], "--schema", where[1], "--out", where[2]]).exit_code
        == 0
    )
    digest = hashlib.sha256((tmp_path / "places.csv").read_bytes()).hexdigest()
    (described,) = [field for field in json.loads((tmp_path / "o.json").read_text())["fields"] if "compute" in field]
    assert described["description"] == f"Combinations of places.csv, SHA-256 {digest}"
    assert privity.Schema(where[1]).with_combinations(where[0]) == privity.Schema(where[2])
    with pytest.raises(ProblemsFound, match="no field of this name"):
        privity.Schema({"fields": FIELDS[:2]}).with_combinations(where[0])
    with pytest.raises(PrivityError, match="nowhere"):
        privity.Schema({"fields": FIELDS}).with_combinations(tmp_path / "nowhere.csv")
