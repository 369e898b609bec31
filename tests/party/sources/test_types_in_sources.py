"""Dates, times and durations, and what is computed of them, have the same codes in every source."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.errors import RowProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import load_table, open_rows
from tests.harness import postgresql

pytestmark = pytest.mark.external

YEAR = {"minimum": "2020-01-01", "maximum": "2021-01-01"}
MISSING = {"missingValues": ["", "n/a"]}
FIELDS: list[dict[str, Any]] = [
    {"name": "day", "type": "date", "edges": ["2020-01-01", "2020-02-01", "2021-01-01"], "format": "%d/%m/%Y",
     "missingValues": ["", "31/12/9999"], "outOfDomain": "edge"},
    {"name": "open", "type": "date", "domain": "discover", **MISSING},
    {"name": "midnight", "type": "date", "constraints": YEAR, "bins": 9, "outOfDomain": "edge", **MISSING},
    {"name": "listed", "type": "date", "categories": ["2020-01-05", "2020-02-01", "2020-03-01"],
     "outOfDomain": "other", "other": "2020-03-01", **MISSING},
    {"name": "moment", "type": "datetime", "constraints": YEAR, "bins": 40, "outOfDomain": "edge", **MISSING},
    {"name": "fine", "type": "datetime", "constraints": YEAR, "bins": 3, "decimals": 6, **MISSING,
     "outOfDomain": "edge"},
    {"name": "minutes", "type": "datetime", "constraints": YEAR, "bins": 366, "format": "%Y-%m-%d %H:%M",
     "outOfDomain": "edge", **MISSING},
    {"name": "point", "type": "datetime", "timezone": "Europe/Vienna", "bins": 7, "outOfDomain": "edge", **MISSING,
     "constraints": {"minimum": "2020-01-01T00:00:00+01:00", "maximum": "2021-01-01T00:00:00Z"}},
    {"name": "clock", "type": "time", "constraints": {"minimum": "00:00", "maximum": "23:59"}, "bins": 6,
     "format": "%H:%M", **MISSING},
    {"name": "length", "type": "duration", "edges": ["PT0S", "PT1H", "P1D"], "decimals": 1, "outOfDomain": "edge",
     **MISSING},
]  # fmt: skip
SOURCE = {"moment": "datetime", "point": "datetime", "open": "date", "clock": "time"}
PARTS = {
    "moment": ["year", "quarter", "month", "week", "day", "weekday", "hour", "minute"], "point": ["day", "hour"],
    "open": ["month", "weekday"], "clock": ["hour"],
}  # fmt: skip
YEARS = {"constraints": {"minimum": 2018, "maximum": 2021}, "bins": 3, "outOfDomain": "edge"}
COMPUTED: list[dict[str, Any]] = [
    {"name": f"{part} of {name}", "type": "integer", **MISSING, **(YEARS if part == "year" else {}),
     "compute": {"from": name, "part": part, "type": SOURCE[name],
                 **({"timezone": "+02:00" if part == "day" else "America/St_Johns"} if name == "point" else {}),
                 **({"format": "%H:%M"} if name == "clock" else {})}}
    for name, parts in PARTS.items() for part in parts
] + [
    {"name": "chapter", "type": "string", "categories": ["A1", "B2", "other"], "outOfDomain": "other", "other": "other",
     "compute": {"from": "icd", "prefix": 2}, **MISSING},
    {"name": "group", "type": "string", "categories": ["heart", "rest"], "outOfDomain": "other", "other": "rest",
     "compute": {"from": "icd", "prefix": 2, "groups": {"heart": ["A1"], "lung": ["J4"]}}},
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 6}, "bins": 12, "outOfDomain": "edge",
     "compute": {"from": "income", "log": 10}, **MISSING},
    {"name": "halves", "type": "number", "constraints": {"minimum": 0, "maximum": 20}, "bins": 40, "decimals": 1,
     "outOfDomain": "edge", "compute": {"from": "income", "log": 2}, **MISSING},
]  # fmt: skip
COLUMNS = [*(field["name"] for field in FIELDS), "icd", "income"]
POSTGRESQL = {
    "day": "date", "open": "date", "midnight": "timestamp", "listed": "date", "moment": "timestamp",
    "fine": "timestamp", "minutes": "timestamp", "point": "timestamptz", "clock": "time", "length": "interval",
    "icd": "text", "income": "float8",
}  # fmt: skip
WRITTEN: dict[str, Callable[[Any], str]] = {
    "day": lambda value: value.strftime("%d/%m/%Y"), "midnight": lambda value: value.date().isoformat(),
    "minutes": lambda value: value.strftime("%Y-%m-%d %H:%M"), "clock": lambda value: value.strftime("%H:%M"),
    "length": lambda value: f"{'-' * (value < timedelta(0))}PT{abs(value).total_seconds():.6f}S", "icd": str,
    "income": repr,
}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    draw = random.Random(1)
    found = []
    for place in range(300):
        moment = datetime(2017, 11, 1) + timedelta(microseconds=draw.randrange(4 * 366 * 86_400 * 10**6))
        if place < 20:  # at the edges
            moment = draw.choice(
                [
                    datetime(2020, 1, 1),
                    datetime(2020, 2, 1),
                    datetime(2021, 1, 1),
                    datetime(1969, 12, 31, 23, 59, 59, 999_999),
                ]
            )
        row = {
            "day": moment.date(), "open": moment.date(), "midnight": datetime.combine(moment.date(), time(0)),
            "listed": date(2020, 1, 5) if place % 2 else moment.date(), "moment": moment, "fine": moment,
            "minutes": moment, "point": moment.replace(tzinfo=UTC), "clock": moment.time(),
            "length": timedelta(microseconds=draw.randrange(-(10**10), 2 * 10**11)),
            "icd": draw.choice(["A10", "A1", "B20", "J44", "n/a"]),
            "income": draw.choice([1.0, 10.0, 1000.0, 0.0, -5.0, 4096.0, draw.lognormvariate(8, 3)]),
        }  # fmt: skip
        found.append({name: None if draw.random() < 0.05 else value for name, value in row.items()})
    return found


ROWS = rows()


def text_of(name: str, value: Any) -> str:
    return "" if value is None else WRITTEN.get(name, lambda value: value.isoformat())(value)


def csv_table(folder: Path, schema: Schema) -> CodedTable:
    """The rows as texts, of columns that the schema needs."""
    names = [name for name in COLUMNS if name in schema.known_columns]
    with open(folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([[text_of(name, row[name]) for name in names] for row in ROWS])
    return read_table(folder / "rows.csv", schema)


def frame(schema: Schema) -> pd.DataFrame:
    return pd.DataFrame(ROWS)[[name for name in COLUMNS if name in schema.known_columns]]


def arrow_table(unit: str) -> pa.Table:
    table = pa.Table.from_pandas(pd.DataFrame(ROWS))
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.timestamp(unit, field.type.tz)))
        if pa.types.is_duration(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.duration(unit)))
    return table


def parquet_file(folder: Path) -> str:
    pq.write_table(arrow_table("us"), folder / "rows.parquet")
    return str(folder / "rows.parquet")


def parquet_of_nanoseconds(folder: Path) -> str:
    pq.write_table(arrow_table("ns"), folder / "rows.parquet")
    return str(folder / "rows.parquet")


def arrow_file(folder: Path) -> str:
    pyarrow.feather.write_feather(arrow_table("us"), folder / "rows.feather")
    return str(folder / "rows.feather")


def duckdb_file(folder: Path) -> str:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", arrow_table("us"))
        connection.execute("CREATE TABLE plain AS SELECT * FROM given")
    return f"duckdb://{folder}/rows.duckdb#plain"


def assert_same(found: CodedTable, expected: CodedTable) -> None:
    for name, one, other in zip(expected.schema.names, found.columns, expected.columns, strict=True):
        assert one.tolist() == other.tolist(), name


@pytest.fixture(scope="module", params=[FIELDS, COMPUTED], ids=["types", "computed"])
def schema(request: pytest.FixtureRequest) -> Schema:
    return parse_schema({"fields": request.param, "extraColumns": "ignore"}, "types")


def test_frames_have_the_codes_of_texts(schema: Schema, tmp_path: Path) -> None:
    expected, rows = csv_table(tmp_path, schema), frame(schema)
    assert_same(encode(rows, schema, "t"), expected)
    dates = rows.assign(**{name: pd.to_datetime(rows[name]) for name in ("day", "open", "listed") if name in rows})
    for other in (rows.astype(object), rows.convert_dtypes(dtype_backend="pyarrow"), dates):
        assert_same(encode(other, schema, "t"), expected)
    if "point" in rows:
        assert_same(encode(rows.assign(point=rows["point"].dt.tz_convert("Asia/Tokyo")), schema, "t"), expected)


@pytest.mark.parametrize("make", [parquet_file, parquet_of_nanoseconds, arrow_file, duckdb_file])
def test_files_have_the_codes_of_texts(make: Callable[[Path], str], schema: Schema, tmp_path: Path) -> None:
    assert_same(load_table(parse_address(make(tmp_path)), schema), csv_table(tmp_path, schema))


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    with postgresql.server() as running:
        with psycopg.connect(running.owner) as connection, connection.cursor() as cursor:
            columns = ", ".join(f"{name} {kind}" for name, kind in POSTGRESQL.items())
            cursor.execute(f"CREATE TABLE typed ({columns})")
            places = ", ".join(["%s"] * len(POSTGRESQL))
            cursor.executemany(f"INSERT INTO typed VALUES ({places})", [[row[n] for n in POSTGRESQL] for row in ROWS])
        yield running


def test_postgresql_has_the_codes_of_texts(schema: Schema, server: postgresql.Server, tmp_path: Path) -> None:
    address, expected = parse_address(server.url("typed")), csv_table(tmp_path, schema)
    assert_same(load_table(address, schema), expected)
    counted = open_rows(address, schema, Access(Hold.STORE)).rows
    whole = open_rows(parse_address(str(tmp_path / "rows.csv")), schema).rows
    tables = [(place,) for place in range(len(schema.attributes))] + [(0, 1), (1, 2)]
    assert counted.count(tables[2:]).tolist() == whole.count(tables[2:]).tolist()
    assert counted.digest == whole.digest


def infinite(folder: Path) -> str:
    with duckdb.connect(str(folder / "odd.duckdb")) as connection:
        connection.execute("CREATE TABLE odd (day DATE, moment TIMESTAMP, length INTERVAL)")
        connection.execute(ODD_ROWS)
    return f"duckdb://{folder}/odd.duckdb#odd"


ODD_ROWS = (
    "INSERT INTO odd VALUES ('infinity', '-infinity', INTERVAL '1 month'), ('-infinity', 'infinity', INTERVAL '2 days')"
)


def test_what_is_infinite_lies_beyond_the_domain_and_a_month_has_no_length(
    server: postgresql.Server, tmp_path: Path
) -> None:
    named = {field["name"]: {**field, "missingValues": []} for field in FIELDS}
    days = parse_schema({"fields": [named["day"], named["moment"], named["length"]]}, "s")
    strict = parse_schema({"fields": [{**named["length"], "outOfDomain": "refuse"}], "extraColumns": "ignore"}, "s")
    server.execute(
        "DROP TABLE IF EXISTS odd", "CREATE TABLE odd (day DATE, moment TIMESTAMP, length INTERVAL)", ODD_ROWS
    )
    for text in (infinite(tmp_path), server.url("odd")):
        table = load_table(parse_address(text), days)
        assert [sorted(column.tolist()) for column in table.columns[:2]] == [[0, 1], [0, 39]]
        with pytest.raises(RowProblemsFound, match="outside the domain in 2 rows"):
            load_table(parse_address(text), strict)


def test_a_column_of_another_type_is_refused_with_what_would_do(server: postgresql.Server) -> None:
    fields = [
        {"name": "day", "type": "time", "edges": ["00:00:00", "12:00:00", "23:00:00"]},
        {"name": "moment", "type": "datetime", "timezone": "UTC", "domain": "discover"},
        {"name": "point", "type": "datetime", "domain": "discover"},
        {"name": "hour", "type": "integer", "compute": {"from": "icd2", "part": "hour", "type": "time"}},
        {"name": "part", "type": "integer", "compute": {"from": "day", "part": "hour", "type": "datetime"}},
    ]
    with pytest.raises(RowProblemsFound) as found:
        load_table(parse_address(server.url("typed")), parse_schema({"fields": fields, "extraColumns": "ignore"}, "s"))
    told = {problem.field: f"{problem.rule}: {problem.message} {problem.remedy}" for problem in found.value.problems}
    assert "of type date, the attribute is of type time" in str(found.value)
    assert "timestamp, the attribute is of type datetime with the timezone UTC" in told["'moment'"]
    assert "timestamptz, the attribute is of type datetime." in told["'point'"]
    assert told["'icd2'"].startswith("missing-column")
    assert "Add a column 'part' by a view" in str(found.value)
