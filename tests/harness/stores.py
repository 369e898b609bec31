"""The same small table of integers, texts and dates in every kind of store."""

from __future__ import annotations

import contextlib
import csv
import sqlite3
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from tests.harness import postgresql

Row = dict[str, Any]
SQL_TYPES = {int: "BIGINT", str: "TEXT", date: "DATE"}
FILES = ("csv", "parquet", "arrow", "duckdb")


def put(form: str, folder: Path, rows: Sequence[Row], server: postgresql.Server | None = None) -> str:
    """Write, or write anew, the rows in ``folder``; gives their address.

    Args:
        form: csv, parquet, arrow, duckdb, sqlite, spark or postgresql.
        rows: all of the same columns, of integers, texts, dates (not for SQLite) and None; at least one.
    """
    folder.mkdir(exist_ok=True)
    match form:
        case "csv":
            with open(folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(rows[0])
                writer.writerows(["" if value is None else value for value in row.values()] for row in rows)
            return str(folder / "rows.csv")
        case "parquet" | "spark":
            pq.write_table(arrow(rows), folder / "rows.parquet")
            return str(folder / "rows.parquet") if form == "parquet" else f"pyspark://#{folder}/rows.parquet"
        case "arrow":
            pyarrow.feather.write_feather(arrow(rows), folder / "rows.feather")
            return str(folder / "rows.feather")
        case "duckdb":
            with duckdb.connect(str(folder / "rows.duckdb")) as connection:
                connection.register("given", arrow(rows))
                connection.execute("CREATE OR REPLACE TABLE visits AS SELECT * FROM given")
            return f"duckdb://{folder}/rows.duckdb#visits"
        case "sqlite":
            with contextlib.closing(sqlite3.connect(folder / "rows.db")) as lite, lite:
                lite.execute("PRAGMA synchronous = OFF")
                lite.execute("DROP TABLE IF EXISTS visits")
                lite.execute(f"CREATE TABLE visits ({_declared(rows)})")
                lite.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(rows[0]))})", _values(rows))
            return f"sqlite:///{folder}/rows.db#visits"
        case _:
            assert server is not None
            with psycopg.connect(server.owner) as pg:
                pg.execute("DROP TABLE IF EXISTS visits")
                pg.execute(f"CREATE TABLE visits ({_declared(rows)})".encode())
                places = ", ".join(["%s"] * len(rows[0]))
                pg.cursor().executemany(f"INSERT INTO visits VALUES ({places})".encode(), _values(rows))
            return server.url("visits")


def arrow(rows: Sequence[Row]) -> pa.Table:
    """The rows as Arrow."""
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string(), date: pa.date32()}
    return pa.table({name: pa.array([row[name] for row in rows], kinds[_kind(rows, name)]) for name in rows[0]})


def _kind(rows: Sequence[Row], name: str) -> type:
    return next((type(row[name]) for row in rows if row[name] is not None), str)


def _declared(rows: Sequence[Row]) -> str:
    return ", ".join('"' + name.replace('"', '""') + f'" {SQL_TYPES[_kind(rows, name)]}' for name in rows[0])


def _values(rows: Sequence[Row]) -> list[list[Any]]:
    return [list(row.values()) for row in rows]
