"""What is measured: files by rows, servers beside them, tables in memory, draws. Each in a process of its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow.csv

from benchmarks.cost import in_own_process
from benchmarks.sources.rows import write_rows
from tests.harness.postgresql import server

MODULE = "benchmarks.sources.one"
SHARES = (8, 4, 2, 1)
"""Files have the rows over each of these."""

FILE_MEMORY = {"store": 1, "auto": 4}
"""GB that each way to hold files may take."""

SERVER_MEMORY = 1
HOLDS = ("store", "memory")
ALGORITHMS = ("dp-subn", "privbayes")
TABLE = "made"
TYPES = {"VARCHAR": "text", "INTEGER": "int4", "BIGINT": "int8", "DOUBLE": "float8"}
LOAD_ROWS = 1 << 17

Values = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Table:
    """A CSV file and its descriptor; ``bits``: whether the bits of its attributes are counted in their place."""

    data: Path
    schema: Path
    bits: bool


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        rows: of the largest file.
        server_rows: of the tables of servers, of the file beside them, and of the draws.
        sweep: widest cells that are tried in PostgreSQL and Spark.
        sweep_rows: of that.
        tables: those that are counted in memory.
        times: each measurement of time; the best counts.
    """

    rows: int
    server_rows: int
    sweep_rows: int
    sweep: Sequence[int] = (256, 1024, 4096, 16384)
    servers: Sequence[str] = ("postgresql", "spark")
    tables: Sequence[Table] = ()
    times: int = 2


def _one(plan: Plan, say: Say, key: str, *arguments: str) -> Values:
    """The measurement with the least of what ``key`` names; of the others the same run's."""
    found = []
    for _ in range(plan.times):
        found.append(in_own_process(MODULE, arguments))
        say(f"{' '.join(arguments)}: {found[-1]}")
    return min(found, key=lambda values: values[key])


def _memory(plan: Plan, _scratch: Path, say: Say) -> list[Values]:
    found = []
    for table in plan.tables:
        arguments = ["--task", "memory", "--data", str(table.data), "--schema", str(table.schema)]
        values = in_own_process(MODULE, [*arguments, *(["--bits"] if table.bits else [])])
        say(f"{table.data.name}: {values}")
        found.append({"name": table.data.name.split(".")[0], "bits": table.bits, **values})
    return found


def _files(plan: Plan, scratch: Path, say: Say) -> list[Values]:
    found = []
    for part in SHARES:
        with _written(scratch, plan.rows // part) as file:
            for hold, memory in FILE_MEMORY.items():
                values = _one(plan, say, "count", *_count(str(file), hold, memory))
                found.append({"hold": hold, "memory": memory, "bytes": file.stat().st_size, **values})
    return found


def _draws(plan: Plan, scratch: Path, say: Say) -> list[Values]:
    found = []
    with _written(scratch, plan.server_rows) as file:
        for algorithm in ALGORITHMS:
            for hold in HOLDS:
                arguments = ["--task", "draws", "--data", str(file), "--hold", hold, "--algorithm", algorithm]
                found.append({"algorithm": algorithm, "hold": hold, **_one(plan, say, "learn", *arguments)})
    return found


def _servers(plan: Plan, scratch: Path, say: Say) -> list[Values]:
    """The same rows in each store."""
    found = []
    for store, address in _stores(plan, scratch, plan.server_rows, ("parquet", *plan.servers)):
        for hold in HOLDS:
            values = _one(plan, say, "count", *_count(address, hold, SERVER_MEMORY))
            found.append({"store": store, "hold": hold, **values})
    return found


def _sweep(plan: Plan, scratch: Path, say: Say) -> list[Values]:
    found = []
    for store, address in _stores(plan, scratch, plan.sweep_rows, plan.servers):
        for widest in plan.sweep:
            values = _one(plan, say, "count", *_count(address, "store", SERVER_MEMORY, widest))
            found.append({"store": store, "widest": widest, **values})
    return found


def _stores(plan: Plan, scratch: Path, rows: int, stores: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each store, and the address of so many rows in it, which are there until the next one is wanted."""
    with _written(scratch, rows) as file:
        for store in stores:
            if store == "postgresql":
                with server() as running:
                    copy(running.owner, file)
                    yield store, running.url(TABLE)
            else:
                yield store, f"pyspark://#{file}" if store == "spark" else str(file)


@contextmanager
def _written(scratch: Path, rows: int) -> Iterator[Path]:
    """A file of so many rows, which goes afterwards."""
    file = scratch / f"{TABLE}.parquet"
    try:
        write_rows(file, rows)
        yield file
    finally:
        file.unlink(missing_ok=True)


def _count(data: str, hold: str, memory: int, widest: int | None = None) -> list[str]:
    more = [] if widest is None else ["--widest", str(widest)]
    return ["--task", "count", "--data", data, "--hold", hold, "--memory", str(memory), *more]


def copy(owner: str, file: Path) -> None:
    """Put the rows of a Parquet file into a table of PostgreSQL that is made for them."""
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with duckdb.connect() as source, psycopg.connect(owner, autocommit=True) as target:
        rows = source.from_parquet(str(file))
        kinds = zip(rows.columns, rows.types, strict=True)
        columns = ", ".join(f"{name} {TYPES[str(kind)]}" for name, kind in kinds)
        target.execute(f"CREATE TABLE {TABLE} ({columns})")
        with target.cursor().copy(f"COPY {TABLE} FROM STDIN") as sink:
            for batch in rows.to_arrow_reader(LOAD_ROWS):
                text = io.BytesIO()
                pyarrow.csv.write_csv(batch, text, options)
                sink.write(text.getvalue())
        target.execute(f"VACUUM ANALYZE {TABLE}")


PARTS: dict[str, Callable[[Plan, Path, Say], list[Values]]] = {
    "files": _files,
    "memory": _memory,
    "servers": _servers,
    "sweep": _sweep,
    "draws": _draws,
}
