"""Columns that lie near to others are proposed alike, wherever the rows are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from privity.common.data.schema import parse_schema
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import default_memory
from privity.party.sources.near_columns import near_columns

ROWS = 300
OPEN = {"domain": "discover", "constraints": {"minimum": 0}, "missingValues": ["-9"]}
DAY = {"type": "date", "format": "%d.%m.%Y", "domain": "discover"}
SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "low", "type": "integer", **OPEN},
            {"name": "high", "type": "integer", **OPEN},
            {"name": "admission", **DAY},
            {"name": "discharge", **DAY},
            {"name": "ward", "type": "string", "categories": ["a", "b"]},
            {"name": "month", "type": "integer", "compute": {"from": "admission", "part": "month"}, **OPEN},
        ]
    },
    "schema",
)


def table() -> pd.DataFrame:
    generator = np.random.default_rng(7)
    low, stay = generator.integers(0, 100_000, ROWS), generator.integers(0, 9, ROWS)
    first = [date(2015, 1, 1) + timedelta(int(day)) for day in generator.integers(0, 3000, ROWS)]
    last = [day + timedelta(int(days)) for day, days in zip(first, stay, strict=True)]
    high = np.where(np.arange(ROWS) % 50 == 0, -9, low + generator.integers(0, 3, ROWS))
    return pd.DataFrame({"low": low, "high": high, "admission": first, "discharge": last, "ward": ["a", "b"] * 150})


def as_texts() -> pd.DataFrame:
    days = ("admission", "discharge")
    return table().assign(**{name: [f"{day:%d.%m.%Y}" for day in table()[name]] for name in days}).astype(str)


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def in_sqlite(folder: Path) -> str:
    with sqlite3.connect(folder / "t.db") as database:
        as_texts().astype({"low": int, "high": int}).to_sql("stays", database, index=False)
    return f"sqlite:///{folder}/t.db#stays"


def in_duckdb(folder: Path) -> str:
    with duckdb.connect(folder / "t.duckdb") as database:
        stays = arrow(table())  # noqa: F841, which the query names
        database.execute("CREATE TABLE stays AS SELECT * FROM stays")
    return f"duckdb:///{folder}/t.duckdb#stays"


def written(name: str, write: Callable[[Path], object]) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        write(folder / name)
        return str(folder / name)

    return make


@pytest.mark.parametrize(
    "make",
    [
        written("t.csv", lambda file: as_texts().to_csv(file, index=False)),
        written("t.jsonl", lambda file: as_texts().to_json(file, orient="records", lines=True)),
        written("t.parquet", lambda file: pq.write_table(arrow(table()), file)),
        written("texts.parquet", lambda file: pq.write_table(arrow(as_texts()), file)),
        written("t.arrow", lambda file: pyarrow.feather.write_feather(arrow(table()), str(file))),
        in_sqlite,
        in_duckdb,
    ],
)
def test_gaps_are_proposed_of_every_source(make: Callable[[Path], str], tmp_path: Path) -> None:
    high, stay = near_columns(parse_address(make(tmp_path)), SCHEMA, default_memory())
    assert high.startswith("high lies near low, read off the rows")
    assert '"constraints": {"minimum": 0}' in high
    assert '"compute": {"from": "discharge", "less": "admission"}' in stay
    assert '"format": "%d.%m.%Y"' in stay
