"""The embedded store: DuckDB over Parquet and Arrow files, or over a database of its own. It needs no set-up.

The files are opened for each question and let go of after it: their owner may replace them at any time, which the next
question finds. DuckDB works out of core, in a folder that only its user can read and that is gone with the process.
"""

from __future__ import annotations

import contextlib
import copy
import glob
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset

from privity.common.data.coded_table import code_type
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources.address import Address, Form
from privity.party.sources.file_states import address_state, unreachable
from privity.party.sources.pass_progress import polled
from privity.party.sources.sql_coding import quoted, text_literal
from privity.party.sources.store import Codes
from privity.party.sources.store_columns import MICROSECONDS, Column, Kind

BATCH_ROWS = 1 << 20
LEAST_MEMORY = 1 << 27
"""Bytes that DuckDB needs to work at all."""

PART_BYTES = 1 << 28
"""Of files that are read together, at least: a question takes some time of its own."""

VIEW = "privity_rows"
DATABASE = "privity_database"

KINDS = {
    "varchar": Kind.TEXT,
    "enum": Kind.TEXT,
    "uuid": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "tinyint": Kind.INTEGER,
    "smallint": Kind.INTEGER,
    "integer": Kind.INTEGER,
    "bigint": Kind.INTEGER,
    "utinyint": Kind.INTEGER,
    "usmallint": Kind.INTEGER,
    "uinteger": Kind.INTEGER,
    "ubigint": Kind.DECIMAL,
    "float": Kind.SINGLE,
    "double": Kind.DOUBLE,
    "decimal": Kind.DECIMAL,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamp_s": Kind.TIMESTAMP,
    "timestamp_ms": Kind.TIMESTAMP,
    "timestamp_ns": Kind.TIMESTAMP,
    "timestamp with time zone": Kind.INSTANT,
    "timestamptz_ns": Kind.INSTANT,
    "time": Kind.TIME,
    "interval": Kind.DURATION,
}
NANOSECONDS = 1_000_000_000
FAR = 2**62
"""A number that stands for an infinite time: beyond every domain."""

PART = f"CASE WHEN {{value}} IS NOT NULL THEN COALESCE(CAST(EXTRACT({{part}} FROM {{value}}) AS BIGINT), {FAR}) END"

FORMATS = {Form.PARQUET: "parquet", Form.ARROW: "ipc"}
Piece = TypeVar("Piece")
UNSIGNED_TYPES = {np.uint8: "UTINYINT", np.uint16: "USMALLINT", np.uint32: "UINTEGER"}


ALIKE = "Write the column into every file, with the same type and the same name, in upper and lower case too."


class EmbeddedStore:
    """A ``Store`` of ``privity.party.sources.store`` that is ``Parted`` too.

    Args:
        memory: bytes that DuckDB may hold before it writes to its folder.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """

    counts = False
    one_state = True
    grouping_sets = True
    fence = ""
    _avoided = "statistics_propagation"

    def __init__(self, address: Address, memory: int) -> None:
        self.name = address.name
        self.relation = VIEW
        self._address = address
        self._portion: Sequence[Any] | None = None
        self._memory = memory
        self._scratch = tempfile.TemporaryDirectory(prefix="privity-")  # of mode 0700

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        with self._open() as connection:
            found = connection.sql(f"SELECT * FROM {VIEW} LIMIT 0")
            columns = {name: _column(name, kind) for name, kind in zip(found.columns, found.types, strict=True)}
            return {**columns, **self._durations(columns), **self._disagreed()}

    def _durations(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """Columns of Parquet that Arrow knows to be durations; DuckDB takes them for the integers that they are."""
        if self._address.form is not Form.PARQUET:
            return {}
        found = {}
        for field in self._schema(self._address.files[0]):
            if pa.types.is_duration(field.type) and columns[field.name].kind is Kind.INTEGER:
                second = {"s": 1, "ms": 1000, "us": MICROSECONDS, "ns": NANOSECONDS}[field.type.unit]
                number = (
                    quoted(field.name) if second >= MICROSECONDS else f"{quoted(field.name)} * {MICROSECONDS // second}"
                )
                column = Column(field.name, Kind.DURATION, str(field.type), number=number)
                found[field.name] = replace(column, second=max(second, MICROSECONDS))
        return found

    def _disagreed(self) -> Mapping[str, Column]:
        """Columns that are not of one type in all files, or not in all of them under this very name.

        Those of the first file would decide how the values of the others are read, and DuckDB takes ``x`` for ``X``.
        """
        schemas = self._schemas()
        types: dict[str, dict[str, None]] = {}
        times: Counter[str] = Counter()
        for schema in schemas:
            for field in schema:
                kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
                types.setdefault(field.name, {})[str(kind)] = None
                times[field.name] += 1
        for name, kinds in types.items():
            if times[name] < len(schemas):
                kinds["missing"] = None
        return {
            name: Column(name, Kind.OTHER, " in one file, ".join(kinds) + " in another", remedy=ALIKE, key=False)
            for name, kinds in types.items()
            if len(kinds) > 1
        }

    def _schemas(self) -> Sequence[pa.Schema]:
        """Of the files, where there are several."""
        files = self._address.files
        return [] if self._address.form is Form.DUCKDB or len(files) == 1 else [self._schema(file) for file in files]

    def _schema(self, file: Path) -> pa.Schema:
        return pyarrow.dataset.dataset(str(file), format=FORMATS[self._address.form]).schema

    @cached_property
    def _portions(self) -> Sequence[Sequence[Any]]:
        """What each part is read from."""
        with self._told():
            return gathered([(file, os.stat(file).st_size) for file in self._address.files])

    def parts(self) -> int:
        return len(self._portions)

    def part(self, number: int) -> Self:
        one = copy.copy(self)
        one._portion = self._portions[number]
        return one

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        # A database may declare that a column takes no notice of case.
        return f'CAST({name} AS VARCHAR) COLLATE "binary"' if column.kind is Kind.TEXT else name

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        with self._open() as connection, polled(lambda: connection.query_progress() / 100):
            return connection.execute(query).fetchall()

    def batches(self, query: str, sizes: Sequence[int]) -> Iterator[list[Codes]]:
        types = [code_type(size + 1) for size in sizes]
        narrow = ", ".join(f"CAST(a{i} AS {UNSIGNED_TYPES[kind]}) AS a{i}" for i, kind in enumerate(types))
        with self._open() as connection:
            reader = connection.sql(f"SELECT {narrow} FROM ({query}) AS coded").to_arrow_reader(BATCH_ROWS)
            for batch in reader:
                yield [batch.column(i).to_numpy() for i in range(len(types))]

    def state(self) -> str:
        return address_state(self._address)

    def close(self) -> None:
        self._scratch.cleanup()

    @contextmanager
    def _open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{max(self._memory, LEAST_MEMORY) // 2**20}MiB",
            "temp_directory": self._scratch.name,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # The minimum and maximum in a Parquet file leave NaN out. DuckDB, or Arrow where it is told a filter, would
            # conclude from them that there is none, and the code of NaN would depend on the other values.
            "disabled_optimizers": self._avoided,
        }
        with self._told(), contextlib.closing(duckdb.connect(":memory:", config=settings)) as connection:
            # It is asked how far it is, and prints nothing itself.
            connection.execute("SET enable_progress_bar = true")
            connection.execute("SET enable_progress_bar_print = false")
            self._look_at(connection)
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> PrivityError:
        """What the owner is told of an error. Its text may quote values."""
        if not isinstance(error, duckdb.Error) or isinstance(error, duckdb.IOException):
            return unreachable(self.name, error)
        if isinstance(error, duckdb.CatalogException):
            return PrivityError(
                Catalogue.SOURCE_REFUSED, source=self.name, reason="it has no such table",
                hint="Name one of its tables or views after the #, with its schema if it has one.",
            )  # fmt: skip
        return PrivityError(
            Catalogue.SOURCE_REFUSED, source=self.name, reason=f"DuckDB met an error ({type(error).__name__})",
            hint="See that the files are whole and of the kind that their names say.",
        )  # fmt: skip

    def _look_at(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give the rows their name."""
        files = self._address.files if self._portion is None else self._portion
        if self._address.form is Form.DUCKDB:
            connection.execute(f"ATTACH {text_literal(str(files[0]))} AS {DATABASE} (READ_ONLY)")
            table = ".".join(quoted(part) for part in [DATABASE, *self._address.table.split(".")])
            connection.execute(f"CREATE VIEW {VIEW} AS SELECT * FROM {table}")
        elif self._address.form is Form.ARROW:
            dataset = pyarrow.dataset.dataset([str(file) for file in files], format="ipc")
            connection.register(VIEW, dataset)
        else:
            # A file's own name is no pattern, and its folder's name is no column.
            listed = ", ".join(text_literal(glob.escape(str(file))) for file in files)
            found = f"read_parquet([{listed}], hive_partitioning = false)"
            connection.execute(f"CREATE VIEW {VIEW} AS SELECT * FROM {found}")


def gathered(pieces: Sequence[tuple[Piece, int]]) -> list[list[Piece]]:
    """Pieces of so many bytes, in order, as parts of at least ``PART_BYTES``; one part if there is no piece."""
    parts: list[list[Piece]] = [[]]
    held = 0
    for piece, size in pieces:
        if held >= PART_BYTES:
            parts.append([])
            held = 0
        parts[-1].append(piece)
        held += size
    return parts


def _column(name: str, kind: Any) -> Column:
    found = KINDS.get(kind.id, Kind.OTHER)
    scale = None
    if found is Kind.DECIMAL:
        scale = 0 if kind.id == "ubigint" else dict(kind.children)["scale"]
    number, second = _number(name, found, str(kind).lower())
    part = PART if found in (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT, Kind.TIME) else ""
    return Column(name, found, str(kind), scale, number=number, second=second, part=part)


def _number(name: str, kind: Kind, declared: str) -> tuple[str, int]:
    """What a date or time is as a whole number, and parts of a second in it."""
    value = quoted(name)
    second = NANOSECONDS if declared.endswith("_ns") else MICROSECONDS
    match kind:
        case Kind.DATE:
            made = f"DATE_DIFF('day', DATE '1970-01-01', {value})"
        case Kind.TIMESTAMP | Kind.INSTANT:
            made = f"EPOCH_NS({value})" if second == NANOSECONDS else f"EPOCH_US({value})"
        case Kind.TIME:
            return f"EPOCH_US({value})", second
        case Kind.DURATION:
            # A month is of no fixed length.
            no_month = f"DATEPART('year', {value}) = 0 AND DATEPART('month', {value}) = 0"
            made = f"CASE WHEN {no_month} THEN EPOCH_US({value}) WHEN {value} IS NOT NULL THEN {FAR} END"
            return made, second
        case _:
            return "", second
    infinite = f"CASE WHEN {value} > CAST('1970-01-01' AS {declared.upper()}) THEN {FAR} ELSE -{FAR} END"
    return f"CASE WHEN {value} IS NOT NULL THEN COALESCE({made}, {infinite}) END", second
