"""Contingency tables counted where rows are: Parquet files by their rows, PostgreSQL, Spark, memory, draws.

The rows are made in the folder of the results, which needs 7 GB for 100 million of them, and are removed afterwards.
PostgreSQL needs Debian's package, Spark needs Java. Every point is measured in a process of its own.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psutil
import psycopg
import pyarrow.csv

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Picture, Point, Record, Table, Values, chosen, grid
from benchmarks.methods.made_rows import write_rows
from benchmarks.methods.own_process import in_own_process
from benchmarks.methods.source_counting import count, count_in_memory, learn
from benchmarks.plots import Panel
from privity.party.sources.spark_store import COMPILES_LONG
from tests.harness.postgresql import server

TABLE = "made"
TYPES = {"VARCHAR": "text", "INTEGER": "int4", "BIGINT": "int8", "DOUBLE": "float8"}
LOAD_ROWS = 1 << 17
MILLION = 1_000_000
SPARK, FLAGGED = "Spark", "Spark, with the flag"
"""The second has Java compile the long methods that Spark generates (docs/sources.md)."""

POSTGRESQL, OF_CODES = "PostgreSQL", "PostgreSQL, of codes"
"""The second has a table whose columns are codes already."""

BITS = ("adult",)
"""Tables of whose attributes the bits are counted."""


def measure(point: Point, _seed: int, data: Data) -> Values:
    match point:
        case {"part": "memory", "data": name}:
            return in_own_process(count_in_memory, *data.files(name), name in BITS)
        case {"part": "draws"}:
            with rows_in("Parquet", data.scratch, point["rows"]) as (_, address):
                return in_own_process(learn, address, point["hold"], 1.0, point["algorithm"])
    with rows_in(point["store"], data.scratch, point["rows"]) as (file, address):
        more: dict[str, Any] = {"widest": point["widest"]} if "widest" in point else {}
        if point["store"] == FLAGGED:
            more["java"] = COMPILES_LONG
        if point["store"] == OF_CODES:
            more["coded"] = True
        before = server_seconds()
        found = in_own_process(count, address, point["hold"], float(point["memory"]), **more)
        of_server = server_seconds() - before
        size = file.stat().st_size / 1e9
    of_rows = {"million": point["rows"] / MILLION, "microseconds": 1e6 * found["cpu"] / point["rows"], "file": size}
    return {**found, **of_rows, "server": of_server}


def server_seconds() -> float:
    """Processor seconds of PostgreSQL's processes on this machine, those that have ended included."""
    servers = (p.info["cpu_times"] for p in psutil.process_iter(["name", "cpu_times"]) if p.info["name"] == "postgres")
    return sum(t.user + t.system + t.children_user + t.children_system for t in servers)


@contextmanager
def rows_in(store: str, scratch: Path, rows: int) -> Iterator[tuple[Path, str]]:
    """A file of so many rows, and the address of these rows in a store; both go afterwards."""
    file = scratch / f"{TABLE}.parquet"
    try:
        write_rows(file, rows, coded=store == OF_CODES)
        if store in (POSTGRESQL, OF_CODES):
            with server() as running:
                copy(running.owner, file)
                yield file, running.url(TABLE)
        else:
            yield file, f"pyspark://#{file}" if store in (SPARK, FLAGGED) else str(file)
    finally:
        file.unlink(missing_ok=True)


def copy(owner: str, file: Path) -> None:
    """Put the rows of a Parquet file into a table of PostgreSQL that is made for them."""
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with duckdb.connect() as source, psycopg.connect(owner, autocommit=True) as target:
        rows = source.from_parquet(str(file))
        kinds = zip(rows.columns, rows.types, strict=True)
        target.execute(f"CREATE TABLE {TABLE} ({', '.join(f'{name} {TYPES[str(kind)]}' for name, kind in kinds)})")
        with target.cursor().copy(f"COPY {TABLE} FROM STDIN") as sink:
            for batch in rows.to_arrow_reader(LOAD_ROWS):
                text = io.BytesIO()
                pyarrow.csv.write_csv(batch, text, options)
                sink.write(text.getvalue())
        target.execute(f"VACUUM ANALYZE {TABLE}")


def points(quick: bool) -> list[Point]:
    if quick:
        found = grid(part="files", store="Parquet", rows=(20_000, 10_000), hold="store", memory=1)
        found += grid(part="memory", data="adult")
        return found + grid(part="draws", rows=5_000, algorithm="privbayes", hold="memory")
    million = tuple(round(part * MILLION) for part in (12.5, 25, 50, 100))
    found = [p for rows in million for p in (
        {"part": "files", "store": "Parquet", "rows": rows, "hold": "store", "memory": 1, "seeds": 2},
        {"part": "files", "store": "Parquet", "rows": rows, "hold": "auto", "memory": 4, "seeds": 2},
    )]  # fmt: skip
    found += grid(part="memory", data=("adult", "cps_taxunits"))
    stores, holds = ("Parquet", POSTGRESQL, OF_CODES, SPARK, FLAGGED), ("store", "memory")
    found += grid(part="servers", store=stores, rows=5 * MILLION, hold=holds, memory=1)
    found += grid(part="spark", store=FLAGGED, rows=(5 * MILLION, 25 * MILLION, 100 * MILLION), hold="store", memory=1)
    widest = (256, 1024, 4096, 16384)
    found += grid(part="sweep", store=(POSTGRESQL,), rows=200_000, hold="store", memory=1, widest=widest)
    return found + grid(part="draws", rows=5 * MILLION, algorithm=("dp-subn", "privbayes"), hold=holds)


def seconds(hold: str, records: Sequence[Record]) -> Panel:
    """Of opening and counting, over millions of rows."""
    here = chosen(records, {"part": "files", "hold": hold})
    shown = {"open": "open", "count": "count", "both": "both", "processor": "cpu"}
    lines = {name: {0.0: [0.0], **{r["million"]: [r[key]] for r in here}} for name, key in shown.items()}
    return Panel(f"hold = {hold}", "million rows", "seconds", lines if here else {}, smooth=True)


EXPERIMENT = Experiment(
    title="Counting where the rows are: files, databases, clusters, memory",
    points=points,
    measure=measure,
    shows=(
        Table(
            "Parquet files",
            ("rows", "hold", "memory"),
            {
                "file, GB": "file:2", "open, s": "open:1", "count, s": "count:1", "both, s": "both:1",
                "processor, s": "cpu:0", "us a row": "microseconds:2", "peak, GB": "peak:2",
            },
            where={"part": "files"},
        ),
        Table(
            "in memory", ("data",),
            {"rows": "rows", "columns": "columns", "tables": "tables", "ms": "ms", "slowest, ms": "slowest, ms"},
            where={"part": "memory"}, digits=0,
        ),
        Table(
            "servers", ("store", "hold"),
            {
                "open, s": "open:1", "count, s": "count:1", "both, s": "both:1",
                "processor, s": "cpu:0", "PostgreSQL's, s": "server:0", "node's peak, GB": "peak:2",
            },
            where={"part": "servers"},
        ),
        Table(
            "Spark by rows", ("million",),
            {
                "open, s": "open:1", "count, s": "count:1", "both, s": "both:1",
                "processor, s": "cpu:0", "us a row": "microseconds:2", "node's peak, GB": "peak:2",
            },
            where={"part": "spark"},
        ),
        Table("widest table counted", ("widest",), "count", columns="store", where={"part": "sweep"}, digits=1),
        Table(
            "structures without loading", ("algorithm", "hold"),
            {"open, s": "open:1", "learn, s": "learn:1", "passes": "passes:0"},
            where={"part": "draws"},
        ),
    ),
    tables=("adult", "cps_taxunits"),
    pictures=(
        Picture("rows", [partial(seconds, "store"), partial(seconds, "auto")]),
    ),
    code=("common/data", "party/sources", "benchmarks/methods/source_counting.py"),
    alone=lambda _: True,
)  # fmt: skip
